"""./run.sh measure_sparse: how time and memory of the student's sparse_attention grow with the text
(question 6d), and its time against dense attention's. Times are of the processor, in one thread,
since other programs hardly disturb these.
"""

import contextlib
import math
import multiprocessing
import re
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

import torch
import torch.nn.functional as F

from common.files import UserError, writing
from jobs.package import load_submission

FILE = "problem6/efficient_attention.py"
N_HEAD, HEAD_DIM, GLOBALS = 8, 64, 150
LENGTHS = (5_000, 10_000, 20_000, 40_000, 75_000)
COMPARED = (4_096, 32_768)
# The handout's. The last two: time relative to dense attention.
LIMITS = {"exponent": 1.15, "GB": 1.5, 4_096: 1.5, 32_768: 1 / 8}


def measure_sparse(student, submission: Path, out: Path) -> None:
    """Print a line for each of LENGTHS, each measured in a process of its own, the exponents, and
    a line for each length that is compared with dense attention; write sparse_attention.png.

    Args:
        student: the submission's module, to compare with dense attention here.
        submission: its folder, for the other processes.

    Raises:
        UserError: a process was ended from outside, or the picture cannot be written.
        NotImplementedError: sparse_attention is missing.
    """
    run_sparse(student, inputs(1024))  # so that what is missing is reported from here
    print(
        f"sparse_attention: {N_HEAD} heads of {HEAD_DIM}, the default pattern, {GLOBALS} global "
        f"positions, in both directions; GB with queries, keys and values.\n\n"
        f"{'tokens':>8}{'seconds':>10}{'us a token':>12}{'GB':>8}{'GB of dense scores':>20}"
    )
    times, held = [], []
    for n in LENGTHS:
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            try:
                seconds, most = pool.submit(measure, n, submission).result()
            except BrokenProcessPool:
                raise UserError(
                    f"The process with {n:,} tokens was ended from outside, most likely because "
                    "memory ran out. Are T x T scores, or the weights of all blocks, held at once?"
                ) from None
        times.append(seconds)
        held.append(most)
        shown = "-" if math.isnan(most) else f"{most / 1e9:.2f}"
        each, dense = seconds / n * 1e6, 4 * N_HEAD * n * n / 1e9
        print(f"{n:8,}{seconds:10.2f}{each:12.1f}{shown:>8}{dense:20.1f}", flush=True)
    print(
        f"\nTime grows with exponent {exponent(times):.2f}; wanted: at most "
        f"{LIMITS['exponent']} (1 is linear, 2 quadratic)."
    )
    if math.isnan(sum(held)):
        print(
            "Memory could not be measured here: /proc/self/status, which Linux has, cannot be read "
            "or has no VmHWM and VmRSS. The grader counts it everywhere."
        )
    else:
        print(
            f"Memory grows with exponent {exponent(held):.2f}; wanted at {LENGTHS[-1]:,} tokens: "
            f"under {LIMITS['GB']} GB for width {N_HEAD * HEAD_DIM}."
        )
    print("\nAgainst dense attention, seconds:")
    compared = {"sparse": [], "dense": []}
    for n in COMPARED:
        qkv, limit = inputs(n), LIMITS[n]
        sparse = run_sparse(student, qkv)
        dense = seconds_of(lambda: F.scaled_dot_product_attention(*qkv))
        verdict = f"{sparse / dense:.2f} times as long; wanted: at most {limit:g}"
        if limit < 1:
            verdict = f"{dense / sparse:.1f} times faster; wanted: at least {1 / limit:g}"
        print(f"{n:8,}   sparse {sparse:.2f}   dense {dense:.2f}   (sparse {verdict})", flush=True)
        compared["sparse"].append(sparse)
        compared["dense"].append(dense)
    draw(times, held, compared, out / "sparse_attention.png")


def inputs(n: int) -> torch.Tensor:
    """Queries, keys and values of n tokens, (3, 1, N_HEAD, n, HEAD_DIM), the same in each call."""
    generator = torch.Generator().manual_seed(n)
    return torch.randn(3, 1, n, N_HEAD, HEAD_DIM, generator=generator).transpose(2, 3)


def seconds_of(call: Callable[[], torch.Tensor]) -> float:
    """Seconds of processor time that a call takes, without gradients."""
    with torch.inference_mode():
        started = time.process_time()
        call()
        return time.process_time() - started


def run_sparse(student, qkv: torch.Tensor) -> float:
    """Seconds of sparse_attention, with the default pattern and evenly spaced global positions."""
    positions = (torch.arange(GLOBALS) * qkv.size(3) // GLOBALS).tolist()
    pattern = student.Pattern()
    return seconds_of(lambda: student.sparse_attention(*qkv, pattern, positions))


def measure(n: int, submission: Path) -> tuple[float, float]:
    """Seconds on n tokens, after a first call on few; and the peak memory of this process beyond
    what it held before, in bytes: queries, keys, values, and whatever sparse_attention makes; nan
    if it is unknown.
    """
    torch.set_num_threads(1)
    student = load_submission(submission, FILE)
    run_sparse(student, inputs(1024))

    def memory(name):  # VmRSS is what this process holds, VmHWM what it held at most
        with contextlib.suppress(OSError):
            status = Path("/proc/self/status").read_text(encoding="utf-8")
            if found := re.search(rf"{name}:\s+(\d+) kB", status):
                return int(found[1]) << 10
        return math.nan

    before = memory("VmRSS")
    # reset the peak; where that can't be, that of the imports is hardly above what is held now
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    seconds = run_sparse(student, inputs(n))
    # at least a page: short texts may fit into what was free; max(nan, ...) is nan
    return seconds, max(memory("VmHWM") - before, 4096)


def exponent(values: list[float]) -> float:
    """The power of n with which this grows, from the first of LENGTHS to the last."""
    return math.log(values[-1] / values[0], LENGTHS[-1] / LENGTHS[0])


def draw(
    times: list[float], held: list[float], compared: dict[str, list[float]], path: Path
) -> None:
    """Time and memory by length, and the times that were compared, on logarithmic axes.

    Raises:
        UserError: the picture cannot be written.
    """
    from matplotlib.figure import Figure

    figure = Figure((10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    left.plot(LENGTHS, times, "o-", label="sparse")
    for name, look in (("dense", "s--C1"), ("sparse", "^--C0")):
        left.plot(COMPARED, compared[name], look, label=f"{name}, compared")
    left.set(ylabel="seconds", title=f"Time: exponent {exponent(times):.2f}")
    right.plot(LENGTHS, [each / 1e9 for each in held], "o-", label="sparse")
    dense = [4 * N_HEAD * n * n / 1e9 for n in LENGTHS]
    right.plot(LENGTHS, dense, "s--C1", label="dense scores, if they were held")
    right.axhline(LIMITS["GB"], color="grey", linestyle=":", label="limit")
    measured = ": that of sparse could not be measured here" if math.isnan(held[-1]) else ""
    right.set(ylabel="GB", title=f"Memory{measured}")
    for axes in (left, right):
        axes.set(xlabel="tokens", xscale="log", yscale="log")
        axes.set_xticks(LENGTHS, [f"{n:,}" for n in LENGTHS])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
        axes.legend(fontsize=9)
    with writing(path) as temporary:
        figure.savefig(temporary, dpi=120, format="png")
    print(f"\nWrote {path}")
