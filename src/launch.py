"""Finds or makes a Python environment, then runs a job, the demo or the tests. run.sh and run.bat
find a Python 3.11 or newer and call this, which needs nothing but that.

The active Python is used if it has the packages of pyproject.toml, else .venv. That is made with uv
where it is installed, else with venv and pip. The file `made-from` in it says which packages it
has; when others are wanted, a new .venv is made in its place, and the old one is kept until then.
"""

import contextlib
import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
# Which build of torch .venv has, and the digest of what was installed; empty until it is complete.
STAMP = VENV / "made-from"
# A complete .venv while another is made in its place; what is being removed; who makes one.
OLD, TRASH, LOCK = ROOT / ".venv.replaced", ".venv.trash-", ROOT / ".venv.lock"

# The files of versions and hashes, and the extra tables of pyproject.toml that are in them.
LOCKS = {"requirements.lock": (), "requirements-dev.lock": ("instructor", "dev")}
TORCH_INDEX = "https://download.pytorch.org/whl/"  # for Linux and Windows, with CUDA and without
CUDA = "cu130"  # of torch 2.13.0 on PyPI for Linux; Windows needs the index for it

TRIED = "LAUNCH_TRIED_VENV"  # set for a Python of .venv that we did not make
WINDOWS = os.name == "nt"
COMMAND = "run.bat" if WINDOWS and "MSYSTEM" not in os.environ else "./run.sh"  # Git Bash has it


class Refused(Exception):
    """Why nothing runs, in words; the exit code is 2."""


def say(text: str) -> None:
    """Print to stderr: stdout is the target's."""
    print(text, file=sys.stderr, flush=True)


def succeeds(*command) -> bool:
    """Run a command, with what it prints on stderr; whether it succeeds."""
    # a pip that outlives a launcher which is killed keeps the lock
    return subprocess.run([*map(str, command)], stdout=sys.stderr, close_fds=False).returncode == 0


def become(python: str | Path, *words: str | Path) -> int:
    """Become a Python that runs `words`; where a process can't, wait for it and return its exit
    code.
    """
    command = [str(python), *map(str, words)]
    sys.stdout.flush()
    if not WINDOWS:
        os.execv(command[0], command)
    # Windows' exec ends this process at once, and the prompt comes back while the job runs.
    process = subprocess.Popen(command)
    while True:
        with contextlib.suppress(KeyboardInterrupt):  # it gets the Ctrl-C too, and ends by itself
            return process.wait()


def launch(words: list[str]) -> int:
    """Do what the words of a command line ask for; returns the exit code.

    Raises:
        Refused: nothing runs.
        OSError: pyproject.toml or the lock file is missing, or .venv can't be written.
    """
    target, job = words[0] if words else "help", [ROOT / "src" / "run.py", *words]
    if target == "collect":  # collect_submission.sh and .bat; any Python will do
        return become(sys.executable, ROOT / "src" / "collect.py", *words[1:])
    if target == "test" and not (ROOT / "tests").is_dir():
        raise Refused(
            "The project's tests are not part of this copy. To grade your code: python "
            "src/grader.py"
        )
    runs_job = target not in ("test", "python")
    if target == "help" or runs_job and {"-h", "--help"} & {*words}:
        return become(sys.executable, job[0], "--help")
    staff = (ROOT / "requirements-dev.lock").exists()
    pins = read_pins(("instructor", "dev")[: 1 + (target == "test")] if staff else ())
    python = Path(sys.executable)
    tried = os.environ.pop(TRIED, "")
    active = VENV.exists() and Path(sys.prefix).samefile(VENV)
    ours = not VENV.is_symlink() and (STAMP.exists() or not any(VENV.glob("*")))
    if active and ours or not has_packages(pins):
        python = venv_python()
        if not ours and not active and python.exists() and not tried:
            os.environ[TRIED] = "yes"  # it may be a script that starts another Python
            return become(python, __file__, *words)  # which sees whether that one has them
        if not ours:
            raise Refused(
                f"{VENV} lacks some of: {' '.join(pins)}.\n{COMMAND} did not make it, so it leaves "
                f"it as it is. Activate it and run: pip install -e '{ROOT}"
                f"{'[instructor,dev]' if staff else ''}'\n"
                f"Or remove it, and {COMMAND} makes its own."
            )
        lock = ROOT / list(LOCKS)[staff]
        if not is_made(lock, pins["torch"]):
            # a misspelled target should not cost a download
            if runs_job and not succeeds(sys.executable, *job, "--check"):
                return 2
            make_environment(lock, pins["torch"])
        elif read_stamp().startswith("cpu ") and not build_asked() and has_gpu():
            say(
                f"The torch in {VENV} is without CUDA, so the NVIDIA GPU here is not used. With "
                f"TORCH_BUILD=cuda in its environment, {COMMAND} makes .venv anew."
            )
    if target == "test":
        os.chdir(ROOT)
    runs = {"python": words[1:], "test": ["-m", "pytest", *words[1:]]}
    return become(python, *runs.get(target, job))


