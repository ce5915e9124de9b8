"""Mutants: the reference with one small change in a place that students fill in. They show what no
check asks for. All of some questions, as the test draws them from all:

python tests/checks/mutants.py 5e 6d
"""

import ast
import copy
import itertools
import sys
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from proof import MANIFEST, grade_changes, questions_of, start_process

from autograder import Verdict
from instructor.mistakes.patches import PLACES, Fill, Text
from instructor.release.starter import SOLUTION, Place, bodies

LIST = Path(__file__).with_name("equivalent.txt")
FLIPPED = {"FloorDiv": ast.Div, "Mod": ast.FloorDiv, "Pow": ast.Mult}
PAIRS = "Add Sub, Mult Div, BitAnd BitOr, And Or, Lt LtE, Gt GtE, Eq NotEq, In NotIn, Is IsNot"
for pair in PAIRS.split(", "):
    one, other = pair.split()
    FLIPPED |= {one: getattr(ast, other), other: getattr(ast, one)}
UNORDERED = "min max transpose swapaxes union".split()  # whose arguments may be exchanged
MODULES = "F copy math nn np random re statistics torch".split()  # whose attributes are no methods


class Mutant(NamedTuple):
    """One change: where, what equivalent.txt calls it, and all of the place after the change."""

    place: Place
    name: str
    code: str


def all_mutants() -> list[Mutant]:
    """All changes of all places."""
    return [mutant for place, body in bodies(SOLUTION) for mutant in _of_place(place, body)]


def _of_place(place, body):
    code = textwrap.dedent(body)
    assert code.isascii()  # columns count bytes
    lines = code.split("\n")
    for node, new in itertools.chain.from_iterable(map(_changes, _below(ast.parse(code)))):
        first, last = node.lineno - 1, node.end_lineno - 1
        changed = lines[first][: node.col_offset] + new + lines[last][node.end_col_offset :]
        old = " ".join(ast.get_source_segment(code, node).split())
        name = f"{place.function}, line {node.lineno}: {old} -> {changed.strip()}"
        yield Mutant(place, name, "\n".join([*lines[:first], changed, *lines[last + 1 :]]))


def _below(node):
    """The statements and expressions below a node, without the texts of errors."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.Raise, ast.JoinedStr, ast.arguments)):
            if hasattr(child, "lineno"):
                yield child
            yield from _below(child)


def _changes(node) -> Iterator[tuple[ast.AST, str]]:
    """A part of a node, and what may stand there instead: an operator flipped, a constant one
    larger, a call dropped, two arguments exchanged, a test negated.
    """

    def other(**fields):
        new = copy.copy(node)
        vars(new).update(fields)
        return node, ast.unparse(new) if isinstance(node, ast.stmt) else f"({ast.unparse(new)})"

    def flipped(operator):
        return FLIPPED[type(operator).__name__]()

    match node:
        case ast.BinOp(op=op) | ast.BoolOp(op=op) | ast.AugAssign(op=op) if (
            type(op).__name__ in FLIPPED
        ):
            yield other(op=flipped(op))
        case ast.Compare(ops=ops):
            for i, op in enumerate(ops):
                yield other(ops=[*ops[:i], flipped(op), *ops[i + 1 :]])
        case ast.UnaryOp(operand=operand):
            yield node, f"({ast.unparse(operand)})"
        case ast.Constant(value=bool(value)):
            yield node, str(not value)
        case ast.Constant(value=int(value) | float(value)):
            yield node, repr(value + 1)
        case ast.Expr(value=ast.Call()):
            yield node, "pass"
        case ast.Call(func=function, args=arguments):
            match function:
                case ast.Attribute(value=of) if ast.unparse(of).split(".")[0] not in MODULES:
                    yield node, f"({ast.unparse(of)})"
                case _ if arguments and not isinstance(arguments[0], ast.Starred):
                    yield node, f"({ast.unparse(arguments[0])})"
            ordered = ast.unparse(function).split(".")[-1] not in UNORDERED
            for i, (first, second) in enumerate(zip(arguments, arguments[1:])):
                if ordered and ast.unparse(first) != ast.unparse(second):
                    yield other(args=[*arguments[:i], second, first, *arguments[i + 2 :]])
        case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
            yield test, f"(not ({ast.unparse(test)}))"


class _Seen(Exception):
    """A check does not pass; its argument is the check's id."""


def _stop(outcome):
    assert outcome.verdict is not Verdict.GRADER_ERROR, outcome.details
    if outcome.score < MANIFEST.checks[outcome.id].points:
        raise _Seen(outcome.id)


NAMES = {place: name for name, place in PLACES.items()}


def survivors(process, mutants: Iterable[Mutant]) -> Iterator[Mutant]:
    """Those of the mutants that no check sees and equivalent.txt does not list.

    Asked are the checks of the question, then of the others that use the file; before all, the
    three that saw most mutants of the same function so far, which saves most of the time.
    """
    known, seen = tolerated(), defaultdict(Counter)
    for mutant in (each for each in mutants if each.name not in known):
        question, counts = mutant.place.question, seen[mutant.place.function]
        often = [id for id, _ in counts.most_common(3)]
        later = [id for id in questions_of((Text(mutant.place.file, ""),)) if id != question]
        changes = (Fill(NAMES[mutant.place], mutant.code),)
        try:
            for names in filter(None, (often, [question], later)):
                # checks that train models are for the code of their own question
                slow = names is not later
                grade_changes(process, changes, names, slow=slow, finished=_stop)
            yield mutant
        except _Seen as found:
            counts[found.args[0]] += 1


def tolerated() -> set[str]:
    """The names in equivalent.txt."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.startswith("#")}


if __name__ == "__main__":
    asked = [each for each in all_mutants() if each.place.question in sys.argv[1:]]
    found = []
    with start_process() as process:
        for mutant in survivors(process, asked):
            found.append(mutant)
            print(mutant.name, flush=True)
    print(f"Of {len(asked)} changes, {len(found)} are neither seen nor in {LIST.name}.")
