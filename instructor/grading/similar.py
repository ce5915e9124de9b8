"""`python -m instructor similar`: submissions of a graded class whose code looks alike, by
copydetect, equal files, and nearly equal results. Nothing of a submission is executed.
"""

import argparse
import contextlib
import hashlib
import io
import re
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from tqdm import tqdm

from autograder.intake import Refused, take
from autograder.report import harmless
from checks.support.staging import (
    END,
    GIVEN,
    START,
    NotTaken,
    code_limit,
    put_in_place,
    result_limit,
)
from common.command_line import number
from common.files import why_not_utf8, write_text
from instructor import ROOT
from instructor.grading import similar_results
from instructor.grading.private import private
from instructor.release.pasting import NOISE, fingerprints, released
from instructor.release.starter import SOLUTION
from jobs.deliverables import FOLDERS, STUDENT_FILES

# Of the right submissions in tests/checks/right that have enough code of their own, no two exceed
# 0.45; a copy with other names or in another order reaches 0.85 or more.
THRESHOLD = 0.6
LEAST = 200  # such characters of own code: with fewer, right answers to a small task look alike
# for the report: copydetect's page would load a style sheet and a script from the web
LOADS_NOTHING = (
    '<meta http-equiv="Content-Security-Policy" '
    "content=\"default-src 'none'; style-src 'unsafe-inline'; img-src data:\">"
)
LONGEST = 60_000  # characters between markers; the reference has 8,500, and comparing takes time


def add_parser(commands) -> None:
    """Add the command to the parser of `python -m instructor`."""
    parser = commands.add_parser(
        "similar",
        help="find submissions that look alike",
        description="Find submissions whose code between the markers looks alike, equal files, and "
        "nearly equal results. Writes OUT/similar.html.",
    )
    parser.add_argument("out", type=Path, help="the folder that `grade` wrote")
    parser.add_argument(
        "--threshold",
        type=number(0, 1),
        default=THRESHOLD,
        metavar="T",
        help=f"list pairs above this similarity, from 0 to 1 (default: {THRESHOLD})",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Compare, print what is equal, and write copydetect's report; returns 0, whatever was found.

    Raises:
        UserError: nothing was graded in args.out, or nothing can be written there.
    """
    from instructor.grading.graded_class import load_sources

    texts, digests, left_out, results = {}, {}, {}, {}
    for person, source in tqdm(
        load_sources(args.out).items(), "reading", disable=None, leave=False
    ):
        text, digests[person], problem = read_own(source)
        (left_out if problem else texts)[person] = problem or text
        results[person] = similar_results.read_results(source)
    pairs, report, short = compare(texts, args.threshold)
    left_out |= dict.fromkeys(short, "It has too little code of its own.")
    if report:
        with private():
            write_text(args.out / "similar.html", report)
    print(f"Compared {len(texts) - len(short)} submissions.")
    for person, why in left_out.items():
        print(harmless(f"  {person} was left out: {why}"))
    print(f"Pairs with a similarity above {args.threshold:g}: {len(pairs)}.")
    for share, first, second in pairs:
        print(harmless(f"  {share:.0%}  {first}, {second}"))
    groups = equal_files(digests)
    print(f"Groups with equal files: {len(groups)}.")
    for names, people in groups:
        print(harmless(f"  {', '.join(people)}: {'; '.join(names)}"))
    answers = similar_results.load_answers(args.out) if any(results.values()) else []
    near = similar_results.near_results(results, answers)
    print(f"Pairs with nearly equal results: {len(near)}.")
    for first, second, notes in near:
        print(harmless(f"  {first}, {second}: {'; '.join(notes)}"))
    if report:
        print(f"See {args.out / 'similar.html'}")
    return 0


def read_own(source: Path) -> tuple[str, dict[str, str], str]:
    """Read a submission, a zip or a folder.

    Returns:
        The code between the markers; the SHA-256 of the weights, the predictions and the code
        written in each file, by the file's name with a note such as its number of lines (few lines
        may be equal by chance); and why there is no code to compare, or "".
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        results, taken, package = (Path(folder) / name for name in ("results", "taken", "code"))
        digests = {}
        with contextlib.suppress(Refused, OSError):  # none, or bad ones, which grading has reported
            take(source, results, result_limit)
            files = [path for path in sorted(results.iterdir()) if path.stat().st_size]
            digests |= dict(map(_result, files))
        try:
            take(source, taken, code_limit, folders=FOLDERS, known=STUDENT_FILES)
            put_in_place(taken, package)
            files = [name for name in STUDENT_FILES if (package / name).is_file()]
            code = {name: (package / name).read_bytes() for name in files}
        except (Refused, NotTaken, OSError) as error:
            return "", digests, str(error)
    for name, content in code.items():
        given = set(map(str.rstrip, _text(GIVEN / name).split("\n")))
        lines = map(str.rstrip, regions(content.decode("utf-8", "surrogateescape")).split("\n"))
        if written := [line for line in lines if line and line not in given]:
            counted = f"{name}, {len(written)} line{'s' * (len(written) > 1)}"
            digests[counted] = _hash("\n".join(written).encode("utf-8", "surrogateescape"))
    if why := next(filter(None, (why_not_utf8(*file) for file in code.items())), ""):
        return "", digests, why
    text = "".join(f"# {name}\n{regions(code[name].decode('utf-8'))}\n" for name in code)
    if len(text) > LONGEST:
        why = f"It has {len(text):,} characters between the markers, more than {LONGEST:,}."
    return text, digests, why


