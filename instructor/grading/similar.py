"""`python -m instructor similar`: submissions of a graded class whose code looks alike, by
copydetect, equal files of code, and nearly equal weights. Nothing of a submission is executed.
"""

import argparse
import io
import re
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
from tqdm import tqdm

from autograder.intake import Refused, take
from autograder.report import harmless
from checks.support.staging import END, GIVEN, START, code_limit, put_in_place
from common.files import UserError, why_not_utf8, write_text
from instructor import ROOT
from instructor.grading.private import private
from instructor.grading.similar_weights import near, read_weights
from instructor.release.pasting import NOISE, fingerprints, released
from instructor.release.starter import SOLUTION
from jobs.deliverables import FOLDERS, STUDENT_FILES

# Of the whole solutions in tests/checks/right/problem1/whole.py, no two exceed 0.45; a copy with
# other names or in another order reaches 0.85 or more.
THRESHOLD = 0.6
LEAST = 200  # such characters of own code: with fewer, right answers to a small task look alike
LONGEST = 60_000  # characters between markers; the reference has 8,500, and comparing takes time
# for the report: copydetect's page would load a style sheet and a script from the web
LOADS_NOTHING = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


def run(args: argparse.Namespace) -> int:
    """Compare, print what is equal, and write copydetect's report; returns 0, whatever was found.

    Raises:
        UserError: nothing was graded in args.folder, or nothing can be written there.
    """
    from instructor.grading.graded_class import load_class

    texts, left_out, codes, weights = {}, {}, {}, {}
    sources = load_class(args.folder).sources.items()
    for person, source in tqdm(sources, "reading", disable=None, leave=False):
        try:
            weights[person] = read_weights(source)
            codes[person] = read_code(source)
            texts[person] = between_markers(codes[person])
        except UserError as error:
            left_out[person] = str(error)
    pairs, report, short = compare(texts, args.threshold)
    if report:
        with private():
            write_text(args.folder / "similar.html", report)
    left_out |= dict.fromkeys(
        short, "Too little of its code differs from the starter and the reference."
    )
    equal, same = equal_files(codes), near(weights)
    lines = [f"Compared {len(texts) - len(short)} submissions."]
    lines += [f"  {person} was left out: {why}" for person, why in left_out.items()]
    lines += [f"Pairs with a similarity above {args.threshold:g}: {len(pairs)}."]
    lines += [f"  {share:.0%}  {first}, {second}" for share, first, second in pairs]
    lines += [f"Files that several people have: {len(equal)}."]
    lines += [f"  {name}, {own} lines: {', '.join(people)}" for name, own, people in equal]
    lines += [f"Pairs with equal or nearly equal weights: {len(same)}."]
    lines += [
        f"  {first}, {second}: {name} (distance {distance:.2g})"
        for first, second, name, distance in same
    ]
    lines += [f"See {args.folder / 'similar.html'}"] if report else []
    print(*map(harmless, lines), sep="\n")
    return 0


def read_code(source: Path) -> dict[str, bytes]:
    """The files that students write code in, by their names, of a submission, a zip or a folder.

    Raises:
        UserError: there are none, or they can't be read.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        taken, package = Path(folder, "taken"), Path(folder, "code")
        try:
            take(source, taken, code_limit, folders=FOLDERS, known=STUDENT_FILES)
            put_in_place(taken, package)
        except (Refused, OSError) as error:
            raise UserError(str(error)) from None
        files = [name for name in STUDENT_FILES if (package / name).is_file()]
        return {name: (package / name).read_bytes() for name in files}


def equal_files(codes: dict[str, dict[str, bytes]]) -> list[tuple[str, int, list[str]]]:
    """The files that several people have with the same lines of their own, blank ones and what the
    starter has aside: (file, number of those lines, people). Few lines may be equal by chance.

    Args:
        codes: of each person, as `read_code` returns it.
    """
    people = defaultdict(list)
    for person, code in codes.items():
        for name, content in code.items():
            given = {b"", *map(bytes.rstrip, (GIVEN / name).read_bytes().splitlines())}
            lines = map(bytes.rstrip, content.splitlines())
            people[name, tuple(line for line in lines if line not in given)].append(person)
    return [
        (name, len(own), group) for (name, own), group in people.items() if own and len(group) > 1
    ]


def between_markers(code: dict[str, bytes]) -> str:
    """The code between the markers of all files.

    Raises:
        UserError: a file is not UTF-8, or there is too much to compare.
    """
    if why := next(filter(None, (why_not_utf8(*file) for file in code.items())), ""):
        raise UserError(why)
    texts = ["".join([f"# {name}\n", *regions(content)]) for name, content in code.items()]
    if len(text := "\n".join(texts)) > LONGEST:
        raise UserError(f"It has {len(text):,} characters between the markers, over {LONGEST:,}.")
    return text


def regions(content: bytes) -> list[str]:
    """What is between each two markers of a file; the whole file if there are no markers, so that
    removing them hides nothing.
    """
    text = re.sub("\r\n?", "\n", content.decode("utf-8", "replace"))
    found = re.findall(rf"(?ms)^[ \t]*{START}[ \t]*\n(.*?)(?:^[ \t]*{END}[ \t]*$|\Z)", text)
    return found or [text]


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
    detector = CopyDetector(noise_t=NOISE, guarantee_t=NOISE, display_t=threshold, silent=True)
    # what anyone may have: the starter, the reference, and the released code in src/
    given = [folder / name for name in STUDENT_FILES for folder in (GIVEN, SOLUTION)]
    given = [path.read_text(encoding="utf-8") for path in (*given, *released(ROOT / "src"))]
    given += [between_markers(read_code(folder)) for folder in (GIVEN, SOLUTION)]
    known = np.unique(np.array([*set().union(*map(fingerprints, given))]))
    people, short = {}, []
    for person, text in texts.items():
        name = f"{re.sub(r'[^A-Za-z0-9_.@+-]', '_', person)[:100]}-{len(people) + 1}.py"
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
        (max(shares), people[first], people[second])
        for *shares, first, second, _, _, _ in detector.get_copied_code_list()
    ]
    policy = f'<head><meta http-equiv="Content-Security-Policy" content="{LOADS_NOTHING}">'
    report = detector.generate_html_report("return").replace("<head>", policy, 1)
    return sorted(pairs, reverse=True), report, short
