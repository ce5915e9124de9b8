#!/usr/bin/env bash
# Puts the deliverables into submission.zip: ./collect_submission.sh [--allow-missing]; or, with
# --for-gpu, your code and the data into for_gpu.zip, for train_on_gpu.ipynb. All options: --help
set -eu
ROOT=$(CDPATH= cd -- "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec "$BASH" "$ROOT/run.sh" collect "$@"        # which finds a Python
