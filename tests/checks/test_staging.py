"""Submissions of any layout become the package that is graded; where checks look for data."""

import os
import re
import shutil
import stat
from pathlib import Path

import pytest

from checks.support.context import DATA, EXERCISES, GOLD_EXERCISES, Context
from checks.support.staging import NotTaken, stage
from common.files import UserError
from helpers import ROOT, SOLUTION
from jobs.deliverables import ANSWERS, STUDENT_FILES

FILES = (*STUDENT_FILES, *ANSWERS)


@pytest.fixture
def flat(tmp_path):
    """The reference without folders, as when each file is uploaded by itself."""
    folder = tmp_path / "flat"
    folder.mkdir()
    for name in FILES:
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


KINDS = pytest.mark.parametrize("kind", ["folder", "zip"])


@KINDS
@pytest.mark.parametrize("moved", [(), ("positions.py", "efficient_attention.py")])
def test_files_without_folders_take_their_places(flat, tmp_path, moved, kind):
    """`moved` are in their folder already."""
    for name in moved:
        (flat / name).unlink()
        (flat / "problem6").mkdir(exist_ok=True)
        shutil.copy(SOLUTION / "problem6" / name, flat / "problem6")
    package, notices = staged(zipped(flat, kind), tmp_path)
    for name in FILES:
        assert (package / name).read_bytes() == (SOLUTION / name).read_bytes(), name
    assert not any("missing" in notice for notice in notices)


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


def test_missing_files_are_one_notice_and_hidden_ones_of_editors_none(mine, tmp_path):
    for name in ("helper.py", "model.py"):
        (mine / name).unlink()
    (mine / ".#attention.py").symlink_to("me@here.1234")  # Emacs: it is open, with changes
    (mine / "._model.py").write_bytes(b"\0")
    package, notices = staged(mine, tmp_path)
    assert notices == ["helper.py, model.py are missing: checks that need them earn no points."]
    assert not [path.name for path in package.rglob(".*")]


def test_a_file_that_is_there_twice_is_refused(flat, tmp_path):
    (flat / "problem5").mkdir()
    (flat / "problem5" / "encoder.py").write_text("import torch\n", encoding="utf-8")
    with pytest.raises(NotTaken, match="encoder.py also exists as problem5/encoder.py"):
        staged(flat, tmp_path)


RENAMED = {
    "attention.py": "attention (1).py",
    "model.py": "model - Copy.py",
    "dataset.py": "dataset-2.py",
    "helper.py": "Helper.py",
    "problem5/encoder.py": "encoder(2).py",
    "problem6/fixes.py": "problem6/fixes copy.py",
    "problem6/choices.toml": "problem6/choices.toml.txt",
}


@KINDS
def test_a_missing_file_under_another_name_is_named(mine, tmp_path, kind):
    for file, other in RENAMED.items():
        (mine / file).rename(mine / other)
    notices = staged(zipped(mine, kind), tmp_path)[1]
    for file, other in RENAMED.items():
        message = f"{file} is missing; there is {other!r}: rename it."
        assert f"{message} Checks that need it earn no points." in notices


def test_a_folder_under_another_name_is_named(mine, tmp_path):
    (mine / "problem5").rename(mine / "Problem5")
    (mine / "helper.py").unlink()
    (mine / "(1)").touch()  # no other name of the top
    notices = "\n".join(staged(mine, tmp_path)[1])
    assert "helper.py is missing: checks" in notices
    assert "problem5/encoder.py is missing; there is 'Problem5': rename it." in notices


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
    where = f"the markers, {place}".format(last=len(lines))
    assert all(f"helper.py differs from the starter outside {where}" in each for each in notices)


def test_a_line_that_changes_torch_for_all_is_named(mine, tmp_path):
    lines = [
        "torch.set_default_dtype(torch.float64)",
        "    torch.set_default_device('cuda')",
        "set_default_tensor_type(torch.DoubleTensor)",
        "torch.set_grad_enabled(False)",
        "with torch.set_grad_enabled(False):",  # harmless, like the next
        "# torch.set_default_dtype(torch.float64)",
    ]
    text = (mine / "helper.py").read_text(encoding="utf-8")
    (mine / "helper.py").write_text("\n".join([text, *lines]), encoding="utf-8")
    notices = [each for each in staged(mine, tmp_path)[1] if "changes torch for all" in each]
    found = [re.search(r"helper.py, line (\d+): ", notice)[1] for notice in notices]
    first = text.count("\n") + 2
    assert [*map(int, found)] == [*range(first, first + 4)]


ENCODED = {  # how a file is saved -> its content, and what is said about it
    "utf-16": ("x = 'é'\n".encode("utf-16"), "NAME is not UTF-8 but UTF-16."),
    "utf-16, no mark": ("x = 'é'\n".encode("utf-16-le"), "NAME is not UTF-8 but UTF-16."),
    "latin-1": (b"x = 1\ny = '\xe9'\n", "NAME, line 2: byte 0xe9 is not UTF-8 text."),
    "a NUL": (b"x = 1\n\n\0", "NAME, line 3: byte 0x00 is not UTF-8 text."),
    "latin-1, declared": (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", None),
    "utf-8 with a mark": ("x = 'é'\n".encode("utf-8-sig"), None),
}


@pytest.mark.parametrize("encoding", ENCODED)
def test_a_file_that_is_not_utf8_is_named_with_its_encoding(mine, tmp_path, encoding):
    content, message = ENCODED[encoding]
    files = ("helper.py", "problem6/choices.toml")
    for file in files:
        (mine / file).write_bytes(content)
    package, notices = staged(mine, tmp_path)
    assert all((package / file).is_file() == (message is None) for file in files)
    named = [notice for notice in notices if "Checks that need it" in notice]
    says = f"{message} Save the file as UTF-8. Checks that need it earn no points."
    assert named == [says.replace("NAME", file) for file in files if message]


def put(folder, name):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("Where was A born?\tB\n", encoding="utf-8")
    return folder / name


@pytest.mark.parametrize("name", [*EXERCISES, *GOLD_EXERCISES])
def test_a_cohorts_files_lie_in_the_folder_given_or_above_it(tmp_path, monkeypatch, name):
    kind, ours = ("data", DATA) if name in EXERCISES else ("gold", ROOT / "instructor" / "gold")
    for needed in ("wiki.txt", "birth_dev.tsv"):
        folder = put(tmp_path / kind / "laptop", needed).parent

    def find(**given):
        context = Context(ROOT, "laptop", given.get("data"), given.get("gold"), {})
        return context.path(name) if kind == "data" else context.gold_path(name)

    assert find(gold=ROOT / "instructor" / "gold") == ours / name and (ours / name).is_file()
    with pytest.raises(UserError, match=f"{name} is neither in .*laptop nor above.*Check --{kind}"):
        find(**{kind: folder})  # not replaced by ours
    above = put(folder.parent, name)
    assert find(**{kind: folder}) == above
    monkeypatch.chdir(folder)
    assert all(find(**{kind: Path(here)}).samefile(above) for here in ("", "../laptop"))
    beside = put(folder, name)
    assert find(**{kind: folder}) == beside


def test_without_answers_it_says_which_option_gives_them():
    name = GOLD_EXERCISES[0]
    with pytest.raises(UserError, match=f"{name} is missing. Give its folder: --gold DIR"):
        Context(ROOT, None, None, None, {}).gold_path(name)
