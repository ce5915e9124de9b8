"""Who is found by what is typed, and what `explain` says beside the grade."""

import shlex
import sqlite3
from unittest import mock

import pytest
from batch_work import Here, run_few
from classes import cli, decide, set_up

from common.files import UserError
from conftest import SOLUTION
from instructor.__main__ import main
from instructor.grading.finding.people import find_entry
from instructor.grading.grades import Entry, GradedClass, Person

PEOPLE = [
    Person("ada", "Ada Lovelace", "ada@uni.example", "", "501", "s1", "al12", "ada-l"),
    Person("jürgen müller", "Müller, Jürgen"),
    Person("o'neill $x", "Siobhán O'Neill"),
    Person("zoe1", "Zoë Smith"),
    Person("zoe 2", "Zoe Smith"),
    Person("-x", "Ana María de la Cruz"),
    Person("\x1b[31m", "Wei Zhang"),
]
CLASS = GradedClass(
    None, "A class", [Entry(person, f"folder-{n}") for n, person in enumerate(PEOPLE)]
)


@pytest.mark.parametrize(
    "person, names",
    [
        (0, "ada|ADA|folder-0|lovelace, ada| ada  lovelace |ada@uni.example|al12|501|Ada-L"),
        (1, "Jürgen Müller|Muller Jurgen|Müller, Jürgen"),
        (2, "o'neill $x|Oneill, Siobhan"),
        (4, "zoe 2"),
        (5, "de la Cruz, Ana Maria|Ana Maria de la Cruz"),
        (6, "Zhang Wei"),
    ],
)
def test_somebody_is_found_by_whatever_they_are_called(person, names):
    for typed in names.split("|"):
        assert find_entry(CLASS, typed) is CLASS.entries[person], typed


@pytest.mark.parametrize("typed", ["", " ", ",", "Siobhán", "Lovelace Ada Byron", "Cruz la de Ana"])
def test_nobody_is_found_by_less(typed):
    with pytest.raises(UserError, match="There is no"):
        find_entry(CLASS, typed)


def test_several_people_of_one_name_are_listed_as_a_shell_takes_them():
    with pytest.raises(UserError, match="2 people") as error:
        find_entry(CLASS, "Smith, Zoë")
    listed = str(error.value).split("Give an id: ")[1].rstrip(".")
    assert [word.rstrip(",") for word in shlex.split(listed)] == ["zoe1", "zoe 2"]


@pytest.fixture(scope="module")
def graded(tmp_path_factory, worker):
    """Two copies of a part of the reference, in folders and under names that want quoting, graded
    with few checks.
    """
    folder = tmp_path_factory.mktemp("a class's folder")
    for name in ("o'neill $x", "plain"):
        (folder / "class" / name).mkdir(parents=True)
        for file in ("attention.py", "model.py"):
            text = (SOLUTION / file).read_text(encoding="utf-8")
            # Which fails nothing but what looks at the cache of angles.
            text = text.replace("10000", "20000") if file == "attention.py" else text
            (folder / "class" / name / file).write_text(text, encoding="utf-8")
    (folder / "class" / "page.zip").write_text("<html></html>", encoding="utf-8")
    with (
        mock.patch("instructor.grading.work._worker", lambda setting: worker),
        mock.patch("instructor.grading.command.make_engine", lambda *_: Here(run_few)),
    ):
        assert cli("grade", set_up(folder / "out", submissions=["../class"])) == 0
    return folder


@pytest.fixture(autouse=True)
def quick(warm):
    """Gradings are quick to begin."""


@pytest.fixture
def explain(graded, capsys, monkeypatch):
    """A function that runs the command; it returns the exit code, and what was printed."""

    def explain(student, check="1h-2-basic"):
        words = [str(graded / "out"), student, *([check] if check else [])]
        monkeypatch.setattr("sys.argv", ["instructor", "explain", *words])
        return main(), capsys.readouterr()

    return explain


def commands(text, start):
    """The commands behind `start`, as a shell would take them, less `python -m instructor`."""
    lines = [line.split(start)[1] for line in text.splitlines() if start in line]
    return [shlex.split(line.removeprefix("python -m instructor ")) for line in lines]


def test_the_result_is_compared_with_the_grade(graded, explain):
    """What is to be typed can be copied into a shell."""
    out, check = str(graded / "out"), ["o'neill $x", "1h-2-basic"]
    code, printed = explain(*check)
    assert code == 0 and "The same as in the grade." in printed.out
    assert commands(printed.out, "Again: ") == [["explain", out, *check]]
    with sqlite3.connect(graded / "out" / "grades.sqlite") as state:
        change = "replace(outcome, '\"wrong answer\"', '\"timeout\"')"
        state.execute(f"UPDATE outcomes SET outcome = {change}")
    code, printed = explain(*check)
    assert code == 1 and "is timeout, 0 points; now it is wrong answer" in printed.out
    assert commands(printed.out, "To grade it again: ") == [["grade", out, "--again", *check]]


def test_points_that_staff_gave_count(graded, explain):
    decide(graded, "plain,,,1h-2-basic,0.5,by hand")
    _, printed = explain("plain")
    assert "Staff gave 0.5 points for 1h-2-basic" in printed.out and "To grade" not in printed.out
    decide(graded)


def test_without_a_check_the_whole_grade_is_explained(graded, explain):
    decide(graded, "plain,1,,,,ill", "plain,,,,-2,copied")
    _, printed = explain("plain", None)
    for part in ("1h-2-basic", "no points yet for 3a-0-written", "ill", "copied", "In all:"):
        assert part in printed.out
    decide(graded)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("page", "1h"), "was refused: It is not a zip file"),
        (("plain", "9z"), "no check or question '9z'"),
        (("plain", "3a"), "marked by a person"),
    ],
)
def test_what_cannot_be_explained_is_a_sentence(explain, words, message):
    code, printed = explain(*words)
    assert code == 2 and message in printed.err


def test_a_submission_that_changed_is_no_ground_to_grade_the_old_one(graded, explain):
    path = graded / "class" / "plain" / "attention.py"
    path.write_text(path.read_text(encoding="utf-8").replace("20000", "10000"), encoding="utf-8")
    code, printed = explain("plain")
    assert code == 1 and "the grade is for the earlier content" in printed.err
    assert commands(printed.out, "To grade it again: ") == [["grade", str(graded / "out")]]
