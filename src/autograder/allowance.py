"""The time that a submission has: for one check, or for all of them together."""

import math
import time

PATIENCE = 10  # times its limit: the longest that a check is waited for on a busy machine
WORKED = 0.9  # the part of its time on a processor from which on it was work that did not end
BUSY = 0.1  # the part of its time for which a submission waits where the machine is busy


class Allowance:
    """Time that calls of the student's process use up. It begins now.

    Args:
        seconds: of the submission's own time (see process.Reply.counted), and PATIENCE times as
            many by the clock; None for no such limit.
        wall: seconds by the clock, whatever the machine does, or None.
        within: a larger allowance, of which this one is a part.

    Attributes:
        elapsed, cpu, waited: seconds of all calls: by the clock, of processors, and of waiting
            for one.
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
        self.elapsed = self.cpu = self.waited = 0.0

    @property
    def left(self) -> float:
        """The seconds that are left of the submission's own time; not above 0 when it is over."""
        return min(self._left, self._within.left if self._within else math.inf)

    @property
    def end(self) -> float:
        """When it is over at the latest, by time.monotonic()."""
        return min(self._end, self._within.end if self._within else math.inf)

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        return self.left <= 0 or time.monotonic() >= self.end

    @property
    def lost_patience(self) -> bool:
        """Whether the clock ended it, though own time is left."""
        return self._left > 0 and time.monotonic() >= self._patience

    @property
    def busy(self) -> bool:
        """Whether the machine had so much else to do that a timeout proves little: never of
        work that had nearly all its seconds on processors.
        """
        worked = self.cpu >= WORKED * self._seconds
        return self.lost_patience or not worked and 0 < BUSY * self.elapsed <= self.waited

    def call(self, process, request: dict, memory: int):
        """Send a request, which may use what is left, to a StudentProcess or SameProcess.

        Args:
            memory: that it may use, in MiB.

        Returns:
            The Reply.

        Raises:
            ProcessError: the process cannot be started.
        """
        reply = process.call(request, self.left, memory, self.end - time.monotonic())
        self._spend(reply)
        return reply

    def _spend(self, reply):
        self._left -= reply.counted
        self.elapsed += reply.seconds
        self.cpu += reply.cpu
        self.waited += reply.waited
        if self._within:
            self._within._spend(reply)
