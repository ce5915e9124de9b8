"""Question 5a, basic: attention by hand, from a file of numbers."""
import json
import math

import numpy as np

from autograder import Answer, NotImplementedYet, WrongAnswer, check, probe
from checks.attention_formula import softmax
from checks.given_file import file_content, read_content
from files import read_text

FILE = "hand_attention.json"
TOLERANCE = 0.001           # the handout's, of every entry
GIVEN = ("Q", "K", "V")
PLAIN = "Entries are plain numbers, as -0.5, and there are no comments."


@probe(uses=(file_content,))
def read_json(name):
    """What a JSON file holds that the question asks for, or why it holds nothing."""
    import json

    def matrices(data):
        content = json.loads(data)
        if not isinstance(content, dict):
            raise ValueError("it should be an object: { ... } around all matrices")
        names = ("Q", "K", "V", "scores", "scaled_scores", "weights", "output")
        return {name: content[name] for name in names if name in content}

    return file_content(name, matrices)


def solve(Q: np.ndarray, K: np.ndarray, V: np.ndarray) -> dict[str, np.ndarray]:
    """The four matrices, in the order in which they are worked out."""
    scores = Q @ K.T
    scaled = scores / math.sqrt(Q.shape[1])
    return {"scores": scores, "scaled_scores": scaled, "weights": softmax(scaled), "output": softmax(scaled) @ V}


def mistaken(Q: np.ndarray, K: np.ndarray, V: np.ndarray) -> dict[str, list]:
    """For each of the four matrices, mistakes known by name as (sentence, what they give)."""
    S, d_k = Q @ K.T, Q.shape[1]
    Z = S / math.sqrt(d_k)
    of_weights = [
        ("the scores are not scaled. Divide them by sqrt(d_k) first.", softmax(S)),
        ("the scores are divided by d_k. It should be its square root.", softmax(S / d_k)),
        ("the softmax goes over columns. It should go over each row, which then adds up to 1.", softmax(Z, 0)),
        ("the scores are not scaled, and the softmax goes over columns instead of rows.", softmax(S, 0)),
        ("the softmax goes over all entries at once. It should go over each row, which then adds up to 1.", softmax(Z, None)),
        ("the exponentials are not divided by their sum.", np.exp(Z)),
        ("powers of 2 stand in place of powers of e.", softmax(Z * math.log(2))),
        ("the exponential has the wrong sign.", softmax(-Z)),
        ("the scores are divided by the root of the number of keys. It should be sqrt(d_k), with the columns of Q and of K.",
         softmax(S / math.sqrt(len(K)))),
    ]
    return {
        "scores": [("they are scaled already. The scores are Q K^T alone.", Z), ("they have the wrong sign.", -S)],
        "scaled_scores": [
            ("they are not scaled, but the scores themselves.",
             S), ("they are divided by d_k. It should be its square root.", S / d_k),
            ("they are multiplied by sqrt(d_k). It should be a division.", S * math.sqrt(d_k)),
            ("they are divided by the root of the number of keys. d_k is the number of columns of Q and of K.",
             S / math.sqrt(len(K))),
            ("they are divided by the root of the number of columns of V. d_k is that of Q and of K.",
             S / math.sqrt(V.shape[1]))],
        "weights": of_weights,
        "output": [(sentence, weights @ V) for sentence, weights in of_weights] + [
            ("V is multiplied with the scaled scores. It should be with the weights.", Z @ V),
            ("V is multiplied with the scores. It should be with the weights.", S @ V),
            ("the columns have changed places.",
             softmax(Z) @ V[:, ::-1]), ("the rows have changed places.", softmax(Z)[::-1] @ V)],
    }


