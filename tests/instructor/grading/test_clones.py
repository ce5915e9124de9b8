"""A class of cloned repositories: whose a clone is, which commit counts, and which files of it."""

import shutil
import zipfile
from dataclasses import replace

import pytest
from batch_work import Here
from classes import CODE, HOME, clone, commit, decide, entries, git, grade, hand_in, student

from checks.support.staging import stage
from common.files import Interrupted, UserError
from instructor.grading.finding.commits import take_commit
from instructor.grading.finding.find import find_submissions
from instructor.grading.finding.late import parse_due
from instructor.grading.finding.repository import AGAIN, Unreadable

# ruff: noqa: F401, F811
START, EARLY, LAST_MINUTE, LATE, LATER = (
    f"2026-02-{day} +0000" for day in ("01 12:00", "10 12:00", "12 22:00", "14 12:00", "16 12:00")
)
AT = "2026-02-12 23:59 +00:00"
DEADLINE = parse_due(AT)


@pytest.fixture
def origin(tmp_path):
    """A student's repository with a commit before the deadline and one after it."""
    return student(tmp_path / "origin", EARLY, LATE)


@pytest.fixture
def hers(tmp_path, origin):
    """The staff's clone of it."""
    return clone(origin, tmp_path / "class" / "hw5-ada")


@pytest.fixture
def take(tmp_path):
    """A function that takes the commit of tmp_path/class/hw5-ada; returns the submission, its
    problem or the remarks, and the files.
    """

    def take(at=DEADLINE, **options):
        (found,) = find_submissions(tmp_path / "class")
        found = replace(found, source=tmp_path / "taken" / "ada.zip")
        found, _, remarks = take_commit(found, at, **options)
        if found.problem:
            return found, found.problem, {}
        with zipfile.ZipFile(found.source) as archive:
            files = {name: archive.read(name).decode() for name in archive.namelist()}
        return found, remarks, files

    return take


# Which commit


@pytest.mark.parametrize("options", [(), ("--bare",), ("--mirror",), ("packed",), ("inside",)])
def test_the_last_commit_before_the_deadline_counts(tmp_path, origin, take, options):
    home = tmp_path / "class" / ("hw5-ada/repo" if options == ("inside",) else "hw5-ada")
    clone(origin, home, *(word for word in options if word.startswith("-")))
    if options == ("packed",):
        git(home, "gc", "--quiet")
        assert not (home / ".git/refs/heads/main").exists()
    found, remarks, files = take()
    first = git(origin, "rev-parse", "HEAD~1")
    assert found.label == f"hw5-ada at {first[:12]}" and found.submitted == parse_due(EARLY)
    assert files == {"model.py": f"# {EARLY}\n{CODE}"}
    assert remarks == "Commits after 2026-02-12 23:59 UTC did not count."
    found, remarks, files = take(at=None)
    assert found.submitted == parse_due(LATE) and LATE in files["model.py"] and not remarks


def test_what_was_fetched_counts_and_what_was_not_pushed_does_not(origin, hers, take):
    new = commit(origin, LAST_MINUTE, None, "--amend")
    git(hers, "fetch", "--quiet")
    assert new[:12] in take()[0].label
    assert "did not count: it is not in the branch" not in take()[1], "an older clone is no news"
    (hers / HOME / "model.py").write_text("# not committed\n", encoding="utf-8")
    assert LAST_MINUTE in take()[2]["model.py"]
    local = commit(hers, "2026-02-12 23:00 +0000")
    found, remarks, _ = take()
    assert new[:12] in found.label
    assert f"{local[:12]}, dated 2026-02-12 23:00 UTC, did not count: it is not in" in remarks


def test_branches(origin, hers, take):
    git(origin, "checkout", "--quiet", "-b", "dev", "HEAD~1")
    other = commit(origin, "2026-02-11 12:00 +0000")
    git(hers, "fetch", "--quiet")
    found, remarks, _ = take()
    assert found.submitted == parse_due(EARLY) and f"{other[:12]}, dated 2026-02-11" in remarks
    assert other[:12] in take(branch="dev")[0].label
    assert take(branch="exam")[1] == "It has no branch exam, but dev, main."
    git(hers, "symbolic-ref", "HEAD", "refs/heads/master")
    with pytest.raises(Unreadable, match="no branch master, but dev, main. Choose one: git check"):
        take()


