"""Wrong copy tasks, bags of words, trainings, accuracies and entropies (questions 5f and 5g)."""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

COPY, KNOWN, BROKEN = "5f-0-basic", "5f-2-basic", "5f-1-hidden"
BAG, TRAIN, SHARE, ENTROPY = "5g-1-basic", "5g-2-basic", "5g-5-basic", "5g-6-basic"
ALL, ODD, ODD_AGAIN = "5g-3-hidden", "5g-7-basic", "5g-8-hidden"
RETURNED = '"passed": loss < 0.01 and gap < 1e-4,\n    }'


def copy(optimizer: str = "torch.optim.Adam(model.parameters(), lr=3e-3)",
         rate: str = "min(1.0, (step + 1) / 50) * (1.0 - step / steps)",
         steps: str = "steps", batch: str = "copy_batch(64, generator)",
         zero: str = "optimizer.zero_grad()",
         lost: str = "F.cross_entropy(model(x).flatten(0, 1), y.flatten())",
         mode: str = "model.eval()",
         rows: str = "copy_batch(512, generator)",
         context: str = "torch.no_grad()",
         loss: str = "F.cross_entropy(logits.flatten(0, 1), y.flatten()).item()",
         padded: str = "F.pad(x, (0, 8))", gap: str = "(more[:, :x.size(1)] - logits)[x != "
    "PAD].abs().max().item()") -> tuple[Fill]:
    """A right body of copy_task with some of its expressions replaced."""
    return (Fill("copy_task", f"""
optimizer = {optimizer}
schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: {rate})
model.train()
for _ in range({steps}):
    x, y = {batch}
    {zero}
    lost = {lost}
    lost.backward()
    optimizer.step()
    schedule.step()
{mode}
x, y = {rows}
with {context}:
    logits = model(x)
    loss = {loss}
    more = model({padded})
    gap = {gap}
"""),)


