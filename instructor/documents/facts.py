"""The facts that the handout and other documents repeat from code, data and results.

Points, titles and thresholds come from the grading manifest, the course from course.toml, sizes
from the presets and data/problem1.md, and measured accuracies from instructor/results.
"""

import csv
import re
import unicodedata
from pathlib import Path

from autograder.manifest import Manifest
from common.files import UserError, read_text
from instructor import ROOT
from instructor.course import SETTINGS, read_course
from instructor.release.build import ASSISTANTS
from instructor.release.starter import KEPT_RESULTS
from jobs.deliverables import DELIVERABLES, supplied_to
from jobs.presets import GPU, LAPTOP
from jobs.targets import JOBS, chosen

GOLD = ROOT / "instructor" / "gold"
# By key; not yet escaped for TeX. A list has the cells of a table's row.
Facts = dict[str, str | list[str]]
UNGRADED = ("1a", "1b", "2a", "2b", "2c")
ROMAN = ("i", "ii", "iii", "iv", "v", "vi")
MODELS = {"nopretrain": ("vanilla", False), "vanilla": ("vanilla", True), "rope": ("rope", True)}
# What is read of results/seeds.tsv, which has the columns that benchmarks/sweep.py writes
SEED_COLUMNS = {
    "nopretrain": "no pretraining, dev",
    "vanilla": "learned positions, dev",
    "rope": "RoPE, dev",
    "baseline": "most common",
}


def gather(settings: Path = SETTINGS) -> dict[str, str]:
    """All facts: key -> text, not yet escaped for TeX. settings is a course.toml."""
    course = read_course(settings)
    facts = {"title": course.title, "course": course.course, "due": course.due}
    facts["assistants"] = ASSISTANTS[0] if course.assistants else ""
    for number in course.handed_out:
        facts |= {f"problem {number} chosen": "yes", f"problem {number} worth": ""}
    for id in UNGRADED:
        if id[:-1] in course.handed_out:
            facts |= _names(id) | {f"question {id} worth": "not graded"}
    facts |= points(course.manifest()) | sizes() | measured()
    problems = chosen(course.handed_out)
    kinds = {
        "written": [name for each in problems for name in (*each.code, *each.answers)],
        "encoder": ["encoder.params"],
        "supplied": supplied_to(course.handed_out),
    }
    for kind, model in MODELS.items():
        jobs = (job for job in JOBS.values() if (job.variant, job.pretrained) == model)
        kinds[kind] = [job.writes for job in jobs]
    for kind, names in kinds.items():
        facts[f"deliverables {kind}"] = ", ".join(name for name in DELIVERABLES if name in names)
    return facts


def points(manifest: Manifest) -> dict[str, str]:
    """The graded questions and checks, with their points."""
    facts = {}
    for id, check in manifest.checks.items():
        for name in ("points", "seconds", "memory"):
            facts[f"check {id} {name}"] = f"{getattr(check, name):g}"
        facts[f"check {id} worth"] = _points(check.points)
    for id, question in manifest.questions.items():
        mine = [check for check in manifest.checks.values() if check.question == id]
        parts = [check for check in mine if not check.coded]
        written = sum(check.points for check in parts)
        coded = sum(check.points for check in mine if check.coded)
        worth = ", coded" if coded else ", written"
        if coded and written:
            worth = f": {coded:g} coded, {written:g} written"
        extra = question.extra_credit
        facts |= _names(id) | {
            f"question {id} title": question.title,
            f"question {id} worth": _points(coded + written) + worth + ", extra credit" * extra,
            f"question {id} points": f"{coded + written:g}" + " extra" * extra,
        }
        for number, name in enumerate(question.steps, start=1):
            checks = [check for check in mine if check.step == number]
            basic = [check.id.removesuffix("-basic") for check in checks if check.kind == "basic"]
            hidden = ["hidden ones"] * any(check.kind == "hidden" for check in checks)
            facts |= {
                f"step {id}-{number} name": f"Step {number}: {name}",
                f"step {id}-{number} worth": _points(sum(check.points for check in checks)),
                f"step {id}-{number} checks": ", ".join(basic + hidden),
            }
        for part, check in zip(ROMAN, parts):
            several, name = len(parts) > 1, facts[f"question {id} name"]
            facts[f"check {check.id} part"] = part if several else "Written"
            facts[f"check {check.id} name"] = f"{name} {part}" if several else name
    for number in manifest.problems:
        mine = [question for id, question in manifest.questions.items() if id[:-1] == number]
        required = sum(question.points for question in mine if not question.extra_credit)
        extra = sum(question.points for question in mine if question.extra_credit)
        worth = [_points(required)] * bool(required)
        worth += [f"{_points(extra)} of extra credit"] * bool(extra)
        facts |= {
            f"problem {number} worth": " and ".join(worth),
            f"problem {number} points": f"{required or extra:g}",
            f"problem {number} extra": f"{extra:g}" if required and extra else "",
        }
    for size, floors in manifest.settings["accuracy"].items():
        facts |= {f"floor {size} {name}": f"{100 * floor:g}%" for name, floor in floors.items()}
    return facts


