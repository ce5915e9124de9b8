"""What can be said of a grade: root causes, all that was found, and questions for a talk."""

import os
import re
import shlex

import pytest
from batch_work import Here, run
from classes import MANIFEST, cli, decide, fail, full_report, hand_in

from checks.support.staging import START
from common.files import UserError
from helpers import SOLUTION, Page, copy_reference
from instructor.grading import graded_class, viva
from instructor.grading.causes import root_causes
from instructor.grading.feedback import feedback_on
from instructor.grading.finding.people import find_entry
from instructor.grading.grades import Entry, GradedClass, Person, Submission

MISSING = ["5d-1-basic", "5d-2-basic", "5d-4-hidden", "5e-0-basic", "6a-1-basic"]
EMPTY = "dataset.py, line 81: ValueError: empty range for randrange() (4, 3, -1)"
MASKED = "In all 300 examples the masked content has 7 characters. Its length should be random."
TEMPERATURE = "\nLikely cause: the logits are multiplied by the temperature."
SWAPPED = "apply_rotary_emb(x): off by up to 1.\nLikely cause: the pairs are swapped."
CLIPPED = "clip_gradients(1.0) should be a Python float; it is a tensor"
WRONG = "wrong answer"
OFF = "f(x) should be 2; it is 3, off by 1"
NOT_YET = "MultiHeadAttention.forward is not written yet: encoder.py, line 71"
SCALED = "The logits are multiplied by the temperature"
CALLED_AGAIN = f"generate(model, x, 6): token 0 is wrong.{TEMPERATURE}\nSee 6e-4."
# why these are one cause, how its checks end, and causes with the messages of their checks
FAILURES = {
    "an unwritten part, wherever it is called: the last one's question builds on no other": (
        "not implemented",
        {NOT_YET: dict.fromkeys(MISSING, "encoder.py:71  MultiHeadAttention.forward")},
    ),
    "a known mistake, and what else fails in its function": (
        WRONG,
        {
            SCALED: {
                "6e-4-basic": f"apply_temperature(x, 0.7): off by up to 2.1.{TEMPERATURE} Divide.",
                "6e-5-basic": "apply_temperature(x, 3): x is changed in place.",
                "6e-9-basic": CALLED_AGAIN,
            },
            CLIPPED: {"6e-6-basic": f"{CLIPPED}."},
        },
    ),
    "results, by the mistake of their own question": (
        WRONG,
        {"The pairs are swapped": {"1h-3-basic": SWAPPED, "1h-8-basic": "84 predictions differ"}},
    ),
    "equal messages, whatever their numbers": (
        WRONG,
        {MASKED.split(". ")[0]: {"1c-3-basic": MASKED, "1c-11-basic": MASKED.replace("300", "40")}},
    ),
    "a wrong number, without the tolerance": (
        WRONG,
        {OFF: {"5b-1-basic": f"{OFF}, where 2e-10 is allowed."}},
    ),
    "an exception, by its line of code": (
        "exception",
        {
            EMPTY: {"1c-0-basic": f"{EMPTY}\n  dataset.py", "1c-1-basic": EMPTY.replace("3", "2")},
            EMPTY.replace("81", "97"): {"1c-2-basic": EMPTY.replace("81", "97")},
        },
    ),
}


def causes(verdict, failures, scores=None):
    ids, end = filter(failures.get, MANIFEST.checks), {"verdict": verdict, "score": 0.0}
    outcomes = [end | {"id": id, "message": failures[id]} for id in ids]
    return root_causes(MANIFEST, feedback_on(MANIFEST, outcomes, scores))


@pytest.mark.parametrize("verdict, expected", FAILURES.values(), ids=FAILURES)
def test_failures_of_one_cause_are_one_line(verdict, expected):
    found = causes(verdict, {id: text for of in expected.values() for id, text in of.items()})
    ids = {cause.text: {check.id for check in cause.checks} for cause in found}
    assert ids == {cause: {*messages} for cause, messages in expected.items()}
    for cause in found:
        assert cause.points == sum(check.points for check in cause.checks)
    assert found == sorted(found, key=lambda cause: -cause.points)


