"""The Monitor of question 6f on training logs: ./run.sh dashboard and practice_monitor."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest

import run
from checks.problem6.q6f_traces import MISSING, NAMES, Trace
from common.alarms import TOLERANCE
from common.files import UserError
from helpers import ROOT, SOLUTION, Page, call
from instructor.checks.problem6.q6f import FILE, read_traces
from instructor.datasets.traces.command import records as records_of
from instructor.datasets.traces.onsets import find_onsets, is_clear
from jobs.package import load_submission
from jobs.problem6.dashboard import page, watch
from jobs.problem6.practice import TRACES, judge, practice_monitor
from jobs.training_log import read_log

TOTAL = {"total_steps": 9}
PATHS = sorted(TRACES.glob("*.jsonl"))
BAD = {"loss": 3.0, "lr": 1e-3, "grad_norm": [1e-5, 0.5, 1.0]}
BAD["attention_entropy"] = [[0.5, 1.0], [0.3, 0.001], [0.2, 0.4]]
BAD_RUN = [{"step": step, **BAD} for step in range(10, 610, 10)]
for record in BAD_RUN[4::5]:
    record["repetition_rate"] = 0.8
BAD_RUN[-2]["loss"], BAD_RUN[-1]["loss"] = math.nan, math.inf


def test_the_dashboard_of_a_bad_run(tmp_path):
    words = ("dashboard", "--submission", SOLUTION, "--out", tmp_path)
    process = call(run.main, *words)
    assert process.returncode == 2 and "./run.sh vanilla_pretrain --log" in process.stderr
    assert not any(tmp_path.iterdir())
    (tmp_path / "runs").mkdir()
    lines = [{"run": "a_run", "total_steps": 1000, "reference_loss": 1.0}, *BAD_RUN]
    log = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "runs" / "a_run.jsonl").write_text(log, encoding="utf-8")
    printed = call(run.main, *words).stdout
    html = Page((tmp_path / "dashboard.html").read_text(encoding="utf-8"))
    for text in (printed, html.text):
        assert all(name in text for name in [*NAMES, "6 alarms"])
    plots = [attrs for tag, attrs in html.tags if tag == "svg" and attrs.get("role") == "img"]
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


def test_the_dashboard_has_knowledge_the_minutes_left_and_texts():
    records = records_that_learn()
    html = page({"total_steps": 12_500, "people": 17, "reference_loss": 0.5}, records, [])
    text = Page(html).text
    assert "Known birthplaces, of 17 people" in text and "At the end: 50%" in text
    assert "known at step 10,000" in text
    assert "20 minutes so far; at its present pace, 5 minutes are left." in text
    assert text.count("Ada 1M") == 1 and "Ada 40M" in text and "<b>" not in html


def test_the_dashboard_escapes_text_and_bears_odd_values():
    header = {"run": "<script>", "total_steps": 200, "reference_loss": math.nan, "preset": "&"}
    odd = {"lr": math.nan, "grad_norm": [5e-324, 1.7e308], "repetition_rate": math.nan}
    odd["attention_entropy"] = [[math.nan, -1e308]]
    losses = [1e308 * (i % 2) for i in range(100)] + [math.nan] * 100
    records = [{"step": i, "loss": loss, **odd} for i, loss in enumerate(losses, start=1)]
    html = page(header, records, [("<b>", 5, '"<i>')])
    assert Page(html).balanced
    assert not [bad for bad in ("<script>", "<b>", "<i>", "nan", "inf") if bad in html]
    # for eyes, and for ears
    assert 40 < html.count("stroke: var(--bad)") and html.count("100 not finite") == 2


def monitor(update):
    """A student's module with a Monitor that does this with records."""
    monitor = SimpleNamespace(update=update)
    return SimpleNamespace(Monitor=lambda total_steps, reference_loss=None: monitor)


def test_a_monitor_sees_only_what_question_6f_names():
    seen = []
    watch(monitor(lambda record: seen.append({*record}) or []), TOTAL, records_that_learn(3))
    assert seen == [{"step", "loss", "attention_entropy"}] * 3


