"""A monitor that reads the log of a training while it runs, and raises an alarm when something goes
wrong (question 6f).
"""

import math
import statistics
from collections import Counter, deque
from typing import NamedTuple


class Alarm(NamedTuple):
    """Something is wrong with a training.

    Attributes:
        name: "exploding_loss", "repetition", "slow_convergence", "dead_attention",
            "saturated_attention" or "vanishing_gradients".
        step: of the record that raised it.
        message: what was seen, in a sentence for whoever runs the training.
    """

    name: str
    step: int
    message: str


class Monitor:
    """Watches one training. It is given a record at a time, and knows nothing of those to come.

    A record is a dict. It always has "step", which increases. The other keys may be missing or
    None, and then nothing is judged by them:

        "loss"               a float, possibly infinite or NaN
        "lr"                 a float, the learning rate
        "grad_norm"          a list with the norm of each layer's gradient, the layer nearest to the
        input first "attention_entropy"  a list of layers, each a list of heads: the mean entropy of
        the head's attention weights,
                             divided by the largest possible (0: all weight on one position, 1:
                             evenly spread)
        "repetition_rate"    a float: the share of the 4-grams of a sampled text that occurred
        before in the same text

    There may be more keys, which mean nothing here.

    Args:
        total_steps: how many steps the training is to take.
        reference_loss: what a known good run reaches. Without it, slow convergence is not judged.

    Attributes:
        alarms: all that were raised so far, each name at most once.
    """

    def __init__(self, total_steps: int, reference_loss: float | None = None):
        self.total_steps = total_steps
        self.reference_loss = reference_loss
        self.alarms: list[Alarm] = []
        # [part 6f] Begin what your rules have to remember from record to record, and add_scalar
        # from call to call.
        # Hint: deque(maxlen=5) keeps the last five values of whatever is appended to it.
        ### START_CODE_HERE ###
        raise NotImplementedError("6f: Monitor")
        ### END_CODE_HERE ###

    def update(self, record: dict) -> list[Alarm]:
        """Look at the next record.

        Args:
            record: see above; it is not changed.

        Returns:
            The alarms that this record raises; [] if there are none. They are in self.alarms, too.
        """
        raised = []
        # [part 6f] Judge the record. A fault should be reported at most 20 records after its onset:
        #
        #     exploding_loss       the loss is not finite (report it at once), or it is above 1.5
        #     times its lowest value so far
        #                          (in medians over 5 records) and reaches infinity, NaN or 3 times
        #                          that value before it falls below 1.5 times again
        #     repetition           the repetition rate is above 0.5 in the third sample in a row
        #     slow_convergence     a quarter of total_steps is over, and the median loss of the last
        #     5 records has covered less
        #                          than a tenth of the way from the first finite loss to
        #                          reference_loss
        #     dead_attention       a tenth of total_steps is over, and a head's entropy has been
        #     above 0.99 in 20 records in a row saturated_attention  a head's entropy has been below
        #     0.01 in 20 records in a row vanishing_gradients  a tenth of total_steps is over, and
        #     the first layer's gradient has been less than 0.001 of the
        #                          last layer's in 20 records in a row
        #
        # "In a row" is among the records that have the value. Each name is raised at most once.
        # Hints: statistics.median takes any iterable. NaN compares as False with everything, and
        #        makes a median meaningless. A rise is noticed before it is known how far it goes:
        #        for how many medians do you wait?
        ### START_CODE_HERE ###
        raise NotImplementedError("6f: Monitor.update")
        ### END_CODE_HERE ###
        return raised

    def add_scalar(self, name: str, value, step: int) -> None:
        """Take a value of a step, as a TensorBoard SummaryWriter does, so that a Monitor can be the
        `writer` of a TrainerConfig.

        Args:
            name: a key of a record, as "loss" or "lr"; or another, which is kept as well.
            value: what belongs there.
            step: not smaller than in the calls before.
        """
        # [part 6f] Collect the values of one step under their names. When a later step begins, pass
        # them to self.update as a record, with their "step".
        ### START_CODE_HERE ###
        raise NotImplementedError("6f: Monitor.add_scalar")
        ### END_CODE_HERE ###

    def close(self) -> None:
        """The training is over: pass the values of its last step to self.update, once; nothing if
        there are none.
        """
        # [part 6f] Pass on what is left.
        ### START_CODE_HERE ###
        raise NotImplementedError("6f: Monitor.close")
        ### END_CODE_HERE ###
