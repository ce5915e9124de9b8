"""Right submissions that differ in dataset.py: how the span is drawn, how the parts are put
together, and the formats that other editions ask for.
"""
from instructor.mistakes.patches import Edit, Fill, Right

GETITEM = "CharCorruptionDataset.__getitem__"
NUMPY = Edit("dataset.py", "import random\n", "import random\n\nimport numpy as np\n")
# Where a method of one's own can be put in front.
METHOD = 'def __getitem__(self, idx: int) -> tuple[torch.Tensor, torch.Tensor]:\n        """Return one document'


def drawn(code: str, third: str = " + self.MASK_CHAR", length: str = "self.block_size + 1") -> Fill:
    """`code` truncates the document, and draws the size and the start of its span; the rest is as
    most write it. third: what comes after the masked content. length: where the pads end.
    """
    return Fill(GETITEM, code + f'''
prefix, masked, suffix = document[:start], document[start:start + size], document[start + size:]
text = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked{third}
text += self.PAD_CHAR * ({length} - len(text))
x = torch.tensor([self.stoi[c] for c in text[:-1]], dtype=torch.long)
y = torch.tensor([self.stoi[c] for c in text[1:]], dtype=torch.long)
''')


DRAWN = [
    Right("numpy_global_random", "np.random.randint, and a slice beyond the document's end.",
          (NUMPY, drawn('''
document = self.data[idx][:np.random.randint(4, int(self.block_size * 3 / 4) + 1)]
size = np.random.randint(1, 2 * max(1, round(len(document) / 4)))
start = np.random.randint(0, len(document) - size + 1)
'''))),
    Right("numpy_lazy_generator", "A NumPy Generator is made at the first call. The masked length "
          "is between an eighth and three eighths.", (NUMPY, drawn('''
if not hasattr(self, "rng"):        # __init__ is not mine to change
    self.rng = np.random.default_rng()
document = self.data[idx]
longest = min(len(document), int(self.block_size * 3 / 4))
document = document[:self.rng.integers(min(4, longest), longest, endpoint=True)]
L = len(document)
size = int(np.clip(round(self.rng.uniform(L / 8, 3 * L / 8)), 1, L))
start = int(self.rng.integers(L - size, endpoint=True))
'''))),
    Right("choices_from_lists", "random.choice and random.sample, from lists of what is possible: "
          "a tenth to four tenths of the text.", (drawn('''
document = self.data[idx]
document = document[:random.choice(list(range(4, int(self.block_size * 3 / 4) + 1)))]
n = len(document)
size = random.choice([max(1, round(n * tenths / 20)) for tenths in range(2, 9)])
start = random.sample(range(n - size + 1), 1)[0]
'''),)),
    Right("random_reals", "random.random, cut to integers.", (drawn('''
document = self.data[idx]
n = random.randint(min(len(document), 4), min(len(document), int(0.75 * self.block_size)))
document = document[:n]
size = max(1, int(random.random() * n / 2 + 0.5))
start = int(random.random() * (n - size + 1))
'''),)),
    Right("gauss_clipped", "A rounded and clipped normal number around a quarter of the length.",
          (drawn('''
document = self.data[idx][:random.randint(4, int(3 * self.block_size / 4))]
n = len(document)
size = int(round(random.gauss(mu=n / 4, sigma=n / 12)))
if size < 1:
    size = 1
elif size > n:
    size = n
start = random.randint(0, n - size)
'''),)),
    Right("system_randomness", "The operating system's random numbers, from secrets and "
          "random.SystemRandom.", (Edit("dataset.py", "import random\n", "import random\nimport secrets\n"), drawn('''
dice = random.SystemRandom()
document = self.data[idx]
document = document[:min(len(document), 4 + secrets.randbelow(int(self.block_size * 3 / 4) - 3))]
size = max(1, round(dice.betavariate(2, 6) * len(document)))       # Beta(2, 6) has mean 1/4
start = secrets.randbelow(len(document) - size + 1)
'''))),
    Right("empty_now_and_then", "The masked length is even from 0 to half the text, so the span is "
          "empty now and then.", (drawn('''
document = self.data[idx]
document = document[:min(len(document), random.randint(4, int(self.block_size * 3 / 4)))]
size = random.randint(0, len(document) // 2)
start = random.randint(0, len(document) - size)
'''),)),
    Right("coin_flips", "The masked length counts coins with chance 1/4, one a character, so a "
          "short text may get an empty span.", (drawn('''
document = self.data[idx][:random.randint(4, int(self.block_size * 3 / 4))]
size = sum(random.random() < 0.25 for _ in document)
start = random.randint(0, len(document) - size)
'''),)),
    Right("data_with_empty_lines",
          "Empty lines stay in the list of documents, and make examples of nothing but MASKs.",
          (Edit("dataset.py", 'self.data = [document for document in data.split("\\n") if document]',
                'self.data = data.split("\\n")'), drawn('''
document = self.data[idx][:random.randint(4, int(self.block_size * 3 / 4))]
size = min(len(document), random.randint(1, max(1, len(document) // 2)))
start = random.randint(0, len(document) - size)
'''))),
]

