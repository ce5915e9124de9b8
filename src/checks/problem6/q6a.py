"""Question 6a, basic: random sizes and the handout's; counts that no float can hold, and sizes that
must be rejected.
"""

from dataclasses import dataclass

from autograder import Answer, WrongAnswer, describe, probe
from checks.support.asked import Asked


@probe
def account(function, sizes, options):
    """Call a function of accounting.py with sizes by position, and options by name. Ints that are
    too large for a message are written out.
    """
    from submission.problem6 import accounting

    def plain(value):
        if isinstance(value, tuple):
            return tuple(map(plain, value))
        if isinstance(value, dict):
            return {key: plain(item) for key, item in value.items()}
        if type(value) is int and abs(value) >= 2**63:
            return f"{value:,}" if abs(value) < 10**300 else "1,000,... with over 300 digits"
        return value

    return {"output": plain(getattr(accounting, function)(*sizes, **options))}


@dataclass(frozen=True)
class Exact:
    """Ints of any size, tuples of them, and dicts of these by name."""

    def require(self, call: str, got, right) -> None:
        """Compare two values of a reply; see `Asked`.

        Raises:
            WrongAnswer: they differ.
        """
        Answer(got, call).present()
        if isinstance(right, dict) and isinstance(got, dict) and got.keys() == right.keys():
            for key, value in right.items():
                self.require(f"{call}[{key!r}]", got[key], value)
        elif repr(got) != repr(right):  # 4.0 and True are other values than 4 and 1
            raise WrongAnswer(f"{call} should be {_shown(right)}; it is {_shown(got)}.")


def _shown(value):
    """A count with commas."""
    if type(value) is int:
        return f"{value:,}"
    if isinstance(value, tuple):
        return f"({', '.join(map(_shown, value))})"[:300]
    if isinstance(value, dict):
        return f"a dict with {', '.join(map(repr, value)) or 'nothing'}"[:300]
    return value[:400] if isinstance(value, str) and "," in value else describe(value)


def written(inputs: dict) -> str:
    """The call as a student would write it."""
    options = (f"{name}={value!r}" for name, value in inputs["options"].items())
    return f"{inputs['function']}({', '.join([*map(repr, inputs['sizes']), *options])})"


COUNTS = Asked(account, written, {"output": Exact()})
