"""Questions for a talk about one's own code: what they ask, and what they keep to the staff."""

import os
import random

import pytest
from classes import MANIFEST, cli, fail, full_report

from checks.support.staging import START
from helpers import SOLUTION, Page, copy_reference
from instructor.grading import graded_class, viva
from instructor.grading.grades import Entry, GradedClass, Person, Submission

EVIL = "</pre><script>alert(1)</script>\x1b[31m\u202e[a](b)"


@pytest.fixture
def graded(tmp_path, monkeypatch):
    """A class of the reference, of one with a hostile name and code, and of one who is absent."""
    folder = copy_reference(tmp_path / "submission")
    for path in folder.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(START, f"{START}\n# ```{EVIL}"), encoding="utf-8")
    people = [Person("ada", "Ada"), Person("evil", EVIL), Person("absent", "Absent")]
    entries = [Entry(person, person.id, report=full_report(random.Random(1))) for person in people]
    graded = GradedClass(MANIFEST, "T", entries, codes={person.id: "CODE" for person in people})
    monkeypatch.setattr(graded_class, "load_class", lambda out: graded)
    for id, path in {"ada": SOLUTION, "evil": folder}.items():
        graded.submissions[id] = Submission("", id, os.fsencode(path), "")
    return graded


def talk(out, *options):
    """Run the command; the files by name."""
    assert cli("viva", out, *options) == 0
    return {path.name: path.read_text(encoding="utf-8") for path in (out / "viva").iterdir()}


def test_a_page_asks_about_own_lines_and_only_the_staffs_has_answers(graded, tmp_path):
    made = talk(tmp_path, "ada", "--questions", 2)
    assert {*made} == {"ada.html", "ada-student.html", "ada.md"}
    student, staff = (Page(made[name]).words for name in ("ada-student.html", "ada.html"))
    assert made["ada-student.html"].count("<pre>") == 2
    for text in (student, staff, made["ada.md"]):
        assert text.count("What would happen if") == 2 and text.count("Why is") == 1
    own = viva.parts_of(viva.read_code(SOLUTION)).values()
    lines = {line.strip() for code in own for line in code.split("\n")}
    assert {line.strip() for line in made["ada.md"].split("\n") if line[:4] == "    "} <= lines
    asked = [part.split("</q>")[0] for part in made["ada-student.html"].split("<q>")[1:]]
    whys = [mistake.why for known in viva.mistakes().values() for mistake, _ in known]
    assert all(any(why.startswith(Page(text).words) for why in whys) for text in asked)
    for text in (staff, made["ada.md"]):
        assert text.count("What the grader would say") == 2 and "-basic: " in text
    assert "grader" not in student and "-basic" not in student and "-hidden" not in student
    assert talk(tmp_path, "ada", "--questions", 2) == made, "the same questions come again"
    drawn = {talk(tmp_path, "ada", "--questions", 2, "--seed", seed)["ada.md"] for seed in "abc"}
    assert len(drawn | {made["ada.md"]}) > 1


def test_only_questions_with_full_points_are_asked(graded, tmp_path, capsys):
    ada = graded.entries[0]
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
    assert "ada has no page" in said and "absent has no page" in said


def test_names_and_code_obey_no_stranger(graded, tmp_path):
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
