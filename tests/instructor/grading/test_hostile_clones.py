"""Clones that attack whoever grades them: nothing of theirs runs, and no bomb goes off."""

import hashlib
import os
import shutil
import subprocess
import zlib
from dataclasses import replace

import pytest
from classes import CODE, HOME, commit, git, student

from instructor.grading.finding.commits import take_commit
from instructor.grading.finding.find import find_submissions
from instructor.grading.finding.late import parse_due
from instructor.grading.finding.repository import Unreadable

WHEN = "2026-02-10 12:00 +0000"


@pytest.fixture
def hers(tmp_path):
    """A repository that was handed in with its .git, whatever is in there."""
    return student(tmp_path / "class" / "ada", WHEN)


@pytest.fixture
def take(tmp_path):
    """A function that takes the last commit before 2026-02-12; returns the submission."""

    def take():
        (found,) = find_submissions(tmp_path / "class")
        found = replace(found, source=tmp_path / "taken" / "ada.zip")
        return take_commit(found, parse_due("2026-02-12"))[0]

    return take


def stored(folder, kind, content):
    """Store any object, valid or not; returns its hash."""
    whole = f"{kind} {len(content)}\0".encode() + content
    name = hashlib.sha1(whole).hexdigest()
    path = folder / ".git" / "objects" / name[:2] / name[2:]
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        path.write_bytes(zlib.compress(whole, 1))
    return name


def tree(*entries):
    return b"".join(
        f"{mode} ".encode() + name + b"\0" + bytes.fromhex(hash) for mode, name, hash in entries
    )


def newest(folder, content):
    """Make any content the newest commit of the branch."""
    name = stored(folder, "commit", content)
    (folder / ".git/refs/heads/main").write_text(f"{name}\n", encoding="utf-8")


def put_in_front(folder, content):
    """Make a commit of this tree the newest one of the branch."""
    top = stored(folder, "tree", content)
    text = f"tree {top}\nauthor A <a@b> 1770811200 +0000\ncommitter A <a@b> 1770811200 +0000\n\nx\n"
    newest(folder, text.encode())


def hash_of(hers, what=f"HEAD:{HOME}/model.py"):
    return git(hers, "rev-parse", what)


def result(take):
    """The problem of the submission, or why it cannot be read; "" if it can be graded."""
    try:
        return take().problem
    except Unreadable as error:
        return str(error)


# Settings whose value is a program that git would run.
PROGRAMS = (
    *("core.fsmonitor", "core.pager", "core.sshCommand", "core.editor", "core.gitProxy"),
    *("core.alternateRefsCommand", "diff.external", "diff.evil.textconv", "gpg.program"),
    *("filter.evil.smudge", "filter.evil.clean", "filter.evil.process", "credential.helper"),
    "uploadpack.packObjectsHook",
)
SETTINGS = {
    "log.showSignature": "true",
    "core.hooksPath": ".git/hooks",
    "remote.origin.url": "ssh://example.invalid/hw5",
    "remote.origin.promisor": "true",
    "extensions.partialClone": "origin",
}


def commands(hers, marker):
    """Settings, hooks, filters and a pager that run a program."""
    script = hers.parent.parent / "harm.sh"
    script.write_text(f"#!/bin/sh\necho ran >> {marker}\ncat\n", encoding="utf-8")
    script.chmod(0o755)
    aliases = {f"alias.{name}": f"!{script}" for name in ("rev-list", "cat-file", "ls-tree")}
    for name, value in (dict.fromkeys(PROGRAMS, str(script)) | aliases | SETTINGS).items():
        git(hers, "config", name, value)
    for name in ("hooks", "info"):
        (hers / ".git" / name).mkdir(exist_ok=True)
    for name in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"):
        shutil.copy(script, hers / ".git/hooks" / name)
    attributes = "* filter=evil diff=evil export-subst\n"
    (hers / ".git/info/attributes").write_text(attributes, encoding="utf-8")


def test_nothing_of_a_clone_runs(tmp_path, hers, take):
    """Nor for an object that is missing."""
    commit(hers, WHEN, {".gitattributes": "* filter=evil diff=evil\n"})
    marker, blob = tmp_path / "marker", hash_of(hers)
    commands(hers, marker)
    os.utime(hers / HOME / "model.py", (0, 0))
    assert not marker.exists()
    subprocess.run(["git", "status"], cwd=hers, capture_output=True)
    assert marker.exists(), "the attack works on whoever runs git there"
    marker.unlink()
    found = take()
    assert found.source.is_file() and not found.problem and not marker.exists()
    (hers / ".git/objects" / blob[:2] / blob[2:]).unlink()
    assert "lacks model.py" in result(take) and not marker.exists()


