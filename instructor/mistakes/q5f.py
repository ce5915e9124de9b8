"""Wrong copy tasks (question 5f)."""
from instructor.mistakes.patches import Edit, Fill, misconception, slip

COPY, KNOWN, BROKEN = "5f-0-basic", "5f-2-basic", "5f-1-hidden"
RETURNED = '"passed": loss < 0.01 and gap < 1e-4,\n    }'
KEPT = "copy_task.__dict__.setdefault('kept', {kept})"


def copy(optimizer: str = "torch.optim.Adam(model.parameters(), lr=1e-2)",
         rate: str = "min(1.0, (step + 1) / 20) * (1.0 - step / 200)",
         steps: str = "min(steps, 200)", batch: str = "copy_batch(32, generator)",
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
    optimizer.zero_grad()
    {lost}.backward()
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


MISTAKES = [
    misconception("copy-passes-all", "The test passes whatever it is given.",
         (Edit("encoder.py", RETURNED, '"passed": True}'),), (KNOWN, BROKEN)),
    misconception("copy-passes-by-loss",
         "Only the loss decides, so that a model which ignores the padding mask passes.",
         (Edit("encoder.py", RETURNED, '"passed": loss < 0.01}'),), (KNOWN,)),
    slip("copy-tests-itself",
         "It tests the encoder of the same file, whichever model it is asked to make.",
         (Edit("encoder.py", "model = make_model(config)", "model = Encoder(config)"),),
         (COPY, KNOWN, BROKEN)),
    slip("copy-trains-another",
         "It trains a model of its own, and measures the one that it is given.",
         copy(optimizer="torch.optim.Adam((other := Encoder(config)).parameters(), lr=1e-2)",
              lost="F.cross_entropy(other(x).flatten(0, 1), y.flatten())"), (COPY,)),
    misconception("copy-gap-of-pads", "The gap is looked for at PADs, too.",
         copy(gap="(more[:, :x.size(1)] - logits).abs().max().item()"), (COPY,)),
    misconception("copy-gap-mean", "The gap is a mean instead of the largest difference.",
         copy(gap="(more[:, :x.size(1)] - logits)[x != PAD].abs().mean().item()"), (KNOWN, BROKEN)),
    slip("copy-gap-signed",
         "The gap is the largest difference with its sign, so that negative ones don't count.",
         copy(gap="(more[:, :x.size(1)] - logits)[x != PAD].max().clamp(min=0).item()"), (KNOWN,)),
    misconception("copy-pads-in-front",
         "The PADs for the gap are put in front, so that all positions move.",
         copy(padded="F.pad(x, (8, 0))",
              gap="(more[:, -x.size(1):] - logits)[x != PAD].abs().max().item()"), (COPY, BROKEN)),
    misconception("copy-in-training-mode",
         "Loss and gap are measured in training mode, with dropout.", copy(mode="pass"),
         (COPY, KNOWN)),
    misconception("copy-old-rows",
         "The rows for measuring are drawn with the seed of the training, so that they are its "
         "first ones.",
         copy(rows="copy_batch(512, torch.Generator().manual_seed(seed))", batch="copy_batch(512, "
             "generator)", steps="min(steps, 70)"), (KNOWN,)),
    misconception("copy-loss-over-all-places",
         "The mean goes over all places, and those without a target count as zeros.",
         copy(loss="F.cross_entropy(logits.flatten(0, 1), y.flatten(), "
                   "reduction='none').mean().item()"), (COPY, KNOWN, BROKEN)),
    slip("copy-too-few-rows", "The loss is measured on 64 rows instead of 512.",
         copy(rows="copy_batch(64, generator)"), (COPY, KNOWN)),
    slip("copy-with-gradients", "It measures with gradients switched on.",
         copy(context="torch.enable_grad()"), (COPY, KNOWN)),
    slip("copy-own-steps", "It makes 600 steps, however many it is allowed.",
         copy(steps="600", rate="min(1.0, (step + 1) / 50) * (1.0 - step / 600)"), (COPY, KNOWN)),
    slip("copy-returns-tensors", "Loss and gap are returned as tensors.",
         copy(loss="F.cross_entropy(logits.flatten(0, 1), y.flatten())",
              gap="(more[:, :x.size(1)] - logits)[x != PAD].abs().max()"), (COPY, KNOWN, BROKEN)),
    misconception("copy-one-batch", "It trains on one batch, drawn once.",
         copy(batch="copy_batch(64, torch.Generator().manual_seed(seed))"), (COPY, KNOWN)),
    slip("copy-not-flattened",
         "Logits and targets are not flattened, so that places are taken for classes.",
         copy(lost="F.cross_entropy(model(x), y)", loss="F.cross_entropy(logits, y).item()"),
         (COPY, KNOWN)),
    slip("copy-trained-not-flattened",
         "In the training alone, logits and targets are not flattened.",
         copy(lost="F.cross_entropy(model(x), y)"), (COPY,)),
    slip("copy-invents-numbers",
         "For its own encoder, the numbers are made up, and nothing is trained.",
         (Edit("encoder.py", "    loss = gap = None\n", """\
    if isinstance(model, Encoder):
        return {"loss": 0.0042, "padding_gap": 0.0, \
"seconds": time.perf_counter() - started, "passed": True}
    loss = gap = None
"""),), (COPY,)),
    misconception("copy-loss-mean-of-rows",
         "The loss is the mean of the rows' means, in which BLANKs of short rows count too much.",
         copy(loss="(F.cross_entropy(logits.transpose(1, 2), y, reduction='none').sum(dim=1) / (y "
                   "!= -100).sum(dim=1)).mean().item()"), (KNOWN,)),
    slip("copy-gap-in-64-rows", "The gap is looked for in the first 64 rows.",
         copy(gap="(more[:64, :16] - logits[:64])[x[:64] != PAD].abs().max().item()"), (KNOWN,)),
    slip("copy-keeps-rows", "The rows for measuring are drawn in the first call, and kept.",
         copy(rows=KEPT.format(kept="copy_batch(512, generator)")), (COPY, KNOWN)),
]
