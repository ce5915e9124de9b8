"""The job plot_positions of question 6c: the student's position vectors as a picture, and how exact the three claims about
positions are."""
import functools
import io
import re
from pathlib import Path
from typing import Callable

import numpy as np
import torch

from files import UserError, writing

D_MODEL, ROWS, COLUMNS = 512, 51, 9             # of the picture: positions 0 to 50, dimensions 0 to 8
LENGTH, SHIFTS = 1000, (1, 50, 100, 1000)
# Of RoPE's scores: the width, the distance, and the last position. A table whose angles are float32, which question 1h allows,
# has a spread of 7e-5 up to position 100 at most, in 300 draws of q and k; up to 1,000 it would be 5e-4.
HEAD_DIM, DISTANCE, LAST = 64, 7, 100

LIMITS = {"sinusoidal": 1e-11, "shift_matrix": 1e-10, "rope_scores": 1e-4}         # the handout's
ADVICE = {
    "sinusoidal": "An error around 1e-5 is that of float32: stay in float64 all the way. One around 1 is another formula.",
    "shift_matrix": "If it is M_k transposed, the vector stands on the right: here a row stands on the left.",
    "rope_scores": "Is every entry rotated by the rows of its own two positions, both in the same direction, and not scaled? "
                   "An error\n    around 1e-3 is that of 16-bit numbers.",
}


def plot_positions(positions, out: Path, seed: int) -> None:
    """Write positions.png, and print the largest errors. One that is too large is a finding, with advice, and no failure.

    Args:
        positions: the submission's module of that name.
        out: the folder for the picture.
        seed: of the query and the key.

    Raises:
        UserError: a function returned something that it should not, or the picture cannot be written.
        NotImplementedError: sinusoidal is missing. What else is missing is said in its place.
    """
    with writing(out / "positions.png") as temporary:
        table = array(positions.sinusoidal(LENGTH, D_MODEL), f"sinusoidal({LENGTH}, {D_MODEL})", (LENGTH, D_MODEL))
        temporary.write_bytes(draw(table[:ROWS, :COLUMNS]))
    print(f"Wrote {out / 'positions.png'}: positions 0 to {ROWS - 1}, dimensions 0 to {COLUMNS - 1} of d_model = {D_MODEL}")
    print("\nThe largest errors, and what is allowed:")
    claims = {"sinusoidal": lambda: encoding_error(table),
              **{f"shift_matrix, k = {k:,}": lambda k=k: shift_error(positions, k) for k in SHIFTS},
              "rope_scores, spread": lambda: float(np.ptp(rope_errors(positions, seed))),
              "rope_scores, error": lambda: float(np.abs(rope_errors(positions, seed)).max())}
    for name, measure in claims.items():
        report(name, measure)


def report(name: str, measure: Callable[[], float]) -> None:
    """Print a line with an error, and advice where it is too large."""
    function = name.partition(",")[0]
    try:
        error = measure()
    except NotImplementedError as missing:
        if not re.match(r"\d\w+: ", str(missing)):      # torch lacks an operator
            raise
        print(f"  {name:<24}not implemented yet: {missing}")
        return
    fine = error < LIMITS[function]
    print(f"  {name:<24}{error:8.1e}   {LIMITS[function]:.0e}   {'right' if fine else 'too large'}")
    if not fine:
        print(f"    {ADVICE[function]}")


def array(value, call: str, shape: tuple[int, ...]) -> np.ndarray:
    """What the student's function returned; raises UserError unless it is a finite float64 array of this shape."""
    if not isinstance(value, np.ndarray) or value.dtype != np.float64 or value.shape != shape:
        found = f"a {value.dtype} array of shape {value.shape}" if isinstance(value, np.ndarray) else repr(value)[:200]
        raise UserError(f"{call} returned {found}. It should return a float64 NumPy array of shape {shape}.")
    if not np.isfinite(value).all():
        raise UserError(f"{call} returned {(~np.isfinite(value)).sum()} numbers that are NaN or infinite.")
    return value


@functools.cache
def exact() -> np.ndarray:
    """The position vectors as far as the claims go, worked out in as many digits as this machine's NumPy has."""
    positions, pairs = (np.arange(0, end, step, dtype=np.longdouble) for end, step in ((LENGTH + max(SHIFTS), 1), (D_MODEL, 2)))
    angles = np.outer(positions, np.longdouble(10000) ** (-pairs / D_MODEL))
    return np.stack((np.sin(angles), np.cos(angles)), axis=-1).reshape(len(positions), D_MODEL).astype(np.float64)


def encoding_error(table: np.ndarray) -> float:
    """How far the table is off anywhere."""
    return float(np.abs(table - exact()[:LENGTH]).max())


def shift_error(positions, k: int) -> float:
    """How far PE[p] M_k is from PE[p + k], for all p of the table; both are ours, M_k is the student's."""
    matrix = array(positions.shift_matrix(k, D_MODEL), f"shift_matrix({k}, {D_MODEL})", (D_MODEL, D_MODEL))
    return float(np.abs(exact()[:LENGTH] @ matrix - exact()[k:k + LENGTH]).max())


def rope_errors(positions, seed: int) -> np.ndarray:
    """How far the scores of a random query and key are off at one distance, for positions up to LAST. In float64, the score is
    the same for all: the sum over pairs, as complex numbers, of q, conjugate k and e to the power i DISTANCE w."""
    generator = torch.Generator().manual_seed(seed)
    q, k = (torch.randn(HEAD_DIM, generator=generator) for _ in "qk")
    keys = list(range(LAST - DISTANCE + 1))
    scores = positions.rope_scores(q.clone(), k.clone(), [p + DISTANCE for p in keys], list(keys))
    if not isinstance(scores, torch.Tensor) or scores.shape != (len(keys),) or scores.dtype != q.dtype:
        found = (f"a {scores.dtype} tensor of shape {tuple(scores.shape)}" if isinstance(scores, torch.Tensor)
                 else repr(scores)[:200])
        raise UserError(f"rope_scores returned {found}. For {len(keys)} pairs of positions and vectors in {q.dtype}, it should "
                        f"return a {q.dtype} tensor of shape ({len(keys)},).")
    if bad := int((~scores.isfinite()).sum()):
        raise UserError(f"rope_scores returned {bad} scores that are NaN or infinite, of {len(keys)}.")
    a, b = (x.double().numpy().view(complex) for x in (q, k))
    turn = np.exp(1j * DISTANCE * 10000.0 ** (-np.arange(0, HEAD_DIM, 2) / HEAD_DIM))
    return scores.detach().double().cpu().numpy() - (a * b.conj() * turn).sum().real


def draw(table: np.ndarray) -> bytes:
    """The matrix as a heat map, in a PNG."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 7), layout="constrained")
    image = axes.imshow(table, aspect="auto", cmap="RdBu", vmin=-1, vmax=1, interpolation="nearest")
    axes.set(xlabel="dimension", ylabel="position", title=f"Sinusoidal position vectors, $d_{{model}} = {D_MODEL}$")
    axes.set_xticks(range(COLUMNS), [f"{i}\n{'cos' if i % 2 else 'sin'}" for i in range(COLUMNS)])
    axes.set_yticks(range(0, ROWS, 10))
    axes.spines[:].set_visible(False)
    figure.colorbar(image, label="value", ticks=(-1, -0.5, 0, 0.5, 1))
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=120, format="png")
    plt.close(figure)
    return buffer.getvalue()