def test_the_only_branch_counts_whatever_its_name_and_hash(tmp_path, take):
    origin = tmp_path / "o"
    origin.mkdir()
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


@pytest.mark.parametrize("date", ["garbage", "18446744073709551615 +0000"])
def test_a_commit_without_a_time_counts_without_one(tmp_path, hers, take, date):
    tree = git(hers, "rev-parse", "HEAD^{tree}")
    text = f"tree {tree}\nauthor A <a@b> {date}\ncommitter A <a@b> {date}\n\nx\n"
    (tmp_path / "raw").write_text(text, encoding="utf-8")
    new = git(hers, "hash-object", "-t", "commit", "-w", "--literally", str(tmp_path / "raw"))
    git(hers, "update-ref", "refs/remotes/origin/main", new)
    found, _, _ = take(at=None)
    assert new[:12] in found.label and found.submitted is None


# Which files


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


# Clones that are not whole


def elsewhere(git_folder, origin):
    shutil.rmtree(git_folder)
    git_folder.write_text(f"gitdir: {origin}/.git\n", encoding="utf-8")


def interrupted(git_folder, origin):
    for name in ("refs/heads/main", "packed-refs", "refs/remotes/origin/HEAD"):
        (git_folder / name).unlink(missing_ok=True)


def moved(name):
    """Puts a link in the place of a folder."""

    def move(git_folder, origin):
        shutil.move(git_folder / name, origin.parent / "moved")
        (git_folder / name).symlink_to(origin.parent / "moved")

    return move


@pytest.mark.parametrize(
    "harm, part",
    [
        (("--shared",), "borrows objects. Clone it without --shared"),
        (("--depth=1",), "git fetch --unshallow"),
        (("--filter=blob:none", "--no-checkout"), f"lacks .*{AGAIN}"),
        (elsewhere, f"no folder, but names a repository elsewhere. {AGAIN}"),
        (interrupted, f"the clone was interrupted. {AGAIN}"),
        (lambda git_folder, origin: (git_folder / "reftable").mkdir(), "--ref-format=files"),
        (moved("objects"), f"has links.* {AGAIN}"),
        (moved("refs/heads"), f"has links.* {AGAIN}"),
    ],
)
def test_a_clone_that_is_not_whole_is_unreadable(tmp_path, origin, take, harm, part):
    git(origin, "config", "uploadpack.allowFilter", "true")
    options = harm if isinstance(harm, tuple) else ()
    source = str(origin) if "--shared" in options else origin.as_uri()
    (tmp_path / "class").mkdir()
    git(tmp_path / "class", "clone", "--quiet", *options, source, "hw5-ada")
    if not options:
        harm(tmp_path / "class/hw5-ada/.git", origin)
    with pytest.raises(Unreadable, match=part):
        take(at=None)


# A class


def classmate(tmp_path, name, *times, folder=None):
    """A student's repository and its clone by staff."""
    origin = student(tmp_path / name)
    for when in times or (EARLY,):
        commit(origin, when, {f"{HOME}/model.py": f"# of {name}, {when}"})
    clone(origin, tmp_path / "class" / (folder or f"hw5-{name}"))
    return origin


def refetch(tmp_path, name):
    git(tmp_path / "class" / f"hw5-{name}", "fetch", "--quiet")


def remarks(tmp_path, id):
    entry = entries(tmp_path)[id]
    return " ".join([*entry.for_staff, *entry.remarks])


def borrow(git_folder):
    (git_folder / "objects/info/alternates").write_text("/elsewhere\n", encoding="utf-8")


