"""Finds or makes a Python environment, then runs a job, the demo or the tests. run.sh and run.bat
find a Python 3.11 or newer and call this, which needs nothing but that.

The active environment is used if it has the packages of pyproject.toml, else .venv
(environment.py).
"""

import os
import subprocess
import sys
from pathlib import Path

import environment
import torch_build
from environment import COMMAND, WINDOWS
from torch_build import Refused, wanted_build

# What a copy needs: the tables of pyproject.toml, and the file of versions and hashes to install.
LOCKS = {
    "student": ((), "requirements.lock"),
    "staff": (("instructor",), "requirements-dev.lock"),
    "dev": (("instructor", "dev"), "requirements-dev.lock"),
}


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


def launch(words: list[str]) -> int:
    """Do what the words of a command line ask for; returns the exit code.

    Raises:
        Refused: nothing runs.
    """
    root, target = environment.ROOT, words[0] if words else "help"
    if target == "collect":  # collect_submission.sh and .bat; any Python will do
        return run(sys.executable, root / "src" / "collect.py", *words[1:])
    runs = target not in ("test", "python")  # or else it is run.py's
    if target == "test" and not (root / "tests").is_dir():
        raise Refused(
            "The project's tests are not part of this copy. To grade your code: python "
            "src/grader.py"
        )
    if target == "help" or runs and {"-h", "--help"} & {*words}:
        return run(sys.executable, root / "src" / "run.py", "--help")
    level = "student"
    if (root / "instructor").is_dir():
        level = "dev" if target == "test" else "staff"
    tables, lock = LOCKS[level][0], root / LOCKS[level][1]
    names = [pin.partition("==")[0] for pin in environment.pins(tables)]
    python = sys.executable
    if Path(sys.prefix) == environment.VENV or not environment.has_packages(python, names):
        python = environment.venv_python()
        if environment.why_not(names, lock):
            check = [sys.executable, str(root / "src" / "run.py"), *words, "--check"]
            # a misspelled target should not cost a download
            if runs and (code := subprocess.run(check, stdout=sys.stderr).returncode):
                return code
            environment.make_environment(tables, lock)
            python = environment.venv_python()
        elif (
            environment.recorded() == ["cpu"]
            and not wanted_build()
            and torch_build.has_nvidia_gpu()
        ):
            environment.say(
                f"The torch in {environment.VENV} is without CUDA, so the NVIDIA GPU here is not "
                f"used. With TORCH_BUILD=cuda in its environment, {COMMAND} makes .venv anew."
            )
    if wanted_build() and (python is sys.executable or not environment.is_ours()):
        environment.say(
            f"TORCH_BUILD changes nothing here: the environment of {python} has all packages, and "
            f"{COMMAND} did not make it, so it is used as it is."
        )
    if target == "test":
        os.chdir(root)
        return run(python, "-m", "pytest", *words[1:])
    if target == "python":
        return run(python, *words[1:])
    return run(python, root / "src" / "run.py", *words)


def main() -> int:
    """Run the command line; returns the exit code."""
    os.environ.setdefault("PYTHONUTF8", "1")  # whatever the locale: folders have any letters
    try:
        return launch(sys.argv[1:])
    except Refused as error:
        environment.say(str(error))
        return 2
    except KeyboardInterrupt:
        environment.say(f"\nInterrupted. {COMMAND} will try again.")
        return 130


if __name__ == "__main__":
    sys.exit(main())
