"""What is handed in is taken in whole and unharmed, or refused with a sentence that says why;
nothing else is ever written.
"""

import functools
import io
import os
import random
import re
import shlex
import stat
import struct
import subprocess
import sys
import tracemalloc
import unicodedata
import zipfile
import zlib
from unittest import mock

import pytest

from autograder import intake
from autograder.intake import Limits, Refused, take

WANTED = {"model.py": 1 << 20, "helper.py": 1 << 20, "rope.params": 32 << 20}
MIB = 1 << 20


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
    """The bytes of a zip with these entries, or empty files of these names."""
    body, table = b"", b""
    for item in entries:
        item = entry(item, b"") if isinstance(item, str) else item
        raw, fields, extra, packed, attributes, at = item
        offset = len(body) if at is None else at
        record = (b"PK\x01\x02", (3 << 8) | 20, *fields, 0, 0, 0, 0, attributes, offset)
        table += struct.pack("<4s6H3L5H2L", *record) + raw
        body += struct.pack("<4s5H3L2H", b"PK\x03\x04", *fields, len(extra)) + raw + extra + packed
    end = (b"PK\x05\x06", 0, 0, len(entries), len(entries), len(table), len(body), 0)
    return body + table + struct.pack("<4s4H2LH", *end)


def pack(contents, stream=io.BytesIO, compression=zipfile.ZIP_DEFLATED):
    """The bytes of a zip as zipfile makes it."""
    stream = stream()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    return stream.getvalue()


class Pipe(io.BytesIO):
    """What zipfile takes for a pipe: the sizes then stand behind the data."""

    def seekable(self):
        return False


def zip64(contents):
    """The same, of several files, as if they were very large."""
    with mock.patch.multiple(zipfile, ZIP64_LIMIT=10, ZIP_FILECOUNT_LIMIT=1):
        raw = pack(contents)
    assert b"PK\x06\x06" in raw
    return raw


class Desk:
    """A place to hand in something: as a zip's bytes, or in a folder of files."""

    def __init__(self, folder):
        self.folder, self.files = folder, folder / "handed in"
        self.files.mkdir()

    def put(self, name="model.py", data=b"x = 1\n"):
        path = self.files / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return path

    def take(self, raw=None, wanted=WANTED, folders=(), known=(), **limits):
        """What was taken in, by name, and the notices."""
        source = self.files
        if raw is not None:
            source = self.folder / "work.zip"
            source.write_bytes(raw)
        self.into = self.folder / str(len(os.listdir(self.folder))) / "taken"
        limit_of = wanted if callable(wanted) else wanted.get
        notices = take(source, self.into, limit_of, Limits(**limits), folders, known)
        assert os.listdir(self.into.parent) == ["taken"]
        paths = [path for path in self.into.rglob("*") if path.is_file()]
        return {p.relative_to(self.into).as_posix(): p.read_bytes() for p in paths}, notices

    def takes(self, names, raw=None, **kwargs):
        """A zip or the folder, from which files of these names are taken; returns the notices."""
        contents, notices = self.take(raw, **kwargs)
        assert sorted(contents) == sorted(names)
        return notices

    def refuses(self, pattern, raw=None, **kwargs):
        """A refusal with a sentence, after which nothing is left anywhere."""
        with pytest.raises(Refused, match=pattern) as caught:
            self.take(raw, **kwargs)
        sentence = str(caught.value)
        assert sentence.endswith((".", "?")) and sentence.isprintable(), sentence
        assert not self.into.parent.exists() or os.listdir(self.into.parent) == []


@pytest.fixture
def desk(tmp_path):
    return Desk(tmp_path)


def anything(name):
    """Files of every name are wanted."""
    return 100


STORED = functools.partial(pack, compression=zipfile.ZIP_STORED)
PIPED = functools.partial(pack, stream=Pipe)


@pytest.mark.parametrize("made", [pack, STORED, PIPED, zip64], ids=["", "stored", "piped", "64"])
def test_a_zip_is_taken(desk, seed, made):
    contents = {"model.py": b"", "helper.py": random.randbytes(300_000)}
    contents["rope.params"] = bytes(15 * MIB)  # as small as weights of zeros are
    assert desk.take(made(contents)) == (contents, [])


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
    "two of that name": "a/model.py a/submission/helper.py a/old/submission/helper.py README.md"
    " | a/submission/ a/old/ README.md",
    "a stray file": "src/submission/model.py helper.py old/src/submission/model.py"
    " | helper.py old/",
    "hidden ones": "code/model.py .venv/model.py | .venv/",
    "a folder of a file's name": "helper.py model.py/runs copy/model.py | model.py/ copy/",
    "what a Mac adds": "a/model.py __MACOSX/a/._model.py a/.DS_Store a/__pycache__/model.pyc |",
    "Windows' backslashes": r"work\model.py work\ work\runs\helper.py | runs/",
}


