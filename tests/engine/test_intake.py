"""What is handed in is taken in whole and unharmed, or refused with a sentence that says why;
nothing else is ever written.
"""

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
    fields = (
        20,
        flags,
        method,
        0,
        0x5821,
        said["crc"],
        said["packed_size"],
        said["size"],
        len(raw),
    )
    return raw, fields, lies.get("extra", b""), packed, mode << 16, lies.get("at")


def forge(*entries):
    """The bytes of a zip."""
    body, table = b"", b""
    for raw, fields, extra, packed, attributes, at in entries:
        offset = len(body) if at is None else at
        table += (
            struct.pack(
                "<4s6H3L5H2L", b"PK\x01\x02", (3 << 8) | 20, *fields, 0, 0, 0, 0, attributes, offset
            )
            + raw
        )
        body += struct.pack("<4s5H3L2H", b"PK\x03\x04", *fields, len(extra)) + raw + extra + packed
    return (
        body
        + table
        + struct.pack(
            "<4s4H2LH", b"PK\x05\x06", 0, 0, len(entries), len(entries), len(table), len(body), 0
        )
    )


def pack(contents, **kwargs):
    """The bytes of a zip as zipfile makes it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", **kwargs) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return stream.getvalue()


class Desk:
    """A place to hand in something: as a zip's bytes, or in a folder of files."""

    def __init__(self, folder):
        self.folder = folder
        self.files = folder / "handed in"
        self.files.mkdir()
        self.into = folder / "deep" / "taken"

    def put(self, name="model.py", data=b"x = 1\n"):
        (self.files / name).write_bytes(data)
        return self.files / name

    def take(self, raw=None, wanted=WANTED, **limits):
        """What was taken in, by name, and the notices."""
        source = self.files
        if raw is not None:
            source = self.folder / "work.zip"
            source.write_bytes(raw)
        notices = take(source, self.into, wanted, Limits(**limits))
        assert os.listdir(self.into.parent) == ["taken"]
        return {path.name: path.read_bytes() for path in self.into.iterdir()}, notices

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


# What is right


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_a_zip_is_taken(desk, seed, method):
    contents = {
        "model.py": b"",
        "helper.py": random.randbytes(300_000),
        "rope.params": random.randbytes(3 * MIB + 17),
    }
    assert desk.take(pack(contents, compression=method)) == (contents, [])


def test_a_folder_made_on_a_mac_is_taken(desk):
    names = [
        "Homework 3/",
        "Homework 3/model.py",
        "__MACOSX/Homework 3/._model.py",
        "Homework 3/helper.py",
        "Homework 3/.DS_Store",
        "__MACOSX/._Homework 3",
        "Homework 3/__pycache__/model.cpython-311.pyc",
    ]
    contents, notices = desk.take(
        pack({name: b"" if name.endswith("/") else name.encode() for name in names})
    )
    assert (
        contents == {name: f"Homework 3/{name}".encode() for name in ("model.py", "helper.py")}
        and notices == []
    )


HOMES = {  # the names in a zip, of which only the first is taken; and what the notice names
    "common folders": (
        ["course/src/submission/model.py", "course/src/submission/runs/model.py"],
        "runs/",
    ),
    "beside a report": (["code/model.py", "report.pdf"], "report.pdf"),
    "backups inside": (
        ["code/model.py", "code/old/model.py", "code/.ipynb_checkpoints/helper.py", "report.pdf"],
        "code/old/, code/.ipynb_checkpoints/, report.pdf",
    ),
    "the top first": (
        ["model.py", "code/model.py", "submission/helper.py", "submission/model.py"],
        "code/, submission/",
    ),
    "and in a folder": (
        ["a/model.py", "a/code/model.py", "a/submission/helper.py"],
        "code/, submission/",
    ),
    "whole repository": (
        [
            "a/src/submission/model.py",
            "a/src/helper.py",
            "a/src/checks/given/model.py",
            "a/README.md",
            "a/tests/model.py",
        ],
        "src/helper.py, src/checks/, README.md, tests/",
    ),
    "two of that name": (
        ["src/model.py", "src/submission/helper.py", "src/old/submission/helper.py", "README.md"],
        "src/submission/, src/old/, README.md",
    ),
}


