"""Wrong monitors (question 6f)."""
from instructor.mistakes.patches import Edit, edge, misconception, slip

EACH, WRITER, FOUND, SILENT, FALSE, RARE = (
    "6f-0-basic", "6f-1-basic", "6f-2-hidden", "6f-3-hidden", "6f-4-basic", "6f-5-basic")


def edit(old: str, new: str) -> Edit:
    """A change to the reference's monitor."""
    return Edit("diagnostics.py", old, new)


# Pieces of the reference that several mistakes change.
FINITE = "if loss is not None and not math.isfinite(loss):"
NEW = ("raised = [\n            Alarm(name, step, message) for name, message in found.items() if "
       "name not in known\n        ]")
RATE = 'if rate is not None and holds_for("repetition", rate > 0.5) >= 3:'
EVEN = 'if holds_for(("even", layer, head), entropy > 0.99) >= 20 and progress > 1 / 10:'
SMALL = ('if (\n            norms\n            and holds_for("vanishing", norms[0] < 0.001 * '
         'norms[-1]) >= 20\n            and progress > 1 / 10\n        ):')
LATER = "            self.close()\n"
HEADS = "for head, entropy in enumerate(heads):"
SLOW = "if self.reference_loss is not None and progress > 1 / 4:"

MISTAKES = [
    misconception("monitor-first-median",
         "The first median above 1.5 times the lowest is believed, so every bump is an explosion.",
         (edit('if holds_for("rising", median > 1.5 * self.lowest) >= 8 or '
               'median > 3 * self.lowest:',
               "if median > 1.5 * self.lowest:"),), (EACH, FALSE, SILENT)),
    misconception("monitor-nan-by-comparison", "NaN is looked for with ==.",
         (edit(FINITE, "if loss is not None and (loss == math.nan or loss == math.inf):"),),
         (EACH,)),
    slip("monitor-gaps-end-rows", "A record without a sample ends the row of repetitive ones.",
         (edit(RATE, 'if holds_for("repetition", rate is not None and rate > 0.5) >= 3:'),),
         (EACH, FOUND)),
    edge("monitor-reference-of-zero-is-none", "A reference_loss of 0.0 is taken for none.",
         (edit(SLOW, "if self.reference_loss and progress > 1 / 4:"),), (RARE,)),
    edge("monitor-way-from-nan", "The first loss is taken as it is, so the way may begin at NaN.",
         (edit(FINITE, "self.first_loss = loss if self.first_loss is None else self.first_loss\n"
                       "        " + FINITE),), (RARE,)),
    slip("monitor-lowest-loss",
         "Medians are compared with the lowest single loss, so one easy batch raises an alarm.",
         (edit("self.lowest = min(self.lowest, median)", "self.lowest = min(self.lowest, loss)"),),
         (FALSE,)),
    slip("monitor-late-heads", "Records before a tenth of the steps do not count for dead heads.",
         (edit(EVEN, 'if progress > 1 / 10 and holds_for(("even", layer, head), entropy > 0.99) '
                     '>= 20:'),), (EACH,)),
    misconception("monitor-last-value-again",
         "A value that is missing is taken from the record before.",
         (edit('for layer, heads in enumerate(record.get("attention_entropy") or []):',
               'self.record["entropy"] = record.get("attention_entropy") or '
               'self.record.get("entropy") or []\n'
               '        for layer, heads in enumerate(self.record["entropy"]):'),), (FALSE,)),
    slip("monitor-needs-all-keys", "A key that is missing is an error.",
         (edit('rate = record.get("repetition_rate")', 'rate = record["repetition_rate"]'),),
         (EACH, FALSE, FOUND, SILENT)),
    misconception("monitor-early-heads",
         "Heads that begin evenly spread are dead after 20 records.",
         (edit(EVEN, 'if holds_for(("even", layer, head), entropy > 0.99) >= 20:'),),
         (EACH, FALSE, SILENT)),
    misconception("monitor-single-entropies",
         "One record with an entropy near 0 or 1 raises an alarm.",
         (edit(EVEN, "if entropy > 0.99 and progress > 1 / 10:"),
          edit('if holds_for(("sure", layer, head), entropy < 0.01) >= 20:', "if entropy < 0.01:")),
         (EACH, FALSE, SILENT)),
    misconception("monitor-layers-reversed", "The first of grad_norm is taken for the last layer.",
         (edit("norms[0] < 0.001 * norms[-1]", "norms[-1] < 0.001 * norms[0]"),), (EACH, FOUND)),
    slip("monitor-smallest-gradient",
         "A gradient vanishes when that of any layer is small; the first layer's counts.",
         (edit("norms[0] < 0.001 * norms[-1]", "min(norms) < 0.001 * norms[-1]"),), (FALSE,)),
    edge("monitor-divides-by-the-last-gradient",
         "Norms are divided by the last one, which may be 0.",
         (edit("norms[0] < 0.001 * norms[-1]", "norms[0] / norms[-1] < 0.001"),), (RARE,)),
    misconception("monitor-small-gradients", "A gradient vanishes when it is small in itself.",
         (edit("norms[0] < 0.001 * norms[-1]", "norms[0] < 0.001"),), (SILENT,)),
    misconception("monitor-extreme-heads",
         "The highest and the lowest entropy of a layer are judged, whichever heads they are of.",
         (edit(HEADS, "for head, entropy in enumerate([max(heads), min(heads)]):"),), (FALSE,)),
    slip("monitor-sorts-the-record", "It sorts the lists of the record that it is given.",
         (edit(HEADS, "heads.sort()\n            " + HEADS),), (EACH,)),
    edge("monitor-zero-rate-is-missing",
         "A rate of 0.0 is taken for a missing one, and ends no row.",
         (edit(RATE, RATE.replace("rate is not None", "rate")),), (RARE,)),
    slip("monitor-a-fifth-of-the-way", "Less than a fifth of the way is slow.",
         (edit("if covered < way / 10:", "if covered < way / 5:"),), (FALSE,)),
    misconception("monitor-last-loss",
         "Slow convergence is judged by the last loss, so one bad batch is enough.",
         (edit("self.first_loss - median", "self.first_loss - loss"),), (FALSE, SILENT)),
    slip("monitor-again-and-again", "An alarm is raised by every record at which its rule holds.",
         (edit("for name, message in found.items() if name not in known\n        ]",
               "for name, message in found.items()]"),), (EACH,)),
    misconception("monitor-silent", "It never says anything.", (edit(NEW, "raised = []"),),
         (EACH, FALSE, WRITER, FOUND, SILENT)),
    slip("monitor-names-alone", "Alarms are their names.",
         (edit(NEW, "raised = [name for name in found if name not in known]"),
          edit("known = {alarm.name for alarm in self.alarms}", "known = set(self.alarms)")),
         (EACH, FALSE, WRITER, FOUND, SILENT)),
    edge("writer-forgets-zeros", "A value of 0.0 is taken for none.",
         (edit('{"step": step, name: value}',
               '{"step": step} | ({name: value} if value else {})'),),
         (WRITER,)),
    edge("writer-forgets-step-0", "Step 0 is taken for none yet.",
         (edit("if self.record and step", 'if self.record and self.record["step"] and step'),),
         (WRITER,)),
    slip("writer-each-scalar", "Each value is a record of its own.",
         (edit("if self.record and step > self.record[\"step\"]:", "if self.record:"),), (WRITER,)),
    slip("writer-last-twice", "close passes the last record on each time.",
         (edit("record, self.record = self.record, {}", "record = self.record"),
          edit(LATER, LATER + "            self.record = {}\n")), (WRITER,)),
    slip("writer-all-at-the-end", "Records are kept, and passed on when the writer is closed.",
         (edit(LATER, "            self.waiting, self.record = getattr(self, 'waiting', []) + "
                      "[self.record], {}\n"),
          edit("            record, self.record = self.record, {}\n"
               "            self.update(record)\n",
               "            for record in [*getattr(self, 'waiting', []), self.record]:\n"
               "                self.update(record)\n"
               "            self.record, self.waiting = {}, []\n")), (WRITER,)),
    misconception("monitor-judges-once",
         "Convergence is judged at the first record after a quarter of the steps, and never again.",
         (edit(SLOW, SLOW.replace(":", " and not hasattr(self, 'judged'):\n"
                                  "                    self.judged = True")),), (EACH,)),
    slip("monitor-exactly-twenty",
         "A count has to be 20 just when a tenth of the steps is over, or before it is forgotten.",
         (edit(SMALL, SMALL.replace(">= 20", "== 20")),), (EACH, FOUND)),
    slip("monitor-shared-first-loss", "All monitors measure progress from the first one's loss.",
         (edit("self.first_loss = None", "self.first_loss = getattr(Monitor, 'first_loss', None)"),
          edit("self.first_loss = loss if self.first_loss is None else self.first_loss",
               "self.first_loss = Monitor.first_loss = getattr(Monitor, 'first_loss', loss)")),
         (EACH,)),
    slip("monitor-once-per-process",
         "Names are kept in the module, so that only the first training gets each alarm.",
         (edit("known = {alarm.name for alarm in self.alarms}", "known = set(KNOWN)"),
          edit("self.alarms += raised\n", "self.alarms += raised\n"
               "        KNOWN.update(alarm.name for alarm in raised)\n"),
          edit("class Monitor:", "KNOWN = set()\n\n\nclass Monitor:")),
         (EACH, FOUND, SILENT)),
    slip("writer-shares-its-record", "What add_scalar collects is made in the class, for all.",
         (edit("        self.record = {}  # what add_scalar has collected\n", ""),
          edit("    def __init__(self, total_steps",
               "    record = {}\n\n    def __init__(self, total_steps")), (WRITER,)),
]
