"""Start the student's process: `python inside CONFIG`, where CONFIG is a JSON object with the
arguments of main.main or trial.main.
"""

import json
import os
import sys

if __name__ == "__main__":
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    from inside import main, trial

    del sys.path[0]  # so that none of the judge's code can be imported
    config = json.loads(sys.argv.pop(1))
    (trial if "secret" in config else main).main(**config)
    sys.stdout.flush()
    os._exit(0)  # immediately: torch takes half a second to shut down
