"""Submissions that compute nothing: all functions of a question return an input, or zeros, ones or
noise of the right types and shapes, or they raise. They must earn nothing.
"""

import ast
import textwrap

from instructor.mistakes.patches import PLACES, Fill
from instructor.release.starter import SOLUTION, START, bodies

KINDS = ("zeros", "ones", "noise", "input", "error")
QUESTIONS = sorted({place.question for place in PLACES.values()})
BODIES = {place: textwrap.dedent(body) for place, body in bodies(SOLUTION)}
# The solution runs on copies of all that it could change, to find types and shapes of its results.
BODY = """
import copy, random, sys
def replaced(value, kind={kind!r}):
    if isinstance(value, (list, tuple)):
        items = map(replaced, value)
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, dict):
        return {{name: replaced(item) for name, item in value.items()}}
    if isinstance(value, (bool, int, float)):
        return type(value)({{"zeros": 0, "ones": 1, "noise": 9 * random.random()}}[kind])
    library = sys.modules[type(value).__module__.partition(".")[0]]
    if not hasattr(value, "dtype"):
        return None
    if kind != "noise":
        return getattr(library, kind + "_like")(value)
    if library.__name__ == "torch":
        return (9 * library.rand(value.shape)).to(value)
    return (9 * library.random.random(value.shape)).astype(value.dtype)
try:
    {names}, = copy.deepcopy(({names},))
{code}
except Exception:
    {failed}
"""


def noops(question: str, kind: str) -> tuple[Fill, ...]:
    """The changes that make all functions of a question no-ops of one of the KINDS."""
    names = {place: name for name, place in PLACES.items() if place.question == question}
    return tuple(noop(name, kind) for name in names.values())


def noop(name: str, kind: str) -> Fill:
    """The change that makes a no-op of one place, a key of PLACES: what the solution returns there,
    or assigns for the lines below, is replaced.
    """
    place = PLACES[name]
    source = (SOLUTION / place.file).read_text(encoding="utf-8")
    starts = [i for i, line in enumerate(source.split("\n"), 1) if line.strip() == START]
    start, end = starts[place.number], starts[place.number] + BODIES[place].count("\n")
    functions = [each for each in ast.walk(ast.parse(source)) if isinstance(each, ast.FunctionDef)]
    function = next(each for each in functions if each.lineno < start < each.end_lineno)
    used = [each for each in ast.walk(function) if isinstance(each, ast.Name)]
    before = [e.id for e in used if e.lineno < start and isinstance(e.ctx, ast.Store)]
    inside = [each for each in used if start < each.lineno <= end]
    results = {e.id for e in inside if isinstance(e.ctx, ast.Store) or e.id in before}
    results = sorted(results & {each.id for each in used if each.lineno > end})

    body = ast.parse(BODIES[place])
    returns = [each for each in ast.walk(body) if isinstance(each, ast.Return) and each.value]
    parameters = [each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)]
    if kind == "error":
        return Fill(name, 'raise ValueError("no answer")')
    if function.name == "__init__" or not (results or returns):
        return Fill(name, "pass")
    if kind == "input":
        value = next((each for each in parameters if each != "self"), "self")
        return Fill(name, " = ".join([*results, value]) if results else f"return {value}")
    for each in returns:
        each.value = ast.Call(ast.Name("replaced", ast.Load()), [each.value], [])
    code = [ast.unparse(body), *(f"{each} = replaced({each})" for each in results)]
    code = textwrap.indent("\n".join(code), "    ")
    names = ", ".join(dict.fromkeys([*parameters, *before]))
    failed = " = ".join([*results, "None"]) if results else "return None"
    return Fill(name, BODY.format(kind=kind, names=names, code=code, failed=failed))
