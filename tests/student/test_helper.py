"""finetune and pretrain hand over the course's hyperparameters; weights are loaded where there are
some.
"""

import pytest
import torch


@pytest.fixture
def parts(submission, tmp_path):
    """A small pretraining dataset, a file of questions, and a function that makes a model."""
    dataset = submission.CharCorruptionDataset(
        "Ada was born in Oslo.\nWhere is Ben from? Rome.", 40
    )
    questions = tmp_path / "train.tsv"
    questions.write_text("Where was Ada born?\tOslo\nWhere was Ben born?\tRome\n", encoding="utf-8")
    make = lambda: submission.initialize_vanilla_model(  # noqa: E731
        submission.GPTConfig(dataset.vocab_size, 40, n_layer=1, n_head=2, n_embd=8)
    )
    return dataset, str(questions), make


def test_finetune_from_scratch(submission, parts):
    dataset, questions, make = parts
    config, trainer = submission.finetune(None, questions, dataset, 40, make())
    assert (config.max_epochs, config.batch_size, config.learning_rate, config.lr_decay) == (
        75,
        256,
        6e-4,
        True,
    )
    assert (config.warmup_tokens, config.final_tokens) == (512 * 20, 200 * 2 * 40)
    assert len(trainer.train_dataset) == 2 and trainer.config is config


def test_finetune_from_pretrained_weights(submission, parts, tmp_path):
    dataset, questions, make = parts
    pretrained, model = make(), make()
    torch.save(pretrained.state_dict(), tmp_path / "pretrain.params")
    config, trainer = submission.finetune(
        str(tmp_path / "pretrain.params"), questions, dataset, 40, model, finetune_lr=1e-3
    )
    assert (config.max_epochs, config.batch_size, config.learning_rate) == (10, 256, 1e-3)
    assert trainer.model is model and torch.equal(model.tok_emb.weight, pretrained.tok_emb.weight)


def test_pretrain(submission, parts):
    dataset, _, make = parts
    writer = object()
    config, trainer = submission.pretrain(dataset, 40, make(), writer=writer)
    assert (config.max_epochs, config.batch_size, config.learning_rate, config.lr_decay) == (
        650,
        128,
        6e-3,
        True,
    )
    assert (config.warmup_tokens, config.final_tokens, config.writer) == (
        512 * 20,
        650 * 2 * 40,
        writer,
    )
    assert trainer.train_dataset is dataset


def test_presets_change_the_config_on_top(submission, parts):
    from jobs.presets import GPU, LAPTOP

    dataset, _, make = parts
    config, _ = submission.pretrain(dataset, 40, make())
    before = dict(vars(config))
    GPU.pretrain.apply(config, len(dataset), 40)
    assert vars(config) == before
    LAPTOP.pretrain.apply(config, len(dataset), 40)
    assert (
        config.batch_size == LAPTOP.pretrain.batch_size
        and config.final_tokens == LAPTOP.pretrain.max_epochs * 2 * 40
    )


def test_train_saves_the_state_dict(submission, parts, tmp_path):
    dataset, questions, make = parts
    model = make()
    config, trainer = submission.finetune(None, questions, dataset, 40, model)
    config.max_epochs, config.progress, config.device = 2, False, "cpu"
    before = model.head.weight.clone()
    submission.train(model, str(tmp_path / "out.params"), trainer)
    saved = torch.load(tmp_path / "out.params", weights_only=True)
    assert saved.keys() == model.state_dict().keys()
    assert torch.equal(saved["head.weight"], model.head.weight) and not torch.equal(
        saved["head.weight"], before
    )
