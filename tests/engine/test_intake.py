"""What is handed in is taken in whole and unharmed, or refused with a sentence that says why;
nothing else is ever written.
"""

import contextlib
import io
import os
import random
import socket
import stat
import struct
import unicodedata
import zipfile
import zlib

import pytest

from autograder import intake
from autograder.intake import Limits, Refused, take

WANTED = {"model.py": 1 << 20, "helper.py": 1 << 20, "rope.params": 32 << 20}
MIB = 1 << 20
posix = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")


def entry(name, data=b"x = 1\n", method=8, flags=0x800, mode=0o100644, packed=None, **lies):
    """An entry for `forge`. Lies about its crc, size, packed_size and place (at) go into its
    headers, `extra` before its data.
    """
    deflate = zlib.compressobj(9, zlib.DEFLATED, -15)
    if packed is None:
        packed = deflate.compress(data) + deflate.flush() if method == 8 else data
    raw = name if isinstance(name, bytes) else name.encode("utf-8", "surrogatepass")
    said = {"crc": zlib.crc32(data), "packed_size": len(packed), "size": len(data), **lies}
    sizes = said["crc"], said["packed_size"], said["size"]
    fields = (20, flags, method, 0, 0x5821, *sizes, len(raw))
    return raw, fields, lies.get("extra", b""), packed, mode << 16, lies.get("at")


def forge(*entries):
    """The bytes of a zip."""
    body, table = b"", b""
    for raw, fields, extra, packed, attributes, at in entries:
        offset = len(body) if at is None else at
        record = (b"PK\x01\x02", (3 << 8) | 20, *fields, 0, 0, 0, 0, attributes, offset)
        table += struct.pack("<4s6H3L5H2L", *record) + raw
        body += struct.pack("<4s5H3L2H", b"PK\x03\x04", *fields, len(extra)) + raw + extra + packed
    end = (b"PK\x05\x06", 0, 0, len(entries), len(entries), len(table), len(body), 0)
    return body + table + struct.pack("<4s4H2LH", *end)


def pack(contents, stream=io.BytesIO, **kwargs):
    """The bytes of a zip as zipfile makes it."""
    stream = stream()
    with zipfile.ZipFile(stream, "w", **kwargs) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return stream.getvalue()


class Stream(io.BytesIO):
    """What zipfile takes for a pipe: the sizes then stand behind the data."""

    def seekable(self):
        return False


class Desk:
    """A place to hand in something: as a zip's bytes, or in a folder of files."""

    def __init__(self, folder):
        self.folder = folder
        self.files = folder / "handed in"
        self.files.mkdir()
        self.into = folder / "deep" / "taken"

    def put(self, name="model.py", data=b"x = 1\n"):
        path = self.files / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return path

    def take(self, raw=None, wanted=WANTED, folders=(), **limits):
        """What was taken in, by name, and the notices."""
        source = self.files
        if raw is not None:
            source = self.folder / "work.zip"
            source.write_bytes(raw)
        notices = take(source, self.into, wanted, Limits(**limits), folders)
        assert os.listdir(self.into.parent) == ["taken"]
        paths = [path for path in self.into.rglob("*") if path.is_file()]
        return {p.relative_to(self.into).as_posix(): p.read_bytes() for p in paths}, notices

    def takes(self, names, raw, **kwargs):
        """A zip from which files of these names are taken; returns its notices."""
        self.into = self.folder / str(len(os.listdir(self.folder))) / "taken"
        contents, notices = self.take(raw, **kwargs)
        assert sorted(contents) == sorted(names)
        return notices

    def refuses(self, keyword, raw=None, **kwargs):
        """The sentence of a refusal, after which nothing is left anywhere."""
        with pytest.raises(Refused) as caught:
            self.take(raw, **kwargs)
        sentence = str(caught.value)
        assert keyword in sentence and sentence.endswith((".", "?")) and sentence.isprintable(), (
            sentence
        )
        assert not self.into.parent.exists() or os.listdir(self.into.parent) == []
        return sentence


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def anything(name):
    """Files of every name are wanted."""
    return 100


