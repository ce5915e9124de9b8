"""Wrong pretraining, and wrong ways to load pretrained weights (question 1f)."""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip
from instructor.mistakes.q1d import config, finetune

LOAD, SETTINGS = ("1f-3-basic",), ("1f-0-basic",)
ARGUMENTS, OTHERS = ("1f-4-hidden", "1f-7-basic"), ("1f-5-hidden", "1f-8-basic")
PRETRAIN = {"max_epochs": "650", "batch_size": "128", "learning_rate": "pretrain_lr",
            "lr_decay": "True",
            "warmup_tokens": "512 * 20", "final_tokens": "650 * len(pretrain_dataset) * block_size",
            "writer": "writer"}
READ = 'state = torch.load(reading_params_path, map_location="cpu", weights_only=True)\n'


def load(code: str) -> Fill:
    """Read the pretrained weights into `state`, then run `code`."""
    return Fill("finetune 1f", READ + code)


def pretrain(trainer: str = "Trainer(model, pretrain_dataset, None, tconf)", after: str = "",
             **fields: str | None) -> Fill:
    """A right body of pretrain with some of its expressions replaced; a field that is None is left
    out.
    """
    return Fill("pretrain", f"""
tconf = {config(PRETRAIN | fields)}
trainer_obj = {trainer}
{after}""")


MISTAKES = [
    # weights that do not get into the model
    slip("load-nothing", "Nothing of the file gets into the model.",
         (Fill("finetune 1f", "pass"),), LOAD),
    misconception("load-into-state-dict",
         "The weights are put into what state_dict() returns, a dictionary that is not the model.",
         (load("model.state_dict().update(state)"),), LOAD),
    misconception("load-after-trainer",
         "The Trainer gets a copy, and then the weights are loaded into the model itself.",
         (Fill("finetune 1f", "pass"),
          finetune(trainer="Trainer(copy.deepcopy(model), finetune_dataset, None, tconf)",
                   after=f"if reading_params_path is not None:\n    {READ}"
                        "    model.load_state_dict(state)")), LOAD),
    # only a part of the model gets them, or may change
    misconception("load-blocks-only",
         "Only the blocks get pretrained weights, not the embeddings and the head.",
         (load('model.load_state_dict({name: value for name, value in state.items() if "blocks" '
               'in name}, strict=False)'),), LOAD),
    misconception("load-frozen",
         "After loading, everything but the head is frozen, so that finetuning cannot change it.",
         (load('model.load_state_dict(state)\nfor name, parameter in model.named_parameters():\n'
               '    parameter.requires_grad = name == "head.weight"'),), LOAD),
    # which weights, and when
    slip("load-from-gpu",
         "map_location is missing, so that weights saved on a GPU cannot be read without one.",
         (Fill("finetune 1f", "model.load_state_dict(torch.load(reading_params_path))"),), OTHERS),
    slip("load-vanilla-only",
         "The weights are loaded only where the model has position embeddings, so never with RoPE.",
         (load('if hasattr(model, "pos_emb"):\n    model.load_state_dict(state)'),), OTHERS),
    slip("load-default-file",
         "Without a path, the weights of the pretraining are read from a file of a fixed name.",
         (Edit("helper.py", "    if reading_params_path is not None:\n", "    if True:\n"),
          Fill("finetune 1f", 'path = reading_params_path or "vanilla.pretrain.params"\n'
                                'model.load_state_dict(torch.load(path, map_location="cpu", '
                                'weights_only=True))'),), ("1d-1-basic", "1f-5-hidden")),
    misconception("finetune-trains-already",
         "finetune calls train() itself, which changes the weights before it returns.",
         (finetune(after="trainer_obj.train()"),), ("1f-3-basic", "1f-5-hidden")),
    # finetune with pretrained weights: hyperparameters
    slip("finetune-epochs-by-path",
         "The epochs depend on whether the path of the weights has the word pretrain in it.",
         (finetune(max_epochs='10 if "pretrain" in str(reading_params_path) else 75'),),
         ("1f-3-basic", "1f-5-hidden")),
    slip("finetune-final-tokens-10-pretrained",
         "With pretrained weights, final_tokens has 10 in place of 200.",
         (finetune(final_tokens="(200 if reading_params_path is None else 10) * "
                                "len(pretrain_dataset) * block_size"),), LOAD),
    # pretrain: hyperparameters
    edge("pretrain-block-size-of-dataset",
         "final_tokens has the block size of the dataset in place of the argument.",
         (pretrain(final_tokens="650 * len(pretrain_dataset) * pretrain_dataset.block_size"),),
         ("1f-0-basic", "1f-4-hidden")),
    edge("pretrain-writer-dropped", "The writer is not passed on, so that nothing is logged.",
         (pretrain(writer=None),), SETTINGS),
    edge("pretrain-extra-field", "The seed is set, which the job decides.", (pretrain(seed="42"),),
         SETTINGS),
    slip("pretrain-trainer-without-config",
         "The config that is returned is right, but the Trainer has one with defaults.",
         (pretrain(trainer="Trainer(model, pretrain_dataset, None, TrainerConfig())"),), SETTINGS),
    slip("pretrain-default-rate",
         "The default learning rate of pretrain was changed to that of finetune.",
         (Edit("helper.py", "pretrain_lr: float = 6e-3", "pretrain_lr: float = 6e-4"),), SETTINGS),
    # pretrain: its arguments
    slip("pretrain-rate-fixed",
         "The learning rate is written down as 6e-3 instead of the one passed in.",
         (pretrain(learning_rate="6e-3"),), ARGUMENTS),
    slip("pretrain-block-size-fixed",
         "final_tokens is computed with block size 128 instead of the one passed in.",
         (pretrain(final_tokens="650 * len(pretrain_dataset) * 128"),),
         ("1f-4-hidden", "1f-0-basic")),
    misconception("pretrain-on-text",
         "The Trainer gets the list of documents instead of the dataset.",
         (pretrain(trainer="Trainer(model, pretrain_dataset.data, None, tconf)"),), ARGUMENTS),
    misconception("pretrain-trains-already",
         "pretrain calls train() itself, which leaves nothing to train.",
         (pretrain(after="trainer_obj.train()"),), ARGUMENTS),
]
