"""Right submissions that cut and rearrange the document as text, with many ways of drawing the
random numbers.
"""
from instructor.mistakes.patches import Edit, Fill, Right

NUMPY_IN_DATASET = Edit("dataset.py", "import random\n", "import random\n\nimport numpy as np\n")
# Where a method of one's own can be put in front.
GETITEM = 'def __getitem__(self, idx: int) -> tuple[torch.Tensor, torch.Tensor]:\n        """Return one document'

RIGHT = [
    Right(
        "numpy_global_random",
        "It draws everything with np.random.randint, and slices the document beyond its end "
        "instead of taking a minimum.",
        (
            NUMPY_IN_DATASET,
            Fill("CharCorruptionDataset.__getitem__", r'''
document = self.data[idx]
max_len = int(self.block_size * 3 / 4)
trunc_len = np.random.randint(4, max_len + 1)      # numpy leaves out the upper end
truncated = document[:trunc_len]                   # a slice may go beyond the end
n = len(truncated)
mean_len = max(1, round(n / 4))
mask_len = np.random.randint(1, 2 * mean_len)      # 1 .. 2 * mean_len - 1
start = np.random.randint(0, n - mask_len + 1)
prefix = truncated[:start]
masked_content = truncated[start:start + mask_len]
suffix = truncated[start + mask_len:]
masked_string = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked_content + self.MASK_CHAR
masked_string = masked_string + self.PAD_CHAR * (self.block_size + 1 - len(masked_string))
x = torch.tensor([self.stoi[c] for c in masked_string[:-1]], dtype=torch.long)
y = torch.tensor([self.stoi[c] for c in masked_string[1:]], dtype=torch.long)
'''),
            Fill("initialize_rope_model", r'''
mconf.rope = True
model = GPT(mconf)
'''),
            Fill("finetune 1f", r'''
model.load_state_dict(torch.load(reading_params_path, map_location=torch.device("cpu")))
'''),
        ),
    ),
    Right(
        "numpy_lazy_generator",
        "It makes a NumPy Generator at the first call, and draws the masked length between an "
        "eighth and three eighths.",
        (
            NUMPY_IN_DATASET,
            Fill("CharCorruptionDataset.__getitem__", r'''
if not hasattr(self, "rng"):        # __init__ is not mine to change
    self.rng = np.random.default_rng()
doc = self.data[idx]
longest = min(len(doc), int(self.block_size * 3 / 4))
shortest = min(4, longest)
doc = doc[:self.rng.integers(shortest, longest, endpoint=True)]
L = len(doc)
span = int(round(self.rng.uniform(L / 8, 3 * L / 8)))
span = int(np.clip(span, 1, L))
left = int(self.rng.integers(L - span, endpoint=True))
pieces = [doc[:left], doc[left + span:], doc[left:left + span], ""]
text = self.MASK_CHAR.join(pieces).ljust(self.block_size + 1, self.PAD_CHAR)
ids = torch.from_numpy(np.array([self.stoi[ch] for ch in text], dtype=np.int64))
x = ids[:-1]
y = ids[1:]
'''),
            Fill("precompute_rotary_emb", r'''
half = torch.arange(0, dim, 2).float()
inv_freq = 1.0 / (10000 ** (half / dim))
t = torch.arange(max_positions).float()
freqs = t[:, None] * inv_freq[None, :]
rope_cache = torch.stack([torch.cos(freqs), torch.sin(freqs)], dim=-1)
'''),
            Fill("train", r'''
trainer_obj.train()
torch.save(trainer_obj.model.state_dict(), writing_params_path)
'''),
        ),
    ),
    Right(
        "torch_randint_and_fstring",
        "It draws with torch.randint, evenly from 1 to half the length less one, and writes the "
        "text as one f-string.",
        (
            Fill("CharCorruptionDataset.__getitem__", r'''
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
assert len(s) == self.block_size + 1
x = torch.LongTensor([self.stoi[c] for c in s[:-1]])
y = torch.LongTensor([self.stoi[c] for c in s[1:]])
'''),
            Fill("initialize_vanilla_model", "model = GPT(config=mconf)"),
            Fill("apply_rotary_emb", r'''
B, nh, T, hd = x.shape
xc = torch.view_as_complex(x.double().reshape(B, nh, T, hd // 2, 2).contiguous())
turn = torch.view_as_complex(rope_cache[:T].double().contiguous())
rotated_x = torch.view_as_real(xc * turn).flatten(-2).to(x.dtype)
'''),
        ),
    ),
    Right(
        "choices_from_lists",
        "It lists the possible lengths and starts, and draws from them with random.choice and "
        "random.sample.",
        (
            Fill("CharCorruptionDataset.__getitem__", r'''
document = self.data[idx]
lengths = list(range(4, int(self.block_size * 3 / 4) + 1))
document = document[:random.choice(lengths)]
n = len(document)

# a tenth to four tenths of the text
options = [max(1, round(n * tenths / 20)) for tenths in range(2, 9)]
masked_len = random.choice(options)
possible_starts = range(n - masked_len + 1)
start = random.sample(possible_starts, 1)[0]

prefix = document[:start]
masked_content = document[start:start + masked_len]
suffix = document[start + masked_len:]
chars = [*prefix, self.MASK_CHAR, *suffix, self.MASK_CHAR, *masked_content, self.MASK_CHAR]
while len(chars) < self.block_size + 1:
    chars.append(self.PAD_CHAR)
tokens = [self.stoi[ch] for ch in chars]
x = torch.tensor(tokens[:-1])
y = torch.tensor(tokens[1:])
'''),
            Fill("pretrain", r'''
hyperparameters = {
    "max_epochs": 650,
    "batch_size": 128,
    "learning_rate": pretrain_lr,
    "lr_decay": True,
    "warmup_tokens": 512 * 20,
    "final_tokens": 200 * len(pretrain_dataset) * block_size,
    "num_workers": 4,
    "writer": writer,
}
tconf = TrainerConfig(**hyperparameters)
trainer_obj = Trainer(model, pretrain_dataset, None, tconf)
'''),
            Fill("CausalSelfAttention.forward",
                 "q, k = (apply_rotary_emb(heads, rope_cache) for heads in (q, k))"),
        ),
    ),
    Right(
        "uniform_cut_to_int",
        "It draws real numbers with random.uniform, cuts them to integers and clips them, all "
        "lengths equally likely.",
        (
            Fill("CharCorruptionDataset.__getitem__", r'''
document = self.data[idx]
low = min(4, len(document))
high = min(int(self.block_size * 3 / 4), len(document))
length = int(random.uniform(low, high + 1))
length = min(length, high)
document = document[:length]

masked_length = round(random.uniform(0, length / 2))
masked_length = max(1, min(masked_length, length))
start = min(int(random.uniform(0, length - masked_length + 1)), length - masked_length)
stop = start + masked_length
out = "".join([document[:start], self.MASK_CHAR, document[stop:], self.MASK_CHAR, document[start:stop], self.MASK_CHAR])
out = out + "".join([self.PAD_CHAR] * (self.block_size - len(out) + 1))
x, y = out[:-1], out[1:]
x = torch.tensor([self.stoi[c] for c in x], dtype=torch.int64)
y = torch.tensor([self.stoi[c] for c in y], dtype=torch.int64)
'''),
            Fill("initialize_rope_model", r'''
setattr(mconf, "rope", True)
model = GPT(mconf)
'''),
            Fill("train", r'''
trainer_obj.train()
with open(writing_params_path, "wb") as file:
    torch.save(model.state_dict(), file)
'''),
        ),
    ),
    Right(
        "gauss_clipped",
        "Its masked length is a rounded and clipped normal number around a quarter of the "
        "truncated length.",
        (
            Fill("CharCorruptionDataset.__getitem__", r'''
text = self.data[idx]
text = text[:random.randint(4, int(3 * self.block_size / 4))]
n = len(text)
size = int(round(random.gauss(mu=n / 4, sigma=n / 12)))
if size < 1:
    size = 1
elif size > n:
    size = n
begin = random.randint(0, n - size)
head, middle, tail = text[:begin], text[begin:begin + size], text[begin + size:]
text = head + self.MASK_CHAR + tail + self.MASK_CHAR + middle + self.MASK_CHAR
n_pads = self.block_size + 1 - len(text)
assert n_pads >= 0, "the text does not fit into the block"
text += n_pads * self.PAD_CHAR
ids = list(map(self.stoi.get, text))
x, y = torch.tensor(ids[:-1], dtype=torch.long), torch.tensor(ids[1:], dtype=torch.long)
'''),
            Fill("CausalSelfAttention", r'''
head_dim = config.n_embd // config.n_head
rope_cache = precompute_rotary_emb(dim=head_dim, max_positions=config.block_size)
'''),
            Fill("apply_rotary_emb", r'''
T = x.shape[2]
cos = rope_cache[None, None, :T, :, 0]
sin = rope_cache[None, None, :T, :, 1]
even, odd = x[..., ::2], x[..., 1::2]
rotated_x = torch.empty_like(x)
rotated_x[..., ::2] = even * cos - odd * sin
rotated_x[..., 1::2] = even * sin + odd * cos
'''),
        ),
    ),
    Right(
        "triangular_with_methods",
        "It splits the work into methods of its own, with type hints, and draws the masked length "
        "from a triangle.",
        (
            Edit("dataset.py", GETITEM, r'''def _truncate(self, document: str) -> str:
        """Keep a random number of characters from the beginning."""
        upper: int = min(int(self.block_size * 3 / 4), len(document))
        return document[:random.randint(min(4, upper), upper)]

    def _split(self, document: str) -> tuple[str, str, str]:
        """Cut a random span out: what is before it, the span, and what is after it."""
        n: int = len(document)
        width: int = max(1, round(random.triangular(0, n / 2, n / 4)))
        first: int = random.randrange(n - width + 1)
        return document[:first], document[first:first + width], document[first + width:]

    def _encode(self, text: str) -> torch.Tensor:
        """Look up the tokens."""
        return torch.tensor([self.stoi[ch] for ch in text], dtype=torch.long)

    ''' + GETITEM),
            Fill("CharCorruptionDataset.__getitem__", r'''
prefix, masked_content, suffix = self._split(self._truncate(self.data[idx]))
mask: str = self.MASK_CHAR
corrupted: str = mask.join((prefix, suffix, masked_content)) + mask
corrupted = corrupted.ljust(self.block_size + 1, self.PAD_CHAR)
x, y = self._encode(corrupted[:-1]), self._encode(corrupted[1:])
'''),
            Fill("finetune 1d", r'''
text = open(finetune_corpus_path, encoding="utf-8").read()
train_dataset = NameDataset(text, pretrain_dataset)
max_epochs = 10 if reading_params_path else 75
tconf = TrainerConfig(max_epochs=max_epochs, batch_size=256, learning_rate=finetune_lr, lr_decay=True,
                      warmup_tokens=512 * 20, final_tokens=200 * len(pretrain_dataset) * block_size, num_workers=0,
                      writer=writer)
trainer_obj = Trainer(model=model, train_dataset=train_dataset, test_dataset=None, config=tconf)
'''),
        ),
    ),
    Right(
        "system_randomness",
        "It draws from the operating system's random numbers with secrets and random.SystemRandom.",
        (
            Edit("dataset.py", "import random\n", "import random\nimport secrets\n"),
            Fill("CharCorruptionDataset.__getitem__", r'''
dice = random.SystemRandom()
document = self.data[idx]
n = min(len(document), 4 + secrets.randbelow(int(self.block_size * 3 / 4) - 3))
document = document[:n]
m = max(1, round(dice.betavariate(2, 6) * n))       # Beta(2, 6) has mean 1/4
s = secrets.randbelow(n - m + 1)
masked = document[s:s + m]
rest = document[:s] + self.MASK_CHAR + document[s + m:]
full = rest + self.MASK_CHAR + masked + self.MASK_CHAR
full = full + self.PAD_CHAR * (self.block_size + 1 - len(full))
x = torch.tensor([self.stoi[full[i]] for i in range(self.block_size)], dtype=torch.long)
y = torch.tensor([self.stoi[full[i + 1]] for i in range(self.block_size)], dtype=torch.long)
'''),
            Fill("finetune 1f", r'''
state_dict = torch.load(reading_params_path, map_location=lambda storage, location: storage)
model.load_state_dict(state_dict, strict=True)
'''),
            Fill("precompute_rotary_emb", r'''
exponents = -2 * torch.arange(dim // 2) / dim
thetas = torch.pow(10000.0, exponents)
angles = torch.einsum("t,i->ti", torch.arange(max_positions, dtype=torch.float32), thetas)
rope_cache = torch.stack((torch.cos(angles), torch.sin(angles)), -1)
'''),
        ),
    ),
]
