"""Files: writing to protected places, and names, links and sizes that harm intake or cleanup."""

import os

from hostile.attack import BLOCKED, DENIED, MISSING, Hostile


def writes(name, tries, code, seen="Nothing can be written there.", verdicts=DENIED, **more):
    """Make an attack that writes files outside its scratch folder."""
    return Hostile(name, tries, seen, code, verdicts=verdicts, **more)


def submitted(name, tries, prepare, seen="The whole submission is refused.", **more):
    """Make an attack by the submission's files themselves, before any of its code runs."""
    return Hostile(
        name,
        tries,
        seen,
        prepare=prepare,
        **{"everywhere": False, "sandbox": False, "refused": True, "changes": (), **more},
    )


def instead(name, make):
    """Return a function that replaces a submitted file with something else."""

    def prepare(folder, places):
        (folder / name).unlink(missing_ok=True)
        make(folder / name, places)

    return prepare


WRITING = [
    writes(
        "write-into-the-project",
        "Adds files to the grader, its checks, its tests and the hooks of its repository.",
        """
for folder in ("src", "src/autograder", "src/autograder/inside", "src/checks", "instructor/checks", "tests", ".git/hooks", "data", "."):
    attempt(lambda: open(f"@ROOT@/{folder}/@MARK@.py", "x").close())      # in a private /tmp, there may be folders of these names
""",
        "Nothing is written there.",
        verdicts=DENIED,
    ),
    writes(
        "write-into-python",
        "Adds files to Python's own folders, which every later process would run at its start.",
        """
import site, torch
for folder in (*site.getsitepackages(), os.path.dirname(torch.__file__), os.path.dirname(os.__file__), sys.prefix + "/bin", sys.base_prefix + "/bin"):
    attempt(lambda: open(f"{folder}/@MARK@.pth", "x").close() or loot(folder))
""",
        lasting=True,
    ),
    writes(
        "change-python",
        "Opens files of Python and torch for writing, and changes their times and modes.",
        """
import json, torch
for path in (json.__file__, torch.__file__, os.path.realpath(sys.executable), os.__file__):
    attempt(lambda: os.close(os.open(path, os.O_WRONLY | os.O_APPEND)) or loot(path),
            lambda: os.utime(path, ns=(os.stat(path).st_atime_ns, os.stat(path).st_mtime_ns)) or loot(path),
            lambda: os.chmod(path, os.stat(path).st_mode & 0o7777) or loot(path), lambda: os.setxattr(path, "user.note", b"") or loot(path))
""",
        lasting=True,
    ),
    writes(
        "change-itself",
        "Changes its own files after they were taken in, for the checks that come later.",
        """
here = os.path.dirname(__file__)
attempt(lambda: open(__file__, "a").close() or loot("dataset.py"), lambda: open(here + "/@MARK@.py", "x").close() or loot("a new file"),
        lambda: os.rename(here + "/trainer.py", here + "/@MARK@.py") or loot("renamed"), lambda: os.unlink(here + "/utils.py") or loot("gone"),
        lambda: os.mkdir(here + "/__pycache__") or loot("__pycache__"), lambda: os.mkdir(os.path.dirname(here) + "/@MARK@") or loot("a folder"))
""",
    ),
    writes(
        "change-its-results",
        "Rewrites its predictions once it has seen the questions.",
        """
results = os.path.dirname(os.path.dirname(__file__)) + "/results"
for folder in (results, "@FOLDER@"):
    for name in ("rope.pretrain.dev.predictions", "rope.pretrain.test.predictions", "@MARK@"):
        attempt(lambda: open(f"{folder}/{name}", "a").close() or loot(name))
    attempt(lambda: os.rename(folder, folder + "2") or os.rename(folder + "2", folder) or loot("renamed"))
""",
    ),
    writes(
        "change-the-system",
        "Opens the system's settings for writing: users, hosts, preloaded libraries, jobs by the "
        "clock.",
        """
for path in ("/etc/passwd", "/etc/hosts", "/etc/ld.so.cache", "/etc/profile", "/bin/sh", "/usr/bin/env"):
    attempt(lambda: os.close(os.open(path, os.O_WRONLY)) or loot(path))
for folder in ("/etc", "/etc/cron.d", "/usr/local/bin", "/usr/local/lib", "/root", "/var/spool/cron", "/", "@HOME@", "/var/tmp", "/run"):
    attempt(lambda: os.mkdir(folder + "/@MARK@") or loot(folder))
""",
    ),
    writes(
        "change-the-secrets",
        "Overwrites the answers, and another student's files.",
        """
for path in ("@GOLD@/canary.py", "@GOLD@/laptop/birth_test.tsv", "@OTHER@/dataset.py", "@ROOT@/instructor/gold/laptop/birth_test.tsv"):
    attempt(lambda: os.close(os.open(path, os.O_WRONLY)) or loot(path))
attempt(lambda: os.unlink("@OTHER@/canary.py") or loot("gone"))
""",
    ),
    writes(
        "preload-a-library",
        "Sets LD_PRELOAD and PYTHONPATH for processes that are started later.",
        """
os.environ.update(LD_PRELOAD="/tmp/@MARK@.so", PYTHONPATH=os.getcwd(), PYTHONSTARTUP=os.getcwd() + "/sitecustomize.py", BASH_ENV="/tmp/@MARK@")
for folder in (".", "/tmp", os.environ["HOME"]):
    attempt(lambda: open(folder + "/sitecustomize.py", "x").write("# @MARK@"))
""",
        "They are its own environment and folder, which end with it.",
        frozenset({MISSING}),
        sandbox=True,
        lasting=True,
    ),
]