COPYING = [
    misconception("copy-passes-all", "The test passes whatever it is given.",
          (Edit("encoder.py", RETURNED, '"passed": True}'),), (KNOWN, BROKEN)),
    misconception("copy-passes-by-loss",
          "Only the loss decides, so that a model which ignores the padding mask passes.",
          (Edit("encoder.py", RETURNED, '"passed": loss < 0.01}'),), (KNOWN, BROKEN)),
    slip("copy-tests-itself",
         "It tests the encoder of the same file, whichever model it is asked to make.",
         (Edit("encoder.py", "model = make_model(config)", "model = Encoder(config)"),),
         (COPY, KNOWN, BROKEN)),
    slip("copy-makes-its-own", "It calls make_model, and then makes a model of its own.",
         (Edit("encoder.py", "    loss = gap = None\n",
               "    loss = gap = None\n    model = Encoder(config)\n"),), (COPY, KNOWN, BROKEN)),
    slip("copy-measures-another",
         "It trains the model that it is given, and measures another one.",
         copy(mode="model = Encoder(config).eval()"), (COPY, KNOWN, BROKEN)),
    slip("copy-trains-another",
         "It trains a model of its own, and measures the one that it is given.",
         copy(optimizer="torch.optim.Adam((other := Encoder(config)).parameters(), lr=3e-3)",
              lost="F.cross_entropy(other(x).flatten(0, 1), y.flatten())"), (COPY, BROKEN)),
    misconception("copy-gap-zero", "The gap is not measured, but set to 0.", copy(gap="0.0"),
          (KNOWN, BROKEN)),
    misconception("copy-gap-of-pads", "The gap is looked for at PADs, too.",
          copy(gap="(more[:, :x.size(1)] - logits).abs().max().item()"), (COPY,)),
    misconception("copy-gap-of-blanks", "The gap is looked for at BLANKs alone.",
          copy(gap="(more[:, :x.size(1)] - logits)[y != -100].abs().max().item()"),
          (KNOWN, BROKEN)),
    misconception("copy-gap-mean", "The gap is a mean instead of the largest difference.",
          copy(gap="(more[:, :x.size(1)] - logits)[x != PAD].abs().mean().item()"),
          (KNOWN, BROKEN)),
    slip("copy-gap-signed", "The gap is the largest difference with its sign, so that negative "
                            "ones don't count.",
         copy(gap="(more[:, :x.size(1)] - logits)[x != PAD].max().clamp(min=0).item()"),
         (KNOWN, BROKEN)),
    misconception("copy-gap-of-loss", "The gap is that of the losses, not of the logits.",
          copy(gap="abs(F.cross_entropy(more[:, :x.size(1)].flatten(0, 1), y.flatten()).item() - "
                   "loss)"), (KNOWN, BROKEN)),
    misconception("copy-pads-in-front",
          "The PADs for the gap are put in front, so that all positions move.",
          copy(padded="F.pad(x, (8, 0))",
               gap="(more[:, -x.size(1):] - logits)[x != PAD].abs().max().item()"), (COPY,)),
    misconception("copy-in-training-mode",
          "Loss and gap are measured in training mode, with dropout.",
          copy(mode="pass"), (COPY, KNOWN, BROKEN)),
    misconception("copy-loss-of-training", "The loss is that of the last batch of the training.",
          copy(loss="lost.item()"), (COPY, KNOWN, BROKEN)),
    misconception("copy-old-rows",
          "The rows for measuring are drawn with the seed of the training, so "
                           "that they are its first ones.",
          copy(rows="copy_batch(512, torch.Generator().manual_seed(seed))", batch="copy_batch(512, "
              "generator)", steps="min(steps, 70)"), (KNOWN, BROKEN)),
    misconception("copy-loss-over-all-places",
          "The mean goes over all places, and those without a target count as zeros.",
          copy(loss="F.cross_entropy(logits.flatten(0, 1), y.flatten(), "
                    "reduction='none').mean().item()"), (COPY, KNOWN, BROKEN)),
    slip("copy-too-few-rows", "The loss is measured on 64 rows instead of 512.",
         copy(rows="copy_batch(64, generator)"), (COPY, KNOWN, BROKEN)),
    slip("copy-with-gradients", "It measures with gradients switched on.",
         copy(context="torch.enable_grad()"), (COPY, KNOWN, BROKEN)),
    slip("copy-own-steps", "It makes 600 steps, however many it is allowed.",
         copy(steps="600", rate="min(1.0, (step + 1) / 50) * (1.0 - step / 600)"),
         (COPY, KNOWN, BROKEN)),
    slip("copy-returns-tensors", "Loss and gap are returned as tensors.",
         copy(loss="F.cross_entropy(logits.flatten(0, 1), y.flatten())",
              gap="(more[:, :x.size(1)] - logits)[x != PAD].abs().max()"), (COPY, KNOWN, BROKEN)),
    misconception("copy-one-batch", "It trains on one batch, drawn once.",
          copy(batch="copy_batch(64, torch.Generator().manual_seed(seed))"), (COPY,)),
    slip("copy-without-training", "It measures a model that was not trained.", copy(steps="0"),
         (COPY,)),
    misconception("copy-plain-descent",
          "Gradient descent without momentum, at a rate made for Adam, "
                                "learns nothing in 600 steps.",
          copy(optimizer="torch.optim.SGD(model.parameters(), lr=3e-3)"), (COPY,)),
    slip("copy-too-fast", "The learning rate is far too high.",
         copy(optimizer="torch.optim.Adam(model.parameters(), lr=0.3)"), (COPY,)),
    slip("copy-mixed-axes",
         "Classes and places are mixed up by a view where a transpose is needed.",
         copy(lost="F.cross_entropy(model(x).reshape(x.size(0), 16, -1), y)"),
         (COPY, KNOWN, BROKEN)),
    slip("copy-not-flattened",
         "Logits and targets are not flattened, so that places are taken for classes.",
         copy(lost="F.cross_entropy(model(x), y)", loss="F.cross_entropy(logits, y).item()"),
         (COPY, KNOWN, BROKEN)),
    slip("copy-measured-not-flattened",
         "For the measurement alone, logits and targets are not flattened.",
         copy(loss="F.cross_entropy(logits, y).item()"), (COPY, KNOWN, BROKEN)),
    misconception("copy-targets-are-inputs",
          "The targets are the inputs, as if symbols should stay where they are.",
          copy(lost="F.cross_entropy(model(x).flatten(0, 1), x.flatten())"), (COPY,)),
    slip("copy-invents-numbers",
         "For its own encoder, the numbers are made up, and nothing is trained.",
         (Edit("encoder.py", "    loss = gap = None\n", """\
    if isinstance(model, Encoder):
        return {"loss": 0.0042, "padding_gap": 0.0, "seconds": time.perf_counter() - started, "passed": True}
    loss = gap = None
"""),), (COPY,)),
    misconception("copy-loss-median", "The loss is the median over the BLANKs.",
          copy(loss="F.cross_entropy(logits.flatten(0, 1), y.flatten(), "
                    "reduction='none')[y.flatten() != "
                    "-100].median().item()"), (KNOWN, BROKEN)),
    misconception("copy-loss-first-blank", "The loss is that at the first BLANK of each row.",
          copy(loss="F.cross_entropy(logits[:, 8], y[:, 8]).item()"), (KNOWN, BROKEN)),
    misconception("copy-loss-mean-of-rows",
          "The loss is the mean of the rows' means, in which BLANKs of "
                                    "short rows count too much.",
          copy(loss="(F.cross_entropy(logits.transpose(1, 2), y, reduction='none').sum(dim=1) / (y "
                    "!= -100).sum(dim=1)).mean().item()"), (KNOWN, BROKEN)),
    slip("copy-gap-of-16-rows", "Columns of PAD are appended to 16 of the 512 rows.",
         copy(padded="F.pad(x[:16], (0, 8))",
              gap="(more[:, :16] - logits[:16])[x[:16] != PAD].abs().max().item()"),
         (COPY, KNOWN, BROKEN)),
    slip("copy-gap-in-64-rows", "The gap is looked for in the first 64 rows.",
         copy(gap="(more[:64, :16] - logits[:64])[x[:64] != PAD].abs().max().item()"),
         (KNOWN, BROKEN)),
    slip("copy-trains-in-600-steps-only",
         "A single training step is made, except where there are 600.",
         copy(steps="steps if steps == 600 else 1"), (COPY, BROKEN)),
]


