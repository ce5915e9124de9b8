"""Several judges share the checks of one grading; tests/student/test_workers.py starts them."""

import multiprocessing
import os
import signal
import threading
from pathlib import Path

import pytest
from toy_course import RIGHT, grade_toy

from autograder import Board, Outcome, StudentProcess, Verdict, can_share
from autograder.isolation import choose

pytestmark = pytest.mark.skipif(not can_share(), reason="one judge here")


def take_and_die(folder: Path, id: str) -> None:
    """What a helper does that is killed while it runs a check."""
    with Board(folder, leads=False).take(id):
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_check_whose_judge_died_runs_again(tmp_path):
    """A killed helper neither blocks the grading nor fails the check that it had taken."""
    (board := tmp_path / "board").mkdir()
    start = multiprocessing.get_context("spawn").Process
    helper = start(target=take_and_die, args=(board, "9a-0-basic"))
    helper.start()
    helper.join()
    assert helper.exitcode < 0 and (board / "9a-0-basic.json").exists()
    with StudentProcess(choose("limits"), ("torch",), (tmp_path,)) as process:
        report = grade_toy(process, tmp_path, RIGHT, "9a-0-basic", board=Board(board))
    assert report.score == report.max_score == 1


@pytest.mark.parametrize("content", [b"", b'{"id": "9a-0-ba', b"[]"])
def test_an_outcome_is_whole_and_for_whoever_waits(tmp_path, content):
    """What a judge wrote while the disk was full, or when it was killed, counts as not run. A check
    that another judge runs is None at once, and so is one of a grading that is over.
    """
    outcome = Outcome("9a-0-basic", Verdict.PASSED, 1.0, details="wört\udcff")
    (tmp_path / "9a-0-basic.json").write_bytes(content)
    with Board(tmp_path).take("9a-0-basic") as mine:
        assert mine.outcome is None
        with Board(tmp_path).take("9a-0-basic") as other:
            assert other is None
        found = []

        def wait():
            with Board(tmp_path).take("9a-0-basic", wait=True) as place:
                found.append(place.outcome)

        thread = threading.Thread(target=wait)
        thread.start()
        mine.post(outcome)
    thread.join(10)
    assert found == [outcome]
    with Board(tmp_path / "gone", leads=False).take("9a-0-basic") as place:
        assert place is None
