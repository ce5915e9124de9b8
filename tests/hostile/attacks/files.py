"""Files: writing to protected places, and names, links and sizes that harm intake or cleanup."""

from hostile.attack import DENIED, MISSING, family
from hostile.prelude import *

HOSTILE, attack = family(verdicts=DENIED)


@attack(lasting=True)
def new_files():
    """Adds files to the grader and its checks, to Python's own folders and to the system's."""
    import site

    import torch

    names = "src src/autograder/inside src/checks instructor/checks tests .git/hooks data ."
    for name in names.split():  # in a private /tmp, these may be there
        attempt(lambda: open(f"{ROOT}/{name}/{MARK}.py", "x").close())
    libraries = [os.path.dirname(module.__file__) for module in (torch, os)]
    libraries += [*site.getsitepackages(), sys.prefix + "/bin", sys.base_prefix + "/bin"]
    for folder in libraries:
        attempt(lambda: open(f"{folder}/{MARK}.pth", "x").close() or loot(folder))
    system = "/etc /etc/cron.d /usr/local/bin /usr/local/lib /root /var/spool/cron / /var/tmp /run"
    for folder in (*system.split(), HOME):
        attempt(lambda: os.mkdir(f"{folder}/{MARK}") or loot(folder))


@attack(lasting=True)
def change_files():
    """Changes files of Python, torch, the system, the kernel, the grader and other students."""
    import glob
    import json

    import torch

    for path in (json.__file__, torch.__file__, os.path.realpath(sys.executable), os.__file__):
        opened(path, os.O_WRONLY | os.O_APPEND)
        status = os.stat(path)
        attempt(
            lambda: os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns)) or loot(path),
            lambda: os.chmod(path, status.st_mode & 0o7777) or loot(path),
            lambda: os.setxattr(path, "user.note", b"") or loot(path),
        )
    system = """
    /etc/passwd /etc/hosts /etc/ld.so.cache /etc/profile /bin/sh /usr/bin/env /proc/sysrq-trigger
    /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/sys/vm/drop_caches
    /sys/kernel/uevent_helper /sys/power/state /sys/fs/cgroup/cgroup.procs
    /sys/kernel/mm/transparent_hugepage/enabled
    """
    secrets = "canary.py", "laptop/birth_test.tsv"
    ours = f"{OTHER}/dataset.py", f"{ROOT}/instructor/gold/laptop/birth_test.tsv"
    groups = glob.glob("/sys/fs/cgroup/*/cgroup.procs")[:5]
    for path in (*system.split(), *groups, *(f"{GOLD}/{name}" for name in secrets), *ours):
        opened(path)
    attempt(lambda: os.unlink(f"{OTHER}/canary.py") or loot("gone"))


@attack()
def change_itself():
    """Changes its own files, for later checks, and its predictions for what it was asked."""
    here = os.path.dirname(__file__)
    top = os.path.dirname(here)
    attempt(
        lambda: open(__file__, "a").close() or loot("dataset.py"),
        lambda: open(f"{here}/{MARK}.py", "x").close() or loot("a new file"),
        lambda: os.rename(here + "/trainer.py", f"{here}/{MARK}.py") or loot("renamed"),
        lambda: os.unlink(here + "/utils.py") or loot("gone"),
        lambda: os.mkdir(here + "/__pycache__") or loot("__pycache__"),
        lambda: os.mkdir(f"{top}/{MARK}") or loot("a folder"),
    )
    for folder in (top + "/results", FOLDER):
        for name in ("rope.pretrain.dev.predictions", "rope.pretrain.test.predictions", MARK):
            attempt(lambda: open(f"{folder}/{name}", "a").close() or loot(name))
        attempt(
            lambda: os.rename(folder, folder + "2") or os.rename(folder + "2", folder) or loot()
        )


@attack(verdicts={MISSING}, sandbox=False)
def scratch_that_is_hard_to_remove():
    """Fills its scratch folder with links to others' files, closed folders and odd names."""
    os.symlink(OTHER, "a")
    os.symlink(GOLD, "b")
    os.symlink("/", "c")
    os.makedirs("d/e")
    os.symlink("../..", "d/e/f")
    attempt(lambda: os.link(f"{GOLD}/canary.py", "g"))
    long = MARK.encode() + b"x" * 230
    for name in (b"-rf", b"a\nb", b"\xff\xfe", b" ", b"*", long, b"\x1b[2J"):
        os.mkdir(name)
        open(name + b"/" + MARK.encode(), "x").close()
        os.chmod(name, 0)
    os.mkfifo("pipe")
    os.link("pipe", "pipe2")
    os.chmod(".", 0o000)


@attack(verdicts={MISSING})
def scratch_becomes_a_link():
    """Moves its scratch folder away, and puts a link to another student's folder in its place."""
    here = os.getcwd()
    open(MARK, "x").close()
    attempt(
        lambda: os.rename(here, here + MARK),
        lambda: os.rmdir(here),
        lambda: os.symlink(OTHER, here),
    )


def nested(folder, places):
    """Replace dataset.py by expressions that are nested deeply."""
    text = "x = " + "-" * 500_000 + "1\n" + "(" * 200_000
    (folder / "dataset.py").write_text(text, encoding="utf-8")


@attack(prepare=nested, changes=(), verdicts=set(), everywhere=False, sandbox=False)
def deep_program():
    """Hands in an expression nested so deeply that reading it may crash whoever does."""
