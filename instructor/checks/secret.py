"""What only staff's checks have: the probe that asks weights, and rounds from a secret seed.

Rounds are in instructor/rounds, which is not in git. `python -m instructor cases --secret SEED`
makes them; otherwise the first grading does, with a seed of its own.
"""

import os
import secrets
from collections.abc import Iterable

from checks.support.rounds import Rounds
from common.files import UserError, write_text
from instructor import ROOT
from instructor.checks.problem1.genuine import answer_alone

__all__ = ["answer_alone", "staff_rounds"]

ROUNDS = int(os.environ.get("STAFF_ROUNDS", "30"))  # of each check; tests make fewer
PACKED = ROOT / "instructor" / "rounds"  # also in the upload autograder
FOLDER = PACKED if ROUNDS == 30 else PACKED.with_name(f"rounds-{ROUNDS}")
SEED = FOLDER / "seed.txt"


def staff_rounds(questions: Iterable[str], seed: int | None = None) -> Rounds:
    """Staff's rounds of these questions; those that are missing or out of date are made, with a
    progress bar on stderr.

    Args:
        seed: a new one; by default the one that the rounds have, or a random one.

    Raises:
        UserError: the folder cannot be written.
    """
    if not (ROOT / "instructor" / "mistakes").is_dir():  # an upload autograder: they came with it
        return Rounds(PACKED)
    from instructor.checks.solving import Plan, all_questions, renew

    if seed is None and not SEED.is_file():
        seed = secrets.randbits(63)
    if seed is not None:
        write_text(SEED, f"{seed}\n")
    try:
        plan = Plan(int(SEED.read_text(encoding="utf-8")), ROUNDS, hidden=True)
    except ValueError:
        raise UserError(f"{SEED} should have one number. Remove it; it is made again.") from None
    renew(FOLDER, [name for name in all_questions() if name in {*questions}], plan)
    return Rounds(FOLDER)
