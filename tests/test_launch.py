"""./run.sh, run.bat and src/launch.py: which Python runs, and when .venv is made, updated or kept.
What is installed into it here is two packages that are next to nothing.
"""

import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tomllib
import zipfile

import pytest

import launch
from helpers import ROOT, wait_until

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
WHERE = ("python", "-c", "import sys, torch, tiny; print(sys.prefix)")

# It makes environments and installs as uv does, by unpacking wheels. It fails or waits where the test
# says so, and logs its words.
UV = """import os, pathlib, re, subprocess, sys, time, zipfile
words, here = sys.argv[1:], pathlib.Path(__file__).parents[2]
python = words[words.index("--python") + 1]
with open(here / "uv.log", "a", encoding="utf-8") as log:
    print(*words, file=log)
while (here / "hold").exists():
    time.sleep(0.05)
if re.search(os.environ.get("FAILS", "$^"), " ".join(words)):
    sys.exit("this uv fails")
if words[0] == "venv":
    sys.exit(subprocess.run([python, "-m", "venv", "--without-pip", words[-1]]).returncode)
pins = pathlib.Path(words[-1]).read_text().split()[:1] if "-r" in words else words[-1:]
packages = next(pathlib.Path(python).parents[1].glob("lib/python*/site-packages"))
for pin in pins:
    wheel = pin.replace("==", "-") + "-py3-none-any.whl"
    zipfile.ZipFile(here / "wheels" / wheel).extractall(packages)
"""


@pytest.mark.parametrize(("name", "tables"), launch.LOCKS.items())
def test_lock_files_have_the_pins_of_pyproject_with_hashes(name, tables):
    text = (ROOT / name).read_text(encoding="utf-8")
    packages = re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]
    for package in packages:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", package), package
        assert not re.match(r"torch|nvidia|cuda|triton", package)  # several indexes have these
    locked = {re.split(r"[\s;]", package)[0] for package in packages}
    extras = [pin for table in tables for pin in PROJECT["optional-dependencies"][table]]
    pins = {pin.partition(";")[0] for pin in PROJECT["dependencies"] + extras if "==" in pin}
    assert pins < locked  # what these need, too


def test_run_sh_passes_words_and_exit_codes_on(tmp_path):
    """From any folder, through a link, whatever the locale, with the active Python."""
    (tmp_path / "link").symlink_to(ROOT / "run.sh")
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
    words = ["python", "-c", "import sys; print(sys.flags.utf8_mode); sys.exit(7)"]
    process = subprocess.run(
        [tmp_path / "link", *words],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        encoding="utf-8",
    )
    assert process.stdout == "1\n" and process.returncode == 7


