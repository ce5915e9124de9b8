"""The training loop: given, but worth reading.

The loop never waits for the GPU within a step, draws whole epochs of examples ahead in worker processes, and cuts
every batch to its longest row. An interrupted run resumes from its checkpoint; on a CPU the result is the same to the
bit as if it had not been interrupted.
"""
import contextlib
import math
import os
import random
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm

from .utils import set_fields


class TrainingError(RuntimeError):
    """A training cannot begin or go on; the message says why, and what to try."""


class TrainerConfig:
    """Hyperparameters and settings of a training. Any field can be set by keyword; an unknown name raises TypeError."""
    max_epochs = 10
    batch_size = 64
    learning_rate = 3e-4            # at its peak
    betas = (0.9, 0.95)             # of Adam
    grad_norm_clip = 1.0
    weight_decay = 0.1              # on the weights of linear layers only
    lr_decay = False                # linear warm-up, then a cosine down to a tenth of the peak
    warmup_tokens = 512 * 20        # the schedule counts block_size tokens for every example, padding included,
    final_tokens = 260e9            # so that it doesn't depend on how tightly batches are packed
    ckpt_path = None                # where the state of an unfinished training is kept; None keeps none
    num_workers = 0                 # processes that draw examples; the result does not depend on it
    writer = None                   # a TensorBoard SummaryWriter

    device = None                   # "cpu", "cuda", ...; None takes a GPU where there is one
    seed = 0                        # of the order of examples, of what is drawn from them, and of dropout
    precision = "auto"              # "bf16", "fp32"; auto: bf16 on GPUs that are fast at it
    compile = False                 # torch.compile the model
    resume = False                  # go on from ckpt_path if it is there
    ckpt_seconds = 30               # a checkpoint at the end of an epoch, at most this often
    log_every = 20                  # batches between two looks at the loss
    progress = True                 # show a progress bar

    def __init__(self, **kwargs):
        set_fields(self, kwargs)


def learning_rate_at(tokens: int, tokens_per_batch: int, config: TrainerConfig) -> float:
    """The learning rate after `tokens` tokens, of batches of `tokens_per_batch`.

    Warm-up takes at least 1 / (1 - beta2) batches, the memory of Adam's second moment: until then, its estimate of the
    gradient's scale rests on too few batches. After final_tokens the rate stays where the cosine ended.
    """
    if not config.lr_decay:
        return config.learning_rate
    warmup = max(config.warmup_tokens, tokens_per_batch / (1 - config.betas[1]))
    if tokens < warmup:
        return config.learning_rate * tokens / warmup
    progress = min(1.0, (tokens - warmup) / max(1, config.final_tokens - warmup))
    return config.learning_rate * max(0.1, 0.5 * (1 + math.cos(math.pi * progress)))


@contextlib.contextmanager
def own_random_numbers(seed: int):
    """Seed Python's, NumPy's and torch's random numbers on the CPU within a block, and leave them as they were after it."""
    before = random.getstate(), np.random.get_state(), torch.get_rng_state()
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch.default_generator.manual_seed(seed)       # torch.manual_seed would disturb dropout on the GPUs
    try:
        yield
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])
        torch.set_rng_state(before[2])


