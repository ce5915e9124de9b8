"""A class of cloned repositories: which commit counts, and what is said of a history."""

import os
import shutil
import zipfile

import pytest
from class_of_clones import CODE, HOME, clone, commit, git, student
from test_second_run import entries, grade, rows  # noqa: F401

from checks.support.staging import stage
from common.files import UserError
from instructor.grading.finding.commits import take_commit
from instructor.grading.finding.find import find_submissions
from instructor.grading.finding.history import Before
from instructor.grading.finding.late import parse_due
from instructor.grading.finding.places import Unreadable

EARLY, LATE, LATER = (f"2026-02-{day} 12:00 +0000" for day in (10, 14, 16))
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
    """A function that takes the commit of tmp_path/class/hw5-ada; returns the submission, the
    remarks in one text, and the files.
    """

    def take(at=DEADLINE, **options):
        one = next(
            one for one in find_submissions(tmp_path / "class") if one.label.startswith("hw5-ada")
        )
        one, taken = take_commit(one, tmp_path / "taken" / "ada.zip", at, **options)
        if one.problem:
            return one, one.problem, {}
        with zipfile.ZipFile(one.source) as archive:
            files = {name: archive.read(name).decode() for name in archive.namelist()}
        return one, " ".join(taken.remarks), files

    return take


# Which commit


def test_the_last_commit_before_the_deadline_counts(hers, take):
    one, remarks, files = take()
    first = git(hers, "rev-parse", "HEAD~1")
    assert one.label == f"hw5-ada at {first[:12]}" and one.submitted == parse_due(EARLY)
    assert files == {"model.py": f"# {EARLY}\n{CODE}"}
    assert remarks == (
        "1 later commit, the last of 2026-02-14 12:00 +0000, is after 2026-02-12 23:59 +0000 and "
        "did not count."
    )
    one, remarks, files = take(at=None)
    assert one.submitted == parse_due(LATE) and LATE in files["model.py"] and not remarks


def test_the_deadline_has_a_time_zone(tmp_path, take):
    clone(student(tmp_path / "o", EARLY, "2026-02-13 07:30 +0000"), tmp_path / "class" / "hw5-ada")
    for zone, late in (("America/Los_Angeles", False), ("+01:00", True)):
        one, _, _ = take(at=parse_due(f"2026-02-12 23:59 {zone}"))
        assert (one.submitted == parse_due(EARLY)) is late


def test_what_was_fetched_counts_though_the_work_tree_is_older(origin, hers, take):
    new = commit(origin, "2026-02-12 23:58 +0000")
    git(origin, "reset", "--quiet", "--hard", "HEAD")
    git(hers, "fetch", "--quiet")
    one, _, _ = take(at=None)
    assert new[:12] in one.label


@pytest.mark.parametrize("option", ["--bare", "--mirror"])
def test_bare_clones(tmp_path, origin, take, option):
    clone(origin, tmp_path / "class" / "hw5-ada.git", option)
    clone(origin, tmp_path / "class" / "hw5-bob.git", option)
    assert [one.person for one in find_submissions(tmp_path / "class")] == ["ada", "bob"]
    one, _, files = take()
    assert one.submitted == parse_due(EARLY) and [*files] == ["model.py"]


def test_packed_branches_and_a_clone_inside_a_folder(tmp_path, origin, hers, take):
    git(hers, "gc", "--quiet")
    assert not (hers / ".git/refs/heads/main").exists()
    hers.rename(tmp_path / "moved")
    (tmp_path / "class" / "hw5-ada").mkdir()
    (tmp_path / "moved").rename(tmp_path / "class" / "hw5-ada" / "repo")
    assert take()[0].submitted == parse_due(EARLY)


def test_branches(tmp_path, origin, hers, take):
    git(origin, "checkout", "--quiet", "-b", "dev", "HEAD~1")
    other = commit(origin, "2026-02-11 12:00 +0000")
    git(hers, "fetch", "--quiet")
    assert take()[0].submitted == parse_due(EARLY)
    one, _, _ = take(branch="dev")
    assert other[:12] in one.label
    assert "no commit on its branch exam. It has the branches dev, main." in take(branch="exam")[1]
    git(hers, "checkout", "--quiet", "--detach", "origin/dev")
    one, remarks, _ = take()
    assert other[:12] in one.label and "HEAD names no branch" in remarks


