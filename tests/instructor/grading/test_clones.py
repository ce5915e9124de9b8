"""A class of cloned repositories: whose a clone is, which commit counts, and which files of it."""

import os
import re
import shutil
import subprocess
import zipfile
from dataclasses import replace

import pytest
from batch_work import Here
from classes import CODE, HOME, clone, commit, decide, entries, git, hand_in, page_of, student

from checks.support.staging import stage
from common.files import Interrupted, UserError
from helpers import ROOT
from instructor.grading.finding.commits import take_commit
from instructor.grading.finding.find import find_submissions
from instructor.grading.finding.late import parse_due
from instructor.grading.finding.repository import AGAIN, Unreadable

DAYS = "01 12:00", "10 12:00", "12 22:00", "14 12:00"
START, EARLY, LAST_MINUTE, LATE = (f"2026-02-{day} +0000" for day in DAYS)
AT = "2026-02-12 23:59 +00:00"
DEADLINE = parse_due(AT)


@pytest.fixture
def origin(tmp_path):
    return student(tmp_path / "origin", EARLY, LATE)


@pytest.fixture
def take(tmp_path):
    """Takes the commit that counts: the submission, its problem or the remarks, and the files."""

    def take(at=DEADLINE, **options):
        (found,) = find_submissions(tmp_path / "class")
        found = replace(found, source=tmp_path / "taken" / "ada.zip")
        try:
            found, _, remarks = take_commit(found, at, **options)
        except Unreadable as error:
            return None, f"unreadable: {error}", {}
        if found.problem:
            return found, found.problem, {}
        with zipfile.ZipFile(found.source) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        return found, remarks, {name: content.decode() for name, content in files.items()}

    return take


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


@pytest.mark.parametrize("date", ["garbage", "18446744073709551615 +0000"])
def test_a_commit_without_a_time_counts_without_one(own, take, date):
    put_in_front(own, tree(("100644", b"model.py", hash_of(own))), date)
    found, _, _ = take(at=None)
    assert hash_of(own, "HEAD")[:12] in found.label and found.submitted is None


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


# Clones that attack whoever grades them: nothing of theirs runs, and no bomb goes off


@pytest.fixture
def own(tmp_path):
    """A repository that was handed in with its .git, whatever is in there."""
    return student(tmp_path / "class" / "ada", EARLY)


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
