"""Generates the starter: the reference solution without the code between the markers.

Files that students get complete (`deliverables.GIVEN`) exist only in
src/submission.
"""

import argparse
import ast
import difflib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from checks.support.staging import END, START
from common.files import write_text
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
    found = []
    for name in STUDENT_FILES:
        stubs = re.findall(
            rf"{START}\n\s*raise NotImplementedError\(\"(\w+): (\S+)\"\)", _starter_file(name)
        )
        found += [Place(name, number, *stub) for number, stub in enumerate(stubs)]
    return found


def bodies(folder: Path) -> list[tuple[Place, str]]:
    """Each place with the code between its markers in the files of `folder`."""
    place = re.compile(
        rf"(?<={re.escape(START)}\n).*?(?=^[ \t]*{re.escape(END)})", re.DOTALL | re.MULTILINE
    )
    texts = {
        name: place.findall((folder / name).read_text(encoding="utf-8"))
        for name in {place.file for place in places()}
    }
    return [(place, texts[place.file][place.number]) for place in places()]


def strip_solution(source: str, filename: str) -> str:
    """Replace every solution with a stub.

    Args:
        source: a Python file with pairs of markers. Above each pair, in the same function, a
            comment such as `[part 5c]` says which question it belongs to.
        filename: for error messages.

    Returns:
        The source with `raise NotImplementedError("1h: apply_rotary_emb")` between the markers.

    Raises:
        ValueError: a marker without its partner, or a place without a question.
    """
    names = _function_of_each_line(source)
    result, part, part_function, inside = [], None, None, False
    for number, line in enumerate(source.split("\n"), start=1):
        if found := re.search(r"\[part (\d\w+)\]", line):
            part, part_function = found[1], names.get(number)
        if line.strip() == START:
            name = names.get(number)
            if inside or part is None or part_function != name:
                raise ValueError(
                    f"{filename}, line {number}: no [part ...] above this {START}, or no end of "
                    "the one before"
                )
            indent = line[: len(line) - len(line.lstrip())]
            result += [line, f'{indent}raise NotImplementedError("{part}: {name}")']
            inside = True
        elif line.strip() == END:
            if not inside:
                raise ValueError(f"{filename}, line {number}: {END} without a start")
            result.append(line)
            inside = False
        elif not inside:
            result.append(line)
    if inside:
        raise ValueError(f"{filename}: the last {START} has no end")
    return "\n".join(result)


def _function_of_each_line(source):
    """The qualified name of the innermost function around each line."""
    names = {}

    def visit(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                name = prefix + child.name
                if isinstance(child, ast.FunctionDef):
                    names.update(
                        dict.fromkeys(
                            range(child.lineno, child.end_lineno + 1),
                            name.removesuffix(".__init__"),
                        )
                    )
                visit(child, name + ".")
            else:
                visit(child, prefix)

    visit(ast.parse(source), "")
    return names


def starter_files() -> dict[str, str]:
    """The generated files, code and answer files: name -> text."""
    return {name: _starter_file(name) for name in STUDENT_FILES} | {
        name: empty_answers((SOLUTION / name).read_text(encoding="utf-8"), name) for name in ANSWERS
    }


def _starter_file(name):
    return strip_solution((SOLUTION / name).read_text(encoding="utf-8"), name)


def empty_answers(text: str, name: str) -> str:
    """An answer file without its answers: numbers in JSON become null, choices in TOML empty."""
    if name.endswith(".toml"):
        return re.sub(r'(?m)^(\w+ = )".*"$', r'\1""', text)
    return as_json(blank(json.loads(text)))


def starter_tree() -> dict[str, str]:
    """The whole starter, given files included: name -> text. A release keeps a copy of it for
    grading.
    """
    return {name: (STARTER / name).read_text(encoding="utf-8") for name in GIVEN} | starter_files()


def find_drift(*folders: Path) -> list[str]:
    """Differences between the starter in `folders` (by default src/submission) and what the
    generator makes, as lines of a diff; empty if there are none.
    """
    wanted = starter_files()
    lines = []
    for folder in folders or (STARTER,):
        for name in sorted(wanted.keys() | _others(folder, wanted)):
            path = folder / name
            there = path.read_bytes().decode("utf-8") if path.exists() else ""
            diff = difflib.unified_diff(
                there.splitlines(True),
                wanted.get(name, "").splitlines(True),
                Path(os.path.relpath(path, ROOT)).as_posix(),
                "generated",
            )
            lines += [line.rstrip("\n") for line in diff]
    return lines


def write_starter(*folders: Path) -> None:
    """Write the starter's files into `folders` (by default src/submission), and remove other Python
    files there.
    """
    wanted = starter_files()
    for folder in folders or (STARTER,):
        for name in _others(folder, wanted):
            (folder / name).unlink()
        for name, text in wanted.items():
            (folder / name).parent.mkdir(exist_ok=True)
            write_text(folder / name, text)


def run(args: argparse.Namespace) -> int:
    """Generate src/submission, or check that it is up to date; returns the exit code."""
    if not args.check:
        write_starter()
        print("Wrote src/submission")
        return 0
    if drift := find_drift():
        print("\n".join(drift))
        print(
            "\nsrc/submission is not up to date. Edit instructor/solution, then: python -m "
            "instructor starter"
        )
        return 1
    print("src/submission is up to date.")
    return 0


def _others(folder, wanted):
    """Python files in a folder that the starter does not have."""
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*.py")} - {
        *wanted,
        *GIVEN,
    }