@pytest.mark.parametrize(("names", "others"), HOMES.values(), ids=HOMES)
def test_the_folder_with_the_files_is_found(desk, names, others):
    for place, order in enumerate((names, names[::-1])):
        desk.into = desk.folder / str(place) / "taken"
        contents, (notice,) = desk.take(pack({name: name.encode() for name in order}))
        assert contents == {"model.py": names[0].encode()}
        assert sorted(notice.removesuffix(".").split(": ")[1].split(", ")) == sorted(
            others.split(", ")
        )


@pytest.mark.parametrize(
    "names",
    [
        ["a/model.py", "b/model.py", "c/d/model.py"],
        ["a/model.py", "b/helper.py", "README.md"],
        ["x/a/model.py", "x/b/model.py"],
        ["a/submission/model.py", "b/submission/model.py"],
        ["a/model.py", "A/model.py"],
        ["submission copy/model.py", "\u202ea/model.py"],
    ],
)
def test_several_folders_with_wanted_files(desk, names):
    sentence = desk.refuses("in several folders", pack(dict.fromkeys(names, b"")))
    assert sentence.endswith(" Make a zip with only the right files.")
    assert all(name.rpartition("/")[0].lstrip("\u202e") in sentence for name in names[:2])


def test_zip64_is_taken(desk, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 10)
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 1)
    contents = {"model.py": b"x" * 1000, "helper.py": b"y"}
    raw = pack(contents)
    assert b"PK\x06\x06" in raw
    assert desk.take(raw)[0] == contents


def test_a_zip_that_was_written_as_a_stream_is_taken(desk):
    """Its sizes stand behind the data."""

    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    stream = Pipe()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.py", "x = 1")
    assert desk.take(stream.getvalue())[0] == {"model.py": b"x = 1"}


def test_small_weights_of_zeros_are_taken(desk):
    zeros = {"rope.params": bytes(15 * MIB)}
    raw = pack(zeros, compression=zipfile.ZIP_DEFLATED)
    assert len(raw) < 15 * MIB / 900
    assert desk.take(raw)[0] == zeros


def test_files_in_folders_are_left_out(desk):
    raw = pack({"helper.py": b"1", "model.py/runs": b"2", "copy/model.py": b"3"})
    assert desk.take(raw) == (
        {"helper.py": b"1"},
        ["Left out because it is not needed: model.py/, copy/."],
    )


def test_what_is_not_wanted_in_a_zip_is_named(desk):
    extras = [
        "Übung.txt",
        "\u65e5\u8a18.md",
        "\U0001f469\u200d\U0001f4bb.png",
        "runs/a",
        "runs/b",
        "report.pdf",
    ]
    contents, (notice,) = desk.take(pack({"model.py": b"1", **dict.fromkeys(extras, b"")}))
    assert list(contents) == ["model.py"]
    assert all(word in notice for word in ("Übung.txt", "\u65e5\u8a18.md", "runs/", "and 1 more"))


def test_a_folder_is_taken_without_the_rest_of_it(desk, seed):
    for name in ("runs", "__pycache__", ".git", "model.py.d"):
        (desk.files / name).mkdir()
        (desk.files / name / "model.py").write_text("other", encoding="utf-8")
    data = random.randbytes(2 * MIB + 5)
    desk.put("rope.params", data)
    desk.put("last.ckpt")
    desk.put("Model.py")
    if os.name != "nt":
        (desk.files / "data").symlink_to("/")
        os.mkfifo(desk.files / "pipe")
    assert desk.take() == ({"rope.params": data}, [])


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


def test_a_function_can_say_what_is_wanted(desk):
    contents = {"model.py": b"1", "mine.py": b"22"}
    assert (
        desk.take(
            pack({**contents, "notes.txt": b""}), lambda name: 2 if name.endswith(".py") else None
        )[0]
        == contents
    )


