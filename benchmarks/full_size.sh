#!/usr/bin/env bash
# All eleven jobs at the size of the course, on a GPU: first on our corpus, then on every other folder of data given.
#   benchmarks/full_size.sh OUT [DATA ...]
# Expected: vanilla at least 20% and RoPE at least 30% on dev. An interrupted run goes on where it was.
set -eu
[ $# -ge 1 ] || { echo "usage: benchmarks/full_size.sh OUT [DATA ...]" >&2; exit 2; }
ROOT=$(CDPATH= cd -- "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
OUT=$1
shift

# demo NAME [options]: a demo at full size into OUT/NAME, resumed where there is one
demo() {
    folder=$OUT/$1
    shift
    resume=
    if [ -d "$folder" ]; then resume=--resume; fi
    "$ROOT/run.sh" demo --preset gpu --out "$folder" $resume "$@"
}

demo ours
for data in "$@"; do
    demo "$(basename "$data")" --data "$data"
done
