"""Ways in helper.py: how the Trainer is made, and weights are read and written."""

from right import read

RIGHT = read(r'''
=== all_settings: a list for a pair; the caller's config gets RoPE; weights loaded after Trainer()
--- pretrain
tconf = TrainerConfig(
    max_epochs=650,
    batch_size=128,
    learning_rate=pretrain_lr,
    betas=[0.9, 0.95],
    grad_norm_clip=1.0,
    weight_decay=0.1,
    lr_decay=True,
    warmup_tokens=10240,
    num_workers=4,
    ckpt_path=None,
    writer=writer,
    final_tokens=200 * len(pretrain_dataset) * block_size,
)
trainer_obj = Trainer(model=model, train_dataset=pretrain_dataset, test_dataset=None, config=tconf)
--- initialize_rope_model
mconf.rope = True
model = initialize_vanilla_model(mconf)
--- finetune 1f
pretrained = torch.load(reading_params_path, map_location="cpu", weights_only=True)
--- finetune 1d
with open(finetune_corpus_path, "r", encoding="utf-8") as f:
    corpus = f.read()
finetune_dataset = NameDataset(corpus, pretrain_dataset)
from_scratch = reading_params_path is None
tconf = TrainerConfig(
    max_epochs=75 if from_scratch else 10,
    batch_size=256,
    learning_rate=finetune_lr,
    lr_decay=True,
    warmup_tokens=512 * 20,
    final_tokens=200 * len(pretrain_dataset) * block_size,
    num_workers=4,
    writer=writer,
)
trainer_obj = Trainer(model, finetune_dataset, None, tconf)
if not from_scratch:
    trainer_obj.model.load_state_dict(pretrained)
=== config_set_field_by_field: fields are set afterwards; a GPTConfig from another's fields
--- initialize_rope_model
model = GPT(GPTConfig(**{**vars(mconf), "rope": True}))
--- finetune 1f
checkpoint = torch.load(reading_params_path, map_location=torch.device("cpu"), weights_only=False)
model.load_state_dict(checkpoint)
--- finetune 1d
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
--- pretrain
tconf = TrainerConfig(batch_size=128, learning_rate=pretrain_lr)
tconf.max_epochs = 650
tconf.lr_decay, tconf.warmup_tokens = True, 10240
tconf.final_tokens = tconf.max_epochs * len(pretrain_dataset) * block_size
tconf.writer = writer
trainer_obj = Trainer(model, pretrain_dataset, test_dataset=None, config=tconf)
--- train
trainer_obj.train()
model.to("cpu")
torch.save(obj=model.state_dict(), f=writing_params_path)
=== two_branches: a Trainer in either branch; weights to the model's device, and to an open file
--- finetune 1f
device = "cuda" if torch.cuda.is_available() else "cpu"
model.load_state_dict(torch.load(reading_params_path, map_location=device))
--- finetune 1d
dataset = NameDataset(open(finetune_corpus_path, encoding="utf-8").read(), pretrain_dataset)
if reading_params_path is None:
    tconf = TrainerConfig(
        max_epochs=75,
        batch_size=256,
        learning_rate=finetune_lr,
        lr_decay=True,
        warmup_tokens=512 * 20,
        final_tokens=200 * len(pretrain_dataset) * block_size,
        num_workers=4,
        writer=writer,
    )
    trainer_obj = Trainer(model, dataset, None, tconf)
else:
    tconf = TrainerConfig(
        max_epochs=10,
        batch_size=256,
        learning_rate=finetune_lr,
        lr_decay=True,
        warmup_tokens=512 * 20,
        final_tokens=200 * len(pretrain_dataset) * block_size,
        num_workers=4,
        writer=writer,
    )
    trainer_obj = Trainer(model, dataset, None, tconf)
--- train
trainer_obj.train()
with open(writing_params_path, "wb") as file:
    torch.save(trainer_obj.model.state_dict(), file)
=== pathlib_and_shared_settings: pathlib; a function has what all trainings share
--- helper.py: import copy
import copy
from pathlib import Path
--- helper.py: def initialize_vanilla_model(
def _settings(n_documents, block_size, epochs_of_decay):
    final_tokens = epochs_of_decay * n_documents * block_size
    return dict(lr_decay=True, warmup_tokens=512 * 20, final_tokens=final_tokens)


def initialize_vanilla_model(
--- finetune 1f
weights = torch.load(Path(reading_params_path), map_location="cpu")
missing, unexpected = model.load_state_dict(weights)
assert not missing and not unexpected
--- finetune 1d
rows = Path(finetune_corpus_path).read_text(encoding="utf-8")
tconf = TrainerConfig(
    max_epochs=10 if reading_params_path is not None else 75,
    batch_size=256,
    learning_rate=finetune_lr,
    writer=writer,
    **_settings(len(pretrain_dataset), block_size, 200),
)
trainer_obj = Trainer(model, NameDataset(rows, pretrain_dataset), None, tconf)
--- pretrain
tconf = TrainerConfig(max_epochs=650, batch_size=128, learning_rate=pretrain_lr, writer=writer,
                      **_settings(len(pretrain_dataset), block_size, 650))
trainer_obj = Trainer(model, pretrain_dataset, None, tconf)
--- train
trainer_obj.train()
path = Path(writing_params_path)
path.parent.mkdir(parents=True, exist_ok=True)
torch.save(model.state_dict(), path)
=== modules_from_the_package: `from . import`, and packages that are not needed
--- helper.py: from .dataset import CharCorruptionDataset, NameDataset
from collections import defaultdict

import numpy as np
from tqdm import tqdm

from . import dataset, model as model_module, trainer
from .dataset import CharCorruptionDataset
--- initialize_vanilla_model
model = model_module.GPT(config=mconf)
--- initialize_rope_model
rope_conf = model_module.GPTConfig(
    mconf.vocab_size,
    mconf.block_size,
    n_layer=mconf.n_layer,
    n_head=mconf.n_head,
    n_embd=mconf.n_embd,
    embd_pdrop=mconf.embd_pdrop,
    resid_pdrop=mconf.resid_pdrop,
    attn_pdrop=mconf.attn_pdrop,
    rope=True,
)
model = model_module.GPT(rope_conf)
--- finetune 1f
state_dict = torch.load(reading_params_path, map_location=lambda storage, location: storage)
model.load_state_dict(state_dict, strict=True)
--- finetune 1d
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
=== epochs_set_in_the_load_branch: epochs are decided where weights are read; places return
--- finetune 1f
max_epochs = 10
model.load_state_dict(state_dict=torch.load(f=reading_params_path, map_location="cpu"))
--- finetune 1d
if reading_params_path is None:
    max_epochs = 75
hyper = dict(max_epochs=max_epochs, batch_size=256, lr_decay=True, warmup_tokens=512 * 20)
hyper["learning_rate"] = finetune_lr
hyper["final_tokens"] = 200 * len(pretrain_dataset) * block_size
hyper["writer"] = writer
tconf = TrainerConfig(**hyper)
train_set = NameDataset(open(finetune_corpus_path, "rb").read().decode("utf-8"), pretrain_dataset)
return tconf, Trainer(model, train_set, None, tconf)
--- initialize_rope_model
class RopeConfig(GPTConfig):
    pass

new_conf = RopeConfig(mconf.vocab_size, mconf.block_size)
for name, value in vars(mconf).items():
    setattr(new_conf, name, value)
new_conf.rope = True
return GPT(new_conf)
=== rope_switched_on_and_back: the caller's config has rope for a while; a look at paths
--- helper.py: import copy
import copy
import os
--- initialize_rope_model
before = mconf.rope
try:
    mconf.rope = True
    model = GPT(copy.copy(mconf))
finally:
    mconf.rope = before
--- finetune 1f
if not os.path.exists(reading_params_path):
    raise FileNotFoundError(f"no such file: {reading_params_path}")
model.load_state_dict(torch.load(reading_params_path, map_location=next(model.parameters()).device))
--- train
trainer_obj.train()
raw_model = trainer_obj.model.module if hasattr(trainer_obj.model, "module") else trainer_obj.model
os.makedirs(os.path.dirname(os.path.abspath(writing_params_path)), exist_ok=True)
torch.save({k: v.cpu() for k, v in raw_model.state_dict().items()}, writing_params_path)
''')
