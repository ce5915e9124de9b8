"""The training loop: given, but worth reading. `Trainer.train` is the loop, and `_one_step` a step.

The loop never waits for a GPU within a step, draws whole epochs of examples ahead in worker
processes, and cuts every batch to its longest row. An interrupted run resumes from its checkpoint;
on a CPU with as many threads, the result is bit-identical to an uninterrupted run. Under torchrun,
the processes share the rows of each batch. The folder given/ has how each of this is done.
"""

import math
import time

import torch
from tqdm import tqdm

from .given.checkpoint import Checkpoints, TrainingError
from .given.distributed import Processes
from .given.epochs import Epochs, epochs_ahead, own_random_numbers
from .given.hardware import Hardware
from .given.shares import shares
from .utils import set_fields


class TrainerConfig:
    """Training settings. Any field can be set by keyword; an unknown name raises TypeError."""

    max_epochs = 10
    batch_size = 64
    learning_rate = 3e-4  # at its peak
    betas = (0.9, 0.95)  # of Adam
    grad_norm_clip = 1.0
    weight_decay = 0.1  # on the weights of linear layers only
    lr_decay = False  # linear warm-up, then a cosine down to a tenth of the peak
    # The schedule counts block_size tokens per example, padding included, so that it does not
    # depend on how batches are cut.
    warmup_tokens = 512 * 20
    final_tokens = 260e9
    ckpt_path = None  # the checkpoint of an unfinished run; None writes none
    num_workers = 0  # processes that draw examples; the result does not depend on it
    writer = None  # a TensorBoard SummaryWriter

    device = None  # "cpu", "cuda", "mps", ...; None takes an NVIDIA GPU if there is one
    seed = 0  # for the order of examples, random choices within them, and dropout
    precision = "auto"  # "bf16", "fp16", "fp32"; auto: what this device is fast at
    # Record steps as CUDA graphs, on an NVIDIA GPU. What a model computes in a recorded step and
    # keeps (a table, say), later steps may overwrite: compute it in __init__.
    graphs = True
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

    On an NVIDIA GPU, steps are recorded and replayed (given/cuda_graphs.py): Python code in the
    model's forward that does not call torch, such as counting, printing or drawing from `random`,
    then runs only in the first steps. config.graphs = False disables this.
    """

    def __init__(self, model, train_dataset, test_dataset, config: TrainerConfig):
        self.model = model
        self.train_dataset = train_dataset
        self.test_dataset = test_dataset
        self.config = config
        self.history = []
        self.epoch = self.step = self.tokens = self.tokens_read = 0

    def train(self) -> None:
        """Train for config.max_epochs epochs; earlier calls do not count. The model stays on the
        training device.

        Raises:
            TrainingError: the loss became infinite or NaN, or the checkpoint to resume from is
                damaged or belongs to another run.
        """
        config = self.config
        self._prepare()
        with self.hardware.stream(), self._progress_bar() as self.bar:
            for x, y, batches in self._epochs():
                # dropout differs between processes, and is the same in a resumed run
                torch.manual_seed(hash((config.seed, self.epoch, self.processes.rank)) % 2**63)
                x, y = self.hardware.send(x), self.hardware.send(y)
                first = 0
                for rows, length in batches:
                    batch = slice(first, first + rows), slice(length)
                    self._set_learning_rate(rows)
                    # the loss stays on the GPU until it is logged: reading it would wait for it
                    self.unread_losses.append(self.one_step(x[batch], y[batch]))
                    self._count(rows, length)
                    first += rows
                self.epoch += 1
                if self.checkpoints.is_due():
                    self._mean_of_losses()  # raises, rather than save weights that are NaN
                    self.checkpoints.save()
            self._log_losses()

    def _one_step(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Forward, backward and update; returns the loss of the whole batch."""
        self.optimizer.zero_grad(set_to_none=True)
        losses = []
        for xs, ys, share in shares(x, y, self.processes.rank, self.processes.world, self.cut):
            with self.hardware.autocast():
                _, loss = self.replicas(xs, ys)
            loss = loss.mean() * share
            # the scaler does nothing but in float16, where the smallest gradients would be zero
            self.scaler.scale(loss).backward()
            losses.append(loss.detach())
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.grad_norm_clip)
        self.scaler.step(self.optimizer)  # optimizer.step(), unless a gradient overflowed
        self.scaler.update()
        return self.processes.mean(sum(losses))

    def _prepare(self) -> None:
        """Make all that the loop needs, and go to where an interrupted run was."""
        config = self.config
        self.history, self.unread_losses = [], []
        self.epoch = self.step = self.tokens = self.tokens_read = 0
        self.processes = Processes()
        self.hardware = Hardware(config.device, config.graphs and self.processes.world == 1)
        self.device = self.hardware.device
        self.model.to(self.device).train()
        with own_random_numbers(config.seed):
            x, y = self.train_dataset[0]  # a broken dataset fails here, before any training
        self.row_tokens = len(x)
        self.hardware.choose_precision(config.precision, self.model, x[None], y[None])
        self.scaler = self.hardware.make_scaler()
        self.optimizer = self._make_optimizer()
        # Almost half of a batch of unequal rows is padding, which costs a CPU as much as text.
        # Recorded steps would need more shapes.
        self.cut = self.device.type == "cpu"
        self.checkpoints = Checkpoints(self)
        if config.resume:
            self.checkpoints.resume()
        if steps := self.processes.differ_in(self.step, self.device):
            raise TrainingError(
                f"{config.ckpt_path} is not the same for all processes: some would start at step "
                f"{steps[0]}, others at {steps[1]}. Use a folder that all machines share."
            )
        self.replicas = self.processes.replicate(self.model)
        self.one_step = self.hardware.recorded(self._one_step)
        self.looked = (time.monotonic(), self.tokens_read)

    def _make_optimizer(self) -> torch.optim.Optimizer:
        """AdamW, with weight decay only on the weights of linear layers: gains, biases and
        embeddings have no reason to be small.
        """
        linear = (m for m in self.model.modules() if isinstance(m, torch.nn.Linear))
        decayed = {module.weight for module in linear}
        parameters = list(self.model.parameters())
        groups = [
            {
                "params": [p for p in parameters if p in decayed],
                "weight_decay": self.config.weight_decay,
            },
            {"params": [p for p in parameters if p not in decayed], "weight_decay": 0.0},
        ]
        return self.hardware.make_adamw(groups, self.config.learning_rate, self.config.betas)

    def _epochs(self):
        """The remaining epochs, drawn ahead."""
        config, hardware = self.config, self.hardware
        epochs = Epochs(self.train_dataset, config.batch_size, config.seed, hardware.width_multiple)
        return epochs_ahead(
            epochs, self.epoch, config.max_epochs, config.num_workers, hardware.is_cuda
        )

    def _set_learning_rate(self, rows: int) -> None:
        self.tokens += rows * self.row_tokens
        self.lr = learning_rate_at(
            self.tokens, self.config.batch_size * self.row_tokens, self.config
        )
        self.hardware.set_rate(self.optimizer, self.lr)

    def _count(self, rows: int, length: int) -> None:
        self.step += 1
        self.tokens_read += rows * length
        self.bar.update()
        if len(self.unread_losses) >= self.config.log_every:
            self._log_losses()

    def _progress_bar(self) -> tqdm:
        batches_per_epoch = math.ceil(len(self.train_dataset) / self.config.batch_size)
        return tqdm(
            total=self.config.max_epochs * batches_per_epoch,
            initial=self.step,
            unit="batch",
            dynamic_ncols=True,
            mininterval=0.5,
            disable=not self.config.progress or self.processes.rank > 0,
        )

    def _mean_of_losses(self) -> float:
        """The mean of the losses that have not been logged yet; raises TrainingError if it is not
        finite, or if no gradient has been for many steps.
        """
        loss = torch.stack(self.unread_losses).mean().item() if self.unread_losses else 0.0
        broken = None if math.isfinite(loss) else f"the loss became {loss}"
        # each step whose gradients are not finite halves the scale, and changes no weight
        if self.scaler.get_scale() < 1:
            broken = "gradients became infinite or NaN"
        if broken:
            if self.config.writer is not None:  # a log or monitor should see it
                self.config.writer.add_scalar("loss", loss, self.step)
            raise TrainingError(
                f"{broken} near batch {self.step} (learning rate {self.lr:.1e}). The "
                "weights were not saved. Look for a division by zero or a log of zero in your "
                "code; if there is none, try a smaller learning rate"
                f"{', or precision fp32' if self.hardware.precision == 'fp16' else ''}."
            )
        return loss

    def _log_losses(self) -> None:
        """Fetch the losses since the last log entry; show and log their mean."""
        if not self.unread_losses:
            return
        loss = self._mean_of_losses()
        self.unread_losses = []
        (before, tokens_before), self.looked = self.looked, (time.monotonic(), self.tokens_read)
        speed = (self.tokens_read - tokens_before) / max(1e-9, self.looked[0] - before)
        self.bar.set_postfix_str(
            f"epoch {min(self.epoch + 1, self.config.max_epochs)}/{self.config.max_epochs}, loss "
            f"{loss:.3f}, lr {self.lr:.1e}, {speed / 1000:.1f}k tokens/s",
            refresh=False,
        )
        self._log(loss=loss)

    def _log(self, **values: float) -> None:
        self.history.append(
            {"step": self.step, "epoch": self.epoch, "tokens": self.tokens, "lr": self.lr, **values}
        )
        if self.config.writer is not None:
            for name, value in {"lr": self.lr, **values}.items():
                self.config.writer.add_scalar(name, value, self.step)
