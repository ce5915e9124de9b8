"""Several judges share the checks of one grading: each check runs once, and no outcome is lost."""

import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from test_autograder import MANIFEST, RIGHT, TOY

from autograder import Board, Outcome, StudentProcess, Submission, Verdict, can_share, grade
from autograder.isolation import choose

pytestmark = pytest.mark.skipif(not can_share(), reason="one judge here")
SLOW = "import time\n" + RIGHT.replace("return", "time.sleep(0.3)\n    return")


def judge(folder: Path, board: Board, ids=(), process=None, finished=lambda outcome: None):
    """Grade folder/toy.py with a process of its own, or the given one."""
    submission = Submission((folder,), folder, "toy")
    with process or StudentProcess(choose("limits"), ("torch",), (folder,)) as process:
        return grade(
            MANIFEST,
            MANIFEST.select(list(ids)),
            [TOY / "checks"],
            process,
            submission,
            1,
            "the context",
            True,
            finished,
            board=board,
        )


def take_and_die(folder: Path, id: str) -> None:
    """What a helper does that is killed while it runs a check."""
    with Board(folder, leads=False).take(id):
        os.kill(os.getpid(), signal.SIGKILL)


def same(report):
    """What must not depend on the number of judges."""
    return {id: (one.verdict, one.score, one.message) for id, one in report.outcomes.items()}


def test_two_judges_share_the_checks(tmp_path):
    """They have the same results as one, each check runs once, and each is reported once."""
    (tmp_path / "toy.py").write_text(SLOW, encoding="utf-8")
    (tmp_path / "board").mkdir()
    alone = judge(tmp_path, None)
    lines = []
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        helper = pool.apply_async(judge, (tmp_path, Board(tmp_path / "board", leads=False)))
        until = time.monotonic() + 60
        while not list((tmp_path / "board").iterdir()):  # the helper begins first
            assert time.monotonic() < until
            time.sleep(0.01)
        report = judge(
            tmp_path, Board(tmp_path / "board"), finished=lambda outcome: lines.append(outcome.id)
        )
        helped = helper.get(timeout=60)
    assert same(report) == same(alone)
    assert sorted(lines) == sorted(set(lines))
    assert any(  # one of the two ran it; the other has the same seconds
        one.verdict and one.seconds == report.outcomes[id].seconds
        for id, one in helped.outcomes.items()
    )


def test_a_check_whose_judge_died_runs_again(tmp_path):
    """A killed helper neither blocks the grading nor fails the check that it had taken."""
    (tmp_path / "toy.py").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "board").mkdir()
    helper = multiprocessing.get_context("spawn").Process(
        target=take_and_die, args=(tmp_path / "board", "9a-0-basic")
    )
    helper.start()
    helper.join()
    assert helper.exitcode < 0 and (tmp_path / "board" / "9a-0-basic.json").exists()
    report = judge(tmp_path, Board(tmp_path / "board"), ["9a-0-basic"])
    assert report.score == report.max_score == 1


@pytest.mark.parametrize("content", [b"", b'{"id": "9a-0-ba', b"[]"])
def test_half_an_outcome_is_none(tmp_path, content):
    """What a judge wrote while the disk was full, or when it was killed, counts as not run."""
    (tmp_path / "9a-0-basic.json").write_bytes(content)
    with Board(tmp_path).take("9a-0-basic") as place:
        assert place.outcome is None
        place.post(Outcome("9a-0-basic", Verdict.PASSED, 1.0, details="wört\udcff"))
    with Board(tmp_path).take("9a-0-basic") as place:
        assert place.outcome == Outcome("9a-0-basic", Verdict.PASSED, 1.0, details="wört\udcff")


def test_who_waits_for_a_check(tmp_path):
    """A check that another judge runs is None at once, and its outcome for who waits."""
    posted = Outcome("9a-0-basic", Verdict.WRONG_ANSWER, 0.5)
    with Board(tmp_path).take("9a-0-basic") as mine:
        with Board(tmp_path).take("9a-0-basic") as other:
            assert other is None
        found = []

        def wait():
            with Board(tmp_path).take("9a-0-basic", wait=True) as place:
                found.append(place.outcome)

        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.2)
        assert not found
        mine.post(posted)
    thread.join(10)
    assert found == [posted]


def test_a_helper_of_a_grading_that_is_over_ends(tmp_path):
    """The folder is gone: nothing is taken."""
    with Board(tmp_path / "gone", leads=False).take("9a-0-basic") as place:
        assert place is None
