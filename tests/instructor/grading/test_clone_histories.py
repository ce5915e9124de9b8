"""Clones as students and staff really leave them: merges, forced pushes, folders, broken clones."""
# ruff: noqa: F811

import shutil

import pytest
from class_of_clones import CODE, HOME, clone, commit, git, student
from test_commits import AT, DEADLINE, EARLY, LATE, LATER, hers, origin, take  # noqa: F401

from instructor.grading.finding.history import Before
from instructor.grading.finding.late import parse_due
from instructor.grading.finding.places import Unreadable

START = "2026-02-01 12:00 +0000"
LAST_MINUTE = "2026-02-12 22:00 +0000"


@pytest.fixture
def started(tmp_path):
    """A student's repository with the starter, and the staff's early clone of it."""
    origin = student(tmp_path / "origin", START)
    clone(origin, tmp_path / "class" / "hw5-ada")
    return origin


def fetch(tmp_path, when):
    git(tmp_path / "class" / "hw5-ada", "fetch", "--quiet", when=when)


# Lines of work


def merge_late(origin):
    """Late work on a second machine, and a `git pull` there that merges what was pushed in time."""
    pushed = commit(origin, LAST_MINUTE)
    git(origin, "checkout", "--quiet", "-b", "second", "HEAD~1")
    commit(origin, LATE, {"notes.txt": "x"})
    git(origin, "merge", "--quiet", "main", "-m", "Merge", when=LATE)
    git(origin, "branch", "--force", "main")
    git(origin, "checkout", "--quiet", "main")
    return pushed


def test_work_that_was_pushed_in_time_and_merged_late_counts(tmp_path, started, take):
    pushed = merge_late(started)
    fetch(tmp_path, "2026-02-13 00:01 +0000")
    one, remarks, _ = take()
    assert one.label.endswith(pushed[:12]) and "rewritten" not in remarks
    assert "2 later commits, the last of 2026-02-14" in remarks


@pytest.mark.parametrize("fetched", [False, True])
def test_of_two_lines_that_were_merged_late_the_fetched_one_counts(
    tmp_path, started, take, fetched
):
    pushed = commit(started, EARLY)
    if fetched:
        fetch(tmp_path, "2026-02-12 12:00 +0000")
    git(started, "checkout", "--quiet", "-b", "second", "HEAD~1")
    other = commit(started, LAST_MINUTE, {"notes.txt": "x"})
    git(started, "merge", "--quiet", "main", "-m", "Merge", when=LATE)
    git(started, "branch", "--force", "main")
    fetch(tmp_path, "2026-02-15 12:00 +0000")
    one, remarks, _ = take()
    counts, left = (pushed, other) if fetched else (other, pushed)
    why = "was fetched first" if fetched else "is the newest"
    assert f"{counts[:12]} counts, since it {why}; {left[:12]} did not." in remarks
    assert counts[:12] in one.label


def test_newer_work_on_another_branch_is_said(tmp_path, started, take):
    git(started, "checkout", "--quiet", "-b", "dev")
    commit(started, EARLY), commit(started, LATE)
    fetch(tmp_path, "2026-02-13 00:01 +0000")
    told = "The branch dev has 1 newer commit before 2026-02-12 23:59 +0000, which did not count."
    assert told in take()[1]
    assert told not in take(branch="dev")[1]
    late = student(tmp_path / "late", LATE)
    git(late, "checkout", "--quiet", "--orphan", "dev")
    commit(late, EARLY)
    git(late, "checkout", "--quiet", "main")
    shutil.rmtree(tmp_path / "class")
    clone(late, tmp_path / "class" / "hw5-ada")
    assert take()[1].endswith(told)


def test_a_head_without_commits_gives_way_to_the_hosts_branch(tmp_path, take):
    origin = student(tmp_path / "o", EARLY)
    git(origin, "branch", "dev")
    git(origin, "branch", "-m", "main", "trunk")
    to = clone(origin, tmp_path / "class" / "hw5-ada")
    (to / ".git/HEAD").write_text("ref: refs/heads/master\n", encoding="utf-8")
    assert "It has no branch master: trunk counts." in take()[1]
    git(origin, "branch", "main")
    git(to, "fetch", "--quiet")
    (to / ".git/refs/remotes/origin/HEAD").unlink()
    assert "It has no branch master: main counts." in take()[1]


def test_what_was_pushed_counts_and_not_what_staff_merged(tmp_path, started, take):
    old = commit(started, EARLY)
    fetch(tmp_path, "2026-02-11 12:00 +0000")
    folder = tmp_path / "class" / "hw5-ada"
    git(folder, "merge", "--quiet", "origin/main")
    new = commit(started, LAST_MINUTE, None, "--amend")
    git(
        folder,
        "-c",
        "pull.rebase=false",
        "pull",
        "--quiet",
        "-X",
        "ours",
        when="2026-02-12 23:00 +0000",
    )
    one, remarks, _ = take()
    assert new[:12] in one.label
    assert (
        "2 commits on the branch main in this folder were not pushed, and did not count." in remarks
    )
    assert f"{old[:12]}, which had been pushed, was replaced by {new[:12]}" in remarks


