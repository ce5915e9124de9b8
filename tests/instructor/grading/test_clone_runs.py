"""Runs of `grade` on classes of clones: whose clone is whose, and what a later run still says."""
# ruff: noqa: F811

import pytest
from class_of_clones import HOME, clone, commit, git, student
from test_commits import AT, EARLY, LATE, LATER
from test_second_run import entries, grade, merge  # noqa: F401

LAST_MINUTE = "2026-02-12 22:00 +0000"
START = "2026-02-01 12:00 +0000"


def roster(tmp_path, *ids):
    path = tmp_path / "roster.csv"
    path.write_text("id,name\n" + "".join(f"{id},\n" for id in ids), encoding="utf-8")
    return "--roster", str(path)


def classmate(tmp_path, name, *times, folder=None):
    """A student's repository and its clone by staff."""
    origin = student(tmp_path / name, *(times or (EARLY,)))
    for when in times or (EARLY,):
        commit(origin, when, {f"{HOME}/model.py": f"# of {name}, {when}"})
    clone(origin, tmp_path / "class" / (folder or f"hw5-{name}"))
    return origin


def refetch(tmp_path, name, when):
    git(tmp_path / "class" / f"hw5-{name}", "fetch", "--quiet", when=when)


def remarks(tmp_path, id):
    return " ".join(entries(tmp_path)[id].remarks)


# Whose clone


def test_clones_of_one_name_in_folders_of_people_stay_apart(tmp_path, grade, capsys):
    for name in ("ada", "ben"):
        classmate(tmp_path, name, folder=f"{name}/hw5")
    people = roster(tmp_path, "ada", "ben")
    assert grade(*people) == 0
    archives = [*(tmp_path / "out" / "commits").rglob("*.zip")]
    texts = {archive.name[:3]: archive.read_bytes() for archive in archives}
    assert {*texts} == {"ada", "ben"} and all(f"# of {n}".encode() in texts[n] for n in texts)
    assert all(entry.report for entry in entries(tmp_path).values())
    assert "grader error" not in capsys.readouterr().out


def test_an_unreadable_clone_gets_nobody_elses_grade(tmp_path, grade):
    for name in ("ada", "ben"):
        classmate(tmp_path, name, folder=f"{name}/hw5")
    harm = tmp_path / "class" / "ben" / "hw5" / ".git/objects/info/alternates"
    harm.write_text("/elsewhere\n", encoding="utf-8")
    for _ in range(2):
        assert grade(*roster(tmp_path, "ada", "ben")) == 3
        assert not entries(tmp_path)["ben"].report and entries(tmp_path)["ada"].report


def test_a_clone_that_was_somebody_elses_keeps_no_grade(tmp_path, grade):
    classmate(tmp_path, "x"), classmate(tmp_path, "cy")
    path = tmp_path / "roster.csv"
    for owner, harm in (("ada", False), ("ben", True)):
        text = "id,name,github\n" + "".join(
            f"{id},,{'x' if id == owner else ''}\n" for id in ("ada", "ben", "cy")
        )
        path.write_text(text, encoding="utf-8")
        if harm:
            harm = tmp_path / "class" / "hw5-x" / ".git/objects/info/alternates"
            harm.write_text("/elsewhere\n", encoding="utf-8")
        grade("--roster", str(path))
        assert bool(entries(tmp_path)["ada"].report) is (owner == "ada")
    assert not entries(tmp_path)["ben"].report


# Later runs


def test_a_commit_that_came_after_a_run_is_said_in_every_later_run(tmp_path, grade, monkeypatch):
    origin = classmate(tmp_path, "ada", START)
    assert grade("--at", AT) == 0
    first = entries(tmp_path)["hw5-ada"].source
    forged = commit(origin, LAST_MINUTE)
    refetch(tmp_path, "ada", "2026-02-13 00:10 +0000")

    def stop(*arguments):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("instructor.grading.grade_missing.grade_missing", stop)
        with pytest.raises(KeyboardInterrupt):
            grade(folder=None)
    told = f"Another commit counts than in an earlier run with this deadline, {forged[:12]} and not"
    for _ in range(2):
        assert grade(folder=None) == 0
        assert f"{told} {first[-12:]}" in remarks(tmp_path, "hw5-ada")


def test_a_run_before_the_deadline_is_only_a_trial(tmp_path, grade):
    origin = classmate(tmp_path, "ada", START)
    assert grade("--at", "2190-01-01") == 0
    commit(origin, LAST_MINUTE)
    refetch(tmp_path, "ada", LAST_MINUTE)
    assert grade(folder=None) == 0
    assert "Another commit" not in remarks(tmp_path, "hw5-ada")


def test_a_rebase_after_the_deadline_keeps_the_grade_until_staff_decide(tmp_path, grade, capsys):
    origin = classmate(tmp_path, "ada", START, LAST_MINUTE)
    refetch(tmp_path, "ada", "2026-02-13 00:01 +0000")
    assert grade("--at", AT) == 0
    old = entries(tmp_path)["hw5-ada"]
    git(origin, "rebase", "--quiet", "--root", "--force-rebase", when=LATE)
    refetch(tmp_path, "ada", LATER)
    for _ in range(2):
        assert grade(folder=None) == 0
        new = entries(tmp_path)["hw5-ada"]
        assert (new.source, new.total, new.refused) == (old.source, old.total, "")
        assert f"Its history was rewritten: {old.source[-12:]}" in remarks(tmp_path, "hw5-ada")
        assert "It has no commit before" in remarks(tmp_path, "hw5-ada")


def test_an_extension_over_a_clock_change_ends_at_the_same_time_of_day(tmp_path, grade):
    classmate(tmp_path, "ada", "2024-11-04 04:30 +0000", "2024-11-04 05:30 +0000")
    (tmp_path / "out").mkdir()
    at = "2024-11-02 23:59 America/New_York"  # clocks go back on the 3rd
    (tmp_path / "out/overrides.csv").write_text(
        "id,extension days,excused,check,points,reason\nhw5-ada,1,,,,ill\n", encoding="utf-8"
    )
    assert grade("--at", at, "--due", at, "--late-percent", "10") == 0
    for _ in range(2):
        one = entries(tmp_path)["hw5-ada"]
        assert f"{one.submitted:%H:%M}" == "04:30" and not one.days_late
        assert grade(folder=None) == 0


def test_merge_says_that_an_extension_needs_grade(tmp_path, grade, merge, capsys):
    classmate(tmp_path, "ada", START)
    assert grade("--at", AT) == 0
    (tmp_path / "out/overrides.csv").write_text(
        "id,extension days,excused,check,points,reason\nhw5-ada,1,,,,ill\n", encoding="utf-8"
    )
    for said in (True, False):
        merge()
        assert (
            "decided by the next: python -m instructor grade" in capsys.readouterr().out
        ) is said
