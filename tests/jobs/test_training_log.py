"""The log that --log keeps of a training, and how a log is read."""

import math
from unittest import mock

import pytest
import torch
from torch.nn.utils import parameters_to_vector

import run
from common.files import UserError
from helpers import SOLUTION, Counting, call, run_cli
from jobs.presets import SMOKE
from jobs.training_log import RunLog, entropy, read_log, repetition_rate


def test_a_log_makes_no_difference_to_the_training(fresh, tmp_path, seed):
    """Not even to dropout."""
    plain = fresh(lr_decay=False)
    torch.manual_seed(seed)
    plain.train()
    log = RunLog(tmp_path / "x.jsonl", mock.Mock())
    trainer = fresh(lr_decay=False, writer=log)
    log.begin({"run": "x", "total_steps": 20}, trainer.model, trainer.train_dataset, 6)
    torch.manual_seed(seed)
    trainer.train()
    log.close()
    weights = [parameters_to_vector(each.model.parameters()) for each in (plain, trainer)]
    assert torch.equal(*weights)
    log.also.add_scalar.assert_any_call("loss", mock.ANY, 3)
    log.also.close.assert_called_once()
    header, records = read_log(tmp_path / "x.jsonl")
    assert header == {"run": "x", "total_steps": 20}
    assert [record["step"] for record in records] == [3, 6, 9, 12, 15, 18, 20]
    for record in records:
        assert len(record["grad_norm"]) == 1 and record["grad_norm"][0] > 0
        shares = sum(record["attention_entropy"], [record["repetition_rate"]])
        assert len(shares) == 3 and all(0 <= share <= 1 for share in shares)
        assert record["lr"] == 0.01


def test_what_is_measured():
    """Even weights have entropy 1, sure ones 0; between them, the mean over rows that choose."""
    rows = [[1.0, 0, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]]
    weights = torch.stack((torch.ones(3, 3).tril(), torch.eye(3), torch.tensor(rows)))[None]
    weights = weights / weights.sum(dim=-1, keepdim=True)
    expected = torch.tensor([1, 0, 2 * math.log(2) / math.log(6)])
    used = torch.ones(1, 3, dtype=torch.bool)
    assert torch.allclose(entropy(weights, used), expected, atol=1e-6)
    assert repetition_rate([1, 2, 3, 4, 1, 2, 3, 4]) == pytest.approx(1 / 5)


def test_a_resumed_training_goes_on_with_its_log(fresh, tmp_path):
    """A line that was not written to its end is left out."""
    path = tmp_path / "x.jsonl"
    lines = [f'{{"step": {step}, "loss": 1.0}}\n' for step in (10, 20, 30)]
    path.write_text("".join([TOTAL, *lines, '{"step": 35, "lo']), encoding="utf-8")
    log = RunLog(path, mock.Mock(), resume=True)
    log.begin({"run": "b", "total_steps": 50}, fresh().model, Counting(), 5)
    assert [record["step"] for record in read_log(path)[1]] == [10, 20, 30]
    for step in (20, 40):
        log.add_scalar("loss", 0.5, step)
    log.close()
    header, records = read_log(path)
    losses = [(record["step"], record["loss"]) for record in records]
    assert header["run"] == "b" and losses == [(10, 1.0), (20, 0.5), (40, 0.5)]


def test_a_log_that_cannot_be_written(fresh, tmp_path, capsys):
    log, model = RunLog(tmp_path / "runs" / "x.jsonl", mock.Mock()), fresh().model
    (tmp_path / "runs").write_text("in the way", encoding="utf-8")
    with pytest.raises(UserError, match="cannot be written.*--out"):
        log.begin({"total_steps": 5}, model, Counting(), 5)
    (tmp_path / "runs").unlink()
    log.begin({"total_steps": 5}, model, Counting(), 5)
    log.path.unlink()
    log.path.mkdir()
    for step in (1, 2, 3):
        log.add_scalar("loss", 0.1, step)  # and the training goes on
    assert capsys.readouterr().out.count("continues without a log") == 1


TOTAL = '{"total_steps": 9}\n'
DAMAGED = [
    ('{"run": "a"}\n', "line 1"),
    ('{"total_steps": 9, "reference_loss": true}\n', "line 1: reference_loss is True"),
    ("", "is empty.*Restart"),
    ('{"total', "no complete line"),
    (f"{TOTAL}[]\n", "line 2"),
    (TOTAL + '{"step": 1, "x": ' + "[" * 100_000 + "]" * 100_000 + "}\n", "line 2"),
    (TOTAL + '{"step": 1, "grad_norm": [1.0, null]}\n', "line 2: grad_norm is"),
    (TOTAL + '{"step": 2}\n{"step": 2}\n', "line 3"),
]


@pytest.mark.parametrize(("text", "words"), DAMAGED, ids=range(len(DAMAGED)))
def test_damaged_logs_are_refused(tmp_path, text, words):
    (tmp_path / "x.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=words):
        read_log(tmp_path / "x.jsonl")


def test_the_command(tmp_path):
    options = ("--preset", "smoke", "--submission", SOLUTION, "--out", tmp_path, "--log")
    process = run_cli("vanilla_pretrain", *options)
    assert process.returncode == 0 and "runs/vanilla_pretrain.jsonl" in process.stdout
    header, records = read_log(tmp_path / "runs" / "vanilla_pretrain.jsonl")
    assert header["total_steps"] == records[-1]["step"]
    assert {"loss", "lr", "grad_norm", "attention_entropy"} <= records[-1].keys()
    assert len(records[-1]["grad_norm"]) == len(records[-1]["attention_entropy"]) == SMOKE.n_layer
    assert 0 <= records[0]["knowledge"] <= 1 and len(records[0]["texts"]) == 3
    process = call(run.main, "dashboard", "--submission", SOLUTION, "--out", tmp_path)
    assert process.returncode == 0 and "no alarms" in process.stdout
