"""Clones that attack whoever grades them: nothing of theirs runs, and no bomb goes off."""

import os
import shutil
import subprocess

import pytest
from classes import CODE, HOME, commit, git, student
from downloads import EARLY

from instructor.grading.finding.repository import AGAIN


def stored(own, kind, content):
    """Store any object, valid or not; returns its hash."""
    (own / "raw").write_bytes(content)
    return git(own, "hash-object", "-t", kind, "-w", "--literally", "raw")


def tree(*entries):
    parts = [(f"{mode} ".encode() + name, bytes.fromhex(hash)) for mode, name, hash in entries]
    return b"".join(name + b"\0" + hash for name, hash in parts)


def newest(own, content):
    name = stored(own, "commit", content)
    (own / ".git/refs/heads/main").write_text(f"{name}\n", encoding="utf-8")


def put_in_front(own, content, date="1770811200 +0000"):
    """Make a commit of a tree the newest one."""
    who, top = f"A <a@b> {date}", stored(own, "tree", content)
    newest(own, f"tree {top}\nauthor {who}\ncommitter {who}\n\nx\n".encode())


def hash_of(own, what=f"HEAD:{HOME}/model.py"):
    return git(own, "rev-parse", what)


PROGRAMS = """core.fsmonitor core.sshCommand core.alternateRefsCommand diff.external gpg.program
    filter.evil.smudge filter.evil.process credential.helper uploadpack.packObjectsHook""".split()
SETTINGS = {"log.showSignature": "true", "core.hooksPath": ".git/hooks"}
SETTINGS |= {"remote.origin.url": "ssh://example.invalid/hw5", "remote.origin.promisor": "true"}
SETTINGS |= {"extensions.partialClone": "origin"}


def test_nothing_of_a_clone_runs_and_no_setting_counts(tmp_path, own, take, monkeypatch):
    """No setting, hook, filter or pager that runs a program, nor for an object that is missing."""
    commit(own, EARLY, {".gitattributes": "* filter=evil diff=evil\n"})
    marker, script, blob = tmp_path / "marker", tmp_path / "harm.sh", hash_of(own)
    script.write_text(f"#!/bin/sh\necho ran >> {marker}\ncat\n", encoding="utf-8")
    script.chmod(0o755)
    for name, value in (dict.fromkeys(PROGRAMS, str(script)) | SETTINGS).items():
        git(own, "config", name, value)
    for name in ("hooks", "info"):
        (own / ".git" / name).mkdir(exist_ok=True)
    for name in ("post-checkout", "post-index-change", "reference-transaction", "pre-auto-gc"):
        shutil.copy(script, own / ".git/hooks" / name)
    attributes = "* filter=evil diff=evil export-subst\n"
    (own / ".git/info/attributes").write_text(attributes, encoding="utf-8")
    os.utime(own / HOME / "model.py", (0, 0))
    assert not marker.exists()
    subprocess.run(["git", "status"], cwd=own, capture_output=True)
    assert marker.exists(), "the attack works on whoever runs git there"
    marker.unlink()
    other = student(tmp_path / "other", EARLY, EARLY)
    (tmp_path / "config").write_text("[core]\n\tbigFileThreshold = nonsense\n", encoding="utf-8")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "config"))
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))  # as in a hook that starts the grading
    monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", str(other / ".git/objects"))
    found = take()[0]
    assert found.source.is_file() and not found.problem and not marker.exists()
    (own / ".git/objects" / blob[:2] / blob[2:]).unlink()
    assert "lacks model.py" in take()[1] and not marker.exists()


def test_a_replaced_commit_is_not_the_one_that_counts(own, take):
    old = hash_of(own, "HEAD")
    other = commit(own, EARLY, {f"{HOME}/model.py": "# other\n"}, "--amend")
    git(own, "reset", "--quiet", "--hard", old)
    git(own, "replace", old, other)
    found = take()[0]
    assert old[:12] in found.label and CODE.encode() in found.source.read_bytes()


@pytest.mark.parametrize(
    "name, problem",
    [
        *((name, "") for name in (b"..", b".git", b"../../model.py", b"a\\b.py", b"\xff.py")),
        (b"a/b.py", "It has the required files in several folders"),
        (b"", "It is damaged"),
    ],
)
def test_names_that_lead_elsewhere_are_left_out(tmp_path, own, take, name, problem):
    blob = hash_of(own)
    inner = stored(own, "tree", tree(("100644", name, blob), ("100644", b"model.py", blob)))
    put_in_front(own, tree(("40000", name, inner), ("40000", b"w", inner)))
    found, message, _ = take()
    assert message.removeprefix("unreadable: ").startswith(problem)
    assert bool(found and not found.problem) is not bool(problem)
    assert {path.name for path in tmp_path.iterdir()} <= {"class", "taken"}
    assert [path.name for path in tmp_path.glob("taken/*")] == ["ada.zip"] * (not problem)