# What is taken


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
@pytest.mark.parametrize("stream", [io.BytesIO, Stream])
def test_a_zip_is_taken(desk, seed, method, stream):
    data = {"model.py": 0, "helper.py": 300_000, "rope.params": 3 * MIB + 17}
    contents = {name: random.randbytes(size) for name, size in data.items()}
    assert desk.take(pack(contents, stream, compression=method)) == (contents, [])


def test_zip64_is_taken(desk, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 10)
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    contents = {"model.py": b"x" * 1000, "helper.py": b"y"}
    raw = pack(contents)
    assert b"PK\x06\x06" in raw and desk.take(raw) == (contents, [])


def test_small_weights_of_zeros_are_taken(desk):
    zeros = {"rope.params": bytes(15 * MIB)}
    raw = pack(zeros, compression=zipfile.ZIP_DEFLATED)
    assert len(raw) < 15 * MIB / 900 and desk.take(raw) == (zeros, [])


HOMES = {  # the names in a zip, of which only the first is taken; and what the notice names
    "common folders": "course/src/submission/model.py course/src/submission/runs/model.py | runs/",
    "beside a report": "code/model.py report.pdf | report.pdf",
    "backups inside": "code/model.py code/old/model.py code/.ipynb_checkpoints/helper.py report.pdf"
    " | code/old/ code/.ipynb_checkpoints/ report.pdf",
    "the top first": "model.py code/model.py submission/helper.py submission/model.py"
    " | code/ submission/",
    "and in a folder": "a/model.py a/code/model.py a/submission/helper.py | code/ submission/",
    "whole repository": "a/src/submission/model.py a/src/helper.py a/src/checks/given/model.py"
    " a/README.md a/tests/model.py | src/helper.py src/checks/ README.md tests/",
    "two of that name": "src/model.py src/submission/helper.py src/old/submission/helper.py"
    " README.md | src/submission/ src/old/ README.md",
    "a folder of a file's name": "helper.py model.py/runs copy/model.py | model.py/ copy/",
    "what a Mac adds": "a/model.py __MACOSX/a/._model.py a/.DS_Store a/__pycache__/model.pyc |",
}


@pytest.mark.parametrize("home", HOMES)
def test_the_folder_with_the_files_is_found(desk, home):
    names, others = (part.split() for part in HOMES[home].split("|"))
    for order in (names, names[::-1]):
        notices = desk.takes([names[0].rpartition("/")[2]], pack({name: b"" for name in order}))
        named = [name for text in notices for name in text.rstrip(".").split(": ")[1].split(", ")]
        assert sorted(named) == sorted(others)


@pytest.mark.parametrize(
    "names",
    [
        ["a/model.py", "b/model.py", "c/d/model.py"],
        ["a/model.py", "b/helper.py", "README.md"],
        ["a/submission/model.py", "b/submission/model.py"],
        ["a/model.py", "A/model.py"],
        ["submission copy/model.py", "\u202ea/model.py"],
    ],
)
def test_several_folders_with_wanted_files(desk, names):
    sentence = desk.refuses("in several folders", pack(dict.fromkeys(names, b"")))
    assert sentence.endswith(" Make a zip with only the right files.")
    assert all(name.rpartition("/")[0].lstrip("\u202e") in sentence for name in names[:2])


def test_what_is_not_wanted_in_a_zip_is_named(desk):
    extras = ["Übung.txt", "\u65e5\u8a18.md", "\U0001f4bb.png", "runs/a", "runs/b", "report.pdf"]
    (notice,) = desk.takes(["model.py"], pack(dict.fromkeys(["model.py", *extras], b"")))
    assert all(word in notice for word in ("Übung.txt", "\u65e5\u8a18.md", "runs/", "and 1 more"))


def test_a_folder_is_taken_without_the_rest_of_it(desk):
    for name in ("runs", "__pycache__", ".git", "model.py.d"):
        desk.put(f"{name}/model.py")
    for name in ("rope.params", "last.ckpt", "Model.py"):
        desk.put(name)
    if os.name != "nt":
        (desk.files / "data").symlink_to("/")
        os.mkfifo(desk.files / "pipe")
    assert desk.take() == ({"rope.params": b"x = 1\n"}, [])


@posix
def test_modes_do_not_depend_on_the_source_or_the_user(desk):
    desk.put().chmod(0o4755)
    before = os.umask(0o077)
    try:
        desk.take()
    finally:
        os.umask(before)
    assert stat.S_IMODE((desk.into / "model.py").stat().st_mode) == 0o644
    assert stat.S_IMODE(desk.into.stat().st_mode) == 0o755