# What speaks against a history


@pytest.mark.parametrize(
    "fetched, said", [("2026-02-13 00:01 +0000", False), ("2026-02-15 10:00 +0000", True)]
)
def test_a_commit_that_was_first_fetched_long_after_the_deadline_is_said(
    tmp_path, started, take, fetched, said
):
    fetch(tmp_path, "2026-02-13 00:00 +0000")  # finds nothing new, and leaves no trace
    new = commit(started, LAST_MINUTE)
    fetch(tmp_path, fetched)
    told = (
        f"{new[:12]} is dated 2026-02-12 22:00 +0000, but the fetch of 2026-02-15 10:00 +0000, "
        "after the deadline, was the first that found it."
    )
    one, remarks, _ = take()
    assert new[:12] in one.label and (told in remarks) is said
    commit(started, LATER)
    fetch(tmp_path, "2026-02-17 10:00 +0000")
    assert (told in take()[1]) is said


def test_a_commit_that_the_first_clone_had_is_not_said_to_be_found_later(hers, origin, take):
    commit(origin, LATER)
    git(hers, "fetch", "--quiet", when="2026-02-17 10:00 +0000")
    assert "first that found it" not in take()[1]


def test_a_forced_push_after_the_deadline_waits_for_a_decision(tmp_path, started, take):
    old = commit(started, LAST_MINUTE)
    fetch(tmp_path, "2026-02-13 00:01 +0000")
    new = commit(started, LATE, None, "--amend")
    fetch(tmp_path, "2026-02-15 08:00 +0000")
    with pytest.raises(Unreadable) as error:
        take()
    text = str(error.value)
    assert f"Its history was rewritten: {old[:12]}, which had been pushed, was replaced" in text
    assert f"{old[:12]}, of 2026-02-12 22:00 +0000, would count before it." in text
    assert "git branch graded COMMIT in the clone" in text and "cannot be read" not in text
    folder = tmp_path / "class" / "hw5-ada"
    git(folder, "branch", "graded", old)
    one, remarks, _ = take()
    assert old[:12] in one.label and "made in this clone" in remarks and "rewritten" not in remarks
    git(folder, "branch", "--force", "graded", new + "~1")
    assert take()[0].submitted == parse_due(START)


def test_a_graded_commit_that_a_new_clone_lacks_waits_for_a_decision(tmp_path, started, take):
    old = Before(commit(started, LAST_MINUTE), DEADLINE.isoformat())
    new = commit(started, LAST_MINUTE, {f"{HOME}/model.py": "# other"}, "--amend")
    shutil.rmtree(tmp_path / "class")
    folder = clone(started, tmp_path / "class" / "hw5-ada")
    with pytest.raises(Unreadable, match=f"{old.commit[:12]} counted before. Decide which"):
        take(before=[old])
    git(folder, "branch", "graded", new)
    assert new[:12] in take(before=[old])[0].label
    git(started, "branch", "graded", new)
    git(folder, "fetch", "--quiet")
    with pytest.raises(Unreadable, match="Decide which"):  # a student has pushed such a branch
        take(before=[old])


def test_a_commit_without_a_time_is_said(tmp_path, hers, take):
    tree = git(hers, "rev-parse", "HEAD^{tree}")
    raw = f"tree {tree}\nauthor A <a@b> garbage\ncommitter A <a@b> garbage\n\nx\n"
    (tmp_path / "raw").write_text(raw, encoding="utf-8")
    new = git(hers, "hash-object", "-t", "commit", "-w", "--literally", str(tmp_path / "raw"))
    git(hers, "update-ref", "refs/remotes/origin/main", new)
    assert f"{new[:12]} has no valid time, so whether it is late is unknown." in take()[1]


def test_an_error_of_git_is_no_rewritten_history(hers, take, monkeypatch):
    from instructor.grading.finding.repository import Repository

    ask = Repository._ask
    monkeypatch.setattr(
        Repository,
        "_ask",
        lambda self, *words, **more: (
            (128, b"") if words[0] == "merge-base" else ask(self, *words, **more)
        ),
    )
    old = Before(git(hers, "rev-parse", "HEAD~1"), None)
    assert "rewritten" not in take(before=[old])[1]


