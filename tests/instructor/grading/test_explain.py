"""Who is found by what is typed, and what `explain` says."""

import shlex

import pytest
from batch_work import Here, run
from classes import cli, decide, grade, hand_in

from common.files import UserError
from instructor.grading.finding.people import find_entry
from instructor.grading.grades import Entry, GradedClass, Person

# ruff: noqa: F401, F811
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


@pytest.fixture
def explain(tmp_path, grade, capsys):
    """A function that runs the command on a class, with a name that wants quoting and somebody
    refused; it returns what was printed.
    """
    hand_in(tmp_path / "class", "o'neill $x", "plain", "zoe")
    (tmp_path / "class" / "zoe" / "refuse").touch()

    def found(task):
        result = run(task)
        for check in result["report"]["checks"] if "report" in result else ():
            if check["id"] == "1h-5-hidden":
                check |= {"verdict": "wrong answer", "score": 0.0, "message": "Hidden check: x."}
                check["details"] = "off by 3 at [0, 1]"
        return result

    def explain(*words):
        grade(engine=Here(found))
        capsys.readouterr()
        assert cli("explain", tmp_path / "out", *words) == 0
        return capsys.readouterr().out

    return explain


def test_all_that_a_check_found_is_shown_with_a_command_that_grades_it_again(tmp_path, explain):
    """What is to be typed can be copied into a shell. A check that passed has the command, too."""
    said = explain("o'neill $x", "1h-5-hidden")
    assert "For staff: off by 3 at [0, 1]" in said and "1h-5-hidden     0/" in said
    again = ["python", "-m", "instructor", "grade", str(tmp_path / "out"), "--again"]
    (line,) = [line for line in said.splitlines() if "Again: " in line]
    assert shlex.split(line.split("Again: ")[1]) == [*again, "o'neill $x", "1h-5-hidden"]
    lines = explain("plain", "1c").splitlines()
    passed = next(line.split()[1] for line in lines if line.startswith("  passed"))
    said = explain("plain", passed)
    assert f"--again plain {passed}" in said and said.count("Again: ") == 1


def test_what_people_decided_is_said(tmp_path, explain):
    decide(tmp_path, "plain,,,1h-2-basic,0.5,by hand", "plain,1,,,,ill", "plain,,,,-2,copied")
    decide(tmp_path, "plain,3a-0-written,0.5,short", "zoe,3b-0-written,1,", file="written/eva.csv")
    assert "Staff gave 0.5 points for 1h-2-basic" in explain("plain", "1h-2-basic")
    assert "3a-0-written: 0.5 of 1, marked by a person. short" in explain("plain", "3a")
    said = explain("plain")  # the whole grade
    for part in ("1h-5-hidden", "– of 2  no points yet\n", "ill", "copied", "In all:"):
        assert part in said
    assert "lost in 3a-0-written; no points yet for 3a-1-written\n" in said
    # of whom nothing was graded, what there is
    assert [line[:2] for line in explain("zoe").splitlines() if " of " in line] == ["3b"]


def test_what_cannot_be_explained_is_a_sentence(explain):
    assert "Refused: It is refused." in explain("zoe", "1h")
    with pytest.raises(UserError, match="no check or question '9z'"):
        explain("plain", "9z")