@posix
def test_the_source_may_be_a_link(desk):
    zipped = desk.folder / "work.zip"
    zipped.write_bytes(pack({"model.py": b""}))
    for source in (desk.put().parent, zipped):
        link = desk.folder / f"link to {source.name}"
        link.symlink_to(source)
        assert take(link, desk.folder / f"taken from {source.name}", WANTED) == []


def test_nothing_is_overwritten(desk):
    desk.put()
    desk.take()
    desk.put(data=b"new")
    with pytest.raises(FileExistsError):
        desk.take()
    assert (desk.into / "model.py").read_bytes() == b"x = 1\n"


# Subfolders

PARTS = {"a.py": 100, "part/b.py": 100, "part/c.json": 100, "other/d.py": 100}
IN_PARTS = {"wanted": PARTS, "folders": ("other", "part")}
OF_PARTS = ["a.py", "part/b.py"]
AROUND = ["part/a.py", "part/deeper/b.py", "b.py", "unknown/e.py"]


@pytest.mark.parametrize("form", ["folder", "zip", "zip of a folder"])
def test_wanted_files_keep_their_folders(desk, form):
    top, raw = "mine/" * (form == "zip of a folder"), None
    if form == "folder":
        for name in (*OF_PARTS, *AROUND):
            (desk.files / name).parent.mkdir(parents=True, exist_ok=True)
            desk.put(name)
    else:
        raw = pack({top + name: b"" for name in (*OF_PARTS, *AROUND)})
    desk.takes(OF_PARTS, raw, **IN_PARTS)
    assert not (desk.into / "other").exists()  # none that is empty


@posix
def test_links_in_place_of_a_folder_or_in_it_are_refused(desk):
    desk.put("a.py")
    desk.put("elsewhere/b.py")
    (desk.files / "part").symlink_to("elsewhere")
    desk.refuses("part in handed in is not a folder", **IN_PARTS)
    (desk.files / "part").unlink()
    desk.put("part/c.json")
    (desk.files / "part" / "b.py").symlink_to("../a.py")
    desk.refuses("b.py", **IN_PARTS)


def test_odd_names_in_subfolders(desk):
    desk.takes(["a.py"], pack({"a.py": b"1", "part": b"a file of a folder's name"}), **IN_PARTS)
    desk.takes(["a.py", "part/b.py"], pack({n: b"" for n in (*OF_PARTS, "Part/b.py")}), **IN_PARTS)


# Names

LEADING_OUT = """
../model.py a/../../model.py .. a/.. a/../b.py /etc/passwd //host/model.py C:/model.py c:model.py
..\\model.py a\\..\\model.py a\\../model.py \\\\host\\model.py C:\\x \\x
""".split()
BAD_NAMES = {
    "':'": ["Notes 10:30.txt", "model.py:stream"],
    r"'\x": ["\x1b[2J", "a\x7f", "a\x85b"],
    r"'\r'": ["Icon\r"],
    r"'\n'": ["a\nb"],
    r"'\u2": ["\u202eyp.ledom", "a\u2067b", "a\u200fb", "a\u2028b"],
    "device": ["con", "NUL.py", "Com1.tar.gz", "lpt\u00b2 .txt", "CONIN$"],
    "too long": ["x" * 256, "\u00e4" * 128],
}


@pytest.mark.parametrize(
    "name", [*LEADING_OUT, "a\nb/../..", "part/b.py/../b.py", "__MACOSX/../../model.py"]
)
def test_names_that_lead_out_refuse_the_whole_zip(desk, name):
    desk.refuses("leads out", forge(entry("model.py"), entry(name)))
    desk.refuses("leads out", forge(entry(name), entry("model.py")))


@pytest.mark.parametrize(
    ("keyword", "name"), [(keyword, name) for keyword, names in BAD_NAMES.items() for name in names]
)
def test_bad_names_matter_only_in_what_is_wanted(desk, keyword, name):
    raw = forge(entry("model.py"), entry(name), entry("a/" + name), entry(name + "/b"))
    (notice,) = desk.takes(["model.py"], raw)
    assert notice.isprintable() and len(notice) < 900
    desk.into = desk.folder / "again" / "taken"
    assert keyword in desk.refuses("Rename the file", raw, wanted=anything)


