"""A fault costs points only once: what builds on a failed part is graded with the reference's part
instead.
"""

import dataclasses

import pytest

from proof import MANIFEST

from autograder import Verdict
from checks.support.session import GradingWorker, Setting, grade_submission
from helpers import SOLUTION, STARTER
from instructor.mistakes.patches import PLACES, Fill, make

SETTING = Setting(hidden=True, weak=True)
SEED = 11


@pytest.fixture
def grade(worker):
    """A function that grades a folder by its quick code checks of some questions."""

    def run(folder, names, setting=SETTING, worker=worker, **limits):
        checks = [
            dataclasses.replace(check, **limits)
            for check in MANIFEST.select(names)
            if check.coded and not check.artifacts and check.seconds <= 60
        ]
        return grade_submission(folder, checks, setting, SEED, MANIFEST, worker=worker)

    return run


def broken(body):
    """The reference with another body of MultiHeadAttention.forward."""
    return (Fill("MultiHeadAttention.forward", body),)


ZEROS = """y = torch.zeros_like(x)
weights = x.new_zeros(x.shape[0], self.n_head, x.shape[1], x.shape[1])"""
PRINTS = f"import inspect, pathlib\nprint(pathlib.Path(__file__).read_text())\n{ZEROS}"
IGNORED = "y, weights = self.attn(x, key_padding_mask, True)\nx = x + y"
FLIPPED = Fill("apply_rotary_emb", "rotated_x = -x")
NO_ANGLES = "rope_cache = torch.zeros(max_positions, dim // 2, 2)"
DOUBLED = "x = 2 * x\nweights = None"
CRASH = "import os\nos._exit(0)"


def lost(report):
    """The questions that lost points."""
    checks = report.outcomes.items()
    return {
        MANIFEST.checks[id].question for id, o in checks if o.score < MANIFEST.checks[id].points
    }


@pytest.mark.parametrize(
    ("changes", "graded", "costs", "helped"),
    [
        (broken(ZEROS), ["5d", "5e"], {"5d"}, {"5e"}),
        # a check alone knows how the others ended, as when a class is graded again with one check
        (broken(ZEROS), ["5e-2-basic"], set(), {"5e"}),
        ((*broken(ZEROS), Fill("EncoderLayer.forward", IGNORED)), ["5e-2-basic"], {"5e"}, set()),
        ((Fill("EncoderLayer.forward", DOUBLED),), ["5d", "5e-2-basic"], {"5e"}, set()),
        ((FLIPPED, Fill("precompute_rotary_emb", NO_ANGLES)), ["1h", "6c"], {"1h"}, {"6c"}),
    ],
    ids=["5d", "5e by itself", "both", "5e", "1h"],
)
def test_a_fault_costs_points_once(grade, worker, tmp_path, changes, graded, costs, helped):
    before = {*worker.folder.iterdir()}
    report = grade(make(changes, tmp_path / "submission"), graded)
    hints = {id: " ".join(outcome.hints) for id, outcome in report.outcomes.items()}
    lent = {MANIFEST.checks[id].question for id in hints if "in place of yours" in hints[id]}
    assert (lost(report), lent) == (costs, helped)
    assert "5e" not in helped or "our code for 5d in place of yours" in hints["5e-2-basic"]
    assert {*worker.folder.iterdir()} == before  # nothing is left of a second grading


def test_the_references_code_is_shown_to_nobody(grade, tmp_path):
    ids = ["5d", "5e-2-basic", "5e-4-hidden"]
    report = grade(make(broken(PRINTS), tmp_path / "prints"), ids)
    lines = (SOLUTION / "problem5" / "encoder.py").read_text(encoding="utf-8").splitlines()
    telling = next(line for line in lines if "transpose(1, 2)" in line and "#" not in line).strip()
    assert lost(report) == {"5d"}
    for id, outcome in report.outcomes.items():
        assert telling not in outcome.message + outcome.details + "".join(outcome.hints), id


@pytest.mark.full
def test_an_endless_function_leaves_time_for_it(grade, tmp_path):
    """Its checks alone could take longer than all may together."""
    folder = make((Fill("apply_rotary_emb", "while True: pass"),), tmp_path / "endless")
    setting = dataclasses.replace(SETTING, seconds=12)
    assert lost(grade(folder, ["1h", "6c"], setting, seconds=2)) == {"1h"}


@pytest.mark.parametrize(
    ("edit", "lent"),
    [
        (
            lambda raw: raw.replace(b"CODE_HERE ###", b"CODE_HERE ###  ").replace(b"\n", b"\r\n"),
            True,
        ),
        (lambda raw: raw.replace(b"START_CODE_HERE ###", b"START_CODE_HERE ###  # mine", 1), True),
        (lambda raw: raw.replace(b"CODE_HERE", b""), False),
        # it cannot be imported, and our code in it must not fix that
        (lambda raw: raw + b"# caf\xe9\n", False),
    ],
    ids=["blanks", "a comment", "no markers", "not UTF-8"],
)
def test_a_part_is_lent_where_its_markers_are(grade, tmp_path, edit, lent):
    file = make(broken(ZEROS), tmp_path / "edited") / "problem5" / "encoder.py"
    file.write_bytes(edit(file.read_bytes()))
    assert grade(tmp_path / "edited", ["5e-2-basic"]).passed == lent


def test_what_is_lent_gives_no_other_question_away():
    """No function has places of both a question and one that builds on it."""
    for id, question in MANIFEST.questions.items():
        functions = {place.function for place in PLACES.values() if place.question == id}
        lent = {place.function for place in PLACES.values() if place.question in MANIFEST.bases(id)}
        assert not functions & lent, question


def test_a_process_that_crashed_serves_nobody_else(grade, worker, tmp_path):
    """Although a second grading fixed the crash."""
    before = worker.served
    assert grade(make(broken(CRASH), tmp_path / "crash"), ["5e-2-basic"]).passed
    assert worker.served == before + 1 and worker.processes[0]._process is None


def test_students_copies_have_no_reference(grade, tmp_path):
    setting = Setting()
    assert setting.reference is None
    with GradingWorker(setting) as own:
        report = grade(make(broken(ZEROS), tmp_path / "zeros"), ["5e-2-basic"], setting, own)
    assert report.outcomes["5e-2-basic"].verdict is not Verdict.PASSED


def test_the_starter_earns_nothing_by_it(grade):
    assert grade(STARTER, ["5d-2-basic", "5e-2-basic", "6c-4-basic"]).score == 0
