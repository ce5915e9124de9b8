"""Turn an exception in the student's process into a verdict and a sentence for the student."""

import errno
import re
from dataclasses import dataclass

from .verdicts import Failed, NotImplementedYet, Verdict, WrongAnswer

BROKEN = {  # errno -> the limit that was exceeded
    errno.EAGAIN: "too many processes or threads at once.",
    errno.EMFILE: "too many open files.",
    errno.EFBIG: "a file, or the printed output, grew too large.",
    errno.ENOSPC: "the code wrote too much to files.",
    errno.EROFS: "the grader allows no writing there.",
}

NO_GPU = re.compile("not compiled with CUDA|No CUDA GPUs|Found no NVIDIA|MPS backend")


@dataclass(frozen=True)
class RemoteError:
    """An exception as reported by the student's process.

    type and text are the exception's, kinds the names of its type and base types; name is the
    attribute of an ImportError; frames are (file, line, function, code) of the submission's frames
    only, innermost last.
    """

    type: str
    text: str
    name: str
    kinds: frozenset[str]
    frames: tuple[tuple[str, int, str, str], ...]

    @classmethod
    def read(cls, error) -> "RemoteError":
        """Parse received data; raises any kind of exception if it is malformed."""
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


def explain(error: RemoteError, submission, memory: int) -> Failed:
    """The verdict for an exception, which becomes its `error`.

    Args:
        submission: the student.Submission that raised it.
        memory: the check's limit in MiB.
    """
    trace = "".join(
        f"\n  {file}, line {line}, in {function}\n    {code}"
        for file, line, function, code in error.frames
    )
    where = f"{error.frames[-1][0]}, line {error.frames[-1][1]}: " if error.frames else ""
    if error.type == "TooLarge":
        failed = WrongAnswer(f"What the code returned is too large: {error.text}.")
    elif unwritten := _unwritten(error):
        failed = NotImplementedYet(unwritten)
    elif why := submission.unusable.get(_absent(error, submission)):
        failed = Failed(Verdict.EXCEPTION, why + trace)
    elif statement := _right_import(error, submission.root):
        says = (
            f"{error.type}: {error.text}. To import from another file of the submission, write "
            f"`{statement}`."
        )
        failed = Failed(Verdict.EXCEPTION, where + says + trace)
    elif missing := _missing(error, submission):
        failed = NotImplementedYet(missing + trace)
    else:
        verdict, says = _verdict(error, submission, memory)
        failed = Failed(verdict, where + says + trace)
    failed.error = error
    return failed


def _unwritten(error):
    """Which part of the submission is not written; None for any other error."""
    if "NotImplementedError" in error.kinds and error.frames:
        file, line, function, code = error.frames[-1]
        if "NotImplementedError" in code:  # raised there, not in torch
            part = re.sub(r"^\w+: ", "", error.text)  # the question is known
            return f"{file}:{line}  {part or function}"
    return None


def _verdict(error, submission, memory):
    """The verdict, and a sentence."""
    kinds, text = error.kinds, error.text
    if "MemoryError" in kinds or re.search(r"(can't|not enough|cannot) (allocate )?memory", text):
        return Verdict.OUT_OF_MEMORY, f"the code needs more than {memory} MiB of memory."
    if "ModuleNotFoundError" in kinds:
        return Verdict.EXCEPTION, (
            f"there is no module {error.name!r} here. The code may import {submission.offered}."
        )
    if "SystemExit" in kinds:
        code = "" if text == "None" else text
        return Verdict.EXCEPTION, (
            f"the code called exit({code}), which ends the program instead of returning."
        )
    if "BdbQuit" in kinds:
        return Verdict.EXCEPTION, (
            "breakpoint() ended the code, since the debugger was quit, or has no terminal. It has "
            "one with --debug."
        )
    if NO_GPU.search(text):
        return Verdict.EXCEPTION, (
            f"grading has no GPU: {text}. Put a tensor where an input is: device=x.device."
        )
    if "PermissionError" in kinds:
        return Verdict.BLOCKED, f"the grader does not allow this: {text}"
    if limit := _broken_limit(kinds, text):
        return Verdict.BLOCKED, f"{limit} {text}"
    return Verdict.EXCEPTION, f"{error.type}: {text}"


def _broken_limit(kinds, text):
    """A sentence on the limit behind an operating-system error, or None."""
    if "RuntimeError" in kinds and "can't start new thread" in text:
        return BROKEN[errno.EAGAIN]
    found = re.match(r"\[Errno (\d+)\]", text) if "OSError" in kinds else None
    return BROKEN.get(int(found[1])) if found else None


def _right_import(error, root):
    """The statement that imports the file of the submission that an import looked for elsewhere;
    None for any other error.
    """
    if not error.frames or (
        "ModuleNotFoundError" not in error.kinds
        and not error.text.startswith("attempted relative import")
    ):
        return None
    file, *_, code = error.frames[-1]
    imported = re.match(r"(?:from|import) +([\w.]+)", code)
    files = [path.relative_to(root).with_suffix("").parts for path in root.rglob("*.py")]
    places = {root.name: (), **{parts[-1]: parts for parts in files}}
    known = {root.name}.union(*files)  # and folders
    for name in (error.name, imported[1] if imported else ""):
        within = name.strip(".").split(".")
        if root.name in within:
            within = within[within.index(root.name) :]
        if within[0] in known and (stem := within[-1]) in places:
            folders, dots, parts = places.get(file.removesuffix(".py"), ())[:-1], ".", places[stem]
            while parts[: len(folders)] != folders:
                folders, dots = folders[:-1], dots + "."
            parts = parts[len(folders) :]
            if parts and code.startswith("import"):
                return f"from {dots}{'.'.join(parts[:-1])} import {stem}"
            return f"from {dots}{'.'.join(parts)} import ..."
    return None


def _absent(error, submission):
    """The file that an import did not find; "" for any other error."""
    if "ModuleNotFoundError" in error.kinds:
        return _file(error.name, submission.package)
    folders = error.name.split(".")[1:]
    wanted = re.match(r"cannot import name '(\w+)'", error.text)
    if wanted and folders and submission.root.joinpath(*folders).is_dir():
        return _file(f"{error.name}.{wanted[1]}", submission.package)
    return ""


def _missing(error, submission):
    """A sentence naming the file or name that the submission lacks; None for any other error."""
    if "circular import" in error.text:
        return None
    package = submission.package
    if "ImportError" in error.kinds and error.name.split(".")[0] == package:
        if file := _absent(error, submission):
            return f"{file} is missing."
        if wanted := re.search(r"cannot import name '(\w+)'", error.text):
            return f"{_file(error.name, package)} does not define {wanted[1]}."
    absent = re.fullmatch(r"module '([\w.]+)' has no attribute '(\w+)'", error.text)
    if absent and absent[1].split(".")[0] == package and not error.frames:
        return f"{_file(absent[1], package)} does not define {absent[2]}."
    return None


def _file(module, package):
    """The file of one of the submission's modules."""
    return (
        module.removeprefix(package).lstrip(".").replace(".", "/") + ".py"
        if module != package
        else "The submission"
    )
