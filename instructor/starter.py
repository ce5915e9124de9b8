"""The starter: the reference solution less what stands between the markers, so that the two never drift apart."""
import ast
import difflib
import json
import os
import re
from pathlib import Path

from deliverables import ANSWERS
from files import write_text

from .corpus.exercises import as_json, blank

ROOT = Path(__file__).resolve().parents[1]
SOLUTION = ROOT / "instructor" / "solution"
STARTER = ROOT / "src" / "submission"              # the student's room
GIVEN = ROOT / "src" / "checks" / "given"           # the same once more, unspoiled, for grading to compare with and take from
START, END = "### START_CODE_HERE ###", "### END_CODE_HERE ###"


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
    """What the starter's files should contain, code and files for answers: name -> text."""
    files = {path.name: strip_solution(path.read_text(encoding="utf-8"), path.name) for path in sorted(SOLUTION.glob("*.py"))}
    return files | {name: empty_answers((SOLUTION / name).read_text(encoding="utf-8"), name) for name in ANSWERS}


def empty_answers(text: str, name: str) -> str:
    """A file of answers without them: the numbers of a JSON file become null, the choices of a TOML file empty."""
    if name.endswith(".toml"):
        return re.sub(r'(?m)^(\w+ = )".*"$', r'\1""', text)
    return as_json(blank(json.loads(text)))


def find_drift(*folders: Path) -> list[str]:
    """Differences between the starter in `folders` (by default both places) and what the generator makes, as lines of a
    diff; empty if there are none."""
    wanted = starter_files()
    lines = []
    for folder in folders or (STARTER, GIVEN):
        for name in sorted(wanted.keys() | {path.name for path in folder.glob("*.py")}):
            path = folder / name
            there = path.read_bytes().decode("utf-8") if path.exists() else ""
            diff = difflib.unified_diff(there.splitlines(True), wanted.get(name, "").splitlines(True),
                                        Path(os.path.relpath(path, ROOT)).as_posix(), "generated")
            lines += [line.rstrip("\n") for line in diff]
    return lines


def write_starter(*folders: Path) -> None:
    """Write the starter's files into `folders` (by default both places), and remove Python files there that it does not
    have."""
    wanted = starter_files()
    for folder in folders or (STARTER, GIVEN):
        for path in folder.glob("*.py"):
            if path.name not in wanted:
                path.unlink()
        for name, text in wanted.items():
            write_text(folder / name, text)
