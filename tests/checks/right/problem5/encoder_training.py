"""Training, counting and measuring in other ways (questions 5f and 5g): those of encoder.py."""

from right import read

TRAININGS = read(r'''
=== loaders_and_adamw: AdamW, a DataLoader, a one-cycle learning rate, four parts
--- copy_task
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3, weight_decay=0.0)
schedule = torch.optim.lr_scheduler.OneCycleLR(
    optimizer, max_lr=5e-3, total_steps=steps, pct_start=0.15
)
model.train()
for step in range(steps):
    x, y = copy_batch(64, generator)
    logits = model(x)
    lost = F.cross_entropy(logits.transpose(1, 2), y)       # (n, 16 classes, 16 places)
    optimizer.zero_grad(set_to_none=True)
    lost.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
model.eval()
total, count, gap = 0.0, 0, 0.0
with torch.inference_mode():
    for _ in range(4):
        x, y = copy_batch(128, generator)
        short, long = model(x), model(torch.cat((x, x.new_zeros(128, 8)), dim=1))[:, :16]
        total += F.cross_entropy(short.transpose(1, 2), y, reduction="sum").item()
        count += int((y >= 0).sum())
        gap = max(gap, (short - long).abs().amax(dim=-1).masked_fill(x == PAD, 0.0).max().item())
loss = total / count
--- BagOfWords.forward
logits = F.embedding_bag(idx, self.weight.weight, mode="mean", padding_idx=PAD) + self.bias
--- train_classifier
torch.manual_seed(seed)
from torch.utils.data import DataLoader, TensorDataset
dice = torch.Generator().manual_seed(seed)
loader = DataLoader(
    TensorDataset(x, y), batch_size=batch_size, shuffle=True, drop_last=False, generator=dice
)
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
criterion = nn.CrossEntropyLoss(reduction="sum")
model.train()
for _ in range(epochs):
    summed = 0.0
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(model(inputs), targets)
        (loss / len(targets)).backward()
        optimizer.step()
        summed += loss.item()
    losses.append(summed / len(x))
model.eval()
--- accuracy
was = model.training
model.train(False)
answers = []
with torch.inference_mode():
    for start in range(0, len(x), batch_size):
        answers.append(model(x[start:start + batch_size]).max(dim=1).indices)
model.train(was)
right = float((torch.cat(answers) == y).sum())
--- attention_entropy
logs = torch.where(weights > 0, weights, torch.ones_like(weights)).log()
rows = -(weights * logs).sum(dim=-1)                # (B, n_head, T)
counts = (~key_padding_mask).float()
entropy = torch.einsum("bht,bt->h", rows, counts) / counts.sum()
=== descent_with_momentum: momentum, a log-softmax; a look in evaluation mode every 50 steps
--- BagOfWords.forward
real = (idx != PAD).float()
hot = F.one_hot(idx, self.weight.num_embeddings).float() * real.unsqueeze(-1)
share = hot.sum(1) / real.sum(1, keepdim=True).clamp_min(1.0)
logits = share @ self.weight.weight + self.bias
--- train_classifier
torch.manual_seed(seed)
optimizer = torch.optim.SGD(model.parameters(), lr=learning_rate, momentum=0.9)
N = len(x)
for epoch in range(epochs):
    model.train()
    order = torch.randperm(N)
    total = 0
    for start in range(0, N, batch_size):
        chosen = order[start:start + batch_size]
        loss = F.nll_loss(F.log_softmax(model(x[chosen]), dim=-1), y[chosen])
        model.zero_grad()
        loss.backward()
        optimizer.step()
        total += float(loss) * len(chosen)
    losses += [total / N]
model.eval()
--- attention_entropy
heads = []
for h in range(weights.size(1)):
    rows = torch.special.entr(weights[:, h]).sum(dim=-1)
    heads.append(rows[~key_padding_mask].mean())
entropy = torch.stack(heads)
--- copy_task
groups = [
    {"params": [p for p in model.parameters() if p.dim() > 1]},
    {"params": [p for p in model.parameters() if p.dim() <= 1]},
]
optimizer = torch.optim.Adam(groups, lr=3e-3, betas=(0.9, 0.99))
watched = copy_batch(32, generator)
history = []
for step in range(steps):
    progress = step / steps
    for group in optimizer.param_groups:
        group["lr"] = (
            3e-3
            * min(1, (step + 1) / 40)
            * (1 if progress < 0.6 else 0.3 if progress < 0.85 else 0.05)
        )
    if step % 50 == 0:
        model.eval()
        with torch.no_grad():
            history.append(
                F.cross_entropy(model(watched[0]).flatten(0, 1), watched[1].flatten()).item()
            )
    model.train()
    x, y = copy_batch(64, generator)
    lost = F.cross_entropy(model(x).reshape(-1, 16), y.reshape(-1), ignore_index=-100)
    lost.backward()
    optimizer.step()
    optimizer.zero_grad()
with torch.no_grad():
    model.eval()
    x, y = copy_batch(512, generator)
    out = model(x)
    loss = F.cross_entropy(out.reshape(-1, 16), y.reshape(-1)).item()
    extended = torch.zeros(512, 24, dtype=torch.long)
    extended[:, :16] = x
    other = model(extended)[:, :16]
    gap = ((out - other).abs() * (x != PAD)[:, :, None]).max().item()
=== early_end: copying ends once the loss is small; NumPy and Python draw orders
--- copy_task
adam = torch.optim.NAdam(model.parameters(), lr=2e-3, betas=(0.9, 0.98))
decay = torch.optim.lr_scheduler.CosineAnnealingLR(adam, steps)
running = None
model.train()
for step in range(steps):
    x, y = copy_batch(96, generator)
    wanted = y != -100
    lost = F.nll_loss(model(x)[wanted].log_softmax(dim=-1), y[wanted])
    adam.zero_grad()
    lost.backward()
    adam.step()
    decay.step()
    running = lost.item() if running is None else 0.9 * running + 0.1 * lost.item()
    if running < 5e-4:
        break

@torch.no_grad()
def measure(x, y):
    model.eval()
    plain = model(x)
    longer = model(F.pad(x, (0, 8), value=PAD))[:, :16]
    chances = plain.log_softmax(dim=-1)
    picked = [-chances[i, j, y[i, j]] for i, j in (y >= 0).nonzero().tolist()]
    return float(sum(picked) / len(picked)), float((plain - longer)[x.ne(PAD)].abs().max())

loss, gap = measure(*copy_batch(512, generator))
--- BagOfWords.forward
rows = []
for row in idx:
    tokens = row[row != PAD]
    rows.append(self.weight(tokens).mean(dim=0) + self.bias if len(tokens) else self.bias)
logits = torch.stack(rows)
--- train_classifier
import random
import numpy as np
torch.manual_seed(seed)
dice = random.Random(seed)
optimizer = torch.optim.RMSprop(model.parameters(), lr=learning_rate)
model = model.train()
numbers = list(range(len(x)))
for _ in range(epochs):
    dice.shuffle(numbers)
    seen = []
    for start in range(0, len(numbers), batch_size):
        part = torch.from_numpy(np.array(numbers[start:start + batch_size]))
        each = F.cross_entropy(
            model(x.index_select(0, part)), y.index_select(0, part), reduction="none"
        )
        optimizer.zero_grad()
        each.mean().backward()
        optimizer.step()
        seen.extend(each.tolist())
    losses.append(float(np.mean(seen)))
model.eval()
--- attention_entropy
safe = weights.clamp(min=1e-12)
rows = -(safe * safe.log()).sum(dim=-1).masked_fill(key_padding_mask[:, None, :], 0.0)
entropy = rows.sum(dim=(0, 2)) / (~key_padding_mask).sum()
''')