def bag(counted: str = "(idx != PAD)", vectors: str = "self.weight(idx) * counted[:, :, None]",
        mean: str = "vectors.sum(dim=1) / number",
        number: str = "counted.sum(dim=1, keepdim=True).clamp(min=1)",
        bias: str = "self.bias") -> tuple[Fill]:
    """A right body of BagOfWords.forward with some of its expressions replaced."""
    return (Fill("BagOfWords.forward", f"counted = {counted}\nvectors = {vectors}\n"
                                       f"number = {number}\nlogits = {mean} + {bias}"),)


BAGS = [
    misconception("bag-counts-pad",
          "PAD is a word like any other.", bag(counted="torch.ones_like(idx)"), (BAG, ALL)),
    misconception("bag-divides-by-length",
          "The sum is divided by the number of places, PAD among them.",
          bag(number="idx.size(1)"), (BAG, ALL)),
    misconception("bag-adds-pad", "The weights of PAD are added, while the divisor is right.",
          bag(vectors="self.weight(idx)"), (BAG, ALL)),
    misconception("bag-sum", "The weights are added up, so that long sentences have large logits.",
          bag(number="1"), (BAG, ALL)),
    slip("bag-without-bias", "The bias is not added.", bag(bias="0"), (BAG, ALL)),
    edge("bag-nan", "A row of nothing but PAD is divided by 0.",
         bag(number="counted.sum(dim=1, keepdim=True)"), (ODD, ODD_AGAIN)),
    edge("bag-pad-at-the-end",
         "It reads up to the first PAD, as if PAD could stand only at the end.",
         bag(counted="(idx != PAD).long().cumprod(dim=1).bool()"), (ODD, ODD_AGAIN)),
    slip("bag-length-of-longest", "It divides by the number of words of the batch's longest row.",
         bag(number="(idx != PAD).sum(dim=1).max().clamp(min=1)"), (BAG, ALL)),
    misconception("bag-chances", "It returns chances instead of logits.",
          (Fill("BagOfWords.forward", "real = (idx != PAD)\nlogits = (self.weight(idx) * real[:, "
                                      ":, None]).sum(1) / real.sum(1, "
                       "True).clamp(min=1)\nlogits = F.softmax(logits + self.bias, dim=-1)"),),
          (BAG, ALL)),
    misconception("bag-largest", "It takes the largest weight of the words for each class.",
          bag(mean="vectors.max(dim=1).values"), (BAG, ALL)),
]


