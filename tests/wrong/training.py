"""Wrong hyperparameters, learning rates, datasets and models in finetune and pretrain (questions 1d and 1f).

Loading and saving weights is in weights.py, the vanilla model and the code that was given in vanilla.py.
"""
from variants import Edit, Fill, Wrong

FINETUNE = {"max_epochs": "75 if reading_params_path is None else 10", "batch_size": "256", "learning_rate": "finetune_lr",
            "lr_decay": "True", "warmup_tokens": "512 * 20", "final_tokens": "200 * len(pretrain_dataset) * block_size",
            "writer": "writer"}
PRETRAIN = {"max_epochs": "650", "batch_size": "128", "learning_rate": "pretrain_lr", "lr_decay": "True",
            "warmup_tokens": "512 * 20", "final_tokens": "650 * len(pretrain_dataset) * block_size", "writer": "writer"}


def finetune(text: str = "file.read()", dataset: str = "NameDataset(text, pretrain_dataset)",
             trainer: str = "Trainer(model, finetune_dataset, None, tconf)", after: str = "", **fields: str | None) -> Fill:
    """A right body of finetune with some of its expressions replaced; a field that is None is left out."""
    return Fill("finetune", f"""
with open(finetune_corpus_path, encoding="utf-8") as file:
    text = {text}
finetune_dataset = {dataset}
tconf = {_config(FINETUNE | fields)}
trainer_obj = {trainer}
{after}""")


def pretrain(trainer: str = "Trainer(model, pretrain_dataset, None, tconf)", after: str = "", **fields: str | None) -> Fill:
    """A right body of pretrain with some of its expressions replaced; a field that is None is left out."""
    return Fill("pretrain", f"""
tconf = {_config(PRETRAIN | fields)}
trainer_obj = {trainer}
{after}""")


def _config(fields):
    return "TrainerConfig(" + ", ".join(f"{name}={value}" for name, value in fields.items() if value is not None) + ")"


