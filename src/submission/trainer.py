"""The training loop: given, but worth reading from top to bottom.

`Trainer.train` is the loop and `one_step` a step of it. A resumed run gives the same bits as one
that was never interrupted, on a CPU with as many threads, if all chance is torch's. To be skipped:
given/epochs.py draws whole epochs ahead, given/cuda_graphs.py replays steps on NVIDIA GPUs.
"""

import math
import os
import time

import torch
from torch import distributed
from tqdm import tqdm

from .given.cuda_graphs import recorded
from .given.epochs import epochs_ahead, own_random_numbers
from .utils import TrainingError, choose_hardware, read_state, set_fields, write_state

STATE = ("epoch", "step", "tokens", "lr", "losses", "history")  # what a checkpoint has,
PARTS = ("model", "optimizer", "scaler")  # and what has a state_dict in it


class TrainerConfig:
    """Training settings. Any field can be set by keyword; an unknown name raises TypeError."""

    max_epochs = 10
    batch_size = 64
    learning_rate = 3e-4  # at its peak
    betas = (0.9, 0.95)  # of Adam
    grad_norm_clip = 1.0
    weight_decay = 0.1  # on the weights of linear layers only
    lr_decay = False  # linear warm-up, then a cosine down to a tenth of the peak
    # The schedule counts block_size tokens per example, however batches are cut.
    warmup_tokens = 512 * 20
    final_tokens = 260e9
    ckpt_path = None  # the checkpoint of an unfinished run; None writes none
    num_workers = 0  # processes that draw examples; the result does not depend on it
    writer = None  # a TensorBoard SummaryWriter
    device = None  # "cpu", "cuda", "mps", ...; None takes an NVIDIA GPU if there is one
    seed = 0  # for the order of examples, random choices within them, and dropout
    precision = "auto"  # "bf16", "fp16", "fp32"; auto: what this GPU is fast at
    graphs = True  # record steps as CUDA graphs, on an NVIDIA GPU: given/cuda_graphs.py
    resume = False  # continue from ckpt_path if it exists
    ckpt_seconds = 30  # minimum time between checkpoints, which are written after an epoch
    log_every = 20  # batches between two log entries
    progress = True  # show a progress bar

    def __init__(self, **kwargs):
        set_fields(self, kwargs)


def learning_rate_at(tokens: int, tokens_per_batch: int, config: TrainerConfig) -> float:
    """The learning rate after `tokens` tokens, with `tokens_per_batch` in each batch.

    Warm-up takes at least 1 / (1 - beta2) batches, the averaging window of Adam's second moment:
    before that, too few batches contribute to its estimate of the gradient's scale. After
    final_tokens the rate stays constant.
    """
    if not config.lr_decay:
        return config.learning_rate
    warmup = max(config.warmup_tokens, tokens_per_batch / (1 - config.betas[1]))
    if tokens < warmup:
        return config.learning_rate * tokens / warmup
    progress = min(1.0, (tokens - warmup) / max(1, config.final_tokens - warmup))
    return config.learning_rate * max(0.1, 0.5 * (1 + math.cos(math.pi * progress)))


