"""Every target of `./run.sh`: its question, and what it calls, reads and writes. run.py, its help,
the handout and the tables in the documents use this list, which the problems' `contents.py` make.
"""

from collections.abc import Iterable

from jobs.problems import PROBLEMS
from jobs.target import Job, Target


def targets_of(problems: Iterable[str]) -> dict[str, Target]:
    """The targets of a copy with these problems, by their names."""
    found = [one for number in problems if number in PROBLEMS for one in PROBLEMS[number].TARGETS]
    trained = any(isinstance(target, Job) for target in found)
    return {target.target: target for target in found if trained or not target.log}


TARGETS = targets_of(PROBLEMS)
JOBS = {name: target for name, target in TARGETS.items() if isinstance(target, Job)}
# These have one size, and take a few minutes on the CPU at most.
SMALL = {name: target for name, target in TARGETS.items() if target.calls}
WRITTEN_BY = {job.writes: job for job in JOBS.values()}
LOOK = TARGETS.get("look")  # None without the jobs whose models it shows