@posix
def test_the_source_may_be_a_link(desk):
    desk.put()
    link = desk.folder / "link"
    link.symlink_to(desk.files)
    assert take(link, desk.into, WANTED) == []
    zipped = desk.folder / "work.zip"
    zipped.write_bytes(pack({"helper.py": b""}))
    link.unlink()
    link.symlink_to(zipped)
    assert take(link, desk.into.with_name("other"), WANTED) == []
    assert os.listdir(desk.into) == ["model.py"] and os.listdir(desk.into.with_name("other")) == [
        "helper.py"
    ]


def test_nothing_is_overwritten(desk):
    desk.put()
    desk.take()
    desk.put(data=b"new")
    with pytest.raises(FileExistsError):
        desk.take()
    assert (desk.into / "model.py").read_bytes() == b"x = 1\n"


# The source itself


def test_sources_that_are_none(desk):
    desk.refuses("none of the required files")
    desk.refuses("none of the required files", pack({}))
    desk.refuses("not a zip file", b"")
    desk.refuses("not a zip file", b"x = 1\n" * 100)
    assert "notes.txt, code/." in desk.refuses(
        "none of the required files", pack({"notes.txt": b"", "code/a.py": b""})
    )
    desk.refuses("none of the required files", forge(entry(""), entry("./"), entry("model.py/")))
    desk.files.rmdir()
    desk.refuses("does not exist")
    if os.name != "nt":
        os.mkfifo(desk.files)
        desk.refuses("neither a folder nor a zip")


# Names

LEADING_OUT = [
    "../model.py",
    "a/../../model.py",
    "..",
    "a/..",
    "a/../b.py",
    "/etc/passwd",
    "//host/model.py",
    "C:/model.py",
    "c:model.py",
    "..\\model.py",
    "a\\..\\model.py",
    "a\\../model.py",
    "\\\\host\\model.py",
    "C:\\x",
    "\\x",
    "a\nb/../..",
]
BAD_NAMES = {
    "':'": ["Notes 10:30.txt", "model.py:stream"],
    r"'\x": ["\x1b[2J", "a\x7f", "a\x85b"],
    r"'\r'": ["Icon\r"],
    r"'\n'": ["a\nb"],
    r"'\u2": ["\u202eyp.ledom", "a\u2067b", "a\u200fb", "a\u2028b"],
    "device": ["con", "NUL.py", "Com1.tar.gz", "lpt\u00b2 .txt", "CONIN$"],
    "too long": ["x" * 256, "\u00e4" * 128],
}


@pytest.mark.parametrize("name", LEADING_OUT)
def test_names_that_lead_out_refuse_the_whole_zip(desk, name):
    desk.refuses("leads out", forge(entry("model.py"), entry(name)))
    desk.refuses("leads out", forge(entry(name), entry("model.py")))


@pytest.mark.parametrize(
    ("keyword", "name"), [(keyword, name) for keyword, names in BAD_NAMES.items() for name in names]
)
def test_bad_names_matter_only_in_what_is_wanted(desk, keyword, name):
    raw = forge(entry("model.py"), entry(name), entry("a/" + name), entry(name + "/b"))
    contents, (notice,) = desk.take(raw)
    assert list(contents) == ["model.py"] and notice.isprintable() and len(notice) < 900
    desk.into = desk.folder / "again" / "taken"
    assert keyword in desk.refuses("Rename the file", raw, wanted=lambda name: 100)


def test_the_folder_may_have_any_name(desk):
    for place, folder in enumerate(
        ["Icon\r", "10:30", "aux", "\u202eyp", "x" * 300, "a\\b", ".", "a//b", "-rf"]
    ):
        desk.into = desk.folder / str(place) / "taken"
        assert desk.take(forge(entry(folder + "/model.py")))[0] == {"model.py": b"x = 1\n"}


def test_names_in_shift_jis_are_left_out(desk):
    """A zip does not say so, and one of their bytes is that of a backslash."""
    raw = forge(
        entry("s/model.py"),
        entry(b"s/\x95\x5c.txt", flags=0),
        entry(b"s/\x83\x8c\x83|.txt", flags=0),
    )
    assert list(desk.take(raw)[0]) == ["model.py"]


