"""Wrong monitors (question 6f)."""
from instructor.mistakes.patches import Edit, edge, misconception, slip

EACH, WRITER, FOUND, SILENT, FALSE, RARE = (
    "6f-0-basic", "6f-1-basic", "6f-2-hidden", "6f-3-hidden", "6f-4-basic", "6f-5-basic")


def edit(old: str, new: str) -> Edit:
    """A change to the reference's monitor."""
    return Edit("diagnostics.py", old, new)


# Pieces of the reference that several mistakes change.
FINITE = "if loss is not None and not math.isfinite(loss):"
RISING = 'if holds_for("rising", median > 1.5 * self.lowest) >= 8 or median > 3 * self.lowest:'
NEW = ("raised = [\n            Alarm(name, step, message) for name, message in found.items() if "
       "name not in known\n        ]")
RATE = 'if rate is not None and holds_for("repetition", rate > 0.5) >= 3:'
EVEN = 'if holds_for(("even", layer, head), entropy > 0.99) >= 20 and progress > 1 / 10:'
SURE = 'if holds_for(("sure", layer, head), entropy < 0.01) >= 20:'
SMALL = ('if (\n            norms\n            and holds_for("vanishing", norms[0] < 0.001 * '
         'norms[-1]) >= 20\n            and progress > 1 / 10\n        ):')
LAYERS = 'enumerate(record.get("attention_entropy") or [])'
KEPT, PASS, LATER = "        self.alarms += raised\n", "            self.update(record)\n", "            self.close()\n"
WAY = "if covered < way / 10:"
BEGUN = 'if self.record and step > self.record["step"]:'
COLLECT = 'self.record |= {"step": step, name: value}'
HEADS = "for head, entropy in enumerate(heads):"
RATIO = "norms[0] < 0.001 * norms[-1]"
SLOW = "if self.reference_loss is not None and progress > 1 / 4:"
GAPS = """for name, rows in (("attention_entropy", ("even", "sure")), ("grad_norm", ("vanishing",))):
            if record.get(name) is None:
                for row in [row for row in self.in_a_row if row in rows or row[0] in rows]:
                    self.in_a_row[row] = 0
        """