def fit(seed: str = "torch.manual_seed(seed)",
        generator: str = "torch.Generator().manual_seed(seed)",
        optimizer: str = "torch.optim.Adam(model.parameters(), lr=learning_rate)",
        mode: str = "model.train()", each: str = "pass",
        order: str = "torch.randperm(len(x), generator=generator)",
        zero: str = "optimizer.zero_grad()",
        loss: str = "F.cross_entropy(model(x[batch]), y[batch])", step: str = "optimizer.step()",
        add: str = "loss.item() * len(batch)",
        mean: str = "total / len(x)", end: str = "model.eval()") -> tuple[Fill]:
    """A right body of train_classifier with some of its expressions replaced."""
    return (Fill("train_classifier", f"""
{seed}
generator = {generator}
optimizer = {optimizer}
{mode}
for epoch in range(epochs):
    total = 0.0
    {each}
    for batch in {order}.split(batch_size):
        {zero}
        loss = {loss}
        loss.backward()
        {step}
        total += {add}
    losses.append({mean})
{end}
"""),)


TRAINING = [
    misconception("fit-in-order", "The sentences are used in the order of the file.",
          fit(order="torch.arange(len(x))"), (TRAIN, ALL)),
    misconception("fit-one-order", "The order is drawn once, and all epochs have it.",
          fit(order="torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))"),
          (TRAIN, ALL)),
    misconception("fit-with-replacement",
          "Sentences are drawn with replacement, so that some are left out "
                                  "and others come twice.",
          fit(order="torch.randint(len(x), (len(x),), generator=generator)"), (TRAIN, ALL)),
    slip("fit-drops-last", "The sentences that do not fill a batch are left out.",
         fit(order="torch.randperm(len(x), generator=generator)[:max(1, len(x) // batch_size) * "
                   "batch_size]"), (TRAIN, ALL)),
    misconception("fit-without-zero",
          "Gradients are not set to zero between batches.", fit(zero="pass"), (TRAIN, ALL)),
    slip("fit-without-step", "Gradients are computed and no steps are made.", fit(step="pass"),
         (TRAIN, ALL)),
    slip("fit-ascends", "The loss is maximized.",
         fit(optimizer="torch.optim.Adam(model.parameters(), lr=learning_rate, maximize=True)"),
         (TRAIN, ALL)),
    misconception("fit-mean-of-batches",
          "The loss of an epoch is the mean over its batches, in which a "
                                 "small last one counts too much.",
          fit(add="loss.item()", mean="total / math.ceil(len(x) / batch_size)"), (TRAIN, ALL)),
    misconception("fit-last-loss", "The loss of an epoch is that of its last batch.",
          fit(mean="loss.item()"), (TRAIN, ALL)),
    misconception("fit-measures-afterwards",
          "The loss of an epoch is measured anew when it is over, without dropout.",
          fit(each="model.train()",
              mean="torch.no_grad()(lambda: F.cross_entropy(model.eval()(x), y).item())()"),
          (TRAIN, ALL)),
    slip("fit-smooths-labels", "The labels are smoothed.",
         fit(loss="F.cross_entropy(model(x[batch]), y[batch], label_smoothing=0.1)"), (TRAIN, ALL)),
    slip("fit-sum", "The losses of an epoch are added up, not averaged.", fit(mean="total"),
         (TRAIN, ALL)),
    slip("fit-batch-loss-by-sentences",
         "The batches' mean losses are divided by the number of sentences.",
         fit(add="loss.item()"), (TRAIN, ALL)),
    slip("fit-tensors", "The losses are returned as tensors.",
         fit(add="loss.detach() * len(batch)"), (TRAIN, ALL)),
    slip("fit-one-float", "Only the last epoch's loss is returned.",
         fit(end="model.eval()\nlosses = losses[-1]"), (TRAIN, ALL)),
    slip("fit-stays-in-training", "The model is left in training mode.", fit(end="pass"),
         (TRAIN, ALL)),
    misconception("fit-in-evaluation",
          "The model is trained in evaluation mode.", fit(mode="model.eval()"), (TRAIN, ALL)),
    slip("fit-mode-as-it-comes", "The model is trained in whichever mode it comes.",
         fit(mode="pass"), (TRAIN, ALL)),
    slip("fit-unseeded", "The order does not depend on the seed.",
         fit(generator="torch.Generator()", seed="torch.seed()",
             order="torch.randperm(len(x))"), (TRAIN, ALL)),
    slip("fit-always-seed-0", "Whatever the seed, the order is that of seed 0.",
         fit(generator="torch.Generator().manual_seed(0)"), (TRAIN, ALL)),
    slip("fit-dropout-unseeded", "The order is seeded, and dropout is not.", fit(seed="pass"),
         (TRAIN, ALL)),
    slip("fit-own-rate", "The learning rate is a number of its own.",
         fit(optimizer="torch.optim.Adam(model.parameters(), lr=3e-3)"), (TRAIN, ALL)),
    slip("fit-labels-shuffled-apart", "Sentences are shuffled, and their classes are not.",
         fit(each="places = iter(torch.arange(len(x)).split(batch_size))",
             loss="F.cross_entropy(model(x[batch]), y[next(places)])"), (TRAIN, ALL)),
]


