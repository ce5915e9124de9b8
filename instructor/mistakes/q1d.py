"""Wrong vanilla models, finetuning and saving, and given code that was spoiled while working on it
(question 1d).
"""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

VANILLA, ARGUMENTS = ("1d-0-hidden", "1d-4-basic"), ("1d-2-hidden", "1d-5-basic")
SETTINGS, BOTH, TRAIN = ("1d-1-basic",), ("1d-1-basic", "1f-3-basic"), ("1d-3-basic",)
FINETUNE = {"max_epochs": "75 if reading_params_path is None else 10", "batch_size": "256",
            "learning_rate": "finetune_lr",
            "lr_decay": "True", "warmup_tokens": "512 * 20",
            "final_tokens": "200 * len(pretrain_dataset) * block_size",
            "writer": "writer"}
CHANGED_COPY = "conf = copy.copy(mconf)\nconf.{}\nmodel = GPT(conf)"


def model(code: str) -> tuple[Fill]:
    """A body of initialize_vanilla_model."""
    return (Fill("initialize_vanilla_model", code),)


def finetune(text: str = "file.read()", dataset: str = "NameDataset(text, pretrain_dataset)",
             trainer: str = "Trainer(model, finetune_dataset, None, tconf)", after: str = "",
             **fields: str | None) -> Fill:
    """A right body of finetune with some of its expressions replaced; a field that is None is left
    out.
    """
    return Fill("finetune 1d", f"""
with open(finetune_corpus_path, encoding="utf-8") as file:
    text = {text}
finetune_dataset = {dataset}
tconf = {config(FINETUNE | fields)}
trainer_obj = {trainer}
{after}""")


def config(fields):
    """The call of TrainerConfig."""
    return "TrainerConfig(" + ", ".join(f"{name}={value}" for name, value in fields.items()
                                        if value is not None) + ")"


def save(what: str, where: str = "writing_params_path") -> Fill:
    """Train, then save `what` to `where`."""
    return Fill("train", f"trainer_obj.train()\ntorch.save({what}, {where})")


