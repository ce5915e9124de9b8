"""Wrong ways to load weights in finetune and to save them in train (questions 1d and 1f)."""
from instructor.mistakes.patches import Edit, Fill, misconception, slip
from instructor.mistakes.training import finetune

READ = 'state = torch.load(reading_params_path, map_location="cpu", weights_only=True)\n'
IF_READ = "if reading_params_path is not None:\n    " + READ
ALWAYS = (Edit("helper.py", "    if reading_params_path is not None:\n", "    if True:\n"),)


def load(code: str) -> Fill:
    """Read the pretrained weights into `state`, then run `code`."""
    return Fill("finetune 1f", READ + code)


def save(what: str, where: str = "writing_params_path") -> Fill:
    """Train, then save `what` to `where`."""
    return Fill("train", f"trainer_obj.train()\ntorch.save({what}, {where})")


NOT_IN_THE_MODEL = [
    slip("load-nothing", "The place for loading the weights is left empty.",
         (Fill("finetune 1f", "pass"),), ("1f-3-basic",)),
    slip("load-unused", "The file is read, but nothing is done with what it holds.",
         (Fill("finetune 1f", READ),), ("1f-3-basic",)),
    slip("load-as-model",
         "What was read is called model, a dictionary that the Trainer cannot train.",
         (load("model = state"),), ("1f-3-basic",)),
    slip("load-method-not-called", "load_state_dict is named but not called.",
         (load("model.load_state_dict"),), ("1f-3-basic",)),
    slip("load-assigns-method",
         "The weights are assigned to load_state_dict instead of passed to it.",
         (load("model.load_state_dict = state"),), ("1f-3-basic",)),
    misconception("load-into-state-dict", "The weights are put into what state_dict() returns, a "
                                  "dictionary that is not the model.",
          (load("model.state_dict().update(state)"),), ("1f-3-basic",)),
    misconception("load-into-copy",
          "The weights are loaded into a copy of the model, and the model itself is trained.",
          (load("pretrained = copy.deepcopy(model)\npretrained.load_state_dict(state)"),),
          ("1f-3-basic",)),
    misconception("load-into-new-unused",
          "The weights are loaded into a new model, which is then forgotten.",
          (load("pretrained = GPT(model.config)\npretrained.load_state_dict(state)"),),
          ("1f-3-basic",)),
    misconception("load-into-new-model",
          "The weights are loaded into a new model that is trained in place "
                                 "of the one passed in.",
          (load("model = GPT(model.config)\nmodel.load_state_dict(state)"),), ("1f-3-basic",)),
    misconception("load-into-copy-trained",
          "The weights are loaded into a copy, which is trained in place "
                                    "of the one passed in.",
          (load("model = copy.deepcopy(model)\nmodel.load_state_dict(state)"),), ("1f-3-basic",)),
    misconception("load-after-trainer",
          "The Trainer gets a copy, and then the weights are loaded into the model itself.",
          (Fill("finetune 1f", "pass"),
           finetune(trainer="Trainer(copy.deepcopy(model), finetune_dataset, None, tconf)",
                    after=IF_READ + "    model.load_state_dict(state)")), ("1f-3-basic",)),
    slip("load-into-other-trainer", "The weights are loaded into the model of a Trainer that is "
                                    "then replaced by another.",
         (Fill("finetune 1f", "pass"),
          finetune(trainer="Trainer(copy.deepcopy(model), finetune_dataset, None, tconf)",
                   after=IF_READ + "    trainer_obj.model.load_state_dict(state)\n"
                         "    trainer_obj = Trainer(model, finetune_dataset, None, tconf)")),
         ("1f-3-basic",)),
    misconception("load-and-reset",
          "The weights are loaded and then drawn anew, as for a fresh model.",
          (load("model.load_state_dict(state)\nmodel.apply(model._init_weights)"),),
          ("1f-3-basic",)),
    slip("load-overwrites-file",
         "The file is written with the model's own weights before it is read.",
         (Fill("finetune 1f",
               "torch.save(model.state_dict(), reading_params_path)\nmodel.load_state_dict("
                       'torch.load(reading_params_path, map_location="cpu", weights_only=True))'),
          ), ("1f-3-basic",)),
    slip("load-fixed-file", "The weights are read from a file of a fixed name.",
         (Fill("finetune 1f", 'model.load_state_dict(torch.load("vanilla.pretrain.params", '
                              'map_location="cpu"))'),), ("1f-3-basic",)),
    slip("load-errors-swallowed", "The file's path is passed for its contents, and the error that "
                                  "follows is swallowed.",
         (Fill("finetune 1f", "try:\n    model.load_state_dict(reading_params_path)\n"
                              "except Exception:\n    pass"),), ("1f-3-basic",)),
]

