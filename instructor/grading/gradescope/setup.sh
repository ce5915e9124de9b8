#!/usr/bin/env bash
# Gradescope runs this once, when the autograder is built: it installs Python and what grading
# needs, without CUDA. AUTOGRADER_PYTHON names a Python that has it all already; then nothing is
# installed.
set -euo pipefail
umask 022                       # the code that is graded runs as another user, and has to read Python
source=/autograder/source
home=/opt/autograder
python=${AUTOGRADER_PYTHON:-$home/bin/python}

if [ -z "${AUTOGRADER_PYTHON:-}" ]; then
    if ! command -v apt-get > /dev/null; then
        echo "This autograder needs an image with apt: choose the newest Ubuntu that Gradescope offers." >&2
        exit 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    version=
    for candidate in 3.13 3.12 3.11; do
        if apt-cache show "python$candidate-venv" > /dev/null 2>&1; then
            version=$candidate
            break
        fi
    done
    if [ -z "$version" ]; then
        echo "This image has no Python 3.11 or newer: choose the newest Ubuntu that Gradescope offers." >&2
        exit 1
    fi
    apt-get install -qq -y --no-install-recommends "python$version" "python$version-venv" libseccomp2
    apt-get install -qq -y --no-install-recommends bubblewrap || echo "No bubblewrap; Landlock is used instead."
    "/usr/bin/python$version" -m venv "$home"       # whatever else is on the PATH
    # Torch from its own index first: PyPI's build for Linux brings gigabytes of CUDA.
    grep '^torch>=' "$source/requirements.txt" > /tmp/torch.txt
    "$python" -m pip install -q --no-cache-dir --index-url "${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}" -r /tmp/torch.txt
    "$python" -m pip install -q --no-cache-dir -r "$source/requirements.txt"
fi

cd "$source"
"$python" -m instructor.grading.gradescope.harness --check