MISTAKES = [
    # the vanilla model
    misconception("vanilla-with-rope", "The vanilla model is made with RoPE.",
         model(CHANGED_COPY.format("rope = True")), VANILLA),
    misconception("vanilla-one-head", "The model has a single head, which its weights don't show.",
         model(CHANGED_COPY.format("n_head = 1")), VANILLA),
    slip("vanilla-half-precision", "The model is turned into half precision.",
         model("model = GPT(mconf).half()"), VANILLA),
    misconception("vanilla-layers-shared",
         "All layers are the same object and so share their weights.",
         model("model = GPT(mconf)\nfor i in range(mconf.n_layer):\n"
               "    model.blocks[i] = model.blocks[0]"), VANILLA),
    slip("vanilla-same-each-time",
         "The first model that was made is returned at every later call, whatever its sizes.",
         model("if not hasattr(initialize_vanilla_model, 'made'):\n"
               "    initialize_vanilla_model.made = GPT(mconf)\n"
               "model = initialize_vanilla_model.made"), VANILLA),
    # given code that was spoiled while working on it: attention
    slip("attention-sees-the-next",
         "The mask is off by one, so that a position sees the character that it should predict.",
         (Edit("attention.py", "config.block_size).tril()", "config.block_size).tril(1)"),),
         VANILLA),
    misconception("attention-not-scaled", "The scores are not divided by the root of head_dim.",
         (Edit("attention.py", "(q @ k.transpose(-2, -1)) / math.sqrt(head_dim)",
               "q @ k.transpose(-2, -1)"),), VANILLA),
    misconception("attention-dropout-in-evaluation",
         "Attention weights are dropped in evaluation, too.",
         (Edit("attention.py", "self.attn_drop(F.softmax(att, dim=-1))",
               "F.dropout(F.softmax(att, dim=-1), 0.1)"),), VANILLA),
    # the model around it
    slip("model-loss-counts-pads", "The loss counts the padding, since ignore_index is missing.",
         (Edit("model.py", "targets.reshape(-1), ignore_index=0\n            )",
               "targets.reshape(-1))"),), VANILLA),
    misconception("model-without-positions",
         "The position embeddings are not added in the vanilla model.",
         (Edit("model.py", "token_embeddings + self.pos_emb[:, start : start + T, :]",
               "token_embeddings"),), (*VANILLA, "1h-7-hidden")),
    slip("model-relu", "The MLP has ReLU instead of GELU.",
         (Edit("model.py", "nn.GELU()", "nn.ReLU()"),), VANILLA),
    # questions
    misconception("questions-in-the-loss", "y holds the question too, so that the loss counts it.",
         (Edit("dataset.py", "y = self.PAD_CHAR * len(question) + text[len(question) + 1 :]",
               "y = text[1:]"),), ARGUMENTS),
    slip("questions-without-end",
         "No MASK stands after the place, so that the model never learns to stop.",
         (Edit("dataset.py", "+ place + self.MASK_CHAR\n", "+ place\n"),), ARGUMENTS),
    # finetune: hyperparameters
    slip("finetune-epochs-inverted",
         "The condition is the wrong way round: 75 epochs with pretrained weights, 10 without.",
         (finetune(max_epochs="10 if reading_params_path is None else 75"),), BOTH),
    slip("finetune-batch-128", "Finetuning gets the batch size of pretraining.",
         (finetune(batch_size="128"),), BOTH),
    slip("finetune-no-decay", "lr_decay is left out, so that the learning rate stays constant.",
         (finetune(lr_decay=None),), BOTH),
    slip("finetune-warmup-512", "The warm-up counts 512 tokens, without the factor 20.",
         (finetune(warmup_tokens="512"),), SETTINGS),
    slip("finetune-final-tokens-other-corpus",
         "final_tokens counts the rows of the finetuning corpus.",
         (finetune(final_tokens="200 * len(finetune_dataset) * block_size"),), SETTINGS),
    edge("finetune-block-size-of-dataset",
         "final_tokens has the block size of the dataset in place of the argument.",
         (finetune(final_tokens="200 * len(pretrain_dataset) * pretrain_dataset.block_size"),),
         ("1d-1-basic", "1d-2-hidden")),
    edge("finetune-writer-dropped", "The writer is not passed on, so that nothing is logged.",
         (finetune(writer=None),), BOTH),
    edge("finetune-extra-field", "A checkpoint is asked for, which the job decides.",
         (finetune(ckpt_path='"finetune.ckpt"'),), BOTH),
    slip("finetune-trainer-without-config",
         "The config that is returned is right, but the Trainer has one with defaults.",
         (finetune(trainer="Trainer(model, finetune_dataset, None, TrainerConfig())"),), SETTINGS),
    slip("finetune-returns-swapped", "The Trainer is returned first and the config second.",
         (finetune(after="return trainer_obj, tconf"),), SETTINGS),
    slip("finetune-default-rate",
         "The default learning rate of finetune was changed to that of pretrain.",
         (Edit("helper.py", "finetune_lr: float = 6e-4", "finetune_lr: float = 6e-3"),), SETTINGS),
    # finetune: its arguments
    slip("finetune-rate-fixed",
         "The learning rate is written down as 6e-4 instead of the one passed in.",
         (finetune(learning_rate="6e-4"),), ARGUMENTS),
    slip("finetune-block-size-fixed",
         "final_tokens is computed with block size 128 instead of the one passed in.",
         (finetune(final_tokens="200 * len(pretrain_dataset) * 128"),),
         ("1d-2-hidden", "1d-1-basic")),
    slip("finetune-first-line", "Only the first line of the file is read.",
         (finetune(text="file.readline()"),), ARGUMENTS),
    misconception("finetune-own-vocabulary",
         "The vocabulary is made from the questions instead of the pretraining corpus.",
         (finetune(dataset="NameDataset(text, CharCorruptionDataset(text, block_size))"),),
         ARGUMENTS),
    misconception("finetune-copied-model",
         "The Trainer gets a copy of the model, so that the model itself is never trained.",
         (finetune(trainer="Trainer(copy.deepcopy(model), finetune_dataset, None, tconf)"),),
         ("1d-2-hidden", "1f-3-basic")),
    # train
    misconception("train-mode-only",
         "model.train() is called, which trains nothing, instead of trainer_obj.train().",
         (Fill("train", "model.train()\ntorch.save(model.state_dict(), writing_params_path)"),),
         TRAIN),
    misconception("train-saves-before", "The weights are saved before the training.",
         (Fill("train",
               "torch.save(model.state_dict(), writing_params_path)\ntrainer_obj.train()"),),
         TRAIN),
    misconception("train-copied-model",
         "A copy of the model is trained and the model itself is saved.",
         (Fill("train", "trainer_obj.model = copy.deepcopy(model)\ntrainer_obj.train()\n"
                        "torch.save(model.state_dict(), writing_params_path)"),), TRAIN),
    slip("train-twice", "The training runs twice.",
         (Fill("train", "trainer_obj.train()\ntrainer_obj.train()\n"
                        "torch.save(model.state_dict(), writing_params_path)"),), TRAIN),
    slip("train-saves-nothing", "The weights are not saved.",
         (Fill("train", "trainer_obj.train()"),), TRAIN),
    # what it saves
    slip("save-model", "The whole model is pickled instead of its state_dict.", (save("model"),),
         TRAIN),
    slip("save-without-buffers", "Only the parameters are saved, so that the buffers are missing.",
         (save("dict(model.named_parameters())"),), TRAIN),
    slip("save-half", "The weights are rounded to half precision before they are saved.",
         (save("model.half().state_dict()"),), TRAIN),
    slip("save-other-ending", "An ending is added to the path that was asked for.",
         (save("model.state_dict()", 'writing_params_path + ".pt"'),), TRAIN),
]
