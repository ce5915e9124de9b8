"""Points and titles are only in the manifest, and everything follows it (docs/instructors.md)."""

from dataclasses import replace

import pytest

import grader
from autograder import read_manifest
from checks.support.session import MANIFEST
from helpers import manifest_text
from instructor.grading.grades import Entry, GradedClass, Person
from instructor.grading.gradescope.build import regular_points
from instructor.grading.gradescope.results import ungraded
from instructor.grading.pages import gradebook, student_page

SETTINGS = {"version": "1", "leaderboard": False, "hidden_visibility": "hidden"}


def test_all_follows_the_manifest():
    """Other points everywhere, some of them not binary fractions, and other titles."""
    whole = read_manifest(MANIFEST)
    checks, questions = {}, {}
    for number, (id, check) in enumerate(whole.checks.items()):
        points, title = check.points + number / 10, f"Check {number} & more"
        checks[id] = replace(check, points=points, title=title)
    for id, question in whole.questions.items():
        points = round(sum(check.points for check in checks.values() if check.question == id), 4)
        questions[id] = replace(question, points=points, title=f"Question {id} & more")
    manifest = replace(whole, questions=questions, checks=checks)
    report = {"checks": [], "notices": []}
    entry = Entry(Person("1", "A", canvas_id="1"), "a", report=report)
    graded = GradedClass(manifest, "T", [entry])
    required = [question for question in manifest.questions.values() if not question.extra_credit]
    possible = f"{sum(question.points for question in required):.4f}".rstrip("0").rstrip(".")
    assert f"    Points Possible,,,,,{possible}\n" in gradebook.canvas(graded)[0]
    page = student_page.page(graded, graded.entries[0])
    assert all(f"Question {id} &amp; more" in page for id in manifest.questions)

    tests = ungraded(manifest, SETTINGS, "", "failed")["tests"]
    assert len(tests) > 100 and all(" & more" in test["name"] for test in tests)
    assert regular_points(manifest) == pytest.approx(
        sum(test["max_score"] for test in tests if "extra credit" not in test["name"])
    )


def test_points_that_do_not_add_up_are_named(tmp_path, monkeypatch, capsys):
    text = manifest_text() + '\n[questions.9z]\ntitle = "T"\npoints = 1\n'
    (tmp_path / "manifest.toml").write_text(text, encoding="utf-8")
    monkeypatch.setattr("checks.support.session.MANIFEST", tmp_path / "manifest.toml")
    assert grader.main(["--list"]) == 2
    assert "question 9z has 1 points, but its checks have 0 in total" in capsys.readouterr().err