HARMLESS = {  # the names in a zip that has model.py, too, or its folder's name
    "the folder": [
        "Icon\r/",
        "10:30/",
        "aux/",
        "\u202eyp/",
        "x" * 300 + "/",
        "a\\b/",
        "./",
        "-rf/",
    ],
    "others": ["", "./a", "./", "a//b", "concert.py", "auxiliary/nullable.txt", "..a", "a..", "..."]
    + ["a b", "com10", "-rf", "~", "*"],
}


@pytest.mark.parametrize("name", HARMLESS["the folder"])
def test_the_folder_may_have_any_name(desk, name):
    desk.takes(["model.py"], forge(entry(name + "model.py")))


@pytest.mark.parametrize("name", HARMLESS["others"])
def test_harmless_names_are_left_out(desk, name):
    desk.takes(["model.py"], forge(entry("model.py"), entry(name)))


def test_names_in_shift_jis_are_left_out(desk):
    """A zip does not say so, and one of their bytes is that of a backslash."""
    odd = [entry(name, flags=0) for name in (b"s/\x95\x5c.txt", b"s/\x83\x8c\x83|.txt")]
    desk.takes(["model.py"], forge(entry("s/model.py"), *odd))


def test_backslashes_stand_for_slashes(desk):
    """Windows' own programs wrote them for years."""
    raw = forge(entry("work\\", b""), entry("work\\model.py"), entry("work\\runs\\helper.py"))
    assert desk.takes(["model.py"], raw) == ["Left out because it is not needed: runs/."]


@posix
@pytest.mark.parametrize("name", ["a\nb", "\u202eyp", b"\xff", "aux", "a\\b", "c:d"])
def test_bad_names_of_wanted_files_in_a_folder(desk, name):
    (desk.files / os.fsdecode(name)).touch()
    desk.refuses("name", wanted=anything)


TWINS = [
    ("model.py", "MODEL.py"),
    ("model.py", "model.p\uff59"),
    ("model.py", "model.py."),
    ("model.py", "model.py "),
    ("\u00fcbung", unicodedata.normalize("NFD", "\u00fcbung")),
    ("stra\u00dfe", "STRASSE"),
    ("\ufb01", "FI"),
]


@pytest.mark.parametrize(
    ("one", "other"), [("model.py", "model.py"), ("model.py", ".//model.py"), *TWINS]
)
def test_two_names_for_one_file(desk, one, other):
    twins = entry(one, b"1"), entry(other, b"2")
    for order in (twins, twins[::-1]):
        desk.refuses("are the same name", forge(*order), wanted=anything)
    if one != "model.py":  # neither is wanted
        assert desk.takes(["helper.py"], forge(entry("helper.py"), *twins))


@posix
def test_two_names_for_one_file_in_a_folder(desk):
    desk.put("a.py")
    if (desk.files / "A.py").exists():
        pytest.skip("this file system knows no difference")
    desk.put("A.py")
    desk.refuses("are the same name", wanted=anything)


# What is no file


def bind(path):
    """Make a socket."""
    with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path.name)  # a socket's path must be short


SPECIAL = {
    "link": ("link", lambda path: path.symlink_to("helper.py")),
    "dead link": ("link", lambda path: path.symlink_to("nowhere")),
    "hard link": ("hard link", lambda path: path.hardlink_to(path.with_name("helper.py"))),
    "FIFO": ("not a regular file", os.mkfifo),
    "socket": ("not a regular file", bind),
    "folder": ("folder", os.mkdir),
}


@posix
@pytest.mark.parametrize("kind", SPECIAL)
def test_what_is_no_file_of_its_own_in_a_folder(desk, kind):
    desk.put("helper.py")
    keyword, make = SPECIAL[kind]
    make(desk.files / "model.py")
    names = {"model.py": 100}
    assert "model.py" in desk.refuses(keyword, wanted=names)


