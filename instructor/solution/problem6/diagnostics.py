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
        self.first_loss = None
        self.losses = deque(maxlen=5)  # the last finite ones
        self.lowest = math.inf  # of their medians
        self.in_a_row = Counter()  # for how many records each condition has held without a break
        self.record = {}  # what add_scalar has collected
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
        step, loss = record["step"], record.get("loss")
        progress = step / self.total_steps
        found = {}  # what is wrong at this record: name -> message

        def holds_for(condition, holds):
            """For how many records in a row, this one included, the condition has held."""
            self.in_a_row[condition] = self.in_a_row[condition] + 1 if holds else 0
            return self.in_a_row[condition]

        if loss is not None and not math.isfinite(loss):
            found["exploding_loss"] = f"The loss is {loss}."
        elif loss is not None:
            self.first_loss = loss if self.first_loss is None else self.first_loss
            self.losses.append(loss)
            if len(self.losses) == 5:
                median = statistics.median(self.losses)
                self.lowest = min(self.lowest, median)
                if holds_for("rising", median > 1.5 * self.lowest) >= 8 or median > 3 * self.lowest:
                    found["exploding_loss"] = (
                        f"The loss has risen from {self.lowest:.3g} to {median:.3g}."
                    )
                if self.reference_loss is not None and progress > 1 / 4:
                    way, covered = self.first_loss - self.reference_loss, self.first_loss - median
                    if covered < way / 10:
                        found["slow_convergence"] = (
                            f"The loss was {self.first_loss:.3g} at first and is {median:.3g} now; "
                            f"a good run reaches {self.reference_loss:.3g}."
                        )

        rate = record.get("repetition_rate")
        if rate is not None and holds_for("repetition", rate > 0.5) >= 3:
            found["repetition"] = (
                f"{rate:.0%} of the 4-grams in a sampled text occurred before in it."
            )

        for layer, heads in enumerate(record.get("attention_entropy") or []):
            for head, entropy in enumerate(heads):
                seen = (
                    f"Layer {layer}, head {head}: the entropy of its attention is {entropy:.3g} of "
                    "the largest."
                )
                if holds_for(("even", layer, head), entropy > 0.99) >= 20 and progress > 1 / 10:
                    found["dead_attention"] = seen
                if holds_for(("sure", layer, head), entropy < 0.01) >= 20:
                    found["saturated_attention"] = seen

        norms = record.get("grad_norm")
        if (
            norms
            and holds_for("vanishing", norms[0] < 0.001 * norms[-1]) >= 20
            and progress > 1 / 10
        ):
            found["vanishing_gradients"] = (
                f"The gradient's norm: {norms[0]:.2g} in the first layer, {norms[-1]:.2g} in the "
                "last."
            )

        known = {alarm.name for alarm in self.alarms}
        raised = [
            Alarm(name, step, message) for name, message in found.items() if name not in known
        ]
        self.alarms += raised
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
        if self.record and step > self.record["step"]:
            self.close()
        self.record |= {"step": step, name: value}
        ### END_CODE_HERE ###

    def close(self) -> None:
        """End of training: pass the values of the last step, if any, to self.update, once."""
        # [part 6f] Pass on the remaining values.
        ### START_CODE_HERE ###
        if self.record:
            record, self.record = self.record, {}
            self.update(record)
        ### END_CODE_HERE ###
