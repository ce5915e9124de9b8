"""train_on_gpu.ipynb, on a machine without a GPU: as on Colab, Kaggle (with their parts faked), or any
Jupyter server; lost in the middle, run again, and its results brought back.
"""

import os
import re
import shutil
import signal
import subprocess
import threading
import zipfile
from pathlib import Path

import nbclient
import nbformat
import pytest
import torch

from common.files import UserError
from conftest import ROOT, STARTER
from gpu_machines import for_gpu, trainings, wait_for, waiting_for
from jobs.problem1 import notebook
from jobs.targets import JOBS

# google.colab, as far as the notebook uses it
COLAB = """
from pathlib import Path
from types import SimpleNamespace

def upload():
    Path("uploads").open("a").write("asked\\n")
    return {name: Path(name).read_bytes() for name in ("mine.zip",) if Path(name).exists()}

drive = SimpleNamespace(mount=lambda path: None)
files = SimpleNamespace(upload=upload, download=lambda path: Path("downloaded").write_text(path))
"""


def opened(folder, preset="smoke", options="--jobs 1", **paths):
    """A client of the notebook in a folder, with these settings and other names of paths."""
    found = nbformat.read(ROOT / "train_on_gpu.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in found.cells), "clear the outputs"
    changes = {'PRESET = "gpu"': f'PRESET = "{preset}"', 'OPTIONS = ""': f'OPTIONS = "{options}"'}
    changes |= {f'"/{name}': f'"{path}' for name, path in paths.items()}
    source = "".join(cell.source for cell in found.cells)
    assert all(text in source for text in changes)
    for cell in found.cells:
        for before, after in changes.items():
            cell.source = cell.source.replace(before, after)
    where = {"metadata": {"path": str(folder)}}
    return nbclient.NotebookClient(found, timeout=300, kernel_name="python3", resources=where)


def printed(client):
    """What the cells printed."""
    outputs = [output for cell in client.nb.cells for output in cell.get("outputs", [])]
    return "".join(output.get("text", "") for output in outputs)


def stopped(client):
    """Run a notebook that stops, and return the sentence that it shows."""
    with pytest.raises(nbclient.exceptions.CellExecutionError):
        client.execute()
    (error,) = [o for cell in client.nb.cells for o in cell.get("outputs", []) if "ename" in o]
    (sentence,) = error.traceback
    assert "Traceback" not in sentence
    return sentence


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at processes")
@pytest.mark.parametrize("ending", ["killed", pytest.param("stopped", marks=pytest.mark.full)])
def test_on_colab_a_lost_machine_costs_only_the_job_that_ran(tmp_path, request, ending):
    """The zip is asked for once; the second machine has nothing but the folder on the drive."""
    drive, go = tmp_path / "drive", tmp_path / "go"
    request.addfinalizer(go.touch)  # nothing waits for it any more
    machines = [tmp_path / "first", tmp_path / "second"]
    for machine in machines:
        (machine / "google").mkdir(parents=True)
        (machine / "google" / "colab.py").write_text(COLAB, encoding="utf-8")
    for_gpu(machines[0] / "mine.zip", waiting_for(go, tmp_path / "mine"))
    results = drive / "MyDrive" / "transformer-assignment" / "smoke"

    client = opened(machines[0], **{"content/drive": drive})
    running = threading.Thread(target=pytest.raises, args=(Exception, client.execute), daemon=True)
    running.start()
    wait_for(lambda: (results / "vanilla.pretrain.test.predictions").exists())
    wait_for(lambda: trainings(results))
    kernel = client.km.provisioner.pid
    os.kill(kernel, signal.SIGKILL if ending == "killed" else signal.SIGINT)
    running.join()
    wait_for(lambda: not trainings(results))  # it ends with the kernel, or the cell
    before = {path.name: path.stat().st_mtime_ns for path in results.glob("vanilla.*")}
    assert len(before) == 7 and not list(results.glob("rope*"))
    assert not (machines[0] / "downloaded").exists()

    go.touch()
    client = opened(machines[1], **{"content/drive": drive})
    client.execute()
    text = printed(client)
    assert text.count(" is done: ") == 7 and "rope_pretrain is done: " not in text
    assert "./run.sh look" not in text  # it has no run.sh
    assert {path.name for path in results.glob("*.p*")} == {job.writes for job in JOBS.values()}
    assert {name: (results / name).stat().st_mtime_ns for name in before} == before
    assert (machines[0] / "uploads").read_text(encoding="utf-8") == "asked\n"
    assert not (machines[1] / "uploads").exists()
    archive = Path((machines[1] / "downloaded").read_text(encoding="utf-8"))
    assert archive.is_relative_to(drive) and "src/submission" in text
    writes = {job.writes for job in JOBS.values()} | {
        f"runs/{job.writes}.made.json" for job in JOBS.values()
    }
    assert set(zipfile.ZipFile(archive).namelist()) == {f"src/submission/{name}" for name in writes}


@pytest.mark.full
def test_on_kaggle_the_dataset_is_unpacked_and_read_only(tmp_path):
    kaggle = tmp_path / "kaggle"
    (kaggle / "working").mkdir(parents=True)
    for_gpu(tmp_path / "for_gpu.zip")
    zipfile.ZipFile(tmp_path / "for_gpu.zip").extractall(kaggle / "input" / "mine" / "for_gpu")
    client = opened(kaggle / "working", kaggle=kaggle)
    client.execute()
    assert (kaggle / "working" / "smoke" / "rope.pretrain.test.predictions").exists()
    assert (kaggle / "working" / "results-smoke.zip").exists()


def test_elsewhere_a_wrong_zip_and_no_zip_are_said_in_a_sentence(tmp_path):
    assert "there are 0" in stopped(opened(tmp_path))
    with zipfile.ZipFile(tmp_path / "for_gpu.zip", "w") as archive:
        archive.writestr("helper.py", "")
    assert "is not what ./collect_submission.sh --for-gpu writes" in stopped(opened(tmp_path))
    (tmp_path / "for_gpu.zip").write_bytes(b"no zip")
    assert "is not what ./collect_submission.sh --for-gpu writes" in stopped(opened(tmp_path))


def test_a_damaged_zip_is_said_in_a_sentence_on_every_machine(tmp_path):
    """A transfer that broke off, or turned bytes."""
    for_gpu(tmp_path / "for_gpu.zip")
    whole = (tmp_path / "for_gpu.zip").read_bytes()
    middle = len(whole) // 2
    for damaged in (whole[:middle], whole[:middle] + b"\xff" * 100 + whole[middle + 100 :]):
        (tmp_path / "for_gpu.zip").write_bytes(damaged)
        assert "or is damaged. Make it anew." in stopped(opened(tmp_path))
    (tmp_path / "google").mkdir()
    (tmp_path / "google" / "colab.py").write_text(COLAB, encoding="utf-8")
    (tmp_path / "mine.zip").write_bytes(whole[:middle])
    client = opened(tmp_path, **{"content/drive": tmp_path / "drive"})
    assert "Make it anew, and set NEW_CODE = True." in stopped(client)


@pytest.mark.full
def test_code_that_has_to_change_is_brought_again_and_no_copies_are_left(tmp_path, monkeypatch):
    """The unwritten place is named in a copy, which is of no use to change."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    (tmp_path / "google").mkdir()
    (tmp_path / "google" / "colab.py").write_text(COLAB, encoding="utf-8")
    for_gpu(tmp_path / "mine.zip", STARTER)
    for _ in range(2):
        client = opened(tmp_path, **{"content/drive": tmp_path / "drive"})
        sentence = stopped(client)
        assert "changes there are lost" in sentence and "NEW_CODE = True" in sentence
        assert "--for-gpu" in sentence and "Not implemented yet" in printed(client)
    assert (tmp_path / "uploads").read_text(encoding="utf-8") == "asked\n"
    assert re.search(r"for_gpu.zip, \d+.\d hours old. NEW_CODE = True asks", printed(client))
    assert not [*(tmp_path / "tmp").glob("*/src")]


@pytest.mark.parametrize(
    ("code", "where", "told"),
    [
        (3, "Kaggle", "lost. Change .*new version of your dataset"),
        (1, "", "If it is your code: .*beside this notebook"),
        (2, "Colab", "If it is your code: .*NEW_CODE = True"),
        (130, "Colab", "^Not all jobs are done. To continue, run all cells again.$"),
        (-9, "", "^Not all jobs are done. To continue, run all cells again.$"),
    ],
)
def test_how_to_go_on_depends_on_why_it_stopped(code, where, told):
    with pytest.raises(UserError, match=told):
        notebook.require_done(code, Path("/tmp/copy"), where)
    notebook.require_done(0, Path("/tmp/copy"), where)


def test_on_windows_the_command_is_quoted_for_its_shell(copy, tmp_path, monkeypatch):
    monkeypatch.setattr(notebook.os, "name", "nt")
    command = notebook.begin(copy, tmp_path / "kept with spaces", "smoke")
    monkeypatch.undo()
    assert f'"{tmp_path / "kept with spaces" / "smoke"}"' in command and "'" not in command


def test_without_a_gpu_the_menu_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for where, words in (("Colab", "Runtime >"), ("Kaggle", "Accelerator"), ("", "nvidia-smi")):
        with pytest.raises(UserError, match=words):
            notebook.begin(tmp_path, tmp_path, "gpu", where=where)
    with pytest.raises(UserError, match="Set PRESET to one of: laptop, gpu"):
        notebook.begin(tmp_path, tmp_path, "GPU")
    assert not list(tmp_path.iterdir())


@pytest.fixture
def copy(tmp_path):
    """A student's copy as the notebook unpacks it."""
    for_gpu(tmp_path / "for_gpu.zip")
    zipfile.ZipFile(tmp_path / "for_gpu.zip").extractall(tmp_path / "copy")
    return tmp_path / "copy"


def test_the_command_names_a_folder_with_spaces(copy, tmp_path):
    command = notebook.begin(copy, tmp_path / "kept with spaces", "smoke", "--seed 5")
    assert "'" in command and command.endswith("--seed 5") and "all --resume" in command


def test_the_results_come_back_into_the_copy(copy, tmp_path, capsys):
    """Unpacked in another time zone, they are still newer than the code."""
    kept = tmp_path / "kept"
    with pytest.raises(UserError, match="no results"):
        notebook.pack(kept, "gpu")
    (kept / "gpu" / "runs").mkdir(parents=True)
    (kept / "gpu" / "runs" / "vanilla_pretrain.jsonl").write_text("{}\n", encoding="utf-8")
    (kept / "gpu" / "runs" / "rope.pretrain.ckpt.made.json").write_text("{}", encoding="utf-8")
    for job in list(JOBS.values())[:-1]:
        (kept / "gpu" / job.writes).write_text("x", encoding="utf-8")
    archive = notebook.pack(kept, "gpu")
    assert "Still to do: rope_eval_test_with_pretrain." in capsys.readouterr().out
    assert not list(kept.glob("*.tmp"))
    if not shutil.which("unzip"):
        pytest.skip("needs unzip")
    code = STARTER / "helper.py"
    student = tmp_path / "student" / "src" / "submission"
    student.mkdir(parents=True)
    shutil.copy(code, student)
    for zone in ("Asia/Tokyo", "America/Los_Angeles"):
        subprocess.run(
            ["unzip", "-qo", archive],
            cwd=tmp_path / "student",
            env={**os.environ, "TZ": zone},
            check=True,
        )
        result, source = student / "rope.finetune.params", kept / "gpu" / "rope.finetune.params"
        assert abs(result.stat().st_mtime - source.stat().st_mtime) <= 2
    assert [path.name for path in (student / "runs").iterdir()] == ["vanilla_pretrain.jsonl"]


def test_the_zip_has_the_students_code_and_no_results(tmp_path):
    mine = shutil.copytree(STARTER, tmp_path / "mine")
    (mine / "model.py").write_text("# mine\n", encoding="utf-8")
    (mine / "vanilla.pretrain.params").write_text("x", encoding="utf-8")
    told = for_gpu(tmp_path / "for_gpu.zip", mine)
    assert "attention.py, line" in told and "not filled in" in told and "problem5" not in told
    with zipfile.ZipFile(tmp_path / "for_gpu.zip") as archive:
        names = archive.namelist()
        assert archive.read("src/submission/model.py") == b"# mine\n"
    assert {"src/run.py", "data/wiki.txt", "src/submission/trainer.py"} <= {*names}
    assert not [name for name in names if name.endswith((".params", ".pyc", ".predictions"))]
