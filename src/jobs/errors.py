"""What a user is told when a job fails, and the exit code."""

import functools
import re
import traceback
from collections.abc import Callable
from pathlib import Path

from common.files import Interrupted, UserError


def explain(error: BaseException) -> UserError:
    """The error as a message with an exit code: 3 for a part of the submission that is not
    implemented, 130 after Ctrl-C, 1 with the traceback for what nobody expected.
    """
    if isinstance(error, UserError):
        return error
    if isinstance(error, KeyboardInterrupt):
        return Interrupted("Interrupted.")
    # not every NotImplementedError is one of our stubs: torch may lack an operator, say
    if isinstance(error, NotImplementedError) and re.match(r"\d\w+: ", str(error)):
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{frame.filename}, line {frame.lineno}"
        return with_code(3, f"Not implemented yet: {error}\nWhere: {where}")
    return with_code(1, "".join(traceback.format_exception(error)).rstrip())


def with_code(exit_code: int, message: str) -> UserError:
    """A UserError with another exit code than 2."""
    error = UserError(message)
    error.exit_code = exit_code
    return error


def in_short(error: Exception, folder: Path) -> Exception:
    """The error, if it is written for users; else a UserError of one line, which says where in the
    folder's code it was raised, if it was raised there.
    """
    if isinstance(error, (UserError, NotImplementedError)):
        return error
    paths = [
        (Path(frame.filename), frame.lineno) for frame in traceback.extract_tb(error.__traceback__)
    ]
    places = [
        f"{path.relative_to(folder.resolve())}, line {line}: "
        for path, line in paths
        if path.is_relative_to(folder.resolve())
    ]
    reason = str(error).partition("\n")[0]
    return with_code(1, f"{places[-1] if places else ''}{type(error).__name__}: {reason}")


def killed(what: str, signal: int) -> UserError:
    """The error for a process that was killed from outside."""
    return UserError(
        f"{what} was killed from outside (signal {signal}"
        f"{', perhaps out of memory' * (signal == 9)}). The same command with --resume continues."
    )


def says_where(run: Callable) -> Callable:
    """Decorate what calls a file of the student's, run(module, ...): errors from that file become
    UserErrors that say where.

    Raises:
        UserError: the file raised an error, or lacks something.
    """

    @functools.wraps(run)
    def run_and_say(module, *args):
        try:
            return run(module, *args)
        except (NotImplementedError, UserError):
            raise
        except Exception as error:
            if isinstance(error, AttributeError) and error.obj is module:
                raise UserError(f"{module.__file__} has no {error.name}.") from None
            frames = [
                frame
                for frame in traceback.extract_tb(error.__traceback__)
                if frame.filename == module.__file__
            ]
            if not frames:
                raise
            raise UserError(
                f"{module.__file__}, line {frames[-1].lineno}, in {frames[-1].name}:\n"
                f"    {frames[-1].line}\n{type(error).__name__}: {error}"
            ) from None

    return run_and_say
