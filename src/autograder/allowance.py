"""The time limit of a submission: for one check, or for all of them together."""

import math
import threading
import time

PATIENCE = 10  # wall-clock limit on a busy machine, as a multiple of the check's own limit
WORKED = 0.9  # a timeout with at least this share of CPU time was work, not a busy machine
BUSY = 0.1  # the machine counts as busy if the submission waited for this share of its time


class Allowance:
    """Time that calls of the student's process use up, starting now.

    Args:
        seconds: of the submission's own time (see process.Reply.counted), and PATIENCE times as
            many of wall time; None for no such limit.
        wall: a fixed limit in seconds of wall time, or None.
        within: a larger allowance that this one is part of.

    Attributes:
        elapsed, cpu, waited, counted: seconds of all calls: wall time, CPU time, waiting for a CPU,
            and the submission's own time.
    """

    def __init__(
        self,
        seconds: float | None = None,
        wall: float | None = None,
        within: "Allowance | None" = None,
    ):
        now = time.monotonic()
        self._seconds = self._left = math.inf if seconds is None else seconds
        self._patience = now + PATIENCE * self._left
        self._end = min(self._patience, math.inf if wall is None else now + wall)
        self._within = within
        self._lock = threading.Lock()  # checks that run at the same time share one
        self.elapsed = self.cpu = self.waited = self.counted = 0.0

    @property
    def left(self) -> float:
        """The seconds left of the submission's own time; 0 or less when it is used up."""
        return min(self._left, self._within.left if self._within else math.inf)

    @property
    def end(self) -> float:
        """The latest time at which it ends, by time.monotonic()."""
        return min(self._end, self._within.end if self._within else math.inf)

    @property
    def rest(self) -> float:
        """The seconds left of its own time or until its end, whichever is less."""
        return min(self.left, self.end - time.monotonic())

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0 or time.monotonic() >= self.end

    @property
    def lost_patience(self) -> bool:
        """Whether wall time ended it while own time was left."""
        return self._left > 0 and time.monotonic() >= self._patience

    @property
    def busy(self) -> bool:
        """Whether the machine was so busy that a timeout proves little: never if the submission
        got nearly all its seconds of CPU time.
        """
        worked = self.cpu >= WORKED * self._seconds
        return self.lost_patience or not worked and 0 < BUSY * self.elapsed <= self.waited

    def call(self, process, request: dict, memory: int):
        """Send a request, which may use the time left, to a StudentProcess or SameProcess.

        Args:
            memory: the limit in MiB.

        Returns:
            The Reply.

        Raises:
            ProcessError: the process could not be started.
        """
        reply = process.call(request, self.left, memory, self.end - time.monotonic())
        self._spend(reply)
        return reply

    def _spend(self, reply):
        with self._lock:
            self._left -= reply.counted
            self.elapsed += reply.seconds
            self.cpu += reply.cpu
            self.counted += reply.counted
            self.waited += reply.waited
        if self._within:
            self._within._spend(reply)
