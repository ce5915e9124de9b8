"""`python -m instructor release OUT`: makes the students' copy from an allow-list of files, as a
folder and a zip, and tests it.
"""

import argparse
import contextlib
import hashlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path, PurePosixPath

from common.files import UserError
from instructor.course import Course, read_course

from .starter import find_drift, starter_tree
from .student_texts import student_pyproject, student_readme

ROOT = Path(__file__).resolve().parents[2]
# What is released: of folders, the files that git tracks and that have these suffixes.
FOLDERS = {
    "src": {".py", ".toml", ".ini", ".ipynb", ".json", ".npz"},
    "data": {".txt", ".tsv", ".md", ".json"},
}
FILES = ("LICENSE", "run.sh", "environment.yml", "collect_submission.sh", "collect_submission.bat")
MADE = ("README.md", "pyproject.toml", "course.toml")  # from the files of these names
BINARY = {".pdf", ".npz"}


def add_parser(commands) -> None:
    """Add the command to `python -m instructor`."""
    command = commands.add_parser(
        "release",
        help="make the students' copy, as a folder and a zip",
        description="Make the students' copy: the folder OUT and OUT.zip. It is scanned "
        "for leaks and tested: its commands work, the starter scores 0, and the reference gets "
        "full points.",
    )
    command.add_argument(
        "out", type=Path, metavar="OUT", help="the folder to make; OUT.zip is written beside it"
    )
    command.add_argument(
        "--title", help="the assignment's title (default of this and the next two: course.toml)"
    )
    command.add_argument("--course", help="the course's name")
    command.add_argument("--due", help="the due date, in words")
    command.add_argument(
        "--cohort",
        type=int,
        metavar="SEED",
        help="make new people, corpora and questions. Anyone with the seed and this "
        "repository can work out the answers: draw a large one",
    )
    command.add_argument(
        "--gold",
        type=Path,
        metavar="DIR",
        help="with --cohort: the folder to make for the answers to its test questions",
    )
    command.add_argument(
        "--new-environment",
        action="store_true",
        help="also let the copy's ./run.sh make its environment, which downloads packages",
    )
    command.add_argument(
        "--no-handout",
        action="store_true",
        help="omit the handout, which needs TeX Live and pandoc",
    )
    command.add_argument(
        "--quick",
        action="store_true",
        help="grade only the code of the reference, not its results "
        "(which with --cohort saves their training, some 5 minutes)",
    )
    command.add_argument("--no-proof", action="store_true", help="scan for leaks, but test nothing")
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Make a release; returns the exit code: 1 if it leaks or does not work, and then nothing is
    written.

    Raises:
        UserError: the options or this copy of the project are wrong.
    """
    from instructor.release.pasting.answers import find_answering
    from instructor.release.pasting.fingerprints import find_repeated

    from .cases import find_differences
    from .handout import build_handout
    from .known_secrets import gather_secrets
    from .leaks import find_leaks, read_zip
    from .smoke_test import Failed, prove

    if args.no_proof and (args.quick or args.new_environment):
        raise UserError(
            "--quick and --new-environment set how the release is tested, but --no-proof skips the "
            "tests. Choose."
        )
    course = read_course(title=args.title, course=args.course, due=args.due)
    out, gold = _check_places(args.out, args.cohort, args.gold)
    if drift := find_drift():
        raise UserError(
            "\n".join(
                [
                    *drift[:20],
                    "The starter is not what the solution gives (above). Run: python -m instructor "
                    "starter",
                ]
            )
        )
    handout = {} if args.no_handout else build_handout(course)
    with (
        tempfile.TemporaryDirectory(prefix=".release-", dir=out.parent) as scratch,
        tempfile.TemporaryDirectory(prefix=".gold-", dir=(gold or out).parent) as secret,
    ):
        tree, archive, answers = (
            Path(scratch) / "tree",
            Path(scratch) / "tree.zip",
            Path(secret) / "gold",
        )
        seeds = make_tree(tree, course, args.cohort, answers, handout)
        zip_tree(tree, archive)
        files, leaks = read_zip(archive)
        top, handed_out = f"{project_name()}/", read_tree(tree)
        if {name.removeprefix(top): content for name, content in files.items()} != handed_out:
            leaks.append("The zip and the folder differ.")
        leaks += find_leaks(handed_out, gather_secrets(seeds, sorted(answers.rglob("*.tsv"))))
        leaks += [
            f"The cases: {difference}. Run: python -m instructor cases"
            for difference in find_differences()
        ]
        leaks += find_repeated(tree / "src")
        if not args.no_proof:
            print(
                "Calling every released function with the inputs of solved cases (minutes)",
                flush=True,
            )
            leaks += find_answering(tree / "src")
        if leaks:
            print(
                "\n".join(
                    [
                        *leaks,
                        "",
                        f"The release leaks at the {len(leaks)} places above. Nothing was written.",
                    ]
                ),
                file=sys.stderr,
            )
            return 1
        print(f"Leak scan: nothing found in {len(handed_out)} files", flush=True)
        if not args.no_proof:
            try:
                prove(archive, answers if seeds else None, args.quick, args.new_environment)
            except Failed as error:
                print(
                    f"\n{error}\nThe release does not work. Nothing was written.", file=sys.stderr
                )
                return 1
        _publish([(answers, gold)] * bool(seeds) + [(tree, out), (archive, zip_of(out))])
    _say_what_next(out, gold, args)
    return 0


def zip_of(out: Path) -> Path:
    """The zip that belongs to the folder of a release."""
    return out.with_name(out.name + ".zip")


def project_name() -> str:
    """The name of the folder in the zip."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"]


