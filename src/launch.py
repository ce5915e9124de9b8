"""Finds or makes a Python environment, then runs a job, the demo or the tests. run.sh and run.bat
find a Python 3.11 or newer and call this, which needs nothing but that.

The active environment is used if it has the packages of pyproject.toml, else .venv, which is made
with uv where that is installed, else with pip: first torch's dependencies and all other packages,
with the versions and hashes of requirements.lock; then torch, in its pinned version. Its hash
depends on where it comes from: on Linux and Windows, PyTorch's index has it with CUDA and without.
"""

import os
import re
import shutil
import ssl
import subprocess
import sys
import threading
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
# `incomplete` is there while an installation is under way, or was interrupted; `complete` once we
# have made it, with the build of torch (and "pypi" if that came from there for want of the index).
COMPLETE, INCOMPLETE = VENV / "complete", VENV / "incomplete"

# What a copy needs: the tables of pyproject.toml, and the file of all versions with hashes.
LOCKS = {
    "student": ((), "requirements.lock"),
    "staff": (("instructor",), "requirements-staff.lock"),
    "dev": (("instructor", "wikipedia", "dev"), "requirements-dev.lock"),
}
HAS = "import importlib.metadata as m, sys; [m.distribution(name) for name in sys.argv[1:]]"

TORCH_INDEX = "https://download.pytorch.org/whl/"
CUDA = "cu130"  # of torch 2.13.0 on PyPI for Linux; Windows needs the index for it
WINDOWS = os.name == "nt"
COMMAND = "run.bat" if WINDOWS and "MSYSTEM" not in os.environ else "./run.sh"  # Git Bash has it


class Refused(Exception):
    """Why nothing runs, in words; the exit code is 2."""


def say(text: str) -> None:
    """Print to stderr: stdout is the target's."""
    print(text, file=sys.stderr, flush=True)


def run(python: str | Path, *words: str | Path) -> int:
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
        try:
            return process.wait()
        except KeyboardInterrupt:
            pass  # it has got the Ctrl-C too, and ends in its own way


def pins(tables: tuple[str, ...]) -> list[str]:
    """The pins of pyproject.toml, `name==version`, that hold on every system, those of extra
    tables included.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    found = list(project["dependencies"])
    for table in tables:
        found += project.get("optional-dependencies", {}).get(table, [])
    return [pin for pin in found if ";" not in pin and "==" in pin]


def has_packages(python: str | Path, names: list[str]) -> bool:
    """Whether a Python has every package. (Finding them is faster than importing them.)"""
    try:
        return not subprocess.run([str(python), "-c", HAS, *names], capture_output=True).returncode
    except OSError:
        return False


def venv_python() -> Path:
    """The Python of .venv, whichever system made that."""
    scripts = VENV / "Scripts"
    return scripts / "python.exe" if scripts.is_dir() else VENV / "bin" / "python"


def recorded() -> list[str]:
    """What `complete` says of torch; [] if it says nothing."""
    return COMPLETE.read_text(encoding="utf-8").split() if COMPLETE.exists() else []


def is_ready(names: list[str], lock: Path) -> bool:
    """Whether .venv can be used as it is."""
    if INCOMPLETE.exists() or not has_packages(venv_python(), names):
        return False
    if not COMPLETE.exists():
        return True  # somebody else's
    made = COMPLETE.stat().st_mtime
    sources = [path for path in (ROOT / "pyproject.toml", lock) if path.exists()]
    old = any(path.stat().st_mtime > made for path in sources)
    wanted = wanted_build()
    return not old and (not wanted or recorded()[:1] == [wanted])


def wanted_build() -> str:
    """The variable TORCH_BUILD: cpu, cuda, or a folder of PyTorch's index such as cu126; "" if it
    is not set.
    """
    wanted = os.environ.get("TORCH_BUILD", "")
    if wanted and not re.fullmatch(r"[a-z]+[0-9.]*", wanted):
        raise Refused(
            f"TORCH_BUILD is {wanted!r}. It can be cpu, cuda, or a folder of {TORCH_INDEX} such as "
            "cu126; without it, the launcher chooses."
        )
    return wanted


def has_nvidia_gpu() -> bool:
    """Whether this machine has NVIDIA's driver."""
    places = ("/proc/driver/nvidia/version", "/usr/lib/wsl/lib/nvidia-smi")
    return shutil.which("nvidia-smi") is not None or any(map(os.path.exists, places))


