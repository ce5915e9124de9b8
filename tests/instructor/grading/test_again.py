"""What is graded again: what changed or failed, and what somebody asks for; the rest is kept."""

import shutil
import sqlite3
from pathlib import Path

import pytest
from batch_work import Here, run
from classes import MANIFEST, entries, hand_in, rows, students, verdicts, with_points

from common.files import Interrupted, UserError
from helpers import manifest_text

CHECKS = MANIFEST.checks
CODED = sum(check.coded for check in CHECKS.values())


def totals(tmp_path):
    return {row["id"]: row["total"] for row in rows(tmp_path / "out" / "grades-plain.csv")}


def test_only_what_changed_is_graded_again_and_no_new_points(tmp_path, grade, use_manifest):
    folder, out = students(tmp_path / "class", 3), tmp_path / "out"

    def graded():
        assert grade(engine=(engine := Here())) == 0
        return [(Path(task.source).name, len(task.checks)) for task in engine.tasks]

    assert graded() == [(f"student{n:02}", CODED) for n in range(3)] and graded() == []
    (folder / "student02" / "model.py").write_text("# changed\n", encoding="utf-8")
    assert graded() == [("student02", CODED)]
    shutil.copytree(folder / "student01", folder / "student03")  # equal content
    assert graded() == []
    # as after a change of one check
    with sqlite3.connect(out / "grades.sqlite") as connection:
        connection.execute("UPDATE outcomes SET fingerprint = 'old' WHERE id = '1h-5-hidden'")
    assert [checks for _, checks in graded()] == [1] * 3  # one of the two that are equal
    assert graded() == []
    before, check = verdicts(out), CHECKS["1h-5-hidden"]
    use_manifest(with_points(check.id, check.points + 2))
    for person, checks in verdicts(out).items():
        verdict, score = before[person][check.id]
        more = {check.id: (verdict, score / check.points * (check.points + 2))}
        assert checks == before[person] | more


def other_results(task):
    result = run(task)
    for check in result["report"]["checks"] if "report" in result else ():
        passed = check["verdict"] != "passed"
        verdict = "passed" if passed else "timeout"
        check |= {"verdict": verdict, "score": passed * check["max_score"]}
    return result


def test_a_timeout_on_a_busy_machine_counts_only_when_it_comes_again_alone(tmp_path, grade):
    hand_in(tmp_path / "class", "ada", "ben")
    under_way = []

    def busy(task):
        result = run(task)
        under_way.append(len(task.checks))
        for check in result["report"]["checks"]:
            if check["id"] == "5f-0-basic" and len(task.checks) > 1:
                check |= {"verdict": "timeout", "score": 0.0, "busy": True}
        return result

    with pytest.raises(Interrupted):  # after all, and before those alone
        grade(engine=Here(busy, stop=2))
    assert entries(tmp_path)["ada"].pending == ["5f-0-basic"]
    under_way.clear()
    grade("--again", engine=Here(busy))
    assert under_way[-2:] == [1, 1] and len(under_way) == 4
    checks = [check for entry in entries(tmp_path).values() for check in entry.checks]
    assert len(checks) == 2 * CODED and "timeout" not in {check["verdict"] for check in checks}


def test_many_timeouts_are_said(tmp_path, grade, capsys):
    hand_in(tmp_path / "class", *(f"s{n}" for n in range(8)))
    slow = Here(lambda task: (other_results if task.source[-1] in "123" else run)(task))
    assert grade(engine=slow) == 3 and "3 of 8 submissions hit" in capsys.readouterr().err


def test_what_ran_without_isolation_is_graded_again_with_it(tmp_path, grade):
    hand_in(tmp_path / "class", "ada")
    limits = Here(lambda task: {"report": run(task)["report"] | {"isolation": "limits"}})
    for words, engine in ((["--allow-weak-isolation"], limits), ([], Here())):
        for _ in range(2):
            grade(*words, engine=engine)
            assert len(engine.tasks) == 1


def test_grading_again_keeps_what_was_and_why(tmp_path, grade, capsys):
    hand_in(tmp_path / "class", "ada", "ben", "5")
    notices = {"notices": ["Not written yet: 1c and 5f."]}
    grade(engine=Here(lambda task: {"report": run(task)["report"] | notices}))
    before, engine = entries(tmp_path), Here(other_results)
    capsys.readouterr()
    grade("--again", "ada", "5f-0-basic", engine=engine)
    (task,) = engine.tasks
    assert task.checks == ("5f-0-basic",) and task.source.endswith("/ada")
    after = entries(tmp_path)
    assert after["ben"].scores == before["ben"].scores
    assert after["ada"].report["notices"] == notices["notices"]  # though 5f has none
    scores, old = after["ada"].scores, before["ada"].scores
    assert [id for id in scores if scores[id] != old[id]] == ["5f-0-basic"]
    said = capsys.readouterr().out
    assert f"'ada': {before['ada'].total:g}, now {after['ada'].total:g}: check 5f-0-basic" in said
    (row,) = [row for row in rows(tmp_path / "out" / "history.csv") if row["what"] == "check"]
    assert row["before"].startswith(f"{old['5f-0-basic']:g} of ") and row["why"] == "graded again"
    assert row["after"].startswith(f"{scores['5f-0-basic']:g} of ")
    # nobody of this name; a question that people mark; a person whose id is a problem
    for words in ("nobody", "1g", "ada 1g", "5", "ada ben"):
        with pytest.raises(UserError):
            grade("--again", *words.split())
    assert entries(tmp_path) == after
    for words, ids, people in ((("5f",), {"5f"}, 3), (("ben",), None, 1), ((), None, 3)):
        grade("--again", *words, engine=(engine := Here()))
        assert len(engine.tasks) == people
        questions = {CHECKS[id].question for task in engine.tasks for id in task.checks}
        assert questions == (ids or {check.question for check in CHECKS.values() if check.coded})


@pytest.mark.parametrize("words", [("--again", "5c"), ()])
def test_an_interrupted_regrading_goes_on(tmp_path, grade, use_manifest, capsys, words):
    hand_in(tmp_path / "class", "ada", "ben", "cy")
    (tmp_path / "class" / "cy" / "refuse").touch()
    grade(seed=5)
    before = totals(tmp_path)
    if not words:
        use_manifest(manifest_text().replace("\nseconds = 20\n", "\nseconds = 19\n"))
    with pytest.raises(Interrupted, match="Run the same command to continue"):
        grade(*words, engine=Here(other_results, stop=1))
    capsys.readouterr()
    assert grade(*words, engine=(engine := Here(other_results))) == 0
    left = ["ben", "cy"] if words else ["ben"]  # --again looks at what was refused, too
    assert [task.source.rpartition("/")[2] for task in engine.tasks] == left
    said = capsys.readouterr().out
    why = "graded again" if words else "the check or what it depends on has changed"
    for person in ("ada", "ben"):
        assert f"'{person}': {before[person]}, now {totals(tmp_path)[person]}: check" in said
        assert why in said
    grade(*words, engine=(engine := Here(other_results)))  # a new run
    assert len(engine.tasks) == (3 if words else 0)