def make_tree(
    tree: Path,
    course: Course,
    cohort: int | None = None,
    gold: Path | None = None,
    handout: dict[str, bytes] | None = None,
) -> tuple[int, ...]:
    """Write the files of a release.

    Args:
        tree: the folder to make.
        course: what the README says.
        cohort: the seed of new worlds, instead of those in data/.
        gold: with a cohort, the folder to make for the test answers.
        handout: the files of the folder handout/, name -> content; by default none.

    Returns:
        The secret seeds of the cohort; () without one.

    Raises:
        UserError: a file is missing.
    """
    names = released_files()
    for name in names:
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            content = (ROOT / name).read_bytes()
        except OSError as error:
            raise UserError(
                f"{name} belongs in a release and cannot be read: {error.strerror}. Restore it."
            ) from None
        path.write_bytes(_line_ends(path, content))
    made = {f"src/checks/given/{name}": text for name, text in starter_tree().items()}
    made |= {
        "course.toml": course.as_toml(),
        "pyproject.toml": student_pyproject((ROOT / "pyproject.toml").read_text(encoding="utf-8")),
        "README.md": student_readme(
            (ROOT / "docs" / "students.md").read_text(encoding="utf-8"),
            course,
            {*names, *MADE, *(f"handout/{name}" for name in handout or ())},
        ),
    }
    for name, text in made.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text, encoding="utf-8", newline="\n")
    for name, content in (handout or {}).items():
        (tree / "handout").mkdir(exist_ok=True)
        (tree / "handout" / name).write_bytes(_line_ends(Path(name), content))
    seeds = ()
    if cohort is not None:
        seeds = (cohort, *_write_cohort(cohort, tree / "data", gold))
    for path in [tree, *tree.rglob("*")]:  # regardless of the umask
        path.chmod(0o755 if path.is_dir() or path.suffix == ".sh" else 0o644)
    return seeds


def released_files() -> list[str]:
    """The names of the files here that are released unchanged, sorted.

    Raises:
        UserError: git fails to list its files, or doesn't track one that is needed.
    """
    if (ROOT / ".git").exists():
        process = subprocess.run(
            ["git", "-C", str(ROOT), "ls-files", "-z", "--", *FOLDERS], capture_output=True
        )
        if process.returncode:
            raise UserError(
                f"git cannot list the project's files in {ROOT}: "
                f"{process.stderr.decode(errors='replace').strip()}"
            )
        names = process.stdout.decode("utf-8").split("\0")
    else:  # a copy without history
        names = [
            path.relative_to(ROOT).as_posix()
            for folder in FOLDERS
            for path in (ROOT / folder).rglob("*")
            if path.is_file()
        ]
    kept = {
        name
        for name in names
        if name and PurePosixPath(name).suffix in FOLDERS[name.split("/")[0]] and "/." not in name
    }
    here = {
        path.relative_to(ROOT).as_posix()
        for pattern in ("src/submission/**/*.py", "src/checks/**/*.py")
        for path in ROOT.glob(pattern)
    }
    if forgotten := sorted(here - kept):
        raise UserError(
            f"git does not track {', '.join(forgotten)}, and a release has only tracked files. Add "
            "them (git add), or remove them."
        )
    return sorted(kept | set(FILES))


def cohort_seed(cohort: int, size: str) -> int:
    """The seed of one of a cohort's worlds: a hash, so that one seed does not reveal another."""
    return int.from_bytes(hashlib.sha256(f"{cohort} {size}".encode()).digest()[:7], "big")


