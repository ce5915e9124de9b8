"""The log that a training keeps, the Monitor as its writer, and the page that ./run.sh dashboard
makes of it.
"""

import importlib
import json
import math
from types import SimpleNamespace

import pytest
import torch

import run
from common.files import UserError
from helpers import SOLUTION, Counting, Page, call, run_cli
from jobs.problem6.dashboard import dashboard, page, watch
from jobs.training_log import RunLog, entropy, read_log, repetition_rate

SMOKE = ("--preset", "smoke", "--submission", SOLUTION)


class Scalars:
    """A writer that remembers."""

    def __init__(self):
        self.calls, self.closed = [], False

    def add_scalar(self, name, value, step):
        self.calls.append((name, value, step))

    def close(self):
        self.closed = True


@pytest.fixture
def diagnostics(submission):
    """The reference's module."""
    return importlib.import_module("submission.problem6.diagnostics")


def write_log(folder, records, **header):
    """A log of these records."""
    path = folder / "runs" / "a_run.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [{"run": "a_run", "total_steps": 1000, "reference_loss": 1.0, **header}, *records]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


BAD_RUN = [
    {
        "step": step,
        "loss": 3.0 if step < 590 else math.nan,
        "lr": 1e-3,
        "grad_norm": [1e-5, 0.5, 1.0],
        "attention_entropy": [[0.5, 1.0], [0.3, 0.001], [0.2, 0.4]],
        **({"repetition_rate": 0.8} if step % 50 == 0 else {}),
    }
    for step in range(10, 600, 10)
] + [{"step": 600, "loss": math.inf}]


def test_a_log_makes_no_difference_to_the_training(submission, tmp_path):
    """Not even to dropout."""
    results = []
    for log in (None, RunLog(tmp_path / "x.jsonl", Scalars())):
        torch.manual_seed(5)
        shape = {"n_layer": 2, "n_head": 2, "n_embd": 8}
        model = submission.GPT(submission.GPTConfig(11, 14, **shape, attn_pdrop=0.2))
        settings = {"max_epochs": 4, "batch_size": 8, "learning_rate": 1e-2, "log_every": 3}
        config = submission.TrainerConfig(device="cpu", progress=False, writer=log, **settings)
        trainer = submission.Trainer(model, Counting(), None, config)
        if log:
            log.begin({"run": "x", "total_steps": 20}, model, trainer.train_dataset, 6)
        torch.manual_seed(9)
        trainer.train()
        results.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    log.close()
    assert torch.equal(*results) and log.also.closed
    assert ("loss", 3) in [(name, step) for name, _, step in log.also.calls]
    header, records = read_log(tmp_path / "x.jsonl")
    assert header == {"run": "x", "total_steps": 20}
    assert [record["step"] for record in records] == [3, 6, 9, 12, 15, 18, 20]
    for record in records:
        assert len(record["grad_norm"]) == 2 and min(record["grad_norm"]) > 0
        shares = sum(record["attention_entropy"], [record["repetition_rate"]])
        assert len(shares) == 5 and all(0 <= share <= 1 for share in shares)
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


def test_a_resumed_training_goes_on_with_its_log(submission, tmp_path):
    """A line that was not written to its end is left out."""
    path = write_log(tmp_path, [{"step": step, "loss": 1.0} for step in (10, 20, 30)])
    path.write_text(path.read_text(encoding="utf-8") + '{"step": 35, "lo', encoding="utf-8")
    log = RunLog(path, Scalars(), resume=True)
    model = submission.GPT(submission.GPTConfig(11, 14, n_layer=1, n_head=2, n_embd=8))
    log.begin({"run": "b", "total_steps": 50}, model, Counting(), 5)
    assert [record["step"] for record in read_log(path)[1]] == [10, 20, 30]
    for step in (20, 40):
        log.add_scalar("loss", 0.5, step)
    log.close()
    header, records = read_log(path)
    losses = [(record["step"], record["loss"]) for record in records]
    assert header["run"] == "b" and losses == [(10, 1.0), (20, 0.5), (40, 0.5)]


def test_a_log_that_cannot_be_written(submission, tmp_path, capsys):
    model = submission.GPT(submission.GPTConfig(11, 14, n_layer=1, n_head=2, n_embd=8))
    log = RunLog(tmp_path / "runs" / "x.jsonl", Scalars())
    (tmp_path / "runs").write_text("in the way", encoding="utf-8")
    with pytest.raises(UserError, match="cannot be written.*--out"):
        log.begin({"total_steps": 5}, model, Counting(), 5)
    (tmp_path / "runs").unlink()
    log.begin({"total_steps": 5}, model, Counting(), 5)
    log.path.unlink()
    log.path.mkdir()
    for step in (1, 2, 3):
        log.add_scalar("loss", 0.1, step)  # and the training goes on
    log.close()
    assert capsys.readouterr().out.count("continues without a log") == 1