@posix
@pytest.mark.parametrize("kind", ["link", "FIFO", "other file", "gone"])
def test_an_exchange_between_look_and_open_loses(desk, monkeypatch, kind):
    path, secret = desk.put(), desk.folder / "secret"
    secret.write_text("secret", encoding="utf-8")
    really = os.open

    def exchange(what, *args, **kwargs):
        if what == path:
            path.rename(desk.folder / "old")
            if kind == "link":
                path.symlink_to(secret)
            elif kind == "FIFO":
                os.mkfifo(path)
            elif kind == "other file":
                secret.rename(path)
        return really(what, *args, **kwargs)

    monkeypatch.setattr(intake.os, "open", exchange)
    desk.refuses({"link": "cannot be read", "gone": "not exist"}.get(kind, "replaced"))


@pytest.mark.parametrize(
    "kind", ["S_IFLNK", "S_IFIFO", "S_IFCHR", "S_IFBLK", "S_IFSOCK", "S_IFDIR"]
)
def test_links_and_devices_in_a_zip(desk, kind):
    mode = getattr(stat, kind) | 0o777
    raw = forge(entry("helper.py"), entry("model.py", mode=mode))
    desk.refuses("model.py in work.zip is a link or a device", raw)
    others = [entry(name, b"/etc/passwd", mode=mode) for name in ("notes.txt", "a/model.py")]
    notices = desk.takes(["helper.py"], forge(entry("helper.py"), *others))
    assert notices == ["Left out because it is not needed: notes.txt, a/."]


# What is no zip, or a broken one

LINE = b"x = 1\n"
WHOLE = entry("model.py", random.Random(1).randbytes(5000))[3]
LARGE = b"x" * 1000
INNER = forge(entry("helper.py", b"y", 0))
REFUSED = {
    "nothing": ("none of the required files", pack({})),
    "other files": ("It has notes.txt, code/.", pack({"notes.txt": b"", "code/a.py": b""})),
    "folders": ("none of the", forge(entry(""), entry("./"), entry("model.py/"))),
    "no byte": ("not a zip file", b""),
    "a text": ("not a zip file", LINE * 100),
    "a name of other bytes": ("damaged", forge(entry("model.py"), entry(b"\xff\xfe.py"))),
    "broken stream": ("damaged", forge(entry("model.py", packed=b"\xff" * 20))),
    "no stream": ("is damaged", forge(entry("model.py", LARGE, packed=b""))),
    "half a stream": ("is damaged", forge(entry("model.py", packed=WHOLE[:2000]))),
    "into the table": ("damaged", forge(entry("model.py", packed_size=9))),
    "twice": ("damaged", forge(entry("model.py", LARGE, 0), entry("helper.py", LARGE, 0, at=0))),
    "in the data": (
        "damaged",
        forge(entry("model.py", INNER, 0), entry("helper.py", b"y", 0, at=38)),
    ),
    "in the extra": (
        "damaged",
        forge(entry("model.py", extra=bytes(100) + INNER), entry("helper.py", b"y", 0, at=138)),
    ),
    "unwanted": ("damaged", forge(entry("model.py", LARGE, 0), entry("notes", b"y", 0, at=500))),
    "large table": ("table of contents", forge(*[entry(f"{i:0>200}", b"") for i in range(9000)])),
    **{
        f"NUL in {name!r}": ("or is damaged", forge(entry("model.py"), entry(name)))
        for name in ("model.py\x00.txt", "\x00", "notes\x00")
    },
    **{
        f"checksum, method {method}": (
            "model.py in work.zip is damaged",
            forge(entry("model.py", method=method, crc=1)),
        )
        for method in (0, 8)
    },
    **{
        f"method {method}": ("unsupported compression", forge(entry("model.py", method=method)))
        for method in (9, 12, 14, 93, 95, 99, 1)
    },
    **{
        f"size {size}, method {method}": (
            "damaged",
            forge(entry("model.py", LINE, method, size=size)),
        )
        for size in (0, 5, 7, 2**32 - 2)
        for method in (0, 8)
    },
    **{
        f"size {size}, checksum of it": (
            "damaged",
            forge(entry("model.py", LINE, size=size, crc=zlib.crc32(LINE[:size]))),
        )
        for size in (0, 5)
    },
    **{f"at {at}": ("damaged", forge(entry("model.py", at=at))) for at in (10_000, 2**32 - 2)},
}


@pytest.mark.parametrize("zipped", REFUSED)
def test_broken_zips_are_refused(desk, zipped):
    desk.refuses(*REFUSED[zipped])