MISTAKES = [
    misconception("monitor-single-losses",
          "One loss above 1.5 times the lowest raises an alarm, so each bad batch does.",
          (edit("self.losses = deque(maxlen=5)", "self.losses = deque(maxlen=1)"),
           edit("if len(self.losses) == 5:", "if True:"),
           edit(RISING, "if median > 1.5 * self.lowest:")), (EACH, FALSE, SILENT)),
    misconception("monitor-means",
          "Means instead of medians: a bad batch moves them for five records.",
          (edit("median = statistics.median(self.losses)",
                "median = statistics.fmean(self.losses)"),
           edit(RISING, "if median > 1.5 * self.lowest:")), (EACH, FALSE, SILENT)),
    misconception("monitor-first-median",
          "The first median above 1.5 times the lowest is believed, so "
                                  "every bump is an explosion.",
          (edit(RISING, "if median > 1.5 * self.lowest:"),), (EACH, FALSE, SILENT)),
    slip("monitor-not-finite-in-median",
         "Losses that are not finite go into the median like others.",
         (edit(FINITE, "if False:"),), (EACH, FOUND)),
    misconception("monitor-nan-by-comparison", "NaN is looked for with ==.",
          (edit(FINITE, "if loss is not None and (loss == math.nan or loss == math.inf):"),),
          (EACH,)),
    misconception("monitor-waits-for-three",
          "An explosion is reported when the loss is three times its lowest.",
          (edit(RISING, "if median > 3 * self.lowest:"),), (EACH,)),
    misconception("monitor-against-last-median",
          "Medians are compared with the one before, so a steady rise is none.",
          (edit("self.lowest = min(self.lowest, median)",
                "self.lowest, self.last = getattr(self, 'last', median), median"),
           edit(RISING, "if median > 1.5 * self.lowest:")), (FOUND,)),
    misconception("monitor-against-first-loss",
          "An explosion is a loss above one and a half times the first.",
          (edit(RISING, "if median > 1.5 * self.first_loss:"),), (EACH,)),
    slip("monitor-waits-too-long", "Thirty medians have to be high before it is believed.",
         (edit(RISING, 'if holds_for("rising", median > 1.5 * self.lowest) >= 30:'),),
         (EACH, FOUND)),
    misconception("monitor-single-sample", "One repetitive sample raises an alarm.",
          (edit(RATE, "if rate is not None and rate > 0.5:"),), (EACH, FALSE, SILENT)),
    slip("monitor-three-samples-in-all", "Three repetitive samples are counted, but not in a row.",
         (edit(RATE, 'if rate is not None and rate > 0.5 and holds_for("repetition", True) >= 3:'),
          ), (EACH, FALSE, SILENT)),
    slip("monitor-gaps-end-rows", "A record without a sample ends the row of repetitive ones.",
         (edit(RATE, 'if holds_for("repetition", rate is not None and rate > 0.5) >= 3:'),),
         (EACH, FOUND)),
    misconception("monitor-missing-is-zero", "A value that is missing counts as 0.",
          (edit('rate = record.get("repetition_rate")',
                'rate = record.get("repetition_rate") or 0.0'),), (EACH, FOUND)),
    slip("monitor-gaps-end-heads",
         "A record without entropies or gradients ends all rows that are counted in them.",
         (edit('rate = record.get("repetition_rate")',
               GAPS + 'rate = record.get("repetition_rate")'),), (EACH,)),
    slip("monitor-gaps-end-rises", "A record without a loss ends the row of high medians.",
         (edit('rate = record.get("repetition_rate")',
               "if loss is None:\n            self.in_a_row[\"rising\"] = 0\n"
               '        rate = record.get("repetition_rate")'),), (EACH,)),
    slip("monitor-gaps-empty-medians", "A record without a loss forgets the last losses.",
         (edit('rate = record.get("repetition_rate")',
               'if loss is None:\n            self.losses.clear()\n'
               '        rate = record.get("repetition_rate")'),), (EACH,)),
    edge("monitor-reference-of-zero-is-none", "A reference_loss of 0.0 is taken for none.",
         (edit(SLOW, "if self.reference_loss and progress > 1 / 4:"),), (RARE,)),
    edge("monitor-way-from-nan", "The first loss is taken as it is, so the way may begin at NaN.",
         (edit(FINITE, "self.first_loss = loss if self.first_loss is None else self.first_loss\n"
                       "        " + FINITE),), (RARE,)),
    slip("monitor-way-from-largest", "The way to the reference begins at the largest loss so far.",
         (edit("self.first_loss = loss if self.first_loss is None else self.first_loss",
               "self.first_loss = max(loss, self.first_loss or loss)"),), (EACH,)),
    slip("monitor-lowest-loss", "Medians are compared with the lowest single loss, so one easy "
                                "batch raises an alarm.",
         (edit("self.lowest = min(self.lowest, median)", "self.lowest = min(self.lowest, loss)"),),
         (FALSE,)),
    slip("monitor-late-heads", "Records before a tenth of the steps do not count for dead heads.",
         (edit(EVEN, 'if progress > 1 / 10 and holds_for(("even", layer, head), entropy > 0.99) '
                     '>= 20:'),), (EACH,)),
    edge("monitor-first-loss-unseen", "The first loss only begins the way, and is not looked at.",
         (edit(FINITE, FINITE.replace("loss is not None and",
                                      "loss is not None and self.losses and")),), (RARE,)),
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
    misconception("monitor-early-gradients", "Gradients are judged during warm-up, too.",
          (edit(SMALL, 'if norms and holds_for("vanishing", norms[0] < 0.001 * norms[-1]) >= 20:'),
           ), (EACH, FALSE, SILENT)),
    slip("monitor-early-convergence", "Convergence is judged after a fortieth of the steps.",
         (edit(SLOW, "if self.reference_loss is not None and progress > 1 / 40:"),),
         (EACH, FALSE, FOUND, SILENT)),
    slip("monitor-short-rows", "Five records in a row are enough.",
         (edit(EVEN, EVEN.replace("20", "5")), edit(SURE, SURE.replace("20", "5")),
          edit(SMALL, SMALL.replace("20", "5"))), (EACH, FALSE, SILENT)),
    misconception("monitor-single-entropies",
          "One record with an entropy near 0 or 1 raises an alarm.",
          (edit(EVEN, "if entropy > 0.99 and progress > 1 / 10:"),
           edit(SURE, "if entropy < 0.01:")), (EACH, FALSE, SILENT)),
    misconception("monitor-swapped-entropies",
          "An entropy near 0 is taken for dead, one near 1 for saturated.",
          (edit('found["dead_attention"] = seen', 'found["saturated_attention"] = seen '),
           edit('found["saturated_attention"] = seen\n', 'found["dead_attention"] = seen\n')),
          (EACH, FALSE, FOUND, SILENT)),
    misconception("monitor-mean-of-heads",
          "The mean over heads is judged, so a dead head hides among others.",
          (edit("for head, entropy in enumerate(heads):",
                "for head, entropy in enumerate([statistics.fmean(heads)]):"),), (EACH, FOUND)),
    misconception("monitor-last-layer", "Only the heads of the last layer are judged.",
          (edit(LAYERS, 'enumerate((record.get("attention_entropy") or [])[-1:])'),), (FOUND,)),
    slip("monitor-any-head",
         "The 20 records in a row are counted over all heads of a layer together.",
         (edit(EVEN, 'if holds_for(("even", layer), entropy > 0.99) >= 20 and progress > 1 / 10:'),
          edit(SURE, 'if holds_for(("sure", layer), entropy < 0.01) >= 20:')), (FOUND,)),
    misconception("monitor-layers-reversed", "The first of grad_norm is taken for the last layer.",
          (edit("norms[0] < 0.001 * norms[-1]", "norms[-1] < 0.001 * norms[0]"),), (EACH, FOUND)),
    misconception("monitor-small-gradients", "A gradient vanishes when it is small in itself.",
          (edit("norms[0] < 0.001 * norms[-1]", "norms[0] < 0.001"),), (SILENT,)),
    slip("monitor-all-loose", "All limits are nearer to what is healthy.",
         (edit(SURE, SURE.replace("0.01", "0.05")), edit(EVEN, EVEN.replace("0.99", "0.95")),
          edit(SMALL, SMALL.replace("0.001", "0.01")), edit(RATE, RATE.replace("0.5", "0.4")),
          edit(RISING, RISING.replace("1.5", "1.3")), edit(WAY, "if covered < way / 5:")),
         (FALSE,)),
    slip("monitor-saturated-below-a-twentieth", "A head is saturated below 0.05.",
         (edit(SURE, SURE.replace("0.01", "0.05")),), (FALSE,)),
    slip("monitor-saturated-below-a-tenth", "A head is saturated below 0.1.",
         (edit(SURE, SURE.replace("0.01", "0.1")),), (FALSE,)),
    slip("monitor-dead-above-95", "A head is dead above 0.95.",
         (edit(EVEN, EVEN.replace("0.99", "0.95")),), (FALSE,)),
    slip("monitor-heads-sorted",
         "Heads are numbered by their entropy, so two in turns are taken for one.",
         (edit(HEADS, "for head, entropy in enumerate(sorted(heads)):"),), (FALSE,)),
    misconception("monitor-extreme-heads",
          "The highest and the lowest entropy of a layer are judged, "
                                   "whichever heads they are of.",
          (edit(HEADS, "for head, entropy in enumerate([max(heads), min(heads)]):"),), (FALSE,)),
    slip("monitor-sorts-the-record", "It sorts the lists of the record that it is given.",
         (edit(HEADS, "heads.sort()\n            " + HEADS),), (EACH,)),
    slip("monitor-vanishes-at-a-hundredth", "A gradient of a hundredth has vanished.",
         (edit(RATIO, "norms[0] < 0.01 * norms[-1]"),), (FALSE,)),
    slip("monitor-vanishes-at-a-tenth", "A gradient of a tenth has vanished.",
         (edit(RATIO, "norms[0] < 0.1 * norms[-1]"),), (FALSE,)),
    misconception("monitor-next-layer", "The first layer is compared with the second.",
          (edit(RATIO, "norms[0] < 0.1 * norms[1]"),), (FALSE,)),
    misconception("monitor-extreme-layers", "The smallest gradient is compared with the largest.",
          (edit(RATIO, "min(norms) < 0.001 * max(norms)"),), (FALSE,)),
    slip("monitor-repetition-from-40", "A rate above 0.4 is repetition.",
         (edit(RATE, RATE.replace("0.5", "0.4")),), (FALSE,)),
    slip("monitor-repetition-from-30", "A rate from 0.3 on is repetition.",
         (edit(RATE, RATE.replace("> 0.5", ">= 0.3")),), (FALSE,)),
    edge("monitor-zero-rate-is-missing",
         "A rate of 0.0 is taken for a missing one, and ends no row.",
         (edit(RATE, RATE.replace("rate is not None", "rate")),), (RARE,)),
    slip("monitor-rises-at-1.3", "A loss of 1.3 times its lowest explodes.",
         (edit(RISING, RISING.replace("1.5", "1.3")),), (FALSE,)),
    slip("monitor-a-fifth-of-the-way", "Less than a fifth of the way is slow.",
         (edit(WAY, "if covered < way / 5:"),), (FALSE,)),
    misconception("monitor-tenth-of-the-loss",
          "A tenth of the first loss is asked for, whatever the reference.",
          (edit(WAY, "if covered < 0.1 * self.first_loss:"),), (FALSE,)),
    misconception("monitor-nine-tenths-of-the-loss",
          "A loss above nine tenths of the first is slow, whatever the reference.",
          (edit(WAY, "if median > 0.9 * self.first_loss:"),), (FALSE,)),
    slip("monitor-exactly-a-quarter",
         "Convergence is judged at the record of a quarter exactly, if there is one.",
         (edit(SLOW, "if self.reference_loss is not None and step == self.total_steps // 4:"),),
         (EACH,)),
    misconception("monitor-last-loss",
          "Slow convergence is judged by the last loss, so one bad batch is enough.",
          (edit("self.first_loss - median", "self.first_loss - loss"),), (FALSE, SILENT)),
    misconception("monitor-not-there-yet", "Convergence is slow until the reference is reached.",
          (edit("if covered < way / 10:", "if covered < way:"),), (FALSE, SILENT)),
    slip("monitor-needs-reference", "Without a reference_loss it computes with None.",
         (edit(SLOW, "if progress > 1 / 4:"),), (EACH, FALSE, FOUND, SILENT)),
    misconception("monitor-counts-records", "Records are counted, and taken for steps.",
          (edit("progress = step / self.total_steps",
                'progress = holds_for("read", True) / self.total_steps'),
           edit("""        def holds_for(condition, holds):
            \"\"\"For how many records in a row, this one included, the condition has held.\"\"\"
            self.in_a_row[condition] = self.in_a_row[condition] + 1 if holds else 0
            return self.in_a_row[condition]

""", ""), edit("        step, loss = record[\"step\"]", """        def holds_for(condition, holds):
            self.in_a_row[condition] = self.in_a_row[condition] + 1 if holds else 0
            return self.in_a_row[condition]

        step, loss = record["step"]""")), (EACH, FOUND)),
    slip("monitor-again-and-again", "An alarm is raised by every record at which its rule holds.",
         (edit("for name, message in found.items() if name not in known\n        ]",
               "for name, message in found.items()]"),), (EACH,)),
    slip("monitor-all-so-far", "update returns all alarms so far.",
         (edit(KEPT, KEPT + "        raised = list(self.alarms)\n"),), (EACH,)),
    slip("monitor-none", "update returns None if nothing is wrong.",
         (edit(KEPT, KEPT + "        raised = raised or None\n"),), (EACH, FALSE, FOUND, SILENT)),
    slip("monitor-keeps-to-itself", "Alarms are returned, but not kept.", (edit(KEPT, ""),),
         (EACH, WRITER)),
    misconception("monitor-only-at-the-end", "Alarms come out when the training is over.",
          (edit(KEPT, "        self.late, raised = getattr(self, 'late', []) + raised, []\n"),
           edit(PASS, PASS + "        self.alarms += getattr(self, 'late', [])\n")),
          (EACH, FALSE, FOUND, SILENT)),
    misconception("monitor-silent", "It never says anything.", (edit(NEW, "raised = []"),),
          (EACH, FALSE, WRITER, FOUND, SILENT)),
    slip("monitor-shared-state", "All monitors share the lowest median.",
         (edit("self.lowest = math.inf ",
               "Monitor.lowest = min(math.inf, getattr(Monitor, 'lowest', math.inf)) "),
          edit("self.lowest = min(self.lowest, median)",
               "Monitor.lowest = min(self.lowest, median)")), (EACH, FALSE, SILENT)),
    slip("monitor-global-counter", "All monitors count with one Counter of the module.",
         (edit("self.in_a_row = Counter()", "self.in_a_row = COUNTS"),
          edit("class Monitor:", "COUNTS = Counter()\n\n\nclass Monitor:")), (EACH,)),
    slip("monitor-counter-as-default",
         "A Counter is a default argument, so that all monitors have the same.",
         (edit("reference_loss: float | None = None):",
               "reference_loss: float | None = None, counts=Counter()):"),
          edit("self.in_a_row = Counter()", "self.in_a_row = counts")), (EACH,)),
    slip("monitor-shared-alarms", "The list of alarms is made in the class.",
         (edit("        self.alarms: list[Alarm] = []\n", ""),
          edit("    def __init__(self, total_steps", "    alarms = []\n\n"
               "    def __init__(self, total_steps")), (EACH, FALSE, FOUND, SILENT)),
    slip("monitor-names-alone", "Alarms are their names.",
         (edit(NEW, "raised = [name for name in found if name not in known]"),
          edit("known = {alarm.name for alarm in self.alarms}", "known = set(self.alarms)")),
         (EACH, FALSE, WRITER, FOUND, SILENT)),
    slip("monitor-dicts", "Alarms are dicts.",
         (edit(NEW, "raised = [dict(name=name, step=step, message=text) for name, text in "
                    "found.items() if name not in known]"),
          edit("known = {alarm.name for", "known = {alarm['name'] for")),
         (EACH, FALSE, WRITER, FOUND, SILENT)),
    slip("monitor-pops", "It takes the values out of the record that it is given.",
         (edit('rate = record.get("repetition_rate")',
               'rate = record.pop("repetition_rate", None)'),), (EACH,)),
    slip("monitor-number-as-step", "An alarm's step is the number of the record.",
         (edit('step, loss = record["step"], record.get("loss")',
               'self.number = getattr(self, "number", -1) + 1\n'
               '        step, loss = record["step"], record.get("loss")'),
          edit("raised = [\n            Alarm(name, step, message)",
               "raised = [Alarm(name, self.number, message)")), (EACH,)),
    edge("writer-forgets-zeros", "A value of 0.0 is taken for none.",
         (edit(COLLECT, 'self.record |= {"step": step} | ({name: value} if value else {})'),),
         (WRITER,)),
    edge("writer-forgets-step-0", "Step 0 is taken for none yet.",
         (edit(BEGUN, 'if self.record and self.record["step"] and step > self.record["step"]:'),),
         (WRITER,)),
    slip("writer-each-scalar", "Each value is a record of its own.",
         (edit("if self.record and step > self.record[\"step\"]:", "if self.record:"),), (WRITER,)),
    slip("writer-without-the-last", "close does nothing.",
         (edit("        if self.record:\n            record,",
               "        if False:\n            record,"),
          edit(LATER, "            self.update(self.record)\n            self.record = {}\n")),
         (WRITER,)),
    slip("writer-last-twice", "close passes the last record on each time.",
         (edit("record, self.record = self.record, {}", "record = self.record"),
          edit(LATER, LATER + "            self.record = {}\n")), (WRITER,)),
    slip("writer-carries-over", "Values of one step are still there in the next.",
         (edit("record, self.record = self.record, {}",
               "record, self.record = self.record, dict(self.record)"),), (WRITER,)),
    slip("writer-same-name-again", "A record is passed on when a name comes a second time.",
         (edit("if self.record and step > self.record[\"step\"]:", "if name in self.record:"),),
         (WRITER,)),
    slip("writer-all-at-the-end", "Records are kept, and passed on when the writer is closed.",
         (edit(LATER, "            self.waiting, self.record = getattr(self, 'waiting', []) + "
                      "[self.record], {}\n"),
          edit("            record, self.record = self.record, {}\n" + PASS,
               "            for record in [*getattr(self, 'waiting', []), self.record]:\n"
               "                self.update(record)\n"
               "            self.record, self.waiting = {}, []\n")), (WRITER,)),
    slip("writer-next-step", "A record gets the number of the step that follows it.",
         (edit(LATER, "            self.record[\"step\"] = step\n" + LATER),), (WRITER,)),
]
