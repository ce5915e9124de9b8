"""Submissions of any layout become the package that is graded."""

import os
import re
import shutil
import stat
from pathlib import Path

import pytest

from checks.support.staging import NotTaken, stage
from helpers import SOLUTION
from jobs.deliverables import ANSWERS, STUDENT_FILES


@pytest.fixture
def flat(tmp_path):
    """The reference without folders, as when each file is uploaded by itself."""
    folder = tmp_path / "flat"
    folder.mkdir()
    for name in (*STUDENT_FILES, *ANSWERS):
        shutil.copy(SOLUTION / name, folder)
    return folder


@pytest.fixture
def mine(tmp_path):
    """The reference without results."""
    return shutil.copytree(SOLUTION, tmp_path / "mine", ignore=shutil.ignore_patterns("*.p*s"))


def staged(source, tmp_path):
    into = tmp_path / "staged"
    into.mkdir()
    submission, notices = stage(source, into)
    return submission.root, notices


def zipped(folder, kind):
    """The folder, or a zip of it."""
    return folder if kind == "folder" else Path(shutil.make_archive(str(folder), "zip", folder))


@pytest.mark.parametrize("kind", ["folder", "zip"])
@pytest.mark.parametrize("moved", [(), ("positions.py", "efficient_attention.py")])
def test_files_without_folders_take_their_places(flat, tmp_path, moved, kind):
    """`moved` are in their folder already."""
    for name in moved:
        (flat / name).unlink()
        (flat / "problem6").mkdir(exist_ok=True)
        shutil.copy(SOLUTION / "problem6" / name, flat / "problem6")
    package, notices = staged(zipped(flat, kind), tmp_path)
    for name in (*STUDENT_FILES, *ANSWERS):
        assert (package / name).read_bytes() == (SOLUTION / name).read_bytes(), name
    assert not any("missing" in notice for notice in notices)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_another_user_can_read_what_is_staged(mine, tmp_path):
    """Whatever the source's modes, and the umask."""
    (mine / "model.py").chmod(0o4700)
    before = os.umask(0o077)
    try:
        package, _ = staged(mine, tmp_path)
    finally:
        os.umask(before)
    for path in (package, *package.rglob("*")):
        assert stat.S_IMODE(path.stat().st_mode) == (0o755 if path.is_dir() else 0o644)


def test_a_whole_repository_is_taken_although_a_program_lies_at_its_top(mine, tmp_path):
    repository = tmp_path / "repository"
    shutil.copytree(mine, repository / "src" / "submission")
    (repository / "scratch.py").write_text("x = 1\n", encoding="utf-8")
    (repository / "tests").mkdir()
    (repository / "tests" / "__init__.py").touch()
    package, (notice,) = staged(zipped(repository, "zip"), tmp_path)
    assert (package / "model.py").read_bytes() == (mine / "model.py").read_bytes()
    assert "scratch.py" in notice


def test_missing_files_are_one_notice(mine, tmp_path):
    for name in ("helper.py", "model.py"):
        (mine / name).unlink()
    _, notices = staged(mine, tmp_path)
    assert notices == ["helper.py, model.py are missing: checks that need them earn no points."]


def test_hidden_files_of_editors_do_no_harm(mine, tmp_path):
    (mine / ".#attention.py").symlink_to("me@here.1234")  # Emacs: it is open, with changes
    (mine / "._model.py").write_bytes(b"\0")
    package, notices = staged(mine, tmp_path)
    assert not notices and not [path.name for path in package.rglob(".*")]


def test_a_file_that_is_there_twice_is_refused(flat, tmp_path):
    (flat / "problem5").mkdir()
    (flat / "problem5" / "encoder.py").write_text("import torch\n", encoding="utf-8")
    with pytest.raises(NotTaken, match="encoder.py also exists as problem5/encoder.py"):
        staged(flat, tmp_path)


@pytest.mark.parametrize("kind", ["folder", "zip"])
@pytest.mark.parametrize(
    "name", ["attention (1)", "attention - Copy", "attention-2", "Attention", "attention.py.txt"]
)
def test_a_missing_file_under_another_name_is_named(mine, tmp_path, kind, name):
    names = {
        "attention.py": name if name.endswith(".txt") else f"{name}.py",
        "problem5/encoder.py": "encoder(2).py" if kind == "zip" else "problem5/encoder copy.py",
        "problem6/choices.toml": "problem6/choices.toml.txt",
    }
    for file, other in names.items():
        (mine / file).rename(mine / other)
    notices = staged(zipped(mine, kind), tmp_path)[1]
    for file, other in names.items():
        message = f"{file} is missing; there is {other!r}: rename it."
        assert f"{message} Checks that need it earn no points." in notices