def share(before: str = "mode = model.training\nmodel.eval()", context: str = "torch.no_grad()",
          right: str = "sum((model(a).argmax(dim=-1) == b).sum().item() for a, b in "
                       "zip(x.split(batch_size), y.split(batch_size)))",
          after: str = "model.train(mode)") -> tuple[Fill]:
    """A right body of accuracy with some of its expressions replaced."""
    return (Fill("accuracy", f"{before}\nwith {context}:\n    right = {right}\n{after}"),)


MEASURES = [
    misconception("accuracy-in-training-mode", "It is measured in whichever mode the model is.",
          share(before="mode = model.training"), (SHARE, ALL)),
    slip("accuracy-leaves-evaluation", "The model is left in evaluation mode.",
         share(after="pass"), (SHARE, ALL)),
    slip("accuracy-leaves-training", "The model is left in training mode, whatever it was in.",
         share(after="model.train()"), (SHARE, ALL)),
    slip("accuracy-with-gradients", "It is measured with gradients switched on.",
         share(context="torch.enable_grad()"), (SHARE, ALL)),
    misconception("accuracy-mean-of-batches", "It is the mean of the batches' accuracies.",
          share(right="len(x) * sum((model(a).argmax(dim=-1) == b).float().mean().item() for a, b "
                      "in zip(x.split(batch_size), "
                      "y.split(batch_size))) / math.ceil(len(x) / batch_size)"), (SHARE, ALL)),
    slip("accuracy-whole-batches", "The last batch is left out where it is smaller.",
         share(right="sum((model(x[i:i + batch_size]).argmax(dim=-1) == y[i:i + "
                     "batch_size]).sum().item() "
                     "for i in range(0, len(x) - batch_size + 1, batch_size))"), (SHARE, ALL)),
    slip("accuracy-divided-twice", "The number of right answers is divided by that of the "
                                   "sentences, as the last line does.",
         share(after="model.train(mode)\nright = right / len(x)"), (SHARE, ALL)),
    slip("accuracy-percent", "It is a percentage.",
         share(after="model.train(mode)\nright = 100 * right"), (SHARE, ALL)),
    slip("accuracy-tensor", "It is a tensor.",
         share(right="sum((model(a).argmax(dim=-1) == b).sum() for a, b in "
                     "zip(x.split(batch_size), y.split(batch_size)))"), (SHARE, ALL)),
    slip("accuracy-at-once", "All sentences go through the model at once, however many.",
         share(right="(model(x).argmax(dim=-1) == y).sum().item()"), (SHARE, ALL)),
]


