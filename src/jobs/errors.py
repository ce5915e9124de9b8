"""What a user is told when a job fails, and the exit code."""

import re
import traceback

from common.files import Interrupted, UserError


def is_stub(error: BaseException) -> bool:
    """Whether it is a part of the submission that is not implemented: torch raises the same error
    for an operator that it lacks, say.
    """
    return isinstance(error, NotImplementedError) and bool(re.match(r"\d\w+: ", str(error)))


def explain(error: BaseException) -> UserError:
    """The error as a message with an exit code: 3 for a part of the submission that is not
    implemented, 130 after Ctrl-C, 1 with the traceback for what nobody expected.
    """
    if isinstance(error, UserError):
        return error
    if isinstance(error, KeyboardInterrupt):
        return Interrupted("Interrupted.")
    if is_stub(error):
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{frame.filename}, line {frame.lineno}"
        return UserError(f"Not implemented yet: {error}\nWhere: {where}", 3)
    return UserError("".join(traceback.format_exception(error)).rstrip(), 1)
