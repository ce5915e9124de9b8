"""Every small change of the reference is seen by a check, or equivalent.txt says why not."""

import random

import pytest

from mutants import all_mutants, survivors, tolerated

DRAWN = 100  # about two minutes


def test_what_is_tolerated_are_mutants():
    assert tolerated() <= {mutant.name for mutant in all_mutants()}


@pytest.mark.full
def test_no_mutant_survives(process, seed):
    """`python tests/checks/mutants.py 5e` tries all of a question."""
    found = [*map(str, survivors(process, random.sample(all_mutants(), DRAWN)))]
    assert not found, "\n".join(found)
