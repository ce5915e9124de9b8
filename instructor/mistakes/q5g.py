"""Wrong bags of words, trainings, accuracies and entropies (question 5g)."""
from instructor.mistakes.patches import Fill, edge, misconception, slip

BAG, TRAIN, SHARE, ENTROPY = "5g-1-basic", "5g-2-basic", "5g-5-basic", "5g-6-basic"
ALL, ODD, ODD_AGAIN = "5g-3-hidden", "5g-7-basic", "5g-8-hidden"


def bag(counted: str = "(idx != PAD)", vectors: str = "self.weight(idx) * counted[:, :, None]",
        number: str = "counted.sum(dim=1, keepdim=True).clamp(min=1)") -> tuple[Fill]:
    """A right body of BagOfWords.forward with some of its expressions replaced."""
    return (Fill("BagOfWords.forward", f"counted = {counted}\nvectors = {vectors}\n"
                                       f"number = {number}\n"
                                       "logits = vectors.sum(dim=1) / number + self.bias"),)


BAGS = [
    misconception("bag-counts-pad", "PAD is a word like any other.",
         bag(counted="torch.ones_like(idx)"), (BAG, ALL)),
    misconception("bag-adds-pad", "The weights of PAD are added, while the divisor is right.",
         bag(vectors="self.weight(idx)"), (BAG, ALL)),
    edge("bag-nan", "A row of nothing but PAD is divided by 0.",
         bag(number="counted.sum(dim=1, keepdim=True)"), (ODD, ODD_AGAIN)),
    edge("bag-pad-at-the-end",
         "It reads up to the first PAD, as if PAD could stand only at the end.",
         bag(counted="(idx != PAD).long().cumprod(dim=1).bool()"), (ODD, ODD_AGAIN)),
    slip("bag-keeps-places-for-all", "Where PAD is, is kept by shape, for all models.",
         bag(counted="getattr(BagOfWords, f'{idx.shape}', idx != PAD)\n"
                     "setattr(BagOfWords, f'{idx.shape}', counted)"), (BAG, ALL)),
]