FINETUNE_HYPERPARAMETERS = [
    Wrong("finetune-10-epochs-always", "Finetuning from scratch gets the 10 epochs of finetuning from pretrained weights.",
          (finetune(max_epochs="10"),), ("1d-1-basic",)),
    Wrong("finetune-75-epochs-always", "Finetuning from pretrained weights gets the 75 epochs of finetuning from scratch.",
          (finetune(max_epochs="75"),), ("1f-3-basic",)),
    Wrong("finetune-epochs-inverted", "The condition is the wrong way round: 75 epochs with pretrained weights, 10 without.",
          (finetune(max_epochs="10 if reading_params_path is None else 75"),), ("1d-1-basic", "1f-3-basic")),
    Wrong("finetune-epochs-by-model", "The epochs depend on whether the model has RoPE instead of on the weights.",
          (finetune(max_epochs="10 if model.rope else 75"),), ("1f-3-basic",)),
    Wrong("finetune-650-epochs", "Finetuning from scratch gets the epochs of pretraining.",
          (finetune(max_epochs="650 if reading_params_path is None else 10"),), ("1d-1-basic",)),
    Wrong("finetune-epochs-left-out", "max_epochs is left to the default of TrainerConfig.",
          (finetune(max_epochs=None),), ("1d-1-basic",)),
    Wrong("finetune-batch-128", "Finetuning gets the batch size of pretraining.",
          (finetune(batch_size="128"),), ("1d-1-basic", "1f-3-basic")),
    Wrong("finetune-batch-left-out", "batch_size is left to the default of TrainerConfig.",
          (finetune(batch_size=None),), ("1d-1-basic", "1f-3-basic")),
    Wrong("finetune-batch-128-pretrained", "With pretrained weights the batch size is that of pretraining.",
          (finetune(batch_size="256 if reading_params_path is None else 128"),), ("1f-3-basic",)),
    Wrong("finetune-batch-tuple", "A comma at the end of the line makes the batch size a tuple.",
          (finetune(after="tconf.batch_size = 256,"),), ("1d-1-basic",)),
    Wrong("finetune-no-decay", "lr_decay is left out, so that the learning rate stays constant.",
          (finetune(lr_decay=None),), ("1d-1-basic", "1f-3-basic")),
    Wrong("finetune-no-decay-pretrained", "The learning rate decays only when training from scratch.",
          (finetune(lr_decay="reading_params_path is None"),), ("1f-3-basic",)),
    Wrong("finetune-warmup-512", "The warm-up counts 512 tokens, without the factor 20.",
          (finetune(warmup_tokens="512"),), ("1d-1-basic",)),
    Wrong("finetune-warmup-20", "The warm-up counts 20 tokens, without the factor 512.",
          (finetune(warmup_tokens="20"),), ("1d-1-basic",)),
    Wrong("finetune-warmup-none-pretrained", "There is no warm-up with pretrained weights.",
          (finetune(warmup_tokens="512 * 20 if reading_params_path is None else 0"),), ("1f-3-basic",)),
    Wrong("finetune-final-tokens-left-out", "final_tokens is left to the default of TrainerConfig.",
          (finetune(final_tokens=None),), ("1d-1-basic",)),
    Wrong("finetune-final-tokens-no-length", "final_tokens lacks the number of documents.",
          (finetune(final_tokens="200 * block_size"),), ("1d-1-basic",)),
    Wrong("finetune-final-tokens-no-block", "final_tokens lacks the block size.",
          (finetune(final_tokens="200 * len(pretrain_dataset)"),), ("1d-1-basic",)),
    Wrong("finetune-final-tokens-other-corpus", "final_tokens counts the rows of the finetuning corpus.",
          (finetune(final_tokens="200 * len(finetune_dataset) * block_size"),), ("1d-1-basic",)),
    Wrong("finetune-final-tokens-characters", "final_tokens counts the characters of the finetuning corpus.",
          (finetune(final_tokens="200 * len(text)"),), ("1d-1-basic",)),
    Wrong("finetune-final-tokens-75", "final_tokens has the epochs of finetuning in place of 200.",
          (finetune(final_tokens="75 * len(pretrain_dataset) * block_size"),), ("1d-1-basic",)),
    Wrong("finetune-final-tokens-650", "final_tokens is that of pretraining.",
          (finetune(final_tokens="650 * len(pretrain_dataset) * block_size"),), ("1d-1-basic", "1f-3-basic")),
    Wrong("finetune-final-tokens-10-pretrained", "With pretrained weights, final_tokens has 10 in place of 200.",
          (finetune(final_tokens="(200 if reading_params_path is None else 10) * len(pretrain_dataset) * block_size"),),
          ("1f-3-basic",)),
    Wrong("finetune-misspelt-field", "final_tokens is misspelt, which TrainerConfig refuses.",
          (finetune(final_tokens=None, final_token=FINETUNE["final_tokens"]),), ("1d-1-basic", "1f-3-basic")),
    Wrong("finetune-trainer-without-config", "The config that is returned is right, but the Trainer has one with defaults.",
          (finetune(trainer="Trainer(model, finetune_dataset, None, TrainerConfig())"),), ("1d-1-basic",)),
    Wrong("finetune-config-made-anew", "A config with the right values is made after the Trainer, which never sees it.",
          (finetune(max_epochs="10", batch_size="64", after="tconf = " + _config(FINETUNE)),), ("1d-1-basic",)),
    Wrong("finetune-returns-swapped", "The Trainer is returned first and the config second.",
          (finetune(after="return trainer_obj, tconf"),), ("1d-1-basic",)),
    Wrong("finetune-returns-trainer", "The Trainer is returned alone.",
          (finetune(after="return trainer_obj"),), ("1d-1-basic",)),
    Wrong("finetune-default-rate", "The default learning rate of finetune was changed to that of pretrain.",
          (Edit("helper.py", "finetune_lr: float = 6e-4", "finetune_lr: float = 6e-3"),), ("1d-1-basic",)),
]