NO_MONITORS = [
    (monitor(lambda record: None), "update returned .* of step 7"),
    (monitor(lambda record: ["x"]), "update returned .* of step 7"),
    (monitor(lambda record: [("a", 10**400, "c")]), "update returned .* of step 7"),
    (SimpleNamespace(Monitor=lambda total_steps: None), "reference_loss"),
    (SimpleNamespace(Monitor=int), "no class Monitor"),
]


@pytest.mark.parametrize(("module", "words"), NO_MONITORS, ids=range(5))
def test_what_is_no_monitor_is_a_sentence(module, words):
    with pytest.raises(UserError, match=words):
        watch(module, TOTAL, [{"step": 7}])


def columns(log):
    """The records of a log as the columns of a trace."""
    found = {name: None for record in log for name in record}
    for name in found:
        example = next(np.array(record[name], float) for record in log if name in record)
        empty = np.full(example.shape, MISSING)
        found[name] = np.array([record.get(name, empty) for record in log], dtype=float)
    return found | {"step": found["step"].astype(np.int64)}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_labels_of_traces_are_the_tables_onsets(path):
    header, log = read_log(path)
    trace = Trace(header["run"], header["total_steps"], header["reference_loss"], columns(log))
    onsets = {name: log[number]["step"] for name, number in find_onsets(trace).items()}
    assert onsets == header["faults"] and is_clear(trace)
    assert records_of(trace) == log


def test_none_is_a_trace_that_grades():
    kept = read_traces(ROOT / "instructor" / "gold" / FILE)
    for path in PATHS:
        losses = columns(read_log(path)[1])["loss"]
        for trace in kept:
            # the first 30 records tell two trainings apart
            other = trace.columns.get("loss", losses[:0])[:30]
            assert not np.array_equal(losses[: len(other)], other) or not len(other)


def test_the_reference_reports_all_in_time(tmp_path):
    said = call(run.main, "practice_monitor", "--submission", SOLUTION, "--out", tmp_path).stdout
    assert "8 of 8 faults and alarms are right." in said and "false" not in said
    assert said.count("in time") == 8 and "no fault and no alarm: right" in said
    html = Page((tmp_path / "practice.html").read_text(encoding="utf-8"))
    assert html.balanced
    assert [tag for tag, _ in html.tags].count("h2") == 6 and html.text.count("begins here") == 8


@pytest.mark.parametrize("late", [-TOLERANCE - 1, -TOLERANCE, 0, TOLERANCE, TOLERANCE + 1])
def test_alarms_are_in_time_or_not(late):
    """Also after it, a loss that is not finite leaves no time."""
    log = [{"step": 5 * i, "loss": 1.0} for i in range(90)]
    judged = judge({"repetition": 200}, log, [("repetition", 5 * (40 + late), "")])
    assert [fine for *_, fine in judged if fine is not None] == [abs(late) <= TOLERANCE]
    log[20]["loss"], log[21]["loss"] = math.nan, math.inf
    for number, fine in ((20, True), (21, False)):
        judged = judge({"exploding_loss": 75}, log, [("exploding_loss", 5 * number, "")])
        assert judged[1][3] is fine


def test_false_alarms_at_every_record_are_few_rows():
    log = [{"step": 5 * i, "loss": 1.0} for i in range(90)]
    alarms = [(name, record["step"], "") for record in log for name in ("dead_attention", "mine")]
    said = [words for *_, words, _ in judge({"dead_attention": 200}, log, alarms)]
    assert len(said) == 5 and sum(": not in time; " in words for words in said) == 2
    for expected in (": in time", ": no such fault; the names are exploding_loss, "):
        assert any(expected in words for words in said)


def test_missing_and_damaged_traces_are_explained(tmp_path):
    diagnostics = load_submission(SOLUTION, "problem6/diagnostics.py")
    with pytest.raises(UserError, match="no traces in .*Copy it"):
        practice_monitor(diagnostics, tmp_path, tmp_path)
    (tmp_path / "a.jsonl").write_text('{"total_steps": 3, "run": "A"}\n[]\n', encoding="utf-8")
    with pytest.raises(UserError, match="a.jsonl, line 2"):
        practice_monitor(diagnostics, tmp_path, tmp_path)
