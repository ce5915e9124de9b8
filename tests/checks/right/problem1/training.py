"""Right submissions that go their own way in helper.py: how the Trainer is made, and how weights
are read and written.
"""
from instructor.mistakes.patches import Edit, Fill, Right

RIGHT = [
    Right(
        "loaded_after_the_trainer",
        "It reads the pretrained weights first, and puts them into the model when the Trainer "
        "already holds it.",
        (
            Fill("finetune 1f", r'''
pretrained = torch.load(reading_params_path, map_location="cpu", weights_only=True)
'''),
            Fill("finetune 1d", r'''
with open(finetune_corpus_path, "r", encoding="utf-8") as f:
    corpus = f.read()
finetune_dataset = NameDataset(corpus, pretrain_dataset)
from_scratch = reading_params_path is None
tconf = TrainerConfig(max_epochs=75 if from_scratch else 10, batch_size=256, learning_rate=finetune_lr, lr_decay=True,
                      warmup_tokens=512 * 20, final_tokens=200 * len(pretrain_dataset) * block_size, num_workers=4,
                      writer=writer)
trainer_obj = Trainer(model, finetune_dataset, None, tconf)
if not from_scratch:
    trainer_obj.model.load_state_dict(pretrained)
'''),
            Fill("CharCorruptionDataset.__getitem__", r'''
document = self.data[idx]
n = random.randint(min(len(document), 4), min(len(document), int(0.75 * self.block_size)))
m = max(1, int(random.random() * n / 2 + 0.5))
i = int(random.random() * (n - m + 1))
s = document[:i] + self.MASK_CHAR + document[i + m:n] + self.MASK_CHAR + document[i:i + m] + self.MASK_CHAR
s = s.ljust(1 + self.block_size, self.PAD_CHAR)
x = torch.tensor([self.stoi[c] for c in s])[:-1]
y = torch.tensor([self.stoi[c] for c in s])[1:]
'''),
        ),
    ),
    Right(
        "config_set_field_by_field",
        "It makes one TrainerConfig in each function and sets its fields afterwards, in the branch "
        "where they differ.",
        (
            Fill("finetune 1f", r'''
checkpoint = torch.load(reading_params_path, map_location=torch.device("cpu"), weights_only=False)
model.load_state_dict(checkpoint)
'''),
            Fill("finetune 1d", r'''
tconf = TrainerConfig()
tconf.batch_size = 256
tconf.learning_rate = finetune_lr
tconf.lr_decay = True
tconf.warmup_tokens = 512 * 20
tconf.final_tokens = 200 * len(pretrain_dataset) * block_size
tconf.writer = writer
tconf.num_workers = 0
if reading_params_path is None:
    tconf.max_epochs = 75
else:
    tconf.max_epochs = 10
data = open(finetune_corpus_path).read()
trainer_obj = Trainer(model, NameDataset(data, pretrain_dataset), None, tconf)
'''),
            Fill("pretrain", r'''
tconf = TrainerConfig(batch_size=128, learning_rate=pretrain_lr)
tconf.max_epochs = 650
tconf.lr_decay, tconf.warmup_tokens = True, 10240
tconf.final_tokens = tconf.max_epochs * len(pretrain_dataset) * block_size
tconf.writer = writer
trainer_obj = Trainer(model, pretrain_dataset, test_dataset=None, config=tconf)
'''),
            Fill("apply_rotary_emb", r'''
B, H, T, D = x.shape
positions = torch.arange(T, device=rope_cache.device)
table = torch.index_select(rope_cache, 0, positions).to(x.dtype)
pairs = x.reshape(B, H, T, D // 2, 2)
cos, sin = table[:, :, 0], table[:, :, 1]
rotated_x = torch.zeros_like(pairs)
rotated_x[..., 0] = pairs[..., 0] * cos - pairs[..., 1] * sin
rotated_x[..., 1] = pairs[..., 0] * sin + pairs[..., 1] * cos
rotated_x = rotated_x.reshape(B, H, T, D)
'''),
        ),
    ),
    Right(
        "two_branches",
        "It writes a whole TrainerConfig and Trainer in either branch.",
        (
            Fill("finetune 1f", r'''
device = "cuda" if torch.cuda.is_available() else "cpu"
model.load_state_dict(torch.load(reading_params_path, map_location=device))
'''),
            Fill("finetune 1d", r'''
dataset = NameDataset(open(finetune_corpus_path, encoding="utf-8").read(), pretrain_dataset)
if reading_params_path is None:
    tconf = TrainerConfig(max_epochs=75, batch_size=256, learning_rate=finetune_lr, lr_decay=True, warmup_tokens=512*20,
                          final_tokens=200*len(pretrain_dataset)*block_size, num_workers=4, writer=writer)
    trainer_obj = Trainer(model, dataset, None, tconf)
else:
    tconf = TrainerConfig(max_epochs=10, batch_size=256, learning_rate=finetune_lr, lr_decay=True, warmup_tokens=512*20,
                          final_tokens=200*len(pretrain_dataset)*block_size, num_workers=4, writer=writer)
    trainer_obj = Trainer(model, dataset, None, tconf)
'''),
            Fill("pretrain", r'''
tconf = TrainerConfig(max_epochs=650, batch_size=128, learning_rate=pretrain_lr, lr_decay=True, warmup_tokens=512*20,
                      final_tokens=200*len(pretrain_dataset)*block_size, num_workers=4, writer=writer)
trainer_obj = Trainer(model, pretrain_dataset, None, tconf)
'''),
            Fill("precompute_rotary_emb", r'''
theta = 1.0 / torch.pow(torch.tensor(10000.0), torch.arange(0, dim, 2) / dim)
t_theta = torch.arange(max_positions).unsqueeze(1) * theta.unsqueeze(0)
cos = torch.cos(t_theta)
sin = torch.sin(t_theta)
rope_cache = torch.cat([cos.unsqueeze(-1), sin.unsqueeze(-1)], dim=-1)
'''),
        ),
    ),
    Right(
        "pathlib_and_shared_settings",
        "It reads files with pathlib and keeps the hyperparameters that all trainings share in one "
        "function of its own.",
        (
            Edit("helper.py", "import copy\n", "import copy\nfrom pathlib import Path\n"),
            Edit("helper.py", "def initialize_vanilla_model(", r'''def _settings(n_documents, block_size, epochs_of_decay):
    return dict(lr_decay=True, warmup_tokens=512 * 20, final_tokens=epochs_of_decay * n_documents * block_size)


def initialize_vanilla_model('''),
            Fill("finetune 1f", r'''
weights = torch.load(Path(reading_params_path), map_location="cpu")
missing, unexpected = model.load_state_dict(weights)
assert not missing and not unexpected
'''),
            Fill("finetune 1d", r'''
rows = Path(finetune_corpus_path).read_text(encoding="utf-8")
tconf = TrainerConfig(max_epochs=10 if reading_params_path is not None else 75, batch_size=256, learning_rate=finetune_lr,
                      writer=writer, **_settings(len(pretrain_dataset), block_size, 200))
trainer_obj = Trainer(model, NameDataset(rows, pretrain_dataset), None, tconf)
'''),
            Fill("pretrain", r'''
tconf = TrainerConfig(max_epochs=650, batch_size=128, learning_rate=pretrain_lr, writer=writer,
                      **_settings(len(pretrain_dataset), block_size, 650))
trainer_obj = Trainer(model, pretrain_dataset, None, tconf)
'''),
            Fill("train", r'''
trainer_obj.train()
path = Path(writing_params_path)
path.parent.mkdir(parents=True, exist_ok=True)
torch.save(model.state_dict(), path)
'''),
        ),
    ),
    Right(
        "modules_from_the_package",
        "It imports whole modules with `from . import`, and many packages that it does not need.",
        (
            Edit("helper.py", "from .dataset import CharCorruptionDataset, NameDataset\n"
                              "from .model import GPT, GPTConfig\n"
                 "from .trainer import Trainer, TrainerConfig\n", r'''import math
from collections import defaultdict

import numpy as np
from torch.utils.data import DataLoader
from tqdm import tqdm

from . import dataset, model as model_module, trainer
from .dataset import CharCorruptionDataset
from .model import GPT, GPTConfig
from .trainer import Trainer, TrainerConfig
'''),
            Fill("initialize_vanilla_model", "model = model_module.GPT(mconf)"),
            Fill("initialize_rope_model", r'''
rope_conf = model_module.GPTConfig(mconf.vocab_size, mconf.block_size, n_layer=mconf.n_layer, n_head=mconf.n_head,
                                   n_embd=mconf.n_embd, embd_pdrop=mconf.embd_pdrop, resid_pdrop=mconf.resid_pdrop,
                                   attn_pdrop=mconf.attn_pdrop, rope=True)
model = model_module.GPT(rope_conf)
'''),
            Fill("finetune 1d", r'''
with open(finetune_corpus_path, mode="rt", encoding="utf8") as handle:
    questions = dataset.NameDataset(data=handle.read(), pretraining_dataset=pretrain_dataset)
tconf = trainer.TrainerConfig(
    max_epochs={True: 75, False: 10}[reading_params_path is None],
    batch_size=256,
    learning_rate=finetune_lr,
    lr_decay=True,
    warmup_tokens=512 * 20,
    final_tokens=200 * len(pretrain_dataset) * block_size,
    writer=writer,
)
trainer_obj = trainer.Trainer(model=model, train_dataset=questions, test_dataset=None, config=tconf)
'''),
            Fill("pretrain", r'''
tconf = trainer.TrainerConfig(
    max_epochs=650,
    batch_size=128,
    learning_rate=pretrain_lr,
    lr_decay=True,
    warmup_tokens=512 * 20,
    final_tokens=650 * len(pretrain_dataset) * block_size,
    writer=writer,
)
trainer_obj = trainer.Trainer(model=model, train_dataset=pretrain_dataset, test_dataset=None, config=tconf)
'''),
            Fill("train", r'''
trainer_obj.train()
state = model.state_dict()
for key in state:
    state[key] = state[key].cpu()
torch.save(state, writing_params_path)
'''),
        ),
    ),
    Right(
        "epochs_set_in_the_load_branch",
        "It decides the number of epochs where it loads the weights, and returns from inside the "
        "marked place.",
        (
            Fill("finetune 1f", r'''
max_epochs = 10
model.load_state_dict(state_dict=torch.load(f=reading_params_path, map_location="cpu"))
'''),
            Fill("finetune 1d", r'''
if reading_params_path is None:
    max_epochs = 75
hyper = dict(max_epochs=max_epochs, batch_size=256, lr_decay=True, warmup_tokens=512 * 20)
hyper["learning_rate"] = finetune_lr
hyper["final_tokens"] = 200 * len(pretrain_dataset) * block_size
hyper["writer"] = writer
tconf = TrainerConfig(**hyper)
train_set = NameDataset(open(finetune_corpus_path, "rb").read().decode("utf-8"), pretrain_dataset)
return tconf, Trainer(model, train_set, None, tconf)
'''),
            Fill("initialize_vanilla_model", "return GPT(mconf)"),
            Fill("initialize_rope_model", r'''
class RopeConfig(GPTConfig):
    pass

new_conf = RopeConfig(mconf.vocab_size, mconf.block_size)
for name, value in vars(mconf).items():
    setattr(new_conf, name, value)
new_conf.rope = True
return GPT(new_conf)
'''),
            Fill("CharCorruptionDataset.__getitem__", r'''
document = self.data[idx][:torch.randint(low=4, high=self.block_size * 3 // 4 + 1, size=[1])[0]]
n = len(document)
weights = torch.ones(max(1, n // 2 - 1))
m = 1 + int(torch.multinomial(weights, 1))
i = int(torch.randperm(n - m + 1)[0])
parts = (document[:i], document[i + m:], document[i:i + m])
text = "".join(part + self.MASK_CHAR for part in parts)
padded = text + self.PAD_CHAR * self.block_size
ids = [self.stoi[ch] for ch in padded[:self.block_size + 1]]
return torch.tensor(ids[:-1], dtype=torch.long), torch.tensor(ids[1:], dtype=torch.long)
'''),
        ),
    ),
    Right(
        "rope_switched_on_and_back",
        "It switches rope on in the caller's config while it makes the model, and back afterwards.",
        (
            Edit("helper.py", "import copy\n", "import copy\nimport os\n"),
            Fill("initialize_rope_model", r'''
before = mconf.rope
try:
    mconf.rope = True
    model = GPT(copy.copy(mconf))
finally:
    mconf.rope = before
'''),
            Fill("finetune 1f", r'''
if not os.path.exists(reading_params_path):
    raise FileNotFoundError(f"no such file: {reading_params_path}")
model.load_state_dict(torch.load(reading_params_path, map_location=next(model.parameters()).device))
'''),
            Fill("train", r'''
trainer_obj.train()
raw_model = trainer_obj.model.module if hasattr(trainer_obj.model, "module") else trainer_obj.model
os.makedirs(os.path.dirname(os.path.abspath(writing_params_path)), exist_ok=True)
torch.save({k: v.cpu() for k, v in raw_model.state_dict().items()}, writing_params_path)
'''),
            Fill("CausalSelfAttention.forward", r'''
rotated = []
for heads in (q, k):
    rotated.append(apply_rotary_emb(heads, rope_cache))
q, k = rotated
'''),
        ),
    ),
]