FINETUNE_ARGUMENTS = [
    Wrong("finetune-rate-fixed", "The learning rate is written down as 6e-4 instead of the one passed in.",
          (finetune(learning_rate="6e-4"),), ("1d-2-hidden",)),
    Wrong("finetune-rate-of-pretraining", "The learning rate is that of pretraining, whatever is passed in.",
          (finetune(learning_rate="6e-3"),), ("1d-2-hidden",)),
    Wrong("finetune-rate-left-out", "The learning rate is left to the default of TrainerConfig.",
          (finetune(learning_rate=None),), ("1d-2-hidden",)),
    Wrong("finetune-rate-lower-pretrained", "With pretrained weights the learning rate is a tenth of the one passed in.",
          (finetune(learning_rate="finetune_lr if reading_params_path is None else finetune_lr / 10"),), ("1f-3-basic",)),
    Wrong("finetune-block-size-fixed", "final_tokens is computed with block size 128 instead of the one passed in.",
          (finetune(final_tokens="200 * len(pretrain_dataset) * 128"),), ("1d-2-hidden",)),
    Wrong("finetune-length-fixed", "final_tokens is computed with the 2937 documents of the public corpus.",
          (finetune(final_tokens="200 * 2937 * block_size"),), ("1d-2-hidden",)),
    Wrong("finetune-on-pretraining-corpus", "The Trainer gets the pretraining dataset again.",
          (finetune(trainer="Trainer(model, pretrain_dataset, None, tconf)"),), ("1d-2-hidden",)),
    Wrong("finetune-span-corruption", "The questions are made into a dataset for span corruption.",
          (finetune(dataset="CharCorruptionDataset(text, block_size)"),), ("1d-2-hidden",)),
    Wrong("finetune-dataset-of-path", "NameDataset is given the file's path instead of its text.",
          (finetune(dataset="NameDataset(finetune_corpus_path, pretrain_dataset)"),), ("1d-2-hidden",)),
    Wrong("finetune-dataset-of-lines", "NameDataset is given a list of lines instead of the text.",
          (finetune(text="file.readlines()"),), ("1d-2-hidden",)),
    Wrong("finetune-dataset-swapped", "The two arguments of NameDataset are swapped.",
          (finetune(dataset="NameDataset(pretrain_dataset, text)"),), ("1d-2-hidden",)),
    Wrong("finetune-first-line", "Only the first line of the file is read.",
          (finetune(text="file.readline()"),), ("1d-2-hidden",)),
    Wrong("finetune-skips-header", "The first row is taken for a header and dropped.",
          (finetune(text='file.read().split("\\n", 1)[1]'),), ("1d-2-hidden",)),
    Wrong("finetune-lower-case", "The questions and places are put into lower case.",
          (finetune(text="file.read().lower()"),), ("1d-2-hidden",)),
    Wrong("finetune-own-vocabulary", "The vocabulary is made from the questions instead of the pretraining corpus.",
          (finetune(dataset="NameDataset(text, CharCorruptionDataset(text, block_size))"),), ("1d-2-hidden",)),
    Wrong("finetune-fixed-file", "A file of a fixed name is opened instead of the one passed in.",
          (finetune(text='open("birth_places_train.tsv", encoding="utf-8").read()'),), ("1d-2-hidden",)),
    Wrong("finetune-test-set", "The questions are passed as the test set, and there is nothing to train on.",
          (finetune(trainer="Trainer(model, None, finetune_dataset, tconf)"),), ("1d-2-hidden",)),
    Wrong("finetune-both-datasets", "The pretraining dataset is trained on, and the questions are the test set.",
          (finetune(trainer="Trainer(model, pretrain_dataset, finetune_dataset, tconf)"),), ("1d-2-hidden",)),
    Wrong("finetune-new-model", "A new model of the same sizes is trained instead of the one passed in.",
          (finetune(trainer="Trainer(GPT(model.config), finetune_dataset, None, tconf)"),), ("1d-2-hidden",)),
    Wrong("finetune-copied-model", "The Trainer gets a copy of the model, so that the model itself is never trained.",
          (finetune(trainer="Trainer(copy.deepcopy(model), finetune_dataset, None, tconf)"),),
          ("1d-2-hidden", "1f-3-basic")),
]

PRETRAIN_HYPERPARAMETERS = [
    Wrong("pretrain-75-epochs", "Pretraining gets the epochs of finetuning from scratch.",
          (pretrain(max_epochs="75"),), ("1f-0-basic",)),
    Wrong("pretrain-65-epochs", "A zero is missing in the number of epochs.",
          (pretrain(max_epochs="65"),), ("1f-0-basic",)),
    Wrong("pretrain-epochs-left-out", "max_epochs is left to the default of TrainerConfig.",
          (pretrain(max_epochs=None),), ("1f-0-basic",)),
    Wrong("pretrain-batch-256", "Pretraining gets the batch size of finetuning.",
          (pretrain(batch_size="256"),), ("1f-0-basic",)),
    Wrong("pretrain-batch-left-out", "batch_size is left to the default of TrainerConfig.",
          (pretrain(batch_size=None),), ("1f-0-basic",)),
    Wrong("pretrain-no-decay", "lr_decay is left out, so that the learning rate stays constant.",
          (pretrain(lr_decay=None),), ("1f-0-basic",)),
    Wrong("pretrain-warmup-512", "The warm-up counts 512 tokens, without the factor 20.",
          (pretrain(warmup_tokens="512"),), ("1f-0-basic",)),
    Wrong("pretrain-warmup-by-block", "The warm-up counts 20 tokens for each position of the block.",
          (pretrain(warmup_tokens="block_size * 20"),), ("1f-0-basic",)),
    Wrong("pretrain-final-tokens-left-out", "final_tokens is left to the default of TrainerConfig.",
          (pretrain(final_tokens=None),), ("1f-0-basic",)),
    Wrong("pretrain-final-tokens-no-length", "final_tokens lacks the number of documents.",
          (pretrain(final_tokens="650 * block_size"),), ("1f-0-basic",)),
    Wrong("pretrain-final-tokens-no-block", "final_tokens lacks the block size.",
          (pretrain(final_tokens="200 * len(pretrain_dataset)"),), ("1f-0-basic",)),
    Wrong("pretrain-final-tokens-75", "final_tokens has the epochs of finetuning.",
          (pretrain(final_tokens="75 * len(pretrain_dataset) * block_size"),), ("1f-0-basic",)),
    Wrong("pretrain-misspelt-field", "lr_decay is misspelt, which TrainerConfig refuses.",
          (pretrain(lr_decay=None, lr_decays="True"),), ("1f-0-basic",)),
    Wrong("pretrain-trainer-without-config", "The config that is returned is right, but the Trainer has one with defaults.",
          (pretrain(trainer="Trainer(model, pretrain_dataset, None, TrainerConfig())"),), ("1f-0-basic",)),
    Wrong("pretrain-returns-swapped", "The Trainer is returned first and the config second.",
          (pretrain(after="return trainer_obj, tconf"),), ("1f-0-basic",)),
    Wrong("pretrain-returns-config", "The config is returned alone.",
          (pretrain(after="return tconf"),), ("1f-0-basic",)),
    Wrong("pretrain-default-rate", "The default learning rate of pretrain was changed to that of finetune.",
          (Edit("helper.py", "pretrain_lr: float = 6e-3", "pretrain_lr: float = 6e-4"),), ("1f-0-basic",)),
]

