"""./run.sh, run.bat and src/launch.py: which Python runs, and how an environment is made."""

import contextlib
import http.server
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import sysconfig
import threading
import time
import tomllib
from pathlib import Path

import pytest

import environment
import launch
import sources
from conftest import ROOT
from instructor import lock

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TORCH = next(pin for pin in PROJECT["dependencies"] if pin.startswith("torch=="))


def run_sh(*args, **kwargs):
    """Run ./run.sh with this Python first on the PATH, as in an active environment."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    return subprocess.run(
        [str(ROOT / "run.sh"), *args],
        capture_output=True,
        encoding="utf-8",
        **{"env": {**os.environ, "PATH": path}, **kwargs},
    )


def test_run_sh_passes_targets_and_exit_codes_on(tmp_path):
    assert "vanilla_pretrain" in run_sh(cwd=tmp_path).stdout
    process = run_sh("rope_pretrian", cwd=tmp_path)
    assert process.returncode == 2 and "Did you mean rope_pretrain" in process.stderr
    assert "making an environment" not in process.stderr.lower()


def test_run_sh_works_through_a_link(tmp_path):
    (tmp_path / "link").symlink_to(ROOT / "run.sh")
    process = subprocess.run(
        [str(tmp_path / "link"), "help"], capture_output=True, encoding="utf-8"
    )
    assert process.returncode == 0 and "vanilla_pretrain" in process.stdout


def test_run_sh_says_when_there_is_no_python(tmp_path):
    for name in ("bash", "dirname", "env"):
        (tmp_path / name).symlink_to(shutil.which(name))
    process = run_sh("all", env={"PATH": str(tmp_path)})
    assert process.returncode == 2 and "needs Python" in process.stderr


@pytest.fixture
def run_sh_with_bare_python(tmp_path):
    """Runs a copy of ./run.sh, in tmp_path, with a Python that lacks torch."""
    for name in ("run.sh", "pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "src", tmp_path / "src")
    bare = tmp_path / "bare"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(bare)], check=True)
    others = [
        folder
        for folder in os.environ["PATH"].split(os.pathsep)
        if not shutil.which("uv", path=folder)
    ]
    return lambda *arguments: subprocess.run(
        [str(tmp_path / "run.sh"), *arguments],
        capture_output=True,
        encoding="utf-8",
        env={
            **os.environ,
            "PATH": os.pathsep.join((str(bare / "bin"), *others)),
            "PIP_NO_INDEX": "1",
        },
    )


def test_run_sh_makes_no_environment_for_a_misspelled_target(tmp_path, run_sh_with_bare_python):
    """The refusal comes before any download."""
    process = run_sh_with_bare_python("vanilla_pretrian")
    assert process.returncode == 2 and "Did you mean vanilla_pretrain" in process.stderr
    assert not (tmp_path / ".venv").exists()


def test_run_sh_leaves_an_environment_that_it_did_not_make(tmp_path, run_sh_with_bare_python):
    """One that lacks packages is refused; one that has all is used."""
    mine = tmp_path / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(mine)], check=True)
    process = run_sh_with_bare_python("python", "-c", "import torch")
    assert process.returncode == 2 and "./run.sh did not make it" in process.stderr
    assert (mine / "pyvenv.cfg").exists()
    packages = next(mine.glob("lib/python*/site-packages"))
    (packages / "ours.pth").write_text(sysconfig.get_paths()["purelib"] + "\n", encoding="utf-8")
    process = run_sh_with_bare_python("python", "-c", "import sys, torch; print(sys.prefix)")
    assert process.stdout.strip() == str(mine), process.stderr


def test_run_sh_makes_its_environment_anew_when_its_python_is_gone(
    tmp_path, run_sh_with_bare_python
):
    mine = tmp_path / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(mine)], check=True)
    (mine / "complete").touch()
    (mine / "bin" / "python").unlink()
    (mine / "bin" / "python").symlink_to(tmp_path / "gone")
    process = run_sh_with_bare_python("python", "-c", "import torch")
    assert process.returncode == 2 and "could not be installed" in process.stderr  # without a net
    assert subprocess.run([mine / "bin" / "python", "-m", "pip", "--version"]).returncode == 0
    assert not (mine / "complete").exists() and (mine / "incomplete").exists()


def test_run_sh_lets_uv_fetch_a_python_where_there_is_none(tmp_path):
    for name in ("bash", "dirname", "env"):
        (tmp_path / name).symlink_to(shutil.which(name))
    uv = tmp_path / "uv"
    uv.write_text(
        "#!/usr/bin/env bash\n"
        f'[ "$1 $2" = "python find" ] && echo "{sys.executable}" || echo "$@" >> {tmp_path}/asked\n',
        encoding="utf-8",
    )
    uv.chmod(0o755)
    process = run_sh("help", env={"PATH": str(tmp_path)})
    assert process.returncode == 0 and "vanilla_pretrain" in process.stdout, process.stderr
    assert "python install" in (tmp_path / "asked").read_text(encoding="utf-8")


def test_run_bat_hands_over():
    text = (ROOT / "run.bat").read_bytes().decode("ascii")
    assert text.count("\n") == text.count("\r\n")
    assert '"%~dp0src\\launch.py" %*\r\nexit /b %errorlevel%\r\n' in text
    assert re.search(r"\(3, 11\)", text) and "uv python find" in text
    labels = {*re.findall(r"^:(\w+)", text, re.MULTILINE)}
    assert labels == {*re.findall(r"goto (\w+)", text)} | {"run"}


# What is installed


def test_the_launcher_needs_nothing_but_python():
    """Not even our other modules, which another version's environment may lack."""
    own = ("launch", "environment", "sources")
    text = "".join((ROOT / "src" / f"{name}.py").read_text(encoding="utf-8") for name in own)
    names = re.findall(r"^\s*(?:import|from) (\w+)", text, re.MULTILINE)
    assert {*names} <= sys.stdlib_module_names | {*own}
    extras = [pin for pins in PROJECT["optional-dependencies"].values() for pin in pins]
    # students' copies have it, and nothing of the staff's
    assert not [pin for pin in extras if pin.partition("==")[0] in text.split()]


