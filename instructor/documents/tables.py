"""The generated parts of Markdown documents: what stands between `<!-- generated: NAME -->` and
`<!-- end -->`.
"""

import json
import re

from common.files import UserError, read_text, write_text
from instructor import ROOT
from instructor.documents.facts import gather
from instructor.documents.sources import Sources
from instructor.release.starter import KEPT_RESULTS, places
from jobs.targets import PROBLEMS, targets_of

DOCUMENTS = ("README.md", "docs/students/problem*.md")
# a name, and a problem's number
BLOCK = re.compile(r"(<!-- generated: (\w+)(?: (\d+))? -->\n\n)(.*?)(\n<!-- end -->)", re.DOTALL)


def problems() -> str:
    """The problems, from the rows of the table on the handout's front page."""
    lines = []
    for row in "".join(Sources(gather()).pieces("parts")).split(r"\\")[:-1]:
        name, points, work, time = (_plain(cell) for cell in row.split(" & "))
        points = points.replace("none", "no").replace("(extra)", "extra")
        lines.append(f"- {name}, {points} points, {time} ({work})\n")
    return "".join(lines)


def demo() -> str:
    """What the demo gave, from the results that are kept with the reference."""
    facts, summary = gather(), json.loads(read_text(KEPT_RESULTS / "summary.json"))
    dev, test = ([f"{model[part]:.0%}" for model in summary["models"]] for part in ("dev", "test"))
    lines = [
        f"The demo took {summary['total_seconds'] / 60:.0f} minutes on {summary['machine']} "
        f"({summary['date']}).",
        f"Right answers on dev: {dev[0]} without pretraining, {dev[1]} with learned positions, "
        f"{dev[2]} with RoPE.",
        f"Over {facts['seeds']} other seeds: {facts['seeds vanilla dev']} and "
        f"{facts['seeds rope dev']}, RoPE ahead in each.",
        "",
        f"![Losses of pretraining and finetuning; right answers (on test {', '.join(test)})]"
        "(docs/demo.png)",
    ]
    return "\n".join(lines) + "\n"


def files(problem: str) -> str:
    """A problem's questions with the files that students write."""
    found = PROBLEMS[problem]
    pairs = [(place.question, place.file) for place in places() if place.file in found.code]
    pairs += [(question, name) for name, question in found.answers.items()]
    written = {}
    for question, file in sorted(set(pairs)):
        written.setdefault(question, []).append(f"`{file}`")
    rows = [[question, ", ".join(names)] for question, names in written.items()]
    return _table([["question", "file"], *rows])


def jobs(problem: str) -> str:
    """A problem's targets of ./run.sh, in the order in which students run them."""
    rows = [
        [target.question, f"`{target.target}`", f"`{target.writes}`" if target.writes else ""]
        for target in targets_of([problem]).values()
    ]
    return _table([["question", "target", "writes"], *rows])


MAKERS = {maker.__name__: maker for maker in (problems, demo, files, jobs)}


def filled(text: str) -> str:
    """A document with its generated parts made anew.

    Raises:
        UserError: a part has an unknown name.
    """

    def fill(match):
        if match[2] not in MAKERS:
            raise UserError(
                f"<!-- generated: {match[2]} -->: there is no such part. Use one of "
                f"{', '.join(MAKERS)}."
            )
        return match[1] + MAKERS[match[2]](*filter(None, [match[3]])) + match[5]

    return BLOCK.sub(fill, text)


def find_stale() -> list[str]:
    """The names of documents whose generated parts are not what they would be now."""
    return [name for name, text in _texts() if filled(text) != text]


def write() -> None:
    """Fill in the generated parts of all documents."""
    for name, text in _texts():
        write_text(ROOT / name, filled(text))


def _texts():
    """Pairs of a document's name and its text."""
    for path in sorted(path for pattern in DOCUMENTS for path in ROOT.glob(pattern)):
        yield path.relative_to(ROOT).as_posix(), read_text(path)


def _table(rows: list[list[str]]) -> str:
    """A Markdown table; the first row is its head."""
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _plain(tex: str) -> str:
    """A cell of a TeX table as Markdown."""
    tex = re.sub(r"\\hyperref\[[^\]]*\]\{([^{}]*)\}", r"\1", tex)
    return " ".join(tex.replace("--", "–").split())