PARTS_OF_THE_MODEL = [
    slip("load-prefixed", "The names get a prefix that the model's don't have, and strict=False "
                          "hides that nothing fits.",
         (load('model.load_state_dict({"module." + name: value for name, value in state.items()}, '
               'strict=False)'),), ("1f-3-basic",)),
    slip("load-cut-names", "The first part of each name is cut off, and strict=False hides that "
                           "hardly any fits.",
         (load('model.load_state_dict({name.split(".", 1)[-1]: value for name, value in '
               'state.items()}, strict=False)'),), ("1f-3-basic",)),
    slip("load-under-key", "The weights are looked for under a key that the file doesn't have.",
         (load('model.load_state_dict(state.get("model_state_dict", {}), strict=False)'),),
         ("1f-3-basic",)),
    misconception("load-blocks-only",
          "Only the blocks get pretrained weights, not the embeddings and the head.",
          (load('model.load_state_dict({name: value for name, value in state.items() if "blocks" '
                'in name}, strict=False)'),), ("1f-3-basic",)),
    misconception("load-no-head",
          "The head stays random, as when a classifier is put on a pretrained model.",
          (load('del state["head.weight"]\nmodel.load_state_dict(state, strict=False)'),),
          ("1f-3-basic",)),
    misconception("load-no-embeddings",
          "The token embeddings stay random, since the questions are other text.",
          (load('del state["tok_emb.weight"]\nmodel.load_state_dict(state, strict=False)'),),
          ("1f-3-basic",)),
    misconception("load-no-positions", "The position embeddings stay those of the new model.",
          (load('state.pop("pos_emb", None)\nmodel.load_state_dict(state, strict=False)'),),
          ("1f-3-basic",)),
    slip("load-weights-without-biases",
         "Only what is called weight is loaded, so that the biases stay zero.",
         (load('model.load_state_dict({k: v for k, v in state.items() if k.endswith("weight")}, '
               'strict=False)'),), ("1f-3-basic",)),
    slip("load-by-order",
         "Parameters and entries of the file are paired by their order, which buffers upset.",
         (load("for parameter, value in zip(model.parameters(), state.values()):\n"
               "    parameter.data = value"),), ("1f-3-basic",)),
    misconception("load-frozen",
          "After loading, everything but the head is frozen, so that finetuning "
                         "cannot change it.",
          (load('model.load_state_dict(state)\nfor name, parameter in model.named_parameters():\n'
                '    parameter.requires_grad = name == "head.weight"'),), ("1f-3-basic",)),
]

