"""Putting model, data and training together: what the jobs of `./run.sh` call (questions 1d, 1f and
1h).
"""

import copy

import torch

from .dataset import CharCorruptionDataset, NameDataset
from .model import GPT, GPTConfig
from .trainer import Trainer, TrainerConfig


def initialize_vanilla_model(mconf: GPTConfig) -> GPT:
    """Make a model with learned position embeddings.

    Args:
        mconf: the sizes of the model.

    Returns:
        A GPT with random weights.
    """
    model = None
    # [part 1d] Make the vanilla model.
    # Hint: it takes one line; model.py has the class.
    ### START_CODE_HERE ###
    raise NotImplementedError("1d: initialize_vanilla_model")
    ### END_CODE_HERE ###
    return model


def initialize_rope_model(mconf: GPTConfig) -> GPT:
    """Make a model with rotary position embeddings.

    Args:
        mconf: the sizes of the model. The caller may make a vanilla model of it afterwards.

    Returns:
        A GPT with random weights whose attention uses RoPE.
    """
    model = None
    # [part 1h] Make the RoPE model.
    # Hint: GPTConfig says what switches RoPE on. Change a copy (copy.copy), not the caller's mconf.
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
    """Prepare the training on questions and answers, from scratch or from pretrained weights.

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
        The TrainerConfig and a Trainer that is ready to train(), which this function does not call.
    """
    if reading_params_path is not None:
        # [part 1f] Load the pretrained weights into the model.
        # Hint: model.load_state_dict(torch.load(path, map_location="cpu", weights_only=True)) reads
        #       weights that were saved on any device, and runs no code that could hide in the file.
        ### START_CODE_HERE ###
        raise NotImplementedError("1f: finetune")
        ### END_CODE_HERE ###

    tconf = trainer_obj = None
    # [part 1d] Make the dataset, the TrainerConfig and the Trainer. Without pretrained weights
    # (reading_params_path is None), train for max_epochs=75; with them, for max_epochs=10. The
    # other hyperparameters are the same for both:
    #     batch_size=256, learning_rate=finetune_lr, lr_decay=True, warmup_tokens=512*20,
    #     final_tokens=200*len(pretrain_dataset)*block_size, writer=writer
    # Hints: NameDataset takes the file's text, not its name; say encoding="utf-8" where you open
    #        it. play_char.ipynb in mingpt-demo/ makes a TrainerConfig and a Trainer; a Trainer
    #        without a test set takes None.
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
    """Prepare the pretraining on span corruption.

    Args:
        pretrain_dataset: the corpus.
        block_size: the longest sequence that the model reads.
        model: the model to train.
        pretrain_lr: the peak learning rate.
        writer: a TensorBoard SummaryWriter for TrainerConfig, or None.

    Returns:
        The TrainerConfig and a Trainer that is ready to train(), which this function does not call.
    """
    tconf = trainer_obj = None
    # [part 1f] Train on pretrain_dataset with these hyperparameters:
    #     max_epochs=650, batch_size=128, learning_rate=pretrain_lr, lr_decay=True,
    #     warmup_tokens=512*20, final_tokens=650*len(pretrain_dataset)*block_size, writer=writer
    #
    # final_tokens is where the cosine of the learning rate reaches its end: here, when the training
    # does.
    # Hint: as in finetune, but the dataset is already there.
    ### START_CODE_HERE ###
    raise NotImplementedError("1f: pretrain")
    ### END_CODE_HERE ###
    return tconf, trainer_obj


def train(model: GPT, writing_params_path: str, trainer_obj: Trainer) -> None:
    """Run a training and save the weights.

    Args:
        model: the model that trainer_obj trains.
        writing_params_path: where its state_dict goes.
        trainer_obj: what pretrain() or finetune() returned.
    """
    # [part 1d] Train, then save the model's state_dict.
    # Hint: torch.save writes any dictionary of tensors; the state_dict alone is enough, without the
    # Trainer.
    ### START_CODE_HERE ###
    raise NotImplementedError("1d: train")
    ### END_CODE_HERE ###