def pinned(extra):
    """The pins of an extra table, with those of the tables that it names."""
    for pin in PROJECT["optional-dependencies"][extra]:
        if named := re.fullmatch(rf"{PROJECT['name']}\[(.*)\]", pin):
            for other in named[1].split(","):
                yield from pinned(other)
        else:
            yield pin


@pytest.mark.parametrize("level", launch.LOCKS)
def test_lock_files_have_the_pins_of_pyproject(level):
    text = (ROOT / launch.LOCKS[level][1]).read_text(encoding="utf-8")
    pins = [*PROJECT["dependencies"], *(p for e in lock.EXTRAS[level] for p in pinned(e))]
    assert environment.outdated(text, [pin.partition(";")[0] for pin in pins]) == []
    packages = re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]
    assert len(packages) > len(pins)  # what these need, too
    for package in packages:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", package), package
        assert not re.match(r"torch|nvidia|cuda|triton", package)  # several indexes have these


def test_lock_files_agree_with_each_other():
    """An environment that is updated for the tests keeps its versions."""
    versions = {}
    for _, name in launch.LOCKS.values():
        text = (ROOT / name).read_text(encoding="utf-8")
        found = {*re.findall(r"^(\S+==[^\s;\\]+)", text, re.MULTILINE)}
        versions[name] = found
    student, staff, dev = versions.values()
    assert student <= staff <= dev


def test_a_lock_file_that_lacks_a_pin_is_refused(made):
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "tqdm==" in text
    (environment.ROOT / "requirements.lock").write_text(
        re.sub("(?m)^tqdm==.*", "tqdm==1.0 \\\\", text), encoding="utf-8"
    )
    with pytest.raises(launch.Refused, match=r"lacks tqdm==\d.*Restore both"):
        make()
    assert made.commands == [] and not environment.VENV.exists()


