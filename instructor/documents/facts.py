"""The facts that the handout and other documents repeat from code, data and results.

Points, titles and thresholds come from the grading manifest, the course from course.toml, sizes
from the presets and data/problem1.md, and measured accuracies from the reference's results and
docs/accuracy.md.
"""

import re
import unicodedata
from collections.abc import Iterable
from pathlib import Path

from autograder.manifest import Manifest
from common.files import UserError
from instructor import ROOT
from instructor.course import SETTINGS, read_course
from instructor.release.build import ASSISTANTS
from instructor.release.starter import KEPT_RESULTS
from jobs.deliverables import DELIVERABLES, supplied_to
from jobs.presets import GPU, LAPTOP
from jobs.targets import JOBS, chosen

GOLD = ROOT / "instructor" / "gold"
UNGRADED = ("1a", "1b", "2a", "2b", "2c")
ROMAN = ("i", "ii", "iii", "iv", "v", "vi")
MODELS = {"nopretrain": ("vanilla", False), "vanilla": ("vanilla", True), "rope": ("rope", True)}
SEED_COLUMNS = ("nopretrain", "vanilla", "rope", "baseline")  # of the table in docs/accuracy.md


def gather(settings: Path = SETTINGS) -> dict[str, str]:
    """All facts: key -> text, not yet escaped for TeX. settings is a course.toml."""
    course = read_course(settings)
    facts = {"title": course.title, "course": course.course, "due": course.due}
    facts["assistants"] = ASSISTANTS[0] if course.assistants else ""
    facts |= {f"problem {number} worth": "" for number in course.handed_out}
    facts |= points(course.manifest()) | ungraded(course.handed_out)
    facts |= {f"problem {number} chosen": "yes" for number in course.handed_out}
    facts |= sizes() | measured()
    written = [
        name for problem in chosen(course.handed_out) for name in (*problem.code, *problem.answers)
    ]
    kinds = {
        "written": written,
        "encoder": ("encoder.params",),
        "supplied": supplied_to(course.handed_out),
    } | {
        name: {job.writes for job in JOBS.values() if (job.variant, job.pretrained) == model}
        for name, model in MODELS.items()
    }
    facts |= {
        f"deliverables {kind}": ", ".join(name for name in DELIVERABLES if name in names)
        for kind, names in kinds.items()
    }
    return facts


def points(manifest: Manifest) -> dict[str, str]:
    """The graded questions and checks, with their points."""
    titles = {id: question.title for id, question in manifest.questions.items()}
    extra = {id for id, question in manifest.questions.items() if question.extra_credit}
    coded, written = dict.fromkeys(titles, 0), dict.fromkeys(titles, 0)
    for check in manifest.checks.values():
        (coded if check.coded else written)[check.question] += check.points

    facts = {}
    for id, check in manifest.checks.items():
        for name in ("points", "seconds", "memory"):
            facts[f"check {id} {name}"] = f"{getattr(check, name):g}"
        facts[f"check {id} worth"] = _points(check.points)
    for id, title in titles.items():
        number, letter = id[:-1], id[-1]
        kinds = [kind for kind, worth in (("coded", coded[id]), ("written", written[id])) if worth]
        worth = _points(coded[id] + written[id])
        if len(kinds) == 2:
            worth += f": {coded[id]:g} coded, {written[id]:g} written"
        else:
            worth += f", {kinds[0]}"
        facts |= {
            f"question {id} title": title,
            f"question {id} letter": letter,
            f"question {id} name": f"{number}({letter})",
            f"question {id} worth": worth + (", extra credit" if id in extra else ""),
            f"question {id} points": f"{coded[id] + written[id]:g}" + " extra" * (id in extra),
        }
        for step, name in enumerate(manifest.questions[id].steps, start=1):
            mine = [
                check
                for check in manifest.checks.values()
                if check.question == id and check.step == step
            ]
            facts |= {
                f"step {id}-{step} name": f"Step {step}: {name}",
                f"step {id}-{step} worth": _points(sum(check.points for check in mine)),
                f"step {id}-{step} checks": ", ".join(
                    [check.id.removesuffix("-basic") for check in mine if check.kind == "basic"]
                    + ["hidden ones"] * any(check.kind == "hidden" for check in mine)
                ),
            }
        parts = [
            check for check in manifest.checks.values() if check.question == id and not check.coded
        ]
        for part, check in zip(ROMAN, parts):
            name = f"{number}({letter}) {part}" if len(parts) > 1 else f"{number}({letter})"
            facts[f"check {check.id} part"] = part if len(parts) > 1 else "Written"
            facts[f"check {check.id} name"] = name
    for number in sorted({id[:-1] for id in titles}):
        mine = [id for id in titles if id[:-1] == number]
        required, more = (
            sum(coded[id] + written[id] for id in mine if (id in extra) == wanted)
            for wanted in (False, True)
        )
        worth = [_points(required)] * bool(required) + [f"{_points(more)} of extra credit"] * bool(
            more
        )
        facts |= {
            f"problem {number} worth": " and ".join(worth),
            f"problem {number} points": f"{required or more:g}",
            f"problem {number} extra": f"{more:g}" if required and more else "",
        }
    for size, floors in manifest.settings["accuracy"].items():
        facts |= {f"floor {size} {name}": f"{100 * floor:g}%" for name, floor in floors.items()}
    return facts


