"""Two sizes of the same assignment, for a GPU and for a laptop's CPU (and a smoke size for tests).

The student's code always states the course's hyperparameters. run.py overrides them with the
preset's, so that one solution serves both. A field that is None keeps the value of the student's
code.
"""

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Stage:
    """What a preset changes in one training; the names are those of TrainerConfig."""

    max_epochs: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    weight_decay: float | None = None
    betas: tuple[float, float] | None = None

    def apply(self, config, examples: int, block_size: int) -> None:
        """Set the fields on a TrainerConfig. With max_epochs, also make the cosine schedule end
        with the training.
        """
        for field in fields(self):
            if getattr(self, field.name) is not None:
                setattr(config, field.name, getattr(self, field.name))
        if self.max_epochs is not None:
            config.final_tokens = self.max_epochs * examples * block_size


@dataclass(frozen=True)
class Preset:
    """Sizes of the model and its trainings, and the folder under data/ with the corpus and
    questions that match them.
    """

    name: str
    data: str
    block_size: int
    n_layer: int
    n_head: int
    n_embd: int
    dropout: float
    pretrain: Stage
    finetune_from_scratch: Stage
    finetune_pretrained: Stage
    num_workers: int = 0  # at most; fewer on a machine with fewer cores
    threads: int | None = None


# The course's sizes and epochs: 74,750 steps of our 14,685 documents, 14,950 of the public corpus,
# which has one longer document per person.
GPU = Preset(
    name="gpu",
    data=".",
    block_size=128,
    n_layer=4,
    n_head=8,
    n_embd=256,
    dropout=0.1,
    # At the course's 6e-3, attention looks at one position alone within 200 steps, and a model with
    # learned positions answers hardly any question: docs/accuracy.md, "Full size".
    pretrain=Stage(learning_rate=1e-3),
    finetune_from_scratch=Stage(),
    finetune_pretrained=Stage(),
    num_workers=12,  # at most: one core each, besides the training process
)

# What a CPU can learn in some six minutes: 220 people instead of 2,937, and a model an eighth
# the size.
LAPTOP = Preset(
    name="laptop",
    data="laptop",
    block_size=80,  # the longest question of the public corpus needs 70; padding is cut off anyway
    # 8 heads learned more than 4: recognizing a name takes several characters at once
    n_layer=2,
    n_head=8,
    n_embd=128,
    # drawing dropout masks takes a fifth of a step, and each example differs anyway
    dropout=0.0,
    # Facts need many steps rather than large batches: docs/accuracy.md lists what else was tried.
    pretrain=Stage(
        max_epochs=100,
        batch_size=12,
        learning_rate=1.5e-3,
        weight_decay=0.01,
        # gradients of small batches are noisy: 0.95 averages their squares over 20 batches only
        betas=(0.9, 0.99),
    ),
    # A few epochs bring out pretrained knowledge; many more would memorize these 80 people.
    finetune_from_scratch=Stage(
        max_epochs=40, batch_size=16, learning_rate=3e-4, weight_decay=0.01
    ),
    finetune_pretrained=Stage(max_epochs=10, batch_size=16, learning_rate=3e-4, weight_decay=0.01),
    threads=2,  # at most: on free cores, two train a quarter faster than one
)

# For tests: every job takes seconds and learns nothing.
SMOKE = Preset(
    name="smoke",
    data="laptop",
    block_size=80,
    n_layer=1,
    n_head=2,
    n_embd=16,
    dropout=0.1,
    pretrain=Stage(max_epochs=1, batch_size=64),
    finetune_from_scratch=Stage(max_epochs=1, batch_size=64),
    finetune_pretrained=Stage(max_epochs=1, batch_size=64),
    threads=1,
)

PRESETS = {preset.name: preset for preset in (LAPTOP, GPU, SMOKE)}
