"""The environment .venv, which the launcher makes: with uv where that is installed, else with pip.
First come torch's dependencies and all other packages, with the versions and hashes of
requirements.lock; then torch, in its pinned version, whose hash depends on where it comes from.

One launcher at a time makes it. A complete one is replaced only once another is complete; what is
killed in between is mended by the next launcher.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import torch_build
from torch_build import Refused, Source, wanted_build

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
# `incomplete` is there while an installation is under way, or was interrupted; `complete` once we
# have made it, with the build of torch (and "pypi" if that came from there for want of the index).
COMPLETE, INCOMPLETE = VENV / "complete", VENV / "incomplete"
# A complete .venv while another is made in its place; what is being removed; who makes one.
OLD, TRASH, LOCK = ROOT / ".venv.old", ".venv.trash-", ROOT / ".venv.lock"

# Whether this is the Python of a folder, and has packages: `name` or `name==version`. (Without its
# pyvenv.cfg, a Python of an environment is the system's.)
HAS = """
import importlib.metadata, os, sys
folder, *pins = sys.argv[1:]
found = [importlib.metadata.version(pin.partition("==")[0]).partition("+")[0] for pin in pins]
versions = [pin.partition("==")[2] for pin in pins]
right = all(want in ("", version) for want, version in zip(versions, found))
sys.exit(not (right and os.path.samefile(sys.prefix, folder)))
"""

WINDOWS = os.name == "nt"
COMMAND = "run.bat" if WINDOWS and "MSYSTEM" not in os.environ else "./run.sh"  # Git Bash has it


def say(text: str) -> None:
    """Print to stderr: stdout is the target's."""
    print(text, file=sys.stderr, flush=True)


def pins(tables: tuple[str, ...]) -> list[str]:
    """The pins of pyproject.toml, `name==version`, that hold on every system, those of extra
    tables included; of a range of versions, the newest.

    Raises:
        Refused: it is missing.
    """
    path = ROOT / "pyproject.toml"
    if not path.exists():
        raise Refused(f"{path} is missing, which says what to install. Restore it.")
    project = tomllib.loads(path.read_text(encoding="utf-8"))["project"]
    found = list(project["dependencies"])
    for table in tables:
        found += project.get("optional-dependencies", {}).get(table, [])
    found = [re.sub(r">=.*<=", "==", pin) for pin in found if ";" not in pin]
    return [pin for pin in found if "==" in pin]


def has_packages(python: str | Path, names: list[str]) -> bool:
    """Whether the active Python, or .venv's, has every package. (Finding them is faster than
    importing them.)
    """
    folder = sys.prefix if python == sys.executable else VENV
    try:
        command = [str(python), "-c", HAS, str(folder), *names]
        return not subprocess.run(command, capture_output=True).returncode
    except OSError:
        return False


def venv_python() -> Path:
    """The Python of .venv, whichever system made that."""
    scripts = VENV / "Scripts"
    return scripts / "python.exe" if scripts.is_dir() else VENV / "bin" / "python"


def recorded() -> list[str]:
    """What `complete` says of torch; [] if it says nothing."""
    return COMPLETE.read_text(encoding="utf-8").split() if COMPLETE.exists() else []


def is_complete() -> bool:
    """Whether we have made .venv, and finished."""
    return COMPLETE.exists() and not INCOMPLETE.exists()


def is_ours() -> bool:
    """Whether .venv may be changed: we have made it, or begun to."""
    if VENV.is_symlink() or not VENV.exists():
        return not VENV.is_symlink()
    return COMPLETE.exists() or INCOMPLETE.exists() or not any(VENV.iterdir())