def regions(text: str) -> str:
    """The lines between the markers of a file; all lines if there are no markers, so that removing
    them hides nothing.
    """
    lines, inside, found = [], False, False
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for line in text.split("\n"):
        if line.strip() == START:
            inside = found = True
        elif line.strip() == END:
            inside = False
        elif inside:
            lines.append(line)
    return "\n".join(lines) if found else text


def boilerplate() -> list[str]:
    """Code that anyone may have: the starter, the reference, and the released code in src/."""
    student = [_text(folder / name) for name in STUDENT_FILES for folder in (GIVEN, SOLUTION)]
    own = [*map(regions, student), read_own(SOLUTION)[0]]
    return [*student, *own, *map(_text, released(ROOT / "src"))]


def compare(
    texts: dict[str, str], threshold: float
) -> tuple[list[tuple[float, str, str]], str, list[str]]:
    """Compare every pair of people by copydetect's fingerprints: names, blanks, comments and
    strings don't count, nor does the order of functions.

    Returns:
        (similarity, person, person) of the pairs above the threshold, most similar first, where
        the similarity is the larger share of one's code that the other has too; copydetect's
        report as HTML, "" if there are no two people to compare; and the people who were left out,
        since fewer than LEAST characters of their code are no boilerplate.
    """
    from copydetect import CodeFingerprint, CopyDetector

    # A window of one (guarantee_t = noise_t) keeps all hashes, whatever Python's hash seed.
    detector = CopyDetector(
        noise_t=NOISE, guarantee_t=NOISE, display_t=threshold, autoopen=False, silent=True
    )
    known = np.unique(np.array([*set().union(*map(fingerprints, boilerplate()))]))
    people, short = {}, []
    for person, text in texts.items():
        plain = re.sub(r"[^\w.@+-]", "_", person)[:100]
        name = f"{plain}.py" if f"{plain}.py" not in people else f"{plain}-{len(people)}.py"
        own = CodeFingerprint(name, NOISE, 1, known, fp=io.StringIO(text))
        if own.token_coverage < LEAST:
            short.append(person)
            continue
        people[name] = person
        detector.file_data[name] = own  # so the detector reads no file of this name
        detector.add_file(name)
    if len(people) < 2:
        return [], "", short
    detector.run()
    pairs = [
        (max(one, other), people[first], people[second])
        for one, other, first, second, *_ in detector.get_copied_code_list()
    ]
    report = detector.generate_html_report("return")
    report = report.replace("<head>", f"<head>{LOADS_NOTHING}", 1)
    return sorted(pairs, reverse=True), report, short


def equal_files(digests: dict[str, dict[str, str]]) -> list[tuple[list[str], list[str]]]:
    """The groups of people with equal files, as (files, people); most files first, then most
    people.

    Args:
        digests: of each person, by file, as read_own returns them.
    """
    people = defaultdict(list)
    for person, files in digests.items():
        for file in files.items():
            people[file].append(person)
    groups = defaultdict(list)
    for (name, _), group in sorted(people.items()):
        if len(group) > 1:
            groups[tuple(group)].append(name)
    return sorted(
        ((names, list(group)) for group, names in groups.items()),
        key=lambda both: (-len(both[0]), -len(both[1]), both[1]),
    )


def _result(path):
    """What a file of results is called, and its hash."""
    if path.suffix != ".predictions":
        with open(path, "rb") as file:
            return path.name, hashlib.file_digest(file, "sha256").hexdigest()
    lines = path.read_bytes().splitlines()  # line ends depend on the system
    return path.name + ", always the same answer" * (len(set(lines)) < 2), _hash(b"\n".join(lines))


def _hash(content):
    return hashlib.sha256(content).hexdigest()


def _text(path):
    return path.read_text(encoding="utf-8")
