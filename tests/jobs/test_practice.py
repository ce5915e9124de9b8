"""The six recorded traces that students get, and ./run.sh practice_monitor (question 6f)."""

import importlib
import math

import numpy as np
import pytest

from checks.problem6.q6f_traces import MISSING, Trace
from common.alarms import TOLERANCE
from common.files import UserError
from helpers import ROOT, Page
from instructor.checks.problem6.q6f import FILE, read_traces
from instructor.datasets.traces.command import records
from instructor.datasets.traces.onsets import find_onsets, is_clear
from jobs.problem6.practice import TRACES, judge, practice_monitor
from jobs.training_log import read_log

PATHS = sorted(TRACES.glob("*.jsonl"))


@pytest.fixture
def diagnostics(submission):
    """The reference's module."""
    return importlib.import_module("submission.problem6.diagnostics")


def columns(log):
    """The records of a log as the columns of a trace."""
    found = {name: None for record in log for name in record}
    for name in found:
        example = next(np.array(record[name], float) for record in log if name in record)
        empty = np.full(example.shape, MISSING)
        found[name] = np.array([record.get(name, empty) for record in log], dtype=float)
    return found | {"step": found["step"].astype(np.int64)}


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_labels_are_the_tables_onsets(path):
    header, log = read_log(path)
    trace = Trace(header["run"], header["total_steps"], header["reference_loss"], columns(log))
    onsets = {name: log[number]["step"] for name, number in find_onsets(trace).items()}
    assert onsets == header["faults"] and is_clear(trace)
    assert records(trace) == log


def test_none_is_a_trace_that_grades():
    kept = read_traces(ROOT / "instructor" / "gold" / FILE)
    for path in PATHS:
        losses = columns(read_log(path)[1])["loss"]
        for trace in kept:
            # the first 30 records tell two trainings apart
            other = trace.columns.get("loss", losses[:0])[:30]
            assert not np.array_equal(losses[: len(other)], other) or not len(other)


def test_the_reference_reports_all_in_time(diagnostics, tmp_path, capsys):
    practice_monitor(diagnostics, tmp_path)
    said = capsys.readouterr().out
    assert "8 of 8 faults and alarms are right." in said and "false" not in said
    assert said.count("in time") == 8 and "no fault and no alarm: right" in said
    page = Page((tmp_path / "practice.html").read_text(encoding="utf-8"))
    assert page.balanced
    assert [tag for tag, _ in page.tags].count("h2") == 6 and page.text.count("begins here") == 8


@pytest.mark.parametrize("late", [-TOLERANCE - 1, -TOLERANCE, 0, TOLERANCE, TOLERANCE + 1])
def test_alarms_are_in_time_or_not(late):
    """Also after it, a loss that is not finite leaves no time."""
    log = [{"step": 5 * i, "loss": 1.0} for i in range(90)]
    alarm = ("repetition", 5 * (40 + late), "")
    judged = judge({"repetition": 200}, log, [alarm])
    said = {words.split(",")[0]: (fine, words) for _, _, words, fine in judged}
    fine, words = said["your alarm"]
    assert fine == (abs(late) <= TOLERANCE) and said["begins here"][0] is None
    assert ("in time" in words and "not" not in words) == fine
    log[20]["loss"], log[21]["loss"] = math.nan, math.inf
    for number, fine in ((20, True), (21, False)):
        judged = judge({"exploding_loss": 75}, log, [("exploding_loss", 5 * number, "")])
        assert judged[1][3] is fine


@pytest.mark.full
def test_false_alarms_at_every_record_are_few_rows(diagnostics, tmp_path, capsys, monkeypatch):
    class Chatty(diagnostics.Monitor):
        def update(self, record):
            return [(name, record["step"], "x") for name in ("dead_attention", "my_<own>")]

    monkeypatch.setattr(diagnostics, "Monitor", Chatty)
    practice_monitor(diagnostics, tmp_path)
    said = capsys.readouterr().out
    assert said.count("\n") < 60 and "no such fault; the names are exploding_loss, " in said
    assert "alarms: false" in said and "alarms: in time" in said and "alarms: not in time" in said
    assert "my_<own>" in Page((tmp_path / "practice.html").read_text(encoding="utf-8")).text


def test_no_traces_and_no_monitor_are_explained(diagnostics, tmp_path):
    with pytest.raises(UserError, match="no traces in .*Copy it"):
        practice_monitor(diagnostics, tmp_path, tmp_path)
    (tmp_path / "a.jsonl").write_text('{"total_steps": 3, "run": "A"}\n[]\n', encoding="utf-8")
    with pytest.raises(UserError, match="a.jsonl, line 2"):
        practice_monitor(diagnostics, tmp_path, tmp_path)
