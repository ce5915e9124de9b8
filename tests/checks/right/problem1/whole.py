"""Right submissions of students with a style of their own: the shortest, the most careful, the
plainest, the most imports.
"""
from instructor.mistakes.patches import Edit, Fill, Right

GETITEM = "CharCorruptionDataset.__getitem__"

RIGHT = [
    Right("semicolons_and_walrus", "As short as can be, with semicolons, walrus operators and "
          "nested comprehensions.", (
        Fill(GETITEM, r'''
n = len(d := self.data[idx][:random.randint(4, (B := self.block_size) * 3 // 4)]); M = self.MASK_CHAR
i = random.randint(0, n - (m := random.randint(1, max(1, 2 * ((n + 2) // 4) - 1)))); j = i + m
s = d[:i] + M + d[j:] + M + d[i:j] + M; s += self.PAD_CHAR * (B + 1 - len(s))
t = torch.tensor([*map(self.stoi.__getitem__, s)]); x = t[:-1]; y = t[1:]
'''),
        Fill("initialize_vanilla_model", "return GPT(mconf)"),
        Fill("initialize_rope_model", "c = copy.copy(mconf); c.rope = True; return GPT(c)"),
        Fill("finetune 1f", "model.load_state_dict(torch.load(reading_params_path, 'cpu'))"),
        Fill("finetune 1d", r'''
tconf = TrainerConfig(max_epochs=(75, 10)[reading_params_path is not None], batch_size=256, learning_rate=finetune_lr,
                      lr_decay=True, warmup_tokens=10_240, final_tokens=200 * len(pretrain_dataset) * block_size,
                      writer=writer)
trainer_obj = Trainer(model, NameDataset(open(finetune_corpus_path).read(), pretrain_dataset), None, tconf)
'''),
        Fill("pretrain", r'''
return (c := TrainerConfig(max_epochs=650, batch_size=128, learning_rate=pretrain_lr, lr_decay=True, warmup_tokens=10_240,
                           final_tokens=650 * len(pretrain_dataset) * block_size, writer=writer)), Trainer(model, pretrain_dataset, None, c)
'''),
        Fill("train", r'''
trainer_obj.train(); torch.save({k: v.cpu() for k, v in model.state_dict().items()}, writing_params_path)
'''),
        Fill("precompute_rotary_emb", r'''
a = torch.arange(max_positions)[:, None] / 10000 ** (torch.arange(0, dim, 2) / dim); c, s = a.cos(), a.sin()
rope_cache = torch.stack((c, s), -1)
'''),
        Fill("apply_rotary_emb", r'''
c, s = rope_cache[:x.size(2)].unbind(-1); a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
rotated_x = torch.stack((a * c - b * s, a * s + b * c), -1).flatten(-2).to(x)
'''),
        Fill("CausalSelfAttention.forward",
             "q, k = apply_rotary_emb(q, rope_cache), apply_rotary_emb(k, rope_cache)"),
    )),
    Right("careful_with_try", "try and except, and small nested functions.", (
        Edit("dataset.py", "import random\n", "import random\nfrom collections import deque\n"),
        Fill(GETITEM, r'''
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
'''),
        Fill("finetune 1f", r'''
try:
    model.load_state_dict(torch.load(reading_params_path, map_location="cpu", weights_only=True))
except FileNotFoundError:
    print("There are no such weights:", reading_params_path)
    raise
'''),
        Fill("precompute_rotary_emb", r'''
def angle(t, i):
    return t / 10000 ** (2 * i / dim)

table = [[(math.cos(angle(t, i)), math.sin(angle(t, i))) for i in range(dim // 2)] for t in range(max_positions)]
rope_cache = torch.tensor(table, dtype=torch.float32)
'''),
        Fill("CausalSelfAttention", r'''
per_head = self.key.out_features // self.n_head
rope_cache = precompute_rotary_emb(per_head, config.block_size)
'''),
    )),
    Right("beginner_with_loops", "Plain loops, character by character and position by position.", (
        Fill(GETITEM, r'''
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
'''),
        Fill("initialize_rope_model", r'''
rope_mconf = copy.deepcopy(mconf)
setattr(rope_mconf, "rope", True)
model = GPT(rope_mconf)
'''),
        Fill("finetune 1f", r'''
file = open(reading_params_path, "rb")
weights = torch.load(file, map_location=torch.device("cpu"))
file.close()
model.load_state_dict(weights)
'''),
        Fill("apply_rotary_emb", r'''
number_of_positions = x.size(2)
rotated_x = torch.zeros(x.shape, dtype=x.dtype, device=x.device)
for t in range(number_of_positions):
    cos = rope_cache[t, :, 0]
    sin = rope_cache[t, :, 1]
    first = x[:, :, t, 0::2]
    second = x[:, :, t, 1::2]
    rotated_x[:, :, t, 0::2] = first * cos - second * sin
    rotated_x[:, :, t, 1::2] = first * sin + second * cos
'''),
        Fill("GPT.forward", "x_input = self.tok_emb(idx)"),
    )),
    Right("many_unused_imports", "torch, NumPy, tqdm and half of the standard library are "
          "imported everywhere, and used now and then.", (
        Edit("dataset.py", "import torch\nfrom", r'''import collections
import itertools
import os
import re
import string
import time
from typing import Any, Dict, List, Optional, Tuple

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from tqdm import tqdm
from'''),
        Edit("attention.py", "import torch\nimport torch.nn as nn", r'''import itertools
import time
from functools import lru_cache, partial, reduce
from typing import Optional

import numpy as np
import torch
from tqdm.auto import tqdm
import torch.nn as nn'''),
        Fill(GETITEM, r'''
document: str = self.data[idx]
upper = int(self.block_size * 3 / 4)
lengths = np.arange(4, upper + 1)
truncated = document[:np.random.choice(lengths)]
size = len(truncated)
masked_size = int(np.clip(np.random.binomial(size, 0.25), 1, size))
offset = np.random.randint(size - masked_size + 1)
prefix, masked, suffix = truncated[:offset], truncated[offset:offset + masked_size], truncated[offset + masked_size:]
sequence: List[str] = list(itertools.chain(prefix, self.MASK_CHAR, suffix, self.MASK_CHAR, masked, self.MASK_CHAR))
sequence.extend(itertools.repeat(self.PAD_CHAR, self.block_size + 1 - len(sequence)))
ids = np.array([self.stoi[ch] for ch in sequence])
x, y = torch.from_numpy(ids[:-1]).long(), torch.from_numpy(ids[1:]).long()
'''),
        Fill("CausalSelfAttention.forward", r'''
rotate = partial(apply_rotary_emb, rope_cache=rope_cache)
q, k = rotate(q), rotate(k)
'''),
        Fill("GPT.forward", "x_input = token_embeddings.clone()"),
    )),
]
