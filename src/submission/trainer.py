"""The training loop: given, but worth reading.

The loop never waits for the GPU within a step, draws whole epochs of examples ahead in worker
processes, and cuts every batch to its longest row. An interrupted run resumes from its checkpoint;
on a CPU the result is bit-identical to an uninterrupted run. Under torchrun, the processes share
the rows of each batch.
"""

import contextlib
import math
import os
import shutil
import sys
import time
import warnings
import zlib
from pathlib import Path

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from tqdm import tqdm

from .given.cuda_graphs import RecordedSteps
from .given.epochs import Epochs, in_pieces, own_random_numbers
from .utils import set_fields


class TrainingError(RuntimeError):
    """Training cannot start or continue; the message says why and what to try."""


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

    device = None  # "cpu", "cuda", ...; None takes a GPU if there is one
    seed = 0  # for the order of examples, random choices within them, and dropout
    precision = "auto"  # "bf16", "fp32"; auto: bf16 on GPUs that are fast at it
    compile = False  # torch.compile the model
    graphs = True  # record steps as CUDA graphs, on a GPU
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
        test_dataset: a dataset whose loss is computed after every epoch, or None.
        config: a TrainerConfig; it may be changed until train() is called.

    `history` lists the log entries, {step, epoch, tokens, lr, loss} with the mean loss of the
    batches since the previous entry (nats per target), and test_loss at the end of an epoch.

    On an NVIDIA GPU, steps are recorded and replayed (given/cuda_graphs.py): Python code in the
    model's forward that does not call torch, such as counting, printing or drawing from `random`,
    then runs only in the first steps. config.graphs = False disables this.
    """

    RESUMED = ("epoch", "step", "tokens", "tokens_read", "lr", "history", "unread_losses")

    def __init__(self, model, train_dataset, test_dataset, config: TrainerConfig):
        self.model = model
        self.train_dataset = train_dataset
        self.test_dataset = test_dataset
        self.config = config
        self.history = []
        self.rank, self.world, self.graphs = 0, 1, False
        self.epoch = self.step = self.tokens = self.tokens_read = 0

    def train(self) -> None:
        """Train for config.max_epochs epochs; earlier calls do not count. The model stays on the
        training device.

        Raises:
            TrainingError: the loss became infinite or NaN, or the checkpoint to resume from is
                damaged or belongs to another run.
        """
        config = self.config
        self.history = []
        self.epoch = self.step = self.tokens = self.tokens_read = 0
        self.device = torch.device(
            config.device or ("cuda" if torch.cuda.is_available() else "cpu")
        )
        if distributed.is_available() and distributed.is_initialized():
            self.rank, self.world = distributed.get_rank(), distributed.get_world_size()
        self.graphs = config.graphs and self.device.type == "cuda" and self.world == 1
        self.model.to(self.device).train()
        self.optimizer = self._make_optimizer()
        with own_random_numbers(config.seed):
            x, y = self.train_dataset[0]  # a broken dataset fails here, before any training
        self.row_tokens = len(x)
        self.unread_losses = []
        self.precision = self._choose_precision(x[None], y[None])
        if config.compile:
            # without a compiler, or where it fails, train uncompiled
            torch._dynamo.config.suppress_errors = True
            self.model.compile()  # in place: the state_dict keeps its names
        self.identity = self._identify()
        if config.resume and config.ckpt_path and Path(config.ckpt_path).exists():
            self._load_checkpoint()

        if self.world > 1:
            self._require_same_step()
            self.replicas = DistributedDataParallel(
                self.model, forward_sync_buffers=False, static_graph=True
            )
        else:
            self.replicas = self.model
        self.one_step = RecordedSteps(self._one_step) if self.graphs else self._one_step

        batches_per_epoch = math.ceil(len(self.train_dataset) / config.batch_size)
        saved_at = time.monotonic()
        with (
            self._stream(),
            tqdm(
                total=config.max_epochs * batches_per_epoch,
                initial=self.step,
                unit="batch",
                dynamic_ncols=True,
                mininterval=0.5,
                disable=not config.progress or self.rank > 0,
            ) as self.bar,
        ):
            self.looked = (time.monotonic(), self.tokens_read)
            for x, y, batches in self._draw_epochs():
                # Dropout differs between processes, and is the same in a resumed run.
                torch.manual_seed(hash((config.seed, self.epoch, self.rank)) % 2**63)
                x, y = (tokens.to(self.device, non_blocking=True).long() for tokens in (x, y))
                first = 0
                for rows, length in batches:
                    self._train_on(
                        x[first : first + rows, :length], y[first : first + rows, :length]
                    )
                    first += rows
                self.epoch += 1
                if self.test_dataset is not None:
                    self._log(test_loss=self.test_loss())
                if (
                    config.ckpt_path
                    and self.rank == 0
                    and time.monotonic() - saved_at >= config.ckpt_seconds
                ):
                    self._mean_of_losses()  # raises, rather than save weights that are NaN
                    self._save_checkpoint()
                    saved_at = time.monotonic()
            self._look_at_losses()

    @torch.no_grad()
    def test_loss(self) -> float:
        """The mean loss over test_dataset in nats per target; the same examples at every call."""
        x, y, _ = Epochs(self.test_dataset, self.config.batch_size, self.config.seed)[0]
        self.model.eval()
        total = 0.0
        for xs, ys in zip(
            x.long().split(self.config.batch_size), y.long().split(self.config.batch_size)
        ):
            _, loss = self.model(xs.to(self.device), ys.to(self.device))
            total += loss.item() * (ys != 0).sum().item()
        self.model.train()
        return total / (y != 0).sum().item()

    def _draw_epochs(self):
        """The remaining epochs, drawn ahead by worker processes on systems that can fork."""
        config = self.config
        number = self._room_for_workers() if sys.platform.startswith("linux") else 0
        workers = {"num_workers": number, "multiprocessing_context": "fork", "prefetch_factor": 1}
        # a few more columns cost a GPU almost no time
        multiple = 16 if self.device.type == "cuda" else 1
        return DataLoader(
            Epochs(self.train_dataset, config.batch_size, config.seed, multiple),
            batch_size=None,
            sampler=range(self.epoch, config.max_epochs),
            pin_memory=self.device.type == "cuda",
            **(workers if number else {}),
        )

    def _room_for_workers(self) -> int:
        """The number of workers that fit: epochs drawn ahead are in /dev/shm, which is small in
        many containers.
        """
        shared = Path("/dev/shm")
        if not self.config.num_workers or not shared.is_dir():
            return 0
        # bytes per token, as in Epochs
        token = 2 if getattr(self.train_dataset, "vocab_size", 2**31) < 2**15 else 4
        epoch = len(self.train_dataset) * self.row_tokens * 2 * token  # x and y
        # Each worker needs room for three epochs: one waits, one is drawn, one is read. The other
        # processes on this machine need as much.
        room = (
            shutil.disk_usage(shared).free
            // (3 * epoch)
            // int(os.environ.get("LOCAL_WORLD_SIZE", 1))
        )
        if room < self.config.num_workers and self.rank == 0:
            print(
                f"{shared} has space for only {room} of {self.config.num_workers} data-loading "
                "workers, so training may be slower."
            )
        return min(self.config.num_workers, room)

    def _require_same_step(self) -> None:
        """Check that all processes start at the same step: one that does not see the others'
        checkpoint would wait forever.
        """
        least, most = (torch.tensor(self.step, device=self.device) for _ in range(2))
        distributed.all_reduce(least, distributed.ReduceOp.MIN)
        distributed.all_reduce(most, distributed.ReduceOp.MAX)
        if least != most:
            raise TrainingError(
                f"{self.config.ckpt_path} is not the same for all processes: some would start at "
                f"step {least}, others at {most}. Use a folder that all machines share."
            )

    @contextlib.contextmanager
    def _stream(self):
        """Run the block on a separate CUDA stream: graphs cannot be recorded on the default one."""
        if not self.graphs:
            yield
            return
        stream, shared = torch.cuda.Stream(self.device), torch.cuda.current_stream(self.device)
        stream.wait_stream(shared)
        try:
            with torch.cuda.stream(stream):
                yield
        finally:
            shared.wait_stream(stream)

    def _make_optimizer(self) -> torch.optim.Optimizer:
        """AdamW, with weight decay only on the weights of linear layers: gains, biases and
        embeddings have no reason to be small.
        """
        decayed = {
            module.weight for module in self.model.modules() if isinstance(module, torch.nn.Linear)
        }
        groups = [
            {
                "params": [p for p in self.model.parameters() if p in decayed],
                "weight_decay": self.config.weight_decay,
            },
            {
                "params": [p for p in self.model.parameters() if p not in decayed],
                "weight_decay": 0.0,
            },
        ]
        fused = self.device.type in ("cpu", "cuda")
        # A CUDA graph reads everything, including the learning rate, from a fixed address on the
        # GPU. (AdamW warns that this is useless before anything is recorded.)
        warnings.filterwarnings("ignore", message="This instance was constructed with capturable")
        rate = (
            torch.tensor(self.config.learning_rate, device=self.device)
            if self.graphs
            else self.config.learning_rate
        )
        return torch.optim.AdamW(
            groups, lr=rate, betas=self.config.betas, fused=fused, capturable=self.graphs
        )

    def _choose_precision(self, x: torch.Tensor, y: torch.Tensor) -> str:
        """The precision for "auto": bf16 on GPUs with hardware for it (Ampere, 2020, and later), if
        the model supports it.
        """
        if self.config.precision != "auto":
            return self.config.precision
        if self.device.type != "cuda" or torch.cuda.get_device_capability(self.device) < (8, 0):
            return "fp32"
        x, y = x.to(self.device), y.to(self.device)
        try:
            with torch.autocast("cuda", torch.bfloat16), torch.no_grad():
                self.model(x, y)
            return "bf16"
        except RuntimeError as error:
            with torch.no_grad():
                self.model(x, y)  # errors unrelated to bfloat16 are raised here
            print(
                "Training in float32, since the model fails in bfloat16: "
                f"{str(error).splitlines()[0]}"
            )
            return "fp32"

    def _autocast(self):
        bf16 = self.precision == "bf16"
        return (
            torch.autocast(self.device.type, torch.bfloat16) if bf16 else contextlib.nullcontext()
        )

    def _train_on(self, x: torch.Tensor, y: torch.Tensor) -> None:
        """Train on one batch without waiting for the GPU: the loss stays there until logged."""
        config = self.config
        self.tokens += x.size(0) * self.row_tokens
        self.lr = learning_rate_at(self.tokens, config.batch_size * self.row_tokens, config)
        for group in self.optimizer.param_groups:
            if self.graphs:
                group["lr"].fill_(self.lr)
            else:
                group["lr"] = self.lr
        self.unread_losses.append(self.one_step(x, y))
        self.step += 1
        self.tokens_read += x.numel()
        self.bar.update()
        if len(self.unread_losses) >= config.log_every:
            self._look_at_losses()

    def _one_step(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        """Forward, backward and update; returns the loss of the whole batch."""
        self.optimizer.zero_grad(set_to_none=True)
        losses = []
        for xs, ys, share in self._shares(x, y):
            with self._autocast():
                _, loss = self.replicas(xs, ys)
            loss = loss.mean() * share
            loss.backward()
            losses.append(loss.detach())
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.grad_norm_clip)
        self.optimizer.step()
        loss = sum(losses)
        if self.world > 1:
            distributed.all_reduce(loss)
        return loss / self.world

    def _shares(self, x: torch.Tensor, y: torch.Tensor) -> list[tuple]:
        """What this process trains on in a step, as pieces (x, y, weight of the loss). A loss is a
        mean, so with the shares of the targets as weights, gradients add up to the batch's.
        """
        # a batch with fewer rows than processes is not split
        if self.world > 1 and len(x) >= self.world:
            pieces = [(x[self.rank :: self.world], y[self.rank :: self.world])]
        # Almost half of a batch of unequal rows is padding, which costs a CPU as much as text.
        # Graphs and compiled code would need more shapes.
        elif self.world == 1 and self.device.type == "cpu" and not self.config.compile:
            pieces = in_pieces(x, y)
        else:
            return [(x, y, 1.0)]
        # gradients are averaged over the processes
        targets = (y != 0).sum() / self.world
        return [(xs, ys, (ys != 0).sum() / targets) for xs, ys in pieces]

    def _mean_of_losses(self) -> float:
        """The mean of the losses that have not been logged yet; raises TrainingError if it is not
        finite.
        """
        loss = torch.stack(self.unread_losses).mean().item() if self.unread_losses else 0.0
        if not math.isfinite(loss):
            if self.config.writer is not None:  # a log or monitor should see it
                self.config.writer.add_scalar("loss", loss, self.step)
            raise TrainingError(
                f"the loss became {loss} near batch {self.step} (learning rate {self.lr:.1e}). The "
                "weights were not saved. Look for a division by zero or a log of zero in your "
                "code; if there is none, try a smaller learning rate."
            )
        return loss

    def _look_at_losses(self) -> None:
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

    def _identify(self) -> dict:
        """What must match for a checkpoint to belong to this run; call it before the first step."""
        fields = (
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
        dataset = self.train_dataset
        data = zlib.crc32(
            repr((getattr(dataset, "data", len(dataset)), getattr(dataset, "stoi", None))).encode()
        )
        weights = 0
        for parameter in self.model.parameters():
            weights = zlib.crc32(parameter.detach().cpu().numpy().tobytes(), weights)
        sizes = vars(self.model.config) if hasattr(self.model, "config") else {}
        return {
            "data": data,
            "model": str(sorted(sizes.items())),
            "initial weights": weights,
            **{name: getattr(self.config, name) for name in fields},
        }

    def _save_checkpoint(self) -> None:
        path = Path(self.config.ckpt_path)
        temporary = path.with_name(path.name + ".tmp")
        state = {name: getattr(self, name) for name in self.RESUMED}
        try:
            torch.save(
                {
                    "identity": self.identity,
                    "model": self.model.state_dict(),
                    "state": state,
                    "optimizer": self.optimizer.state_dict(),
                },
                temporary,
            )
            os.replace(temporary, path)
        # e.g. a full disk; there may be room again by the end of training
        except (OSError, RuntimeError) as error:
            temporary.unlink(missing_ok=True)
            self.bar.write(
                f"The checkpoint {path} could not be written ({str(error).splitlines()[0]}); "
                "training continues."
            )

    def _load_checkpoint(self) -> None:
        path = self.config.ckpt_path
        anew = "Delete it, or leave out --resume, to start at the beginning."
        try:
            checkpoint = torch.load(path, map_location="cpu", weights_only=True)
            found = checkpoint["identity"]
        except Exception:  # a damaged file can raise almost anything
            raise TrainingError(f"the checkpoint {path} is damaged. {anew}") from None
        for name, value in self.identity.items():
            if found.get(name) != value:
                raise TrainingError(
                    f"the checkpoint {path} belongs to another run: its {name} differs. {anew}"
                )
        self.model.load_state_dict(checkpoint["model"])
        settings = [
            {name: value for name, value in group.items() if name != "params"}
            for group in self.optimizer.param_groups
        ]
        self.optimizer.load_state_dict(checkpoint["optimizer"])
        for group, own in zip(self.optimizer.param_groups, settings):
            group.update(own)  # e.g. this run's tensor for the learning rate
        for name in self.RESUMED:
            setattr(self, name, checkpoint["state"][name])
        self.unread_losses = [loss.to(self.device) for loss in self.unread_losses]
