"""A class of cloned repositories: whose a clone is, which commit counts, and which files of it."""

import re
import subprocess

import pytest
from batch_work import Here
from classes import CODE, HOME, clone, commit, decide, entries, git, hand_in, page_of, student
from downloads import AT, EARLY, LAST_MINUTE, LATE, START

from checks.support.staging import stage
from common.files import Interrupted, UserError
from helpers import ROOT
from instructor.grading.finding.late import parse_due
from instructor.grading.finding.repository import AGAIN


@pytest.fixture
def origin(tmp_path):
    return student(tmp_path / "origin", EARLY, LATE)


@pytest.mark.parametrize("option", ["", "--bare", "--mirror", "packed", "inside"])
def test_the_last_commit_before_the_deadline_counts(tmp_path, origin, take, option):
    home = tmp_path / "class" / ("hw5-ada/repo" if option == "inside" else "hw5-ada")
    clone(origin, home, *[option] * option.startswith("-"))
    if option == "packed":
        git(home, "gc", "--quiet")
        assert not (home / ".git/refs/heads/main").exists()
    found, remarks, files = take()
    first = git(origin, "rev-parse", "HEAD~1")
    assert found.label == f"hw5-ada at {first[:12]}" and found.submitted == parse_due(EARLY)
    assert files == {"model.py": f"# {EARLY}\n{CODE}"} and "2026-02-12 23:59 UTC" in remarks
    found, remarks, files = take(at=None)
    assert found.submitted == parse_due(LATE) and LATE in files["model.py"] and not remarks


def test_what_was_fetched_counts_and_what_was_not_pushed_does_not(tmp_path, origin, take):
    hers = clone(origin, tmp_path / "class" / "hw5-ada")
    new = commit(origin, LAST_MINUTE, None, "--amend")
    git(hers, "fetch", "--quiet")
    (hers / HOME / "model.py").write_text("# not committed\n", encoding="utf-8")
    found, remarks, files = take()
    assert new[:12] in found.label and LAST_MINUTE in files["model.py"]
    assert "did not count" not in remarks, "an older clone is no news"
    local = commit(hers, "2026-02-12 23:00 +0000")
    found, remarks, _ = take()
    assert new[:12] in found.label
    assert f"{local[:12]}, dated 2026-02-12 23:00 UTC, did not count" in remarks


def test_branches(tmp_path, origin, take):
    hers = clone(origin, tmp_path / "class" / "hw5-ada")
    git(origin, "checkout", "--quiet", "-b", "dev", "HEAD~1")
    other = commit(origin, "2026-02-11 12:00 +0000")
    git(hers, "fetch", "--quiet")
    found, remarks, _ = take()
    assert found.submitted == parse_due(EARLY) and f"{other[:12]}, dated 2026-02-11" in remarks
    assert other[:12] in take(branch="dev")[0].label
    said = take(branch="exam")[1]
    assert "no branch exam" in said and "dev, main" in said
    git(hers, "symbolic-ref", "HEAD", "refs/heads/master")
    said = "unreadable: It has no branch master, but dev, main. Choose one: git check"
    assert take()[1].startswith(said)


def test_feedback_pushed_as_documented_changes_nothing(tmp_path, origin, take, monkeypatch):
    hers = clone(origin, tmp_path / "class" / "hw5-ada")
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Staff")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "staff@example.org")
    text = (ROOT / "docs" / "instructors.md").read_text(encoding="utf-8")
    lines = [line for line in re.findall(r"(?m)^  \$ (.*)$", text) if "hw5-ada" in line]
    script = "\n".join(["set -e", *lines]).replace("CLONES", "class")
    page = tmp_path / "CLASS/students/ada/feedback.html"
    page.parent.mkdir(parents=True)
    for points in ("10", "11"):
        page.write_text(points, encoding="utf-8")
        subprocess.run(["bash", "-c", script], cwd=tmp_path, check=True)
        assert git(origin, "show", "feedback:feedback.html") == points
    git(hers, "fetch", "--quiet")
    found, remarks, _ = take(at=None)
    assert found.submitted == parse_due(LATE) and not remarks


def test_the_only_branch_counts_whatever_its_name_and_hash(tmp_path, take):
    (origin := tmp_path / "o").mkdir()
    git(origin, "init", "--quiet", "--object-format=sha256")
    commit(origin, EARLY)
    git(origin, "branch", "-m", "main", "work")
    bare = clone(origin, tmp_path / "class" / "hw5-ada", "--bare")
    git(bare, "symbolic-ref", "HEAD", "refs/heads/main")
    assert take()[0].submitted == parse_due(EARLY)


