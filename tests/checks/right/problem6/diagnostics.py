"""Right monitors (question 6f) that look different from the reference."""
from instructor.mistakes.patches import Fill, Right

WRITER = (Fill("Monitor.add_scalar", """
if getattr(self, "values", None) and self.values["step"] != step:
    self.update(self.values)
    self.values = None
if not getattr(self, "values", None):
    self.values = dict(step=step)
self.values[name] = value
"""), Fill("Monitor.close", """
left, self.values = getattr(self, "values", None), None
if left:
    self.update(left)
"""))

RIGHT = [
    Right("monitor_keeps_everything",
          "It keeps all values in lists, and looks at their ends with NumPy.",
          (Fill("Monitor", "self.kept, self.medians = {}, []"), Fill("Monitor.update", """
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
if "repetition_rate" in fresh and len(self.kept["repetition_rate"]) >= 3 and min(self.kept["repetition_rate"][-3:]) > 0.5:
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
"""), *WRITER)),
    Right("monitor_tolerates_gaps",
          "Of the last 20 records, 18 have to fulfill a rule, and of 12 medians, 10.",
          (Fill("Monitor", "self.windows, self.recent, self.low, self.start, self.values = {}, [], "
                           "None, None, None"),
           Fill("Monitor.update", """
def often(key, holds, of, least):
    window = self.windows.setdefault(key, deque(maxlen=of))
    window.append(bool(holds))
    return sum(window) >= least

def raise_alarm(name):
    if all(name != alarm.name for alarm in self.alarms):
        self.alarms.append(Alarm(name, record["step"], f"{name} at step {record['step']}"))
        raised.append(self.alarms[-1])

loss = record.get("loss")
if loss is not None:
    if loss != loss or abs(loss) == math.inf:
        raise_alarm("exploding_loss")
    else:
        self.start = self.start or loss
        self.recent = (self.recent + [loss])[-5:]
        if len(self.recent) == 5:
            middle = sorted(self.recent)[2]
            self.low = middle if self.low is None else min(middle, self.low)
            if often("loss", middle > 1.5 * self.low, 12, 10):
                raise_alarm("exploding_loss")
            if 4 * record["step"] >= self.total_steps and self.reference_loss is not None:
                if middle > self.start - 0.1 * (self.start - self.reference_loss):
                    raise_alarm("slow_convergence")
rate = record.get("repetition_rate")
if rate is not None and often("rate", rate > 0.5, 3, 3):
    raise_alarm("repetition")
warm = 10 * record["step"] > self.total_steps
for i, layer in enumerate(record.get("attention_entropy") or ()):
    for j, entropy in enumerate(layer):
        if often(f"dead {i} {j}", entropy > 0.99, 20, 18) and warm:
            raise_alarm("dead_attention")
        if often(f"saturated {i} {j}", entropy < 0.01, 20, 18):
            raise_alarm("saturated_attention")
gradients = record.get("grad_norm")
if gradients is not None and often("gradients", gradients[0] < gradients[-1] / 1000, 20, 18) and warm:
    raise_alarm("vanishing_gradients")
"""), *WRITER)),
    Right("monitor_generates_alarms",
          "Faults come from a generator; rows are of 18 to 22, medians of 7, and torch's.",
          (Fill("Monitor", "self.rows, self.losses, self.lowest, self.values = {}, [], "
                           "float('inf'), {}"),
           Fill("Monitor.update", """
share, known = record["step"] / self.total_steps, [alarm.name for alarm in self.alarms]

def row(key, holds):
    self.rows[key] = (self.rows.get(key, 0) + 1) * bool(holds)
    return self.rows[key]

def judge():
    loss = record.get("loss")
    if loss is not None and not -float("inf") < loss < float("inf"):
        yield "exploding_loss", f"a loss of {loss}"
    elif loss is not None:
        import torch
        self.losses.append(loss)
        if len(self.losses) > 4:
            median = torch.tensor(self.losses[-7:], dtype=torch.float64).median().item()
            self.lowest = min(self.lowest, median)
            if row("loss", median > 1.45 * self.lowest) == 9:
                yield "exploding_loss", f"{median} after {self.lowest}"
            if self.reference_loss is not None and share > 0.25:
                start = self.losses[0]
                if row("slow", start - median < 0.1 * (start - self.reference_loss)) == 3:
                    yield "slow_convergence", f"from {start} to {median} only"
    if record.get("repetition_rate") is not None and row("text", record["repetition_rate"] > 0.5) == 3:
        yield "repetition", "three samples in a row"
    for i, layer in enumerate(record.get("attention_entropy") or []):
        for j, entropy in enumerate(layer):
            if row(("even", i, j), entropy > 0.99) >= 18 and share > 0.1:
                yield "dead_attention", f"head {i}.{j}"
            if row(("sure", i, j), entropy < 0.01) == 22:
                yield "saturated_attention", f"head {i}.{j}"
    if record.get("grad_norm"):
        first, *_, last = record["grad_norm"]
        if row("gradient", first < 0.001 * last) >= 20 and share > 0.1:
            yield "vanishing_gradients", f"{first} against {last}"

for name, message in judge():
    if name not in known:
        known.append(name)
        raised.append(Alarm(name, record["step"], message))
self.alarms += raised
"""), *WRITER)),
]
