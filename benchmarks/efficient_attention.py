"""Sparse attention over long texts (question 6d), against dense: python
benchmarks/efficient_attention.py [--plot PATH]

One layer (d_model 512, 8 heads, float32, window 512, the default strides, 150 global positions, in
both directions, no gradients), from 5,000 to 75,000 tokens, each size in a process of its own:
median time, and the most memory beyond the input; the exponents with which both grow. Then
sparse_attention and dense scaled_dot_product_attention on the same queries, keys and values, in
turn, at 4,096 and 32,768 tokens: medians and their ratios; and flex_attention, where that runs.
Writes a plot.

With --threads 1, the processor's seconds are counted instead of the clock's: other programs hardly
disturb these. On a CPU, dense attention at 32,768 tokens takes most of the time: about a minute a
round.
"""

import argparse
import json
import math
import statistics
import subprocess
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from common.files import UserError, writing  # noqa: E402
from jobs.package import load_module  # noqa: E402

N_EMBD, N_HEAD, GLOBALS = 512, 8, 150
LENGTHS = (5_000, 10_000, 20_000, 40_000, 75_000)
COMPARED = (4_096, 32_768)
# the last two: time relative to dense attention
LIMITS = {"exponent": 1.15, "GB": 1.5, 4_096: 1.5, 32_768: 1 / 8}


