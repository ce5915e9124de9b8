#!/usr/bin/env bash
# Puts the deliverables into submission.zip: ./collect_submission.sh [--allow-missing]
set -eu
ROOT=$(CDPATH= cd -- "$(dirname "${BASH_SOURCE[0]}")" && pwd)
for name in python python3 py "$ROOT/.venv/bin/python" "$ROOT/.venv/Scripts/python.exe"; do
    if command -v "$name" >/dev/null 2>&1 && "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
        exec "$name" "$ROOT/src/collect.py" "$@"
    fi
done
echo "./collect_submission.sh needs Python 3.11 or newer, and found none named python, python3 or py." >&2
exit 2
