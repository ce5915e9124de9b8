"""Monitors (question 6f) and choices (6b)."""

import tomllib

from instructor.mistakes.patches import Right, Text, edits
from instructor.mistakes.q6b import RIGHT as FILE
from instructor.mistakes.q6b import choose
from right import read

BOTH = "span-corruption"
OTHERS = choose(
    summarizer=("decoder-only", "causal-lm", None),
    sql_generator=("encoder-decoder", BOTH, None),
    chatbot=("encoder-decoder", BOTH, None),
)[0].text.replace("\n", "\r\n")
DECODERS = choose(chatbot=("decoder-only", BOTH, None), summarizer=("decoder-only", BOTH, None))
BARE = "".join(line + "\n" for line in FILE.splitlines() if line and line[0] != "#")
LINE = """{} = {{modification='{modification}', architecture = "{architecture}", objective = \
'{objective}'}} # mine
"""
TABLES = reversed(tomllib.loads(FILE).items())
INLINE = "\ufeff" + "".join(LINE.format(name, **table) for name, table in TABLES)

RIGHT = read(r'''
=== monitor_keeps_everything: lists, whose ends NumPy looks at; decoders by span corruption
--- Monitor
self.kept, self.medians = {}, []
--- Monitor.update
import numpy as np
fresh = [name for name in record if record[name] is not None]
for name in fresh:
    self.kept.setdefault(name, []).append(record[name])
now, faults = record["step"] / self.total_steps, []
if "loss" in fresh:
    if not np.isfinite(self.kept["loss"].pop()):
        faults.append("exploding_loss")
    else:
        losses = self.kept["loss"] = self.kept["loss"] + [record["loss"]]
        if len(losses) >= 5:
            self.medians.append(np.median(losses[-5:]))
            lowest = np.minimum.accumulate(self.medians)
            if len(lowest) >= 10 and (np.array(self.medians[-10:]) > 1.5 * lowest[-10:]).all():
                faults.append("exploding_loss")
            if self.reference_loss is not None and now > 0.25:
                if (losses[0] - self.medians[-1]) / (losses[0] - self.reference_loss) < 0.1:
                    faults.append("slow_convergence")
if (
    "repetition_rate" in fresh
    and len(self.kept["repetition_rate"]) >= 3
    and min(self.kept["repetition_rate"][-3:]) > 0.5
):
    faults.append("repetition")
if "attention_entropy" in fresh and len(self.kept["attention_entropy"]) >= 20:
    last = np.array(self.kept["attention_entropy"][-20:])
    if now > 0.1 and (last.min(axis=0) > 0.99).any():
        faults.append("dead_attention")
    if (last.max(axis=0) < 0.01).any():
        faults.append("saturated_attention")
if "grad_norm" in fresh and len(self.kept["grad_norm"]) >= 20 and now > 0.1:
    if all(norms[0] < 1e-3 * norms[-1] for norms in self.kept["grad_norm"][-20:]):
        faults.append("vanishing_gradients")
for name in faults:
    if name not in [alarm.name for alarm in self.alarms]:
        raised.append(Alarm(name, record["step"], "Look at the log around this step."))
self.alarms.extend(raised)
--- Monitor.add_scalar
if getattr(self, "values", None) and self.values["step"] != step:
    self.update(self.values)
    self.values = None
if not getattr(self, "values", None):
    self.values = dict(step=step)
self.values[name] = value
--- Monitor.close
left, self.values = getattr(self, "values", None), None
if left:
    self.update(left)
''', monitor_keeps_everything=DECODERS)

COUNT = """
            self.in_a_row[condition] = self.in_a_row[condition] + 1 if holds else 0
            return self.in_a_row[condition]
"""
WINDOW = """
            size = {"rising": 12, "repetition": 3}.get(condition, 20)
            window = self.in_a_row.setdefault(condition, deque(maxlen=size))
            window.append(holds)
            return sum(window)
"""
RISING = "1.5 * self.lowest) >= 8 or median > 3 * self.lowest"
GAPS = edits(
    "diagnostics.py",
    ("self.in_a_row = Counter()", "self.in_a_row = {}"),
    (COUNT, WINDOW),
    (RISING, "1.5 * self.lowest) >= 10"),
    ("progress > 1 / 4", "progress >= 1 / 4"),
    ("entropy > 0.99) >= 20", "entropy > 0.99) >= 18"),
    ("entropy < 0.01) >= 20", "entropy < 0.01) >= 18"),
    ("norms[-1]) >= 20", "norms[-1]) >= 18"),
)
OTHER_WINDOWS = edits(
    "diagnostics.py",
    ("deque(maxlen=5)  # the last", "deque(maxlen=7)  # the last"),
    ("len(self.losses) == 5", "len(self.losses) > 4"),
    ("statistics.median(", "statistics.median_low("),
    (RISING, "1.45 * self.lowest) == 9"),
    ("if covered < way / 10", 'if holds_for("slow", covered < way / 10) == 3'),
    ("rate > 0.5) >= 3", "rate > 0.5) == 3"),
    ("entropy > 0.99) >= 20", "entropy > 0.99) >= 18"),
    ("entropy < 0.01) >= 20", "entropy < 0.01) == 22"),
)
RIGHT += [
    Right(name, what, (*changes, Text("choices.toml", text)))
    for name, what, changes, text in (
        ("monitor_tolerates_gaps", "18 of 20 records; other choices, CRLF", GAPS, OTHERS),
        ("monitor_with_other_windows", "rows of 18 to 22; no remarks", OTHER_WINDOWS, BARE),
        ("choices_inline", "a line for each, after a byte-order mark", (), INLINE),
    )
]
