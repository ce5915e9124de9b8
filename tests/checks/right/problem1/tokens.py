"""Right submissions that corrupt tokens instead of characters, or use the accepted variants of the
format.
"""
from instructor.mistakes.patches import Edit, Fill, Right

RIGHT = [
    Right(
        "token_lists",
        "It looks the tokens up first, cuts and joins lists of them, and never goes back to "
        "characters.",
        (
            Fill("CharCorruptionDataset.__getitem__", r'''
PAD, MASK = self.stoi[self.PAD_CHAR], self.stoi[self.MASK_CHAR]
tokens = [self.stoi[ch] for ch in self.data[idx]]

# 1. truncate
n = random.randint(min(4, len(tokens)), min(len(tokens), int(self.block_size * 3 / 4)))
tokens = tokens[:n]

# 2. choose the span
m = random.randint(1, max(1, 2 * round(n / 4) - 1))
s = random.randint(0, n - m)

# 3. rearrange
tokens = tokens[:s] + [MASK] + tokens[s + m:] + [MASK] + tokens[s:s + m] + [MASK]
tokens = tokens + [PAD] * (self.block_size + 1 - len(tokens))

# 4. shift by one
x = torch.tensor(tokens[:-1], dtype=torch.long)
y = torch.tensor(tokens[1:], dtype=torch.long)
'''),
            Fill("CausalSelfAttention.forward", r'''
q, k = [apply_rotary_emb(t, rope_cache) for t in [q, k]]
'''),
            Fill("pretrain", r'''
tconf = TrainerConfig()
tconf.max_epochs = 650
tconf.batch_size = 128
tconf.learning_rate = pretrain_lr
tconf.lr_decay = True
tconf.warmup_tokens = 512 * 20
tconf.final_tokens = 650 * len(pretrain_dataset) * block_size
tconf.writer = writer
trainer_obj = Trainer(model, pretrain_dataset, None, tconf)
'''),
        ),
    ),
    Right(
        "tensor_overwritten",
        "It fills a tensor with PADs and writes the parts over them, with a running position.",
        (
            Fill("CharCorruptionDataset.__getitem__", r'''
doc = torch.tensor([self.stoi[ch] for ch in self.data[idx]], dtype=torch.long)
upper = int(self.block_size * 3 / 4)
doc = doc[:torch.randint(4, upper + 1, size=())]
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
'''),
            Fill("apply_rotary_emb", r'''
seq_len = x.size(2)
cache = rope_cache.narrow(0, 0, seq_len).to(torch.float64)
cos, sin = cache[..., 0], cache[..., 1]
pairs = x.to(torch.float64).unflatten(-1, (-1, 2))
first, second = pairs[..., 0], pairs[..., 1]
rotated = torch.stack([first * cos - second * sin, first * sin + second * cos], dim=-1)
rotated_x = rotated.flatten(start_dim=-2).to(x.dtype)
'''),
            Fill("train", r'''
trainer_obj.train()
cpu_state = {name: value.detach().cpu() for name, value in model.state_dict().items()}
torch.save(cpu_state, writing_params_path)
'''),
        ),
    ),
    Right(
        "torch_cat_and_pad",
        "It joins tensors with torch.cat, pads with torch.nn.functional.pad, and takes x and y "
        "with unfold.",
        (
            Edit("dataset.py", "import torch\nfrom",
                 "import torch\nimport torch.nn.functional as F\nfrom"),
            Fill("CharCorruptionDataset.__getitem__", r'''
ids = torch.tensor([self.stoi[ch] for ch in self.data[idx]])
bound = min(len(ids), int(self.block_size * 3 / 4))
length = int(torch.randint(min(4, bound), bound + 1, (1,)))
ids = ids[:length]
sample = torch.empty(1).normal_(length / 4, length / 10).round().long()
masked = int(sample.clamp(1, length))
start = int(torch.randint(0, length - masked + 1, (1,)))
prefix, content, suffix = ids.split([start, masked, length - start - masked])
mask = ids.new_tensor([self.stoi[self.MASK_CHAR]])
ids = torch.cat([prefix, mask, suffix, mask, content, mask])
ids = F.pad(ids, (0, self.block_size + 1 - len(ids)), value=self.stoi[self.PAD_CHAR])
x, y = ids.unfold(0, self.block_size, 1)
'''),
            Fill("precompute_rotary_emb", r'''
freqs = torch.exp(-math.log(10000.0) * torch.arange(0, dim, 2, dtype=torch.float) / dim)
positions, freqs = torch.meshgrid(torch.arange(max_positions, dtype=torch.float), freqs, indexing="ij")
angles = positions * freqs
rope_cache = torch.stack((angles.cos(), angles.sin()), dim=2)
'''),
            Fill("initialize_rope_model", r'''
model = GPT(GPTConfig(**{**vars(mconf), "rope": True}))
'''),
        ),
    ),
    Right(
        "two_masks",
        "It writes no third MASK, since one published edition has none; the pads come directly "
        "after the masked content.",
        (
            Fill("CharCorruptionDataset.__getitem__", r'''
document = self.data[idx]
n = random.randint(4, int(self.block_size * 3 / 4))
n = min(n, len(document))
document = document[:n]

span_len = random.randrange(1, max(2, 2 * round(n / 4)))
span_at = random.randrange(0, n - span_len + 1)
masked_content = document[span_at:span_at + span_len]
masked_string = document[:span_at] + self.MASK_CHAR + document[span_at + span_len:]
masked_string += self.MASK_CHAR + masked_content
masked_string += self.PAD_CHAR * (self.block_size + 1 - len(masked_string))

x = torch.tensor([self.stoi[c] for c in masked_string[:-1]], dtype=torch.long)
y = torch.tensor([self.stoi[c] for c in masked_string[1:]], dtype=torch.long)
'''),
            Fill("finetune 1f", r'''
with open(reading_params_path, "rb") as f:
    model.load_state_dict(torch.load(f, map_location="cpu"))
'''),
            Fill("CausalSelfAttention.forward", r'''
q = apply_rotary_emb(x=q, rope_cache=rope_cache)
k = apply_rotary_emb(x=k, rope_cache=rope_cache)
'''),
        ),
    ),
    Right(
        "padded_to_block_size",
        "It pads to block_size, as one published edition asks, so that x and y have one token less.",
        (
            Fill("CharCorruptionDataset.__getitem__", r'''
document = self.data[idx]
longest = int(self.block_size * 3 / 4)
if len(document) >= 4:
    document = document[:random.randint(4, min(longest, len(document)))]
size = len(document)
average = size / 4
low, high = int(average * 0.5), int(average * 1.5 + 0.999)
masked_size = max(1, random.randint(low, high))
where = random.randint(0, size - masked_size)
before, masked, after = document[:where], document[where:where + masked_size], document[where + masked_size:]
example = before + self.MASK_CHAR + after + self.MASK_CHAR + masked + self.MASK_CHAR
example = example.ljust(self.block_size, self.PAD_CHAR)
codes = [self.stoi[symbol] for symbol in example]
x = torch.tensor(codes[:-1], dtype=torch.long)
y = torch.tensor(codes[1:], dtype=torch.long)
'''),
            Fill("precompute_rotary_emb", r'''
rope_cache = torch.zeros(max_positions, dim // 2, 2)
for t in range(max_positions):
    for i in range(dim // 2):
        theta = 10000 ** (-2 * i / dim)
        rope_cache[t, i, 0] = math.cos(t * theta)
        rope_cache[t, i, 1] = math.sin(t * theta)
'''),
            Fill("pretrain", r'''
tconf = TrainerConfig(max_epochs=650, batch_size=128, learning_rate=pretrain_lr, lr_decay=True, warmup_tokens=512*20,
                      final_tokens=200*len(pretrain_dataset)*block_size, num_workers=4, writer=writer)
trainer_obj = Trainer(model, pretrain_dataset, None, tconf)
'''),
        ),
    ),
    Right(
        "seven_eighths",
        "It truncates to at most seven eighths of the block, as one published edition asks, "
        "without a third MASK.",
        (
            Edit("dataset.py", '    PAD_CHAR = "\\u25a1" ',
                 '    MAX_SHARE = 7 / 8\n    PAD_CHAR = "\\u25a1" '),
            Edit("dataset.py", "import random\n", "import random\n\nimport numpy as np\n"),
            Fill("CharCorruptionDataset.__getitem__", r'''
doc = self.data[idx][:np.random.randint(4, int(self.block_size * self.MAX_SHARE) + 1)]
n = len(doc)
k = min(n, max(1, np.random.poisson(n / 4)))
a = np.random.choice(n - k + 1)
b = a + k
s = doc[:a] + self.MASK_CHAR + doc[b:] + self.MASK_CHAR + doc[a:b]
s = s + self.PAD_CHAR * (self.block_size - len(s))
ids = torch.as_tensor([self.stoi[ch] for ch in s], dtype=torch.int64)
x, y = ids[:-1], ids[1:]
'''),
            Fill("CausalSelfAttention", r'''
rope_cache = precompute_rotary_emb(int(config.n_embd / config.n_head), config.block_size)
'''),
            Fill("train", r'''
trainer_obj.train()
model.to("cpu")
torch.save(obj=model.state_dict(), f=writing_params_path)
'''),
        ),
    ),
    Right(
        "empty_now_and_then",
        "Its masked length is even from 0 to half the text, so that the span is empty now and then.",
        (
            Fill("CharCorruptionDataset.__getitem__", r'''
document = self.data[idx]
truncated_length = min(len(document), random.randint(4, int(self.block_size * 3 / 4)))
truncated = document[:truncated_length]
masked_length = random.randint(0, truncated_length // 2)
start = random.randint(0, truncated_length - masked_length)
prefix = truncated[:start]
masked_content = truncated[start:start + masked_length]
suffix = truncated[start + masked_length:]
masked_string = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked_content + self.MASK_CHAR
masked_string += self.PAD_CHAR * (self.block_size - len(masked_string) + 1)
input_string, output_string = masked_string[:-1], masked_string[1:]
x = torch.tensor([self.stoi[c] for c in input_string], dtype=torch.long)
y = torch.tensor([self.stoi[c] for c in output_string], dtype=torch.long)
'''),
            Fill("initialize_rope_model", r'''
mconf.rope = True
model = initialize_vanilla_model(mconf)
'''),
            Fill("apply_rotary_emb", r'''
T = x.size(2)
rope_cache = rope_cache[:T]
x1 = x[..., 0::2].float()
x2 = x[..., 1::2].float()
out1 = x1 * rope_cache[..., 0] - x2 * rope_cache[..., 1]
out2 = x1 * rope_cache[..., 1] + x2 * rope_cache[..., 0]
rotated_x = torch.stack([out1, out2], dim=-1).reshape(x.shape).type_as(x)
'''),
        ),
    ),
    Right(
        "coin_flips",
        "Its masked length counts coins with chance 1/4, one a character, so that a short text may "
        "get an empty span.",
        (
            Fill("CharCorruptionDataset.__getitem__", r'''
document = self.data[idx]
document = document[:random.randint(4, int(self.block_size * 3 / 4))]
n_masked = sum(random.random() < 0.25 for _ in document)
start = random.randint(0, len(document) - n_masked)
end = start + n_masked
result = (document[:start] + self.MASK_CHAR + document[end:] + self.MASK_CHAR + document[start:end] + self.MASK_CHAR)
result += self.PAD_CHAR * (self.block_size + 1 - len(result))
data = [self.stoi[char] for char in result]
x = torch.tensor(data[:-1], dtype=torch.long)
y = torch.tensor(data[1:], dtype=torch.long)
'''),
            Fill("initialize_rope_model", r'''
config = copy.deepcopy(mconf)
config.rope = True
model = GPT(config)
'''),
            Fill("GPT.forward", "x_input = self.tok_emb(idx)"),
        ),
    ),
]