def test_the_only_branch_counts_whatever_its_name(tmp_path, take):
    origin = student(tmp_path / "o", EARLY)
    git(origin, "branch", "-m", "main", "work")
    bare = clone(origin, tmp_path / "class" / "hw5-ada", "--bare")
    git(bare, "symbolic-ref", "HEAD", "refs/heads/main")
    one, remarks, _ = take()
    assert one.submitted == parse_due(EARLY) and "Its only branch is work" in remarks


def test_sha256(tmp_path, take):
    origin = tmp_path / "class" / "hw5-ada"
    origin.mkdir(parents=True)
    git(origin, "init", "--quiet", "--object-format=sha256")
    commit(origin, EARLY)
    one, remarks, files = take()
    assert [*files] == ["model.py"] and not remarks


# What of it


def test_only_what_is_handed_in_is_taken_and_it_can_be_staged(tmp_path, take):
    origin = student(tmp_path / "o")
    files = {
        f"{HOME}/{name}": f"# {name}\n" for name in ("model.py", "problem5/encoder.py", "own.py")
    }
    files |= {
        f"{HOME}/vanilla.model.params": "weights",
        f"{HOME}/notes.txt": "x",
        "src/run.py": "x",
    }
    files |= {"src/checks/given/model.py": "given\n", ".venv/lib/model.py": "x", "README.md": "x"}
    commit(origin, EARLY, files)
    clone(origin, tmp_path / "class" / "hw5-ada")
    one, remarks, taken = take()
    assert {*taken} == {"model.py", "own.py", "problem5/encoder.py", "vanilla.model.params"}
    submission, notices = stage(one.source, tmp_path / "staged")
    assert (tmp_path / "staged/submission/problem5/encoder.py").is_file() and not remarks
    assert not any("Left out" in notice for notice in notices)


def test_the_commit_is_graded_and_not_the_folder(tmp_path, hers, take):
    (hers / HOME / "model.py").write_text("# changed\n", encoding="utf-8")
    (hers / HOME / "attention.py").write_text("# new\n", encoding="utf-8")
    _, remarks, files = take(at=None)
    assert LATE in files["model.py"] and [*files] == ["model.py"]
    assert "Not committed as in the folder: attention.py, model.py. The commit" in remarks


def test_a_pointer_of_git_lfs_is_named(tmp_path, take):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    origin = student(tmp_path / "o", EARLY)
    commit(origin, EARLY, {f"{HOME}/vanilla.model.params": pointer})
    clone(origin, tmp_path / "class" / "hw5-ada")
    assert "vanilla.model.params: a pointer of Git LFS, not the file." in take()[1]


def test_a_link_is_refused_by_the_intake(tmp_path, take):
    origin = student(tmp_path / "o", EARLY)
    (origin / HOME / "attention.py").symlink_to("/etc/passwd")
    commit(origin, EARLY, {})
    clone(origin, tmp_path / "class" / "hw5-ada")
    one, _, files = take()
    assert files["attention.py"] == ""
    with pytest.raises(UserError, match="attention.py in ada.zip is a link"):
        stage(one.source, tmp_path / "staged")


@pytest.mark.parametrize(
    "files, part",
    [
        ({"README.md": "x"}, "none of attention.py"),
        ({f"{HOME}/model.py": "#" * (1 << 21)}, "model.py is larger than the limit of 1048576"),
        ({"a/model.py": "x", "b/model.py": "y"}, "code in several folders, a and b"),
    ],
)
def test_a_commit_without_a_submission(tmp_path, take, files, part):
    origin = student(tmp_path / "o")
    commit(origin, EARLY, files)
    clone(origin, tmp_path / "class" / "hw5-ada")
    one, problem, _ = take()
    assert part in problem and one.label.startswith("hw5-ada at ")


