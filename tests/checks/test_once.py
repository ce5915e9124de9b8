"""A fault costs points only once: what builds on a failed part is graded with the reference's part
instead.
"""

import dataclasses
import shutil

from proof import HIDDEN, MANIFEST

from autograder import Verdict
from checks.support.session import GradingWorker, Setting, grade_submission
from conftest import ROOT, SOLUTION, STARTER
from variants import PLACES, Fill, make

SETTING = Setting(hidden=HIDDEN, gold=ROOT / "instructor" / "gold", weak=True)
SEED = 11


def broken(body):
    """The reference with another body of MultiHeadAttention.forward."""
    return (Fill("MultiHeadAttention.forward", body),)


ZEROS = (
    "y = torch.zeros_like(x)\nweights = x.new_zeros(x.shape[0], self.n_head, x.shape[1], "
    "x.shape[1])"
)
PRINTS = f"import inspect, pathlib\nprint(pathlib.Path(__file__).read_text())\n{ZEROS}"


def grade(worker, folder, names, setting=SETTING):
    checks = [
        check
        for check in MANIFEST.select(names)
        if check.coded and not check.artifacts and check.seconds <= 60
    ]
    return grade_submission(folder, checks, setting, SEED, MANIFEST, worker=worker)


def lost(report, question):
    return sum(
        MANIFEST.checks[id].points - outcome.score
        for id, outcome in report.outcomes.items()
        if MANIFEST.checks[id].question == question
    )


def test_a_fault_of_5d_costs_points_of_5d_alone(worker, tmp_path):
    report = grade(worker, make(broken(ZEROS), tmp_path / "zeros"), ["5d", "5e"])
    assert lost(report, "5d") > 0 and lost(report, "5e") == 0
    hints = [
        hint
        for id, outcome in report.outcomes.items()
        for hint in outcome.hints
        if id.startswith("5e")
    ]
    assert hints and all("our code for 5d in place of yours" in hint for hint in hints)


def test_a_check_alone_knows_how_the_others_ended(worker, tmp_path):
    """As when a class is graded again with one check."""
    report = grade(worker, make(broken(ZEROS), tmp_path / "zeros"), ["5e-2-basic"])
    assert (
        list(report.outcomes) == ["5e-2-basic"]
        and report.outcomes["5e-2-basic"].verdict is Verdict.PASSED
    )


def test_a_fault_of_its_own_still_costs(worker, tmp_path):
    changes = (
        *broken(ZEROS),
        Fill(
            "EncoderLayer.forward", "y, weights = self.attn(x, key_padding_mask, True)\nx = x + y"
        ),
    )
    report = grade(worker, make(changes, tmp_path / "both"), ["5e-2-basic"])
    assert report.outcomes["5e-2-basic"].verdict is not Verdict.PASSED and lost(report, "5e") > 0


def test_what_failed_alone_is_not_graded_again(worker, tmp_path):
    """5d is right, so 5e gets no help."""
    report = grade(
        worker,
        make((Fill("EncoderLayer.forward", "x = 2 * x\nweights = None"),), tmp_path / "layer"),
        ["5d", "5e-2-basic"],
    )
    assert lost(report, "5d") == 0 < lost(report, "5e")
    assert not any(outcome.hints for outcome in report.outcomes.values())


def test_the_references_code_is_shown_to_nobody(worker, tmp_path):
    report = grade(
        worker, make(broken(PRINTS), tmp_path / "prints"), ["5d", "5e-2-basic", "5e-4-hidden"]
    )
    telling = next(
        line.strip()
        for line in (SOLUTION / "problem5" / "encoder.py").read_text(encoding="utf-8").splitlines()
        if "transpose(1, 2)" in line and "#" not in line
    )
    assert lost(report, "5e") == 0
    for id, outcome in report.outcomes.items():
        assert telling not in outcome.message + outcome.details + "".join(outcome.hints), id


def test_1h_is_lent_to_6c(worker, tmp_path):
    changes = (
        Fill("apply_rotary_emb", "rotated_x = -x"),
        Fill("precompute_rotary_emb", "rope_cache = torch.zeros(max_positions, dim // 2, 2)"),
    )
    report = grade(worker, make(changes, tmp_path / "rotated"), ["1h", "6c"])
    assert lost(report, "1h") > 0 and lost(report, "6c") == 0


