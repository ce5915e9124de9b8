"""Checkpoints of an unfinished training: given."""

import os
import time
import zlib
from pathlib import Path

import torch

# What must match for a checkpoint to belong to a training, besides its data and model.
SETTINGS = (
    "max_epochs",
    "batch_size",
    "learning_rate",
    "betas",
    "grad_norm_clip",
    "weight_decay",
    "lr_decay",
    "warmup_tokens",
    "final_tokens",
    "seed",
)
STATE = ("epoch", "step", "tokens", "tokens_read", "lr", "history", "unread_losses")


class TrainingError(RuntimeError):
    """Training cannot start or continue; the message says why and what to try."""


class Checkpoints:
    """The checkpoint of a Trainer, in the file config.ckpt_path: its weights, the optimizer's
    state, and where it is.

    Make it before the first step: the initial weights are part of what identifies a training.
    """

    def __init__(self, trainer):
        self.trainer, self.config = trainer, trainer.config
        self.path = Path(trainer.config.ckpt_path) if trainer.config.ckpt_path else None
        self.identity = _identify(trainer)
        self.saved_at = time.monotonic()

    def is_due(self) -> bool:
        """Whether this process keeps checkpoints, and the last one is config.ckpt_seconds old."""
        return (
            self.path is not None
            and self.trainer.processes.rank == 0
            and time.monotonic() - self.saved_at >= self.config.ckpt_seconds
        )

    def save(self) -> None:
        """Write the checkpoint, or say why it could not be written: a full disk may have room again
        by the end of the training.
        """
        temporary = self.path.with_name(self.path.name + ".tmp")
        parts = {"identity": self.identity}
        parts["state"] = {name: getattr(self.trainer, name) for name in STATE}
        parts |= {name: part.state_dict() for name, part in self._parts().items()}
        try:
            torch.save(parts, temporary)
            os.replace(temporary, self.path)
        except (OSError, RuntimeError) as error:
            temporary.unlink(missing_ok=True)
            self.trainer.bar.write(
                f"The checkpoint {self.path} could not be written "
                f"({str(error).splitlines()[0]}); training continues."
            )
        self.saved_at = time.monotonic()

    def resume(self) -> None:
        """Continue from the checkpoint, if there is one.

        Raises:
            TrainingError: it is damaged, or belongs to another training.
        """
        if self.path is None or not self.path.exists():
            return
        anew = "Delete it, or leave out --resume, to start at the beginning."
        try:
            checkpoint = torch.load(self.path, map_location="cpu", weights_only=True)
            found = checkpoint["identity"]
        except Exception:  # a damaged file can raise almost anything
            raise TrainingError(f"the checkpoint {self.path} is damaged. {anew}") from None
        for name, value in self.identity.items():
            if found.get(name) != value:
                raise TrainingError(
                    f"the checkpoint {self.path} belongs to another run: its {name} differs. {anew}"
                )
        optimizer = self.trainer.optimizer
        own = [
            {k: v for k, v in group.items() if k != "params"} for group in optimizer.param_groups
        ]
        for name, part in self._parts().items():
            if name in checkpoint:  # a run in another precision had no scaler
                part.load_state_dict(checkpoint[name])
        for group, settings in zip(optimizer.param_groups, own):
            group.update(settings)  # e.g. this run's tensor for the learning rate
        for name, value in checkpoint["state"].items():
            setattr(self.trainer, name, value)
        losses = self.trainer.unread_losses
        self.trainer.unread_losses = [loss.to(self.trainer.device) for loss in losses]

    def _parts(self):
        trainer = self.trainer
        parts = {"model": trainer.model, "optimizer": trainer.optimizer}
        return parts | ({"scaler": trainer.scaler} if trainer.scaler.is_enabled() else {})


def _identify(trainer):
    dataset, model = trainer.train_dataset, trainer.model
    data = zlib.crc32(
        repr((getattr(dataset, "data", len(dataset)), getattr(dataset, "stoi", None))).encode()
    )
    weights = 0
    for parameter in model.parameters():
        weights = zlib.crc32(parameter.detach().cpu().numpy().tobytes(), weights)
    sizes = vars(model.config) if hasattr(model, "config") else {}
    return {
        **{name: getattr(trainer.config, name) for name in SETTINGS},
        "data": data,
        "model": str(sorted(sizes.items())),
        "initialization": weights,
    }
