"""The job plot_positions of question 6c: the student's position vectors as a picture, and how exact
the three claims about positions are.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from common.files import UserError, writing
from jobs.errors import explain

D_MODEL, ROWS, COLUMNS = 512, 51, 9  # of the picture: positions 0 to 50, dimensions 0 to 8
TICKS = (-1, -0.5, 0, 0.5, 1)
COLORS = ("#C9722B", "#FFFFFF", "#1F4E79")  # of -1, 0 and 1; also those of the handout's figure
LENGTH, SHIFTS = 1000, (1, 50, 100, 1000)
# Of RoPE's scores: the width, the distance, and the last position. A table whose angles are
# float32, which attention.py may use, has a spread of 7e-5 up to position 100 at most, in 300 draws
# of q and k; up to 1,000 it would be 5e-4.
HEAD_DIM, DISTANCE, LAST = 64, 7, 100

LIMITS = {"sinusoidal": 1e-11, "shift_matrix": 1e-10, "rope_scores": 1e-4}  # of the docstrings
ADVICE = {
    "sinusoidal": "An error around 1e-5 comes from float32: stay in float64 throughout. An error "
    "around 1 means that the formula is different.",
    "shift_matrix": "Is it M_k transposed? PE[p] is a row on the left of the matrix: PE[p] @ M_k.",
    "rope_scores": "Is every entry rotated by the rows of its own two positions, both in the same "
    "direction, and not scaled? An error\n    around 1e-3 comes from 16-bit "
    "numbers.",
}


def plot_positions(positions, out: Path, seed: int) -> None:
    """Write positions.png, and print the largest errors; what is missing is said in its place. An
    error that is too large is a finding, with advice, and no failure. seed: of q and k.

    Raises:
        UserError: a function returned nonsense, or the picture cannot be written.
        NotImplementedError: sinusoidal is missing.
    """
    from matplotlib.figure import Figure

    path, table = out / "positions.png", encode(positions, LENGTH + max(SHIFTS), D_MODEL)
    figure = Figure((7, 7), layout="constrained")
    axes = figure.subplots()
    image = show(axes, table[:ROWS, :COLUMNS])
    axes.set(ylabel="position", title=f"Sinusoidal position vectors, $d = {D_MODEL}$")
    axes.set_xticks(range(COLUMNS), [f"{i}\n{'cos' if i % 2 else 'sin'}" for i in range(COLUMNS)])
    figure.colorbar(image, label="value", ticks=TICKS)
    with writing(path) as temporary:
        figure.savefig(temporary, dpi=120, format="png")
    shown = f"positions 0 to {ROWS - 1}, dimensions 0 to {COLUMNS - 1} of d_model = {D_MODEL}"
    print(f"Wrote {path}: {shown}")
    print("\nThe largest errors, and what is allowed:")
    right = report("sinusoidal", lambda: encoding_error(table[:LENGTH]))
    for k in SHIFTS:
        report(f"shift_matrix, k = {k:,}", lambda: shift_error(positions, table, k), right)
    report("rope_scores, spread", lambda: rope_spread(positions, seed))
    report("rope_scores, error", lambda: rope_error(positions, seed), right)


def report(name: str, measure: Callable[[], float], known: bool = True) -> bool:
    """Print a line with an error, and advice where it is too large; known: sinusoidal, which the
    error is measured with, is right. Returns whether the error is small enough.
    """
    function = name.partition(",")[0]
    if not known:
        print(f"  {name:<24}not measured yet: sinusoidal, which it is compared with, is wrong")
        return False
    try:
        error = measure()
    except NotImplementedError as missing:
        if explain(missing).exit_code != 3:  # torch lacks an operator
            raise
        print(f"  {name:<24}not implemented yet: {missing}")
        return False
    fine = error < LIMITS[function]
    print(f"  {name:<24}{error:8.1e}   {LIMITS[function]:.0e}   {'right' if fine else 'too large'}")
    if not fine:
        print(f"    {ADVICE[function]}")
    return fine


def checked(value, call: str, like: np.ndarray | torch.Tensor):
    """What the student's function returned; raises UserError unless it is a finite array of the
    type, dtype and shape of `like`.
    """

    def kind(value):
        if not isinstance(value, (np.ndarray, torch.Tensor)):
            return repr(value)[:200]
        name = "tensor" if isinstance(value, torch.Tensor) else "NumPy array"
        dtype = str(value.dtype).removeprefix("torch.")
        return f"a {dtype} {name} of shape {tuple(value.shape)}"

    if kind(value) != kind(like):
        raise UserError(f"{call} returned {kind(value)}. It should return {kind(like)}.")
    numbers = value.numpy(force=True) if isinstance(value, torch.Tensor) else value
    if bad := np.size(numbers) - np.isfinite(numbers).sum():
        raise UserError(f"{call} returned {bad} numbers that are NaN or infinite.")
    return numbers.astype(float)


def encode(positions, length: int, width: int) -> np.ndarray:
    """The student's position vectors."""
    table = positions.sinusoidal(length, width)
    return checked(table, f"sinusoidal({length}, {width})", np.zeros((length, width)))


