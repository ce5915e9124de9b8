"""Sparse attention over long texts (question 6d), against dense: python
benchmarks/efficient_attention.py [--plot PATH]

What ./run.sh measure_sparse does, for the reference, with medians of several rounds, two threads,
and flex_attention where that runs.

With --threads 1, the processor's seconds are counted instead of the clock's: other programs hardly
disturb these. On a CPU, dense attention at 32,768 tokens takes most of the time: about a minute a
round.
"""

import argparse
import sys
from pathlib import Path

import torch

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from common.files import UserError  # noqa: E402
from jobs.package import load_module  # noqa: E402
from jobs.problem6.measure_sparse import (  # noqa: E402
    FILE,
    Ways,
    compare,
    draw,
    every,
    grow,
    inputs,
    sparse_and_dense,
)


def all_ways(student, n: int) -> Ways:
    """Sparse and dense attention, and flex_attention if it runs here."""
    ways = sparse_and_dense(student, n)
    try:
        ways["flex"] = flex(n, student.Pattern(), ways["sparse"]())
    except Exception as error:
        print(
            f"flex_attention does not run here: {type(error).__name__}: "
            f"{str(error).strip().splitlines()[0][:200]}"
        )
    return ways


def flex(n: int, pattern, expected: torch.Tensor):
    """A compiled call of flex_attention along the pattern, whose result has been compared.

    Raises:
        any error of compiling it; ValueError if the result differs.
    """
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    q, k, v = inputs(n)
    is_global = torch.zeros(n, dtype=torch.bool)
    is_global[every(n)] = True

    def connected(batch, head, i, j):
        distance = (i - j).abs()
        allowed = (distance <= pattern.window) | is_global[i] | is_global[j]
        for stride in pattern.strides:
            allowed = allowed | (distance == stride)
        return allowed

    # Compile each length separately: dynamic shapes, used from the second on, don't build on all
    # machines.
    blocks = torch.compile(create_block_mask, dynamic=False)(connected, 1, 1, n, n, device="cpu")
    attend = torch.compile(flex_attention, dynamic=False)
    error = (attend(q, k, v, block_mask=blocks) - expected).abs().max().item()
    if error > 1e-4:
        raise ValueError(f"it is off by {error:.1e}")
    return lambda: attend(q, k, v, block_mask=blocks)


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--submission", type=Path, default=ROOT / "instructor" / "solution")
    parser.add_argument("--plot", type=Path, default=Path("efficient_attention.png"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    grown = grow(args.submission, args.rounds, args.threads)
    student = load_module(args.submission, FILE)
    draw(grown, compare(lambda n: all_ways(student, n), args.rounds), args.plot)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        print(f"\n{error}", file=sys.stderr)
        sys.exit(error.exit_code)
