"""Runs a student's NumPy attention and judges its output; shared by the checks of question 5c."""

import re

import numpy as np

from autograder import Answer, Failed, Verdict, WrongAnswer, probe
from checks.problem5.numpy_alone import numpy_alone
from checks.support.cases import Case

TOLERANCE = {"float32": 1e-5, "float64": 1e-10}  # the handout's


@probe(uses=(numpy_alone,))
def run_attention(cases):
    """Run attention for each case of Q, K, V, mask: the output, or the classes of the exception if
    one is to be `caught`; warnings; the inputs afterwards. torch is disabled meanwhile.
    """
    import warnings

    import numpy as np

    from submission.problem5.numpy_attention import attention

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
            except NotImplementedError:
                raise
            except Exception as error:
                if not case["caught"]:
                    raise
                raised = [kind.__name__ for kind in type(error).__mro__]
        # Apple's BLAS sets floating-point flags for no reason, and NumPy warns about them.
        texts = [str(one.message) for one in caught if issubclass(one.category, RuntimeWarning)]
        texts = [text for text in texts if "in matmul" not in text]
        results.append(
            {
                "output": output,
                "raised": raised,
                "warnings": texts[:3],
                "changed": [
                    name
                    for name, value in inputs.items()
                    if value is not None and not np.array_equal(value, before[name])
                ],
            }
        )
    return results


def read_array(answer: Answer, dtypes: tuple[str, ...], shape: tuple[int, ...]) -> np.ndarray:
    """Read a finite NumPy array of one of these dtypes.

    Raises:
        WrongAnswer: it is something else; names the likely cause of a wrong dtype.
    """
    answer.present()
    found = answer.describe()
    wanted = [f"a {dtype} NumPy array of shape {shape}" for dtype in dtypes]
    if found not in wanted:
        cause = ""
        if found == wanted[0].replace("float32", "float64"):
            cause = "\nLikely cause: a NumPy float64 in the computation, such as np.sqrt(d_k). "
            cause += "math.sqrt(d_k) keeps float32."
        elif "tensor" in found:
            cause = " Write numpy_attention.py with NumPy only."
        raise WrongAnswer(f"{answer.name} should be {wanted[0]}; it is {found}.{cause}")
    data = answer.raw(dtypes[wanted.index(found)], len(shape))
    if not np.isfinite(data).all():
        bad = ~np.isfinite(data)
        first = tuple(int(i) for i in np.argwhere(bad)[0])
        raise WrongAnswer(
            f"{answer.name} has {bad.sum()} values that are NaN or infinite, the first at {first}."
        )
    return data


def describe(case: Case) -> str:
    """Describe the call, with shapes and dtypes."""
    given = ", ".join(
        f"{name} {value.shape} {value.dtype}"
        for name, value in case.inputs.items()
        if value is not None
    )
    return f"attention({given}){case.about['remark']}"


def _request(case):
    return {**case.inputs, "caught": case.about["raises"] is not None}


def _run(student, case: Case) -> Answer:
    """Run attention; if it fails because of shapes, name them and the usual cause."""
    try:
        return student.run(run_attention, cases=[_request(case)]).items(1)[0]
    except Failed as failed:
        about = r"shape|broadcast|matmul|dimension|operand|axes|axis|index"
        if failed.verdict is not Verdict.EXCEPTION or not re.search(about, failed.message):
            raise
        cause = ""
        if re.search(r"mask\w*\.(T\b|transpose)|(swapaxes|transpose)\(mask", failed.message):
            cause = (
                "\nLikely cause: the mask is transposed. It already broadcasts to (..., L_q, L_k): "
                "a row for each query, a column for each key."
            )
        elif case.inputs["Q"].ndim > 2 and ".T" in failed.message:
            cause = "\nLikely cause: .T reverses all axes; np.swapaxes(K, -1, -2) transposes "
            cause += "the last two alone."
        raise Failed(
            failed.verdict, f"{failed.message}\nThe call was {describe(case)}.{cause}"
        ) from None


def judge(case: Case, answer: Answer) -> None:
    """Raise WrongAnswer if the probe's answer is wrong; names the likely cause."""
    call, raises, dtype = describe(case), case.about["raises"], case.about["dtype"]
    if raises:
        if answer["raised"].value is None:
            raise WrongAnswer(
                f"{call} should raise a {raises}; it returned {answer['output'].describe()}."
            )
        if raises not in (kinds := answer["raised"].texts()):
            raise WrongAnswer(
                f"{call} should raise a {raises}; it raised "
                f"{kinds[0] if kinds else 'something else'}."
            )
        return
    texts = answer["warnings"].texts()
    warned = f" NumPy warned: {'; '.join(texts)}." if texts else ""
    try:
        dtypes = (dtype,) if case.about["strict"] else (dtype, "float64")
        output = read_array(answer["output"].named(call), dtypes, case.right.shape).astype(float)
    except WrongAnswer as wrong:
        if "NaN" in wrong.message:
            raise WrongAnswer(f"{wrong.message}{warned}{_nan_cause(case)}") from None
        raise
    case.require(call, output, case.about["tolerance"] or TOLERANCE[dtype])
    if warned:
        raise WrongAnswer(
            f"{call} is right, but there should be no warning.{warned}{_nan_cause(case)}"
        )


def _nan_cause(case):
    mask = case.inputs["mask"]
    if mask is not None and not mask.any(axis=-1).all():
        return (
            "\nLikely cause: in a row that may attend to nothing, the largest score is -inf and "
            "the sum is 0. Replace both before use."
        )
    return (
        "\nLikely cause: the exponential of a large score, or a sum of 0. Subtract from each row "
        "the largest score of a key that it may attend to."
    )


def require_attention(student, *cases: Case) -> list[Answer]:
    """Run attention on all cases, in one probe if possible, and judge it.

    Returns:
        The probe's answer for each, for further checks.

    Raises:
        Failed: the first case that is wrong; names the likely cause.
    """
    try:
        answers = student.run(run_attention, cases=[_request(case) for case in cases]).items(
            len(cases)
        )
    except Failed as failed:
        if failed.verdict is not Verdict.EXCEPTION:
            raise
        answers = None
    if answers is None:  # one by one, to say which failed
        answers = []
        for case in cases:
            answers.append(_run(student, case))
            judge(case, answers[-1])
        return answers
    for case, answer in zip(cases, answers):
        judge(case, answer)
    return answers


def require_unchanged(answers: list[Answer]) -> None:
    """Raise WrongAnswer if attention has changed what it was given; `answers` are what
    require_attention returned.
    """
    for answer in answers:
        if names := answer["changed"].texts():
            raise WrongAnswer(
                f"attention changes its inputs: {', '.join(names)} were modified. Make new arrays, "
                "with Q = Q / 2 and not Q /= 2."
            )