class Epochs(Dataset):
    """Item e of this dataset is the whole of epoch e, drawn from the seed and e alone, whichever process draws it.

    Rows of similar length are batched together: random truncation leaves more than half of a fixed-length batch empty.
    """

    WINDOW = 16     # so many batches are sorted by length among themselves

    def __init__(self, dataset: Dataset, batch_size: int, seed: int):
        self.dataset = dataset
        self.batch_size = batch_size
        self.seed = seed

    def __len__(self) -> int:
        return 2**31    # there is always another epoch

    def __getitem__(self, epoch: int) -> tuple[torch.Tensor, torch.Tensor, list[tuple[int, int]]]:
        """Draw an epoch; all random number generators are left as they were.

        Returns:
            x and y, int32, (rows of the dataset, T), in the order of training, and the batches to cut them into:
            (rows, longest row) each.
        """
        with own_random_numbers(hash((self.seed, epoch)) % 2**63):
            rows = [self.dataset[i] for i in torch.randperm(len(self.dataset)).tolist()]
            x, y = (torch.stack(column) for column in zip(*rows))
            # The columns at the end where both x and y are padding can go: nothing before them sees them.
            used = ((x != 0) | (y != 0)).int()
            length = x.size(1) - used.flip(1).argmax(1)
            batches = []
            for window in torch.arange(len(rows)).split(self.WINDOW * self.batch_size):
                batches += window[length[window].argsort(stable=True)].split(self.batch_size)
            batches = [batches[i] for i in torch.randperm(len(batches)).tolist()]
        order = torch.cat(batches)
        return x[order].int(), y[order].int(), [(len(batch), int(length[batch].max())) for batch in batches]