def test_a_class_of_clones(tmp_path, grade, capsys):
    for name in ("ada", "ben"):
        classmate(tmp_path, name, EARLY, LATE)
    classmate(tmp_path, "cy", LATE)
    assert grade(at=AT, due=AT) == 0
    assert "3 people: 2 graded, 1 refused" in capsys.readouterr().out
    ada = entries(tmp_path)["ada"]
    first = git(tmp_path / "ada", "rev-parse", "HEAD~1")
    assert ada.source == f"hw5-ada at {first[:12]}" and ada.days_late == 0 and ada.report
    assert first[:12] in (tmp_path / "out/students/ada/feedback.html").read_text("utf-8")
    assert ada.source in (tmp_path / "out/grades-plain.csv").read_text("utf-8")
    # an extension moves one person's deadline
    decide(tmp_path, "ben,2,,,,ill")
    assert grade() == 0
    last = git(tmp_path / "ben", "rev-parse", "HEAD")
    after = entries(tmp_path)
    assert after["ben"].source == f"hw5-ben at {last[:12]}" and after["ben"].days_late == 0
    assert after["ada"].source == ada.source and not remarks(tmp_path, "ben")
    # without a deadline for commits, late ones count as late; and only clones can have one
    assert grade(at="") == 0
    days = {id: entry.days_late for id, entry in entries(tmp_path).items()}
    assert days == {"ada": 2, "ben": 0, "cy": 2}
    hand_in(tmp_path / "plain", "ben")
    with pytest.raises(UserError, match="no clones"):
        grade(at=AT, submissions=["../plain"])


def test_a_commit_that_came_after_a_run_is_said_in_every_later_run(tmp_path, grade):
    origin = classmate(tmp_path, "ada", START)
    assert grade(at="2190-01-01") == 0  # before the deadline: a trial
    new = commit(origin, EARLY)
    refetch(tmp_path, "ada")
    assert grade(at=AT) == 0 and not remarks(tmp_path, "hw5-ada")
    forged = commit(origin, LAST_MINUTE)
    refetch(tmp_path, "ada")
    with pytest.raises(Interrupted):
        grade(engine=Here(stop=0))
    for _ in range(2):
        assert grade() == 0
        assert remarks(tmp_path, "hw5-ada") == (
            f"An earlier run with this deadline graded {new[:12]}; now {forged[:12]} counts, "
            "dated 2026-02-12 22:00 UTC."
        )
    assert entries(tmp_path)["hw5-ada"].source == f"hw5-ada at {forged[:12]}"


def test_staff_decide_on_a_rewritten_history_by_checking_a_commit_out(tmp_path, grade):
    origin = classmate(tmp_path, "ada", START, LAST_MINUTE)
    assert grade(at=AT) == 0
    old = entries(tmp_path)["hw5-ada"]
    counted = git(origin, "rev-parse", "HEAD")
    git(origin, "rebase", "--quiet", "--root", "--force-rebase", when=LATE)
    refetch(tmp_path, "ada")
    assert grade() == 0
    refused = entries(tmp_path)["hw5-ada"].refused
    assert refused.startswith("It has no commit before 2026-02-12")
    assert f"An earlier run with this deadline graded {counted[:12]}." in refused
    git(tmp_path / "class/hw5-ada", "checkout", "--quiet", counted)
    assert grade() == 0
    new = entries(tmp_path)["hw5-ada"]
    assert (new.source, new.total, new.refused) == (old.source, old.total, "")
    assert f"{counted[:12]} was checked out by hand" in remarks(tmp_path, "hw5-ada")


def test_an_unreadable_clone_keeps_its_grade_or_has_none(tmp_path, grade, capsys):
    """Both clones have one name, in folders of people: none gets the other's grade."""
    for name in ("ada", "ben"):
        classmate(tmp_path, name, folder=f"{name}/hw5")
    git_folder = tmp_path / "class/ben/hw5/.git"
    for whole in (False, True, False):
        (git_folder / "objects/info/alternates").unlink() if whole else borrow(git_folder)
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
        (tmp_path / "roster.csv").write_text(f"id,github\n{text}", encoding="utf-8")
        grade("--only", roster="../roster.csv")
        assert bool(entries(tmp_path)["ada"].report) is (owner == "ada")
        borrow(tmp_path / "class/hw5-x/.git")
    assert not entries(tmp_path)["ben"].report


def test_without_git_nobody_has_a_grade_and_zips_do(tmp_path, grade, capsys, monkeypatch):
    classmate(tmp_path, "ada", folder="ada")
    hand_in(tmp_path / "class", "ben")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert grade() == 3
    assert "git is not installed on this machine" in capsys.readouterr().out
    assert entries(tmp_path)["ben"].final and not entries(tmp_path)["ada"].final
