"""When an alarm of a monitor is in time."""

TOLERANCE = 20  # how many records an alarm may come after the onset, or before it


def in_time(record: int, onset: int, loss_ends: int | None = None) -> bool:
    """Whether an alarm is in time; loss_ends: for exploding_loss, the first record whose loss is
    not finite.
    """
    last = onset + TOLERANCE if loss_ends is None else min(onset + TOLERANCE, loss_ends)
    return onset - TOLERANCE <= record <= last
