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
        return UserError(f"Not implemented yet: {error}\nWhere: {where}", 3)
    return UserError("".join(traceback.format_exception(error)).rstrip(), 1)