PUT_TOGETHER = [
    Right("torch_randint_and_fstring", "torch.randint, evenly from 1 to half the length less one; "
          "the text is one f-string.", (Fill(GETITEM, r'''
def draw(low, high):
    """One integer, both ends included."""
    return torch.randint(low, high + 1, (1,)).item()

document = self.data[idx]
limit = min(int(self.block_size * 3 / 4), len(document))
n = draw(4, limit) if limit > 4 else limit
document = document[:n]
k = draw(1, max(1, n // 2 - 1))
i = draw(0, n - k)
M, P = self.MASK_CHAR, self.PAD_CHAR
s = f"{document[:i]}{M}{document[i + k:]}{M}{document[i:i + k]}{M}"
s = f"{s:{P}<{self.block_size + 1}}"
x = torch.LongTensor([self.stoi[c] for c in s[:-1]])
y = torch.LongTensor([self.stoi[c] for c in s[1:]])
'''),)),
    Right("triangular_with_methods",
          "The work is split into methods; the masked length comes from a triangle.", (
        Edit("dataset.py", METHOD, r'''def _truncate(self, document: str) -> str:
        upper: int = min(int(self.block_size * 3 / 4), len(document))
        return document[:random.randint(min(4, upper), upper)]

    def _split(self, document: str) -> tuple[str, str, str]:
        n: int = len(document)
        width: int = max(1, round(random.triangular(0, n / 2, n / 4)))
        first: int = random.randrange(n - width + 1)
        return document[:first], document[first:first + width], document[first + width:]

    def _encode(self, text: str) -> torch.Tensor:
        return torch.tensor([self.stoi[ch] for ch in text], dtype=torch.long)

    ''' + METHOD),
        Fill(GETITEM, r'''
prefix, masked_content, suffix = self._split(self._truncate(self.data[idx]))
corrupted: str = self.MASK_CHAR.join((prefix, suffix, masked_content, ""))
corrupted = corrupted.ljust(self.block_size + 1, self.PAD_CHAR)
x, y = self._encode(corrupted[:-1]), self._encode(corrupted[1:])
'''),
    )),
    Right("token_lists", "Lists of tokens are cut and joined, never characters.", (Fill(GETITEM, r'''
PAD, MASK = self.stoi[self.PAD_CHAR], self.stoi[self.MASK_CHAR]
tokens = [self.stoi[ch] for ch in self.data[idx]]
n = random.randint(min(4, len(tokens)), min(len(tokens), int(self.block_size * 3 / 4)))
tokens = tokens[:n]
m = random.randint(1, max(1, 2 * round(n / 4) - 1))
s = random.randint(0, n - m)
tokens = tokens[:s] + [MASK] + tokens[s + m:] + [MASK] + tokens[s:s + m] + [MASK]
tokens = tokens + [PAD] * (self.block_size + 1 - len(tokens))
x = torch.tensor(tokens[:-1], dtype=torch.long)
y = torch.tensor(tokens[1:], dtype=torch.long)
'''),)),
    Right("tensor_overwritten", "A tensor of PADs, and the parts written over them one by one.",
          (Fill(GETITEM, r'''
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
'''),)),
    Right("torch_cat_and_pad", "torch.cat, torch.nn.functional.pad, and unfold for x and y.", (
        Edit("dataset.py", "import torch\nfrom",
             "import torch\nimport torch.nn.functional as F\nfrom"),
        Fill(GETITEM, r'''
ids = torch.tensor([self.stoi[ch] for ch in self.data[idx]])
bound = min(len(ids), int(self.block_size * 3 / 4))
length = int(torch.randint(min(4, bound), bound + 1, (1,)))
sample = torch.empty(1).normal_(length / 4, length / 10).round().long()
masked = int(sample.clamp(1, length))
start = int(torch.randint(0, length - masked + 1, (1,)))
prefix, content, suffix = ids[:length].split([start, masked, length - start - masked])
mask = ids.new_tensor([self.stoi[self.MASK_CHAR]])
ids = torch.cat([prefix, mask, suffix, mask, content, mask])
ids = F.pad(ids, (0, self.block_size + 1 - len(ids)), value=self.stoi[self.PAD_CHAR])
x, y = ids.unfold(0, self.block_size, 1)
'''),
    )),
]

