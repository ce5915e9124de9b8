"""train_on_gpu.ipynb and the measurements on a GPU, without one; not on Colab and Kaggle."""

import os
import shutil
import subprocess
import tarfile
import zipfile

import nbclient
import nbformat
import pytest

import collect
from common.files import UserError
from helpers import DATA, ROOT, SOLUTION, STARTER, call
from jobs.problem1 import notebook
from jobs.targets import JOBS


def for_gpu(out, submission=SOLUTION):
    """Write the zip of a student's copy; returns what is printed."""
    process = call(collect.main, "--for-gpu", "--submission", submission, "--out", out)
    assert process.returncode == 0, process.stderr
    return process.stdout


@pytest.fixture
def cells():
    """The notebook, with the preset `smoke`."""
    found = nbformat.read(ROOT / "train_on_gpu.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in found.cells), "clear the outputs"
    settings = found.cells[1]
    settings.source = settings.source.replace('"gpu"', '"smoke"').replace('""', '"--jobs 2"')
    return found


@pytest.mark.full
def test_all_cells_run_again_and_do_what_is_not_done(demo, cells, tmp_path):
    """With no zip beside it, the notebook says so in a sentence."""
    where = {"metadata": {"path": str(tmp_path)}}
    client = nbclient.NotebookClient(cells, timeout=300, kernel_name="python3", resources=where)
    with pytest.raises(nbclient.exceptions.CellExecutionError):
        client.execute()
    (error,) = [o for cell in cells.cells for o in cell.get("outputs", []) if "ename" in o]
    (sentence,) = error.traceback
    assert "there are 0" in sentence and "Traceback" not in sentence
    for_gpu(tmp_path / "for_gpu.zip", demo.code)
    shutil.copytree(demo.folder, tmp_path / "kept" / "smoke")
    (tmp_path / "kept" / "smoke" / "rope.finetune.params").unlink()
    client.execute()
    outputs = [output for cell in cells.cells for output in cell.get("outputs", [])]
    text = "".join(output.get("text", "") for output in outputs)
    assert text.count(" is done: ") == len(JOBS) - 1 and "src/submission" in text
    writes = {job.writes for job in JOBS.values()}
    writes |= {f"runs/{name}.json" for name in writes}
    archive = zipfile.ZipFile(tmp_path / "kept" / "results-smoke.zip")
    assert {*archive.namelist()} == {f"src/submission/{name}" for name in writes}


DAMAGES = [
    lambda whole: b"PK\5\6" + bytes(18),  # a zip of nothing
    lambda whole: whole[: len(whole) // 2],
    lambda whole: whole[:9999] + b"\xff" * 100 + whole[10_099:],
]


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_zip_is_told(cells, tmp_path, monkeypatch, damage):
    for_gpu(tmp_path / "for_gpu.zip")
    whole = (tmp_path / "for_gpu.zip").read_bytes()
    (tmp_path / "for_gpu.zip").write_bytes(damage(whole))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(Exception, match="for_gpu.zip is not what .* or is damaged. Make it anew."):
        exec(cells.cells[1].source + "\n" + cells.cells[3].source, {})


def test_the_results_come_back_into_the_copy(tmp_path, capsys):
    """Unpacked in another time zone, they are still newer than the code."""
    kept = tmp_path / "kept"
    with pytest.raises(UserError, match="no results"):
        notebook.pack(kept, "gpu")
    (kept / "gpu" / "runs").mkdir(parents=True)
    results = [job.writes for job in JOBS.values()][:-1]
    for name in (*results, "runs/vanilla_pretrain.jsonl", "runs/rope.pretrain.ckpt.json"):
        (kept / "gpu" / name).write_text("{}\n", encoding="utf-8")
    archive = notebook.pack(kept, "gpu")
    assert "Still to do: rope_eval_test_with_pretrain." in capsys.readouterr().out
    if not shutil.which("unzip"):
        pytest.skip("needs unzip")
    student = tmp_path / "student" / "src" / "submission"
    for zone in ("Asia/Tokyo", "America/Los_Angeles"):
        command = ["unzip", "-qo", archive, "-d", tmp_path / "student"]
        subprocess.run(command, env={**os.environ, "TZ": zone}, check=True)
        result, source = student / "rope.finetune.params", kept / "gpu" / "rope.finetune.params"
        assert abs(result.stat().st_mtime - source.stat().st_mtime) <= 2
    assert [path.name for path in (student / "runs").iterdir()] == ["vanilla_pretrain.jsonl"]


def test_the_zip_has_the_students_code_and_no_results(tmp_path):
    mine = shutil.copytree(STARTER, tmp_path / "mine")
    (mine / "model.py").write_text("# mine\n", encoding="utf-8")
    (mine / "vanilla.pretrain.params").write_text("x", encoding="utf-8")
    printed = for_gpu(tmp_path / "for_gpu.zip", mine)
    assert "attention.py, line" in printed and "problem5" not in printed
    with zipfile.ZipFile(tmp_path / "for_gpu.zip") as archive:
        names = archive.namelist()
        assert archive.read("src/submission/model.py") == b"# mine\n"
    assert {"src/run.py", "data/wiki.txt", "src/submission/trainer.py"} <= {*names}
    assert not [name for name in names if name.endswith((".params", ".pyc", ".predictions"))]


@pytest.fixture
def full_size(monkeypatch):
    """benchmarks/full_size.py, which leaves the tests' signals alone."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import full_size

    monkeypatch.setattr(full_size.signal, "signal", lambda *handler: None)
    return full_size


def test_what_fails_is_repeated_in_a_slower_and_safer_way(full_size, tmp_path, monkeypatch):
    """Without recorded steps, then in float32; the steps after it begin that way."""
    begun = []

    def attempt(command, log, seconds):
        _, step, _, made, *way = command[command.index("--step") :]
        begun.append((step, way))
        log.write_text("Trained in bf16: 9 steps/s\nsome\rbar\nCUDA error\n", encoding="utf-8")
        if step == "canary":
            (tmp_path / made).write_text("50", encoding="utf-8")
        failed = step == "public" and "fp32" not in way or step == "rates"
        return f"{'failed with exit code 1' if failed else 'done'} after 1 s"

    monkeypatch.setattr(full_size, "attempt", attempt)
    assert call(full_size.main, tmp_path / "out", DATA).returncode == 0
    graphs, slow, safe = [], ["--no-graphs"], ["--no-graphs", "--precision", "fp32"]
    assert begun == [
        ("canary", graphs),
        *(("public", way) for way in (graphs, slow, safe)),
        *((step, safe) for step in ("rates", "ours", "long")),
    ]
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "## public: failed with exit code 1 after 1 s --no-graphs\n" in report
    assert report.count("\nCUDA error\n") == 3, "the reason of each failure"
    with tarfile.open(tmp_path / "out" / "logs.tar.gz") as logs:
        assert len(logs.getnames()) == len(begun)