def test_a_hidden_check_tells_its_title_and_what_costs_no_points_is_no_cause():
    for verdict in (WRONG, "exception", "not implemented"):
        (cause,) = causes(verdict, {"1c-5-hidden": "SECRET"})
        assert MANIFEST.checks["1c-5-hidden"].title in cause.text and "SECRET" not in cause.text
    for verdict in ("passed", "grader error"):
        assert causes(verdict, {"1c-0-basic": "No."}) == []
    given = {"1c-2-basic": MANIFEST.checks["1c-2-basic"].points}  # by staff
    assert causes(WRONG, {"1c-2-basic": "y is not x shifted."}, given) == []
    assert len(causes(WRONG, {"5c-0-basic": SWAPPED, "1h-3-basic": SWAPPED})) == 2


PEOPLE = [
    Person("ada", "Ada Lovelace", "ada@uni.example", "", "501", "s1", "al12", "ada-l"),
    Person("jürgen müller", "Müller, Jürgen"),
    Person("o'neill $x", "Siobhán O'Neill"),
    Person("zoe1", "Zoë Smith"),
    Person("zoe 2", "Zoe Smith"),
    Person("-x", "Ana María de la Cruz"),
    Person("\x1b[31m", "Wei Zhang"),
]
FOUND = [Entry(person, f"folder-{n}") for n, person in enumerate(PEOPLE)]
CLASS = GradedClass(None, "A class", FOUND)
CALLED = {  # by the person's number: what to type
    0: "ada|ADA|folder-0|lovelace, ada| ada  lovelace |ada@uni.example|al12|501|Ada-L",
    1: "Jürgen Müller|Muller Jurgen|Müller, Jürgen",
    2: "o'neill $x|Oneill, Siobhan",
    4: "zoe 2",
    5: "de la Cruz, Ana Maria|Ana Maria de la Cruz",
    6: "Zhang Wei",
}


def test_somebody_is_found_by_whatever_they_are_called_and_nobody_by_less():
    for person, names in CALLED.items():
        for typed in names.split("|"):
            assert find_entry(CLASS, typed) is CLASS.entries[person], typed
    for typed in ("", " ", ",", "Siobhán", "Lovelace Ada Byron", "Cruz la de Ana"):
        with pytest.raises(UserError, match="There is no"):
            find_entry(CLASS, typed)
    # several people of one name are listed as a shell takes them
    with pytest.raises(UserError, match="2 people") as error:
        find_entry(CLASS, "Smith, Zoë")
    listed = str(error.value).split("Give an id: ")[1].rstrip(".")
    assert [word.rstrip(",") for word in shlex.split(listed)] == ["zoe1", "zoe 2"]


@pytest.fixture
def explain(tmp_path, grade, capsys):
    """A function that explains a grade of a class; it returns what was printed."""
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
    said, _, typed = explain("o'neill $x", "1h-5-hidden").partition("Again: ")
    assert "off by 3 at [0, 1]" in said and "1h-5-hidden     0/" in said
    again = f"python -m instructor grade {tmp_path / 'out'} --again".split()
    assert shlex.split(typed.splitlines()[0]) == [*again, "o'neill $x", "1h-5-hidden"]
    lines = explain("plain", "1c").splitlines()
    passed = next(line.split()[1] for line in lines if line.startswith("  passed"))
    said = explain("plain", passed)
    assert f"--again plain {passed}" in said and said.count("Again: ") == 1


def test_what_people_decided_is_said(tmp_path, explain):
    decide(tmp_path, "plain,,,1h-2-basic,0.5,by hand", "plain,1,,,,ill", "plain,,,,-1,copied")
    decide(tmp_path, "plain,3a-0-written,0.5,short", "zoe,3b-0-written,1,", file="written/eva.csv")
    said = explain("plain", "1h-2-basic")
    assert "Staff gave 0.5 points" in said and "1h-2-basic" in said
    said = explain("plain", "3a")
    assert "3a-0-written: 0.5 of 1, " in said and "short" in said
    said = explain("plain")  # the whole grade
    own = "1 point less, by staff: copied"
    for part in ("1h-5-hidden", "– of 2  no points yet\n", "ill", own, "In all:"):
        assert part in said
    assert re.search("3a-0-written; .*3a-1-written\n", said)
    # of whom nothing was graded, what there is
    assert [line[:2] for line in explain("zoe").splitlines() if " of " in line] == ["3b"]
    assert "It is refused." in explain("zoe", "1h")
    with pytest.raises(UserError, match="no check or question '9z'"):
        explain("plain", "9z")