def test_a_name_with_a_nul_is_damage(desk):
    for name in ("model.py\x00.txt", "\x00", "notes\x00"):
        desk.refuses("not a zip file, or is damaged", forge(entry("model.py"), entry(name)))


def test_backslashes_stand_for_slashes(desk):
    """Windows' own programs wrote them for years."""
    raw = forge(entry("work\\", b""), entry("work\\model.py"), entry("work\\runs\\helper.py"))
    assert desk.take(raw) == (
        {"model.py": b"x = 1\n"},
        ["Left out because it is not needed: runs/."],
    )


def test_bad_names_refuse_even_in_what_is_passed_over(desk):
    desk.refuses("leads out", forge(entry("model.py"), entry("__MACOSX/../../model.py")))


@pytest.mark.parametrize(
    "name",
    [
        "",
        "./a",
        "./",
        "a//b",
        "concert.py",
        "auxiliary/nullable.txt",
        "..a",
        "a..",
        "...",
        "a b",
        "com10",
        "-rf",
        "~",
        "*",
    ],
)
def test_harmless_names_are_left_out(desk, name):
    assert desk.take(forge(entry("model.py"), entry(name)))[0] == {"model.py": b"x = 1\n"}


def test_names_that_are_not_unicode_are_refused(desk):
    desk.refuses("damaged", forge(entry("model.py"), entry(b"\xff\xfe.py")))


@posix
@pytest.mark.parametrize(
    "name", ["a\nb.py", "\u202eyp.py", b"\xff.py", "aux.py", "a\\b.py", "c:d.py"]
)
def test_bad_names_of_wanted_files_in_a_folder(desk, name):
    desk.put()
    (desk.files / os.fsdecode(name)).touch()
    desk.refuses("name", wanted=lambda name: 100 if name.endswith(".py") else None)


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
    for raw in (
        forge(entry(one, b"1"), entry(other, b"2")),
        forge(entry(other, b"2"), entry(one, b"1")),
    ):
        desk.refuses("are the same name", raw, wanted=lambda name: 100)


@pytest.mark.parametrize(("one", "other"), [("README.md", "README.md"), *TWINS])
def test_two_names_of_which_not_both_are_wanted(desk, one, other):
    raw = forge(entry("helper.py"), entry(one, b"1"), entry(other, b"2"))
    contents, (notice,) = desk.take(raw)
    assert contents == {"helper.py": b"x = 1\n"} | ({"model.py": b"1"} if one == "model.py" else {})
    assert "Left out" in notice


@posix
def test_two_names_for_one_file_in_a_folder(desk):
    desk.put("a.py")
    if (desk.files / "A.py").exists():
        pytest.skip("this file system knows no difference")
    desk.put("A.py")
    desk.refuses("are the same name", wanted=lambda name: 100)


# What is no file


@posix
@pytest.mark.parametrize("kind", ["link", "dead link", "hard link", "FIFO", "socket", "folder"])
def test_what_is_no_file_of_its_own_in_a_folder(desk, kind, monkeypatch):
    desk.put("helper.py")
    secret, path = desk.folder / "secret", desk.files / "model.py"
    secret.write_text("secret", encoding="utf-8")
    if kind == "link":
        path.symlink_to(secret)
    elif kind == "dead link":
        path.symlink_to("nowhere")
    elif kind == "hard link":
        path.hardlink_to(secret)
    elif kind == "FIFO":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as listener:
            monkeypatch.chdir(desk.files)  # a socket's path must be short
            listener.bind("model.py")
    else:
        path.mkdir()
    keyword = {
        "dead link": "link",
        "FIFO": "not a regular file",
        "socket": "not a regular file",
    }.get(kind, kind)
    assert "model.py" in desk.refuses(keyword)


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


@posix
def test_an_unreadable_file(desk):
    desk.put().chmod(0)
    if os.access(desk.files / "model.py", os.R_OK):
        pytest.skip("nothing is unreadable for root")
    desk.refuses("cannot be read")


