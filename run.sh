#!/usr/bin/env bash
# Finds a Python 3.11 or newer; src/launch.py does the rest: an environment, then a job, the demo or
# the tests. See ./run.sh help. Limited to what bash 3.2 (macOS) and Git Bash (Windows) support.
set -eu
SELF=${BASH_SOURCE[0]}
while [ -L "$SELF" ]; do        # follow links to this file
    LINK=$(readlink "$SELF")
    case $LINK in /*) SELF=$LINK ;; *) SELF=$(dirname "$SELF")/$LINK ;; esac
done
ROOT=$(CDPATH= cd -- "$(dirname "$SELF")" && pwd)

for name in python python3 py python3.14 python3.13 python3.12 python3.11 \
            "$ROOT/.venv/bin/python" "$ROOT/.venv/Scripts/python.exe"; do
    if command -v "$name" >/dev/null 2>&1 &&
       "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
        exec "$name" "$ROOT/src/launch.py" "$@"
    fi
done
if command -v uv >/dev/null 2>&1; then      # which fetches a Python, once
    uv python install --quiet 3.11
    exec "$(uv python find --system 3.11)" "$ROOT/src/launch.py" "$@"
fi
echo "./run.sh needs Python 3.11 or newer, and found none named python, python3, py or python3.11 to python3.14; nor uv, which would fetch one." >&2
exit 2
