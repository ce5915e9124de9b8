"""The problems with code that this copy has: those with a folder here, `problemN`, whose module
`contents` lists the problem's files and targets.

A contents.py defines any of: CODE, the files that students write code in; ANSWERS, those for
numbers and choices, with their questions; SUPPLIED, given files; NEEDED, files of another problem
that its code imports; TARGETS, and OPTIONS, those of its targets that are no jobs; FILES, patterns
of files elsewhere that only this problem needs; EXERCISES, files of data/ that checks read, GOLD,
those of the answers, and GOLD_SHARED, those that are the same for every cohort.
"""

import importlib
from pathlib import Path
from types import SimpleNamespace

_NOTHING = {
    "CODE": (),
    "ANSWERS": {},
    "SUPPLIED": (),
    "NEEDED": (),
    "TARGETS": (),
    "FILES": (),
    "EXERCISES": (),
    "GOLD": (),
    "GOLD_SHARED": (),
    "OPTIONS": "--submission, --out, --seed",
}


def _contents(number):
    module = importlib.import_module(f"jobs.problem{number}.contents")
    return SimpleNamespace(**_NOTHING | {name: getattr(module, name) for name in vars(module)})


PROBLEMS = {
    number: _contents(number)
    for number in sorted(
        path.parent.name.removeprefix("problem")
        for path in Path(__file__).parent.glob("problem*/contents.py")
    )
}


def listed(name: str) -> tuple[str, ...]:
    """What the problems list under a name, each item once."""
    return tuple(dict.fromkeys(item for one in PROBLEMS.values() for item in getattr(one, name)))