def why_not(names: list[str], lock: Path) -> str:
    """Why .venv can't be used as it is, in a sentence; "" if it can."""
    if INCOMPLETE.exists() and is_ours():
        return f"{VENV} is not complete: making it was interrupted, or failed."
    if not has_packages(venv_python(), names) or is_ours() and not COMPLETE.exists():
        return f"No Python here has all of: {' '.join(names)}."
    if not is_ours():
        return ""
    wanted, there = wanted_build(), "".join(recorded()[:1])
    if wanted and there != wanted:
        return f"TORCH_BUILD is {wanted}, and the torch in {VENV} is {there or 'unknown'}."
    made = COMPLETE.stat().st_mtime
    for source in (ROOT / "pyproject.toml", lock):
        if source.exists() and source.stat().st_mtime > made:
            return f"{source.name} is newer than {VENV}."
    return ""


def outdated(lock: str, wanted: list[str]) -> list[str]:
    """Those pins that the text of a lock file doesn't have; torch is in none."""
    there = set(re.findall(r"^(\S+==[^\s;\\]+)", lock, re.MULTILINE))
    return [pin for pin in wanted if pin not in there and not pin.startswith("torch==")]


def has_lock(file) -> bool:
    """Try to take the lock of an open file, which ends with the process; whether we have it."""
    try:
        if WINDOWS:
            import msvcrt

            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        pass  # a file system without locks
    return True


@contextlib.contextmanager
def alone():
    """Let one launcher at a time make .venv; the others wait here."""
    try:
        file = LOCK.open("w", encoding="utf-8")
    except OSError as error:
        raise Refused(f"{LOCK} can't be written: {error.strerror}.") from None
    with file:
        os.set_inheritable(file.fileno(), True)
        if not has_lock(file):
            say(f"Another {COMMAND} is making {VENV}; this one waits for it.")
            while not has_lock(file):
                time.sleep(0.5)
        yield


def make_environment(tables: tuple[str, ...], lock: Path) -> None:
    """Make .venv, or update it when the pins have changed, unless another launcher does.

    Raises:
        Refused: .venv is not ours, or something can't be made or installed. One that was complete
            is kept.
    """
    wanted = pins(tables)
    names = [pin.partition("==")[0] for pin in wanted]
    if not is_ours():
        extras = f"[{','.join(tables)}]" if tables else ""
        raise Refused(
            f"{VENV} lacks some of: {' '.join(names)}.\n{COMMAND} did not make it, so it leaves it "
            f"as it is. Activate it and run: pip install -e '{ROOT}{extras}'\n"
            f"Or remove it, and {COMMAND} makes its own."
        )
    if not lock.exists():
        raise Refused(f"{lock} is missing, which says what to install. Restore it.")
    if old := outdated(lock.read_text(encoding="utf-8"), wanted):
        raise Refused(
            f"{lock} lacks {', '.join(old)}, which pyproject.toml pins. Restore both files, or "
            "make the first anew, as CONTRIBUTING.md says."
        )
    with alone():
        try:
            restore()
            if why := why_not(names, lock):
                say(why)
                install_all(lock, next(pin for pin in wanted if pin.startswith("torch==")))
            discard(OLD)
        finally:
            restore()