def test_the_graders_own_settings_of_git_do_not_count(tmp_path, hers, take, monkeypatch):
    """Such as GIT_DIR, which a hook that starts the grading has set."""
    other = student(tmp_path / "other", WHEN, WHEN)
    (tmp_path / "config").write_text("[core]\n\tbigFileThreshold = nonsense\n", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", str(other / ".git/objects"))
    assert not take().problem


def test_a_replaced_commit_is_not_the_one_that_counts(hers, take):
    old = hash_of(hers, "HEAD")
    other = commit(hers, WHEN, {f"{HOME}/model.py": "# other\n"}, "--amend")
    git(hers, "reset", "--quiet", "--hard", old)
    git(hers, "replace", old, other)
    found = take()
    assert old[:12] in found.label and CODE.encode() in found.source.read_bytes()


@pytest.mark.parametrize(
    "name, problem",
    [
        *((name, "") for name in (b"..", b".git", b"../../model.py", b"a\\b.py", b"\xff.py")),
        (b"a/b.py", "It has the required files in several folders"),
        (b"", "It is damaged"),
    ],
)
def test_names_that_lead_elsewhere_are_left_out(tmp_path, hers, take, name, problem):
    blob = hash_of(hers)
    inner = stored(hers, "tree", tree(("100644", name, blob), ("100644", b"model.py", blob)))
    put_in_front(hers, tree(("40000", name, inner), ("40000", b"w", inner)))
    message = result(take)
    assert message.startswith(problem) and bool(message) is bool(problem)
    there = ["class", "taken"] if not problem else ["class"]
    assert sorted(path.name for path in tmp_path.iterdir()) == there
    assert [path.name for path in tmp_path.glob("taken/*")] == ["ada.zip"] * (not problem)


def bomb_of_folders(hers):
    """Ten folders in each of ten folders, ten times: ten billion files."""
    content = tree(*(("100644", b"f%d.txt" % n, hash_of(hers)) for n in range(10)))
    for _ in range(10):
        inner = stored(hers, "tree", content)
        content = tree(*(("40000", b"d%d" % n, inner) for n in range(10)))
    return content


def a_device(git_folder):
    (git_folder / "packed-refs").symlink_to("/dev/zero")
    (git_folder / "refs/heads/main").unlink()


def a_pipe(git_folder):
    name = hash_of(git_folder, "HEAD")
    path = git_folder / "objects" / name[:2] / name[2:]
    path.unlink()
    os.mkfifo(path)


def branches_outside(git_folder):
    git(git_folder, "branch", "other")
    path = "../../../../other/.git/refs/heads/main"
    (git_folder / "HEAD").write_text(f"ref: refs/{path}\n", encoding="utf-8")


def garbage(git_folder):
    for name in ("config", "HEAD", "packed-refs"):
        (git_folder / name).write_bytes(bytes(range(256)) * 20)


def large_commit(git_folder):
    """More than git may use: MEMORY is lowered below."""
    newest(
        git_folder.parent,
        f"tree {hash_of(git_folder, 'HEAD^{tree}')}\n".encode() + bytes(400 << 20),
    )


def endless(git_folder):
    (git_folder / "refs/heads/main").write_text("ref: refs/heads/main\n", encoding="utf-8")


TREES = [  # of the newest commit
    (bomb_of_folders, "too large for a submission"),
    (lambda hers: bytes(64 << 20), "damaged"),
    (lambda hers: b"100644 model.py", "damaged"),
    (lambda hers: tree(("100644", b"model.py", hash_of(hers, "HEAD^{tree}"))), "damaged, or lacks"),
    (lambda hers: 2 * tree(("100644", b"model.py", hash_of(hers))), "two entries of one name"),
    (
        lambda hers: tree(("100644", b"model.py", stored(hers, "blob", bytes(300 << 20)))),
        "model.py is larger than the limit",
    ),
]
FOLDERS = [
    (a_device, "links, devices"),
    (a_pipe, "links, devices"),
    (endless, "no branch: the clone was interrupted"),
    (branches_outside, "has no branch , but main, other"),
    (garbage, "damaged"),
    (large_commit, "lacks commits"),
]


@pytest.mark.parametrize("harm, part", TREES + FOLDERS)
def test_bombs_and_damage_end_in_a_sentence(tmp_path, hers, take, harm, part, monkeypatch):
    monkeypatch.setattr("instructor.grading.finding.repository.MEMORY", 256 << 20)
    student(tmp_path / "other", WHEN)
    if (harm, part) in TREES:
        put_in_front(hers, harm(hers))
    else:
        harm(hers / ".git")
    message = result(take)
    assert part in message and message.endswith((".", "?"))
    assert not (tmp_path / "taken" / "ada.zip").exists()


def test_names_of_branches_do_nothing_to_a_terminal(hers, take):
    git(hers, "branch", "-m", "main", "\u202ered")
    (hers / ".git/HEAD").write_text("ref: refs/heads/\x1b[31mred\n", encoding="utf-8")
    assert not take().problem
    shutil.copy(hers / ".git/refs/heads/\u202ered", hers / ".git/refs/heads/other")
    with pytest.raises(Unreadable, match=r"no branch \[31mred, but other, red"):
        take()