WHICH_FILE = [
    slip("load-from-gpu", "map_location is missing, so that weights saved on a GPU cannot be read "
                          "without one.",
         (Fill("finetune 1f", "model.load_state_dict(torch.load(reading_params_path))"),),
         ("1f-5-hidden", "1f-8-basic")),
    slip("load-to-gpu", "The weights are always read onto a GPU, which not every machine has.",
         (Fill("finetune 1f",
               'model.load_state_dict(torch.load(reading_params_path, map_location="cuda"))'),),
         ("1f-5-hidden", "1f-8-basic")),
    slip("load-moved-too-late",
         "The weights are moved to the CPU after they were read, which is too late.",
         (Fill("finetune 1f", "state = torch.load(reading_params_path, weights_only=True)\n"
                       "model.load_state_dict({name: value.cpu() for name, value in "
                       "state.items()})"),), ("1f-5-hidden", "1f-8-basic")),
    slip("load-vanilla-only", "The weights are loaded only where the model has position "
                              "embeddings, so never with RoPE.",
         (load('if hasattr(model, "pos_emb"):\n    model.load_state_dict(state)'),),
         ("1f-5-hidden", "1f-8-basic")),
    slip("load-needs-positions",
         "The position embeddings are copied by name, which a model with RoPE does not have.",
         (load('model.load_state_dict(state)\nmodel.pos_emb.data.copy_(state["pos_emb"])'),),
         ("1f-5-hidden", "1f-8-basic")),
    slip("load-always",
         "Weights are loaded whether or not there is a path, and None cannot be opened.",
         ALWAYS, ("1d-1-basic", "1f-5-hidden")),
    slip("load-default-file", "Without a path, the weights of the pretraining are read from a "
                              "file of a fixed name.",
         ALWAYS + (Fill("finetune 1f", 'path = reading_params_path or "vanilla.pretrain.params"\n'
                                'model.load_state_dict(torch.load(path, map_location="cpu", '
                                'weights_only=True))'),), ("1d-1-basic", "1f-5-hidden")),
    misconception("finetune-trains-already",
          "finetune calls train() itself, which changes the weights before it returns.",
          (finetune(after="trainer_obj.train()"),), ("1f-3-basic", "1f-5-hidden")),
]

NOT_TRAINED = [
    slip("train-saves-only", "The weights are saved without any training.",
         (Fill("train", "torch.save(model.state_dict(), writing_params_path)"),), ("1d-3-basic",)),
    slip("train-not-called", "trainer_obj.train is named but not called.",
         (Fill("train", "trainer_obj.train\ntorch.save(model.state_dict(), writing_params_path)"),
          ), ("1d-3-basic",)),
    misconception("train-mode-only",
          "model.train() is called, which trains nothing, instead of trainer_obj.train().",
          (Fill("train", "model.train()\ntorch.save(model.state_dict(), writing_params_path)"),),
          ("1d-3-basic",)),
    slip("train-without-gradients", "Training runs inside torch.no_grad().",
         (Fill("train", "with torch.no_grad():\n    trainer_obj.train()\n"
                        "torch.save(model.state_dict(), writing_params_path)"),), ("1d-3-basic",)),
    misconception("train-saves-before", "The weights are saved before the training.",
          (Fill("train", "torch.save(model.state_dict(), writing_params_path)\ntrainer_obj.train()"),), ("1d-3-basic",)),
    misconception("train-copies-before",
          "A copy of the weights is taken before the training and saved after it.",
          (Fill("train", "state = copy.deepcopy(model.state_dict())\ntrainer_obj.train()\n"
                         "torch.save(state, writing_params_path)"),), ("1d-3-basic",)),
    misconception("train-state-before",
          "The state_dict is taken before the training, whose tensors stay "
                                "behind when the model moves to "
          "a GPU.", (Fill("train", "state = model.state_dict()\ntrainer_obj.train()\n"
                                   "torch.save(state, writing_params_path)"),), ("1d-3-basic",)),
    misconception("train-copied-model",
          "A copy of the model is trained and the model itself is saved.",
          (Fill("train", "trainer_obj.model = copy.deepcopy(model)\ntrainer_obj.train()\n"
                         "torch.save(model.state_dict(), writing_params_path)"),), ("1d-3-basic",)),
    misconception("train-other-trainer",
          "A Trainer is made anew for a copy of the model and trains that.",
          (Fill("train", "Trainer(copy.deepcopy(model), trainer_obj.train_dataset, None, "
                         "trainer_obj.config).train()\n"
                         "torch.save(model.state_dict(), writing_params_path)"),), ("1d-3-basic",)),
    misconception("train-new-model-saved",
          "The weights of a new model are saved in place of those that were trained.",
          (save("GPT(model.config).state_dict()"),), ("1d-3-basic",)),
]