class Made:
    """The commands that make an environment, which do nothing here, and what fails."""

    def __init__(self):
        self.commands, self.fails = [], lambda command: False
        self.page = f"<a>{TORCH.replace('==', '-')}+cpu-cp311-cp311-linux_x86_64.whl</a>"
        self.online = True
        # its pip is there, once made
        self.has = lambda python, names: python == environment.venv_python() and names == ["pip"]

    def finished(self, *command, **options):
        self.commands.append([Path(command[0]).name, *command[1:]])
        return not self.fails(command)

    def read_page(self, url):
        return self.page if "pytorch" in url else "PyPI" if self.online else None

    @property
    def of_torch(self):
        return [words for words in self.commands if words[-1].startswith("torch==")]


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A copy's folder in which the launcher makes an environment without doing it: Linux, no GPU,
    no uv.
    """
    for name in ("pyproject.toml", "requirements.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    made = Made()
    venv = tmp_path / ".venv"
    for name, value in {
        "ROOT": tmp_path,
        "VENV": venv,
        "COMPLETE": venv / "complete",
        "INCOMPLETE": venv / "incomplete",
        "OLD": tmp_path / ".venv.old",
        "LOCK": tmp_path / ".venv.lock",
        "finished": made.finished,
        "has_packages": lambda python, names: made.has(python, names),
    }.items():
        monkeypatch.setattr(environment, name, value)
    monkeypatch.setattr(sources, "has_nvidia_gpu", lambda: False)
    monkeypatch.setattr(sources, "read_page", made.read_page)
    monkeypatch.setattr(sources, "SETTINGS", ())
    for name in [name for name in os.environ if name.startswith(("PIP_", "UV_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.delenv("TORCH_BUILD", raising=False)
    return made


def make():
    environment.make_environment((), environment.ROOT / "requirements.lock")


def test_packages_come_with_hashes_and_torch_without_cuda_where_there_is_no_gpu(made, capsys):
    make()
    venv, packages, torch = made.commands
    assert venv[1:3] == ["-m", "venv"]
    assert packages[1:4] == ["-m", "pip", "install"] and "--require-hashes" in packages
    assert packages[-1] == str(environment.ROOT / "requirements.lock")
    assert torch[-1] == TORCH
    assert torch[-3:-1] == ["--index-url", "https://download.pytorch.org/whl/cpu"]
    assert "--no-deps" in torch  # nothing else is taken from there
    said = capsys.readouterr().err
    assert "without CUDA" in said and "TORCH_BUILD=cuda" in said
    assert environment.COMPLETE.read_text(encoding="utf-8") == "cpu\n" and not environment.INCOMPLETE.exists()


def test_uv_does_it_where_it_is_installed(made, monkeypatch):
    monkeypatch.setattr(shutil, "which", {"uv": "/opt/uv"}.get)
    make()
    assert [words[0] for words in made.commands] == ["uv"] * 3
    venv, packages, torch = made.commands
    assert venv[1] == "venv" and venv[-1] == str(environment.VENV) and "--seed" in venv  # with pip
    for words in (packages, torch):
        assert words[1:3] == ["pip", "install"]
        assert words[words.index("--python") + 1] == str(environment.venv_python())
    assert "--require-hashes" in packages and "--index-url" in torch


@pytest.mark.parametrize("reachable", [True, False])
def test_torch_comes_from_pypi_where_its_index_cannot_be_used(made, capsys, reachable):
    """It can't be reached, or can be, but not by pip."""
    made.page = made.page if reachable else None
    made.fails = lambda command: "--index-url" in command
    make()
    assert len(made.of_torch) == 1 + reachable
    assert "--index-url" not in made.of_torch[-1] and "--no-deps" not in made.of_torch[-1]
    assert "torch comes from PyPI" in capsys.readouterr().err
    assert environment.COMPLETE.read_text(encoding="utf-8") == "cpu pypi\n"


@pytest.mark.parametrize("what", ["--require-hashes", "torch=="])
def test_an_installation_that_fails_is_not_complete(made, what):
    made.fails = lambda command: what in " ".join(command)
    with pytest.raises(launch.Refused, match="could not be installed.*try again"):
        make()
    assert environment.INCOMPLETE.exists() and not environment.COMPLETE.exists()


def test_an_index_that_answers_is_told_from_one_that_does_not(monkeypatch):
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/"
        monkeypatch.setattr(
            http.server.BaseHTTPRequestHandler,
            "do_GET",
            lambda self: self.send_response(200) or self.end_headers() or self.wfile.write(b"x"),
            raising=False,
        )
        assert sources.read_page(address) == "x"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        assert sources.read_page(f"http://127.0.0.1:{free.getsockname()[1]}/") is None
    assert sources.read_page("https://nowhere.invalid/") is None


@pytest.mark.parametrize(
    ("platform", "build", "folder"),
    [
        ("linux", "cpu", "cpu"),
        ("linux", "cuda", None),
        ("linux", "cu126", "cu126"),
        ("win32", "cpu", None),
        ("win32", "cuda", sources.CUDA),
        ("darwin", "cpu", None),
        ("darwin", "cuda", None),
    ],
)
def test_each_system_has_its_index(monkeypatch, platform, build, folder):
    monkeypatch.setattr(sys, "platform", platform)
    assert sources.index_of(build) == (folder and f"https://download.pytorch.org/whl/{folder}")


@pytest.fixture
def all_there(made, monkeypatch):
    """All packages are wherever they are looked for, but in the active Python."""
    # but torch of another version, when that is asked for
    made.has = lambda python, names: python != sys.executable and names != [TORCH]
    ran = []
    monkeypatch.setattr(launch, "run", lambda *words: ran.append([*map(str, words)]) or 0)
    return ran


def test_an_nvidia_gpu_gets_cuda_and_one_that_came_later_is_mentioned(
    made, all_there, monkeypatch, capsys
):
    make()
    launch.launch(["python"])
    assert "TORCH_BUILD" not in capsys.readouterr().err.split("chooses otherwise")[1]
    monkeypatch.setattr(sources, "has_nvidia_gpu", lambda: True)
    launch.launch(["python"])
    assert "TORCH_BUILD=cuda" in capsys.readouterr().err and len(all_there) == 2
    shutil.rmtree(environment.VENV)
    made.commands.clear()
    make()
    assert (
        "--index-url" not in made.of_torch[0]
        and environment.COMPLETE.read_text(encoding="utf-8") == "cuda\n"
    )
    for build in ("cuda", "cpu pypi"):  # which has CUDA, too
        environment.COMPLETE.write_text(build, encoding="utf-8")
        capsys.readouterr()
        launch.launch(["python"])
        assert capsys.readouterr().err == ""