def ungraded(problems: Iterable[str]) -> dict[str, str]:
    """The questions of these problems that are not graded."""
    return {
        f"question {id} {name}": text
        for id in UNGRADED
        if id[:-1] in problems
        for name, text in (
            ("letter", id[-1]),
            ("name", f"{id[:-1]}({id[-1]})"),
            ("worth", "not graded"),
        )
    }


def sizes() -> dict[str, str]:
    """The presets and the two worlds of data/."""
    facts = {}
    for preset in (GPU, LAPTOP):
        facts |= {
            f"{preset.name} {field}": str(getattr(preset, field))
            for field in ("n_layer", "n_head", "n_embd", "block_size")
        }
    stages = {
        "scratch": LAPTOP.finetune_from_scratch,
        "pretrained": LAPTOP.finetune_pretrained,
        "pretrain": LAPTOP.pretrain,
    }
    facts["gpu pretrain rate"] = _rate(GPU.pretrain)
    for name, stage in stages.items():
        facts |= {
            f"laptop {name} epochs": str(stage.max_epochs),
            f"laptop {name} batch": str(stage.batch_size),
            f"laptop {name} rate": _rate(stage),
            f"laptop {name} decay": f"{stage.weight_decay:g}",
        }
    for name, gpu, laptop in _rows((ROOT / "data" / "problem1.md").read_text(encoding="utf-8")):
        facts |= {f"data gpu {name}": gpu, f"data laptop {name}": laptop}
    return facts


def _rate(stage):
    mantissa, exponent = f"{stage.learning_rate:e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def measured() -> dict[str, str]:
    """Accuracies with the preset laptop: of the stored reference, and over the seeds of
    docs/accuracy.md.
    """
    facts = {}
    for job in JOBS.values():
        if job.split:
            folder = GOLD / LAPTOP.data if job.split == "test" else ROOT / "data" / LAPTOP.data
            gold = [
                row.split("\t")[1]
                for row in (folder / f"birth_{job.split}.tsv")
                .read_text(encoding="utf-8")
                .splitlines()
            ]
            said = (KEPT_RESULTS / job.writes).read_text(encoding="utf-8").splitlines()
            right = sum(a == b for a, b in zip(gold, said, strict=True))
            facts[f"reference {job.writes.removesuffix('.predictions')}"] = (
                f"{100 * right / len(gold):.0f}%"
            )
    rows = seeds()
    facts["seeds"] = str(len(rows))
    accuracy = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    facts["seeds epochs"] = re.search(r"with (\d+) epochs of pretraining", accuracy)[1]
    for column, name in enumerate(SEED_COLUMNS):
        dev = [values[column] for values in rows]
        span = f"{min(dev):.0f}%" if min(dev) == max(dev) else f"{min(dev):.0f} to {max(dev):.0f}%"
        facts |= {
            f"seeds {name} dev": span,
            f"seeds {name} dev mean": f"{sum(dev) / len(dev):.0f}%",
        }
    return facts


def seeds() -> list[list[float]]:
    """The table of docs/accuracy.md: a row for each seed, with the dev accuracy in percent (the
    first number of a cell) for each of SEED_COLUMNS.
    """
    text = (ROOT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    rows = []
    for seed, *cells in _rows(text):
        if seed.isdigit() and len(cells) == len(SEED_COLUMNS):
            rows.append([float(re.search(r"[\d.]+", cell)[0]) for cell in cells])
    return rows


def _rows(markdown: str) -> Iterable[list[str]]:
    """The cells of all table rows of at least three columns."""
    for line in markdown.splitlines():
        if line.startswith("|") and not line.startswith("|---"):
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if len(cells) >= 3 and cells[0]:
                yield cells


def _points(points: float) -> str:
    return f"{points:g} point{'' if points == 1 else 's'}"


def escape(text: str) -> str:
    """The text with TeX's special characters escaped.

    Raises:
        UserError: a character that the handout's fonts do not have.
    """
    for ch in text:
        if (
            ord(ch) > 126
            and not unicodedata.name(ch, "").startswith("LATIN ")
            and ch not in "–—‘’“”… §"
        ):
            raise UserError(
                f"{ch!r} in {text!r} cannot be typeset: the handout's fonts have only Latin "
                "letters. Write it in Latin letters, in course.toml or a manifest.toml."
            )
    names = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
    return re.sub(r"[\\~^%&_#${}]", lambda match: names.get(match[0], "\\" + match[0]), text)
