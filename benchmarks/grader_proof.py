"""Writes tests/checks/proof.md: wrong submissions against checks, by question and kind; and right
ones.

    python benchmarks/grader_proof.py [--runs N] [--seeds N] [--long FILE] [--resume FILE]
    python benchmarks/grader_proof.py --only 5c 5d       # these questions: prints, writes nothing

Grades each wrong submission once, each right one --runs times, and the reference and the starter
--seeds times, in two processes. --long also writes the tables of all submissions. --resume keeps
results in a file and continues from there, for the same code.
"""

import argparse
import datetime
import json
import multiprocessing
import platform
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "checks"))

from tqdm import tqdm  # noqa: E402

from proof import (  # isort: skip  (it makes the others importable)
    MANIFEST,
    ROOT,
    SLOW,
    collect,
    exceptions,
    faults,
    grade_folder,
    grade_right,
    grade_wrong,
    lost,
    out_of_proportion,
    question_of,
    questions_of,
    share_lost,
    start_process,
)
from common.files import write_text
from variants import KINDS, Right

_process = None


def process():
    """This worker's student's process."""
    global _process
    if _process is None:
        _process = start_process()
    return _process


def points_lost(job: tuple[str, int]) -> dict[str, float]:
    """Grade a submission, by (name, number of the run); returns the points lost, by check. Runs in
    a worker.

    Which checks: see grade_wrong and grade_right.
    """
    name, run = job
    entry = next(
        entry
        for entry in [*collect("wrong", "WRONG"), *collect("right", "RIGHT")]
        if entry.name == name
    )
    if isinstance(entry, Right):
        return lost(grade_right(process(), entry, run, all_checks=True))
    return lost(grade_wrong(process(), entry, all_checks=True))


def points(job: tuple[str, int]) -> float:
    """The points of the reference or the starter, by (folder, number of the run), for all code that
    needs no training.
    """
    return grade_folder(process(), ROOT / job[0], slow=False).score


def run(pool, function, jobs: list, title: str, kept: Path | None) -> list:
    """The results of all jobs, in order, with a progress bar; results in the file `kept` are
    reused.
    """
    done = {}
    if kept and kept.exists():
        for line in kept.read_text(encoding="utf-8").splitlines():
            name, job, result = json.loads(line)
            done[name, *job] = result
    left = [job for job in jobs if (function.__name__, *job) not in done]
    bar = tqdm(
        pool.imap(function, left),
        total=len(jobs),
        initial=len(jobs) - len(left),
        desc=title,
        unit="run",
    )
    for job, result in zip(left, bar):
        done[function.__name__, *job] = result
        if kept:
            with kept.open("a", encoding="utf-8") as file:
                file.write(json.dumps([function.__name__, job, result]) + "\n")
    return [done[function.__name__, *job] for job in jobs]


def found(wrong: list, losses: list[dict]) -> list[str]:
    """A line for each problem."""
    return [
        f"{entry.name}: {fault}"
        for entry, loss in zip(wrong, losses)
        for fault in (*faults(entry, loss), out_of_proportion(entry, loss))
        if fault
    ]


def by_question(wrong: list, losses: list[dict], right: list) -> list[str]:
    """The table of figures."""
    lines = [
        "| question | wrong | caught | seen by basic checks | by hidden checks | share lost, "
        "median (range): misconceptions | slips | edges | right |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for question in dict.fromkeys(
        check.question for check in MANIFEST.checks.values() if check.coded
    ):
        mine = [
            (entry, loss) for entry, loss in zip(wrong, losses) if question_of(entry) == question
        ]
        if mine:
            seen = [
                sum(any(id.endswith(kind) for id in loss) for _, loss in mine)
                for kind in ("basic", "hidden")
            ]
            caught = sum(set(entry.caught_by) <= loss.keys() for entry, loss in mine)
            shares = [
                sorted(share_lost(entry, loss) for entry, loss in mine if entry.kind == kind)
                for kind in KINDS
            ]
            cells = [
                f"{of[len(of) // 2]:.0%} ({of[0]:.0%} to {of[-1]:.0%}) of {len(of)}"
                if of
                else "none"
                for of in shares
            ]
            accepted = sum(question in questions_of(entry.changes) for entry in right)
            lines.append(
                " | ".join(
                    [
                        "",
                        question,
                        str(len(mine)),
                        str(caught),
                        *map(str, seen),
                        *cells,
                        str(accepted),
                        "",
                    ]
                ).strip()
            )
    return lines