def install_all(lock: Path, torch: str) -> None:
    """Install what the lock file has, and torch, into .venv, which is made anew if it was
    interrupted, has another build of torch, or its Python is gone.
    """
    asked = wanted_build() or "".join(recorded()[:1])
    build = asked or ("cuda" if torch_build.has_nvidia_gpu() else "cpu")
    update = is_complete() and recorded()[:1] in ([], [build]) and is_alive()
    online = torch_build.is_online()
    if not update and not online:
        raise Refused(
            "The packages are to come from pypi.org, which does not answer. Nothing was changed. "
            f"Connect this machine to the network, and try again. {COMMAND} needs it once."
        )
    has_torch = update and has_packages(venv_python(), [torch])
    source = Source(None) if has_torch else torch_build.find_torch(torch, build)
    uv, python = shutil.which("uv"), str(venv_python())
    if update:
        say(f"Updating {VENV} ...")
    else:
        size = "several GB, most of them CUDA's libraries" if source.has_cuda(build) else "1.2 GB"
        say(f"Making an environment in {VENV}: once, some minutes, {size} ...")
        if not asked or source.instead:
            say(source.reason(build))
        make_anew(uv)
        python = str(venv_python())
    install = (
        [uv, "pip", "install", "--python", python]
        if uv
        else [python, "-m", "pip", "install", "--disable-pip-version-check"]
    )
    install += [] if sys.stderr.isatty() else ["--quiet"]  # with its progress
    install += [] if online else ["--no-index"]  # finds what is there, without asking for minutes
    done = finished(*install, "--require-hashes", "--no-deps", "-r", str(lock))
    if done and not has_torch:
        source = install_torch(install, torch, source)
    if not done or source is None:
        raise Refused(
            f"The packages could not be installed; {'uv' if uv else 'pip'} says why above. "
            f"{'' if online else 'pypi.org does not answer. '}{COMMAND} will try again."
        )
    came_from = recorded()[1:] if has_torch else ["pypi"] if source.instead else []
    COMPLETE.write_text(" ".join([build, *came_from]) + "\n", encoding="utf-8")
    INCOMPLETE.unlink(missing_ok=True)


def is_alive() -> bool:
    """Whether .venv's Python runs, has pip, and installs into .venv."""
    return has_packages(venv_python(), ["pip"])


def finished(*command: str) -> bool:
    """Run a command, what it prints on stderr; whether it succeeds."""
    # the lock is inherited: pip may outlive a launcher that is killed
    return subprocess.run(command, stdout=sys.stderr, close_fds=False).returncode == 0


def discard(folder: Path) -> None:
    """Remove a folder, if it is there: at once, as others see it, though it takes a while."""
    if folder.exists():
        folder.rename(ROOT / f"{TRASH}{time.time_ns()}")
    for trash in ROOT.glob(f"{TRASH}*"):  # on network drives, files in use stay a while
        shutil.rmtree(trash, ignore_errors=True)


def restore() -> None:
    """Take the old .venv back, if none was completed in its place."""
    if OLD.exists() and is_ours() and not is_complete():
        discard(VENV)
        OLD.rename(VENV)
        say(f"{VENV} is as it was before.")


def make_anew(uv: str | None) -> None:
    """Make an empty .venv in place of what is there; one that works is kept as OLD."""
    # not .venv's own Python, which may be the active one
    python = getattr(sys, "_base_executable", None) or sys.executable
    try:
        discard(OLD)
        if is_complete() and is_alive():
            VENV.rename(OLD)
        discard(VENV)
        VENV.mkdir()
        INCOMPLETE.touch()
    except OSError as error:
        raise Refused(
            f"{VENV} can't be made anew: {error.strerror}. Close what uses it (`deactivate` an "
            "active environment), and try again."
        ) from None
    # with pip, which students will want: that of another Python would install elsewhere
    made = (
        finished(uv, "venv", "--quiet", "--seed", "--allow-existing", "--python", python, str(VENV))
        if uv
        else finished(python, "-m", "venv", str(VENV))
    )
    if not made or not is_alive():
        advice = "" if uv else " On Debian and Ubuntu, install the package python3-venv."
        raise Refused(
            f"Could not create it; {'uv' if uv else 'Python'} says why above.{advice}\n"
            f"Or activate your own environment and run: pip install -e '{ROOT}'"
        )


def install_torch(install: list[str], torch: str, source: Source) -> Source | None:
    """Install torch from an index of its own, else from PyPI; returns where it came from, None if
    it failed.
    """
    if source.index is not None:
        # Its dependencies are there. From an index, nothing but torch is taken: another package
        # could have one of their names there.
        if finished(*install, "--no-deps", "--index-url", source.index, torch):
            return source
        if wanted_build():
            return None
        source = Source(None, instead=source.index)
        say(source.reason("cpu"))
    return source if finished(*install, torch) else None
