"""Builds the upload autograder: a zip that Gradescope unpacks to /autograder/source."""

import argparse
import hashlib
import json
import re
import secrets
import tomllib
import zipfile
from pathlib import Path

from checks.support.context import EXERCISES, GOLD_EXERCISES, GOLD_SHARED, GRADED, Context
from common.files import UserError, read_text, writing
from instructor import ROOT
from instructor.checks.secret import PACKED, staff_rounds
from instructor.checks.solving import all_questions
from instructor.course import read_course
from instructor.release.build import tracked_files
from instructor.release.starter import starter_tree
from jobs.presets import PRESETS
from jobs.problem1.data import SPLITS, TEST_ANSWERS, Data

from .results import GRADER_FAILED, ungraded

HERE = Path(__file__).parent
# All code in the zip, as patterns: no seeds of corpora, no tests, nothing of src/submission; of
# the worlds what makes fresh sentences for 5g.
SOURCES = """
src/*.py src/common/*.py src/jobs/**/*.py src/autograder/**/*.py
src/checks/**/*.py src/checks/**/*.toml
instructor/__init__.py instructor/solution/**/*.py instructor/checks/**/*.py
instructor/grading/__init__.py instructor/grading/causes.py instructor/grading/feedback.py
instructor/grading/text.py instructor/grading/finding/__init__.py
instructor/grading/finding/contents.py instructor/grading/gradescope/*.py
instructor/datasets/__init__.py instructor/datasets/worlds/__init__.py
instructor/datasets/worlds/exercises.py instructor/datasets/worlds/names.py
instructor/datasets/worlds/worlds.toml
""".split()
STAYS_HERE = ("instructor/grading/gradescope/build.py", "instructor/checks/solving.py")
NEEDED = ("torch", "numpy", "tqdm", "pyseccomp")
SECONDS = 480  # for all checks: Gradescope gives 600 by default, and 0 points after that
MARGIN = 90  # for the time around the checks: probing the isolation, importing torch
EXECUTABLE = ("setup.sh", "run_autograder")


def build(out: Path, args: argparse.Namespace) -> dict:
    """Write the zip; the same arguments with a seed give the same bytes.

    Args:
        out: the zip.
        args: the options of the command.

    Returns:
        The settings that went into it.

    Raises:
        UserError: an option contradicts another, data is missing or doesn't match, or the zip
            cannot be written.
    """
    if out.suffix != ".zip" or out.is_dir():
        raise UserError(f"{out} should be the name of a zip file, such as autograder.zip.")
    course = read_course()
    content = {name: (HERE / name).read_bytes() for name in EXECUTABLE}
    content |= sources() | _worlds(args.preset, args.data, args.gold)
    rounds, place = staff_rounds(all_questions()).folder, PACKED.relative_to(ROOT).as_posix()
    content |= {f"{place}/{path.name}": path.read_bytes() for path in rounds.glob("*.zip")}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = [pin for pin in project["dependencies"] if re.match(r"[\w-]+", pin)[0] in NEEDED]
    content["requirements.txt"] = "".join(f"{pin}\n" for pin in pins).encode()
    digest = hashlib.sha256()  # of everything that grades
    for name in sorted(content):
        digest.update(f"{name} {len(content[name])}\n".encode() + content[name])
    secret = f"gradescope {args.seed}" if args.seed is not None else secrets.token_hex(32)
    settings = {
        "version": f"{project['version']}+{digest.hexdigest()[:12]}",
        "preset": args.preset,
        "problems": course.numbers,
        "seconds": args.seconds,
        "secret": hashlib.sha256(secret.encode()).hexdigest(),
        "leaderboard": args.leaderboard,
        "hidden_visibility": args.hidden_visibility,
    }
    failed = ungraded(course.manifest(), settings, GRADER_FAILED, "failed")
    for name, value in (("settings.json", settings), ("failed.json", failed)):
        content[name] = (json.dumps(value, indent=1) + "\n").encode()
    content["time_limit"] = f"{args.seconds + MARGIN}\n".encode()
    # Stored, not compressed: a compressor's output depends on its version.
    with writing(out) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(content):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            mode = 0o100755 if name in EXECUTABLE else 0o100644
            entry.create_system, entry.external_attr = 3, mode << 16
            archive.writestr(entry, content[name])
    return settings


def sources() -> dict[str, bytes]:
    """The program's files by their names in the zip, of those that git tracks."""
    tracked = tracked_files(("src", "instructor"), SOURCES)
    found = {path.relative_to(ROOT).as_posix() for name in SOURCES for path in ROOT.glob(name)}
    given = {f"src/checks/given/{name}": text.encode() for name, text in starter_tree().items()}
    kept = (found & tracked).difference(STAYS_HERE)
    return given | {name: (ROOT / name).read_bytes() for name in kept}


def _worlds(preset, data, gold):
    """The corpora, questions and answers, each in its preset's folder."""
    context = Context(ROOT, preset, data, gold or ROOT / "instructor" / "gold", {})
    if data and not gold:
        raise UserError(
            f"The answers of the test questions in {data} are not in this repository. Give their "
            "folder: --gold DIR."
        )
    content = {}
    for world in [PRESETS[name] for name in ((preset,) if preset else GRADED)]:
        place, questions = Path(world.data), context.data_of(world)
        answers = context.gold / place
        if not (answers / TEST_ANSWERS).is_file():
            answers = context.gold  # a folder for this preset only
        Data(questions, world.block_size, answers).questions("test")  # they fit
        for name in ("wiki.txt", *SPLITS.values()):
            content[("data" / place / name).as_posix()] = read_text(questions / name).encode()
        name = ("instructor/gold" / place / TEST_ANSWERS).as_posix()
        content[name] = (answers / TEST_ANSWERS).read_bytes()
    content |= {f"data/{name}": context.path(name).read_bytes() for name in EXERCISES}
    return content | {
        f"instructor/gold/{name}": context.gold_path(name).read_bytes()
        for name in (*GOLD_EXERCISES, *GOLD_SHARED)
    }


def regular_points(manifest) -> float:
    """The maximum of automatic checks without extra credit: Gradescope's total."""
    regular = {id for id, question in manifest.questions.items() if not question.extra_credit}
    checks = manifest.checks.values()
    return sum(check.points for check in checks if check.coded and check.question in regular)


def run(args: argparse.Namespace) -> int:
    """Build the zip, and say what to do with it; returns the exit code."""
    try:
        settings = build(args.out, args)
    except UserError as error:
        raise UserError(f"{error} Nothing was written.") from None
    points = regular_points(read_course().manifest())
    minutes = -(-(args.seconds + MARGIN + 10) // 60)
    size = args.out.stat().st_size / 2**20
    print(f"Wrote {args.out}, {size:.1f} MiB, version {settings['version']}")
    print(
        f"In Gradescope: autograder points {points:g} (extra credit comes on top), container "
        f"timeout at least {minutes} minutes; upload the zip under Configure Autograder."
    )
    if args.seed is None:
        print("The inputs of the checks are drawn anew by each build; --seed N fixes them.")
    return 0