def encoding_error(table: np.ndarray) -> float:
    """How far the table is from what makes it the right one: a pair is a point on the unit circle,
    which begins at the angle 0 and turns by the same angle from each position to the next; this
    angle is 1 for the first pair, and falls from pair to pair by the same factor, to a tenth after
    D_MODEL / 8 pairs.
    """
    points = table[:, 1::2] + 1j * table[:, 0::2]
    turns, tenth = np.angle(points[1]), D_MODEL // 8
    wrong = [
        np.abs(points) - 1,
        points[0] - 1,
        *(points[q:] - points[:-q] * points[q] for q in (1, len(table) // 2)),
    ]
    falls = [turns[0] - 1, turns[1:] - turns[:-1] * turns[1], 10 * turns[tenth:] - turns[:-tenth]]
    return float(max(np.abs(each).max() for each in wrong + [len(table) * each for each in falls]))


def shift_error(positions, table: np.ndarray, k: int) -> float:
    """How far PE[p] M_k is from PE[p + k], for all p below LENGTH."""
    matrix, like = positions.shift_matrix(k, D_MODEL), np.zeros((D_MODEL, D_MODEL))
    matrix = checked(matrix, f"shift_matrix({k}, {D_MODEL})", like)
    return float(np.abs(table[:LENGTH] @ matrix - table[k : k + LENGTH]).max())


def rope_spread(positions, seed: int) -> float:
    """How far the scores of a random query and key at one distance are apart, for positions up to
    LAST.
    """
    q, k = torch.randn(2, HEAD_DIM, generator=torch.Generator().manual_seed(seed))
    return float(np.ptp(scores_at_distance(positions, q, k)))


def rope_error(positions, seed: int) -> float:
    """How far the scores at one distance are off where they are known. A query that has only first
    entries of pairs, and a key that has a 1 in each first entry, or in each second one, have
    weighted sums of the cosines, or the sines, of that distance as their score: those of row
    DISTANCE of sinusoidal.
    """
    weights = torch.randn(HEAD_DIM // 2, generator=torch.Generator().manual_seed(seed))
    sines, cosines = encode(positions, DISTANCE + 1, HEAD_DIM)[DISTANCE].reshape(-1, 2).T
    q, first, second = torch.zeros(3, HEAD_DIM)
    q[0::2], first[0::2], second[1::2] = weights, 1, 1
    known = {first: weights.double().numpy() @ cosines, second: weights.double().numpy() @ sines}
    errors = [scores_at_distance(positions, q, key) - score for key, score in known.items()]
    return float(np.abs(errors).max())


def scores_at_distance(positions, q: torch.Tensor, k: torch.Tensor) -> np.ndarray:
    """The student's scores of q at p + DISTANCE and k at p, for all p that have both up to LAST, in
    float64; raises UserError if rope_scores returned something else.
    """
    keys = list(range(LAST - DISTANCE + 1))
    scores = positions.rope_scores(q.clone(), k.clone(), [p + DISTANCE for p in keys], list(keys))
    call = f"rope_scores(q, k, {len(keys)} positions of q, as many of k)"
    return checked(scores, call, torch.zeros(len(keys), dtype=q.dtype))


def show(axes, table: np.ndarray):
    """A heat map of position vectors, (positions, dimensions), in matplotlib axes; zero is white.
    Returns the image, for a color bar.
    """
    from matplotlib.colors import LinearSegmentedColormap

    colors = LinearSegmentedColormap.from_list("signed", COLORS)
    how = {"aspect": "auto", "interpolation": "nearest", "vmin": -1, "vmax": 1}
    image = axes.imshow(table, colors, **how)
    axes.set(xlabel="dimension", yticks=range(0, len(table), 10))
    return image
