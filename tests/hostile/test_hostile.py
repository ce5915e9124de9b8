"""Every attack is contained at every isolation level, and the next submission gets full points.

With HOSTILE_BARE, attacks that only the sandbox stops are run without it and must succeed, which
shows that they are real: do this only on a disposable machine.
"""

import itertools
import os
import sys
from pathlib import Path

import pytest

from proof import STAGED, grade_folder, modules

from autograder import StudentProcess
from autograder.trial import choose
from helpers import SOLUTION, require_level
from hostile import traces
from hostile.harness import Recorder, contain
from hostile.scene import Scene

LEVELS = ("bubblewrap", "landlock")
STRONGEST = "strongest"
ATTACKS = {  # "FAMILY-NAME" -> the attack, and whether it is the first of its family
    f"{module.__name__.rpartition('.')[2]}-{attack.name}": (attack, attack is module.HOSTILE[0])
    for module in modules("hostile.attacks")
    for attack in module.HOSTILE
}


def marks(level, first):
    """By default, one attack of each family runs, at every level of its own."""
    landlock = [pytest.mark.landlock] if level == "landlock" else []
    return landlock + ([] if first else [pytest.mark.full])


CASES = [
    pytest.param(level, attack, marks=marks(level, first), id=f"{level}-{name}")
    for name, (attack, first) in ATTACKS.items()
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


def start(isolation, kind=StudentProcess):
    """A student's process."""
    os.chmod(STAGED.name, 0o755)
    return kind(isolation, ("torch", "tqdm"), (Path(STAGED.name),))


def require_full_points(process):
    """An honest submission must be unaffected."""
    report = grade_folder(process, SOLUTION, QUICK)
    assert report.passed, [outcome.details for outcome in report.outcomes.values()]


@pytest.fixture(scope="module")
def processes():
    """A function that returns two processes at a level, always the same: for attacks, and for
    honest submissions, which has graded one.
    """
    pairs = {}

    def at(isolation):
        if isolation.name not in pairs:
            pairs[isolation.name] = start(isolation, Recorder), start(isolation)
            require_full_points(pairs[isolation.name][1])
        return pairs[isolation.name]

    yield at
    for process in itertools.chain(*pairs.values()):
        process.close()


@pytest.mark.parametrize(("level", "attack"), CASES)
def test_contained(level, attack, scene, processes):
    isolation = require_level(None if level == STRONGEST else level)
    process, honest = processes(isolation)
    problems = contain(attack, process, scene)
    assert not problems, "\n".join([attack.tries, *problems])
    require_full_points(honest)
    if attack.lasting:
        with start(isolation) as new:
            require_full_points(new)


@pytest.mark.skipif(
    "HOSTILE_BARE" not in os.environ,
    reason="HOSTILE_BARE is not set: attacks run without a sandbox only where they may",
)
@pytest.mark.parametrize("name", ATTACKS)
def test_without_sandbox(name, scene, processes):
    """Without a sandbox, attacks that only it stops succeed; those stopped by the grader's design
    don't.
    """
    attack, _ = ATTACKS[name]
    problems = contain(attack, processes(choose("limits"))[0], scene)
    assert bool(problems) == attack.sandbox, "\n".join([attack.tries, *problems])