def read_pins(tables: tuple[str, ...]) -> dict[str, str]:
    """The packages that pyproject.toml pins on every system, name -> `name==version`, those of
    extra tables included; of a range of versions, the newest.
    """
    try:
        project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        extras = (pin for table in tables for pin in project["optional-dependencies"][table])
        pins = [re.sub(r">=.*<=", "==", pin) for pin in (*project["dependencies"], *extras)]
    except (ValueError, KeyError) as error:
        raise Refused(f"pyproject.toml is damaged ({error}). Restore it.") from None
    pins = [pin for pin in pins if "==" in pin and ";" not in pin]
    return {pin.partition("==")[0]: pin for pin in pins}


def has_packages(names) -> bool:
    """Whether this Python has packages. (Finding them is faster than importing them.)"""
    try:
        return all(importlib.metadata.version(name) for name in names)
    except importlib.metadata.PackageNotFoundError:
        return False


def has_gpu() -> bool:
    """Whether this machine has NVIDIA's driver."""
    places = ("/proc/driver/nvidia/version", "/usr/lib/wsl/lib/nvidia-smi")
    return shutil.which("nvidia-smi") is not None or any(map(os.path.exists, places))


def venv_python() -> Path:
    """The Python of .venv, whichever system made that."""
    scripts = VENV / "Scripts"
    return scripts / "python.exe" if scripts.is_dir() else VENV / "bin" / "python"


def read_stamp() -> str:
    """What is in our .venv; "" if it is not there or not complete."""
    return STAMP.read_text(encoding="utf-8") if STAMP.exists() else ""


def wanted_stamp(lock: Path, torch: str) -> str:
    """What .venv should be made from. The build of torch is that of the variable TORCH_BUILD (cpu,
    cuda, or a folder of PyTorch's index such as cu126), else that which is there.
    """
    build = build_asked() or read_stamp().partition(" ")[0]
    build = build or ("cuda" if has_gpu() else "cpu")
    return f"{build} {hashlib.sha256(lock.read_bytes() + torch.encode()).hexdigest()}"


def build_asked() -> str:
    """The build of torch that a user asks for, or ""."""
    return "".join(os.environ.get("TORCH_BUILD", "").split())


def is_made(lock: Path, torch: str) -> bool:
    """Whether our .venv has all that is wanted. (Its Python is gone when the system's is.)"""
    return read_stamp() == wanted_stamp(lock, torch) and venv_python().exists()


def make_environment(lock: Path, torch: str) -> None:
    """Make .venv anew, alone: other launchers wait here, and find it made. If that fails, one that
    was complete is kept.

    Raises:
        Refused: something can't be installed.
        OSError: a folder can't be written, or is in use.
    """
    with LOCK.open("w", encoding="utf-8") as file:
        os.set_inheritable(file.fileno(), True)
        if not has_lock(file):
            say(f"Another {COMMAND} is making {VENV}; this one waits for it.")
            while not has_lock(file):
                time.sleep(0.5)
        settle()  # a launcher may have been killed
        if is_made(lock, torch):
            return
        wanted = wanted_stamp(lock, torch)
        try:
            if read_stamp():
                VENV.rename(OLD)
            discard(VENV)
            VENV.mkdir()
            STAMP.touch()
            install(lock, torch, wanted.partition(" ")[0])
            STAMP.write_text(wanted, encoding="utf-8")
        finally:
            settle()


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


