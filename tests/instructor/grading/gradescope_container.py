"""A container as Gradescope's, made of bubblewrap: root, Docker's usual rights and system calls,
little memory, one processor.
"""

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

from conftest import lack

# What Docker leaves to root in a container, and some of the system calls that it forbids.
# LANDLOCK's are known to no kernel before 5.13.
CAPABILITIES = """
CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP NET_BIND_SERVICE
SYS_CHROOT KILL AUDIT_WRITE
""".split()
FORBIDDEN = ("unshare", "mount", "umount2", "setns", "pivot_root")
LANDLOCK = ("landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self")
CGROUPS = Path("/sys/fs/cgroup")


def require_container():
    """Skip, or fail where REQUIRE_LEVELS is set, if no container can be made here."""
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    here = {"Linux": sys.platform.startswith("linux"), "root": root}
    here["bubblewrap"] = shutil.which("bwrap") is not None
    missing = [name for name in here if not here[name]]
    if missing:
        how = "a container can't be made without (bubblewrap: apt install bubblewrap)"
        lack(", ".join(missing), how, os.environ.get("REQUIRE_LEVELS"))


def _core():
    """The processor of a container: another one in each process of a test run, so that two
    containers don't share one.
    """
    cores = sorted(os.sched_getaffinity(0))
    return cores[int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % len(cores)]


class Container:
    """Runs the autograder of a zip on one submission after the other.

    Args:
        archive: the zip.
        memory: MiB, kept by a cgroup where one can be made here.
        forbidden: further system calls that fail.
        hidden: files of the machine that are not there.
        environment: variables, added to what the autograder gets.
    """

    def __init__(
        self,
        archive: Path,
        memory: int = 1024,
        forbidden: tuple[str, ...] = (),
        hidden: tuple[str, ...] = (),
        environment: dict | None = None,
    ):
        self.archive = archive
        self.memory = memory
        self.forbidden = forbidden
        self.hidden = hidden
        self.environment = environment or {}
        self.output = ""
        self.peak = None  # MiB that the last run used at most, where a cgroup counted it

    def grade(
        self,
        submission: Path,
        metadata: str = "{}",
        command: str = "/autograder/run_autograder",
        prepare: Callable[[Path], None] = lambda source: None,
    ) -> dict:
        """Grade a folder; returns what stands in results.json, and keeps what was printed in
        `output`.

        prepare may change what was unpacked.
        """
        with tempfile.TemporaryDirectory() as folder, self._cgroup() as (join, peak):
            root = Path(folder, "autograder")
            for name in ("source", "results"):
                (root / name).mkdir(parents=True)
            self._unpack(root / "source")
            prepare(root / "source")
            shutil.copy(root / "source" / "run_autograder", root / "run_autograder")
            shutil.copytree(submission, root / "submission", symlinks=True)
            (root / "submission_metadata.json").write_text(metadata, encoding="utf-8")
            for path in (Path(folder), root):
                path.chmod(0o755)
            paths = {"PATH": os.environ["PATH"], "HOME": "/root"}
            environment = paths | {"AUTOGRADER_PYTHON": sys.executable, **self.environment}
            with open(self._filter(folder), "rb") as filter:
                bubblewrap = self._bubblewrap(root, filter.fileno())
                process = subprocess.run(
                    ["sh", "-c", join + 'exec "$@"', "sh", *bubblewrap, command],
                    env=environment,
                    pass_fds=(filter.fileno(),),
                    timeout=300,
                    encoding="utf-8",
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                )
            self.output, self.code, self.peak = process.stdout, process.returncode, peak()
            results = root / "results" / "results.json"
            return json.loads(results.read_text(encoding="utf-8")) if results.is_file() else {}

    def _unpack(self, into):
        """As Gradescope does; zipfile would forget which files are programs."""
        with zipfile.ZipFile(self.archive) as archive:
            for entry in archive.infolist():
                Path(archive.extract(entry, into)).chmod(entry.external_attr >> 16)

    def _bubblewrap(self, root, filter):
        command = "bwrap --unshare-pid --unshare-ipc --unshare-net --die-with-parent".split()
        command += ["--cap-drop", "ALL"]
        for capability in CAPABILITIES:
            command += ["--cap-add", f"CAP_{capability}"]
        for path in sorted(Path("/").iterdir()):
            if path.is_symlink():
                command += ["--symlink", os.readlink(path), str(path)]
            elif path.is_dir() and path.name not in ("autograder", "dev", "proc", "lost+found"):
                command += ["--bind" if path.name == "tmp" else "--ro-bind", str(path), str(path)]
        for path in self.hidden:
            command += ["--ro-bind", "/dev/null", path]
        if self.cgroup:
            command += ["--ro-bind", str(self.cgroup), str(CGROUPS)]
        command += f"--dev /dev --perms 1777 --size {64 << 20} --tmpfs /dev/shm".split()
        command += ["--proc", "/proc", "--bind", str(root), "/autograder"]
        command += ["--chdir", "/autograder", "--seccomp", str(filter), "--"]
        return [*command, *(["taskset", "-c", str(_core())] if shutil.which("taskset") else [])]

    def _filter(self, folder):
        """The path of a file with the system calls that fail."""
        import errno

        import pyseccomp

        rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
        for name in (*FORBIDDEN, *self.forbidden):
            rules.add_rule(pyseccomp.ERRNO(errno.EPERM), name)
        rules.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
        new_users = pyseccomp.Arg(0, pyseccomp.MASKED_EQ, 0x10000000, 0x10000000)  # CLONE_NEWUSER
        rules.add_rule(pyseccomp.ERRNO(errno.EPERM), "clone", new_users)
        path = Path(folder, "filter")
        with open(path, "wb") as file:
            rules.export_bpf(file)
        return path

    @contextlib.contextmanager
    def _cgroup(self):
        """A cgroup with that much memory: how a shell joins it, and a function that tells the
        peak.
        """
        self.cgroup = CGROUPS / f"autograder-{secrets.token_hex(4)}"
        try:
            (CGROUPS / "cgroup.controllers").read_text(encoding="utf-8")  # of version 2
            self.cgroup.mkdir()
            (self.cgroup / "memory.max").write_text(str(self.memory << 20), encoding="utf-8")
        except OSError:
            self._remove_cgroup()
            self.cgroup = None
            yield "", lambda: None
            return
        try:
            yield (
                f"echo $$ > {self.cgroup}/cgroup.procs; ",
                lambda: int((self.cgroup / "memory.peak").read_text(encoding="utf-8")) >> 20,
            )
        finally:
            self._remove_cgroup()

    def _remove_cgroup(self):
        for _ in range(100):  # while the kernel ends what was in it
            try:
                return self.cgroup.rmdir()
            except FileNotFoundError:
                return None
            except OSError:
                time.sleep(0.05)