def test_a_folder_under_another_name_is_named(mine, tmp_path):
    (mine / "problem5").rename(mine / "Problem5")
    (mine / "helper.py").unlink()
    (mine / "(1)").touch()  # no other name of the top
    notices = staged(mine, tmp_path)[1]
    assert "helper.py is missing: checks that need it earn no points." in notices
    message = "problem5/encoder.py is missing; there is 'Problem5': rename it."
    assert f"{message} Checks that need it earn no points." in notices


def test_nothing_but_a_file_under_another_name_is_no_submission(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "attention.py.txt").touch()
    message = "it is not a submission; there is 'attention.py.txt': rename it."
    with pytest.raises(NotTaken, match=re.escape(message)):
        staged(tmp_path / "mine", tmp_path)


@pytest.mark.parametrize(
    ("edit", "place"),
    [
        (lambda lines: ["", *lines, "# the end  "], "first in line {last}."),
        (lambda lines: [*lines[:4], "import re", *lines[4:]], "first in line 5."),
        (lambda lines: [line + " " for line in lines] + ["", "x = 1"], "first in line {last}."),
        (lambda lines: lines[:3], "first in line 3."),
        (lambda lines: ["", *(line + " " for line in lines)], None),
    ],
    ids=["at the end", "inserted", "blanks, too", "cut off", "only blanks"],
)
def test_the_first_change_outside_the_markers_is_named(mine, tmp_path, edit, place):
    lines = edit((mine / "helper.py").read_text(encoding="utf-8").rstrip().split("\n"))
    (mine / "helper.py").write_text("\n".join(lines), encoding="utf-8")
    notices = staged(mine, tmp_path)[1]
    assert len(notices) == (place is not None)
    if place:
        expected = place.format(last=len(lines))
        assert f"helper.py differs from the starter outside the markers, {expected}" in notices[0]


def test_a_line_that_changes_torch_for_all_is_named(mine, tmp_path):
    harmful = [
        "torch.set_default_dtype(torch.float64)",
        "    torch.set_default_device('cuda')",
        "set_default_tensor_type(torch.DoubleTensor)",
        "torch.set_grad_enabled(False)",
    ]
    harmless = ["with torch.set_grad_enabled(False):", "# torch.set_default_dtype(torch.float64)"]
    text = (mine / "helper.py").read_text(encoding="utf-8")
    changed = "\n".join([text, *harmful, *harmless])
    (mine / "helper.py").write_text(changed, encoding="utf-8")
    notices = [each for each in staged(mine, tmp_path)[1] if "changes torch for all" in each]
    assert len(notices) == len(harmful)
    for number, notice in enumerate(notices, text.count("\n") + 2):
        assert f"helper.py, line {number}: " in notice


BAD = "Save the file as UTF-8."
ENCODED = {  # how a file is saved -> its content, and what is said about it
    "utf-16": ("x = 'é'\n".encode("utf-16"), f"NAME is not UTF-8 but UTF-16. {BAD}"),
    "utf-16, no mark": ("x = 'é'\n".encode("utf-16-le"), f"NAME is not UTF-8 but UTF-16. {BAD}"),
    "latin-1": (b"x = 1\ny = '\xe9'\n", f"NAME, line 2: byte 0xe9 is not UTF-8 text. {BAD}"),
    "a NUL": (b"x = 1\n\n\0", f"NAME, line 3: byte 0x00 is not UTF-8 text. {BAD}"),
    "latin-1, declared": (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", None),
    "utf-8 with a mark": ("x = 'é'\n".encode("utf-8-sig"), None),
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_a_file_that_is_not_utf8_is_named_with_its_encoding(mine, tmp_path, encoding):
    content, message = ENCODED[encoding]
    files = "helper.py", "problem6/choices.toml"
    for file in files:
        (mine / file).write_bytes(content)
    package, notices = staged(mine, tmp_path)
    named = [notice for notice in notices if "Checks that need it" in notice]
    assert all((package / file).is_file() == (message is None) for file in files)
    expected = f"{message} Checks that need it earn no points."
    assert named == ([expected.replace("NAME", file) for file in files] if message else [])
