"""How the student's process is isolated, on three levels.

docs/security.md says what each level guarantees. inside/sandbox.py is the part that a fork applies
to itself; this module is the part that must be done from outside. trial.py chooses the level.
"""

import json
import os
import re
import site
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from .inside import sandbox

INSIDE = Path(sandbox.__file__).parent
TMPFS_BYTES = 600 << 20  # of each private folder: what a check may write and print
LEVELS = ("bubblewrap", "landlock", "limits")  # strongest first
KEPT = """
PATH LD_LIBRARY_PATH SYSTEMROOT SYSTEMDRIVE VIRTUAL_ENV CONDA_PREFIX PYTHONHOME USERPROFILE APPDATA
""".split()


@dataclass(frozen=True)
class Isolation:
    """A way to start the student's process.

    Args:
        name: of the level, as in reports; or "none".
        reason: why no stronger one was chosen; empty for the strongest.
    """

    name: str
    reason: str = ""

    @property
    def strong(self) -> bool:
        """Whether it is strong enough for untrusted code."""
        return self.name in LEVELS[:2]

    @property
    def level(self) -> str:
        """The name with the version of bubblewrap, or of the kernel's Landlock."""
        version = ""
        if self.name == "bubblewrap":
            said = subprocess.run(
                ["bwrap", "--version"], capture_output=True, encoding="utf-8"
            ).stdout
            version = said.rpartition(" ")[2].strip()
        elif self.name == "landlock":
            version = str(sandbox.landlock_version())
        return f"{self.name} {version}".strip()

    def command(self, config: dict, readable: list[Path]) -> list[str]:
        """The command line that starts `inside` in isolation.

        Args:
            config: the arguments of inside/main.py, except those known here.
            readable: folders visible to it, read-only, besides Python and the system.
        """
        folders = [str(Path(folder).resolve()) for folder in readable]
        config = {"level": self.name, "readable": folders, **config}
        command = [os.path.abspath(sys.executable), str(INSIDE), json.dumps(config)]
        return (
            [*_bubblewrap([str(INSIDE), *folders]), *command]
            if self.name == "bubblewrap"
            else command
        )

    def shows(self, secret: Path, readable: list[Path]) -> Path | None:
        """The visible folder that contains a file or folder that should be hidden; None if it is
        hidden. Only `readable`, Python and the system are visible; on a weak level, everything.
        """
        visible = (
            [INSIDE, *readable, *sandbox.SYSTEM, *sandbox.python_folders()]
            if self.strong
            else ["/"]
        )
        return next(
            (
                Path(folder)
                for folder in visible
                if secret.resolve().is_relative_to(Path(folder).resolve())
            ),
            None,
        )

    def environment(self, home: str) -> dict[str, str]:
        """The environment of that process: of the judge's, only what Python needs to start. No GPU:
        checks are small, and the same everywhere.
        """
        home = "/tmp" if self.name == "bubblewrap" else home
        environment = {name: os.environ[name] for name in KEPT if name in os.environ}
        return {
            **environment,
            "HOME": home,
            "TMPDIR": home,
            "TEMP": home,
            "USER": "student",
            "LOGNAME": "student",
            "LANG": "C.UTF-8",
            "PYTHONUSERBASE": site.getuserbase(),
            "PYTHONUTF8": "1",
            "PYTHONDONTWRITEBYTECODE": "1",
            "CUDA_VISIBLE_DEVICES": "",
            "OMP_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            # There is no compiler in the sandbox, so torch.compile is disabled.
            "TORCHDYNAMO_DISABLE": "1",
        }


def strength(level: str) -> tuple[int, ...]:
    """A sort key for Isolation.level: larger means stronger; () for none."""
    name, _, version = level.partition(" ")
    numbers = [int(number) for number in re.findall(r"\d+", version)]
    return (len(LEVELS) - LEVELS.index(name), *numbers) if name in LEVELS else ()


def _bubblewrap(readable):
    """The start of a command line that runs the rest in its own namespaces, without capabilities,
    where only a private /tmp and /dev/shm are writable. It is the first process there: no other
    process can stop or kill it, and all end with it.
    """
    command = f"""
    bwrap --unshare-all --unshare-user --disable-userns --die-with-parent --new-session --as-pid-1
    --cap-drop ALL --uid 1000 --gid 1000 --hostname student --proc /proc --dev /dev
    --size {TMPFS_BYTES} --tmpfs {sandbox.SHARED_MEMORY} --size {TMPFS_BYTES} --tmpfs /tmp
    """.split()
    shown, bound = (*sandbox.SYSTEM, *sandbox.python_folders(), *readable), set()
    # A mount deep within /tmp would be inside folders that can be renamed, so the topmost folder
    # gets a file system of its own.
    tops = sorted(
        {"/".join(path.split("/")[:3]) for path in shown if path.startswith("/tmp/")} - set(shown)
    )
    for top in tops:
        command += ["--tmpfs", top]
    for path in shown:
        if any(path == other or path.startswith(other + "/") for other in bound):
            continue
        if os.path.islink(path) and path in sandbox.SYSTEM:  # /lib, where it points to usr/lib
            command += ["--symlink", os.readlink(path), path]
        elif os.path.exists(path):
            command += ["--ro-bind", path, path]
            bound.add(path)
    # /proc, too: to the kernel, root in there is root out here, and may write to /proc/sys.
    for top in tops:
        command += ["--remount-ro", top]
    rest = "--remount-ro /proc --remount-ro /dev --remount-ro / --chdir /tmp --"
    return [*command, *rest.split()]