def long_tables(
    wrong: list, losses: list[dict], right: list, clean: dict[str, int], runs: int
) -> str:
    """A row for every submission."""

    def cell(text):
        return text.replace("|", "\\|").replace("\n", " ")

    lines = ["# All submissions of the proof", ""]
    for question in dict.fromkeys(question_of(entry) for entry in wrong):
        lines += [
            f"## Wrong submissions for {question}",
            "",
            "| submission | kind | what is wrong | share lost | checks that took points |",
            "|---|---|---|---|---|",
        ]
        for entry, loss in zip(wrong, losses):
            if question_of(entry) == question:
                checks = ", ".join(f"**{id}**" if id in entry.caught_by else id for id in loss)
                lines.append(
                    f"| {entry.name} | {entry.kind} | {cell(entry.why)} | "
                    f"{share_lost(entry, loss):.0%} | {checks} |"
                )
        lines.append("")
    lines += [
        "## Right submissions",
        "",
        "| submission | what is different | runs with full points |",
        "|---|---|---|",
    ]
    lines += [
        f"| {entry.name} | {cell(entry.what)} | {clean[entry.name]} of {runs} |" for entry in right
    ]
    return "\n".join(lines) + "\n"


def page(
    wrong: list,
    losses: list[dict],
    right: list,
    clean: dict[str, int],
    runs: int,
    scores: dict[str, list[float]],
    took: str,
) -> str:
    """The document."""
    quick = sum(
        check.points
        for check in MANIFEST.checks.values()
        if check.coded and not check.artifacts and check.seconds <= SLOW
    )
    missed = sum(not set(entry.caught_by) <= loss.keys() for entry, loss in zip(wrong, losses))
    through = sum(not loss for loss in losses)
    by_reason = {}
    for name, reason in exceptions().items():
        by_reason.setdefault(reason, []).append(name)
    return (
        "\n".join(
            [
                "# The proof of the grader",
                "",
                f"Generated by `python benchmarks/grader_proof.py` on {datetime.date.today()}, on "
                f"{platform.system()} with Python {platform.python_version()}{took}.",
                "`./run.sh test` repeats a part of it with other seeds, `--full` all of it; "
                "`--long FILE` writes a row for every submission.",
                "",
                f"- **{len(wrong)} wrong submissions: {through} got through**; {missed} were "
                "missed by a check that is aimed at them.",
                f"- **{len(right)} right submissions, {runs} runs each: {sum(clean.values())} of "
                f"{len(right) * runs} runs with full points.**",
                *(
                    f"- The {name}, {len(of)} runs: {min(of):g} to {max(of):g} of {quick:g} points "
                    "(all code but what trains a model)."
                    for name, of in scores.items()
                ),
                "",
                "A submission is the reference with a change (tests/checks/wrong, "
                "tests/checks/right).",
                "A wrong one is graded by the checks of the questions that it is aimed at.",
                "The share is that of the question's coded points: a misconception loses at least "
                "25%, an edge at most 10%.",
                "",
                *by_question(wrong, losses, right),
                "",
                "## Exceptions",
                "",
                *(
                    f"- {reason} ({len(names)}: {', '.join(names)})"
                    for reason, names in by_reason.items()
                ),
                *(f"- **{line}**" for line in found(wrong, losses)),
            ]
        )
        + "\n"
    )


def main() -> None:
    """Grade all and write the document."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--long", type=Path, metavar="FILE")
    parser.add_argument("--resume", type=Path, metavar="FILE")
    parser.add_argument("--only", nargs="+", metavar="QUESTION")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    started = time.monotonic()
    wrong = sorted(
        collect("wrong", "WRONG"), key=lambda entry: list(MANIFEST.checks).index(entry.caught_by[0])
    )
    right = collect("right", "RIGHT")
    if args.only:
        wrong = [entry for entry in wrong if question_of(entry) in args.only]
        right = [entry for entry in right if {*questions_of(entry.changes)} & {*args.only}]
        if not wrong and not right:
            parser.error(f"no submission is about {', '.join(args.only)}")
    jobs = [(entry.name, number) for entry in right for number in range(args.runs)]
    clean = dict.fromkeys((entry.name for entry in right), 0)
    with multiprocessing.get_context("spawn").Pool(args.processes) as pool:
        losses = run(pool, points_lost, [(entry.name, 0) for entry in wrong], "wrong", args.resume)
        for (name, _), loss in zip(jobs, run(pool, points_lost, jobs, "right", args.resume)):
            clean[name] += not loss
        if args.only:
            print(
                "\n".join(
                    [
                        *by_question(wrong, losses, right),
                        "",
                        *found(wrong, losses),
                        *(
                            f"{name}: {count} of {args.runs} runs with full points"
                            for name, count in clean.items()
                            if count < args.runs
                        ),
                    ]
                )
            )
            return
        scores = {
            name: run(
                pool, points, [(folder, number) for number in range(args.seeds)], name, args.resume
            )
            for name, folder in (
                ("reference", "instructor/solution"),
                ("starter", "src/submission"),
            )
        }
    took = "" if args.resume else f", in {(time.monotonic() - started) / 60:.0f} minutes"
    write_text(
        ROOT / "tests" / "checks" / "proof.md",
        page(wrong, losses, right, clean, args.runs, scores, took),
    )
    if args.long:
        write_text(args.long, long_tables(wrong, losses, right, clean, args.runs))
    print("Wrote tests/checks/proof.md")


if __name__ == "__main__":
    main()
