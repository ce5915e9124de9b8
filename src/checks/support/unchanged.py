"""Whether a function changed its arguments, or a model's weights are what they should be.

A submission can make any comparison in its own process come out as it likes. So only what describes
the numbers comes from there, and the judge compares it with the reference's.
"""

from dataclasses import dataclass

from autograder import WrongAnswer, probe
from checks.support.asked import Close


@probe
def summarize(values):
    """For other probes: of each tensor, array or list of numbers its dtype and shape, the sum of
    its absolute values, and one in which their order counts. By name, or by number in a list.
    """
    import numpy as np
    import torch

    found = {}
    if isinstance(values, list):
        values = {f"number {number}": value for number, value in enumerate(values, 1)}
    for name, value in values.items():
        if not isinstance(value, (torch.Tensor, np.ndarray, list)):
            continue
        numbers = value.detach().double() if isinstance(value, torch.Tensor) else value
        numbers = np.nan_to_num(np.asarray(numbers, dtype=float), nan=3, posinf=5, neginf=7)
        kind, flat = f"{getattr(value, 'dtype', 'numbers')} {numbers.shape}", numbers.ravel()
        ordered = flat @ np.cos(np.arange(flat.size))
        found[name] = [kind, abs(flat).sum().item(), ordered.item()]
    return found


@dataclass(frozen=True)
class Unchanged:
    """What `summarize` says of arguments, or of weights: the same as for the reference.

    says: the message, in which {got} stands for the names of those that differ.
    """

    says: str = (
        "{call} changes its argument {got} in place (as q /= ... and functions like mul_ do)."
    )

    def require(self, call: str, got, right: dict) -> None:
        """Compare two values of a reply; see `Asked`.

        Raises:
            WrongAnswer: they differ.
        """
        got = got if isinstance(got, dict) else {}
        names = [name for name in right | got if not self._same(got.get(name), right.get(name))]
        if names:
            shown = names if len(names) < 5 else [*names[:3], f"{len(names) - 3} others"]
            got = ", ".join(map(str, shown))
            raise WrongAnswer(self.says.format(call=call, got=got))

    def _same(self, got, right):
        try:
            Close(tolerance={"float64": 1e-6}).require("", got, right)
        except WrongAnswer:
            return False
        return True
