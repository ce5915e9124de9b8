"""Ways in dataset.py: how the span is drawn, how the parts are put together, and the formats that
other editions ask for.
"""

from right import read

GETITEM = "CharCorruptionDataset.__getitem__"
NUMPY = "--- dataset.py: import random\nimport random\n\nimport numpy as np"


def joined(third=" + self.MASK_CHAR", length="self.block_size + 1"):
    """What follows the draws, as most write it, with this after the masked content."""
    return f'''\
prefix, masked, suffix = document[:start], document[start:start + size], document[start + size:]
text = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked{third}
text += self.PAD_CHAR * ({length} - len(text))
x = torch.tensor([self.stoi[c] for c in text[:-1]], dtype=torch.long)
y = torch.tensor([self.stoi[c] for c in text[1:]], dtype=torch.long)
'''


DRAWN = read(rf'''
=== numpy_lazy_generator: a Generator made at the first call; an eighth to three eighths
if not hasattr(self, "rng"):        # __init__ is not mine to change
    self.rng = np.random.default_rng()
document = self.data[idx]
longest = min(len(document), int(self.block_size * 3 / 4))
document = document[:self.rng.integers(min(4, longest), longest, endpoint=True)]
L = len(document)
size = int(np.clip(round(self.rng.uniform(L / 8, 3 * L / 8)), 1, L))
start = int(self.rng.integers(L - size, endpoint=True))
{NUMPY}
=== system_randomness: the operating system's numbers, from secrets and random.SystemRandom
dice = random.SystemRandom()
document = self.data[idx]
document = document[:min(len(document), 4 + secrets.randbelow(int(self.block_size * 3 / 4) - 3))]
size = max(1, round(dice.betavariate(2, 6) * len(document)))       # Beta(2, 6) has mean 1/4
start = secrets.randbelow(len(document) - size + 1)
--- dataset.py: import random
import random
import secrets
=== empty_now_and_then: even from 0 to half the text, so the span is empty now and then
document = self.data[idx]
document = document[:min(len(document), random.randint(4, int(self.block_size * 3 / 4)))]
size = random.randint(0, len(document) // 2)
start = random.randint(0, len(document) - size)
=== coin_flips: with chance 1/4, so spans may be empty; empty lines stay, as nothing but MASKs
document = self.data[idx][:random.randint(4, int(self.block_size * 3 / 4))]
size = sum(random.random() < 0.25 for _ in document)
start = random.randint(0, len(document) - size)
--- dataset.py:  if document]
]
''', GETITEM, joined())

PUT_TOGETHER = read(r'''
=== torch_draws_and_fstring: multinomial, randperm, slices of one f-string; it returns
document = self.data[idx][:torch.randint(low=4, high=self.block_size * 3 // 4 + 1, size=[1])[0]]
n = len(document)
k = 1 + int(torch.multinomial(torch.ones(max(1, n // 2 - 1)), 1))
i = int(torch.randperm(n - k + 1)[0])
M, P = self.MASK_CHAR, self.PAD_CHAR
s = f"{document[:i]}{M}{document[i + k:]}{M}{document[i:i + k]}{M}"
s = f"{s:{P}<{self.block_size + 1}}"
x = torch.LongTensor([self.stoi[c] for c in s[:-1]])
return x, torch.LongTensor([self.stoi[c] for c in s[1:]])
=== triangular_with_methods: methods; the masked length comes from a triangle
prefix, masked_content, suffix = self._split(self._truncate(self.data[idx]))
corrupted: str = self.MASK_CHAR.join((prefix, suffix, masked_content, ""))
corrupted = corrupted.ljust(self.block_size + 1, self.PAD_CHAR)
x, y = self._encode(corrupted[:-1]), self._encode(corrupted[1:])
--- dataset.py: PAD_CHAR = "\u25a1"  # an empty square: pads sequences to their fixed length
PAD_CHAR = "\u25a1"

    def _truncate(self, document: str) -> str:
        upper: int = min(int(self.block_size * 3 / 4), len(document))
        return document[:random.randint(min(4, upper), upper)]

    def _split(self, document: str) -> tuple[str, str, str]:
        n: int = len(document)
        width: int = max(1, round(random.triangular(0, n / 2, n / 4)))
        first: int = random.randrange(n - width + 1)
        return document[:first], document[first:first + width], document[first + width:]

    def _encode(self, text: str) -> torch.Tensor:
        return torch.tensor([self.stoi[ch] for ch in text], dtype=torch.long)
=== token_lists: lists of tokens, never characters; choices from lists, a tenth to four tenths
PAD, MASK = self.stoi[self.PAD_CHAR], self.stoi[self.MASK_CHAR]
tokens = [self.stoi[ch] for ch in self.data[idx]]
tokens = tokens[:random.choice(list(range(4, int(self.block_size * 3 / 4) + 1)))]
n = len(tokens)
m = random.choice([max(1, round(n * tenths / 20)) for tenths in range(2, 9)])
s = random.sample(range(n - m + 1), 1)[0]
tokens = tokens[:s] + [MASK] + tokens[s + m:] + [MASK] + tokens[s:s + m] + [MASK]
tokens = tokens + [PAD] * (self.block_size + 1 - len(tokens))
x = torch.tensor(tokens[:-1], dtype=torch.long)
y = torch.tensor(tokens[1:], dtype=torch.long)
=== tensor_overwritten: a tensor of PADs, and the parts written over them
doc = torch.tensor([self.stoi[ch] for ch in self.data[idx]], dtype=torch.long)
doc = doc[:torch.randint(4, int(self.block_size * 3 / 4) + 1, size=())]
n = doc.numel()
size = int((torch.rand(()) * n / 2).round().clamp(min=1))
start = int(torch.randint(n - size + 1, size=()))
out = torch.full((self.block_size + 1,), self.stoi[self.PAD_CHAR], dtype=torch.long)
position = 0
for part in (doc[:start], doc[start + size:], doc[start:start + size]):
    out[position:position + len(part)] = part
    position += len(part)
    out[position] = self.stoi[self.MASK_CHAR]
    position += 1
x, y = out[:-1].clone(), out[1:].clone()
=== torch_cat_and_pad: torch.cat, pad, and unfold for x and y; a normal number
ids = torch.tensor([self.stoi[ch] for ch in self.data[idx]])
bound = min(len(ids), int(self.block_size * 3 / 4))
length = int(torch.randint(min(4, bound), bound + 1, (1,)))
sample = torch.empty(1).normal_(length / 4, length / 10).round().long()
masked = int(sample.clamp(1, length))
start = int(torch.randint(0, length - masked + 1, (1,)))
prefix, content, suffix = ids[:length].split([start, masked, length - start - masked])
mask = ids.new_tensor([self.stoi[self.MASK_CHAR]])
ids = torch.cat([prefix, mask, suffix, mask, content, mask])
ids = torch.nn.functional.pad(
    ids, (0, self.block_size + 1 - len(ids)), value=self.stoi[self.PAD_CHAR]
)
x, y = ids.unfold(0, self.block_size, 1)
''', GETITEM)

