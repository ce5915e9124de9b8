"""The problems that this copy has, each with a folder here whose `contents.py` says what it is, and
all targets of `./run.sh`. run.py, its help, the handout and the tables in the documents use these.
"""

import importlib
from collections.abc import Iterable
from pathlib import Path

from jobs.target import Job, Problem, Target

_FOLDERS = sorted(path.parent.name for path in Path(__file__).parent.glob("problem*/contents.py"))
PROBLEMS: dict[str, Problem] = {
    name.removeprefix("problem"): importlib.import_module(f"jobs.{name}.contents").PROBLEM
    for name in _FOLDERS
}


def chosen(numbers: Iterable[str]) -> list[Problem]:
    """Those of these problems that students write code for."""
    return [PROBLEMS[number] for number in numbers if number in PROBLEMS]


def targets_of(numbers: Iterable[str]) -> dict[str, Target]:
    """The targets of a copy with these problems, by their names."""
    found = [target for problem in chosen(numbers) for target in problem.targets]
    trained = any(isinstance(target, Job) for target in found)
    return {target.target: target for target in found if trained or not target.log}


TARGETS = targets_of(PROBLEMS)
JOBS = {name: target for name, target in TARGETS.items() if isinstance(target, Job)}
# By its result, each target whose result is handed in.
MADE_BY = {target.writes: target for target in TARGETS.values() if target.handed_in}
LOOK = TARGETS.get("look")  # None without the jobs whose models it shows
