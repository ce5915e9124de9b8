"""Every attack is contained at every isolation level, and the next submission gets full points.

With HOSTILE_BARE, attacks that only the sandbox stops are run without it and must succeed, which
shows that they are real: do this only on a disposable machine.
"""

import itertools
import os
from pathlib import Path

import pytest

from proof import STAGED, grade_folder, modules

from autograder import StudentProcess
from autograder.inside.sandbox import PR_SET_CHILD_SUBREAPER, prctl
from autograder.trial import choose
from helpers import SOLUTION, require_level
from hostile.harness import Recorder, contain
from hostile.scene import Scene

FAMILIES = {module.__name__.rpartition(".")[2]: module for module in modules("hostile.attacks")}
ATTACKS = {f"{f}-{attack.name}": attack for f in FAMILIES for attack in FAMILIES[f].HOSTILE}
BY_DEFAULT = [module.HOSTILE[0] for module in FAMILIES.values()]
LANDLOCK, FULL = pytest.mark.landlock, pytest.mark.full
CASES = [
    pytest.param(
        level,
        attack,
        marks=[LANDLOCK] * (level == "landlock") + [FULL] * (attack not in BY_DEFAULT),
        id=f"{level or 'strongest'}-{name}",
    )
    for name, attack in ATTACKS.items()
    for level in (("bubblewrap", "landlock") if attack.everywhere else (None,))
]
QUICK = ("1c-0-basic", "1h-2-basic")  # graded for an honest submission after each attack


@pytest.fixture(scope="module")
def scene():
    """The attacks' surroundings, and all orphans below this process: so none escapes."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    with Scene() as scene:
        yield scene


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
            os.chmod(STAGED.name, 0o755)
            material = isolation, ("torch", "tqdm"), (Path(STAGED.name),)
            pairs[isolation.name] = Recorder(*material), StudentProcess(*material)
            require_full_points(pairs[isolation.name][1])
        return pairs[isolation.name]

    yield at
    for process in itertools.chain(*pairs.values()):
        process.close()


@pytest.mark.parametrize(("level", "attack"), CASES)
def test_contained(level, attack, scene, processes):
    process, honest = processes(require_level(level))
    problems = contain(attack, process, scene)
    assert not problems, "\n".join([attack.tries, *problems])
    if attack.lasting:
        honest.close()  # a new one starts
    require_full_points(honest)


@pytest.mark.skipif(
    "HOSTILE_BARE" not in os.environ,
    reason="HOSTILE_BARE is not set: attacks run without a sandbox only where they may",
)
@pytest.mark.parametrize("name", ATTACKS)
def test_without_sandbox(name, scene, processes):
    """Without a sandbox, attacks that only it stops succeed; those stopped by the grader's design
    don't.
    """
    attack = ATTACKS[name]
    problems = contain(attack, processes(choose("limits"))[0], scene)
    assert bool(problems) == attack.sandbox, "\n".join([attack.tries, *problems])