def test_sources_that_are_none(desk):
    desk.refuses("none of the required files")
    desk.files.rmdir()
    desk.refuses("does not exist")
    if os.name != "nt":
        os.mkfifo(desk.files)
        desk.refuses("neither a folder nor a zip")


def test_every_cut_is_refused(desk, seed):
    """A download that stopped."""
    contents = {"model.py": random.randbytes(50), "helper.py": b"x" * 500}
    raw = pack(contents, compression=zipfile.ZIP_DEFLATED)
    for length in range(1, len(raw)):
        desk.refuses("not a zip file", raw[:length])
        desk.refuses("damaged", raw[length:])


@pytest.mark.parametrize(
    ("flags", "keyword"),
    [(1, "password"), (0x40, "password"), (0x2000, "password"), (0x20, "damaged")],
)
def test_what_cannot_be_decrypted(desk, flags, keyword):
    desk.refuses(keyword, forge(entry("model.py", flags=flags | 0x800)))
    desk.takes(["model.py"], forge(entry("model.py"), entry("notes.txt", flags=flags | 0x800)))


# Too much


def test_large_files(desk):
    desk.put(data=bytes(MIB + 1))
    compressed = pack({"model.py": bytes(MIB + 1)}, compression=8)
    says_it_is_small = forge(entry("model.py", bytes(3 * MIB), size=10))
    for source in (None, compressed, says_it_is_small):
        desk.refuses(f"model.py is larger than the limit of {MIB} bytes", source)
    desk.put(data=bytes(MIB))
    assert len(desk.take()[0]["model.py"]) == MIB
    desk.takes(["model.py"], pack({"model.py": b"", "bomb": bytes(20 * MIB)}, compression=8))


def test_the_sum_of_all_files(desk):
    contents = {"model.py": bytes(600), "helper.py": bytes(600)}
    for name, data in contents.items():
        desk.put(name, data)
    for source in (None, pack(contents)):
        desk.refuses("in total", source, total=1199)
    assert desk.take(total=1200)[0] == contents


def test_bombs(desk):
    raw = pack({"rope.params": bytes(17 * MIB)}, compression=8)
    desk.refuses("more than 16 MiB in total", raw)
    desk.takes(["rope.params"], raw, ratio=2000)


def test_many_files(desk):
    names = [f"{i}.py" for i in range(5)]
    for name in names:
        desk.put(name)
    raw = pack(dict.fromkeys(names, b""))
    for source in (None, raw):
        desk.refuses("more than 4 of the required files", source, wanted=anything, files=4)
    desk.refuses("more than 4 files and folders", raw, entries=4)
    desk.takes(names, raw, wanted=anything, files=5, entries=5)


def test_thousands_of_files_that_are_not_wanted(desk):
    """Nobody means to hand in .git, and nobody should be refused for it."""
    objects = {f"work/.git/objects/{i:x}": b"" for i in range(1000)}
    desk.takes(["model.py"], pack({"work/model.py": b"", **objects}), entries=1)
    packages = {f"work/.venv/lib/site-packages/some_package/{i}.py": b"" for i in range(9999)}
    notices = desk.takes(["model.py"], pack({"work/model.py": b"", **packages}), wanted=anything)
    assert notices == ["Left out because it is not needed: .venv/."]


@posix
def test_memory_stays_small(desk):
    import tracemalloc

    desk.put("rope.params", bytes(30 * MIB))
    zipped = desk.folder / "work.zip"
    zipped.write_bytes(pack({"rope.params": bytes(30 * MIB)}, compression=8))
    tracemalloc.start()
    try:
        take(desk.files, desk.into, WANTED)
        take(zipped, desk.into.with_name("again"), WANTED, Limits(ratio=10_000))
        assert tracemalloc.get_traced_memory()[1] < 8 * MIB
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_an_interruption_or_a_full_disk_leaves_nothing(desk, monkeypatch, error):
    """And neither is the fault of what was handed in."""
    desk.put("helper.py")
    desk.put()
    really = intake._copy

    def copy_and_stop(*args):
        really(*args)
        raise error

    monkeypatch.setattr(intake, "_copy", copy_and_stop)
    with pytest.raises(type(error)) as caught:
        desk.take()
    assert not isinstance(caught.value, Refused) and os.listdir(desk.into.parent) == []
