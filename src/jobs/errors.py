"""What a user is told when a job fails, and the exit code."""

import re
import traceback

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


def killed(what: str, signal: int) -> UserError:
    """The error for a process that was killed from outside."""
    return UserError(
        f"{what} was killed from outside (signal {signal}"
        f"{', perhaps out of memory' * (signal == 9)}). The same command with --resume continues."
    )