def fit(seed: str = "torch.manual_seed(seed)",
        generator: str = "torch.Generator().manual_seed(seed)",
        optimizer: str = "torch.optim.Adam(model.parameters(), lr=learning_rate)",
        mode: str = "model.train()", each: str = "pass",
        order: str = "torch.randperm(len(x), generator=generator)",
        zero: str = "optimizer.zero_grad()",
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
        loss = F.cross_entropy(model(x[batch]), y[batch])
        loss.backward()
        optimizer.step()
        total += {add}
    losses.append({mean})
{end}
"""),)


TRAINING = [
    misconception("fit-one-order", "The order is drawn once, and all epochs have it.",
         fit(order="torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))"),
         (TRAIN, ALL)),
    misconception("fit-with-replacement",
         "Sentences are drawn with replacement, so that some are left out and others come twice.",
         fit(order="torch.randint(len(x), (len(x),), generator=generator)"), (TRAIN, ALL)),
    slip("fit-drops-last", "The sentences that do not fill a batch are left out.",
         fit(order="torch.randperm(len(x), generator=generator)[:max(1, len(x) // batch_size) * "
                   "batch_size]"), (TRAIN, ALL)),
    misconception("fit-without-zero", "Gradients are not set to zero between batches.",
         fit(zero="pass"), (TRAIN, ALL)),
    misconception("fit-mean-of-batches",
         "The loss of an epoch is the mean over its batches, in which a small last one counts too "
         "much.", fit(add="loss.item()", mean="total / math.ceil(len(x) / batch_size)"),
         (TRAIN, ALL)),
    misconception("fit-measures-afterwards",
         "The loss of an epoch is measured anew when it is over, without dropout.",
         fit(each="model.train()",
             mean="torch.no_grad()(lambda: F.cross_entropy(model.eval()(x), y).item())()"),
         (TRAIN, ALL)),
    slip("fit-stays-in-training", "The model is left in training mode.", fit(end="pass"),
         (TRAIN, ALL)),
    slip("fit-mode-as-it-comes", "The model is trained in whichever mode it comes.",
         fit(mode="pass"), (TRAIN, ALL)),
    slip("fit-always-seed-0", "Whatever the seed, the order is that of seed 0.",
         fit(generator="torch.Generator().manual_seed(0)"), (TRAIN, ALL)),
    slip("fit-dropout-unseeded", "The order is seeded, and dropout is not.", fit(seed="pass"),
         (TRAIN, ALL)),
    slip("fit-own-rate", "The learning rate is a number of its own.",
         fit(optimizer="torch.optim.Adam(model.parameters(), lr=3e-3)"), (TRAIN, ALL)),
    slip("fit-first-parameter",
         "Only the first of the model's parameters is passed to the optimizer.",
         fit(optimizer="torch.optim.Adam([*model.parameters()][:1], lr=learning_rate)"),
         (TRAIN, ALL)),
    slip("fit-tensors", "The losses are returned as tensors.",
         fit(add="loss.detach() * len(batch)"), (TRAIN, ALL)),
    slip("fit-shuffles-the-callers", "The caller's sentences and classes are shuffled in place.",
         fit(each="order = torch.randperm(len(x), generator=generator)\n"
                  "    x[:], y[:] = x[order], y[order]", order="torch.arange(len(x))"),
         (TRAIN, ALL)),
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
    slip("accuracy-leaves-evaluation", "The model is left in evaluation mode.", share(after="pass"),
         (SHARE, ALL)),
    slip("accuracy-with-gradients", "It is measured with gradients switched on.",
         share(context="torch.enable_grad()"), (SHARE, ALL)),
    misconception("accuracy-mean-of-batches", "It is the mean of the batches' accuracies.",
         share(right="len(x) * sum((model(a).argmax(dim=-1) == b).float().mean().item() for a, b "
                     "in zip(x.split(batch_size), "
                     "y.split(batch_size))) / math.ceil(len(x) / batch_size)"), (SHARE, ALL)),
    slip("accuracy-divided-twice",
         "The number of right answers is divided by that of the sentences, as the last line does.",
         share(after="model.train(mode)\nright = right / len(x)"), (SHARE, ALL)),
    slip("accuracy-at-once", "All sentences go through the model at once, however many.",
         share(right="(model(x).argmax(dim=-1) == y).sum().item()"), (SHARE, ALL)),
    slip("accuracy-keeps-answers",
         "The number of right answers is kept from an earlier call with sentences of that shape.",
         share(after="model.train(mode)\n"
                     "right = accuracy.__dict__.setdefault(f'{x.shape}', right)"), (SHARE, ALL)),
]


def entropy(terms: str = "torch.special.entr(weights)",
            real: str = "~key_padding_mask",
            mean: str = "rows.transpose(1, 2)[real].mean(dim=0)") -> tuple[Fill]:
    """A right body of attention_entropy with some of its expressions replaced."""
    return (Fill("attention_entropy",
                 f"terms = {terms}\nrows = terms.sum(dim=-1)\nreal = {real}\nentropy = {mean}"),)


ENTROPIES = [
    slip("entropy-nan", "0 ln 0 is NaN.", entropy(terms="-weights * weights.log()"),
         (ENTROPY, ALL)),
    misconception("entropy-of-all-queries", "Queries at PAD count, too.",
         entropy(mean="rows.mean(dim=(0, 2))"), (ENTROPY, ALL)),
    misconception("entropy-by-sentence",
         "It is the mean of the sentences' means, so that short ones count too much.",
         entropy(mean="((rows * real[:, None]).sum(dim=2) / real.sum(dim=1, "
                      "keepdim=True).clamp(min=1)).mean(dim=0)"), (ENTROPY, ALL)),
    slip("entropy-keeps-queries",
         "Which queries count is kept from an earlier call with weights of that shape.",
         entropy(real="attention_entropy.__dict__.setdefault(f'{weights.shape}', "
                      "~key_padding_mask)"), (ENTROPY, ALL)),
    slip("entropy-inverts-the-callers-mask", "The caller's mask is inverted in place.",
         entropy(real="key_padding_mask.logical_not_()"), (ENTROPY, ALL)),
]

MISTAKES = BAGS + TRAINING + MEASURES + ENTROPIES