TOTAL = '{"total_steps": 9}\n'


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("nonsense\n", "line 1"),
        ('{"run": "a"}\n', "line 1"),
        ('{"total_steps": 9, "reference_loss": true}\n', "line 1: reference_loss is True"),
        ("", "is empty.*Restart"),
        ('{"total', "no complete line"),
        (f"{TOTAL}[]\n", "line 2"),
        (TOTAL + '{"step": 1, "x": ' + "[" * 100_000 + "]" * 100_000 + "}\n", "line 2"),
        (TOTAL + '{"step": 1, "loss": "abc"}\n', "line 2: loss is 'abc', which is not a number"),
        (TOTAL + '{"step": 1, "grad_norm": [1.0, null]}\n', "line 2: grad_norm is"),
        (TOTAL + '{"step": 2}\n{"step": 2}\n', "line 3"),
    ],
)
def test_damaged_logs_are_refused(tmp_path, text, words):
    (tmp_path / "x.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(UserError, match=words):
        read_log(tmp_path / "x.jsonl")


def test_the_page_of_a_bad_run(diagnostics, tmp_path, capsys):
    write_log(tmp_path, BAD_RUN)
    dashboard(diagnostics, tmp_path)
    html = (tmp_path / "dashboard.html").read_text(encoding="utf-8")
    read = Page(html)
    names = "exploding_loss repetition slow_convergence dead_attention saturated_attention"
    for text in (capsys.readouterr().out, read.text):
        assert all(name in text for name in [*names.split(), "vanishing_gradients", "6 alarms"])
    plots = [attrs for tag, attrs in read.tags if tag == "svg" and attrs.get("role") == "img"]
    assert len(plots) == 7 and all(attrs["aria-label"] for attrs in plots)  # three layers of heads


def records_that_learn(n=40):
    """A record each 250 steps, 30 s apart, in which knowledge grows late."""
    return [
        {
            "step": 250 * i,
            "loss": 4 / i,
            "knowledge": max(0, i - n / 2) / n,
            "texts": [f"Ada {i}\u2047 <b>", "x\u2047\u25a1", "y"],
            "seconds": 30.0 * i,
            "attention_entropy": [[0.9 / (head + i) for head in range(8)]],
        }
        for i in range(1, n + 1)
    ]


def test_knowledge_is_beside_the_loss_with_the_minutes_left_and_the_texts():
    records = records_that_learn()
    header = {"total_steps": 12_500, "people": 17, "reference_loss": 0.5}
    html = page(header, records, [])
    text = Page(html).text
    assert "Known birthplaces, of 17 people" in text and "At the end: 50%" in text
    assert "known at step 10,000" in text
    assert "20 minutes so far; at its present pace, 5 minutes are left." in text
    assert text.count("Ada 1M") == 1 and "Ada 40M" in text and "<b>" not in html
    assert ">80%</text>" in page(header, BAD_RUN + records[-2:], [])


class Own:
    """A monitor of a student's; what it returns is set later."""

    returned = []

    def __init__(self, total_steps, reference_loss=None):
        self.seen = []
        Own.latest = self

    def update(self, record):
        self.seen.append(set(record))
        return self.returned


def test_a_monitor_sees_only_what_question_6f_names():
    watch(SimpleNamespace(Monitor=Own), {"total_steps": 9}, records_that_learn(3))
    assert Own.latest.seen == [{"step", "loss", "attention_entropy"}] * 3


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        *(
            ("returned", returned, "update returned .* of step 7")
            for returned in (None, ["x"], [("a", "later", "c")], [("a", 10**400, "c")])
        ),
        ("__init__", lambda self, total_steps: None, "reference_loss"),
        ("update", None, "no class Monitor"),
    ],
    ids=range(6),
)
def test_what_is_no_monitor_is_a_sentence(monkeypatch, name, value, words):
    monkeypatch.setattr(Own, name, value)
    monitor = int if name == "update" else Own
    with pytest.raises(UserError, match=words):
        watch(SimpleNamespace(Monitor=monitor), {"total_steps": 9}, [{"step": 7}])


def test_text_is_escaped_and_odd_values_are_borne():
    header = {"run": "<script>", "total_steps": 200, "reference_loss": math.nan, "preset": "&"}
    records = [
        {
            "step": i,
            "loss": math.nan if i > 100 else 1e308 * (i % 2),
            "lr": math.nan,
            "grad_norm": [5e-324, 1.7e308],
            "attention_entropy": [[math.nan, -1e308]],
            "repetition_rate": math.nan,
        }
        for i in range(1, 201)
    ]
    html = page(header, records, [("<b>", 5, '"<i>')])
    assert Page(html).balanced
    assert "<script>" not in html and "<b>" not in html and "<i>" not in html
    assert "nan" not in html and "inf" not in html
    # for eyes, and for ears
    assert 40 < html.count("stroke: var(--bad)") and html.count("100 not finite") == 2


def test_the_command(tmp_path):
    words = ("dashboard", "--submission", SOLUTION, "--out", tmp_path)
    process = call(run.main, *words)
    assert process.returncode == 2 and "./run.sh vanilla_pretrain --log" in process.stderr
    assert not any(tmp_path.iterdir())
    process = run_cli("vanilla_pretrain", *SMOKE, "--out", tmp_path, "--log")
    assert process.returncode == 0 and "runs/vanilla_pretrain.jsonl" in process.stdout
    header, records = read_log(tmp_path / "runs" / "vanilla_pretrain.jsonl")
    assert header["total_steps"] == records[-1]["step"]
    assert {"loss", "lr", "grad_norm", "attention_entropy"} <= records[-1].keys()
    assert 0 <= records[0]["knowledge"] <= 1 and len(records[0]["texts"]) == 3
    process = call(run.main, *words)
    assert process.returncode == 0 and "no alarms" in process.stdout
    assert (tmp_path / "dashboard.html").is_file()