def _write_cohort(cohort, data, gold):
    """Draw a cohort's worlds and exercises; returns their seeds."""
    from instructor.datasets.worlds.editions import EDITIONS
    from instructor.datasets.worlds.exercises import as_json, blank, make_matrices, write_exercises
    from instructor.datasets.worlds.world import SIZES, make_world, statistics, write_world

    readme = (data / "README.md").read_text(encoding="utf-8")
    figures = {}
    for size, (_, folder) in EDITIONS.items():
        people, documents = make_world(cohort_seed(cohort, size), SIZES[size])
        write_world(people, documents, data / folder, gold / folder)
        for name, value in statistics(people, documents).items():
            figures.setdefault(name, []).append(str(value))
    for name, values in figures.items():
        readme = re.sub(
            rf"^\| {re.escape(name)} \|.*$",
            lambda _: f"| {name} | {' | '.join(values)} |",
            readme,
            flags=re.MULTILINE,
        )
    (data / "README.md").write_text(readme, encoding="utf-8", newline="\n")
    exercises = cohort_seed(cohort, "exercises")
    write_exercises(exercises, data, gold)
    text = as_json(blank(make_matrices(exercises)))
    for folder in ("submission", "checks/given"):
        (data.parent / "src" / folder / "problem5" / "hand_attention.json").write_text(
            text, encoding="utf-8", newline="\n"
        )
    return [*(cohort_seed(cohort, size) for size in EDITIONS), exercises]


def _line_ends(path, content):
    """The same bytes from every system: CRLF in .bat files, LF in other texts."""
    if path.suffix in BINARY:
        return content
    content = content.replace(b"\r\n", b"\n")
    return content.replace(b"\n", b"\r\n") if path.suffix == ".bat" else content


def read_tree(tree: Path) -> dict[str, bytes]:
    """The files in a folder: name, with slashes -> content."""
    return {
        path.relative_to(tree).as_posix(): path.read_bytes()
        for path in sorted(tree.rglob("*"))
        if path.is_file()
    }


def zip_tree(tree: Path, archive: Path) -> None:
    """Write the zip of a release: one folder, the same bytes on every machine and day."""
    from collect import write_zip

    write_zip(
        archive,
        (
            (f"{project_name()}/{name}", content)
            for name, content in sorted(read_tree(tree).items())
        ),
        zipfile.ZIP_STORED,
    )


def _check_places(out, cohort, gold):
    """Where to write, as absolute paths; raises UserError if nothing can or should be written."""
    if (cohort is None) != (gold is None):
        raise UserError(
            "--cohort and --gold belong together: a new cohort has new answers, and they need a "
            "folder away from students."
        )
    out, gold = out.absolute(), gold and gold.absolute()
    if out.suffix == ".zip":
        raise UserError(
            "OUT is the folder to make; the zip is written beside it. Write: python -m instructor "
            f"release {out.stem}"
        )
    if os.path.lexists(zip_of(out)):
        raise UserError(f"{zip_of(out)} already exists. Remove it, or choose another OUT.")
    for option, folder in (("OUT", out), ("--gold", gold)):
        if folder and not folder.parent.is_dir():
            raise UserError(
                f"{folder.parent} is not a folder. Make it, or choose another {option}."
            )
        if (
            folder
            and os.path.lexists(folder)
            and (folder.is_symlink() or not folder.is_dir() or any(folder.iterdir()))
        ):
            raise UserError(
                f"{folder} already exists and is not an empty folder. Choose another {option}."
            )
    if gold:
        real_out, real_gold = out.resolve(), gold.resolve()
        if real_out == real_gold or real_out in real_gold.parents or real_gold in real_out.parents:
            raise UserError(
                "OUT and --gold must not be inside each other: students get OUT. Nothing was "
                "written."
            )
    return out, gold


def _publish(moves):
    """Move the finished files into place: all of them, or none."""
    done = []
    try:
        for source, target in moves:
            if target.is_dir():
                target.rmdir()  # it is empty; Windows cannot rename onto it
            source.rename(target)
            done.append((source, target))
    except OSError as error:
        for source, target in done:
            with contextlib.suppress(OSError):
                target.rename(source)
        raise UserError(
            f"{target} cannot be written: {error.strerror}. Nothing was written."
        ) from None


def _say_what_next(out, gold, args):
    """Print what was written, and the commands that come next."""
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    print(f"\nWrote {out} and {zip_of(out)} ({size / 2**20:.1f} MiB): give students the zip.")
    if args.no_proof:
        print("Nothing was tested (--no-proof).")
    if gold:
        folder, data = shlex.quote(str(gold)), out / "data"
        print(
            f"The answers to the test questions are in {gold}. Keep them, and the seed, from "
            "students. To grade this cohort:\n"
            f"  python src/grader.py --submission submission.zip --gold {folder} --data "
            f"{shlex.quote(str(data / 'laptop'))} --preset laptop\n"
            f"  python src/grader.py --submission submission.zip --gold {folder} --data "
            f"{shlex.quote(str(data))} --preset gpu"
        )
    else:
        print("To grade a submission:\n  python src/grader.py --submission submission.zip")