@pytest.fixture
def alone(tmp_path):
    """Runs a copy's script where nothing but it is on the PATH, and what the test puts into
    tmp_path / "bin".
    """
    for name in ("run.sh", "collect_submission.sh", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "src", tmp_path / "src")
    (tmp_path / "bin").mkdir()
    for name in ("bash", "dirname", "env"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    return lambda *words: subprocess.run(
        [tmp_path / words[0], *words[1:]],
        capture_output=True,
        encoding="utf-8",
        env={"PATH": str(tmp_path / "bin")},
    )


SCRIPTS = pytest.mark.parametrize(
    ("words", "printed"),
    [
        (["run.sh", "help"], "vanilla_pretrain"),
        (["collect_submission.sh", "--allow-missing"], "Wrote "),
    ],
)


@SCRIPTS
@pytest.mark.parametrize("name", ["bin/python3.11", "bin/python3.14", ".venv/bin/python", "bin/uv"])
def test_both_scripts_find_a_python_or_let_uv_fetch_one(alone, tmp_path, words, printed, name):
    process = alone(*words)
    assert process.returncode == 2 and "needs Python 3.11 or newer" in process.stderr
    (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
    if name == "bin/uv":
        finds = f'[ "$1 $2" = "python find" ] && echo "{sys.executable}"'
        (tmp_path / name).write_text(
            f"#!/usr/bin/env bash\n{finds} || echo $@ > {tmp_path}/asked", "utf-8"
        )
        (tmp_path / name).chmod(0o755)
    else:
        (tmp_path / name).symlink_to(sys.executable)
    process = alone(*words)
    assert process.returncode == 0 and printed in process.stdout, process.stderr
    assert (tmp_path / "submission.zip").is_file() == ("Wrote " in printed)
    assert name != "bin/uv" or "python install" in (tmp_path / "asked").read_text("utf-8")


class Copy:
    """A copy of the launcher that needs the packages torch and tiny, in a folder whose name has a
    space and letters of many languages. `bin` is first on its PATH.
    """

    def __init__(self, top):
        self.top, self.root, self.bin = top, top / "Übung 1 作业", top / "bare" / "bin"
        self.venv = self.root / ".venv"
        (self.root / "src").mkdir(parents=True)
        (top / "wheels").mkdir()
        for name in ("run.sh", "src/launch.py"):
            shutil.copy(ROOT / name, self.root / name)
        self.write("pyproject.toml", '[project]\ndependencies = ["torch==0.1", "tiny==0.1"]\n')
        self.make_wheel("torch")
        self.write("requirements.lock", self.make_wheel("tiny"))
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.bin.parent], check=True)
        (self.bin / "uv.py").write_text(UV, encoding="utf-8")
        python = shlex.quote(sys.executable)
        (self.bin / "uv").write_text(f'#!/bin/sh\nexec {python} "$0.py" "$@"\n', encoding="utf-8")
        (self.bin / "uv").chmod(0o755)
        settings = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PIP_", "PYTHON", "TORCH_"))
        }
        self.environment = settings | {
            "PATH": os.pathsep.join([str(self.bin), os.environ["PATH"]]),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(top / "wheels"),
            "LC_ALL": "C",
        }

    def write(self, name, text):
        (self.root / name).write_text(text, encoding="utf-8")

    def make_wheel(self, name, version="0.1"):
        """Make a package; returns its line in a lock file."""
        wheel = self.top / "wheels" / f"{name}-{version}-py3-none-any.whl"
        info = f"{name}-{version}.dist-info"
        tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        with zipfile.ZipFile(wheel, "w") as file:
            file.writestr(f"{name}.py", f"version = {version!r}")
            file.writestr(
                f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
            )
            file.writestr(f"{info}/WHEEL", tags)
            file.writestr(f"{info}/RECORD", "")
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        return f"{name}=={version} --hash=sha256:{digest}\n"

    def start(self, *words, **variables):
        """Start ./run.sh in a process group of its own."""
        return subprocess.Popen(
            [self.root / "run.sh", *(words or WHERE)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            env=self.environment | variables,
            start_new_session=True,
        )

    def run(self, *words, code=0, **variables):
        """Run ./run.sh; returns its two outputs."""
        process = self.start(*words, **variables)
        out, err = process.communicate(timeout=120)
        assert process.returncode == code, err
        return out, err

    def stop(self, number, **variables):
        """Start ./run.sh, and send its group a signal in the middle of an installation."""
        (self.top / "hold").touch()
        process = self.start(**variables)
        self.wait_until_begun()
        os.killpg(process.pid, number)
        _, err = process.communicate(timeout=60)
        (self.top / "hold").unlink()
        return process.returncode, err

    def wait_until_begun(self):
        """Wait until an environment is being made."""
        stamp = self.venv / "made-from"
        wait_until(lambda: stamp.exists() and not stamp.read_bytes())

    def asked_of_uv(self):
        """The commands that uv had since the last call."""
        log = self.top / "uv.log"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return lines


@pytest.fixture
def copy(tmp_path):
    """One that has made no .venv yet."""
    return Copy(tmp_path)


@pytest.fixture
def made(copy):
    """One that has its .venv."""
    out, _ = copy.run()
    assert out == f"{copy.venv}\n"
    copy.asked_of_uv()
    return copy


@pytest.mark.parametrize("tool", ["pip", "uv"])
def test_the_first_run_makes_an_environment_and_the_second_starts_at_once(copy, tool):
    if tool == "pip":
        (copy.bin / "uv").unlink()
        folders = os.environ["PATH"].split(os.pathsep)
        folders = [folder for folder in folders if not shutil.which("uv", path=folder)]
        copy.environment["PATH"] = os.pathsep.join([str(copy.bin), *folders])
        copy.write("requirements.lock", f"tiny==0.1 --hash=sha256:{64 * '0'}")
        _, err = copy.run(code=2)
        assert "pip says why above" in err and "DO NOT MATCH" in err
        copy.write("requirements.lock", copy.make_wheel("tiny"))
    out, err = copy.run()
    assert out == f"{copy.venv}\n"
    assert "Making an environment" in err and "TORCH_BUILD=cuda" in err
    assert copy.run() == (out, "")


@pytest.mark.parametrize("active", [False, True])
def test_a_changed_lock_file_updates_the_environment(made, active):
    made.write("requirements.lock", made.make_wheel("tiny", "0.2"))
    path = [str(made.venv / "bin")] * active + [made.environment["PATH"]]
    out, _ = made.run("python", "-c", "import tiny; print(tiny.version)", PATH=":".join(path))
    assert out == "0.2\n"
    assert {path.name for path in made.root.glob(".venv*")} == {".venv", ".venv.lock"}


@pytest.mark.parametrize("fails", ["venv", "require-hashes", "torch=="])
def test_what_fails_leaves_the_environment_that_works(made, fails):
    before = (made.root / "requirements.lock").read_text(encoding="utf-8")
    made.write("requirements.lock", made.make_wheel("tiny", "0.2"))
    _, err = made.run(code=2, FAILS=fails)
    assert "uv says why above" in err and "is as it was before" in err
    assert fails == "venv" or "needs the network" in err
    made.write("requirements.lock", before)
    assert made.run() == (f"{made.venv}\n", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_one_that_is_stopped_leaves_an_environment_that_works_or_is_made(copy, number):
    code, err = copy.stop(number)
    assert code == (130 if number == signal.SIGINT else -number)
    assert ("Interrupted" in err) == (number == signal.SIGINT)
    out, _ = copy.run()
    assert out == f"{copy.venv}\n"
    copy.asked_of_uv()
    copy.stop(number, TORCH_BUILD="cu126")
    copy.asked_of_uv()
    assert copy.run()[0] == out and copy.asked_of_uv() == []
    assert {path.name for path in copy.root.glob(".venv*")} == {".venv", ".venv.lock"}


def test_of_several_at_once_one_makes_the_environment_and_the_others_wait(copy):
    (copy.top / "hold").touch()
    processes = [copy.start()]
    copy.wait_until_begun()
    processes += [copy.start(), copy.start()]
    for process in processes[1:]:
        assert "this one waits" in process.stderr.readline()
    (copy.top / "hold").unlink()
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert (process.returncode, out) == (0, f"{copy.venv}\n"), err
    assert len(copy.asked_of_uv()) == 3  # an environment, packages, torch


@pytest.mark.parametrize("name", [".venv", ".venv.trash-1", ".venv.trash"])
def test_a_file_in_the_way_stops_no_update(copy, name):
    """An environment that was put aside stays."""
    copy.write(name, "")
    (copy.root / ".venv.old").mkdir()
    for version in ("0.1", "0.2", "0.3"):
        copy.write("requirements.lock", copy.make_wheel("tiny", version))
        out, _ = copy.run("python", "-c", "import tiny; print(tiny.version)")
        assert out == f"{version}\n" and (copy.root / ".venv.old").is_dir()


def test_an_environment_whose_python_is_gone_is_made_anew(made):
    (made.venv / "bin" / "python").unlink()
    (made.venv / "bin" / "python").symlink_to(made.top / "gone")
    assert made.run()[0] == f"{made.venv}\n"


def test_the_active_python_is_used_if_it_has_the_packages(copy):
    packages = next(copy.bin.parent.glob("lib/python*/site-packages"))
    for wheel in (copy.top / "wheels").iterdir():
        zipfile.ZipFile(wheel).extractall(packages)
    assert copy.run() == (f"{copy.bin.parent}\n", "") and not copy.venv.exists()


@pytest.mark.parametrize("link", [False, True])
def test_an_environment_of_ones_own_is_never_changed(copy, link):
    """One that lacks packages is refused; one that has all is used, active or not. A link leads to
    another copy's.
    """
    theirs = copy.top / "theirs" if link else copy.venv
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", theirs], check=True)
    if link:
        (theirs / "made-from").write_text("cpu 0", encoding="utf-8")
        copy.venv.symlink_to(theirs)
    _, err = copy.run(code=2)
    assert "./run.sh did not make it" in err and (theirs / "pyvenv.cfg").exists()
    packages = copy.top / "packages"  # Python reads .pth files in the locale's encoding
    packages.symlink_to(sysconfig.get_paths()["purelib"])
    (next(theirs.glob("lib/python*/site-packages")) / "theirs.pth").write_text(
        f"{packages}\n{copy.top / 'wheels' / 'tiny-0.1-py3-none-any.whl'}\n", encoding="utf-8"
    )
    for path in (copy.environment["PATH"], f"{copy.venv / 'bin'}:{copy.environment['PATH']}"):
        assert copy.run(PATH=path) == (f"{copy.venv}\n", "")
    assert copy.asked_of_uv() == []


@pytest.mark.parametrize(
    ("build", "gpu", "index"),
    [("", False, "cpu"), ("", True, None), ("cuda", False, None), ("cu126", False, "cu126")],
)
def test_torch_comes_from_the_index_of_its_build(copy, build, gpu, index):
    """PyPI has the one with CUDA."""
    if gpu:
        (copy.bin / "nvidia-smi").symlink_to(sys.executable)
    copy.run(**({"TORCH_BUILD": build} if build else {}))
    _, packages, torch = copy.asked_of_uv()
    assert "--require-hashes" in packages and "--index-url" not in packages
    found = re.search("--index-url https://download.pytorch.org/whl/(.*?) ", torch)
    assert (found[1] if found else None) == index
    # CUDA's libraries are in no lock file
    assert ("--no-deps" in torch) == (index == "cpu")


def test_torch_comes_from_pypi_where_its_index_cannot_be_used(copy):
    for version in ("0.1", "0.2"):  # made, then updated
        copy.write("requirements.lock", copy.make_wheel("tiny", version))
        copy.run(FAILS="--index-url")
        assert [("--index-url" in words) for words in copy.asked_of_uv()][2:] == [True, False]
    _, err = copy.run(code=2, FAILS="--index-url", TORCH_BUILD="cu999")
    assert "no torch==0.1 in https://download.pytorch.org/whl/cu999" in err
    # one that was chosen earlier is not exchanged either
    copy.run(TORCH_BUILD=" cu126 ")
    copy.write("requirements.lock", copy.make_wheel("tiny", "0.3"))
    _, err = copy.run(code=2, FAILS="--index-url")
    assert "no torch==0.1 in https://download.pytorch.org/whl/cu126" in err


def test_another_build_is_made_when_it_is_asked_for_and_kept_then(made):
    """A GPU that came later is mentioned."""
    for wanted, remade in (("cpu", False), ("cu126", True), ("cu126", False), (None, False)):
        made.run(**({"TORCH_BUILD": wanted} if wanted else {}))
        assert bool(made.asked_of_uv()) == remade
    made.write("requirements.lock", made.make_wheel("tiny", "0.2"))
    made.run()
    assert "/cu126" in made.asked_of_uv()[2]
    (made.bin / "nvidia-smi").symlink_to(sys.executable)
    made.run(TORCH_BUILD="cpu")
    made.asked_of_uv()
    _, err = made.run()
    assert "TORCH_BUILD=cuda" in err and made.asked_of_uv() == []


def test_no_environment_is_made_for_a_misspelled_target_or_for_help(copy):
    shutil.copytree(ROOT / "src", copy.root / "src", dirs_exist_ok=True)
    _, err = copy.run("vanilla_pretrian", code=2)
    assert "Did you mean vanilla_pretrain" in err
    assert "rope_pretrain" in copy.run("rope_pretrain", "-h")[0]
    assert not copy.venv.exists() and copy.asked_of_uv() == []


def test_a_missing_file_is_named(copy):
    (copy.root / "requirements.lock").unlink()
    _, err = copy.run(code=2)
    assert "requirements.lock: " in err and "restore it" in err
    for damaged in ("<<<<<<< HEAD", "", "[project]", "\ufeff"):
        copy.write("pyproject.toml", damaged)
        _, err = copy.run(code=2)
        assert "pyproject.toml is damaged" in err and "Traceback" not in err


def test_tests_run_in_the_project(made):
    (made.root / "tests").mkdir()
    (next(made.venv.glob("lib/python*/site-packages")) / "pytest.py").write_text(
        "import os, sys; print(os.getcwd(), sys.argv[1:])", encoding="utf-8"
    )
    assert made.run("test", "-k", "x")[0] == f"{made.root} ['-k', 'x']\n"