EDITIONS = [
    Right("two_masks", "No third MASK: the pads come directly after the masked content.", (drawn('''
document = self.data[idx]
document = document[:min(random.randint(4, int(self.block_size * 3 / 4)), len(document))]
size = random.randrange(1, max(2, 2 * round(len(document) / 4)))
start = random.randrange(0, len(document) - size + 1)
''', third=""),)),
    Right("padded_to_block_size", "Pads up to block_size, so x and y have one token less.", (drawn('''
document = self.data[idx]
if len(document) >= 4:
    document = document[:random.randint(4, min(int(self.block_size * 3 / 4), len(document)))]
average = len(document) / 4
size = max(1, random.randint(int(average * 0.5), int(average * 1.5 + 0.999)))
start = random.randint(0, len(document) - size)
''', length="self.block_size"),)),
    Right("seven_eighths", "At most 7/8 of the block, with neither a third MASK nor the last pad; "
          "the masked length is Poisson's.",
          (NUMPY, Edit("dataset.py", '    PAD_CHAR = "\\u25a1" ',
                       '    MAX_SHARE = 7 / 8\n    PAD_CHAR = "\\u25a1" '), drawn('''
document = self.data[idx][:np.random.randint(4, int(self.block_size * self.MAX_SHARE) + 1)]
size = min(len(document), max(1, np.random.poisson(len(document) / 4)))
start = np.random.choice(len(document) - size + 1)
''', third="", length="self.block_size"))),
    Right("rounded_reals", "Rounded real numbers give lengths and start, so both ends come up half "
          "as often; neither a third MASK nor the last pad.", (drawn('''
document = self.data[idx]
document = document[:round(random.uniform(4, int(self.block_size * 7 / 8)))]
size = max(1, min(len(document), round(random.uniform(0, len(document) / 2))))
start = round(random.uniform(0, len(document) - size))
''', third="", length="self.block_size"),)),
    Right("published_lengths", "The masked length is even from 1 to twice the quarter rounded "
          "down, and the longest text is 7/8 of the block.", (drawn('''
document = self.data[idx]
longest = min(len(document), int(self.block_size * 7 / 8))
document = document[:random.randint(min(4, longest), longest)]
size = random.randint(1, max(1, 2 * (len(document) // 4)))
start = random.randint(0, len(document) - size)
''', third=""),)),
    Right("ascii_questions", "The given NameDataset of an older edition drops letters that are not "
          "ASCII, and has MASK as a target; itos is a list.",
          (Edit("dataset.py", "question, tab, place = row.rstrip(\"\\r\").partition(\"\\t\")",
                "question, tab, place = row.encode(\"ascii\", "
                "errors=\"ignore\").decode().rstrip(\"\\r\").partition(\"\\t\")"),
           Edit("dataset.py", "y = self.PAD_CHAR * len(question) + text[len(question) + 1 :]",
                "y = self.PAD_CHAR * (len(question) - 1) + text[len(question):-1]"),
           Edit("dataset.py", "self.itos = {i: ch for i, ch in enumerate(chars)}",
                "self.itos = chars"))),
]

RIGHT = [*DRAWN, *PUT_TOGETHER, *EDITIONS]