EDITIONS = read(rf'''
=== two_masks: no third MASK, so the pads follow the masked content
document = self.data[idx]
document = document[:min(random.randint(4, int(self.block_size * 3 / 4)), len(document))]
size = random.randrange(1, max(2, 2 * round(len(document) / 4)))
start = random.randrange(0, len(document) - size + 1)
{joined(third="")}
=== padded_to_block_size: x and y have one token less
document = self.data[idx]
if len(document) >= 4:
    document = document[:random.randint(4, min(int(self.block_size * 3 / 4), len(document)))]
average = len(document) / 4
size = max(1, random.randint(int(average * 0.5), int(average * 1.5 + 0.999)))
start = random.randint(0, len(document) - size)
{joined(length="self.block_size")}
=== seven_eighths: at most 7/8 of the block, no third MASK, no last pad; Poisson's numbers
document = self.data[idx][:np.random.randint(4, int(self.block_size * self.MAX_SHARE) + 1)]
size = min(len(document), max(1, np.random.poisson(len(document) / 4)))
start = np.random.choice(len(document) - size + 1)
{joined(third="", length="self.block_size")}
{NUMPY}
--- dataset.py: PAD_CHAR = "\u25a1"
MAX_SHARE = 7 / 8
    PAD_CHAR = "\u25a1"
=== rounded_reals: both ends come up half as often; no third MASK, no last pad
document = self.data[idx]
document = document[:round(random.uniform(4, int(self.block_size * 7 / 8)))]
size = max(1, min(len(document), round(random.uniform(0, len(document) / 2))))
start = round(random.uniform(0, len(document) - size))
{joined(third="", length="self.block_size")}
=== published_lengths: from 1 to twice the quarter rounded down, of 7/8 of the block
document = self.data[idx]
longest = min(len(document), int(self.block_size * 7 / 8))
document = document[:random.randint(min(4, longest), longest)]
size = random.randint(1, max(1, 2 * (len(document) // 4)))
start = random.randint(0, len(document) - size)
{joined(third="")}
=== ascii_questions: a NameDataset that drops letters, with MASK as a target; itos is a list
--- dataset.py: question, tab, place = row.rstrip("\r").partition("\t")
question, tab, place = row.encode("ascii", errors="ignore").decode().rstrip("\r").partition("\t")
--- dataset.py: y = self.PAD_CHAR * len(question) + text[len(question) + 1 :]
y = self.PAD_CHAR * (len(question) - 1) + text[len(question):-1]
--- dataset.py: self.itos = {{i: ch for i, ch in enumerate(chars)}}
self.itos = chars
''', GETITEM)

RIGHT = DRAWN + PUT_TOGETHER + EDITIONS
