"""src/environment.py: what is installed into .venv, and when it is made, updated or kept. Nothing is
installed here; test_launchers.py does that.
"""

import contextlib
import os
import re
import shutil
import sys
import time
import tomllib
from pathlib import Path

import pytest

import environment
import launch
import torch_build
from conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
TORCH = next(pin for pin in environment.pins(()) if pin.startswith("torch=="))


def test_the_launcher_needs_nothing_but_python():
    """Not even our other modules, which another version's environment may lack."""
    own = ("launch", "environment", "torch_build")
    text = "".join((ROOT / "src" / f"{name}.py").read_text(encoding="utf-8") for name in own)
    names = re.findall(r"^\s*(?:import|from) (\w+)", text, re.MULTILINE)
    assert {*names} <= sys.stdlib_module_names | {*own}
    extras = [pin for pins in PROJECT["optional-dependencies"].values() for pin in pins]
    # students' copies have it, and nothing of the staff's
    assert not [pin for pin in extras if pin.partition("==")[0] in text.split()]


@pytest.mark.parametrize(("tables", "name"), launch.LOCKS.values())
def test_lock_files_have_the_pins_of_pyproject(tables, name):
    text = (ROOT / name).read_text(encoding="utf-8")
    extras = [pin for table in tables for pin in PROJECT["optional-dependencies"][table]]
    pins = [pin for pin in PROJECT["dependencies"] + extras if "==" in pin]
    assert environment.outdated(text, [pin.partition(";")[0] for pin in pins]) == []
    packages = re.split(r"^(?=\w)", text, flags=re.MULTILINE)[1:]
    assert len(packages) > len(pins)  # what these need, too
    for package in packages:
        assert re.search(r"--hash=sha256:[0-9a-f]{64}\b", package), package
        assert not re.match(r"torch|nvidia|cuda|triton", package)  # several indexes have these


def test_the_guide_names_the_pinned_torch():
    for name in ("students.md", "running.md"):
        text = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert {*re.findall(r"torch==[\d.]*\d", text)} <= {TORCH}


def test_lock_files_agree_with_each_other():
    """An environment that is updated for the tests keeps its versions."""
    versions = {}
    for _, name in launch.LOCKS.values():
        text = (ROOT / name).read_text(encoding="utf-8")
        found = {*re.findall(r"^(\S+==[^\s;\\]+)", text, re.MULTILINE)}
        versions[name] = found
    student, dev = versions.values()
    assert student <= dev


def test_a_lock_file_that_lacks_a_pin_is_refused(made):
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "tqdm==" in text
    (environment.ROOT / "requirements.lock").write_text(
        re.sub("(?m)^tqdm==.*", "tqdm==1.0 \\\\", text), encoding="utf-8"
    )
    with pytest.raises(launch.Refused, match=r"lacks tqdm==\d.*Restore both"):
        make()
    assert made.commands == [] and not environment.VENV.exists()


@pytest.mark.parametrize("name", ["pyproject.toml", "requirements.lock"])
def test_a_missing_file_is_named(made, name):
    (environment.ROOT / name).unlink()
    with pytest.raises(environment.Refused, match=f"{name} is missing.*Restore it"):
        launch.launch(["python"])


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
    monkeypatch.setattr(torch_build, "has_nvidia_gpu", lambda: False)
    monkeypatch.setattr(torch_build, "read_page", made.read_page)
    monkeypatch.setattr(torch_build, "SETTINGS", ())
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
    assert (
        environment.COMPLETE.read_text(encoding="utf-8") == "cpu\n"
        and not environment.INCOMPLETE.exists()
    )


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


@pytest.mark.parametrize(
    ("platform", "build", "folder"),
    [("linux", "cpu", "cpu"), ("linux", "cuda", None), ("linux", "cu126", "cu126")],
)
def test_each_system_has_its_index(monkeypatch, platform, build, folder):
    monkeypatch.setattr(sys, "platform", platform)
    assert torch_build.index_of(build) == (folder and f"https://download.pytorch.org/whl/{folder}")


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
    monkeypatch.setattr(torch_build, "has_nvidia_gpu", lambda: True)
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


@pytest.mark.parametrize(
    ("build", "page"), [("cu999", None), ("cu118", "torch-2.7.1+cu118"), ("cpu", None)]
)
def test_a_build_that_cannot_be_had_changes_nothing(made, all_there, monkeypatch, build, page):
    """Its folder does not answer, or has other versions alone."""
    monkeypatch.setenv("TORCH_BUILD", "cu126")
    make()
    (environment.VENV / "old").touch()
    made.commands.clear()
    made.page = page
    monkeypatch.setenv("TORCH_BUILD", build)
    with pytest.raises(environment.Refused, match=f"{build}.*Nothing was changed"):
        launch.launch(["python"])
    assert made.commands == [] and (environment.VENV / "old").exists()
    assert environment.COMPLETE.read_text(encoding="utf-8") == "cu126\n"


