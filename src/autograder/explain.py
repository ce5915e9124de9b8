"""An exception in the student's process, put into words: which verdict it is, and a sentence for
the student.
"""

import errno
import re
from dataclasses import dataclass

from .verdicts import Failed, NotImplementedYet, Verdict, WrongAnswer

BROKEN = {  # limits that an error number tells of
    errno.EAGAIN: "too many processes or threads at once.",
    errno.EMFILE: "too many open files.",
    errno.EFBIG: "a file, or all that is printed, grew too large.",
    errno.ENOSPC: "the code wrote too much to files.",
    errno.EROFS: "the grader lets nothing be written there.",
}


@dataclass(frozen=True)
class RemoteError:
    """An exception as the student's process tells it.

    type and text are those of the exception, kinds the names of its type and the types that it
    derives from; name is the attribute of an ImportError; frames are (file, line, function, code),
    those of the submission alone, innermost last.
    """

    type: str
    text: str
    name: str
    kinds: frozenset[str]
    frames: tuple[tuple[str, int, str, str], ...]

    @classmethod
    def read(cls, error) -> "RemoteError":
        """From the data that came; raises all kinds of exceptions where it is malformed."""
        frames = tuple(
            (str(file)[:100], int(str(line)[:9]), str(function)[:100], str(code)[:300])
            for file, line, function, code in error["frames"]
        )
        kinds = frozenset(str(kind)[:100] for kind in error.get("kinds", []))
        return cls(
            str(error["type"])[:100],
            str(error["message"])[:2000],
            str(error["name"])[:200],
            kinds,
            frames[:20],
        )


def explain(error: RemoteError, package: str, offered: str, memory: int) -> Failed:
    """The verdict for an exception.

    Args:
        package: the name that the submission is imported by.
        offered: what it may import, for advice.
        memory: the check's limit in MiB.
    """
    kinds, text = error.kinds, error.text
    where = f"{error.frames[-1][0]}, line {error.frames[-1][1]}" if error.frames else ""
    first = f"{where}: " if where else ""
    trace = "".join(
        f"\n  {file}, line {line}, in {function}\n    {code}"
        for file, line, function, code in error.frames
    )
    if error.type == "TooLarge":
        return WrongAnswer(f"What the code returned is too large: {text}.")
    # raised there, not in torch
    if (
        "NotImplementedError" in kinds
        and error.frames
        and "NotImplementedError" in error.frames[-1][3]
    ):
        return NotImplementedYet(f"{text or error.frames[-1][2]}. See {where}.")
    if missing := _missing(error, package):
        return NotImplementedYet(missing + trace)
    if "MemoryError" in kinds or re.search(r"(can't|not enough|cannot) (allocate )?memory", text):
        return Failed(
            Verdict.OUT_OF_MEMORY, f"{first}the code needs more than {memory} MiB of memory.{trace}"
        )
    if "ModuleNotFoundError" in kinds:
        return Failed(
            Verdict.EXCEPTION,
            f"{first}there is no module {error.name!r} here. The code may import {offered}.{trace}",
        )
    if "SystemExit" in kinds:
        code = "" if text == "None" else text
        return Failed(
            Verdict.EXCEPTION,
            f"{first}the code called exit({code}), which ends the program instead of "
            f"answering.{trace}",
        )
    if "PermissionError" in kinds:
        return Failed(
            Verdict.BLOCKED, f"{first}the code did what the grader does not allow: {text}{trace}"
        )
    if limit := _broken_limit(kinds, text):
        return Failed(Verdict.BLOCKED, f"{first}{limit} {text}{trace}")
    return Failed(Verdict.EXCEPTION, f"{first}{error.type}: {text}{trace}")


def _broken_limit(kinds, text):
    """A sentence on the limit that an error of the system tells of; None if it tells of none."""
    if "RuntimeError" in kinds and "can't start new thread" in text:
        return BROKEN[errno.EAGAIN]
    found = re.match(r"\[Errno (\d+)\]", text) if "OSError" in kinds else None
    return BROKEN.get(int(found[1])) if found else None


def _missing(error, package):
    """The file or name that the submission lacks, in a sentence; None if the error is about
    something else.
    """
    if "ImportError" in error.kinds and error.name.split(".")[0] == package:
        file = _file(error.name, package)
        if "ModuleNotFoundError" in error.kinds:
            return f"{file} is missing."
        if wanted := re.search(r"cannot import name '(\w+)'", error.text):
            return f"{file} defines no {wanted[1]}."
    absent = re.fullmatch(r"module '([\w.]+)' has no attribute '(\w+)'", error.text)
    if absent and absent[1].split(".")[0] == package and not error.frames:
        return f"{_file(absent[1], package)} defines no {absent[2]}."
    return None


def _file(module, package):
    """The file of a module of the submission."""
    return (
        module.removeprefix(package).lstrip(".").replace(".", "/") + ".py"
        if module != package
        else "The submission"
    )
