"""The state of a class's grading, in one SQLite file."""

from .decisions import Decisions
from .results import Handed, Results


class State(Results, Decisions):
    """All that a class's folder knows: settings, results and decisions."""