class Trainer:
    """Trains a model on a dataset.

    Args:
        model: called as model(x, y), returns (logits, loss).
        train_dataset: items are (x, y), int64 tensors of one length, with 0 for padding.
        test_dataset: a dataset whose loss is taken after every epoch, or None.
        config: a TrainerConfig; it may be changed until train() is called.

    `history` lists what was logged in training, {step, epoch, tokens, lr, loss} with the mean loss of the batches since
    the entry before (nats per target), and test_loss at the end of an epoch.
    """

    RESUMED = ("epoch", "step", "tokens", "tokens_read", "lr", "history", "unread_losses")

    def __init__(self, model, train_dataset, test_dataset, config: TrainerConfig):
        self.model = model
        self.train_dataset = train_dataset
        self.test_dataset = test_dataset
        self.config = config
        self.history = []
        self.epoch = self.step = self.tokens = self.tokens_read = 0

    def train(self) -> None:
        """Train for config.max_epochs epochs. The model stays on the device that it was trained on.

        Raises:
            TrainingError: the loss became infinite or not a number, or the checkpoint to resume from is damaged or of
                another training.
        """
        config = self.config
        self.device = torch.device(config.device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.model.to(self.device).train()
        self.optimizer = self._make_optimizer()
        if config.compile:
            torch._dynamo.config.suppress_errors = True     # without a compiler, or where it fails, train uncompiled
            self.model.compile()                        # in place: the state_dict keeps its names
        with own_random_numbers(config.seed):
            x, y = self.train_dataset[0]                # also: a dataset that cannot work fails here, at once
        self.row_tokens = len(x)
        self.unread_losses = []
        self.precision = self._choose_precision(x[None], y[None])
        self.identity = self._identify()
        if config.resume and config.ckpt_path and Path(config.ckpt_path).exists():
            self._load_checkpoint()

        batches_per_epoch = math.ceil(len(self.train_dataset) / config.batch_size)
        saved_at = time.monotonic()
        with tqdm(total=config.max_epochs * batches_per_epoch, initial=self.step, unit="batch", dynamic_ncols=True,
                  mininterval=0.5, disable=not config.progress) as self.bar:
            self.looked = (time.monotonic(), self.tokens_read)
            for x, y, batches in self._draw_epochs():
                x, y = (tokens.to(self.device, non_blocking=True).long() for tokens in (x, y))
                first = 0
                for rows, length in batches:
                    self._train_on(x[first:first + rows, :length], y[first:first + rows, :length])
                    first += rows
                self.epoch += 1
                if self.test_dataset is not None:
                    self._log(test_loss=self.test_loss())
                if config.ckpt_path and time.monotonic() - saved_at >= config.ckpt_seconds:
                    self._mean_of_losses()              # stop here rather than save weights that are no numbers
                    self._save_checkpoint()
                    saved_at = time.monotonic()
            self._look_at_losses()

    @torch.no_grad()
    def test_loss(self) -> float:
        """The mean loss over test_dataset in nats per target; the same examples at every call."""
        x, y, _ = Epochs(self.test_dataset, self.config.batch_size, self.config.seed)[0]
        self.model.eval()
        total = 0.0
        for xs, ys in zip(x.long().split(self.config.batch_size), y.long().split(self.config.batch_size)):
            _, loss = self.model(xs.to(self.device), ys.to(self.device))
            total += loss.item() * (ys != 0).sum().item()
        self.model.train()
        return total / (y != 0).sum().item()

    def _draw_epochs(self):
        """The epochs that are left, drawn ahead by worker processes where this system can fork them."""
        config = self.config
        can_fork = sys.platform.startswith("linux")
        workers = {"num_workers": config.num_workers, "multiprocessing_context": "fork", "prefetch_factor": 1}
        # A generator of its own: a DataLoader draws a number when it starts, which would shift dropout in a resumed run.
        return DataLoader(Epochs(self.train_dataset, config.batch_size, config.seed), batch_size=None,
                          sampler=range(self.epoch, config.max_epochs), pin_memory=self.device.type == "cuda",
                          generator=torch.Generator(), **(workers if config.num_workers and can_fork else {}))

    def _make_optimizer(self) -> torch.optim.Optimizer:
        """AdamW. Only the weights of linear layers decay: gains, biases and embeddings have no reason to be small."""
        decayed = {module.weight for module in self.model.modules() if isinstance(module, torch.nn.Linear)}
        groups = [{"params": [p for p in self.model.parameters() if p in decayed], "weight_decay": self.config.weight_decay},
                  {"params": [p for p in self.model.parameters() if p not in decayed], "weight_decay": 0.0}]
        fused = self.device.type in ("cpu", "cuda")
        return torch.optim.AdamW(groups, lr=self.config.learning_rate, betas=self.config.betas, fused=fused)

    def _choose_precision(self, x: torch.Tensor, y: torch.Tensor) -> str:
        """bf16 pays on GPUs that have units for it (Ampere, 2020, and later), if the model can compute in it."""
        if self.config.precision != "auto":
            return self.config.precision
        if self.device.type != "cuda" or torch.cuda.get_device_capability(self.device) < (8, 0):
            return "fp32"
        try:
            with torch.autocast("cuda", torch.bfloat16), torch.no_grad():
                self.model(x.to(self.device), y.to(self.device))
            return "bf16"
        except RuntimeError as error:
            print(f"Training in float32, since the model fails in bfloat16: {str(error).splitlines()[0]}")
            return "fp32"

    def _autocast(self):
        bf16 = self.precision == "bf16"
        return torch.autocast(self.device.type, torch.bfloat16) if bf16 else contextlib.nullcontext()

    def _train_on(self, x: torch.Tensor, y: torch.Tensor) -> None:
        """One step. Nothing here waits for a GPU: the loss stays there until it is looked at."""
        config = self.config
        self.tokens += x.size(0) * self.row_tokens
        self.lr = learning_rate_at(self.tokens, config.batch_size * self.row_tokens, config)
        for group in self.optimizer.param_groups:
            group["lr"] = self.lr
        with self._autocast():
            _, loss = self.model(x, y)
        loss = loss.mean()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), config.grad_norm_clip)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        self.tokens_read += x.numel()
        self.unread_losses.append(loss.detach())
        self.bar.update()
        if len(self.unread_losses) >= config.log_every:
            self._look_at_losses()

    def _mean_of_losses(self) -> float:
        """The mean of the losses that nobody has looked at yet; raises TrainingError if it is no finite number."""
        loss = torch.stack(self.unread_losses).mean().item() if self.unread_losses else 0.0
        if not math.isfinite(loss):
            if self.config.writer is not None:      # a log, or a monitor, has to know
                self.config.writer.add_scalar("loss", loss, self.step)
            raise TrainingError(
                f"the loss became {loss} near batch {self.step} (learning rate {self.lr:.1e}). The weights were not saved. Look "
                "for a division by zero or a log of zero in your code; if there is none, try a smaller learning rate.")
        return loss

    def _look_at_losses(self) -> None:
        """Fetch the losses since the last look, and show and log their mean."""
        if not self.unread_losses:
            return
        loss = self._mean_of_losses()
        self.unread_losses = []
        (before, tokens_before), self.looked = self.looked, (time.monotonic(), self.tokens_read)
        speed = (self.tokens_read - tokens_before) / max(1e-9, self.looked[0] - before)
        self.bar.set_postfix_str(f"epoch {min(self.epoch + 1, self.config.max_epochs)}/{self.config.max_epochs}, loss {loss:.3f}, lr {self.lr:.1e}, "
                                 f"{speed / 1000:.1f}k tokens/s", refresh=False)
        self._log(loss=loss)

    def _log(self, **values: float) -> None:
        self.history.append({"step": self.step, "epoch": self.epoch, "tokens": self.tokens, "lr": self.lr, **values})
        if self.config.writer is not None:
            for name, value in {"lr": self.lr, **values}.items():
                self.config.writer.add_scalar(name, value, self.step)

    def _identify(self) -> dict:
        """What must be equal for a checkpoint to be of this training, called before the first step."""
        fields = ("max_epochs", "batch_size", "learning_rate", "betas", "grad_norm_clip", "weight_decay", "lr_decay",
                  "warmup_tokens", "final_tokens", "seed")
        dataset = self.train_dataset
        data = zlib.crc32(repr((getattr(dataset, "data", len(dataset)), getattr(dataset, "stoi", None))).encode())
        weights = 0
        for parameter in self.model.parameters():
            weights = zlib.crc32(parameter.detach().cpu().numpy().tobytes(), weights)
        sizes = vars(self.model.config) if hasattr(self.model, "config") else {}
        return {"data": data, "model": str(sorted(sizes.items())), "initial weights": weights,
                **{name: getattr(self.config, name) for name in fields}}

    def _save_checkpoint(self) -> None:
        path = Path(self.config.ckpt_path)
        temporary = path.with_name(path.name + ".tmp")
        state = {name: getattr(self, name) for name in self.RESUMED}
        cuda = torch.cuda.get_rng_state(self.device) if self.device.type == "cuda" else None
        try:
            torch.save({"identity": self.identity, "model": self.model.state_dict(), "state": state,
                        "optimizer": self.optimizer.state_dict(), "random": torch.get_rng_state(), "random_cuda": cuda}, temporary)
            os.replace(temporary, path)
        except (OSError, RuntimeError) as error:        # a full disk; there may be room again when the training ends
            temporary.unlink(missing_ok=True)
            self.bar.write(f"The checkpoint {path} could not be written ({str(error).splitlines()[0]}); training goes on.")

    def _load_checkpoint(self) -> None:
        path = self.config.ckpt_path
        anew = "Delete it, or leave out --resume, to start at the beginning."
        try:
            checkpoint = torch.load(path, map_location="cpu", weights_only=True)
            found = checkpoint["identity"]
        except Exception:       # what a damaged file makes torch raise is of many kinds
            raise TrainingError(f"the checkpoint {path} is damaged. {anew}") from None
        for name, value in self.identity.items():
            if found.get(name) != value:
                raise TrainingError(f"the checkpoint {path} is of another training: its {name} differs. {anew}")
        self.model.load_state_dict(checkpoint["model"])
        self.optimizer.load_state_dict(checkpoint["optimizer"])
        for name in self.RESUMED:
            setattr(self, name, checkpoint["state"][name])
        self.unread_losses = [loss.to(self.device) for loss in self.unread_losses]
        torch.set_rng_state(checkpoint["random"])
        if self.device.type == "cuda" and checkpoint["random_cuda"] is not None:
            torch.cuda.set_rng_state(checkpoint["random_cuda"], self.device)