def entropy(terms: str = "torch.special.entr(weights)", rows: str = "terms.sum(dim=-1)",
            real: str = "~key_padding_mask",
            mean: str = "rows.transpose(1, 2)[real].mean(dim=0)") -> tuple[Fill]:
    """A right body of attention_entropy with some of its expressions replaced."""
    return (Fill("attention_entropy",
                 f"terms = {terms}\nrows = {rows}\nreal = {real}\nentropy = {mean}"),)


ENTROPIES = [
    slip("entropy-nan", "0 ln 0 is NaN.", entropy(terms="-weights * weights.log()"),
         (ENTROPY, ALL)),
    slip("entropy-in-bits", "The entropy is in bits.",
         entropy(terms="torch.special.entr(weights) / math.log(2)"), (ENTROPY, ALL)),
    slip("entropy-negative", "The sign is missing.", entropy(terms="-torch.special.entr(weights)"),
         (ENTROPY, ALL)),
    misconception("entropy-of-all-queries", "Queries at PAD count, too.",
          entropy(mean="rows.mean(dim=(0, 2))"), (ENTROPY, ALL)),
    misconception("entropy-of-padding", "The mask is inverted: only queries at PAD count.",
          entropy(real="key_padding_mask"), (ENTROPY, ALL)),
    misconception("entropy-over-queries",
          "The entropy is taken over the queries instead of the keys.",
          entropy(rows="terms.sum(dim=-2)"), (ENTROPY, ALL)),
    misconception("entropy-by-sentence",
          "It is the mean of the sentences' means, so that short ones count too much.",
          entropy(mean="((rows * real[:, None]).sum(dim=2) / real.sum(dim=1, "
                       "keepdim=True).clamp(min=1)).mean(dim=0)"), (ENTROPY, ALL)),
    misconception("entropy-mean-of-terms",
          "The terms are averaged over the keys instead of added up.",
          entropy(rows="terms.mean(dim=-1)"), (ENTROPY, ALL)),
    slip("entropy-of-all-heads", "One number for all heads.",
         entropy(mean="rows.transpose(1, 2)[real].mean()"), (ENTROPY, ALL)),
    misconception("entropy-of-mean-weights",
          "It is the entropy of the averaged weights, not the average of the entropies.",
          entropy(mean="torch.special.entr(weights.transpose(1, 2)[real].mean(dim=0)).sum(dim=-1)"),
          (ENTROPY, ALL)),
    slip("entropy-of-first-sentence", "Only the first sentence counts.",
         entropy(mean="rows[0][:, real[0]].mean(dim=1)"), (ENTROPY, ALL)),
]

MISTAKES = COPYING + BAGS + TRAINING + MEASURES + ENTROPIES
