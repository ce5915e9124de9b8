"""Right submissions of students who each wrote every marked place in their own way."""
from instructor.mistakes.patches import Edit, Fill, Right

RIGHT = [
    Right(
        "typed_and_logged",
        "It has type hints, assertions and a logger in every marked place.",
        (
            Edit("dataset.py", "import argparse\n", "import argparse\nimport logging\n"),
            Edit("helper.py", "import copy\n", "import copy\nimport logging\n"),
            Fill("CharCorruptionDataset.__getitem__", r'''
logger: logging.Logger = logging.getLogger(__name__)
document: str = self.data[idx]
max_length: int = min(int(self.block_size * 3 / 4), len(document))
min_length: int = min(4, max_length)
truncated: str = document[:random.randint(min_length, max_length)]
assert min_length <= len(truncated) <= max_length

target: float = len(truncated) / 4
half_width: float = target / 2
masked_length: int = max(1, round(target + random.uniform(-half_width, half_width)))
assert 1 <= masked_length <= len(truncated)
start: int = random.randint(0, len(truncated) - masked_length)
stop: int = start + masked_length
text: str = (f"{truncated[:start]}{self.MASK_CHAR}{truncated[stop:]}{self.MASK_CHAR}"
             f"{truncated[start:stop]}{self.MASK_CHAR}").ljust(self.block_size + 1, self.PAD_CHAR)
logger.debug("document %d became %r", idx, text)
tokens: list[int] = [self.stoi[character] for character in text]
assert len(tokens) == self.block_size + 1
x: torch.Tensor = torch.tensor(tokens[:-1], dtype=torch.int64)
y: torch.Tensor = torch.tensor(tokens[1:], dtype=torch.int64)
'''),
            Fill("initialize_vanilla_model", r'''
assert not mconf.rope
model: GPT = GPT(mconf)
logging.getLogger(__name__).info("%d parameters", sum(p.numel() for p in model.parameters()))
'''),
            Fill("initialize_rope_model", r'''
conf: GPTConfig = copy.deepcopy(mconf)
conf.rope = True
model: GPT = GPT(conf)
assert not hasattr(model, "pos_emb")
'''),
            Fill("finetune 1f", r'''
state: dict[str, torch.Tensor] = torch.load(reading_params_path, map_location=torch.device("cpu"), weights_only=True)
assert set(state) == set(model.state_dict())
logging.info("loaded %s", model.load_state_dict(state))
'''),
            Fill("finetune 1d", r'''
with open(finetune_corpus_path, "r", encoding="utf-8") as stream:
    finetune_dataset: NameDataset = NameDataset(stream.read(), pretrain_dataset)
epochs: int = 75 if reading_params_path is None else 10
tconf: TrainerConfig = TrainerConfig(
    max_epochs=epochs, batch_size=256, learning_rate=finetune_lr, lr_decay=True, warmup_tokens=512 * 20,
    final_tokens=200 * len(pretrain_dataset) * block_size, num_workers=0, writer=writer)
trainer_obj: Trainer = Trainer(model, finetune_dataset, None, tconf)
'''),
            Fill("train", r'''
logging.warning("training begins")
trainer_obj.train()
torch.save(model.state_dict(), writing_params_path)
'''),
            Fill("precompute_rotary_emb", r'''
i: torch.Tensor = torch.arange(0, dim, 2, dtype=torch.float32)
t: torch.Tensor = torch.arange(max_positions, dtype=torch.float32)
angles: torch.Tensor = torch.outer(t, 10000 ** (-i / dim))
rope_cache: torch.Tensor = torch.stack([angles.cos(), angles.sin()], dim=-1)
assert rope_cache.shape == (max_positions, dim // 2, 2)
'''),
            Fill("apply_rotary_emb", r'''
T: int = x.shape[-2]
assert T <= rope_cache.shape[0], "the table is too short"
assert x.shape[-1] == 2 * rope_cache.shape[1], "the table is for another width"
cos: torch.Tensor = rope_cache[:T, :, 0].to(x)
sin: torch.Tensor = rope_cache[:T, :, 1].to(x)
real, imag = x.reshape(*x.shape[:-1], -1, 2).unbind(-1)
rotated_x: torch.Tensor = torch.stack([real * cos - imag * sin, real * sin + imag * cos], dim=-1).flatten(-2, -1)
assert rotated_x.shape == x.shape and rotated_x.dtype == x.dtype
'''),
        ),
    ),
    Right(
        "very_chatty",
        "It prints what it does in each call of everything, whole examples and shapes included.",
        (
            Fill("CharCorruptionDataset.__getitem__", r'''
print("=" * 20, "getitem", idx, "=" * 20)
document = self.data[idx]
length = min(len(document), random.randint(4, int(self.block_size * 3 / 4)))
document = document[:length]
print("truncated to", length, ":", document)
masked_length = min(max(1, int(random.gauss(length / 4, length / 16) + 0.5)), length)
start = random.randint(0, length - masked_length)
prefix = document[:start]
masked_content = document[start:start + masked_length]
suffix = document[start + masked_length:]
print("prefix:", repr(prefix), "masked_content:", repr(masked_content), "suffix:", repr(suffix))
masked_string = prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked_content + self.MASK_CHAR
masked_string += self.PAD_CHAR * (self.block_size + 1 - len(masked_string))
x = torch.tensor([self.stoi[c] for c in masked_string[:-1]], dtype=torch.long)
y = torch.tensor([self.stoi[c] for c in masked_string[1:]], dtype=torch.long)
print("x:", x)
print("shapes:", x.shape, y.shape)
'''),
            Fill("initialize_vanilla_model", r'''
print("making a vanilla model", vars(mconf))
model = GPT(mconf)
print(model)
'''),
            Fill("initialize_rope_model", r'''
print("making a RoPE model", vars(mconf))
mconf.rope = True
model = GPT(mconf)
print(model)
'''),
            Fill("finetune 1f", r'''
print("loading", reading_params_path)
params = torch.load(reading_params_path, map_location="cpu")
print({name: tuple(value.shape) for name, value in params.items()})
print(model.load_state_dict(params))
'''),
            Fill("finetune 1d", r'''
print("finetune", reading_params_path, finetune_corpus_path, block_size, finetune_lr)
corpus = open(finetune_corpus_path, encoding="utf-8").read()
print(corpus[:500])
if reading_params_path is None:
    print("no pretrained weights: 75 epochs")
    epochs = 75
else:
    print("pretrained weights: 10 epochs")
    epochs = 10
tconf = TrainerConfig(max_epochs=epochs, batch_size=256, learning_rate=finetune_lr, lr_decay=True, warmup_tokens=512*20,
                      final_tokens=200*len(pretrain_dataset)*block_size, num_workers=4, writer=writer)
print(vars(tconf))
trainer_obj = Trainer(model, NameDataset(corpus, pretrain_dataset), None, tconf)
'''),
            Fill("pretrain", r'''
print("pretrain", len(pretrain_dataset), block_size, pretrain_lr)
tconf = TrainerConfig(max_epochs=650, batch_size=128, learning_rate=pretrain_lr, lr_decay=True, warmup_tokens=512*20,
                      final_tokens=200*len(pretrain_dataset)*block_size, num_workers=4, writer=writer)
print(vars(tconf))
trainer_obj = Trainer(model, pretrain_dataset, None, tconf)
'''),
            Fill("train", r'''
print("before:", next(model.parameters()))
trainer_obj.train()
print("after:", next(model.parameters()))
torch.save(model.state_dict(), writing_params_path)
print("saved to", writing_params_path)
'''),
            Fill("precompute_rotary_emb", r'''
print("precompute_rotary_emb", dim, max_positions)
theta = 1 / (10000 ** (torch.arange(0, dim, 2).float() / dim))
print("theta", theta)
m_theta = torch.einsum("i,j->ij", torch.arange(max_positions).float(), theta)
rope_cache = torch.stack((m_theta.cos(), m_theta.sin()), dim=-1)
print("rope_cache", rope_cache.shape, rope_cache)
'''),
            Fill("apply_rotary_emb", r'''
print("x", x.shape, x.dtype, "rope_cache", rope_cache.shape)
T = x.size(2)
cos = rope_cache[:T, :, 0]
sin = rope_cache[:T, :, 1]
even = x[..., 0::2] * cos - x[..., 1::2] * sin
odd = x[..., 0::2] * sin + x[..., 1::2] * cos
print("even", even.shape, "odd", odd.shape)
rotated_x = torch.stack((even, odd), dim=-1).reshape(x.shape).to(x.dtype)
print("rotated_x", rotated_x.shape, rotated_x)
'''),
            Fill("GPT.forward", r'''
print("no position embeddings:", token_embeddings.shape)
x_input = token_embeddings
'''),
        ),
    ),
    Right(
        "comments_in_german",
        "Its comments and names are German, with letters beyond ASCII.",
        (
            Fill("CharCorruptionDataset.__getitem__", r'''
# Schritt 1: auf eine zufällige Länge kürzen
dokument = self.data[idx]
höchstlänge = min(len(dokument), int(self.block_size * 3 / 4))
länge = höchstlänge if höchstlänge <= 4 else random.randrange(4, höchstlänge + 1)
# Schritt 2: die Lücke wählen, im Mittel ein Viertel
lückenlänge = random.randint(1, max(1, länge // 2 - 1))
anfang = random.randint(0, länge - lückenlänge)
ende = anfang + lückenlänge
# Schritt 3: umstellen und auffüllen
zeichen = list(dokument[:anfang]) + [self.MASK_CHAR] + list(dokument[ende:länge]) + [self.MASK_CHAR]
zeichen += list(dokument[anfang:ende]) + [self.MASK_CHAR]
zeichen += [self.PAD_CHAR] * (self.block_size + 1 - len(zeichen))
# Schritt 4: Zahlen daraus machen
zahlen = torch.tensor([self.stoi[z] for z in zeichen])
x, y = zahlen[:-1], zahlen[1:]
'''),
            Fill("initialize_vanilla_model", "model = GPT(mconf)     # ohne RoPE"),
            Fill("initialize_rope_model", r'''
# Eine Kopie, damit das Original unverändert bleibt
einstellungen = copy.copy(mconf)
setattr(einstellungen, "rope", True)
model = GPT(einstellungen)
'''),
            Fill("finetune 1f", r'''
gewichte = torch.load(reading_params_path, map_location=lambda speicher, ort: speicher)
model.load_state_dict(gewichte)
'''),
            Fill("finetune 1d", r'''
with open(finetune_corpus_path, encoding="utf-8") as datei:
    fragen = NameDataset(datei.read(), pretrain_dataset)
durchgänge = 75
if reading_params_path:
    durchgänge = 10     # die Gewichte sind schon gut
tconf = TrainerConfig(max_epochs=durchgänge, batch_size=256, learning_rate=finetune_lr, lr_decay=True,
                      warmup_tokens=512 * 20, final_tokens=200 * len(pretrain_dataset) * block_size, writer=writer)
trainer_obj = Trainer(model, fragen, None, tconf)
'''),
            Fill("train", r'''
trainer_obj.train()
with open(writing_params_path, mode="wb") as datei:
    torch.save(trainer_obj.model.state_dict(), datei)
'''),
            Fill("precompute_rotary_emb", r'''
# Winkel = Stelle mal Geschwindigkeit
geschwindigkeit = 10000.0 ** (torch.arange(0, dim, 2, dtype=torch.float64) / -dim)
stelle = torch.arange(max_positions, dtype=torch.float64)
winkel = stelle.unsqueeze(-1) * geschwindigkeit
rope_cache = torch.stack((torch.cos(winkel), torch.sin(winkel)), dim=-1).to(torch.float32)
'''),
            Fill("apply_rotary_emb", r'''
# Drehung in der komplexen Ebene; bfloat16 gibt es dort nicht
genau = x.double() if x.dtype == torch.float64 else x.float()
komplex = torch.view_as_complex(genau.unflatten(-1, (-1, 2)).contiguous())
drehung = torch.view_as_complex(rope_cache[:x.size(-2)].to(genau.dtype).contiguous())
rotated_x = torch.view_as_real(komplex * drehung).flatten(-2).to(x.dtype)
'''),
        ),
    ),
]