EVIL = "</pre><script>alert(1)</script>\x1b[31m\u202e[a](b)"


@pytest.fixture
def talkers(tmp_path, monkeypatch):
    folder = copy_reference(tmp_path / "submission")
    for path in folder.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(START, f"{START}\n# ```{EVIL}"), encoding="utf-8")
    people = [Person("ada", "Ada"), Person("evil", EVIL), Person("absent", "Absent")]
    entries = [Entry(person, person.id, report=full_report()) for person in people]
    graded = GradedClass(MANIFEST, "T", entries, codes={person.id: "CODE" for person in people})
    monkeypatch.setattr(graded_class, "load_class", lambda out: graded)
    for id, path in {"ada": SOLUTION, "evil": folder}.items():
        graded.submissions[id] = Submission("", id, os.fsencode(path), "")
    return graded


def talk(out, *options):
    assert cli("viva", out, *options) == 0
    return {path.name: path.read_text(encoding="utf-8") for path in (out / "viva").iterdir()}


def test_a_page_asks_about_own_lines_and_only_the_staffs_has_answers(talkers, tmp_path):
    made = talk(tmp_path, "ada", "--questions", 2)
    assert {*made} == {"ada.html", "ada-student.html", "ada.md"}
    student, staff = (Page(made[name]).words for name in ("ada-student.html", "ada.html"))
    assert made["ada-student.html"].count("<pre>") == 2
    for text in (student, staff, made["ada.md"]):
        assert text.count("would happen if") == 2 and text.count("Why is") == 1
    own = viva.parts_of(viva.read_code(SOLUTION)).values()
    lines = {line.strip() for code in own for line in code.split("\n")}
    assert {line.strip() for line in made["ada.md"].split("\n") if line[:4] == "    "} <= lines
    asked = [part.split("</q>")[0] for part in made["ada-student.html"].split("<q>")[1:]]
    whys = [mistake.why for known in viva.mistakes().values() for mistake, _ in known]
    assert all(any(why.startswith(Page(text).words) for why in whys) for text in asked)
    for text in (staff, made["ada.md"]):
        assert text.count("the grader would say") == 2 and "-basic: " in text
    assert "grader" not in student and "-basic" not in student and "-hidden" not in student
    assert talk(tmp_path, "ada", "--questions", 2) == made, "the same questions come again"
    drawn = {talk(tmp_path, "ada", "--questions", 2, "--seed", seed)["ada.md"] for seed in "abc"}
    assert len(drawn | {made["ada.md"]}) > 1


def test_only_questions_with_full_points_are_asked(talkers, tmp_path, capsys):
    ada = talkers.entries[0]
    for question in MANIFEST.questions:
        if question != "5c":
            ids = [check["id"] for check in ada.checks if check["question"] == question]
            for id in ids[:1]:
                fail(ada.report, id, "wrong answer", "No.", 0.5)
    made = talk(tmp_path)
    assert made["ada.md"].count("\n## ") == made["ada.md"].count("\n## 5c ") == 1
    fail(ada.report, "5c-0-basic", "wrong answer", "No.")
    talk(tmp_path)
    said = capsys.readouterr().out
    assert all(f"{person} has no page" in said for person in ("ada", "absent"))


def test_names_and_code_obey_no_stranger(talkers, tmp_path):
    made = talk(tmp_path)
    for name in ("evil.html", "evil-student.html"):
        page = Page(made[name])
        assert page.balanced and "script" not in {tag for tag, _ in page.tags}
        assert "alert(1)" in page.words and page.links == []
        assert "default-src 'none'" in made[name]
    assert not any("\x1b" in text or "\u202e" in text for text in made.values())
    heading, *rest = made["evil.md"].split("\n")
    assert "<" not in heading.replace("\\<", "") and "](" not in heading.replace("\\]\\(", "")
    assert all(line.startswith("    ") for line in rest if "script" in line)