def every(n: int) -> list[int]:
    """GLOBALS evenly spaced global positions."""
    return [n * g // GLOBALS for g in range(GLOBALS)]


def clock() -> float:
    """Seconds of CPU time if there is one thread, else of wall time."""
    return time.process_time() if torch.get_num_threads() == 1 else time.perf_counter()


def layer(n: int, rounds: int, threads: int, submission: Path) -> dict:
    """Median seconds of a forward pass over n tokens, after a first one on few; and the peak memory
    of the process beyond what it held before, its input included.
    """
    student = load_module(submission, "problem6/efficient_attention.py")
    torch.set_num_threads(threads)
    torch.manual_seed(0)
    with torch.inference_mode():
        attention = student.SparseSelfAttention(N_EMBD, N_HEAD, student.Pattern())
        attention(torch.randn(1, 1024, N_EMBD), every(1024))
        x = torch.randn(1, n, N_EMBD)
        before, seconds = memory("VmRSS"), []
        Path("/proc/self/clear_refs").write_text("5")  # reset the peak
        for _ in range(rounds):
            started = clock()
            attention(x, every(n))
            seconds.append(clock() - started)
    return {"n": n, "seconds": statistics.median(seconds), "bytes": memory("VmHWM") - before}


def memory(field: str) -> int:
    """Bytes that this process holds: VmRSS now, VmHWM at its peak."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        raise UserError("Memory is read from /proc: run this on Linux.") from None
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(field + ":"))


def compare(n: int, rounds: int, submission: Path) -> dict:
    """Median seconds of sparse, dense and (or None) flex_attention on n tokens, in turn."""
    student = load_module(submission, "problem6/efficient_attention.py")
    torch.manual_seed(0)
    q, k, v = torch.randn(3, 1, n, N_HEAD, N_EMBD // N_HEAD).transpose(2, 3)
    pattern = student.Pattern()
    ways = {
        "sparse": lambda: student.sparse_attention(q, k, v, pattern, every(n)),
        "dense": lambda: F.scaled_dot_product_attention(q, k, v),
    }
    with torch.inference_mode():
        try:
            ways["flex"] = flex(q, k, v, pattern, ways["sparse"]())
        except Exception as error:
            print(
                f"flex_attention does not run here: {type(error).__name__}: "
                f"{str(error).strip().splitlines()[0][:200]}"
            )
        seconds = {name: [] for name in ways}
        for _ in range(rounds):
            for name, way in ways.items():
                started = clock()
                way()
                seconds[name].append(clock() - started)
    return {"n": n, **{name: statistics.median(times) for name, times in seconds.items()}}


def flex(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, pattern, expected: torch.Tensor):
    """A compiled call of flex_attention along the pattern, whose result has been compared.

    Raises:
        any error of compiling it; ValueError if the result differs.
    """
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    n = q.size(2)
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


def exponent(results: list[dict], what: str) -> float:
    """The power of n with which this grows, from the first length to the last."""
    first, last = results[0], results[-1]
    return math.log(last[what] / first[what], last["n"] / first["n"])


def draw(layers: list[dict], pairs: list[dict], path: Path) -> None:
    """Time and memory of the layer, and the times of all ways, on logarithmic axes."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    lengths = [one["n"] for one in layers]
    left.plot(lengths, [one["seconds"] for one in layers], "o-", label="sparse, one layer")
    for name, marker in (("dense", "s"), ("sparse", "^"), ("flex", "d")):
        points = [pair for pair in pairs if name in pair]
        left.plot(
            [pair["n"] for pair in points],
            [pair[name] for pair in points],
            marker + "--",
            label=f"{name}, attention alone",
        )
    left.set(
        xlabel="tokens",
        ylabel="seconds",
        title=f"Time (the layer grows with exponent {exponent(layers, 'seconds'):.2f})",
    )
    right.plot(lengths, [one["bytes"] / 1e9 for one in layers], "o-", label="sparse, one layer")
    right.plot(
        lengths,
        [n * n * 4 * N_HEAD / 1e9 for n in lengths],
        "s--",
        label="dense scores, if they were held",
    )
    right.axhline(LIMITS["GB"], color="grey", linestyle=":", label="limit")
    right.set(xlabel="tokens", ylabel="GB beyond the input", title="Memory")
    for axes in (left, right):
        axes.set(xscale="log", yscale="log")
        axes.set_xticks(lengths, [f"{n:,}" for n in lengths])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend(fontsize=8)
    with writing(path) as temporary:
        figure.savefig(temporary, dpi=120, format="png")
    plt.close(figure)
    print(f"Wrote {path}")


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--submission", type=Path, default=ROOT / "instructor" / "solution")
    parser.add_argument("--plot", type=Path, default=Path("efficient_attention.png"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--layer",
        type=int,
        help="measure this length alone and print JSON, as this script calls itself",
    )
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    if args.layer:
        print(json.dumps(layer(args.layer, args.rounds, args.threads, args.submission)))
        return
    layers = []
    unit = "seconds of the processor" if args.threads == 1 else "seconds"
    print(
        f"One layer, threads: {args.threads}, {unit}, medians of {args.rounds}\n"
        f"{'tokens':>8}{'seconds':>10}{'GB':>8}{'us a token':>12}"
    )
    for n in LENGTHS:
        options = {
            "layer": n,
            "submission": args.submission,
            "rounds": args.rounds,
            "threads": args.threads,
        }
        command = [
            sys.executable,
            __file__,
            *(f"--{name}={value}" for name, value in options.items()),
        ]
        layers.append(
            json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
        )
        one = layers[-1]
        print(
            f"{n:8,}{one['seconds']:10.2f}{one['bytes'] / 1e9:8.2f}"
            f"{one['seconds'] / n * 1e6:12.1f}",
            flush=True,
        )
    print(
        f"Exponents: time {exponent(layers, 'seconds'):.2f} (at most {LIMITS['exponent']}), memory "
        f"{exponent(layers, 'bytes'):.2f}; at most {LIMITS['GB']} GB are wanted\n\n"
        f"Attention alone, in turn, medians of {args.rounds}"
    )
    pairs = []
    for n in COMPARED:
        pairs.append(compare(n, args.rounds, args.submission))
        pair, limit = pairs[-1], LIMITS[n]
        wanted = (
            f"at most {limit:g} times as long"
            if limit > 1
            else f"at least {1 / limit:g} times faster"
        )
        times = "   ".join(
            f"{name} {pair[name]:.3f} s" for name in ("sparse", "dense", "flex") if name in pair
        )
        print(
            f"{n:8,}   {times}   dense / sparse {pair['dense'] / pair['sparse']:.2f} (sparse: "
            f"{wanted})",
            flush=True,
        )
    draw(layers, pairs, args.plot)


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        print(f"\n{error}", file=sys.stderr)
        sys.exit(error.exit_code)
