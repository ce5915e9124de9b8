"""Submissions with a style of their own: the shortest, the plainest, the most imports."""

from right import read

RIGHT = read(r'''
=== semicolons_and_walrus: as short as can be
--- CharCorruptionDataset.__getitem__
n = len(d := self.data[idx][: random.randint(4, (B := self.block_size) * 3 // 4)])
M = self.MASK_CHAR
i = random.randint(0, n - (m := random.randint(1, max(1, 2 * ((n + 2) // 4) - 1)))); j = i + m
s = d[:i] + M + d[j:] + M + d[i:j] + M; s += self.PAD_CHAR * (B + 1 - len(s))
t = torch.tensor([*map(self.stoi.__getitem__, s)]); x = t[:-1]; y = t[1:]
--- initialize_vanilla_model
return GPT(mconf)
--- initialize_rope_model
c = copy.copy(mconf); c.rope = True; return GPT(c)
--- finetune 1f
model.load_state_dict(torch.load(reading_params_path, 'cpu'))
--- finetune 1d
tconf = TrainerConfig(
    max_epochs=(75, 10)[reading_params_path is not None],
    batch_size=256,
    learning_rate=finetune_lr,
    lr_decay=True,
    warmup_tokens=10_240,
    final_tokens=200 * len(pretrain_dataset) * block_size,
    writer=writer,
)
trainer_obj = Trainer(
    model, NameDataset(open(finetune_corpus_path).read(), pretrain_dataset), None, tconf
)
--- pretrain
return (
    c := TrainerConfig(
        max_epochs=650,
        batch_size=128,
        learning_rate=pretrain_lr,
        lr_decay=True,
        warmup_tokens=10_240,
        final_tokens=650 * len(pretrain_dataset) * block_size,
        writer=writer,
    )
), Trainer(model, pretrain_dataset, None, c)
--- train
trainer_obj.train()
torch.save({k: v.cpu() for k, v in model.state_dict().items()}, writing_params_path)
--- precompute_rotary_emb
a = torch.arange(max_positions)[:, None] / 10000 ** (torch.arange(0, dim, 2) / dim)
c, s = a.cos(), a.sin()
rope_cache = torch.stack((c, s), -1)
--- apply_rotary_emb
c, s = rope_cache[:x.size(2)].unbind(-1); a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
rotated_x = torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2).to(x)
=== careful_with_try: try and except, and small nested functions
--- dataset.py: import random
import random
from collections import deque
--- CharCorruptionDataset.__getitem__
def cut(document):
    try:
        return document[:random.randint(4, min(len(document), int(self.block_size * 3 / 4)))]
    except ValueError:      # shorter than 4
        return document

def choose(length):
    try:
        size = random.randint(1, 2 * round(length / 4) - 1)
    except ValueError:      # too short for a quarter
        size = 1
    begin = random.randint(0, length - size)
    return begin, begin + size

truncated = cut(self.data[idx])
begin, end = choose(len(truncated))
tokens = deque(self.stoi[ch] for ch in truncated[begin:end])
tokens.appendleft(self.stoi[self.MASK_CHAR])
tokens.extendleft(self.stoi[ch] for ch in reversed(truncated[end:]))
tokens.appendleft(self.stoi[self.MASK_CHAR])
tokens.extendleft(self.stoi[ch] for ch in reversed(truncated[:begin]))
tokens.append(self.stoi[self.MASK_CHAR])
tokens.extend([self.stoi[self.PAD_CHAR]] * (self.block_size + 1 - len(tokens)))
tokens = list(tokens)
x, y = (torch.tensor(part, dtype=torch.long) for part in (tokens[:-1], tokens[1:]))
--- finetune 1f
try:
    model.load_state_dict(torch.load(reading_params_path, map_location="cpu", weights_only=True))
except FileNotFoundError:
    print("There are no such weights:", reading_params_path)
    raise
--- precompute_rotary_emb
def angle(t, i):
    return t / 10000 ** (2 * i / dim)

table = [
    [(math.cos(angle(t, i)), math.sin(angle(t, i))) for i in range(dim // 2)]
    for t in range(max_positions)
]
rope_cache = torch.tensor(table, dtype=torch.float32)
--- CausalSelfAttention
per_head = self.key.out_features // self.n_head
rope_cache = precompute_rotary_emb(per_head, config.block_size)
=== beginner_with_loops: plain loops over characters and positions
--- CharCorruptionDataset.__getitem__
document = self.data[idx]
maximum = int(self.block_size * 3 / 4)
if len(document) < maximum:
    maximum = len(document)
if maximum <= 4:
    truncated_length = maximum
else:
    truncated_length = random.randint(4, maximum)
smallest = truncated_length // 8
largest = (3 * truncated_length + 4) // 8
masked_length = random.randint(smallest, largest)
if masked_length == 0:
    masked_length = 1
start = random.randint(0, truncated_length - masked_length)
end = start + masked_length
prefix = ""
masked_content = ""
suffix = ""
for position in range(truncated_length):
    if position < start:
        prefix = prefix + document[position]
    elif position < end:
        masked_content = masked_content + document[position]
    else:
        suffix = suffix + document[position]
masked_string = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked_content + self.MASK_CHAR
while len(masked_string) != self.block_size + 1:
    masked_string = masked_string + self.PAD_CHAR
x = torch.zeros(self.block_size, dtype=torch.long)
y = torch.zeros(self.block_size, dtype=torch.long)
for position in range(self.block_size):
    x[position] = self.stoi[masked_string[position]]
    y[position] = self.stoi[masked_string[position + 1]]
--- initialize_rope_model
rope_mconf = copy.deepcopy(mconf)
setattr(rope_mconf, "rope", True)
model = GPT(rope_mconf)
--- finetune 1f
file = open(reading_params_path, "rb")
weights = torch.load(file, map_location=torch.device("cpu"))
file.close()
model.load_state_dict(weights)
--- apply_rotary_emb
number_of_positions = x.size(2)
rotated_x = torch.zeros(x.shape, dtype=x.dtype, device=x.device)
for t in range(number_of_positions):
    cos = rope_cache[t, :, 0]
    sin = rope_cache[t, :, 1]
    first = x[:, :, t, 0::2]
    second = x[:, :, t, 1::2]
    rotated_x[:, :, t, 0::2] = first * cos - second * sin
    rotated_x[:, :, t, 1::2] = first * sin + second * cos
--- GPT.forward
x_input = self.tok_emb(idx)
=== many_unused_imports: half of the standard library is imported, and used now and then
--- dataset.py: import argparse
import argparse, collections, itertools, os, re, string, time
from typing import Any, Dict, List, Optional, Tuple
import numpy as np, torch.nn as nn, torch.nn.functional as F
--- attention.py: import torch.nn as nn
import itertools, time, numpy as np, torch.nn as nn
from functools import lru_cache, partial, reduce
from tqdm.auto import tqdm
--- CharCorruptionDataset.__getitem__
document: str = self.data[idx]
upper = int(self.block_size * 3 / 4)
lengths = np.arange(4, upper + 1)
truncated = document[:np.random.choice(lengths)]
size = len(truncated)
masked_size = int(np.clip(np.random.binomial(size, 0.25), 1, size))
offset = np.random.randint(size - masked_size + 1)
prefix, masked, suffix = (
    truncated[:offset],
    truncated[offset : offset + masked_size],
    truncated[offset + masked_size :],
)
sequence: List[str] = list(
    itertools.chain(prefix, self.MASK_CHAR, suffix, self.MASK_CHAR, masked, self.MASK_CHAR)
)
sequence.extend(itertools.repeat(self.PAD_CHAR, self.block_size + 1 - len(sequence)))
ids = np.array([self.stoi[ch] for ch in sequence])
x, y = torch.from_numpy(ids[:-1]).long(), torch.from_numpy(ids[1:]).long()
--- CausalSelfAttention.forward
rotate = partial(apply_rotary_emb, rope_cache=rope_cache)
q, k = rotate(q), rotate(k)
=== typed_and_logged: type hints, assertions and a logger; a normal number
--- dataset.py: import argparse
import argparse
import logging
--- helper.py: import copy
import copy
import logging
--- CharCorruptionDataset.__getitem__
logger: logging.Logger = logging.getLogger(__name__)
document: str = self.data[idx]
max_length: int = min(int(self.block_size * 3 / 4), len(document))
min_length: int = min(4, max_length)
truncated: str = document[:random.randint(min_length, max_length)]
assert min_length <= len(truncated) <= max_length

drawn: int = int(round(random.gauss(mu=len(truncated) / 4, sigma=len(truncated) / 12)))
masked_length: int = max(1, min(drawn, len(truncated)))
start: int = random.randint(0, len(truncated) - masked_length)
stop: int = start + masked_length
text: str = (f"{truncated[:start]}{self.MASK_CHAR}{truncated[stop:]}{self.MASK_CHAR}"
             f"{truncated[start:stop]}{self.MASK_CHAR}").ljust(self.block_size + 1, self.PAD_CHAR)
logger.debug("document %d became %r", idx, text)
tokens: list[int] = [self.stoi[character] for character in text]
x: torch.Tensor = torch.tensor(tokens[:-1], dtype=torch.int64)
y: torch.Tensor = torch.tensor(tokens[1:], dtype=torch.int64)
--- initialize_vanilla_model
assert not mconf.rope
model: GPT = GPT(mconf)
logging.getLogger(__name__).info("%d parameters", sum(p.numel() for p in model.parameters()))
--- finetune 1f
state: dict[str, torch.Tensor] = torch.load(
    reading_params_path, map_location=torch.device("cpu"), weights_only=True
)
assert set(state) == set(model.state_dict())
logging.info("loaded %s", model.load_state_dict(state))
=== names_in_german: names beyond ASCII, which are printed; random.random, cut to integers
--- CharCorruptionDataset.__getitem__
# Schritt 1: auf eine zufällige Länge kürzen
dokument = self.data[idx]
höchstlänge = min(len(dokument), int(self.block_size * 3 / 4))
länge = höchstlänge if höchstlänge <= 4 else random.randrange(4, höchstlänge + 1)
# Schritt 2: die Lücke wählen, im Mittel ein Viertel
lückenlänge = max(1, int(random.random() * länge / 2 + 0.5))
anfang = int(random.random() * (länge - lückenlänge + 1))
ende = anfang + lückenlänge
# Schritt 3: umstellen und auffüllen
zeichen = list(dokument[:anfang]) + [self.MASK_CHAR] + list(dokument[ende:länge]) + [self.MASK_CHAR]
zeichen += list(dokument[anfang:ende]) + [self.MASK_CHAR]
zeichen += [self.PAD_CHAR] * (self.block_size + 1 - len(zeichen))
zahlen = torch.tensor([self.stoi[z] for z in zeichen])
x, y = zahlen[:-1], zahlen[1:]
print("Lücke", locals())
''')
