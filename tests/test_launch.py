"""./run.sh and src/launch.py: which Python runs, and when .venv is made, updated or kept."""

import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import zipfile

import pytest

from helpers import ROOT, wait_until

WHERE = ("python", "-c", "import sys, torch, tiny; print(sys.prefix)")

# As uv, this unpacks wheels. It fails or waits where the test says so, and logs its words.
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


def test_run_sh_passes_words_and_exit_codes_on(tmp_path):
    """From any folder, through a link, whatever the locale, with the active Python."""
    (tmp_path / "link").symlink_to(ROOT / "run.sh")
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
    words = ["python", "-c", "import sys; print(sys.flags.utf8_mode); sys.exit(7)"]
    options = {"cwd": tmp_path, "env": {**os.environ, "PATH": path}, "stdout": subprocess.PIPE}
    process = subprocess.run([tmp_path / "link", *words], **options)
    assert process.stdout == b"1\n" and process.returncode == 7


def test_both_scripts_find_a_python_or_let_uv_fetch_one(tmp_path):
    """In a copy, where nothing but it and this Python is on the PATH."""
    for file in ("run.sh", "collect_submission.sh", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / file, tmp_path / file)
    shutil.copytree(ROOT / "src", tmp_path / "src")
    (tmp_path / "bin").mkdir()
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    for program in ("bash", "dirname", "env"):
        (tmp_path / "bin" / program).symlink_to(shutil.which(program))
    options = {"cwd": tmp_path, "env": {"PATH": str(tmp_path / "bin")}, "encoding": "utf-8"}
    scripts = {"./run.sh help": "vanilla_", "./collect_submission.sh --allow-missing": "Wrote "}
    finds = f'[ "$1 $2" = "python find" ] && echo "{sys.executable}"'
    for name in (None, "bin/python3.11", "bin/python3.14", ".venv/bin/python", "bin/uv"):
        if name == "bin/uv":
            write_program(tmp_path / name, f"{finds} || echo $@ > {tmp_path}/asked")
        elif name:
            (tmp_path / name).symlink_to(sys.executable)
        for command, printed in scripts.items():
            process = subprocess.run(command.split(), capture_output=True, **options)
            assert process.returncode == (0 if name else 2), process.stderr
            expected = printed if name else "needs Python 3.11 or newer"
            assert expected in process.stdout + process.stderr
        if name:
            (tmp_path / name).unlink()
    assert "python install" in (tmp_path / "asked").read_text("utf-8")
    assert (tmp_path / "submission.zip").is_file()


def write_program(path, line):
    path.write_text(f"#!/usr/bin/env bash\n{line}\n", encoding="utf-8")
    path.chmod(0o755)


class Copy:
    """The launcher, which needs torch and tiny here, in a folder with a space and odd letters."""

    def __init__(self, top):
        self.top, self.root, self.bin = top, top / "Übung 1 作业", top / "bare" / "bin"
        self.venv = self.root / ".venv"
        (self.root / "src").mkdir(parents=True)
        (top / "wheels").mkdir()
        (top / "uv.log").touch()
        for name in ("run.sh", "src/launch.py"):
            shutil.copy(ROOT / name, self.root / name)
        self.write("pyproject.toml", '[project]\ndependencies = ["torch==0.1", "tiny==0.1"]\n')
        self.make_wheel("torch")
        self.lock("0.1")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.bin.parent], check=True)
        (self.bin / "uv.py").write_text(UV, encoding="utf-8")
        write_program(self.bin / "uv", f'exec {shlex.quote(sys.executable)} "$0.py" "$@"')
        self.environment = {
            "PATH": os.pathsep.join([str(self.bin), os.environ["PATH"]]),
            "HOME": str(top),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(top / "wheels"),
            "LC_ALL": "C",
        }

    def write(self, name, text):
        (self.root / name).write_text(text, encoding="utf-8")

    def lock(self, version):
        self.write("requirements.lock", self.make_wheel("tiny", version))

    def make_wheel(self, name, version="0.1"):
        """Make a package; returns its line in a lock file."""
        wheel = self.top / "wheels" / f"{name}-{version}-py3-none-any.whl"
        info = f"{name}-{version}.dist-info"
        tags = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        about = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        with zipfile.ZipFile(wheel, "w") as file:
            file.writestr(f"{name}.py", f"version = {version!r}")
            file.writestr(f"{info}/METADATA", about)
            file.writestr(f"{info}/WHEEL", tags)
            file.writestr(f"{info}/RECORD", "")
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        return f"{name}=={version} --hash=sha256:{digest}\n"

    def start(self, *words, **variables):
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "encoding": "utf-8"}
        options = {"env": self.environment | variables, "start_new_session": True}
        return subprocess.Popen([self.root / "run.sh", *(words or WHERE)], **streams, **options)

    def run(self, *words, code=0, **variables):
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
        stamp = self.venv / "made-from"
        wait_until(lambda: stamp.exists() and not stamp.read_bytes())

    def asked_of_uv(self):
        """The commands that uv had since the last call."""
        log = self.top / "uv.log"
        lines = log.read_text(encoding="utf-8").splitlines()
        log.write_text("", encoding="utf-8")
        return lines


@pytest.fixture
def copy(tmp_path):
    return Copy(tmp_path)


@pytest.mark.parametrize("tool", ["uv", pytest.param("pip", marks=pytest.mark.full)])
def test_the_first_run_makes_an_environment_and_the_second_starts_at_once(copy, tool):
    if tool == "pip":
        (copy.bin / "uv").unlink()
        folders = copy.environment["PATH"].split(":")
        folders = [folder for folder in folders if not shutil.which("uv", path=folder)]
        copy.environment["PATH"] = ":".join(folders)
        copy.write("requirements.lock", f"tiny==0.1 --hash=sha256:{64 * '0'}")
        _, err = copy.run(code=2)
        assert "pip says why" in err and "DO NOT MATCH" in err
        copy.lock("0.1")
    out, err = copy.run()
    assert out == f"{copy.venv}\n"
    assert "Making an environment" in err and "TORCH_BUILD=cuda" in err
    assert copy.run() == (out, "")


