"""What pretrain and finetune return takes a preset, and train saves the weights."""

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