@pytest.mark.parametrize("what", ["venv", "--require-hashes", "torch=="])
def test_an_environment_that_works_is_kept_until_another_is_made(
    made, all_there, monkeypatch, capsys, what
):
    make()
    (environment.VENV / "old").touch()
    monkeypatch.setenv("TORCH_BUILD", "cu126")
    made.fails = lambda command: what in " ".join(command)
    with pytest.raises(environment.Refused):
        launch.launch(["python"])
    assert (environment.VENV / "old").exists() and "as it was before" in capsys.readouterr().err
    monkeypatch.delenv("TORCH_BUILD")
    launch.launch(["python"])
    assert all_there and environment.COMPLETE.read_text(encoding="utf-8") == "cpu\n"
    monkeypatch.setenv("TORCH_BUILD", "cu126")
    made.fails = lambda command: False
    launch.launch(["python"])
    left = {path.name for path in environment.ROOT.glob(".venv*")}
    assert not (environment.VENV / "old").exists() and left == {".venv", ".venv.lock"}


@pytest.mark.parametrize("interrupted", ["rmtree", "rename", "mkdir"])
def test_a_launcher_killed_while_it_replaces_an_environment_disowns_none(
    made, all_there, monkeypatch, interrupted
):
    """After it, nothing is done either: not even the old one is taken back."""
    make()
    (environment.VENV / "bin").mkdir()
    if interrupted == "rmtree":
        environment.INCOMPLETE.touch()  # so that it is removed, and not kept for a while
    monkeypatch.setenv("TORCH_BUILD", "cu126")

    def killed(*args, **kwargs):
        if interrupted == "rmtree":  # half done
            for path in (args[0] / "complete", args[0] / "incomplete"):
                path.unlink(missing_ok=True)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(environment, "restore", lambda: None)
        patch.setattr(shutil if interrupted == "rmtree" else Path, interrupted, killed)
        with contextlib.suppress(KeyboardInterrupt):
            launch.launch(["python"])
    launch.launch(["python"])
    assert len(all_there) >= 1
    assert environment.COMPLETE.read_text(encoding="utf-8") == "cu126\n"
    left = {path.name for path in environment.ROOT.glob(".venv*")}
    assert left <= {".venv", ".venv.lock"}


def test_without_a_network_nothing_begins_unless_there_is_a_mirror(made, monkeypatch, tmp_path):
    made.online = None
    with pytest.raises(environment.Refused, match="pypi.org, which does not answer"):
        make()
    assert made.commands == [] and not environment.VENV.exists()
    settings = tmp_path / "pip.conf"
    monkeypatch.setattr(torch_build, "SETTINGS", [str(settings)])
    settings.write_text("[global]\ntimeout = 60\n", encoding="utf-8")
    with pytest.raises(environment.Refused, match="pypi.org"):
        make()
    for name, text in (("", "[global]\nindex-url = https://mirror.example\n"), ("INDEX_URL", "")):
        settings.write_text(text, encoding="utf-8")
        if name:
            monkeypatch.setenv(f"PIP_{name}", "https://mirror.example")
        environment.discard(environment.VENV)
        made.commands.clear()
        make()
        assert made.of_torch


def test_torch_build_is_said_to_change_nothing_in_an_environment_of_ones_own(
    made, all_there, monkeypatch, capsys
):
    monkeypatch.setenv("TORCH_BUILD", "cpu")
    environment.VENV.mkdir()
    (environment.VENV / "pyvenv.cfg").touch()
    launch.launch(["python"])
    assert "TORCH_BUILD changes nothing" in capsys.readouterr().err
    made.has = lambda python, names: True
    launch.launch(["python"])
    assert all_there[-1][0] == sys.executable
    assert "TORCH_BUILD changes nothing" in capsys.readouterr().err
    monkeypatch.delenv("TORCH_BUILD")
    launch.launch(["python"])
    assert capsys.readouterr().err == ""


def test_a_link_to_an_environment_is_never_changed(made, tmp_path):
    """It is another copy's, whoever made it."""
    make()
    made.commands.clear()
    environment.VENV.rename(tmp_path / "theirs")
    environment.VENV.symlink_to(tmp_path / "theirs")
    with pytest.raises(environment.Refused, match="did not make it"):
        make()
    assert made.commands == [] and (tmp_path / "theirs" / "complete").exists()


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
