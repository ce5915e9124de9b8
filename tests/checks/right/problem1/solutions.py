"""Right submissions of students who log, print, or write German."""
from instructor.mistakes.noops import BODIES
from instructor.mistakes.patches import PLACES, Edit, Fill, Right

GETITEM = "CharCorruptionDataset.__getitem__"
OF_PROBLEM_1 = {place: name for name, place in PLACES.items() if place.question[0] == "1"}

RIGHT = [
    Right("prints_everything", "The solution prints its variables in each call.", tuple(
        Fill(name, f"print({name!r}, locals())\n{BODIES[place]}")
        for place, name in OF_PROBLEM_1.items())),
    Right("typed_and_logged", "Type hints, assertions and a logger.", (
        Edit("dataset.py", "import argparse\n", "import argparse\nimport logging\n"),
        Edit("helper.py", "import copy\n", "import copy\nimport logging\n"),
        Fill(GETITEM, r'''
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
x: torch.Tensor = torch.tensor(tokens[:-1], dtype=torch.int64)
y: torch.Tensor = torch.tensor(tokens[1:], dtype=torch.int64)
'''),
        Fill("initialize_vanilla_model", r'''
assert not mconf.rope
model: GPT = GPT(mconf)
logging.getLogger(__name__).info("%d parameters", sum(p.numel() for p in model.parameters()))
'''),
        Fill("finetune 1f", r'''
state: dict[str, torch.Tensor] = torch.load(reading_params_path, map_location=torch.device("cpu"), weights_only=True)
assert set(state) == set(model.state_dict())
logging.info("loaded %s", model.load_state_dict(state))
'''),
        Fill("train", r'''
logging.warning("training begins")
trainer_obj.train()
torch.save(model.state_dict(), writing_params_path)
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
    )),
    Right("names_in_german", "Comments and names have letters beyond ASCII.", (Fill(GETITEM, r'''
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
zahlen = torch.tensor([self.stoi[z] for z in zeichen])
x, y = zahlen[:-1], zahlen[1:]
'''),)),
]
