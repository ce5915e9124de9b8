"""What a probe sent back. Every getter validates the value, and raises WrongAnswer with a sentence
for the student.
"""

import numpy as np

from autograder.inside.wire import Array, Other, describe

from .verdicts import NotImplementedYet, WrongAnswer


class Answer:
    """A value from the student's process, with a name for messages.

    It is untrusted: read it only through these methods, so that nothing unexpected can break a
    verdict.
    """

    def __init__(self, value, name: str):
        self.value = value
        self.name = name

    def __getitem__(self, key: str) -> "Answer":
        """An entry of the dict that a probe returned."""
        if not isinstance(self.value, dict) or key not in self.value:
            raise WrongAnswer(f"The reply has no {key!r}: it is {describe(self.value)}.")
        return Answer(self.value[key], key)

    def named(self, name: str) -> "Answer":
        """The same value with another name for messages."""
        return Answer(self.value, name)

    def present(self) -> "Answer":
        """This answer; None counts as not implemented.

        Raises:
            NotImplementedYet: the value is None.
        """
        if self.value is None:
            raise NotImplementedYet(f"{self.name} is None. Is it filled in, and returned?")
        return self

    def _refuse(self, expected):
        self.present()
        raise WrongAnswer(f"{self.name} should be {expected}; it is {describe(self.value)}.")

    def array(
        self, dtype: str | None = None, shape: tuple | None = None, finite: bool = True
    ) -> np.ndarray:
        """A torch tensor on the CPU, as a NumPy array.

        Args:
            dtype: torch's name, or None for any.
            shape: None in it stands for any length.
            finite: refuse NaN and infinity.
        """
        wanted = f"a{'n' if (dtype or '')[:1] == 'i' else ''} {dtype or ''} tensor".replace(
            "  ", " "
        )
        if shape is not None:
            lengths = ", ".join("any" if n is None else str(n) for n in shape)
            wanted += f" of shape ({lengths}{',' if len(shape) == 1 else ''})"
        value = self.value
        if (
            not isinstance(value, Array)
            or value.kind != "tensor"
            or value.device != "cpu"
            or dtype not in (None, value.dtype)
        ):
            self._refuse(wanted)
        data = value.data
        if shape is not None and (
            data.ndim != len(shape) or any(n not in (None, m) for n, m in zip(shape, data.shape))
        ):
            self._refuse(wanted)
        if finite and data.dtype.kind in "fc" and not np.isfinite(data).all():
            bad = ~np.isfinite(data)
            first = tuple(int(i) for i in np.unravel_index(bad.argmax(), bad.shape))
            raise WrongAnswer(
                f"{self.name} has {bad.sum()} values that are NaN or infinite, the first at "
                f"{first}."
            )
        return data

    def raw(self, dtype: str, ndim: int) -> np.ndarray:
        """A NumPy array made by the probe itself."""
        value = self.value
        if (
            not isinstance(value, Array)
            or value.data.dtype.name != dtype
            or value.data.ndim != ndim
        ):
            self._refuse(f"a {dtype} array with {ndim} axes")
        return value.data

    def number(self) -> float:
        """A finite int or float, not a bool; a tensor or array of one element counts as its
        element.
        """
        value = self.value
        if isinstance(value, Array) and value.data.size == 1 and value.data.dtype.kind in "iuf":
            value = value.data.item()
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not np.isfinite(value):
            self._refuse("a number")
        return value

    def flag(self) -> bool:
        """True or False."""
        if not isinstance(self.value, bool):
            self._refuse("True or False")
        return self.value

    def text(self) -> str:
        """A string."""
        if not isinstance(self.value, str):
            self._refuse("a string")
        return self.value

    def items(self, length: int | None = None) -> list["Answer"]:
        """The items of a tuple or list (of this length, if given)."""
        if not isinstance(self.value, (tuple, list)) or length not in (None, len(self.value)):
            self._refuse(f"a tuple{'' if length is None else f' of {length}'}")
        return [Answer(item, f"{self.name}[{i}]") for i, item in enumerate(self.value)]

    def texts(self) -> list[str]:
        """A list of strings."""
        return [item.text() for item in self.items()]

    def entries(self) -> dict[str, "Answer"]:
        """A dict with string keys."""
        if not isinstance(self.value, dict) or not all(isinstance(key, str) for key in self.value):
            self._refuse("a dictionary with names for keys")
        return {
            key: Answer(value, f"{self.name}[{key[:60]!r}]") for key, value in self.value.items()
        }

    def describe(self) -> str:
        """A description of the value, in words."""
        return self.value.what if isinstance(self.value, Other) else describe(self.value)