@pytest.mark.parametrize(
    "mode", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK, stat.S_IFSOCK, stat.S_IFDIR]
)
def test_links_and_devices_in_a_zip(desk, mode):
    special = [
        entry(name, b"/etc/passwd", mode=mode | 0o777) for name in ("notes.txt", "a/model.py")
    ]
    desk.refuses(
        "model.py in work.zip is a link or a device",
        forge(entry("helper.py"), entry("model.py", mode=mode), *special),
    )
    assert desk.take(forge(entry("helper.py"), *special))[1] == [
        "Left out because it is not needed: notes.txt, a/."
    ]


# Broken zips


def test_every_cut_is_refused(desk, seed):
    """A download that stopped."""
    raw = pack(
        {"model.py": random.randbytes(50), "helper.py": b"x" * 500},
        compression=zipfile.ZIP_DEFLATED,
    )
    for length in range(1, len(raw)):
        desk.refuses("not a zip file", raw[:length])
        desk.refuses("damaged", raw[length:])


def test_wrong_checksums(desk):
    for method in (0, 8):
        desk.refuses(
            "model.py in work.zip is damaged", forge(entry("model.py", method=method, crc=1))
        )


def test_broken_streams(desk, seed):
    desk.refuses("is damaged", forge(entry("model.py", packed=b"\xff" * 20)))
    desk.refuses("is damaged", forge(entry("model.py", b"x" * 100, packed=b"")))
    whole = entry("model.py", random.randbytes(5000))[3]
    desk.refuses("is damaged", forge(entry("model.py", packed=whole[:2000])))


@pytest.mark.parametrize(
    ("flags", "keyword"),
    [(1, "password"), (0x40, "password"), (0x2000, "password"), (0x20, "damaged")],
)
def test_what_cannot_be_decrypted(desk, flags, keyword):
    desk.refuses(keyword, forge(entry("model.py", flags=flags | 0x800)))
    assert list(
        desk.take(forge(entry("model.py"), entry("notes.txt", flags=flags | 0x800)))[0]
    ) == ["model.py"]


@pytest.mark.parametrize("method", [9, 12, 14, 93, 95, 99, 1])
def test_other_compressions(desk, method):
    desk.refuses("unsupported compression", forge(entry("model.py", method=method)))


@pytest.mark.parametrize("said", [0, 5, 7, 2**32 - 2])
@pytest.mark.parametrize("method", [0, 8])
def test_lying_sizes(desk, said, method):
    desk.refuses("damaged", forge(entry("model.py", b"x = 1\n", method, size=said)))
    desk.refuses(
        "damaged",
        forge(entry("model.py", b"x = 1\n", method, size=said, crc=zlib.crc32(b"x = 1\n"[:said]))),
    )


def test_overlapping_entries(desk):
    first = entry("model.py", b"x" * 1000, 0)
    desk.refuses("damaged", forge(first, entry("helper.py", b"x" * 1000, 0, at=0)))
    inner = forge(entry("helper.py", b"y", 0))
    desk.refuses("damaged", forge(entry("model.py", inner, 0), entry("helper.py", b"y", 0, at=38)))
    desk.refuses(
        "damaged",
        forge(entry("model.py", extra=bytes(100) + inner), entry("helper.py", b"y", 0, at=138)),
    )
    desk.refuses(
        "damaged", forge(entry("model.py", b"x" * 1000, 0), entry("notes.txt", b"y", 0, at=500))
    )


def test_an_entry_that_runs_into_the_table_of_contents(desk):
    packed = entry("model.py")[3]
    desk.refuses("damaged", forge(entry("model.py", packed_size=len(packed) + 1)))
    assert desk.take(forge(entry("model.py", packed_size=len(packed))))[0] == {
        "model.py": b"x = 1\n"
    }


def test_places_outside_the_zip(desk):
    for at in (10_000, 2**32 - 2):
        desk.refuses("damaged", forge(entry("model.py", at=at)))


# Too much


