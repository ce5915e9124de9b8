"""What a process trains on in one step: a batch, or pieces of it: given."""

import torch

# What a second piece costs, as a number of tokens: measured with the preset laptop.
PIECE = 100


def shares(
    x: torch.Tensor, y: torch.Tensor, rank: int, world: int, cut: bool
) -> list[tuple[torch.Tensor, torch.Tensor, float | torch.Tensor]]:
    """The pieces of a batch, (B, T), for process `rank` of `world`, each with the weight of its
    loss. A loss is a mean, so with the shares of the targets as weights, gradients add up to the
    batch's.

    Args:
        cut: whether shorter pieces of rows of similar length save time.
    """
    # a batch with fewer rows than processes is not split
    if world > 1 and len(x) >= world:
        pieces = [(x[rank::world], y[rank::world])]
    elif world == 1 and cut:
        pieces = in_pieces(x, y)
    else:
        return [(x, y, 1.0)]
    # gradients are averaged over the processes
    targets = (y != 0).sum() / world
    return [(xs, ys, (ys != 0).sum() / targets) for xs, ys in pieces]


def in_pieces(x: torch.Tensor, y: torch.Tensor) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """A batch, (B, T), as one or two pieces, whichever is less work. Rows are sorted by length, and
    each piece is cut to its last target: nothing before it attends to what comes after.
    """
    lengths = ((y != 0) * torch.arange(1, y.size(1) + 1)).amax(1)
    lengths, order = lengths.sort(descending=True, stable=True)
    longest, *others = lengths.tolist()
    work = {0: len(y) * longest}  # of a first piece with this many rows, and a second
    for rows, length in enumerate(others, start=1):
        if length:  # there is no loss without targets
            work[rows] = rows * longest + (len(y) - rows) * length + PIECE
    first = min(work, key=work.get)
    return [
        (x[rows, : max(1, width)], y[rows, : max(1, width)])
        for rows, width in ((order[:first], longest), (order[first:], int(lengths[first])))
        if len(rows)
    ]
