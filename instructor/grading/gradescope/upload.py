"""What Gradescope hands to the autograder: the files of a submission, and what it says about it."""

import hmac
import json
import os
from pathlib import Path

from autograder import draw_seed
from autograder.intake import PASSED_OVER
from common.files import UserError
from jobs.deliverables import STUDENT_FILES, has_code, look_alike

# where the files may be: the deliverables, a repository, its folder
HOMES = ("", "src/submission", "submission")


def find_submission(upload: Path) -> Path:
    """The folder, or the zip, to grade: the upload itself, or the folder of the submission in it.
    Links are not followed.

    Raises:
        UserError: there is none; the message says what to hand in.
    """
    upload = upload.resolve()
    names = (
        [name for name in sorted(os.listdir(upload)) if name not in PASSED_OVER]
        if upload.is_dir()
        else []
    )
    folders = [
        upload / name for name in names if _is_itself(upload / name) and (upload / name).is_dir()
    ]
    tops = [upload, *(folders if len(folders) == 1 else [])]
    for folder in (top / home for top in tops for home in HOMES):
        if _is_itself(folder) and has_code(folder):
            return folder
    zips = [
        upload / name
        for name in names
        if name.lower().endswith(".zip") and _is_itself(upload / name)
    ]
    if len(zips) == 1:
        return zips[0]
    raise UserError(
        f"None of {', '.join(STUDENT_FILES)} was handed in"
        f"{look_alike(upload, *STUDENT_FILES)}. Upload the submission.zip that "
        "./collect_submission.sh makes, or the files in it."
    )


def _is_itself(path):
    """Whether it exists and is not reached through a link."""
    return path.exists() and path.resolve() == path


def choose_seed(metadata: Path, secret: str) -> int:
    """The seed of a submission: the same whenever it is graded again, and unpredictable for its
    author.

    Args:
        metadata: submission_metadata.json. If it has no id, the seed is a new one.
        secret: the zip's.
    """
    try:
        id = json.loads(metadata.read_text(encoding="utf-8"))["id"]
    except (OSError, ValueError, TypeError, KeyError, IndexError, RecursionError):
        return draw_seed()
    if not isinstance(id, (int, str)):
        return draw_seed()
    return (
        int.from_bytes(
            hmac.digest(bytes.fromhex(secret), str(id).encode("utf-8", "replace"), "sha256")[:8],
            "little",
        )
        >> 2
    )