def test_large_files(desk):
    desk.put(data=bytes(MIB + 1))
    desk.refuses(f"model.py is larger than the limit of {MIB} bytes")
    desk.refuses(
        f"model.py is larger than the limit of {MIB} bytes",
        pack({"model.py": bytes(MIB + 1)}, compression=8),
    )
    # or so it says
    desk.refuses(
        f"model.py is larger than the limit of {MIB} bytes",
        forge(entry("model.py", bytes(3 * MIB), size=10)),
    )
    desk.put(data=bytes(MIB))
    assert len(desk.take()[0]["model.py"]) == MIB


def test_a_file_that_is_not_wanted_may_be_large(desk):
    assert desk.take(pack({"model.py": b"", "bomb": bytes(20 * MIB)}, compression=8))[0] == {
        "model.py": b""
    }


def test_the_sum_of_all_files(desk):
    contents = {"model.py": bytes(600), "helper.py": bytes(600)}
    for name, data in contents.items():
        desk.put(name, data)
    desk.refuses("in total", total=1199)
    desk.refuses("in total", pack(contents), total=1199)
    assert desk.take(total=1200)[0] == contents


def test_bombs(desk):
    raw = pack({"rope.params": bytes(17 * MIB)}, compression=8)
    desk.refuses("more than 16 MiB in total", raw)
    assert len(desk.take(raw, ratio=2000)[0]["rope.params"]) == 17 * MIB


def test_many_files(desk):
    names = [f"{i}.py" for i in range(5)]
    for name in names:
        desk.put(name)
    raw = pack(dict.fromkeys(names, b""))
    for source in (None, raw):
        desk.refuses("more than 4 of the required files", source, wanted=lambda name: 100, files=4)
    desk.refuses("more than 4 files and folders", raw, entries=4)
    assert len(desk.take(raw, lambda name: 100, files=5, entries=5)[0]) == 5


def test_a_large_table_of_contents_is_not_read(desk):
    desk.refuses("table of contents", forge(*[entry(f"{i:0>200}", b"", 0) for i in range(9000)]))


def test_a_repository_does_not_count(desk):
    """Nobody means to hand in .git, and nobody should be refused for it."""
    objects = {f"work/.git/objects/{i:x}": b"" for i in range(1000)}
    assert desk.take(pack({"work/model.py": b"", **objects}), entries=1)[0] == {"model.py": b""}


def test_thousands_of_files_that_are_not_wanted(desk):
    raw = pack(
        {
            "work/model.py": b"",
            **{
                f"work/.venv/lib/python3.11/site-packages/some_package/{i}.py": b""
                for i in range(9999)
            },
        }
    )
    assert desk.take(raw, lambda name: 100 if name.endswith(".py") else None) == (
        {"model.py": b""},
        ["Left out because it is not needed: .venv/."],
    )


@posix
def test_memory_stays_small(desk):
    import tracemalloc

    desk.put("rope.params", bytes(30 * MIB))
    raw = pack({"rope.params": bytes(30 * MIB)}, compression=8)
    (desk.folder / "work.zip").write_bytes(raw)
    del raw
    tracemalloc.start()
    try:
        take(desk.files, desk.into, WANTED)
        take(desk.folder / "work.zip", desk.into.with_name("again"), WANTED, Limits(ratio=10_000))
        assert tracemalloc.get_traced_memory()[1] < 8 * MIB
    finally:
        tracemalloc.stop()


def test_an_interruption_leaves_nothing(desk, monkeypatch):
    desk.put("helper.py")
    desk.put()
    really = intake._copy

    def copy_and_stop(*args):
        really(*args)
        raise KeyboardInterrupt

    monkeypatch.setattr(intake, "_copy", copy_and_stop)
    with pytest.raises(KeyboardInterrupt):
        desk.take()
    assert os.listdir(desk.into.parent) == []


def test_a_full_disk_is_not_the_fault_of_what_was_handed_in(desk, monkeypatch):
    desk.put()

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(intake, "_copy", full)
    with pytest.raises(OSError) as caught:
        desk.take()
    assert not isinstance(caught.value, Refused) and os.listdir(desk.into.parent) == []
