#!/usr/bin/env bash
# The launcher: finds or makes a Python environment, then runs a job, the demo or the tests. ./run.sh help lists all.
# Kept to what bash 3.2 (macOS) and Git Bash (Windows) know.
set -eu
SELF=${BASH_SOURCE[0]}
while [ -L "$SELF" ]; do        # where a link to this file points
    LINK=$(readlink "$SELF")
    case $LINK in /*) SELF=$LINK ;; *) SELF=$(dirname "$SELF")/$LINK ;; esac
done
ROOT=$(CDPATH= cd -- "$(dirname "$SELF")" && pwd)
NEEDED="torch numpy tqdm matplotlib pytest xdist hypothesis nbclient ipykernel"        # as they are imported
EXTRAS=
if [ -d "$ROOT/instructor" ]; then      # the staff's copy
    NEEDED="$NEEDED jinja2 yaml distributed copydetect mwxml mwparserfromhell orjson anyascii"
    EXTRAS="[instructor,canvas]"
fi

# Prints the first Python 3.11 or newer among the usual names; fails if there is none.
find_python() {
    for name in python python3 py; do
        if command -v "$name" >/dev/null 2>&1 &&
           "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
            echo "$name"
            return 0
        fi
    done
    return 1
}

# Succeeds if Python $1 has every package that we need. (Looking for them is quicker than importing them.)
has_packages() {
    "$1" -c 'import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))' $NEEDED >/dev/null 2>&1
}

# Makes .venv with Python $1, or brings it up to date when the pins have changed. A .venv without the file "complete" is
# an installation that was broken off.
make_environment() {
    echo "Python '$1' lacks some of: $NEEDED." >&2
    echo "Making an environment in $ROOT/.venv (once; this downloads torch and takes some minutes) ..." >&2
    [ -e "$ROOT/.venv/complete" ] || rm -rf "$ROOT/.venv"
    if [ ! -e "$ROOT/.venv/complete" ] && ! "$1" -m venv "$ROOT/.venv"; then
        rm -rf "$ROOT/.venv"
        echo "Could not make it. On Debian and Ubuntu, install the package python3-venv. Or activate an environment of" >&2
        echo "yours and: pip install -e '$ROOT'" >&2
        exit 2
    fi
    if ! "$(venv_python)" -m pip install --quiet --disable-pip-version-check -e "$ROOT$EXTRAS" >&2; then
        echo "The packages could not be installed; pip says why above. ./run.sh will try again." >&2
        exit 2
    fi
    touch "$ROOT/.venv/complete"
}

venv_python() {
    if [ -d "$ROOT/.venv/Scripts" ]; then echo "$ROOT/.venv/Scripts/python.exe"; else echo "$ROOT/.venv/bin/python"; fi
}

if ! PYTHON=$(find_python); then
    echo "./run.sh needs Python 3.11 or newer, and found none named python, python3 or py." >&2
    exit 2
fi
if [ "${1:-help}" = test ] && [ ! -d "$ROOT/tests" ]; then
    echo "The project's tests are not part of this copy. To have your code graded: python src/grader.py" >&2
    exit 2
fi
[ "${1:-help}" != help ] || exec "$PYTHON" "$ROOT/src/run.py" --help
for argument in "$@"; do
    case $argument in -h|--help) [ "$1" = test ] || exec "$PYTHON" "$ROOT/src/run.py" --help ;; esac
done

if ! has_packages "$PYTHON"; then
    if [ ! -e "$ROOT/.venv/complete" ] || [ "$ROOT/pyproject.toml" -nt "$ROOT/.venv/complete" ]; then
        [ "$1" = test ] || "$PYTHON" "$ROOT/src/run.py" "$@" --check >&2      # a misspelt target should not cost a download
        make_environment "$PYTHON"
    fi
    PYTHON=$(venv_python)
fi

if [ "$1" = test ]; then
    shift
    cd "$ROOT"
    exec "$PYTHON" -m pytest "$@"
fi
exec "$PYTHON" "$ROOT/src/run.py" "$@"