def test_an_endless_function_leaves_time_for_it(worker, tmp_path):
    """Its checks alone could take longer than all may together."""
    folder = make((Fill("apply_rotary_emb", "while True: pass"),), tmp_path / "endless")
    checks = [
        dataclasses.replace(check, seconds=2)
        for check in MANIFEST.select(["1h", "6c"])
        if check.coded and not check.artifacts
    ]
    setting = dataclasses.replace(SETTING, seconds=12)
    report = grade_submission(folder, checks, setting, SEED, MANIFEST, worker=worker)
    assert lost(report, "1h") > 0 and lost(report, "6c") == 0


def test_markers_that_are_gone_leave_a_file_as_it_is(worker, tmp_path):
    folder = make(broken(ZEROS), tmp_path / "unmarked")
    text = (folder / "problem5" / "encoder.py").read_text(encoding="utf-8")
    (folder / "problem5" / "encoder.py").write_text(
        "\n".join(line for line in text.split("\n") if "CODE_HERE" not in line), encoding="utf-8"
    )
    assert lost(grade(worker, folder, ["5e-2-basic"]), "5e") > 0


def test_a_file_that_is_not_utf_8_stays_as_it_is(worker, tmp_path):
    """It cannot be imported, and our code in it must not fix that."""
    folder = make(broken(ZEROS), tmp_path / "latin")
    (folder / "problem5" / "encoder.py").write_bytes(
        (folder / "problem5" / "encoder.py").read_bytes() + b"# caf\xe9\n"
    )
    assert grade(worker, folder, ["5e-2-basic"]).score == 0


def test_blanks_behind_markers_do_no_harm(worker, tmp_path):
    folder = make(broken(ZEROS), tmp_path / "blanks")
    text = (folder / "problem5" / "encoder.py").read_text(encoding="utf-8")
    (folder / "problem5" / "encoder.py").write_text(
        text.replace("CODE_HERE ###", "CODE_HERE ###  ").replace("\n", "\r\n"), encoding="utf-8"
    )
    assert grade(worker, folder, ["5e-2-basic"]).passed


def test_a_comment_behind_a_marker_does_no_harm(worker, tmp_path):
    folder = make(broken(ZEROS), tmp_path / "comment")
    text = (folder / "problem5" / "encoder.py").read_text(encoding="utf-8")
    (folder / "problem5" / "encoder.py").write_text(
        text.replace("START_CODE_HERE ###", "START_CODE_HERE ###  # mine", 1), encoding="utf-8"
    )
    assert grade(worker, folder, ["5e-2-basic"]).passed


def test_what_is_lent_gives_no_other_question_away():
    """No function has places of both a question and one that builds on it."""
    for id, question in MANIFEST.questions.items():
        functions = {place.function for place in PLACES.values() if place.question == id}
        lent = {place.function for place in PLACES.values() if place.question in MANIFEST.bases(id)}
        assert not functions & lent, question


def test_a_process_that_crashed_serves_nobody_else(worker, tmp_path):
    """Although a second grading fixed the crash."""
    crash = broken("import os\nos._exit(0)")
    before = worker.served
    report = grade(worker, make(crash, tmp_path / "crash"), ["5e-2-basic"])
    assert report.passed and worker.served == before + 1 and worker.processes[0]._process is None


def test_students_copies_have_no_reference(tmp_path):
    setting = Setting()
    assert setting.reference is None
    with GradingWorker(setting) as worker:
        report = grade(worker, make(broken(ZEROS), tmp_path / "zeros"), ["5e-2-basic"], setting)
    assert report.outcomes["5e-2-basic"].verdict is not Verdict.PASSED


def test_the_starter_earns_nothing_by_it(worker):
    report = grade(worker, STARTER, ["5d-2-basic", "5e-2-basic", "6c-4-basic"])
    assert report.score == 0


def test_nothing_is_left_in_the_room(worker, tmp_path):
    before = {*worker.folder.iterdir()}
    grade(worker, make(broken(ZEROS), tmp_path / "zeros"), ["5e-2-basic"])
    assert {*worker.folder.iterdir()} == before
    shutil.rmtree(tmp_path / "zeros")