def test_a_submodule(tmp_path, origin, take):
    outer = student(tmp_path / "outer")
    commit(outer, EARLY, {"README.md": "x"})
    git(outer, "submodule", "--quiet", "add", origin.as_uri(), "mine")
    commit(outer, EARLY, {})
    clone(outer, tmp_path / "class" / "hw5-ada")
    assert "mine is a submodule" in take()[1]


# No commit, or no whole clone


def test_no_commit_before_the_deadline(tmp_path, take):
    clone(student(tmp_path / "o", LATE, LATER), tmp_path / "class" / "hw5-ada")
    one, problem, _ = take()
    assert problem == (
        "It has no commit before 2026-02-12 23:59 +0000; the first one is of 2026-02-14 12:00 "
        "+0000."
    )
    assert one.submitted is None and one.label == "hw5-ada"


def test_an_empty_repository(tmp_path, take):
    clone(student(tmp_path / "o"), tmp_path / "class" / "hw5-ada")
    assert take()[1] == "There is no commit on its branch main. It is empty."


def alternates(hers, origin):
    (hers / ".git/objects/info").mkdir(exist_ok=True)
    (hers / ".git/objects/info/alternates").write_text(f"{origin}/.git/objects\n", encoding="utf-8")


def link(hers, origin):
    shutil.move(hers / ".git/objects", origin.parent / "objects")
    (hers / ".git/objects").symlink_to(origin.parent / "objects")


def linked(hers, origin):
    (hers / ".git/objects/aa").mkdir(exist_ok=True)
    (hers / ".git/objects/aa" / ("b" * 38)).symlink_to("/dev/zero")


def elsewhere(hers, origin):
    shutil.rmtree(hers / ".git")
    (hers / ".git").write_text(f"gitdir: {origin}/.git\n", encoding="utf-8")


def damaged(hers, origin):
    for path in (hers / ".git/objects").rglob("*"):
        if path.is_file():
            path.chmod(0o600)
            path.write_bytes(b"x" * 100)


def lacking(hers, origin):
    blob = git(hers, "rev-parse", f"HEAD:{HOME}/model.py")
    git(hers, "unpack-objects", check=False)
    for pack in (hers / ".git/objects/pack").glob("*.pack"):
        shutil.move(pack, origin.parent / "p.pack")
        pack.with_suffix(".idx").unlink()
        os.system(f"cd {hers} && git unpack-objects -q < {origin.parent}/p.pack")
    (hers / ".git/objects" / blob[:2] / blob[2:]).unlink()


@pytest.mark.parametrize(
    "harm, part",
    [
        (alternates, "borrows objects from another repository"),
        (link, "no folder of objects"),
        (linked, "links, devices"),
        (elsewhere, "no folder, but names a repository elsewhere"),
        (damaged, "damaged, or lacks commits"),
        (lacking, "damaged, or lacks files of its commits. Clone it again, without --filter"),
    ],
)
def test_clones_that_cannot_be_read(origin, hers, take, harm, part):
    harm(hers, origin)
    with pytest.raises(Unreadable, match=part):
        take(at=None)


def test_a_partial_clone_fetches_nothing(tmp_path, origin, take):
    git(origin, "config", "uploadpack.allowFilter", "true")
    clone(origin, tmp_path / "class" / "hw5-ada", "--filter=blob:none", "--no-checkout")
    with pytest.raises(Unreadable, match="without --filter"):
        take()


def test_a_shallow_clone(tmp_path, origin, take):
    clone(origin, tmp_path / "class" / "hw5-ada", "--depth=1")
    with pytest.raises(Unreadable, match="It is shallow, and has no commit before .* --unshallow"):
        take()
    _, remarks, files = take(at=None)
    assert LATE in files["model.py"] and "The clone is shallow: its older history" in remarks


# What needs a look