@pytest.mark.parametrize("home", HOMES)
def test_the_folder_with_the_files_is_found(desk, home):
    names, others = (part.split() for part in HOMES[home].split("|"))
    for order in (names, names[::-1]):
        notices = desk.takes([re.split(r"[/\\]", names[0])[-1]], forge(*order))
        named = [name for text in notices for name in text.rstrip(".").split(": ")[1].split(", ")]
        assert sorted(named) == sorted(others)


def test_a_file_that_anybody_may_have_is_no_submission(desk):
    raw = forge("a/scratch.py", "a/code/model.py", "a/code/more.py")
    wanted = dict.fromkeys(("scratch.py", "more.py", "model.py"), 100)
    (notice,) = desk.takes(["model.py", "more.py"], raw, wanted=wanted, known=["model.py"])
    assert "scratch.py" in notice
    desk.takes(["scratch.py"], raw, wanted=wanted, known=["other.py"])


# Names

BAD_NAMES = [
    *("Notes 10:30.txt", "model.py:stream", "\x1b[2J", "a\x7f", "a\x85b", "Icon\r", "a\nb"),
    *("\u202eyp.ledom", "a\u2067b", "a\u200fb", "a\u2028b", "*", "a?", "x" * 101),
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_bad_names_matter_only_in_what_is_wanted(desk, name):
    raw = forge(entry("model.py"), entry(name), entry("a/" + name), entry(name + "/b"))
    (notice,) = desk.takes(["model.py"], raw)
    assert notice.isprintable() and len(notice) < 900
    desk.refuses("name .*Rename the file", raw, wanted=anything)


ANY_FOLDER = ["Icon\r", "10:30", "aux", "\u202eyp", "x" * 300, "a\\b", ".", "-rf"]
LEADING_OUT = r"""
../model.py a/../../model.py a/../b/model.py /etc/model.py //host/model.py C:/model.py
..\model.py a\..\model.py a\../model.py \\host\model.py C:\model.py \model.py
"""


HARMLESS = ["", "a b", "./a", "./", "a//b", "concert.py", "auxiliary/nullable.txt", "..a", "a.."]
HARMLESS += ["...", "com10", "-rf", "~", "*", "MODEL.py", "__MACOSX/../../model.py"]
MODES = {kind: getattr(stat, kind) for kind in "S_IFLNK S_IFIFO S_IFCHR S_IFBLK S_IFDIR".split()}
ALONE = {  # a zip from which model.py is taken, and nothing else
    **{name: forge(name) for name in LEADING_OUT.split()},
    **{f"in {folder!r}": forge(f"{folder}/model.py") for folder in ANY_FOLDER},
    **{f"beside {name!r}": forge("model.py", name) for name in HARMLESS},
}
BESIDE = {
    **{f"flags {flags:x}": entry("a.txt", flags=flags) for flags in (1, 0x40, 0x2000, 0x20)},
    **{kind: entry("a/model.py", b"/etc/passwd", mode=mode) for kind, mode in MODES.items()},
    "a bomb": entry("bomb", bytes(20 * MIB)),
    # a zip does not say that its names are in Shift-JIS, and this one has a backslash's byte
    "Shift-JIS": entry(b"s/\x95\x5c.txt", flags=0),
}
ALONE |= {name: forge("model.py", other) for name, other in BESIDE.items()}


@pytest.mark.parametrize("zipped", ALONE)
def test_what_is_not_wanted_does_no_harm(desk, zipped):
    """A folder may have any name; and no path leads out, since its last part alone is used."""
    desk.takes(["model.py"], ALONE[zipped])
    assert [*desk.folder.rglob("model.py")] == [desk.into / "model.py"]


def test_what_is_not_wanted_is_named(desk):
    extras = ["Übung.txt", "\u65e5\u8a18.md", "\U0001f4bb.png", "runs/a", "runs/b", "report.pdf"]
    (notice,) = desk.takes(["model.py"], forge("model.py", *extras))
    assert all(word in notice for word in ("Übung.txt", "\u65e5\u8a18.md", "runs/", "and 1 more"))


TWINS = [
    ("model.py", "MODEL.py"),
    ("model.py", "model.p\uff59"),
    ("\u00fcbung", unicodedata.normalize("NFD", "\u00fcbung")),
    ("stra\u00dfe", "STRASSE"),
    ("\ufb01", "FI"),
]


# Zips that are refused

LINE = b"x = 1\n"
LARGE = b"x" * 1000
HALF = entry("", random.Random(1).randbytes(5000))[3][:2000]
REFUSED = {  # a zip -> the sentence's pattern, its bytes, options of Desk.take
    "nothing": ("none of the required files", pack({})),
    "other files": (r"It has notes.txt, code/\.", forge("notes.txt", "code/a.py")),
    "folders": ("none of the", forge("", "./", "model.py/")),
    "no byte": ("not a zip file", b""),
    "a text": ("not a zip file", LINE * 100),
    "a name of other bytes": ("Make a new zip", forge(entry("model.py"), entry(b"\xff\xfe.py"))),
    "large table": ("table of contents", forge(*[f"{i:0>200}" for i in range(9000)])),
    "names twice": ("model.py is there twice", forge("model.py", "model.py")),
    "slashes twice": ("model.py is there twice", forge("model.py", ".//model.py")),
    "two folders": ("folders, a and b.*only the right", forge("b/model.py", "a/model.py", "c/d/e")),
    "files in two": ("several folders, a and b", forge("a/model.py", "b/helper.py", "README.md")),
    "a, A": ("several folders, A and a", forge("a/model.py", "A/model.py")),
    "submissions": ("folders", forge("a/submission/model.py", "b/submission/model.py")),
    "odd folders": ("several folders", forge("submission copy/model.py", "\u202ea/model.py")),
    "large": (f"model.py is larger than .* {MIB} bytes", pack({"model.py": bytes(MIB + 1)})),
    "in total": ("in total", pack({"model.py": LARGE, "helper.py": LARGE}), {"total": 1999}),
    "files": ("than 1 of the required", forge("model.py", "helper.py"), {"files": 1}),
}
for one, other in TWINS:
    for names in ((one, other), (other, one)):
        REFUSED[", ".join(names)] = "are the same name", forge(*names), {"wanted": anything}
LIES = {  # a refusal's pattern -> what the headers of model.py say of it
    "model.py in work.zip cannot be read.*Make a new zip": [
        *({"crc": 1, "method": method} for method in (0, 8)),
        *({"size": size, "method": method} for size in (0, 5) for method in (0, 8)),
        *({"data": LARGE, "packed": packed} for packed in (b"\xff" * 20, b"", HALF)),
        {"flags": 0x820},
        *({"at": at} for at in (10_000, 2**32 - 2)),
        *({"data": bytes(3 * MIB), "size": 10},),
    ],
    "without a password": [{"flags": flag | 0x800} for flag in (1, 0x40, 0x2000)],
    "compression": [{"method": method} for method in (9, 12, 14, 93, 95, 99, 1)],
    "model.py in work.zip is .*Put the file itself there": [
        {"mode": mode} for mode in MODES.values()
    ],
}
REFUSED |= {
    f"{pattern}, {number}": (pattern, forge(entry("model.py", **lies)))
    for pattern, several in LIES.items()
    for number, lies in enumerate(several)
}


@pytest.mark.parametrize("zipped", REFUSED)
def test_zips_that_are_refused(desk, zipped):
    pattern, raw, limits = (*REFUSED[zipped], {})[:3]
    desk.refuses(pattern, raw, **limits)


def test_every_cut_is_refused(desk, seed):
    """A download that stopped."""
    raw = pack({"model.py": random.randbytes(50), "helper.py": b"x" * 500})
    for length in range(1, len(raw)):
        desk.refuses("not a zip file", raw[:length])
        desk.refuses("damaged", raw[length:])


def test_thousands_of_files_that_are_not_wanted(desk):
    """Nobody means to hand in .git, and nobody should be refused for it."""
    packages = [f"work/.venv/lib/site-packages/some_package/{i}.py" for i in range(9999)]
    notices = desk.takes(["model.py"], forge("work/model.py", *packages), wanted=anything)
    assert notices == ["Left out because it is not needed: .venv/."]


# Folders


def test_a_folder_is_taken_without_the_rest_of_it(desk):
    for name in ("runs", "__pycache__", ".git", "model.py.d"):
        desk.put(f"{name}/model.py")
    for name in ("rope.params", "last.ckpt", "Model.py"):
        desk.put(name)
    (desk.files / "data").symlink_to("/")
    os.mkfifo(desk.files / "pipe")
    assert desk.take() == ({"rope.params": b"x = 1\n"}, [])


WANTED_PARTS = {"a.py": 100, "part/b.py": 100, "part/c.json": 100, "other/d.py": 100}
PARTS = {"wanted": WANTED_PARTS, "folders": ("other", "part")}
OF_PARTS = ["a.py", "part/b.py"]


@pytest.mark.parametrize("form", ["folder", "zip", "zip of a folder"])
def test_wanted_files_keep_their_folders(desk, form):
    names = (*OF_PARTS, "part/a.py", "part/deeper/b.py", "b.py", "unknown/e.py")
    for name in names:
        desk.put(name)
    top = "mine/" * (form == "zip of a folder")
    desk.takes(OF_PARTS, forge(*(top + name for name in names)) if "zip" in form else None, **PARTS)
    assert not (desk.into / "other").exists()  # none that is empty
    desk.takes(["a.py"], forge("a.py", entry("part", b"a file of a folder's name")), **PARTS)
    desk.takes(OF_PARTS, forge(*OF_PARTS, "Part/b.py"), **PARTS)


BIND = "import socket; socket.socket(socket.AF_UNIX).bind('model.py')"
FOLDERS = {  # what is done in a folder with helper.py -> the sentence's pattern
    "ln -s helper.py model.py": "model.py is a link",
    "ln -s nowhere model.py": "model.py is a link",
    "ln helper.py model.py": "helper.py is a hard link",
    "mkfifo model.py": "model.py is not a regular file",
    f'{shlex.quote(sys.executable)} -c "{BIND}"': "model.py is not a regular file",
    "mkdir model.py": "model.py is a folder",
    "mkdir part; ln -s ../helper.py part/b.py": "b.py is a link",
    "ln -s . part": "part in handed in is a link",
    f"truncate -s {MIB + 1} model.py": f"model.py is larger than the limit of {MIB} bytes",
    f"truncate -s {2 * MIB} rope.params": "in total",
    "touch a.py model.py": "more than 2 of the required files",
}


@pytest.mark.parametrize("command", FOLDERS)
def test_folders_that_are_refused(desk, command):
    desk.put("helper.py")
    subprocess.run(command, shell=True, cwd=desk.files, check=True)
    wanted, limits = {**WANTED, **WANTED_PARTS}, {"total": MIB + 100, "files": 2}
    desk.refuses(FOLDERS[command], wanted=wanted, folders=("other", "part"), **limits)


@pytest.mark.parametrize("name", ["a\nb", "\u202eyp", b"\xff", "a\\b", "c:d", "HELPER.py"])
def test_bad_names_of_wanted_files_in_a_folder(desk, name):
    desk.put("helper.py")
    (desk.files / os.fsdecode(name)).touch()
    desk.refuses("name", wanted=anything)


def test_sources_that_are_none(desk):
    desk.refuses("none of the required files")
    desk.files.rmdir()
    desk.refuses("does not exist, or is neither")
    os.mkfifo(desk.files)
    desk.refuses("does not exist, or is neither")


EXCHANGES = {
    "mv model.py old; ln -s ../secret model.py": "cannot be read",
    "mv model.py old; mkfifo model.py": "not a regular file",
    "rm model.py": "cannot be read",
}


@pytest.mark.parametrize("command", EXCHANGES)
def test_an_exchange_between_look_and_open_loses(desk, monkeypatch, command):
    path, really = desk.put(), os.open
    (desk.folder / "secret").write_text("secret", encoding="utf-8")

    def exchange(what, *args, **kwargs):
        if what == str(path):
            subprocess.run(command, shell=True, cwd=desk.files, check=True)
        return really(what, *args, **kwargs)

    monkeypatch.setattr(intake.os, "open", exchange)
    desk.refuses(EXCHANGES[command])


# What holds for both


def test_what_is_at_a_limit_is_taken(desk):
    contents = {"model.py": bytes(MIB), "helper.py": bytes(MIB)}
    for name, data in contents.items():
        desk.put(name, data)
    for raw in (None, pack(contents)):
        desk.takes(contents, raw, total=2 * MIB, files=2)


def test_the_source_may_be_a_link(desk):
    zipped = desk.folder / "work.zip"
    zipped.write_bytes(forge("model.py"))
    for source in (desk.put().parent, zipped):
        link = desk.folder / f"link to {source.name}"
        link.symlink_to(source)
        assert take(link, desk.folder / f"taken from {source.name}", WANTED.get) == []


def test_nothing_is_overwritten(desk):
    desk.put()
    desk.take()
    desk.put(data=b"new")
    with pytest.raises(FileExistsError):
        take(desk.files, desk.into, WANTED.get)
    assert (desk.into / "model.py").read_bytes() == b"x = 1\n"


def test_memory_stays_small(desk):
    zipped = desk.folder / "work.zip"
    zipped.write_bytes(pack({"rope.params": bytes(30 * MIB)}))
    desk.put("rope.params", bytes(30 * MIB))
    tracemalloc.start()
    for source in (desk.files, zipped):
        take(source, desk.folder / f"from {source.name}", WANTED.get)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 8 * MIB


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_an_interruption_or_a_full_disk_leaves_nothing(desk, monkeypatch, error):
    """And neither is the fault of what was handed in."""
    for name in ("helper.py", "model.py"):
        desk.put(name)
    # a file and its copy can be opened, a second copy can't
    opened = mock.Mock(wraps=open, side_effect=[mock.DEFAULT, mock.DEFAULT, error])
    monkeypatch.setattr(intake, "open", opened, raising=False)
    with pytest.raises(type(error)) as caught:
        desk.take()
    assert not isinstance(caught.value, Refused) and os.listdir(desk.into.parent) == []
