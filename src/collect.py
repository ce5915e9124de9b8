"""Collect the deliverables into submission.zip, flat: `./collect_submission.sh`. Needs nothing but Python."""
import argparse
import sys
import zipfile
from pathlib import Path

from files import UserError, writing
from jobs import JOBS, WRITTEN_BY

ROOT = Path(__file__).resolve().parents[1]
CODE = ("__init__.py", "attention.py", "dataset.py", "helper.py", "model.py", "trainer.py", "utils.py")
DELIVERABLES = CODE + tuple(job.writes for job in JOBS.values())


def collect(submission: Path, out: Path, allow_missing: bool) -> None:
    """Write the zip.

    Args:
        submission: the folder of the student's files.
        out: the zip to write.
        allow_missing: leave out what is not there, instead of refusing.

    Raises:
        UserError: a file is missing; the message says which command makes it.
    """
    missing = [name for name in DELIVERABLES if not (submission / name).is_file()]
    lines = [f"  {name:<36} {'./run.sh ' + WRITTEN_BY[name].target if name in WRITTEN_BY else 'part of the starter'}"
             for name in missing]
    if missing and not allow_missing:
        raise UserError("\n".join(["Missing in " + str(submission) + ", and what makes it:", *lines,
                                   "Nothing was written. To hand in without them, add --allow-missing."]))
    present = [name for name in DELIVERABLES if name not in missing]
    if not present:
        raise UserError(f"There is nothing to hand in: {submission} has none of the deliverables.")
    with writing(out) as temporary, zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in present:
            archive.write(submission / name, name)
    if missing:
        print("\n".join(["Left out:", *lines]))
    print(f"Wrote {out}: {len(present)} files, {out.stat().st_size / 2**20:.1f} MiB")


def main() -> int:
    """Parse the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="collect_submission.sh", description=__doc__.split(":")[0] + ".")
    parser.add_argument("--submission", type=Path, default=ROOT / "src" / "submission")
    parser.add_argument("--out", type=Path, default=ROOT / "submission.zip")
    parser.add_argument("--allow-missing", action="store_true", help="leave out what is missing")
    args = parser.parse_args()
    try:
        collect(args.submission, args.out, args.allow_missing)
    except UserError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