def bomb_of_folders(own):
    """Ten folders in each of ten folders, ten times: ten billion files."""
    content = tree(*(("100644", b"f%d.txt" % n, hash_of(own)) for n in range(10)))
    for _ in range(10):
        inner = stored(own, "tree", content)
        content = tree(*(("40000", b"d%d" % n, inner) for n in range(10)))
    return content


def a_pipe(own):
    name = hash_of(own, "HEAD")
    path = own / ".git/objects" / name[:2] / name[2:]
    path.unlink()
    os.mkfifo(path)


def linked(own):
    shutil.move(own / ".git/objects", own.parent.parent / "moved")
    (own / ".git/objects").symlink_to(own.parent.parent / "moved")


def elsewhere(own):
    shutil.rmtree(own / ".git")
    (own / ".git").write_text(f"gitdir: {own.parent.parent}/other/.git\n", encoding="utf-8")


def branches_outside(own):
    git(own, "branch", "other")
    path = "../../../../other/.git/refs/heads/main"
    (own / ".git/HEAD").write_text(f"ref: refs/{path}\n", encoding="utf-8")


def garbage(own):
    for name in ("config", "HEAD", "packed-refs"):
        (own / ".git" / name).write_bytes(bytes(range(256)) * 20)


def large_commit(own):
    newest(own, f"tree {hash_of(own, 'HEAD^{tree}')}\n".encode() + bytes(200 << 20))


def large_file(own):
    return tree(("100644", b"model.py", stored(own, "blob", bytes(150 << 20))))


HARM = [  # what is done to a clone, perhaps the tree of its newest commit, and what is said
    (bomb_of_folders, "too large for a submission"),
    (lambda own: b"100644 model.py", "damaged"),
    (lambda own: tree(("100644", b"model.py", hash_of(own, "HEAD^{tree}"))), "damaged, or lacks"),
    (lambda own: 2 * tree(("100644", b"model.py", hash_of(own))), "two entries of one name"),
    (large_file, "model.py is larger than the limit"),
    (a_pipe, "links, devices"),
    (linked, "has links"),
    (lambda own: (own / ".git/packed-refs").symlink_to("/dev/zero"), "links, devices"),
    (elsewhere, f"no folder, but names a repository elsewhere. {AGAIN}"),
    (lambda own: (own / ".git/reftable").mkdir(), "--ref-format=files"),
    (lambda own: (own / ".git/refs/heads/main").unlink(), "no branch: the clone was interrupted"),
    (branches_outside, "has no branch , but main, other"),
    (garbage, "damaged"),
    (large_commit, "lacks commits"),
]


@pytest.mark.parametrize("harm, part", HARM)
def test_bombs_and_damage_end_in_a_sentence(tmp_path, own, take, harm, part, monkeypatch):
    for name, value in (("MEMORY", 128 << 20), ("SECONDS", 600)):  # less; enough if it is busy
        monkeypatch.setattr(f"instructor.grading.finding.repository.{name}", value)
    student(tmp_path / "other", EARLY)
    if content := harm(own):
        put_in_front(own, content)
    message = take()[1]
    assert part in message and message.endswith((".", "?"))
    assert not (tmp_path / "taken" / "ada.zip").exists()


def test_names_of_branches_do_nothing_to_a_terminal(own, take):
    git(own, "branch", "-m", "main", "\u202ered")
    (own / ".git/HEAD").write_text("ref: refs/heads/\x1b[31mred\n", encoding="utf-8")
    assert not take()[0].problem
    shutil.copy(own / ".git/refs/heads/\u202ered", own / ".git/refs/heads/other")
    said = take()[1]
    assert "no branch [31mred" in said and "other, red" in said


@pytest.mark.parametrize("date", ["garbage", "18446744073709551615 +0000"])
def test_a_commit_without_a_time_counts_without_one(own, take, date):
    put_in_front(own, tree(("100644", b"model.py", hash_of(own))), date)
    found, _, _ = take(at=None)
    assert hash_of(own, "HEAD")[:12] in found.label and found.submitted is None