CLEANING = [
    writes(
        "links-for-the-cleaner",
        "Fills its scratch folder with links, so that whoever cleans it removes what they point "
        "to.",
        """
os.symlink("@OTHER@", "a")
os.symlink("@GOLD@", "b")
os.symlink("/", "c")
os.makedirs("d/e")
os.symlink("../..", "d/e/f")
attempt(lambda: os.link("@GOLD@/canary.py", "g"))
""",
        "The links are removed, and nothing else.",
        frozenset({MISSING}),
        sandbox=False,
    ),
    writes(
        "scratch-becomes-a-link",
        "Moves its scratch folder away, and puts a link to another student's folder in its place.",
        """
here = os.getcwd()
open("@MARK@", "x").close()
attempt(lambda: os.rename(here, here + "@MARK@"), lambda: os.rmdir(here), lambda: os.symlink("@OTHER@", here))
""",
        "What the link points to is left alone, and the folder removed.",
        frozenset({MISSING}),
        sandbox=False,
    ),
    writes(
        "files-that-stay",
        "Leaves files that are hard to remove: without rights, with names of every kind, with "
        "extra names.",
        r"""
for name in (b"-rf", b"a\nb", b"\xff\xfe", b" ", b"*", b"@MARK@" + b"x" * 230, b"\x1b[2J"):
    os.mkdir(name)
    open(name + b"/@MARK@", "x").close()
    os.chmod(name, 0)
os.mkfifo("pipe")
os.link("pipe", "pipe2")
os.chmod(".", 0o000)
""",
        "They are removed.",
        frozenset({MISSING}),
        sandbox=False,
    ),
    writes(
        "setuid-shell",
        "Leaves a copy of the shell that runs as its owner, whoever starts it.",
        """
import shutil
for folder in (".", "/tmp", "/dev/shm"):
    attempt(lambda: shutil.copy("/bin/sh", folder + "/@MARK@") and os.chmod(folder + "/@MARK@", 0o6755))
""",
        "It is removed.",
        frozenset({MISSING, BLOCKED}),
        sandbox=True,
    ),
]

TAKING_IN = [
    submitted(
        "link-as-the-solution",
        "Hands in a link to another student's solution.",
        instead(
            "dataset.py", lambda path, places: path.symlink_to(places["OTHER"] + "/dataset.py")
        ),
    ),
    submitted(
        "hard-link",
        "Hands in another name of a secret file.",
        instead("extra.py", lambda path, places: os.link(places["GOLD"] + "/canary.py", path)),
    ),
    submitted(
        "name-that-writes",
        "Hands in a link whose name has terminal escapes and bidirectional text.",
        instead("\x1b[2J\u202ey\x07.py", lambda path, places: path.symlink_to("/etc/passwd")),
        "It is refused, and the message shows the characters' numbers.",
    ),
    submitted(
        "deep-program",
        "Hands in an expression nested so deeply that reading it may crash whoever does.",
        lambda folder, places: (folder / "dataset.py").write_text(
            "x = " + "-" * 500_000 + "1\n" + "(" * 200_000, encoding="utf-8"
        ),
        "Its own process fails.",
        refused=False,
    ),
]

HOSTILE = WRITING + CLEANING + TAKING_IN