def index_of(build: str) -> str | None:
    """The index that has this build of torch; None for PyPI, which has CUDA for Linux only."""
    default = {"linux": "cuda", "win32": "cpu"}.get(sys.platform)
    if build == default or sys.platform == "darwin":
        return None
    return TORCH_INDEX + (CUDA if build == "cuda" else build)


def is_reachable(url: str) -> bool:
    """Whether a server answers within six seconds."""
    answers = []

    def ask():
        try:
            urllib.request.urlopen(url, timeout=5).close()
            answers.append(True)
        except urllib.error.URLError as error:
            # a Python without the system's certificates; pip and uv bring theirs
            answers.append(isinstance(error.reason, ssl.SSLError))
        except OSError:
            answers.append(False)

    asking = threading.Thread(target=ask, daemon=True)  # looking up a name has no time limit
    asking.start()
    asking.join(6)
    return any(answers)


def outdated(lock: str, wanted: list[str]) -> list[str]:
    """Those pins that the text of a lock file doesn't have; torch is in none."""
    there = set(re.findall(r"^(\S+==[^\s;\\]+)", lock, re.MULTILINE))
    return [pin for pin in wanted if pin not in there and not pin.startswith("torch==")]


def make_environment(tables: tuple[str, ...], lock: Path) -> None:
    """Make .venv, or update it when the pins have changed.

    Raises:
        Refused: .venv is not ours, or something can't be made or installed.
    """
    wanted = pins(tables)
    names = " ".join(pin.partition("==")[0] for pin in wanted)
    if VENV.exists() and not COMPLETE.exists() and not INCOMPLETE.exists():
        extras = f"[{','.join(tables)}]" if tables else ""
        raise Refused(
            f"{VENV} lacks some of: {names}.\n{COMMAND} did not make it, so it leaves it as it is. "
            f"Activate it and run: pip install -e '{ROOT}{extras}'\n"
            f"Or remove it, and {COMMAND} makes its own."
        )
    if not lock.exists():
        raise Refused(f"{lock} is missing, which says what to install. Restore it.")
    if old := outdated(lock.read_text(encoding="utf-8"), wanted):
        raise Refused(
            f"{lock} lacks {', '.join(old)}, which pyproject.toml pins. Restore both files, or "
            "make the first anew, as CONTRIBUTING.md says."
        )
    build = wanted_build() or "".join(recorded()[:1])
    chosen = build or ("cuda" if has_nvidia_gpu() else "cpu")
    say(f"No Python here has all of: {names}.")
    say(f"Making an environment in {VENV} (once, some minutes; at least 1.2 GB) ...")
    if not build and sys.platform != "darwin":
        found, other = ("an", "cpu") if chosen == "cuda" else ("no", "cuda")
        say(
            f"torch comes {'with' if chosen == 'cuda' else 'without'} CUDA, since there is {found} "
            f"NVIDIA GPU here. (The variable TORCH_BUILD={other} chooses otherwise.)"
        )
    uv = shutil.which("uv")
    # one that is interrupted, has another torch, or whose Python is gone, is made anew
    if recorded()[:1] not in ([], [chosen]) or not COMPLETE.exists() or not is_alive():
        make_anew(uv)
    python = str(venv_python())
    install = (
        [uv, "pip", "install", "--quiet", "--python", python]
        if uv
        else [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    )
    torch = next(pin for pin in wanted if pin.startswith("torch=="))
    came_from = None
    if finished(*install, "--require-hashes", "--no-deps", "-r", str(lock)):
        came_from = install_torch(install, torch, index_of(chosen))
    if came_from is None:
        raise Refused(
            f"The packages could not be installed; {'uv' if uv else 'pip'} says why above. "
            f"{COMMAND} will try again."
        )
    COMPLETE.write_text(f"{chosen} {came_from}".strip() + "\n", encoding="utf-8")
    INCOMPLETE.unlink(missing_ok=True)


def is_alive() -> bool:
    """Whether .venv's Python runs, with pip."""
    try:
        return finished(str(venv_python()), "-m", "pip", "--version", stdout=subprocess.DEVNULL)
    except OSError:
        return False


def finished(*command: str, **options) -> bool:
    """Run a command, what it prints on stderr; whether it succeeds."""
    return subprocess.run(command, **{"stdout": sys.stderr, **options}).returncode == 0


def make_anew(uv: str | None) -> None:
    """Make an empty .venv in place of what is there."""
    # not .venv's own Python, which may be the active one
    python = getattr(sys, "_base_executable", None) or sys.executable
    try:
        if VENV.is_symlink():
            VENV.unlink()
        elif VENV.exists():
            shutil.rmtree(VENV)
        VENV.mkdir()
        INCOMPLETE.touch()
    except OSError as error:
        raise Refused(
            f"{VENV} can't be made anew: {error.strerror}. Close what uses it (`deactivate` an "
            "active environment), and try again."
        ) from None
    made = (
        finished(uv, "venv", "--quiet", "--seed", "--allow-existing", "--python", python, str(VENV))
        if uv
        else finished(python, "-m", "venv", str(VENV))
    )
    if not made:
        shutil.rmtree(VENV)
        raise Refused(
            "Could not create it. On Debian and Ubuntu, install the package python3-venv. Or "
            f"activate your own\nenvironment and run: pip install -e '{ROOT}'"
        )


def install_torch(install: list[str], torch: str, index: str | None) -> str | None:
    """Install torch from an index of its own, else from PyPI; returns where it came from if that is
    not what was chosen, "" if it is, None if it failed.
    """
    if index is None:
        return "" if finished(*install, torch) else None
    # Its dependencies are there. From an index, nothing but torch is taken: another package could
    # have one of their names there.
    if is_reachable(f"{index}/torch/") and finished(
        *install, "--no-deps", "--index-url", index, torch
    ):
        return ""
    what = "with CUDA's libraries" if sys.platform == "linux" else "without CUDA"
    say(f"{index} can't be reached, so torch comes from PyPI, whose builds are {what}.")
    return "pypi" if finished(*install, torch) else None


def launch(words: list[str]) -> int:
    """Do what the words of a command line ask for; returns the exit code.

    Raises:
        Refused: nothing runs.
    """
    target = words[0] if words else "help"
    runs = target not in ("test", "python")  # or else it is run.py's
    if target == "test" and not (ROOT / "tests").is_dir():
        raise Refused(
            "The project's tests are not part of this copy. To grade your code: python "
            "src/grader.py"
        )
    if target == "help" or runs and {"-h", "--help"} & {*words}:
        return run(sys.executable, ROOT / "src" / "run.py", "--help")
    level = "student"
    if (ROOT / "instructor").is_dir():
        level = "dev" if target == "test" else "staff"
    tables, lock = LOCKS[level][0], ROOT / LOCKS[level][1]
    names = [pin.partition("==")[0] for pin in pins(tables)]
    python = sys.executable
    if Path(sys.prefix) == VENV or not has_packages(python, names):
        python = venv_python()
        if not is_ready(names, lock):
            check = [sys.executable, str(ROOT / "src" / "run.py"), *words, "--check"]
            # a misspelled target should not cost a download
            if runs and (code := subprocess.run(check, stdout=sys.stderr).returncode):
                return code
            make_environment(tables, lock)
            python = venv_python()
        elif recorded() == ["cpu"] and not wanted_build() and has_nvidia_gpu():
            say(
                f"The torch in {VENV} is without CUDA, so the NVIDIA GPU here is not used. With "
                f"TORCH_BUILD=cuda in its environment, {COMMAND} makes .venv anew."
            )
    if target == "test":
        os.chdir(ROOT)
        return run(python, "-m", "pytest", *words[1:])
    if target == "python":
        return run(python, *words[1:])
    return run(python, ROOT / "src" / "run.py", *words)


def main() -> int:
    """Run the command line; returns the exit code."""
    try:
        return launch(sys.argv[1:])
    except Refused as error:
        say(str(error))
        return 2
    except KeyboardInterrupt:
        say(f"\nInterrupted. {COMMAND} will try again.")
        return 130


if __name__ == "__main__":
    sys.exit(main())