SAVED_WRONG = [
    slip("train-twice", "The training runs twice.",
         (Fill("train", "trainer_obj.train()\ntrainer_obj.train()\n"
                        "torch.save(model.state_dict(), writing_params_path)"),), ("1d-3-basic",)),
    slip("train-saves-nothing", "The weights are not saved.",
         (Fill("train", "trainer_obj.train()"),), ("1d-3-basic",)),
    slip("save-model", "The whole model is pickled instead of its state_dict.", (save("model"),),
         ("1d-3-basic",)),
    slip("save-trainer", "The Trainer is pickled instead of the state_dict.",
         (save("trainer_obj"),), ("1d-3-basic",)),
    slip("save-method", "state_dict is not called, so that the method is pickled.",
         (save("model.state_dict"),), ("1d-3-basic",)),
    slip("save-parameters", "A list of the parameters is saved, without their names.",
         (save("list(model.parameters())"),), ("1d-3-basic",)),
    slip("save-without-buffers", "Only the parameters are saved, so that the buffers are missing.",
         (save("dict(model.named_parameters())"),), ("1d-3-basic",)),
    slip("save-under-key", "The state_dict is saved inside another dictionary.",
         (save('{"model": model.state_dict()}'),), ("1d-3-basic",)),
    slip("save-with-config", "The config is saved together with the weights.",
         (save('{**model.state_dict(), "config": vars(model.config)}'),), ("1d-3-basic",)),
    misconception("save-optimizer", "The state of the optimizer is saved instead of the weights.",
          (save("trainer_obj.optimizer.state_dict()"),), ("1d-3-basic",)),
    slip("save-prefixed",
         "The names are saved with the prefix that a wrapper for several GPUs adds.",
         (save('{"module." + name: value for name, value in model.state_dict().items()}'),),
         ("1d-3-basic",)),
    slip("save-prefixed-as-part",
         "The names are saved with a prefix, as if the model were a part of the Trainer.",
         (save('{"model." + name: value for name, value in model.state_dict().items()}'),),
         ("1d-3-basic",)),
    slip("save-half", "The weights are rounded to half precision before they are saved.",
         (save("model.half().state_dict()"),), ("1d-3-basic",)),
    slip("save-numpy", "The weights are saved as NumPy arrays.",
         (save("{name: value.cpu().numpy() for name, value in model.state_dict().items()}"),),
         ("1d-3-basic",)),
    slip("save-blocks-only", "Only the blocks are saved, not the embeddings and the head.",
         (save("model.blocks.state_dict()"),), ("1d-3-basic",)),
    slip("save-fixed-file", "The weights are saved to a file of a fixed name.",
         (save("model.state_dict()", '"vanilla.model.params"'),), ("1d-3-basic",)),
    slip("save-other-ending", "An ending is added to the path that was asked for.",
         (save("model.state_dict()", 'writing_params_path + ".pt"'),), ("1d-3-basic",)),
    slip("save-swapped", "The arguments of torch.save are swapped.",
         (save("writing_params_path", "model.state_dict()"),), ("1d-3-basic",)),
    slip("save-returned", "The state_dict is returned instead of saved.",
         (Fill("train", "trainer_obj.train()\nreturn model.state_dict()"),), ("1d-3-basic",)),
]

MISTAKES = NOT_IN_THE_MODEL + PARTS_OF_THE_MODEL + WHICH_FILE + NOT_TRAINED + SAVED_WRONG