PRETRAIN_ARGUMENTS = [
    Wrong("pretrain-rate-fixed", "The learning rate is written down as 6e-3 instead of the one passed in.",
          (pretrain(learning_rate="6e-3"),), ("1f-4-hidden",)),
    Wrong("pretrain-rate-of-finetuning", "The learning rate is that of finetuning, whatever is passed in.",
          (pretrain(learning_rate="6e-4"),), ("1f-4-hidden",)),
    Wrong("pretrain-rate-left-out", "The learning rate is left to the default of TrainerConfig.",
          (pretrain(learning_rate=None),), ("1f-4-hidden",)),
    Wrong("pretrain-block-size-fixed", "final_tokens is computed with block size 128 instead of the one passed in.",
          (pretrain(final_tokens="650 * len(pretrain_dataset) * 128"),), ("1f-4-hidden",)),
    Wrong("pretrain-length-fixed", "final_tokens is computed with the 2937 documents of the public corpus.",
          (pretrain(final_tokens="650 * 2937 * block_size"),), ("1f-4-hidden",)),
    Wrong("pretrain-on-text", "The Trainer gets the list of documents instead of the dataset.",
          (pretrain(trainer="Trainer(model, pretrain_dataset.data, None, tconf)"),), ("1f-4-hidden",)),
    Wrong("pretrain-on-one-document", "The Trainer gets the first example instead of the dataset.",
          (pretrain(trainer="Trainer(model, pretrain_dataset[0], None, tconf)"),), ("1f-4-hidden",)),
    Wrong("pretrain-on-half", "Half of the corpus is held back as a test set.",
          (pretrain(trainer="Trainer(model, *torch.utils.data.random_split(pretrain_dataset, [0.5, 0.5]), tconf)"),),
          ("1f-4-hidden",)),
    Wrong("pretrain-fixed-file", "The corpus is read anew from a file of a fixed name.",
          (pretrain(trainer='Trainer(model, CharCorruptionDataset(open("wiki.txt", encoding="utf-8").read(), block_size), '
                            'None, tconf)'),), ("1f-4-hidden",)),
    Wrong("pretrain-test-set", "The corpus is passed as the test set, and there is nothing to train on.",
          (pretrain(trainer="Trainer(model, None, pretrain_dataset, tconf)"),), ("1f-4-hidden",)),
    Wrong("pretrain-new-model", "A new model of the same sizes is trained instead of the one passed in.",
          (pretrain(trainer="Trainer(GPT(model.config), pretrain_dataset, None, tconf)"),), ("1f-4-hidden",)),
    Wrong("pretrain-copied-model", "The Trainer gets a copy of the model, so that the model itself is never trained.",
          (pretrain(trainer="Trainer(copy.deepcopy(model), pretrain_dataset, None, tconf)"),), ("1f-4-hidden",)),
    Wrong("pretrain-model-last", "The Trainer's arguments are in the wrong order.",
          (pretrain(trainer="Trainer(pretrain_dataset, None, tconf, model)"),), ("1f-4-hidden",)),
    Wrong("pretrain-trains-already", "pretrain calls train() itself, which leaves nothing to train.",
          (pretrain(after="trainer_obj.train()"),), ("1f-4-hidden",)),
]

WRONG: list[Wrong] = FINETUNE_HYPERPARAMETERS + FINETUNE_ARGUMENTS + PRETRAIN_HYPERPARAMETERS + PRETRAIN_ARGUMENTS
