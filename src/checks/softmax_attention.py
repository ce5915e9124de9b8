"""Running a student's attention in NumPy, and judging what it gives. The checks of question 5c share it."""
import re
from dataclasses import dataclass

import numpy as np

from autograder import Answer, Failed, Verdict, WrongAnswer, probe, require_close
from checks.attention_formula import attend, mistaken

TOLERANCE = {"float32": 1e-5, "float64": 1e-10}         # the handout's


def draw_mask(rng, shape: tuple[int, ...]) -> np.ndarray:
    """A random mask in which every row, along the last axis, has both True and False."""
    rank = rng.random(shape).argsort(axis=-1).argsort(axis=-1)
    return rank < rng.integers(1, shape[-1], size=(*shape[:-1], 1))


def draw_lengths(rng, count: int) -> list[int]:
    """So many lengths, all different, none the root of another."""
    return rng.permutation([5, 6, 7, 8, 10, 11, 12, 13])[:count].tolist()


@probe
def numpy_alone():
    """For probes: a context in which torch computes nothing, and takes no arrays over: neither is NumPy's work."""
    import contextlib
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    refusal = "may not be used here: numpy_attention.py is written with NumPy alone."

    class NoTorch(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            raise RuntimeError(f"torch ({function}) {refusal}")

    def guarded(name):
        def refused(*args, **kwargs):
            raise RuntimeError(f"torch.{name} {refusal}")
        return refused

    context = contextlib.ExitStack()
    for name in ("from_numpy", "from_dlpack", "frombuffer", "as_tensor", "asarray", "tensor"):
        context.callback(setattr, torch, name, getattr(torch, name))
        setattr(torch, name, guarded(name))
    context.enter_context(NoTorch())
    return context


@probe(uses=(numpy_alone,))
def run_attention(cases):
    """attention for each case of Q, K, V, mask: the output or the kinds of the exception, if one is to be `caught`; warnings;
    what became of the inputs. torch computes nothing in the meantime."""
    import warnings
    import numpy as np
    from submission.numpy_attention import attention
    results = []
    for case in cases:
        inputs = {name: case[name] for name in ("Q", "K", "V", "mask")}
        before = {name: None if value is None else value.copy() for name, value in inputs.items()}
        output, raised = None, None
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                given = {} if inputs["mask"] is None else {"mask": inputs["mask"]}
                with numpy_alone():
                    output = attention(inputs["Q"], inputs["K"], inputs["V"], **given)
            except Exception as error:
                if not case["caught"]:
                    raise
                raised = [kind.__name__ for kind in type(error).__mro__]
        # Apple's library for products raises flags without a reason, and NumPy warns of them.
        texts = [str(one.message) for one in caught if issubclass(one.category, RuntimeWarning)]
        texts = [text for text in texts if "in matmul" not in text]
        results.append({"output": output, "raised": raised, "warnings": texts[:3],
                        "changed": [name for name, value in inputs.items()
                                    if value is not None and not np.array_equal(value, before[name])]})
    return results


def read_array(answer: Answer, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """A finite NumPy array that a submission made.

    Raises:
        WrongAnswer: it is something else; names the likely cause of a wrong dtype.
    """
    answer.present()
    found, wanted = answer.describe(), f"a {dtype} NumPy array of shape {shape}"
    if found != wanted:
        cause = ""
        if found == wanted.replace("float32", "float64"):
            cause = "\nLikely cause: a NumPy float64 in the computation, as np.sqrt(d_k) is one. math.sqrt(d_k) leaves "
            cause += "float32 as it is."
        elif "tensor" in found:
            cause = " numpy_attention.py is written with NumPy alone."
        raise WrongAnswer(f"{answer.name} should be {wanted}; it is {found}.{cause}")
    data = answer.raw(dtype, len(shape))
    if not np.isfinite(data).all():
        bad = ~np.isfinite(data)
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise WrongAnswer(f"{answer.name} has {bad.sum()} values that are NaN or infinite, the first at {first}.")
    return data


@dataclass(frozen=True)
class Case:
    """A call of attention: its inputs; the dtype of the output, and how far it may be off (by default the handout's tolerance)
    or the
    exception that must be raised, and why; and a remark on the inputs for messages."""
    Q: np.ndarray
    K: np.ndarray
    V: np.ndarray
    mask: np.ndarray | None = None
    dtype: str = "float64"
    tolerance: float | None = None
    raises: str | None = None
    remark: str = ""

    @property
    def inputs(self) -> dict:
        """The arguments."""
        return {"Q": self.Q, "K": self.K, "V": self.V, "mask": self.mask}

    @property
    def call(self) -> str:
        """The call in words, with shapes and dtypes."""
        given = ", ".join(f"{name} {value.shape} {value.dtype}" for name, value in self.inputs.items() if value is not None)
        return f"attention({given}){self.remark}"

    def run(self, student) -> Answer:
        """Run attention; where it fails over shapes, say which, and the usual cause."""
        try:
            return student.run(run_attention, cases=[{**self.inputs, "caught": self.raises is not None}]).items(1)[0]
        except Failed as failed:
            about = r"shape|broadcast|matmul|dimension|operand|axes|axis|index"
            if failed.verdict is not Verdict.EXCEPTION or not re.search(about, failed.message):
                raise
            cause = ""
            if re.search(r"mask\w*\.(T\b|transpose)|(swapaxes|transpose)\(mask", failed.message):
                cause = ("\nLikely cause: the mask is turned around. It broadcasts to (..., L_q, L_k) as it is: a row for each "
                         "query, a column for each key.")
            elif self.Q.ndim > 2 and ".T" in failed.message:
                cause = "\nLikely cause: .T turns all axes around; np.swapaxes(K, -1, -2) transposes the last two alone."
            raise Failed(failed.verdict, f"{failed.message}\nThe call was {self.call}.{cause}") from None

    def judge(self, answer: Answer) -> None:
        """Raise WrongAnswer if the probe's answer is wrong; names the likely cause."""
        if self.raises:
            if answer["raised"].value is None:
                raise WrongAnswer(f"{self.call} should raise a {self.raises}; it returned {answer['output'].describe()}.")
            if self.raises not in (kinds := answer["raised"].texts()):
                raise WrongAnswer(f"{self.call} should raise a {self.raises}; it raised "
                                  f"{kinds[0] if kinds else 'something else'}.")
            return
        expected = attend(**self.inputs)
        warned = f" NumPy warned: {'; '.join(warnings)}." if (warnings := answer["warnings"].texts()) else ""
        try:
            output = read_array(answer["output"].named(self.call), self.dtype, expected.shape).astype(float)
        except WrongAnswer as wrong:
            if "NaN" in wrong.message:
                raise WrongAnswer(f"{wrong.message}{warned}{self._nan_cause()}") from None
            raise
        with np.errstate(all="ignore"):         # a mistake may overflow
            require_close(self.call, output, expected, self.tolerance or TOLERANCE[self.dtype], mistaken(**self.inputs))
        if warned:
            raise WrongAnswer(f"{self.call} is right, but there should be no warning.{warned}{self._nan_cause()}")

    def _nan_cause(self):
        if self.mask is not None and not self.mask.any(axis=-1).all():
            return ("\nLikely cause: a row that may attend to nothing has no largest score but -inf, and a sum of 0. Replace "
                    "both before use.")
        return ("\nLikely cause: the exponential of a large score, or a sum of 0. Subtract from each row its largest score among "
                "the keys that may be attended to.")


def require_attention(student, *cases: Case) -> list[Answer]:
    """Run attention on all cases, in one probe where that is possible, and judge it.

    Returns:
        What the probe returned for each, for more looks at it.

    Raises:
        Failed: the first case that is wrong; names the likely cause.
    """
    try:
        inputs = [{**case.inputs, "caught": case.raises is not None} for case in cases]
        answers = student.run(run_attention, cases=inputs).items(len(cases))
    except Failed as failed:
        if failed.verdict is not Verdict.EXCEPTION:
            raise
        answers = None
    if answers is None:     # one by one, to say of which
        answers = []
        for case in cases:
            answers.append(case.run(student))
            case.judge(answers[-1])
        return answers
    for case, answer in zip(cases, answers):
        case.judge(answer)
    return answers
