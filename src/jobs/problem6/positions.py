"""The job plot_positions of question 6c: the student's position vectors as a picture, and how exact
the three claims about positions are.
"""

from functools import partial
from pathlib import Path

import numpy as np
import torch

from common.files import writing
from jobs.errors import is_stub
from jobs.returned import require_like

D_MODEL, ROWS, COLUMNS = 512, 51, 9  # of the picture: positions 0 to 50, dimensions 0 to 8
TICKS = (-1, -0.5, 0, 0.5, 1)
COLORS = ("#C9722B", "#FFFFFF", "#1F4E79")  # of -1, 0 and 1; also those of the handout's figure
LENGTH, SHIFTS = 1000, (1, 50, 100, 1000)
# Of RoPE's scores: the width, the distance, and the last position. A table whose angles are
# float32, which attention.py may use, has a spread of 7e-5 up to position 100 at most, in 300 draws
# of q and k; up to 1,000 it would be 5e-4.
HEAD_DIM, DISTANCE, LAST = 64, 7, 100

CLAIMS = {  # what is allowed, as the docstrings say, and advice for more
    "sinusoidal": (
        1e-11,
        "An error around 1e-5 comes from float32: stay in float64 throughout. An error around 1 "
        "means that the formula is different.",
    ),
    "shift_matrix": (
        1e-10,
        "Is it M_k transposed? PE[p] is a row on the left of the matrix: PE[p] @ M_k.",
    ),
    "rope_scores": (
        1e-4,
        "Is every entry rotated by the rows of its own two positions, both in the same direction, "
        "and not scaled? An error\n    around 1e-3 comes from 16-bit numbers.",
    ),
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
    print(f"Wrote {path}: {shown}\n\nThe largest errors, and what is allowed:")
    shifts = {f"shift_matrix, k = {k:,}": partial(shift_error, positions, table, k) for k in SHIFTS}
    measures = {
        "sinusoidal": lambda: encoding_error(table[:LENGTH]),
        **shifts,
        "rope_scores, spread": lambda: rope_spread(positions, seed),
        "rope_scores, error": lambda: rope_error(positions, seed),
    }
    wrong = False  # sinusoidal, which all but the spread are compared with
    for name, measure in measures.items():
        limit, advice = CLAIMS[name.partition(",")[0]]
        start = f"  {name:<24}"
        if wrong and name != "rope_scores, spread":
            print(f"{start}not measured yet: sinusoidal, which it is compared with, is wrong")
            continue
        try:
            error = measure()
        except NotImplementedError as missing:
            if not is_stub(missing):
                raise
            print(f"{start}not implemented yet: {missing}")
            continue
        fine = error < limit
        wrong |= name == "sinusoidal" and not fine
        print(f"{start}{error:8.1e}   {limit:.0e}   {'right' if fine else 'too large'}")
        if not fine:
            print(f"    {advice}")


def encode(positions, length: int, width: int) -> np.ndarray:
    """The student's position vectors; raises UserError if these are something else."""
    table = positions.sinusoidal(length, width)
    require_like(f"sinusoidal({length}, {width})", table, np.zeros((length, width)))
    return table


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
    matrix = positions.shift_matrix(k, D_MODEL)
    require_like(f"shift_matrix({k}, {D_MODEL})", matrix, np.zeros((D_MODEL, D_MODEL)))
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
    require_like(call, scores, torch.zeros(len(keys)))
    return scores.numpy(force=True).astype(float)


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