@pytest.mark.parametrize("pushed, other", [(EARLY, LAST_MINUTE), (LAST_MINUTE, EARLY)])
def test_of_two_lines_that_were_merged_late_the_newer_counts(tmp_path, take, pushed, other):
    origin = student(tmp_path / "o", START, pushed)
    git(origin, "checkout", "--quiet", "-b", "second", "HEAD~1")
    commit(origin, other, {"notes.txt": "x"})
    git(origin, "merge", "--quiet", "main", "-m", "Merge", when=LATE)
    git(origin, "branch", "--force", "main")
    git(origin, "checkout", "--quiet", "main")
    clone(origin, tmp_path / "class" / "hw5-ada")
    assert take()[0].submitted == parse_due(LAST_MINUTE)


@pytest.mark.parametrize("top", ["", "mine/"])
def test_only_what_is_handed_in_is_taken_and_it_can_be_staged(tmp_path, take, top):
    wanted = ("model.py", "problem5/encoder.py", "own.py", "vanilla.model.params")
    others = (f"{HOME}/notes.txt", "src/run.py", "src/checks/given/model.py", "src/jobs/model.py")
    files = {f"{top}{HOME}/{name}": "x = 1\n" for name in wanted}
    files |= {f"{top}{name}": "x = 2\n" for name in (*others, ".venv/lib/model.py")}
    files |= {f"{top}experiments/{n}/log.txt": "x" for n in range(250)}
    commit(student(tmp_path / "o"), EARLY, files)
    clone(tmp_path / "o", tmp_path / "class" / "hw5-ada")
    found, remarks, taken = take()
    assert taken == dict.fromkeys(wanted, "x = 1\n") and not remarks
    _, notices = stage(found.source, tmp_path / "staged")
    assert (tmp_path / "staged/submission/problem5/encoder.py").is_file()
    assert not any("Left out" in notice for notice in notices)


def test_a_link_is_refused_by_the_intake(tmp_path, take):
    origin = student(tmp_path / "o", EARLY)
    (origin / HOME / "attention.py").symlink_to("/etc/passwd")
    commit(origin, EARLY, {})
    clone(origin, tmp_path / "class" / "hw5-ada")
    found, _, files = take()
    assert files["attention.py"] == ""
    with pytest.raises(UserError, match="attention.py in ada.zip is a link"):
        stage(found.source, tmp_path / "staged")


@pytest.mark.parametrize(
    "when, files, part",
    [
        (EARLY, {"README.md": "x"}, "none of attention.py"),
        (EARLY, {f"{HOME}/model.py": "#" * (1 << 21)}, "is larger than the limit of 1048576"),
        (EARLY, {"a/model.py": "x", "b/model.py": "y"}, "files in several folders, a and b"),
        (EARLY, "submodule", "a submodule's files do not count"),
        (LATE, None, "It has no commit before 2026-02-12 23:59 UTC."),
        ("", None, "It is empty."),
    ],
)
def test_no_submission_before_the_deadline(tmp_path, origin, take, when, files, part):
    outer = student(tmp_path / "o")
    if files == "submodule":
        git(outer, "submodule", "--quiet", "add", origin.as_uri(), HOME)
    if when:
        commit(outer, when, {} if files == "submodule" else files)
    clone(outer, tmp_path / "class" / "hw5-ada")
    found, problem, _ = take()
    assert part in problem and found.label.startswith("hw5-ada")
    assert (" at " in found.label) == (found.submitted is not None) == (when == EARLY)


@pytest.mark.parametrize(
    "options, part",
    [
        (["--shared"], "borrows objects. Clone it without --shared"),
        (["--depth=1"], "git fetch --unshallow"),
        (["--filter=blob:none", "--no-checkout"], f"lacks model.py. {AGAIN}"),
    ],
)
def test_a_clone_that_is_not_whole_is_unreadable(tmp_path, origin, take, options, part):
    git(origin, "config", "uploadpack.allowFilter", "true")
    source = str(origin) if "--shared" in options else origin.as_uri()
    (tmp_path / "class").mkdir()
    git(tmp_path / "class", "clone", "--quiet", *options, source, "hw5-ada")
    said = take(at=None)[1]
    assert said.startswith("unreadable: ") and part in said


def classmate(tmp_path, name, *times, folder=None):
    origin = student(tmp_path / name)
    for when in times or (EARLY,):
        commit(origin, when, {f"{HOME}/model.py": f"# of {name}, {when}"})
    clone(origin, tmp_path / "class" / (folder or f"hw5-{name}"))
    return origin


def remarks(tmp_path, id):
    entry = entries(tmp_path)[id]
    return " ".join([*entry.for_staff, *entry.remarks])