def read_matrix(answer: Answer, shape: tuple[int, int]) -> np.ndarray | None:
    """A list of rows of numbers; None if there is a null in it.

    Raises:
        WrongAnswer: it is something else.
    """
    value, (height, width) = answer.value, shape
    wanted = f"{answer.name} should be a list of {height} rows with {width} numbers each"
    if value is None:
        return None
    if not isinstance(value, list):
        raise WrongAnswer(f"{wanted}; it is {answer.describe()}.")
    if not all(isinstance(row, list) for row in value):
        wrong = next(row for row in answer.items() if not isinstance(row.value, list))
        raise WrongAnswer(f"{wanted}; {wrong.name} is {wrong.describe()}, and no row.")
    lengths = [len(row) for row in value]
    if lengths != [width] * height:
        turned = " Rows and columns have changed places." if lengths == [height] * width else ""
        even = len(set(lengths)) == 1
        found = f"{len(lengths)} rows of {lengths[0]}" if even else f"{len(lengths)} rows, of lengths {str(lengths[:6])[1:-1]}"
        raise WrongAnswer(f"{wanted}; it has {found}.{turned}")
    numbers = []
    for entry in [entry for row in answer.items() for entry in row.items()]:
        if isinstance(entry.value, str):
            raise WrongAnswer(f"{entry.name} is {entry.describe()}. {PLAIN} No quotation marks, and no fractions.")
        try:
            numbers.append(math.nan if entry.value is None else entry.number())
        except WrongAnswer:
            raise WrongAnswer(f"{entry.name} should be a finite number; it is {entry.describe()}. {PLAIN}") from None
    return None if any(map(math.isnan, numbers)) else np.array(numbers, float).reshape(shape)


def require_right(name: str, got: np.ndarray, expected: np.ndarray, causes: list) -> None:
    """Raise WrongAnswer unless no entry is off by more than TOLERANCE; names the likely cause."""
    def agree(other):
        return got.shape == other.shape and bool((np.abs(got - other) <= TOLERANCE + 1e-9).all())

    if agree(expected):
        return
    row, column = map(int, np.argwhere(~(np.abs(got - expected) <= TOLERANCE + 1e-9))[0])
    message = (f"{name}[{row}][{column}] is off by more than {TOLERANCE:g}: got {got[row, column]:.6g}. (Rows and columns are "
               "counted from 0.)")
    cause = next((sentence for sentence, other in causes if agree(other)), None)
    raise WrongAnswer(f"{message}\nLikely cause: {cause}" if cause else message)


@check("5a-0-basic")
def test_by_hand(student, context):
    """A quarter of the points for each matrix; all are compared with what the course's Q, K and V give."""
    given = json.loads(read_text(context.path(FILE)))
    inputs = [np.array(given[name], float) for name in GIVEN]
    advice = f"{PLAIN} Is there a comma between two entries, and none behind the last?"
    content = read_content(student, read_json, FILE, advice).entries()
    changed = [name for name in GIVEN if name not in content or content[name].value != given[name]]
    if changed:
        student.hint(f"{FILE} has another {' and another '.join(changed)} than the course gave you. What is right follows "
                     "from the course's.")
    problems, missing, causes = {}, [], mistaken(*inputs)       # missing: still with a null in them
    expected = solve(*inputs)
    for name, right in expected.items():
        try:
            if name not in content:
                raise WrongAnswer(f"{name} is missing.")
            matrix = read_matrix(content[name].named(name), right.shape)
            if matrix is None:
                missing.append(name)
            else:
                require_right(name, matrix, right, causes[name])
        except WrongAnswer as wrong:
            problems[name] = wrong.message
    if len(missing) == len(expected):
        raise NotImplementedYet(f"{FILE}: each of the four matrices still has a null in it. Put a number in place of each.")
    if problems or missing:
        right = [name for name in expected if name not in problems and name not in missing]
        lines = [*list(problems.values())[:1], *(f"Not right, either: {name}." for name in list(problems)[1:]),
                 *(f"{name} still has a null in it." for name in missing), *([f"Right: {', '.join(right)}."] if right else [])]
        raise WrongAnswer("\n".join(lines), fraction=len(right) / len(expected))
