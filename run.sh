#!/usr/bin/env bash
# The launcher: finds or creates a Python environment, then runs a job, the demo or the tests. See
# ./run.sh help. Limited to what bash 3.2 (macOS) and Git Bash (Windows) support.
set -eu
SELF=${BASH_SOURCE[0]}
while [ -L "$SELF" ]; do        # follow links to this file
    LINK=$(readlink "$SELF")
    case $LINK in /*) SELF=$LINK ;; *) SELF=$(dirname "$SELF")/$LINK ;; esac
done
ROOT=$(CDPATH= cd -- "$(dirname "$SELF")" && pwd)
NEEDED="torch numpy tqdm matplotlib pytest xdist hypothesis nbclient ipykernel"        # as they are imported
EXTRAS=
if [ -d "$ROOT/instructor" ]; then      # the staff's copy
    NEEDED="$NEEDED jinja2 yaml distributed copydetect"
    EXTRAS="[instructor,canvas]"
    if [ "${1:-help}" = test ]; then
        NEEDED="$NEEDED mwxml mwparserfromhell orjson anyascii ruff"
        EXTRAS="[dev]"
    fi
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

# Succeeds if Python $1 has every package that we need. (Finding them is faster than importing
# them.)
has_packages() {
    "$1" -c 'import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))' $NEEDED >/dev/null 2>&1
}

# Creates .venv with Python $1, or updates it when the pins have changed. While it has the file
# "incomplete", its installation is under way, or was interrupted.
make_environment() {
    if [ -e "$ROOT/.venv" ] && [ ! -e "$ROOT/.venv/complete" ] && [ ! -e "$ROOT/.venv/incomplete" ]; then
        echo "$ROOT/.venv lacks some of: $NEEDED." >&2
        echo "./run.sh did not make it, so it leaves it as it is. Activate it and run: pip install -e '$ROOT$EXTRAS'" >&2
        echo "Or remove it, and ./run.sh makes its own." >&2
        exit 2
    fi
    echo "Python '$1' lacks some of: $NEEDED." >&2
    echo "Making an environment in $ROOT/.venv (once, some minutes; 1.2 GB, more with CUDA) ..." >&2
    # one that is interrupted, or whose Python is gone, is made anew
    if [ ! -e "$ROOT/.venv/complete" ] || ! "$(venv_python)" -m pip --version >/dev/null 2>&1; then
        rm -rf "$ROOT/.venv"
        mkdir "$ROOT/.venv"
        touch "$ROOT/.venv/incomplete"
        if ! "$1" -m venv "$ROOT/.venv"; then
            rm -rf "$ROOT/.venv"
            echo "Could not create it. On Debian and Ubuntu, install the package python3-venv. Or activate your own" >&2
            echo "environment and run: pip install -e '$ROOT'" >&2
            exit 2
        fi
    fi
    if ! "$(venv_python)" -m pip install --quiet --disable-pip-version-check -e "$ROOT$EXTRAS" >&2; then
        echo "The packages could not be installed; pip says why above. ./run.sh will try again." >&2
        exit 2
    fi
    touch "$ROOT/.venv/complete"
    rm -f "$ROOT/.venv/incomplete"
}

# Succeeds if .venv can be used as it is.
has_environment() {
    [ ! -e "$ROOT/.venv/incomplete" ] && has_packages "$(venv_python)" || return 1
    [ ! -e "$ROOT/.venv/complete" ] || [ ! "$ROOT/pyproject.toml" -nt "$ROOT/.venv/complete" ]
}

venv_python() {
    if [ -d "$ROOT/.venv/Scripts" ]; then echo "$ROOT/.venv/Scripts/python.exe"; else echo "$ROOT/.venv/bin/python"; fi
}

if ! PYTHON=$(find_python); then
    echo "./run.sh needs Python 3.11 or newer, and found none named python, python3 or py." >&2
    exit 2
fi
if [ "${1:-help}" = test ] && [ ! -d "$ROOT/tests" ]; then
    echo "The project's tests are not part of this copy. To grade your code: python src/grader.py" >&2
    exit 2
fi
[ "${1:-help}" != help ] || exec "$PYTHON" "$ROOT/src/run.py" --help
for argument in "$@"; do
    case $argument in -h|--help) [ "$1" = test ] || [ "$1" = python ] || exec "$PYTHON" "$ROOT/src/run.py" --help ;; esac
done

if ! has_packages "$PYTHON"; then
    if ! has_environment; then
        [ "$1" = test ] || [ "$1" = python ] || "$PYTHON" "$ROOT/src/run.py" "$@" --check >&2      # a misspelled target should not cost a download
        make_environment "$PYTHON"
    fi
    PYTHON=$(venv_python)
fi

if [ "$1" = test ]; then
    shift
    cd "$ROOT"
    exec "$PYTHON" -m pytest "$@"
fi
if [ "$1" = python ]; then
    shift
    exec "$PYTHON" "$@"
fi
exec "$PYTHON" "$ROOT/src/run.py" "$@"