def test_what_was_fetched_and_not_checked_out_is_no_difference(origin, hers, take):
    commit(origin, LAST_MINUTE)
    git(hers, "fetch", "--quiet", when=LATER)
    assert "Not committed" not in take(at=None)[1]
    git(hers, "merge", "--quiet", "origin/main")
    for path in (hers / HOME).glob("*.py"):
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert "Not committed" not in take(at=None)[1]
    (hers / HOME / "model.py").write_text("# changed\n", encoding="utf-8")
    assert "Not committed as in the folder: model.py. " in take(at=None)[1]


# Which folder


@pytest.fixture
def folders(tmp_path):
    """A function that clones a repository with these files."""

    def folders(*names, text=CODE):
        origin = student(tmp_path / "o")
        commit(origin, EARLY, dict.fromkeys(names, text))
        clone(origin, tmp_path / "class" / "hw5-ada")
        return origin

    return folders


@pytest.mark.parametrize("top", ["", "mine/"])
def test_any_number_of_folders_may_come_before_src(folders, take, top):
    runs = [f"{top}experiments/{n}/log.txt" for n in range(250)]
    folders(*runs, f"{top}src/submission/model.py", f"{top}src/submission/problem5/encoder.py")
    assert {*take()[2]} == {"model.py", "problem5/encoder.py"}


def test_a_search_that_ended_early_is_said(folders, take):
    folders(*(f"experiments/{n}/log.txt" for n in range(250)), "x.txt")
    assert "It has more than 200 folders, and not all were searched." in take()[1]


def test_the_place_of_a_release_counts_before_a_copy(folders, take):
    folders("old/src/submission/model.py", f"{HOME}/attention.py", "src/jobs/model.py")
    assert {*take()[2]} == {"attention.py"}


def test_two_copies_are_named(folders, take):
    folders("a/src/submission/model.py", "b/src/submission/model.py", "a/src/jobs/model.py")
    assert "code in several folders, a/src/submission and b/src/submission." in take()[1]


def test_code_at_the_top_of_a_release_is_said_not_to_count(folders, take):
    folders(f"{HOME}/model.py", "model.py")
    assert "model.py at its top did not count: src/submission did." in take()[1]


def test_a_submodule_in_the_place_of_the_submission(tmp_path, folders, origin, take):
    outer = folders("src/jobs/model.py")
    git(outer, "submodule", "--quiet", "add", origin.as_uri(), HOME)
    commit(outer, EARLY, {})
    git(tmp_path / "class" / "hw5-ada", "fetch", "--quiet")
    assert take()[1].startswith("src/submission is a submodule, whose files are elsewhere.")


# Broken clones


def interrupted(folder):
    """As a clone that was killed."""
    for path in (folder / ".git/refs/heads/main", folder / ".git/packed-refs"):
        path.unlink(missing_ok=True)
    shutil.rmtree(folder / ".git/refs/remotes")


def other_refs(folder):
    (folder / ".git/reftable").mkdir()
    (folder / ".git/HEAD").write_text("ref: refs/heads/.invalid\n", encoding="utf-8")


def refs_elsewhere(folder):
    shutil.move(folder / ".git/refs/heads", folder.parent.parent / "heads")
    (folder / ".git/refs/heads").symlink_to(folder.parent.parent / "heads")


@pytest.mark.parametrize(
    "harm, part",
    [
        (interrupted, "the clone was interrupted"),
        (other_refs, "--ref-format=files"),
        (refs_elsewhere, "branches have links"),
    ],
)
def test_a_broken_clone_is_no_refusal(hers, take, harm, part):
    harm(hers)
    with pytest.raises(Unreadable, match=part):
        take()


def test_too_many_files_are_refused(tmp_path, take):
    origin = student(tmp_path / "o", EARLY)
    blob = git(origin, "rev-parse", f"HEAD:{HOME}/model.py")
    (tmp_path / "tree").write_bytes(
        b"".join(b"100644 a%06d\0" % n + bytes.fromhex(blob) for n in range(60_000))
    )
    tree = git(origin, "hash-object", "-t", "tree", "-w", str(tmp_path / "tree"))
    new = git(origin, "commit-tree", tree, "-p", "HEAD", "-m", "x")
    git(origin, "reset", "--quiet", "--soft", new)
    clone(origin, tmp_path / "class" / "hw5-ada", "--no-checkout")
    assert "more than 50000 files near its top: it is too large" in take()[1]


def test_a_system_without_limits_for_processes(hers, take, monkeypatch):
    import subprocess

    real = subprocess.Popen

    class Windows(real):
        def __init__(self, *words, **options):
            if options.get("preexec_fn") is not None:
                raise ValueError("preexec_fn is not supported on Windows platforms")
            super().__init__(*words, **options)

    monkeypatch.setattr("instructor.grading.finding.repository.LIMITED", {})
    monkeypatch.setattr(subprocess, "Popen", Windows)
    assert not take()[0].problem