class Trainer:
    """Trains a model on a dataset.

    Args:
        model: called as model(x, y), returns (logits, loss).
        train_dataset: items are (x, y), int64 tensors of one length, with 0 for padding.
        test_dataset: as in minGPT; not read here.
        config: a TrainerConfig; it may be changed until train() is called.

    `history` lists the log entries, {step, epoch, tokens, lr, loss} with the mean loss of the
    batches since the previous entry (nats per target).
    """

    def __init__(self, model, train_dataset, test_dataset, config: TrainerConfig):
        self.model, self.config = model, config
        self.train_dataset, self.test_dataset = train_dataset, test_dataset
        self.step, self.history = 0, []

    def train(self) -> None:
        """Train for config.max_epochs epochs; earlier calls do not count. The model stays on the
        training device.

        Raises:
            TrainingError: the loss became infinite or NaN, a step could not be recorded, or the
                checkpoint to resume from is unusable.
        """
        config = self.config
        self.prepare()
        tokens_per_batch = config.batch_size * self.row_size
        with recorded(self.one_step, self.device, self.graphs) as one_step, self.bar:
            for batches in epochs_ahead(self.train_dataset, config, self.epoch, self.device):
                self.bar.set_description(f"epoch {self.epoch + 1}/{config.max_epochs}", False)
                # dropout differs between epochs and processes, and is the same in a resumed run
                torch.manual_seed(hash((config.seed, self.epoch, self.rank)) % 2**63)
                for x, y in batches:
                    self.tokens += len(x) * self.row_size
                    self.lr = learning_rate_at(self.tokens, tokens_per_batch, config)
                    for group in self.optimizer.param_groups:
                        group["lr"].fill_(self.lr)
                    # the loss stays on the GPU until it is logged: reading it would wait for it
                    self.losses.append(one_step(x, y))
                    self.step += 1
                    self.bar.update()
                    if len(self.losses) >= config.log_every:
                        self.log_losses()
                self.epoch += 1
                if time.monotonic() - self.saved_at >= config.ckpt_seconds:
                    self.save_checkpoint()
            self.log_losses()
            self.optimizer.zero_grad()  # frees the gradients, which are in the graphs' memory

    def one_step(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Forward, backward and update on a batch, int64 (B, T); returns its mean loss."""
        share = 1.0
        if len(x) >= self.world > 1:  # of the batch's targets, of which rows have more or fewer
            targets = (y != 0).sum() / self.world
            x, y = x[self.rank :: self.world], y[self.rank :: self.world]
            share = (y != 0).sum() / targets
        self.optimizer.zero_grad()
        with torch.autocast(self.device.type, self.narrow, enabled=self.narrow is not None):
            _, loss = self.replica(x, y)
        # the scaler does nothing but in fp16, where the smallest gradients would be zero
        self.scaler.scale(loss * share).backward()
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.grad_norm_clip)
        self.scaler.step(self.optimizer)  # optimizer.step(), unless a gradient overflowed
        self.scaler.update()
        loss = loss.detach() * share / self.world
        if self.world > 1:
            distributed.all_reduce(loss)
        return loss

    def prepare(self) -> None:
        """Make all that the loop needs, and go to where an interrupted run was."""
        config, dataset = self.config, self.train_dataset
        self.epoch = self.step = self.tokens = 0
        self.history, self.losses = [], []  # losses that have not been logged yet
        self.device, self.precision, self.narrow = choose_hardware(config.device, config.precision)
        self.model.to(self.device).train()
        with own_random_numbers(config.seed):
            self.row_size = len(dataset[0][0])  # a broken dataset fails here
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.precision == "fp16")
        # under torchrun, each process trains a replica on a slice of the rows of each batch
        self.rank, self.world, self.replica = 0, 1, self.model
        if distributed.is_available() and distributed.is_initialized():
            self.rank, self.world = distributed.get_rank(), distributed.get_world_size()
            self.replica = torch.nn.parallel.DistributedDataParallel(self.model, static_graph=True)
        self.graphs = config.graphs and self.device.type == "cuda" and self.world == 1
        self.optimizer = self.make_optimizer()
        if config.resume and config.ckpt_path and os.path.exists(config.ckpt_path):
            self.load_checkpoint()
        self.saved_at = time.monotonic()
        steps = config.max_epochs * math.ceil(len(dataset) / config.batch_size)
        hidden = self.rank > 0 or not config.progress
        self.bar = tqdm(total=steps, initial=self.step, unit="batch", disable=hidden)

    def make_optimizer(self) -> torch.optim.Optimizer:
        """AdamW, with weight decay only on the weights of linear layers: gains, biases and
        embeddings have no reason to be small.
        """
        linear = {m.weight for m in self.model.modules() if isinstance(m, torch.nn.Linear)}
        decayed = [p for p in self.model.parameters() if p in linear]
        others = [p for p in self.model.parameters() if p not in linear]
        groups = [{"params": decayed}, {"params": others, "weight_decay": 0.0}]
        # a recorded step reads everything, the rate too, from a fixed place on the GPU
        rate = torch.tensor(self.config.learning_rate, device=self.device)
        options = {"betas": self.config.betas, "weight_decay": self.config.weight_decay}
        return torch.optim.AdamW(groups, rate, **options, fused=True, capturable=self.graphs)

    def log_losses(self) -> None:
        """Show and log the mean of the losses since the last entry.

        Raises:
            TrainingError: it is infinite or NaN, or no gradient has been finite for many steps.
        """
        if not self.losses:
            return
        loss, self.losses = torch.stack(self.losses).mean().item(), []
        entry = {"epoch": self.epoch, "tokens": self.tokens, "lr": self.lr, "loss": loss}
        self.history.append({"step": self.step, **entry})
        for name in ("lr", "loss") if self.config.writer is not None else ():
            self.config.writer.add_scalar(name, entry[name], self.step)
        # each step in fp16 whose gradients are not finite halves the scale, and changes no weight
        weights = torch.nn.utils.parameters_to_vector(self.model.parameters())
        finite = math.isfinite(loss) and weights.isfinite().all()
        if not finite or self.scaler.get_scale() < 1:
            raise TrainingError(
                f"{'gradients' if math.isfinite(loss) else 'the loss'} became infinite or NaN near "
                f"batch {self.step} (learning rate {self.lr:.1e}). The weights were not saved. "
                "Look for a division by zero or a log of zero in your code; if there is none, try "
                "a smaller learning rate, or precision fp32 instead of fp16."
            )
        self.bar.set_postfix_str(f"loss {loss:.3f}, lr {self.lr:.1e}", refresh=False)

    def save_checkpoint(self) -> None:
        """Write the checkpoint, unless weights are NaN."""
        self.saved_at = time.monotonic()
        weights = torch.nn.utils.parameters_to_vector(self.model.parameters())
        if self.config.ckpt_path and self.rank == 0 and weights.isfinite().all():
            state = {name: getattr(self, name) for name in STATE}
            state |= {name: getattr(self, name).state_dict() for name in PARTS}
            write_state(state, self.config.ckpt_path)

    def load_checkpoint(self) -> None:
        """Continue from the checkpoint; raise TrainingError if it cannot be read."""
        state = read_state(self.config.ckpt_path, self.device)
        # settings are this run's, with its own rate on its own device
        state["optimizer"]["param_groups"] = self.optimizer.state_dict()["param_groups"]
        for name in PARTS:
            if state[name]:  # a run in another precision had no scaler
                getattr(self, name).load_state_dict(state[name])
        vars(self).update({name: state[name] for name in STATE})
