"""Start the student's process: `python inside CONFIG`, where CONFIG is a JSON object with the
arguments of main.main.
"""

import json
import os
import sys

if __name__ == "__main__":
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    from inside import main, sandbox

    del sys.path[0]  # so that none of the judge's code can be imported
    try:
        main.main(**json.loads(sys.argv.pop(1)))
    except sandbox.SandboxError as error:
        sys.exit(str(error))
    os._exit(0)  # immediately: torch takes half a second to shut down