def test_a_fetch_that_was_forced_is_said(origin, hers, take):
    old = git(origin, "rev-parse", "HEAD")
    commit(origin, EARLY, {f"{HOME}/model.py": "# other\n"}, "--amend")
    git(hers, "fetch", "--quiet", when="2026-02-15 08:00 +0000")
    _, remarks, files = take()
    assert files["model.py"] == "# other\n"
    assert (
        f"Its history was rewritten: {old[:12]}, which had been pushed, was replaced by" in remarks
    )
    assert "as the fetch of 2026-02-15 08:00 +0000 found" in remarks
    git(hers, "reset", "--quiet", "--hard", "origin/main")
    assert "Its history was rewritten" in take()[1], "the log of fetches is enough"


def test_a_branch_that_left_the_cloned_one_is_said_without_a_log(origin, hers, take):
    commit(origin, EARLY, {f"{HOME}/model.py": "# other\n"}, "--amend")
    git(hers, "fetch", "--quiet")
    shutil.rmtree(hers / ".git/logs")
    assert take()[1].count("Its history was rewritten") == 1


def test_a_graded_commit_that_is_gone_is_said(tmp_path, origin, hers, take):
    old = Before(git(origin, "rev-parse", "HEAD"), None)
    assert "rewritten" not in take(before=[old])[1]
    commit(origin, EARLY, {f"{HOME}/model.py": "# other\n"}, "--amend")
    shutil.rmtree(hers)
    clone(origin, hers)
    assert (
        f"Its history was rewritten: {old.commit[:12]}, which an earlier run graded, is no longer "
        "in it." in take(before=[old])[1]
    )


def test_a_commit_that_is_older_than_its_parent_is_said(tmp_path, take):
    origin = student(tmp_path / "o", EARLY, LATE, "2026-02-12 12:00 +0000")
    clone(origin, tmp_path / "class" / "hw5-ada")
    one, remarks, _ = take()
    assert one.label[-12:] + " is dated 2026-02-12 12:00 +0000, before its parent" in remarks


def test_clocks_may_differ_by_minutes(tmp_path, take):
    origin = student(tmp_path / "o", EARLY, "2026-02-10 11:58 +0000")
    clone(origin, tmp_path / "class" / "hw5-ada")
    assert not take()[1]


def test_a_commit_from_the_future_is_said(tmp_path, take, monkeypatch):
    origin = student(tmp_path / "o", "2031-01-01 00:00 +0000")
    clone(origin, tmp_path / "class" / "hw5-ada")
    assert "which was in the future when it was fetched" in take(at=None)[1]


def test_a_commit_that_was_pushed_after_a_fetch_after_the_deadline_is_said(origin, hers, take):
    git(hers, "fetch", "--quiet")
    commit(origin, LATER)
    git(hers, "fetch", "--quiet", when="2026-02-13 00:01 +0000")
    git(origin, "reset", "--quiet", "--hard", "HEAD~2")
    forged = commit(origin, "2026-02-12 20:00 +0000", {f"{HOME}/model.py": "# forged\n"})
    git(hers, "fetch", "--quiet", when="2026-02-17 08:00 +0000")
    one, remarks, _ = take()
    assert forged[:12] in one.label
    assert (
        f"{forged[:12]} is dated 2026-02-12 20:00 +0000, but was not there when it was fetched on "
        "2026-02-13 00:01 +0000, after the deadline." in remarks
    )


@pytest.mark.parametrize("date", ["0 +0000", "99999999999999 +0000", "18446744073709551615 +0000"])
def test_times_that_are_none(tmp_path, hers, take, date):
    tree = git(hers, "rev-parse", "HEAD^{tree}")
    raw = f"tree {tree}\nauthor A <a@b> {date}\ncommitter A <a@b> {date}\n\nx\n"
    (tmp_path / "raw").write_text(raw, encoding="utf-8")
    new = git(hers, "hash-object", "-t", "commit", "-w", "--literally", str(tmp_path / "raw"))
    git(hers, "update-ref", "refs/heads/main", new)
    git(hers, "update-ref", "-d", "refs/remotes/origin/main")
    one, _, _ = take(at=None)
    assert new[:12] in one.label and (one.submitted is None or one.submitted.year > 3000)


# A class