def test_a_class_of_clones(tmp_path, grade, capsys):
    for name in ("ada", "ben"):
        classmate(tmp_path, name, EARLY, LATE)
    classmate(tmp_path, "cy", LATE)
    assert grade(at=AT, due=AT) == 0
    assert "3 people: 2 graded, 1 refused" in capsys.readouterr().out
    ada = entries(tmp_path)["ada"]
    first = git(tmp_path / "ada", "rev-parse", "HEAD~1")
    assert ada.source == f"hw5-ada at {first[:12]}" and ada.days_late == 0 and ada.report
    assert first[:12] in page_of(tmp_path, "ada")
    # an extension moves one person's deadline
    decide(tmp_path, "ben,2,,,,ill")
    assert grade() == 0
    last = git(tmp_path / "ben", "rev-parse", "HEAD")
    after = entries(tmp_path)
    assert after["ben"].source == f"hw5-ben at {last[:12]}" and after["ben"].days_late == 0
    assert after["ada"].source == ada.source and not remarks(tmp_path, "ben")
    # without a deadline for commits, late ones count as late
    assert grade(at="") == 0
    days = {id: entry.days_late for id, entry in entries(tmp_path).items()}
    assert days == {"ada": 2, "ben": 0, "cy": 2}


def test_later_runs_say_that_another_commit_counted_and_staff_decide(tmp_path, grade):
    """By checking a commit out, if a history was rewritten."""
    origin, hers = classmate(tmp_path, "ada", START), tmp_path / "class/hw5-ada"
    assert grade(at="2190-01-01") == 0  # before the deadline: a trial
    counted = commit(origin, EARLY)
    git(hers, "fetch", "--quiet")
    assert grade(at=AT) == 0 and not remarks(tmp_path, "hw5-ada")
    old, forged = entries(tmp_path)["hw5-ada"], commit(origin, LAST_MINUTE)
    git(hers, "fetch", "--quiet")
    with pytest.raises(Interrupted):
        grade(engine=Here(stop=0))
    said = f"An earlier run with this deadline graded {counted[:12]}"
    for _ in range(2):
        assert grade() == 0
        assert f"{said}; now {forged[:12]} counts" in remarks(tmp_path, "hw5-ada")
    assert entries(tmp_path)["hw5-ada"].source == f"hw5-ada at {forged[:12]}"
    git(origin, "rebase", "--quiet", "--root", "--force-rebase", when=LATE)
    git(hers, "fetch", "--quiet")
    assert grade() == 0
    refused = entries(tmp_path)["hw5-ada"].refused
    assert "no commit before 2026-02-12" in refused and f"{said}." in refused
    git(hers, "checkout", "--quiet", counted)
    assert grade() == 0
    new = entries(tmp_path)["hw5-ada"]
    assert (new.source, new.total, new.refused) == (old.source, old.total, "")
    assert f"{counted[:12]} was checked out" in remarks(tmp_path, "hw5-ada")


def test_an_unreadable_clone_keeps_its_grade_or_has_none(tmp_path, grade, capsys):
    """Both clones have one name, in folders of people: none gets the other's grade."""
    for name in ("ada", "ben"):
        classmate(tmp_path, name, folder=f"{name}/hw5")
    borrowed = tmp_path / "class/ben/hw5/.git/objects/info/alternates"
    for whole in (False, True, False):
        borrowed.unlink() if whole else borrowed.write_text("/elsewhere\n", encoding="utf-8")
        before = entries(tmp_path)["ben"] if (tmp_path / "out").exists() else None
        assert grade() == (3 if not before else 0)
        ada, ben = entries(tmp_path).values()
        assert ada.report and not ben.refused and bool(ben.report) is bool(before)
        said = "'ben': It cannot be read now: It borrows objects." in capsys.readouterr().out
        assert said is not whole
    assert (ben.total, ben.source) == (before.total, before.source)
    archives = {path.name[:3]: path.read_bytes() for path in tmp_path.glob("out/commits/*.zip")}
    assert all(f"# of {name}".encode() in archives[name] for name in ("ada", "ben"))


def test_a_clone_that_was_somebody_elses_keeps_no_grade(tmp_path, grade):
    classmate(tmp_path, "x"), classmate(tmp_path, "cy")
    for owner in ("ada", "ben"):
        text = "".join(f"{id},{'x' * (id == owner)}\n" for id in ("ada", "ben", "cy"))
        grade("--only", people=f"id,github\n{text}")
        assert bool(entries(tmp_path)["ada"].report) is (owner == "ada")
        borrowed = tmp_path / "class/hw5-x/.git/objects/info/alternates"
        borrowed.write_text("/elsewhere\n", encoding="utf-8")
    assert not entries(tmp_path)["ben"].report


def test_without_git_nobody_has_a_grade_and_zips_do(tmp_path, grade, capsys, monkeypatch):
    classmate(tmp_path, "ada", folder="ada")
    hand_in(tmp_path / "class", "ben")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert grade() == 3
    assert "git is not installed" in capsys.readouterr().out
    assert entries(tmp_path)["ben"].final and not entries(tmp_path)["ada"].final
