"""Every attack is contained at every isolation level, and the next submission gets full points.

A level that cannot run here is skipped; if the variable REQUIRE_LEVELS names it, its tests fail, so
that CI tests all. With HOSTILE_BARE, attacks that only the sandbox stops are run without it and
must succeed, which shows that they are real: do this only on a disposable machine.
"""

import os
import sys
from pathlib import Path

import pytest

from proof import STAGED, collect, grade_folder, modules

from autograder import StudentProcess
from autograder.trial import choose
from helpers import SOLUTION, require_level
from hostile import traces
from hostile.harness import contain
from hostile.scene import Scene

ATTACKS = collect("hostile.attacks", "HOSTILE")
LEVELS = ("bubblewrap", "landlock")
STRONGEST = "strongest"
FIRST = {module.HOSTILE[0].name for module in modules("hostile.attacks")}  # one of each family


def marks(attack, level):
    """By default, one attack of each family runs, at the strongest level."""
    landlock = [pytest.mark.landlock] if level == "landlock" else []
    return landlock + ([pytest.mark.full] if landlock or attack.name not in FIRST else [])


CASES = [
    pytest.param(level, attack, marks=marks(attack, level), id=f"{level}-{attack.name}")
    for attack in ATTACKS
    for level in (LEVELS if attack.everywhere else (STRONGEST,))
]
QUICK = ("1c-0-basic", "1h-2-basic")  # graded for an honest submission after each attack

pytestmark = pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="the sandbox is Linux's"
)


@pytest.fixture(scope="module")
def scene():
    """The attacks' surroundings."""
    traces.adopt_orphans()
    with Scene() as scene:
        yield scene


@pytest.fixture(scope="module")
def honest():
    """Return a function that grades an honest submission, which must be unaffected: (isolation,
    new), on one process for all tests, or on a new one.
    """
    os.chmod(STAGED.name, 0o755)
    processes = {}

    def require_full_points(isolation, new=False):
        def start():
            return StudentProcess(isolation, ("torch", "tqdm"), (Path(STAGED.name),))

        process = start() if new else processes.setdefault(isolation.name, start())
        report = grade_folder(process, SOLUTION, QUICK)
        if new:
            process.close()
        assert report.passed, (
            "an honest submission suffers: "
            f"{[outcome.details for outcome in report.outcomes.values()]}"
        )

    yield require_full_points
    for process in processes.values():
        process.close()


@pytest.mark.parametrize(("level", "attack"), CASES)
def test_contained(level, attack, scene, honest):
    isolation = require_level(None if level == STRONGEST else level)
    honest(isolation)  # its process lives already when the attack comes
    problems = contain(attack, isolation, scene)
    honest(isolation, new=attack.lasting)
    assert not problems, "\n".join([attack.tries, *problems])


@pytest.mark.skipif(
    "HOSTILE_BARE" not in os.environ,
    reason="HOSTILE_BARE is not set: attacks run without a sandbox only where they may",
)
@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.name for attack in ATTACKS])
def test_without_sandbox(attack, scene):
    """Without a sandbox, attacks that only it stops succeed; those stopped by the grader's design
    don't.
    """
    problems = contain(attack, choose("limits"), scene)
    assert bool(problems) == attack.sandbox, "\n".join([attack.tries, *problems])
