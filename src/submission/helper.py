"""Build models and trainers: the functions that `./run.sh` calls (questions 1d, 1f and 1h)."""

import copy

import torch

from .dataset import CharCorruptionDataset, NameDataset
from .model import GPT, GPTConfig
from .trainer import Trainer, TrainerConfig


def initialize_vanilla_model(mconf: GPTConfig) -> GPT:
    """Build a model with learned position embeddings.

    Args:
        mconf: the sizes of the model.

    Returns:
        A GPT with random weights.
    """
    model = None
    # [part 1d] Build the vanilla model.
    # Hint: one line is enough; the class is in model.py.
    ### START_CODE_HERE ###
    raise NotImplementedError("1d: initialize_vanilla_model")
    ### END_CODE_HERE ###
    return model


def initialize_rope_model(mconf: GPTConfig) -> GPT:
    """Build a model with rotary position embeddings.

    Args:
        mconf: the sizes of the model. Do not change it: the caller may use it for a vanilla model.

    Returns:
        A GPT with random weights whose attention uses RoPE.
    """
    model = None
    # [part 1h] Build the RoPE model.
    # Hint: GPTConfig has a field that enables RoPE. Change a copy (copy.copy), not mconf itself.
    ### START_CODE_HERE ###
    raise NotImplementedError("1h: initialize_rope_model")
    ### END_CODE_HERE ###
    return model


def finetune(
    reading_params_path: str | None,
    finetune_corpus_path: str,
    pretrain_dataset: CharCorruptionDataset,
    block_size: int,
    model: GPT,
    finetune_lr: float = 6e-4,
    writer=None,
) -> tuple[TrainerConfig, Trainer]:
    """Prepare finetuning on questions and answers, from scratch or from pretrained weights.

    Args:
        reading_params_path: a file of pretrained weights (a state_dict), or None to start from
            scratch.
        finetune_corpus_path: a file of rows `question<TAB>place`, UTF-8.
        pretrain_dataset: gives the vocabulary.
        block_size: the longest sequence that the model reads.
        model: the model to train; pretrained weights are loaded into it.
        finetune_lr: the peak learning rate.
        writer: a TensorBoard SummaryWriter for TrainerConfig, or None.

    Returns:
        The TrainerConfig, and a Trainer of the model itself (no copy) with that very config, on
        which train() has not been called yet.
    """
    if reading_params_path is not None:
        # [part 1f] Load the pretrained weights into the model.
        # Hint: model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True)) reads
        #       weights saved on any device, and never runs code hidden in the file.
        ### START_CODE_HERE ###
        raise NotImplementedError("1f: finetune")
        ### END_CODE_HERE ###

    tconf = trainer_obj = None
    # [part 1d] Create the dataset, the TrainerConfig and the Trainer. Without pretrained weights
    # (reading_params_path is None), train for max_epochs=75; with them, for max_epochs=10. The
    # other hyperparameters are the same for both; fields that are not listed keep their defaults:
    #     batch_size=256, learning_rate=finetune_lr, lr_decay=True, warmup_tokens=512*20,
    #     final_tokens=200*len(pretrain_dataset)*block_size, writer=writer
    # Hints: NameDataset takes the file's text, not its name; open the file with encoding="utf-8".
    #        mingpt-demo/play_char.ipynb shows how to create a TrainerConfig and a Trainer. Without
    #        a test set, pass None.
    ### START_CODE_HERE ###
    raise NotImplementedError("1d: finetune")
    ### END_CODE_HERE ###
    return tconf, trainer_obj


def pretrain(
    pretrain_dataset: CharCorruptionDataset,
    block_size: int,
    model: GPT,
    pretrain_lr: float = 6e-3,
    writer=None,
) -> tuple[TrainerConfig, Trainer]:
    """Prepare pretraining on span corruption.

    Args:
        pretrain_dataset: the corpus.
        block_size: the longest sequence that the model reads.
        model: the model to train.
        pretrain_lr: the peak learning rate.
        writer: a TensorBoard SummaryWriter for TrainerConfig, or None.

    Returns:
        The TrainerConfig, and a Trainer of the model itself (no copy) with that very config, on
        which train() has not been called yet.
    """
    tconf = trainer_obj = None
    # [part 1f] Train on pretrain_dataset with these hyperparameters:
    #     max_epochs=650, batch_size=128, learning_rate=pretrain_lr, lr_decay=True,
    #     warmup_tokens=512*20, final_tokens=650*len(pretrain_dataset)*block_size, writer=writer
    #
    # final_tokens is where the learning rate's cosine schedule ends: here, at the end of training.
    # Hint: as in finetune, but the dataset already exists.
    ### START_CODE_HERE ###
    raise NotImplementedError("1f: pretrain")
    ### END_CODE_HERE ###
    return tconf, trainer_obj


def train(model: GPT, writing_params_path: str, trainer_obj: Trainer) -> None:
    """Train the model and save its weights: its state_dict, and nothing else.

    Args:
        model: the model that trainer_obj trains.
        writing_params_path: the file to save its state_dict to.
        trainer_obj: the Trainer from pretrain() or finetune().
    """
    # [part 1d] Train, then save the model's state_dict.
    # Hint: torch.save writes any dictionary of tensors. Save the state_dict alone, not the Trainer.
    ### START_CODE_HERE ###
    raise NotImplementedError("1d: train")
    ### END_CODE_HERE ###