def test_another_build_is_made_anew_and_the_same_is_kept(made, all_there, monkeypatch):
    make()
    (environment.VENV / "old").touch()
    for wanted, remade in (("cpu", False), ("cu126", True), ("cu126", False)):
        made.commands.clear()
        monkeypatch.setenv("TORCH_BUILD", wanted)
        launch.launch(["python", "-V"])
        assert bool(made.commands) == remade
        assert all_there[-1] == [str(environment.venv_python()), "-V"]
        assert (environment.VENV / "old").exists() == (wanted == "cpu")
    monkeypatch.delenv("TORCH_BUILD")
    made.commands.clear()
    launch.launch(["python", "-V"])
    assert made.commands == []
    monkeypatch.setenv("TORCH_BUILD", "../evil")
    with pytest.raises(launch.Refused, match="TORCH_BUILD is '../evil'"):
        launch.launch(["python"])


def test_changed_pins_update_the_environment_with_its_build(made, all_there, monkeypatch):
    monkeypatch.setenv("TORCH_BUILD", "cu126")
    make()
    monkeypatch.delenv("TORCH_BUILD")
    for name in ("pyproject.toml", "requirements.lock"):
        made.commands.clear()
        later = time.time() + 10
        os.utime(environment.ROOT / name, (later, later))
        launch.launch(["python"])
        assert len(made.of_torch) == 1 and made.of_torch[0][-2].endswith("/cu126")
        assert not [words for words in made.commands if "venv" in words]
        os.utime(environment.ROOT / name, (0, 0))


def test_an_active_environment_of_ours_is_updated_too(made, all_there, monkeypatch):
    make()
    made.commands.clear()
    os.utime(environment.COMPLETE, (0, 0))  # the pins are newer
    made.has = lambda python, names: names != [TORCH]
    launch.launch(["python"])
    assert made.commands == []  # that of another copy is active
    monkeypatch.setattr(sys, "prefix", str(environment.VENV))
    launch.launch(["python"])
    assert made.of_torch


def test_tests_run_in_the_project(made, all_there, monkeypatch):
    (environment.ROOT / "tests").mkdir()
    make()
    monkeypatch.chdir(ROOT / "data")
    launch.launch(["test", "-k", "x"])
    assert all_there == [[str(environment.venv_python()), "-m", "pytest", "-k", "x"]]
    assert Path.cwd() == environment.ROOT


def test_help_needs_no_environment_and_belongs_to_the_target(made, all_there):
    for words in ([], ["help"], ["rope_pretrain", "-h"], ["--help"]):
        launch.launch(words)
        assert all_there[-1] == [sys.executable, str(environment.ROOT / "src" / "run.py"), "--help"]
    assert made.commands == []
    launch.launch(["python", "x.py", "--help"])
    assert all_there[-1][1:] == ["x.py", "--help"]


# On Windows, as far as other systems can tell


def test_on_windows_the_launcher_waits_and_passes_the_exit_code_on(monkeypatch):
    monkeypatch.setattr(launch, "WINDOWS", True)
    monkeypatch.setattr(os, "execv", None)  # it ends the process at once there
    assert launch.run(sys.executable, "-c", "import sys; sys.exit(int(sys.argv[1]))", "7") == 7


def test_on_windows_ctrl_c_leaves_the_last_word_to_the_job(tmp_path):
    """Both get it; the launcher must not end, or kill the job, before that has saved its work."""
    job = (
        "import pathlib, sys, time\n"
        "try: print('ready', flush=True); time.sleep(60)\n"
        "except KeyboardInterrupt: time.sleep(1); print('saved', flush=True); sys.exit(130)\n"
    )
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import launch; launch.WINDOWS = True; "
        "sys.exit(launch.run(sys.executable, '-c', sys.argv[2]))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(ROOT / "src"), job],
        stdout=subprocess.PIPE,
        encoding="utf-8",
        start_new_session=True,
    )
    assert process.stdout.readline() == "ready\n"
    os.killpg(process.pid, signal.SIGINT)
    assert process.stdout.read() == "saved\n" and process.wait() == 130


def test_on_windows_the_environment_has_scripts(made):
    with contextlib.suppress(FileExistsError):
        (environment.VENV / "Scripts").mkdir(parents=True)
    assert environment.venv_python() == environment.VENV / "Scripts" / "python.exe"
