"""Generates the starter: the reference solution without the code between the markers.

Files that students get complete (`deliverables.GIVEN`) exist only in
src/submission.
"""

import argparse
import ast
import json
import re
from dataclasses import dataclass
from pathlib import Path

from checks.support.staging import END, START
from common.files import UserError, read_text, write_text
from instructor import ROOT
from instructor.datasets.worlds.exercises import as_json, blank
from jobs.deliverables import ANSWERS, GIVEN, STUDENT_FILES

SOLUTION = ROOT / "instructor" / "solution"
KEPT_RESULTS = ROOT / "instructor" / "results"
STARTER = ROOT / "src" / "submission"


@dataclass(frozen=True)
class Place:
    """A pair of markers: its file, its number there, the question that it belongs to, and the
    function around it.
    """

    file: str
    number: int
    question: str
    function: str


def places() -> list[Place]:
    """Every place that students fill in, from the solution's `[part ...]` comments."""
    return [place for place, _ in bodies(SOLUTION)]


def bodies(folder: Path) -> list[tuple[Place, str]]:
    """Each place with the code between its markers in the files of `folder`."""
    return [
        found
        for name in STUDENT_FILES
        for found in strip_solution(read_text(folder / name), name)[1]
    ]


def strip_solution(source: str, filename: str) -> tuple[str, list[tuple[Place, str]]]:
    """Replace every solution with a stub.

    Args:
        source: a Python file with pairs of markers. Above each pair, in the same function, a
            comment such as `[part 5c]` says which question it belongs to.
        filename: of the places, and for error messages.

    Returns:
        The source with `raise NotImplementedError("1h: apply_rotary_emb")` between the markers, and
        what was there.

    Raises:
        ValueError: a marker without its partner, or a place without a question.
    """
    functions = _function_of_each_line(source)
    kept, found, part, body = [], [], None, None
    for number, line in enumerate(source.splitlines(True), start=1):
        function, where = functions.get(number), f"{filename}, line {number}"
        if label := re.search(r"\[part (\d\w+)\]", line):
            part = label[1], function
        if line.strip() == START:
            if body is not None or part is None or part[1] != function:
                raise ValueError(
                    f"{where}: no [part ...] above this {START}, or no end of the one before"
                )
            indent = line[: len(line) - len(line.lstrip())]
            kept.append(f'{line}{indent}raise NotImplementedError("{part[0]}: {function}")\n')
            body = ""
        elif line.strip() == END:
            if body is None:
                raise ValueError(f"{where}: {END} without a start")
            found.append((Place(filename, len(found), *part), body))
            kept.append(line)
            body = None
        elif body is None:
            kept.append(line)
        else:
            body += line
    if body is not None:
        raise ValueError(f"{filename}: the last {START} has no end")
    return "".join(kept), found


def _function_of_each_line(source):
    """The qualified name of the innermost function around each line."""
    names = {}

    def visit(node, prefix):
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, (ast.FunctionDef, ast.ClassDef))
            name = prefix + child.name if named else prefix
            if isinstance(child, ast.FunctionDef):
                lines = range(child.lineno, child.end_lineno + 1)
                names.update(dict.fromkeys(lines, name.removesuffix(".__init__")))
            visit(child, f"{name}." if named else prefix)

    visit(ast.parse(source), "")
    return names


def starter_files() -> dict[str, str]:
    """The generated files, code and answer files: name -> text."""
    code = {name: strip_solution(read_text(SOLUTION / name), name)[0] for name in STUDENT_FILES}
    return code | {name: empty_answers(read_text(SOLUTION / name), name) for name in ANSWERS}


def empty_answers(text: str, name: str) -> str:
    """An answer file without its answers: numbers in JSON become null, choices in TOML empty."""
    if name.endswith(".toml"):
        return re.sub(r'(?m)^(\w+ = )".*"$', r'\1""', text)
    return as_json(blank(json.loads(text)))


def starter_tree() -> dict[str, str]:
    """The whole starter, given files included: name -> text. A release keeps a copy of it for
    grading.
    """
    return {name: read_text(STARTER / name) for name in GIVEN} | starter_files()


def find_drift(folder: Path = STARTER) -> list[str]:
    """The files of the starter in a folder that are not what the generator makes, or that it does
    not make.
    """
    wanted = {name: text.encode() for name, text in starter_files().items()}
    there = {name: (folder / name).read_bytes() for name in wanted if (folder / name).is_file()}
    changed = {name for name in wanted if there.get(name) != wanted[name]}
    return sorted(changed | _others(folder))


def write_starter(folder: Path = STARTER) -> None:
    """Write the starter's files into a folder, and remove other Python files there."""
    for name in _others(folder):
        (folder / name).unlink()
    for name, text in starter_files().items():
        (folder / name).parent.mkdir(exist_ok=True)
        write_text(folder / name, text)


def _others(folder):
    """Python files in a folder that the starter does not have."""
    there = {path.relative_to(folder).as_posix() for path in folder.rglob("*.py")}
    return there - {*STUDENT_FILES, *GIVEN}


def require_no_drift() -> None:
    """Raise UserError if src/submission is not what the generator makes."""
    if drift := find_drift():
        raise UserError(
            f"In src/submission, {', '.join(drift)}: not what the generator makes of "
            "instructor/solution. Changes belong there (`git diff src/submission` shows what was "
            "changed here). Then run: python -m instructor starter"
        )


def run(args: argparse.Namespace) -> int:
    """Generate src/submission, or check that it is up to date; returns the exit code.

    Raises:
        UserError: it is not.
    """
    if not args.check:
        write_starter()
        print("Wrote src/submission")
        return 0
    require_no_drift()
    print("src/submission is up to date.")
    return 0