def settle() -> None:
    """End with one .venv: the new one if it is complete, else the old one."""
    if (OLD / STAMP.name).exists() and not read_stamp():
        discard(VENV)
        OLD.rename(VENV)
        say(f"{VENV} is as it was before.")
    discard(OLD)


def discard(folder: Path) -> None:
    """Remove a folder, if it is there: at once, as others see it, though it takes a while."""
    if os.path.lexists(folder):
        folder.rename(ROOT / f"{TRASH}{time.time_ns()}")
    for trash in ROOT.glob(f"{TRASH}*"):  # on network drives, files in use stay a while
        if trash.is_dir() and not trash.is_symlink():
            shutil.rmtree(trash, ignore_errors=True)
        else:
            trash.unlink()


def install(lock: Path, torch: str, build: str) -> None:
    """Make an environment in the empty .venv: the packages of the lock file, then torch.

    Args:
        lock: its versions and hashes; torch's dependencies are there, but for CUDA's libraries.
        torch: its pin. Its hash depends on where it comes from, so it is in no lock file.
        build: its build: cpu, cuda, or a folder of PyTorch's index.
    """
    uv, chosen = shutil.which("uv"), build_asked()
    size, other = ("1.2 GB", "cuda") if build == "cpu" else ("several GB", "cpu")
    kind = "without CUDA" if build == "cpu" else "with CUDA"
    say(f"Making an environment in {VENV}: once, some minutes, {kind}, {size}.")
    if not chosen:
        say(f"The variable TORCH_BUILD={other} chooses another torch.")
    # not .venv's own Python, which may be the active one
    base = getattr(sys, "_base_executable", None) or sys.executable
    # with pip, which students will want: that of another Python would install elsewhere
    make = [uv, "venv", "--quiet", "--seed", "--allow-existing", "--python", base]
    if not succeeds(*(make if uv else [base, "-m", "venv"]), VENV):
        raise Refused(
            f"{VENV} could not be made; {'uv' if uv else 'Python'} says why above. On Debian and "
            "Ubuntu, Python needs the package python3-venv.\n"
            f"Or activate your own environment and run: pip install -e '{ROOT}'"
        )
    python = venv_python()
    packages = [uv, "pip", "install", "--python", python]
    if not uv:
        packages = [python, "-m", "pip", "install", "--disable-pip-version-check"]
    packages += [] if sys.stderr.isatty() else ["--quiet"]  # with its progress
    # PyPI has torch with CUDA for Linux, without for Windows, and what there is for a Mac. That
    # will do for a build that nobody has chosen, where PyTorch's index can't be reached.
    on_pypi = {"linux": "cuda", "win32": "cpu"}.get(sys.platform, build)
    index = ["--index-url", TORCH_INDEX + (CUDA if build == "cuda" else build)]
    index += ["--no-deps"] if build == "cpu" else []  # CUDA's libraries are there
    will_do = build == on_pypi or build in ("cpu", "cuda") and not chosen
    sources = [index] * (build != on_pypi) + [[]] * will_do
    if not (
        succeeds(*packages, "--require-hashes", "--no-deps", "-r", lock)
        and any(succeeds(*packages, *source, torch) for source in sources)
    ):
        raise Refused(
            f"The packages could not be installed; {'uv' if uv else 'pip'} says why above. "
            f"{COMMAND} needs the network for this, once: connect this machine, and try again."
            + (f" Or is there no {torch} in {index[1]}?" if [] not in sources else "")
        )


def main() -> int:
    """Run the command line; returns the exit code."""
    os.environ.setdefault("PYTHONUTF8", "1")  # whatever the locale: folders have any letters
    try:
        return launch(sys.argv[1:])
    except Refused as error:
        say(str(error))
        return 2
    except OSError as error:
        say(
            f"{error.filename}: {error.strerror}. If it is missing, restore it; if it is in use, "
            "close what uses it (`deactivate` an active environment). Then try again.\n"
            f"If {ROOT} can't be written, activate an environment that has the packages."
        )
        return 2
    except KeyboardInterrupt:
        say(f"\nInterrupted. {COMMAND} will try again.")
        return 130


if __name__ == "__main__":
    sys.exit(main())