def test_a_changed_lock_file_updates_the_environment(copy):
    """Files in the way stop no update. An environment that was put aside stays."""
    for name in (".venv", ".venv.trash-1", ".venv.trash"):
        copy.write(name, "")
    (copy.root / ".venv.old").mkdir()
    inactive = copy.environment["PATH"]
    active = f"{copy.venv / 'bin'}:{inactive}"
    for version, path in (("0.1", inactive), ("0.2", inactive), ("0.3", active)):
        copy.lock(version)
        out, _ = copy.run("python", "-c", "import tiny; print(tiny.version)", PATH=path)
        assert out == f"{version}\n" and (copy.root / ".venv.old").is_dir()
    # its Python is gone
    (copy.venv / "bin" / "python").unlink()
    (copy.venv / "bin" / "python").symlink_to(copy.top / "gone")
    assert copy.run()[0] == f"{copy.venv}\n"


def test_what_fails_leaves_the_environment_that_works(copy):
    copy.run()
    before = (copy.root / "requirements.lock").read_text(encoding="utf-8")
    for fails in ("venv", "require-hashes", "torch=="):
        copy.lock("0.2")
        _, err = copy.run(code=2, FAILS=fails)
        assert "uv says why" in err and "as it was" in err
        assert fails == "venv" or "needs the network" in err
        copy.write("requirements.lock", before)
        assert copy.run() == (f"{copy.venv}\n", "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_one_that_is_stopped_leaves_an_environment_that_works_or_is_made(copy, number):
    code, err = copy.stop(number)
    assert code == (130 if number == signal.SIGINT else -number)
    assert ("Interrupted" in err) == (number == signal.SIGINT)
    assert copy.run()[0] == f"{copy.venv}\n"
    copy.asked_of_uv()
    copy.stop(number, TORCH_BUILD="cu126")
    copy.asked_of_uv()
    assert copy.run()[0] == f"{copy.venv}\n" and copy.asked_of_uv() == []
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


def test_the_active_python_is_used_if_it_has_the_packages(copy):
    packages = next(copy.bin.parent.glob("lib/python*/site-packages"))
    for wheel in (copy.top / "wheels").iterdir():
        zipfile.ZipFile(wheel).extractall(packages)
    assert copy.run() == (f"{copy.bin.parent}\n", "") and not copy.venv.exists()


@pytest.mark.parametrize("link", [False, True])
def test_an_environment_of_ones_own_is_never_changed(copy, link):
    """One that lacks packages is refused; one that has all is used. A link leads to another's."""
    theirs = copy.top / "theirs" if link else copy.venv
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", theirs], check=True)
    if link:
        (theirs / "made-from").write_text("cpu 0", encoding="utf-8")
        copy.venv.symlink_to(theirs)
    _, err = copy.run(code=2)
    assert "did not make it" in err and (theirs / "pyvenv.cfg").exists()
    lines = "\n".join(map(str, (copy.top / "wheels").iterdir()))
    site = next(theirs.glob("lib/python*/site-packages"))
    (site / "theirs.pth").write_text(lines, encoding="utf-8")
    for path in (copy.environment["PATH"], f"{copy.venv / 'bin'}:{copy.environment['PATH']}"):
        assert copy.run(PATH=path) == (f"{copy.venv}\n", "")
    assert copy.asked_of_uv() == []


def test_torch_comes_from_the_index_of_its_build_which_is_kept(copy):
    """PyPI has the one with CUDA, whose libraries are in no lock file."""
    for build, index in (("", "cpu"), ("cu126", "cu126"), ("cuda", None)):
        copy.run(TORCH_BUILD=build)
        _, packages, torch = copy.asked_of_uv()
        assert "--require-hashes" in packages and "--index-url" not in packages
        found = re.search("--index-url https://download.pytorch.org/whl/(.*?) ", torch)
        assert (found[1] if found else None) == index
        assert ("--no-deps" in torch) == (index == "cpu")
        copy.run(TORCH_BUILD=build)
        copy.run()
        assert copy.asked_of_uv() == []
    # a GPU that came later is mentioned, and a new environment is for it
    copy.run(TORCH_BUILD="cpu")
    (copy.bin / "nvidia-smi").symlink_to(sys.executable)
    copy.asked_of_uv()
    assert "TORCH_BUILD=cuda" in copy.run()[1] and copy.asked_of_uv() == []
    shutil.rmtree(copy.venv)
    copy.run()
    assert "--index-url" not in copy.asked_of_uv()[2]


def test_torch_comes_from_pypi_where_its_index_cannot_be_used(copy):
    for version in ("0.1", "0.2"):  # made, then updated
        copy.lock(version)
        copy.run(FAILS="--index-url")
        assert [("--index-url" in words) for words in copy.asked_of_uv()][2:] == [True, False]
    # not so one that was chosen earlier
    copy.run(TORCH_BUILD=" cu126 ")
    copy.lock("0.3")
    _, err = copy.run(code=2, FAILS="--index-url")
    assert "https://download.pytorch.org/whl/cu126" in err


def test_no_environment_is_made_for_a_misspelled_target_or_for_help(copy):
    shutil.copytree(ROOT / "src", copy.root / "src", dirs_exist_ok=True)
    _, err = copy.run("vanilla_pretrian", code=2)
    assert "mean vanilla_pretrain?" in err
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
