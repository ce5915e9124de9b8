"""The starter: the reference solution less what stands between the markers, so that the two never drift apart.

The files that students are given whole (`deliverables.SUPPLIED`, `__init__.py`) have one home, src/submission.
"""
import ast
import difflib
import json
import os
import re
from dataclasses import dataclass
from pathlib import Path

from checks.support.staging import END, START
from deliverables import ANSWERS, GIVEN
from files import write_text

from .corpus.exercises import as_json, blank

ROOT = Path(__file__).resolve().parents[1]
SOLUTION = ROOT / "instructor" / "solution"
STARTER = ROOT / "src" / "submission"              # the student's room


@dataclass(frozen=True)
class Place:
    """A pair of markers: its file, its number there, the question that it belongs to, and the function around it."""

    file: str
    number: int
    question: str
    function: str


def places() -> list[Place]:
    """Every place that students fill in, as the solution's comments `[part ...]` tell."""
    found = []
    for path in sorted(SOLUTION.glob("*.py")):
        text = strip_solution(path.read_text(encoding="utf-8"), path.name)
        stubs = re.findall(rf"{START}\n\s*raise NotImplementedError\(\"(\w+): (\S+) \(in", text)
        found += [Place(path.name, number, *stub) for number, stub in enumerate(stubs)]
    return found


def bodies(folder: Path) -> list[tuple[Place, str]]:
    """What stands between the markers of each place, in the files of `folder`."""
    place = re.compile(rf"(?<={re.escape(START)}\n).*?(?=^[ \t]*{re.escape(END)})", re.DOTALL | re.MULTILINE)
    texts = {name: place.findall((folder / name).read_text(encoding="utf-8")) for name in {place.file for place in places()}}
    return [(place, texts[place.file][place.number]) for place in places()]


def strip_solution(source: str, filename: str) -> str:
    """Replace every solution by a stub.

    Args:
        source: a Python file with pairs of markers. Above each pair, in the same function, a comment `[part h]` (of
            problem 1) or `[part 5c]` says which question it belongs to.
        filename: for messages, those in the stubs included.

    Returns:
        The source with `raise NotImplementedError("1h: apply_rotary_emb ...")` between the markers.

    Raises:
        ValueError: markers without a partner, or a place that names no question.
    """
    names = _function_of_each_line(source)
    result, part, part_function, inside = [], None, None, False
    for number, line in enumerate(source.split("\n"), start=1):
        if found := re.search(r"\[part (\w+)\]", line):
            part, part_function = found[1], names.get(number)
        if line.strip() == START:
            name = names.get(number)
            if inside or part is None or part_function != name:
                raise ValueError(f"{filename}, line {number}: no [part ...] above this {START}, or no end of the one before")
            question = part if part[0].isdigit() else "1" + part
            indent = line[:len(line) - len(line.lstrip())]
            result += [line, f'{indent}raise NotImplementedError("{question}: {name} (in {filename}, between the markers)")']
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
                    names.update(dict.fromkeys(range(child.lineno, child.end_lineno + 1), name.removesuffix(".__init__")))
                visit(child, name + ".")
            else:
                visit(child, prefix)

    visit(ast.parse(source), "")
    return names


def starter_files() -> dict[str, str]:
    """What the generated files should contain, code and files for answers: name -> text."""
    files = {path.name: strip_solution(path.read_text(encoding="utf-8"), path.name) for path in sorted(SOLUTION.glob("*.py"))}
    return files | {name: empty_answers((SOLUTION / name).read_text(encoding="utf-8"), name) for name in ANSWERS}


def empty_answers(text: str, name: str) -> str:
    """A file of answers without them: the numbers of a JSON file become null, the choices of a TOML file empty."""
    if name.endswith(".toml"):
        return re.sub(r'(?m)^(\w+ = )".*"$', r'\1""', text)
    return as_json(blank(json.loads(text)))


def starter_tree() -> dict[str, str]:
    """The whole starter, given files included: name -> text. A release keeps a copy of it for grading."""
    return {name: (STARTER / name).read_text(encoding="utf-8") for name in GIVEN} | starter_files()


def find_drift(*folders: Path) -> list[str]:
    """Differences between the starter in `folders` (by default src/submission) and what the generator makes, as lines of a
    diff; empty if there are none."""
    wanted = starter_files()
    lines = []
    for folder in folders or (STARTER,):
        for name in sorted(wanted.keys() | {path.name for path in folder.glob("*.py") if path.name not in GIVEN}):
            path = folder / name
            there = path.read_bytes().decode("utf-8") if path.exists() else ""
            diff = difflib.unified_diff(there.splitlines(True), wanted.get(name, "").splitlines(True),
                                        Path(os.path.relpath(path, ROOT)).as_posix(), "generated")
            lines += [line.rstrip("\n") for line in diff]
    return lines


def write_starter(*folders: Path) -> None:
    """Write the starter's files into `folders` (by default src/submission), and remove Python files there that it does not
    have."""
    wanted = starter_files()
    for folder in folders or (STARTER,):
        for path in folder.glob("*.py"):
            if path.name not in wanted and path.name not in GIVEN:
                path.unlink()
        for name, text in wanted.items():
            write_text(folder / name, text)
