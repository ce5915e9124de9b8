"""The traces that 6f is graded with: which are kept, and where their faults begin."""

import numpy as np
import pytest

from checks.problem6.q6f_traces import FAULTS, MISSING, NAMES, NEAR, Trace, be_rare, draw_trace
from checks.support.context import Context
from common.alarms import TOLERANCE
from helpers import ROOT, SOLUTION
from instructor.checks.problem6.q6f import FILE, read_traces, tally
from instructor.datasets.traces.command import DRAWN, packed, records, rounded
from instructor.datasets.traces.drawn import draw_traces
from instructor.datasets.traces.onsets import find_onsets, is_clear
from instructor.datasets.traces.training import Setup, train
from instructor.datasets.worlds.editions import TRACES
from jobs.package import load_submission

GOLD = ROOT / "instructor" / "gold" / FILE


def trace(total_steps=1000, reference_loss=None, **columns):
    """A trace with one record for every ten steps."""
    columns = {name: np.array(values, dtype=float) for name, values in columns.items()}
    steps = 10 * np.arange(1, 1 + len(next(iter(columns.values()))))
    return Trace("by hand", total_steps, reference_loss, {"step": steps, **columns})


@pytest.fixture(scope="module")
def kept():
    return read_traces(GOLD)


def test_there_are_enough_of_each_kind(kept):
    assert all(each.faults == find_onsets(each) and is_clear(each) for each in kept)
    assert all((np.diff(each.columns["step"]) > 0).all() for each in kept)
    trained = [each for each in kept if not each.name.startswith("drawn")]
    assert len(trained) >= 35 and {n for each in trained for n in each.faults} == {*NAMES}
    assert all(sum(name in each.faults for each in kept) >= 12 for name in NAMES)
    assert sum(not each.faults for each in kept) >= 35
    assert GOLD.stat().st_size < 400_000 and len({each.name for each in kept}) == len(kept)


def test_the_reference_finds_them(kept):
    monitor = load_submission(SOLUTION, "problem6/diagnostics.py").Monitor

    def replay(each):
        update = monitor(each.total_steps, each.reference_loss).update
        alarms = ((i, update(record)) for i, record in enumerate(records(each)))
        return {alarm.name: i for i, found in alarms for alarm in found}

    found = tally(kept, [*map(replay, kept)])
    counts = {kind: names.total() for kind, names in found.items()}
    assert counts["missed"] <= 0.02 * counts["faults"]
    assert counts["false"] <= 0.005 * counts["pairs"]


def test_drawn_ones_are_the_same_again(kept):
    def texts(traces):  # where NaN is NaN
        return {each.name: repr(packed(each)) for each in traces}

    again = map(rounded, draw_traces(np.random.default_rng(TRACES + 1), DRAWN))
    drawn = (each for each in kept if each.name.startswith("drawn"))
    assert texts(drawn) == texts(filter(is_clear, again))


def test_a_training_is_the_same_again():
    setup, text = Setup(n=5, sampled=2, noise=0.5, short=True), "The cat sat on the mat. " * 30
    first, again = (train(setup, text, seed=3, reference_loss=1.0).columns for _ in range(2))
    assert all(np.array_equal(values, again[name]) for name, values in first.items())
    assert first["attention_entropy"].shape == (5, 3, 2) and first["grad_norm"].shape == (5, 3)
    assert (first["repetition_rate"] == MISSING).tolist() == [False, True] * 2 + [False]


LOW, HIGH = [1.0] * 10, [1.6] * 6
FALLS = np.linspace(4, 3.9, 60)
HEADS = np.full((60, 2, 2), 0.5)
HEADS[:25, 0, 0], HEADS[30:50, 1, 1] = 0.995, 0.005
NORMS = np.ones((60, 3))
NORMS[:, 0] = 1e-4
RATES = [0.6, 0.6, 0.4, 0.6, MISSING, 0.6, MISSING, 0.6]
ONSETS = [
    ({"loss": LOW + HIGH + [3.1] * 5}, {"exploding_loss": 12}),  # the median of five
    ({"loss": LOW + HIGH + [1.0] * 6 + [1.6] * 3 + [1.0] * 9}, {}),
    ({"loss": LOW + HIGH + LOW + [3.1] * 5}, {"exploding_loss": 28}),  # the first rise was over
    ({"loss": LOW + HIGH + [np.nan]}, {"exploding_loss": 12}),
    ({"loss": LOW + [np.inf]}, {"exploding_loss": 10}),
    ({"loss": FALLS, "reference_loss": 1.0}, {"slow_convergence": 25}),  # step 260 is past 250
    ({"loss": FALLS, "reference_loss": 3.9}, {}),
    ({"repetition_rate": RATES}, {"repetition": 7}),
    ({"repetition_rate": [0.6, 0.6, 0.5] * 5}, {}),
    ({"attention_entropy": HEADS}, {"dead_attention": 19, "saturated_attention": 49}),
    ({"attention_entropy": HEADS, "total_steps": 5000}, {"saturated_attention": 49}),  # it woke
    ({"grad_norm": NORMS}, {"vanishing_gradients": 19}),
    ({"grad_norm": NORMS[:, ::-1]}, {}),
]


@pytest.mark.parametrize(("fields", "expected"), ONSETS)
def test_the_table_finds_onsets(fields, expected):
    assert find_onsets(trace(**fields)) == expected


def test_the_tally_counts_pairs_and_faults_in_time():
    each = rounded(trace(total_steps=10_000, loss=[1.0] * 40 + [1.6] * 10 + [4.0] * 30))
    onset = each.faults["exploding_loss"]
    for late, missed in ((-TOLERANCE - 1, 1), (-TOLERANCE, 0), (TOLERANCE, 0), (TOLERANCE + 1, 1)):
        counts = tally([each], [{"exploding_loss": onset + late, "repetition": 5}])
        assert counts["faults"].total() == 1 and counts["pairs"].total() == 5
        assert counts["missed"].total() == missed and counts["false"] == {"repetition": 1}
    # too near the end to be judged
    each = rounded(trace(total_steps=10_000, loss=[1.0] * 40 + [1.6] * 5 + [4.0] * 5))
    counts = tally([each], [{}])
    assert each.faults and not counts["faults"] and counts["pairs"].total() == 5


def test_a_cohort_shares_them(tmp_path):
    """One with its own has its own."""
    for gold in (None, tmp_path):
        assert Context(ROOT, None, None, gold, {}).gold_path(FILE) == GOLD
    (tmp_path / "traces").mkdir()
    (tmp_path / FILE).touch()
    assert Context(ROOT, None, None, tmp_path, {}).gold_path(FILE) == tmp_path / FILE


@pytest.mark.parametrize("change", [*FAULTS, *NEAR, be_rare], ids=lambda change: change.__name__)
def test_what_is_drawn_has_the_faults_that_it_says_and_no_others(change, seed):
    rng = np.random.default_rng(seed)
    for number in range(50):
        each = draw_trace(rng, change, gaps=change in FAULTS and number % 2 == 1)
        onsets = find_onsets(each)
        assert onsets.keys() == each.faults.keys() and is_clear(each), seed
        assert all(abs(onsets[name] - each.faults[name]) <= 3 for name in onsets), seed


def test_borderline_cases_are_not_kept():
    heads = np.full((60, 1, 1), 0.5)
    heads[10:40] = 0.9905
    borderline = trace(attention_entropy=heads)
    assert find_onsets(borderline) and not is_clear(borderline)
    assert not is_clear(trace(loss=[1.0] * 20 + [1.6] * 12 + [1.0] * 9))
