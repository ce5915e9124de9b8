"""The time of a submission: for one check, or for all of them together."""

import math
import threading
import time

# The limit by the clock, as a multiple of that of CPU time: it ends code that waits, and bounds how
# long a busy machine may take.
CLOCK = 5


def by_the_clock(seconds: float) -> float:
    """The limit by the clock that belongs to a limit of CPU time."""
    return CLOCK * seconds


class Allowance:
    """CPU time that calls of the student's process use up, and CLOCK times as much by the clock,
    starting now.

    Args:
        seconds: of CPU time.
        clock: at most so many by the clock.
        within: a larger allowance that this one is part of.

    Attributes:
        used: CPU seconds of all calls.
        end: the latest time at which it ends, by time.monotonic().
    """

    def __init__(
        self, seconds: float = math.inf, clock: float = math.inf, within: "Allowance | None" = None
    ):
        self.seconds = seconds
        self.used = 0.0
        self.end = time.monotonic() + min(by_the_clock(seconds), clock)
        if within:
            self.end = min(self.end, within.end)
        self._within = within
        self._lock = threading.Lock()  # checks that run at the same time share one

    @property
    def left(self) -> float:
        """The CPU seconds left."""
        return min(self.seconds - self.used, self._within.left if self._within else math.inf)

    @property
    def rest(self) -> float:
        """The seconds left, of CPU time or by the clock, whichever are fewer; 0 at least."""
        return max(0.0, min(self.left, self.end - time.monotonic()))

    def call(self, process, request: dict, memory: int):
        """Send a request, which may use the time left, to a StudentProcess or SameProcess; returns
        the Reply.

        Args:
            memory: the limit in MiB.

        Raises:
            ProcessError: the process could not be started.
        """
        reply = process.call(request, self.left, self.end - time.monotonic(), memory)
        self._spend(reply.cpu)
        return reply

    def _spend(self, cpu):
        with self._lock:
            self.used += cpu
        if self._within:
            self._within._spend(cpu)
