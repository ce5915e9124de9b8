"""A monitor that reads the log of a running training and raises alarms (question 6f)."""

import math
import statistics
from collections import Counter, deque
from typing import NamedTuple


class Alarm(NamedTuple):
    """A problem found in a training run.

    Attributes:
        name: "exploding_loss", "repetition", "slow_convergence", "dead_attention",
            "saturated_attention" or "vanishing_gradients".
        step: the step of the record that raised it.
        message: what was seen, in a sentence for the person who runs the training.
    """

    name: str
    step: int
    message: str


class Monitor:
    """Watches one training run, a record at a time, without seeing later records.

    A record is a dict. It always has "step", which increases. The other keys may be missing or
    None; rules that need them then skip the record:

        "loss"               a float, possibly infinite or NaN
        "lr"                 a float, the learning rate
        "grad_norm"          a list: the norm of each layer's gradient, starting with the layer
                             nearest to the input
        "attention_entropy"  a list of layers, each a list of heads: the mean entropy of the head's
                             attention weights, divided by the largest possible (0: all weight on
                             one position, 1: evenly spread)
        "repetition_rate"    a float: the share of the 4-grams of a sampled text that occurred
                             before in the same text

    Other keys are ignored.

    Args:
        total_steps: the planned number of training steps.
        reference_loss: the loss of a known good run. Without it, slow convergence is not judged.

    Attributes:
        alarms: all alarms so far, each name at most once.
    """

    def __init__(self, total_steps: int, reference_loss: float | None = None):
        self.total_steps = total_steps
        self.reference_loss = reference_loss
        self.alarms: list[Alarm] = []
        # [part 6f] Initialize the state that your rules keep between records, and add_scalar
        # between calls.
        # Hint: deque(maxlen=5) keeps the last five values appended to it.
        ### START_CODE_HERE ###
        raise NotImplementedError("6f: Monitor")
        ### END_CODE_HERE ###

    def update(self, record: dict) -> list[Alarm]:
        """Judge the next record.

        Args:
            record: see above; it is not changed.

        Returns:
            The alarms that this record raises, or []. They are also added to self.alarms.
        """
        raised = []
        # [part 6f] Judge the record. A fault should be reported at most 20 records after its onset,
        # and not more than 20 before it. The onset is the first record at which this holds:
        #
        #     exploding_loss       the loss is not finite (report it at once), or it is above 1.5
        #                          times its lowest value so far (in medians over 5 records) and
        #                          reaches infinity, NaN or 3 times that value before it falls below
        #                          1.5 times again
        #     repetition           the repetition rate is above 0.5 in the third sample in a row
        #     slow_convergence     a quarter of total_steps is over, and the median loss of the last
        #                          5 records has covered less than a tenth of the way from the first
        #                          finite loss to reference_loss
        #     dead_attention       a tenth of total_steps is over, and a head's entropy has been
        #                          above 0.99 in 20 records in a row
        #     saturated_attention  a head's entropy has been below 0.01 in 20 records in a row
        #     vanishing_gradients  a tenth of total_steps is over, and the first layer's gradient
        #                          has been less than 0.001 of the last layer's in 20 records in a
        #                          row
        #
        # "In a row" counts only records that have the value. Each name is raised at most once.
        # Hints: statistics.median takes any iterable. Every comparison with NaN is False, and NaN
        #        makes a median meaningless. A rise is seen before it is known how far it goes: for
        #        how many medians do you wait?
        ### START_CODE_HERE ###
        raise NotImplementedError("6f: Monitor.update")
        ### END_CODE_HERE ###
        return raised

    def add_scalar(self, name: str, value, step: int) -> None:
        """Add a value of a step, as a TensorBoard SummaryWriter does, so that a Monitor can be the
        `writer` of a TrainerConfig.

        Args:
            name: a key of a record, such as "loss" or "lr"; other names are kept as well.
            value: its value.
            step: never smaller than in earlier calls.
        """
        # [part 6f] Collect the values of one step under their names. When a later step starts, pass
        # them to self.update as a record, with their "step".
        ### START_CODE_HERE ###
        raise NotImplementedError("6f: Monitor.add_scalar")
        ### END_CODE_HERE ###

    def close(self) -> None:
        """End of training: pass the values of the last step, if any, to self.update, once."""
        # [part 6f] Pass on the remaining values.
        ### START_CODE_HERE ###
        raise NotImplementedError("6f: Monitor.close")
        ### END_CODE_HERE ###