def _names(id: str) -> dict[str, str]:
    """A question's letter and name."""
    return {f"question {id} letter": id[-1], f"question {id} name": f"{id[:-1]}({id[-1]})"}


def sizes() -> dict[str, str]:
    """The presets and the two worlds of data/."""
    facts = {"gpu pretrain rate": _rate(GPU.pretrain)}
    for preset in (GPU, LAPTOP):
        for field in ("n_layer", "n_head", "n_embd", "block_size"):
            facts[f"{preset.name} {field}"] = str(getattr(preset, field))
    stages = {
        "scratch": LAPTOP.finetune_from_scratch,
        "pretrained": LAPTOP.finetune_pretrained,
        "pretrain": LAPTOP.pretrain,
    }
    for name, stage in stages.items():
        facts |= {
            f"laptop {name} epochs": str(stage.max_epochs),
            f"laptop {name} batch": str(stage.batch_size),
            f"laptop {name} rate": _rate(stage),
            f"laptop {name} decay": f"{stage.weight_decay:g}",
        }
    about = read_text(ROOT / "data" / "problem1.md")
    for name, gpu, laptop in re.findall(r"(?m)^\| (.+?) \| (.+?) \| (.+?) \|$", about):
        facts |= {f"data gpu {name}": gpu, f"data laptop {name}": laptop}
    return facts


def _rate(stage):
    mantissa, exponent = f"{stage.learning_rate:e}".split("e")
    return f"{float(mantissa):g}e{int(exponent)}"


def measured() -> dict[str, str]:
    """Accuracies with the preset laptop: of the stored reference, and over the seeds."""
    facts = {}
    for job in JOBS.values():
        if job.split:
            folder = (GOLD if job.split == "test" else ROOT / "data") / LAPTOP.data
            rows = read_text(folder / f"birth_{job.split}.tsv").splitlines()
            answers = read_text(KEPT_RESULTS / job.writes).splitlines()
            pairs = zip(rows, answers, strict=True)
            right = sum(row.split("\t")[1] == answer for row, answer in pairs)
            name = job.writes.removesuffix(".predictions")
            facts[f"reference {name}"] = f"{100 * right / len(rows):.0f}%"
    for name, dev in seeds().items():
        facts["seeds"] = str(len(dev))
        least, most = f"{min(dev):.0f}", f"{max(dev):.0f}"
        facts[f"seeds {name} dev"] = f"{least}%" if min(dev) == max(dev) else f"{least} to {most}%"
        facts[f"seeds {name} dev mean"] = f"{sum(dev) / len(dev):.0f}%"
    return facts


def seeds() -> dict[str, list[float]]:
    """For each of SEED_COLUMNS, the dev accuracies of all seeds, in percent."""
    rows = list(csv.DictReader(read_text(KEPT_RESULTS / "seeds.tsv").splitlines(), delimiter="\t"))
    return {
        name: [round(100 * float(row[column]), 1) for row in rows]
        for name, column in SEED_COLUMNS.items()
    }


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
