"""`python -m instructor viva CLASS`: questions for a talk of five minutes about one's own code.

Each shows lines of the person's own that have full points, and asks about a known mistake there.
Nothing of a submission is run.
"""

import argparse
import random
import re
import textwrap
from functools import cache

from autograder.report import harmless
from common.files import UserError, write_text
from instructor.mistakes import all_mistakes
from instructor.mistakes.patches import PLACES, changed
from instructor.release.starter import Place

from .private import private
from .similar import read_code, regions
from .text import line

# Mistakes that are no misunderstanding: torch does the work, or nothing does it.
UNFIT = re.compile(r"torch's|torch does|SciPy|dispatch|a process of|never says|kept besides")
TELLING = re.compile(r"\s*[^#\s].*[=(].{8}")  # a line to ask about


def run(args: argparse.Namespace) -> int:
    """Write the pages; returns 0.

    Raises:
        UserError: nothing was graded in args.folder, there is no such person, or a file can't be
            written.
    """
    from .finding.people import find_entry
    from .graded_class import load_class
    from .pages.render import HTML

    graded, folder = load_class(args.folder), args.folder / "viva"
    sources = graded.sources
    page, written = HTML.get_template("viva.html.j2"), 0
    for entry in [find_entry(graded, args.person)] if args.person else graded.entries:
        person = entry.person.id
        rng = random.Random(f"{args.seed or graded.codes[person]} {person}")
        try:
            own = parts_of(read_code(sources[person])) if person in sources else {}
            asked = draw(graded.manifest, entry.scores, own, args.questions, rng)
        except UserError as error:
            print(harmless(f"{person} has no page: {error}"))
            continue
        known = {"title": graded.title, "name": line(entry.person.name), "asked": asked}
        with private():
            write_text(folder / f"{entry.folder}.html", page.render(known, staff=True))
            write_text(folder / f"{entry.folder}-student.html", page.render(known, staff=False))
            write_text(folder / f"{entry.folder}.md", markdown(known["name"], asked))
        written += 1
    print(f"Talks: {written}. {f'See {folder}' * bool(written)}".strip())
    return 0


def parts_of(code: dict[str, bytes]) -> dict[Place, str]:
    """What stands between the markers of each Place; nothing of a file that lacks some of them."""
    texts = {name: regions(content) for name, content in code.items()}
    count = {place.file: place.number + 1 for place in PLACES.values()}
    return {
        place: textwrap.dedent(harmless(texts[place.file][place.number])).strip("\n")
        for place in PLACES.values()
        if len(texts.get(place.file, ())) == count[place.file]
    }


@cache
def mistakes() -> dict[str, list[tuple]]:
    """(mistake, Place) of wrong ideas in the code of one Place, by question. A basic check finds
    each, so that the talk tells nothing of what is hidden.
    """
    found, right = {}, parts_of({name: text.encode() for name, text in changed(()).items()})
    for mistake in all_mistakes():
        basic = any("-basic" in id for id in mistake.caught_by)
        if mistake.kind == "misconception" and basic and not UNFIT.search(mistake.why):
            texts = changed(mistake.changes)
            wrong = parts_of({name: text.encode() for name, text in texts.items()})
            differ = [place for place, code in right.items() if wrong.get(place) != code]
            if len(differ) == 1:
                found.setdefault(differ[0].question, []).append((mistake, differ[0]))
    return found


def draw(manifest, scores: dict[str, float], own: dict, count: int, rng: random.Random) -> list:
    """Draw what is asked: for questions with full points the lines of one Place, and a known
    mistake there; and a line of the first, to be explained.

    Raises:
        UserError: there is no such question.
    """
    fit, all_checks = {}, manifest.checks.values()
    for question, known in mistakes().items():
        checks = [check for check in all_checks if check.question == question and check.coded]
        known = [(mistake, place) for mistake, place in known if own.get(place)]
        if checks and known and all(scores.get(c.id, 0) >= c.points for c in checks):
            fit[question] = known
    if not fit:
        raise UserError("no code of theirs between markers has full points.")
    asked = []
    for question in sorted(rng.sample(sorted(fit), min(count, len(fit)))):
        mistake, place = rng.choice(fit[question])
        lines = own[place].split("\n")
        telling = [number for number, text in enumerate(lines, 1) if TELLING.match(text)]
        asked.append(
            {
                "title": f"{question} {manifest.questions[question].title}",
                "place": place,
                "lines": lines,
                "line": rng.choice(telling) if telling and not asked else None,
                # what follows says what would be right, or what happens
                "change": re.split(r"[;:] |\. |, (?:so|which) ", mistake.why)[0].removesuffix("."),
                "mistake": mistake.why,
                "checks": [check for check in all_checks if check.id in mistake.caught_by],
            }
        )
    return asked


def markdown(name: str, asked: list[dict]) -> str:
    """The questions with what the grader would say, as Markdown."""
    plain = re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", name)
    text = f"# A talk with {plain} about their code\n"
    for part in asked:
        code = textwrap.indent("\n".join(part["lines"]), "    ")
        text += f"\n## {part['title']}\n\n`{part['place'].function}`:\n\n{code}\n\n"
        if part["line"]:
            telling = part["lines"][part["line"] - 1].strip()
            text += f"- Why is this line here?\n\n      {telling}\n\n"
        text += f"- What would happen if somebody wrote it differently: “{part['change']}”?\n"
        text += f"  - What the grader would say: {part['mistake']}\n"
        text += "".join(f"  - {check.id}: {check.title}\n" for check in part["checks"])
    return text
