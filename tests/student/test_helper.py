"""What pretrain returns takes a preset."""

from jobs.presets import GPU, LAPTOP


def test_presets_change_the_config_on_top(submission):
    text = "Ada was born in Oslo.\nWhere is Ben from? Rome."
    dataset = submission.CharCorruptionDataset(text, 40)
    sizes = submission.GPTConfig(dataset.vocab_size, 40, n_layer=1, n_head=2, n_embd=8)
    config, _ = submission.pretrain(dataset, 40, submission.initialize_vanilla_model(sizes))
    before = dict(vars(config))
    GPU.pretrain.apply(config, len(dataset), 40)
    assert vars(config) == before | {"learning_rate": GPU.pretrain.learning_rate}
    LAPTOP.pretrain.apply(config, len(dataset), 40)
    assert config.batch_size == LAPTOP.pretrain.batch_size
    assert config.final_tokens == LAPTOP.pretrain.max_epochs * 2 * 40
