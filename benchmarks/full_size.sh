#!/usr/bin/env bash
# All GPU measurements for benchmarks/README.md: all eleven jobs at full size, on our corpus and on
# every other folder of data given, then rates.
#   benchmarks/full_size.sh OUT [DATA ...]
# Accuracy over seeds: benchmarks/sweep.py --presets gpu --seeds 1 2 3 --out OUT/sweep.
# Expected: vanilla at least 20% and RoPE at least 30% on dev. An interrupted run is resumed.
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
    if [ -e "$folder/jobs.json" ]; then resume=--resume; fi
    "$ROOT/run.sh" demo --preset gpu --out "$folder" $resume "$@"
}

PYTHON=python3
[ -x "$ROOT/.venv/bin/python" ] && PYTHON=$ROOT/.venv/bin/python
demo ours
folders=("$OUT/ours")
for data in "$@"; do
    demo "$(basename "$data")" --data "$data"
    folders+=("$OUT/$(basename "$data")")
done
"$PYTHON" "$ROOT/benchmarks/full_size_table.py" "${folders[@]}"
for name in train_throughput decoding; do
    "$PYTHON" "$ROOT/benchmarks/$name.py"
done