def test_a_class_of_clones(tmp_path, grade, capsys, monkeypatch):  # noqa: F811
    for name in ("ada", "ben"):
        clone(student(tmp_path / name, EARLY, LATE), tmp_path / "class" / f"hw5-{name}")
    clone(student(tmp_path / "cy", LATE), tmp_path / "class" / "hw5-cy")
    assert grade("--at", AT, "--due", AT) == 0
    text = capsys.readouterr().out
    assert "3 people: 2 graded, 1 refused" in text and "Its commit" not in text
    ada = entries(tmp_path)["ada"]
    first = git(tmp_path / "ada", "rev-parse", "HEAD~1")
    assert ada.source == f"hw5-ada at {first[:12]}" and ada.days_late == 0 and ada.report
    assert first[:12] in (tmp_path / "out/students/ada/feedback.html").read_text("utf-8")
    assert {row["source"] for row in rows(tmp_path / "out/grades-plain.csv")} >= {ada.source}
    # an extension moves one person's deadline; the options are remembered
    (tmp_path / "out/overrides.csv").write_text(
        "id,extension days,excused,check,points,reason\nben,2,,,,ill\n", encoding="utf-8"
    )
    assert grade(folder=None) == 0
    last = git(tmp_path / "ben", "rev-parse", "HEAD")
    after = entries(tmp_path)
    assert after["ben"].source == f"hw5-ben at {last[:12]}" and after["ben"].days_late == 0
    assert after["ada"].source == ada.source and "Another commit" not in str(after["ben"].remarks)
    # a commit dated before the deadline that comes later is said
    git(tmp_path / "ada", "reset", "--quiet", "--hard", first)
    forged = commit(tmp_path / "ada", "2026-02-12 20:00 +0000")
    git(tmp_path / "class" / "hw5-ada", "fetch", "--quiet")
    assert grade(folder=None) == 0
    said = " ".join(entries(tmp_path)["ada"].remarks)
    assert f"Another commit counts than in an earlier run with this deadline, {forged[:12]}" in said
    assert "2 submissions" not in said and "no longer there" not in capsys.readouterr().err


def test_without_at_late_commits_count_as_late(tmp_path, grade):  # noqa: F811
    clone(student(tmp_path / "ada", EARLY, LATE), tmp_path / "class" / "hw5-ada")
    assert grade("--due", AT, "--late-percent", "10") == 0
    assert entries(tmp_path)["hw5-ada"].days_late == 2


def test_an_unreadable_clone_keeps_its_grade_or_has_none(tmp_path, grade, capsys):  # noqa: F811
    for name in ("ada", "ben"):
        clone(student(tmp_path / name, EARLY), tmp_path / "class" / f"hw5-{name}")
    harm = tmp_path / "class/hw5-ben/.git/objects/info/alternates"
    harm.write_text("/elsewhere\n", encoding="utf-8")
    assert grade() == 3
    assert "'ben': It cannot be read now: It borrows objects" in capsys.readouterr().out
    assert entries(tmp_path)["ada"].report and not entries(tmp_path)["ben"].refused
    harm.unlink()
    assert grade() == 0
    before = entries(tmp_path)["ben"]
    harm.write_text("/elsewhere\n", encoding="utf-8")
    assert grade() == 0
    after = entries(tmp_path)["ben"]
    assert (after.total, after.source) == (before.total, before.source) and after.remarks


def test_without_git_nobody_has_a_grade_and_zips_do(tmp_path, grade, capsys, monkeypatch):  # noqa: F811
    clone(student(tmp_path / "ada", EARLY), tmp_path / "class" / "ada")
    (tmp_path / "class" / "ben").mkdir()
    (tmp_path / "class" / "ben" / "model.py").write_text(CODE, encoding="utf-8")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert grade() == 3
    assert "git is not installed on this machine" in capsys.readouterr().out
    assert entries(tmp_path)["ben"].final and not entries(tmp_path)["ada"].final


def test_at_needs_clones(tmp_path, grade):  # noqa: F811
    (tmp_path / "class" / "ben").mkdir(parents=True)
    (tmp_path / "class" / "ben" / "model.py").write_text(CODE, encoding="utf-8")
    with pytest.raises(UserError, match="has no clones"):
        grade("--at", AT)
