"""The instructor's command line: `python -m instructor COMMAND`."""

import os
import signal
import sys

from common.command_line import require_packages, use_utf8
from common.files import UserError

use_utf8()
try:
    require_packages("torch", "numpy", "tqdm", "jinja2", "yaml", install="[instructor]")

    from instructor.commands import parse
except UserError as error:
    print(error, file=sys.stderr)
    sys.exit(error.exit_code)
except KeyboardInterrupt:  # in the first second of a command
    print("Interrupted.", file=sys.stderr)
    sys.exit(130)


def main() -> int:
    """Parse the command line and run a command; returns the exit code."""
    try:
        args = parse()
        code = args.run(args)
        sys.stdout.flush()
        return code
    except UserError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:  # whoever reads, such as `head`, has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return 130


if __name__ == "__main__":
    # so that temporary folders are removed
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())
