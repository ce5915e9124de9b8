"""Reads hand_attention.json for question 5a, and grades its four matrices one by one."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from autograder import Answer, NotImplementedYet, WrongAnswer, probe
from checks.support.submitted_file import file_content, read_content
from common.files import read_text

FILE = "problem5/hand_attention.json"
TOLERANCE = 0.001  # the handout's, for every entry
GIVEN = ("Q", "K", "V")
PLAIN = "Entries are plain numbers, as -0.5, and there are no comments."


@probe(uses=(file_content,))
def read_json(name):
    """Return the matrices that a JSON file holds, or why it holds none."""
    import json

    def matrices(data):
        content = json.loads(data)
        if not isinstance(content, dict):
            raise ValueError("it should be an object: { ... } around all matrices")
        names = ("Q", "K", "V", "scores", "scaled_scores", "weights", "output")
        return {name: content[name] for name in names if name in content}

    return file_content(name, matrices)


def read_matrix(answer: Answer, shape: tuple[int, int]) -> np.ndarray | None:
    """Read a matrix, a list of rows of numbers; None if it contains a null.

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
        raise WrongAnswer(f"{wanted}; {wrong.name} is {wrong.describe()}, not a row.")
    lengths = [len(row) for row in value]
    if lengths != [width] * height:
        turned = " Rows and columns are swapped." if lengths == [height] * width else ""
        even = len(set(lengths)) == 1
        found = f"{len(lengths)} rows"
        found += f" of {lengths[0]}" if even else f", of lengths {str(lengths[:6])[1:-1]}"
        raise WrongAnswer(f"{wanted}; it has {found}.{turned}")
    numbers = []
    for entry in [entry for row in answer.items() for entry in row.items()]:
        if isinstance(entry.value, str):
            raise WrongAnswer(
                f"{entry.name} is {entry.describe()}. {PLAIN} No quotation marks, and no fractions."
            )
        try:
            numbers.append(math.nan if entry.value is None else entry.number())
        except WrongAnswer:
            raise WrongAnswer(
                f"{entry.name} should be a finite number; it is {entry.describe()}. {PLAIN}"
            ) from None
    return None if any(map(math.isnan, numbers)) else np.array(numbers, float).reshape(shape)


def grade_matrices(
    student, course: Path, judge: Callable[[str, np.ndarray, dict], str | None], hints: bool = True
) -> None:
    """Give a quarter of the points for each correct matrix.

    Args:
        course: the course's file of matrices.
        judge: called with the matrix's name, the matrix, and a dict of the course's Q, K and V and
            the matrices already found correct. It raises WrongAnswer if the matrix is wrong, and
            returns a sentence if it cannot be judged yet.
        hints: report it if Q, K or V was changed.

    Raises:
        NotImplementedYet: no matrix is filled in.
        WrongAnswer: not all are right; lists those that are, and gives their points.
    """
    given = json.loads(read_text(course))
    known = {name: np.array(given[name], float) for name in GIVEN}
    queries, (keys, width) = len(known["Q"]), known["V"].shape
    shapes = dict.fromkeys(("scores", "scaled_scores", "weights"), (queries, keys))
    shapes["output"] = queries, width
    advice = f"{PLAIN} Is there a comma between entries, and none after the last?"
    content = read_content(student, read_json, FILE, advice).entries()
    changed = [name for name in GIVEN if name not in content or content[name].value != given[name]]
    if changed and hints:
        student.hint(
            f"{FILE} has a different {' and a different '.join(changed)} from the course's. "
            "Answers are judged by the course's."
        )
    problems, missing, waiting = {}, [], []  # missing: still contain a null
    for name, shape in shapes.items():
        try:
            if name not in content:
                raise WrongAnswer(f"{name} is missing.")
            matrix = read_matrix(content[name].named(name), shape)
            if matrix is None:
                missing.append(name)
            elif sentence := judge(name, matrix, known):
                waiting.append(sentence)
            else:
                known[name] = matrix
        except WrongAnswer as wrong:
            problems[name] = wrong.message
    if len(missing) == len(shapes):
        raise NotImplementedYet(
            f"{FILE}: each of the four matrices still contains a null. Put a number in place of "
            "each."
        )
    if problems or missing or waiting:
        right = [name for name in shapes if name in known]
        lines = [
            *list(problems.values())[:1],
            *(f"Also wrong: {name}." for name in list(problems)[1:]),
            *(f"{name} still contains a null." for name in missing),
            *waiting,
            *([f"Right: {', '.join(right)}."] if right else []),
        ]
        raise WrongAnswer("\n".join(lines), fraction=len(right) / len(shapes))
