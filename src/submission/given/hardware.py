"""What depends on the device: precision, recorded steps, and how tensors get there: given."""

import contextlib
import warnings

import torch

from .cuda_graphs import RecordedSteps

# The narrow formats that autocast may use; float32 has none.
NARROW = {"bf16": torch.bfloat16, "fp16": torch.float16}


class Hardware:
    """A device, and how to train on it.

    Args:
        device: "cpu", "cuda", "cuda:1", "mps"; None takes an NVIDIA GPU if there is one.
        graphs: record steps as CUDA graphs, if it is an NVIDIA GPU.
    """

    def __init__(self, device: str | None, graphs: bool):
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.is_cuda = self.device.type == "cuda"
        self.graphs = graphs and self.is_cuda
        # A few more columns cost a GPU almost no time, and each new shape costs it some.
        self.width_multiple = 1 if self.device.type == "cpu" else 16
        self.precision = "fp32"

    def choose_precision(
        self, wanted: str, model: torch.nn.Module, x: torch.Tensor, y: torch.Tensor
    ) -> None:
        """Set `precision`: "bf16", "fp16" or "fp32".

        "auto" is bf16 on GPUs with hardware for it (Ampere, 2020, and later), fp16 on older ones
        with tensor cores (V100, T4), and fp32 elsewhere, or if the model fails in a narrow format.

        Args:
            model: on the device. x, y: a small batch to try it on, anywhere.
        """
        self.precision = wanted
        if wanted != "auto":
            return
        capability = torch.cuda.get_device_capability(self.device) if self.is_cuda else (0, 0)
        self.precision = (
            "bf16" if capability >= (8, 0) else "fp16" if capability >= (7, 0) else "fp32"
        )
        if self.precision == "fp32":
            return
        x, y = x.to(self.device), y.to(self.device)
        try:
            with self.autocast(), torch.no_grad():
                model(x, y)
        except RuntimeError as error:
            with torch.no_grad():
                model(x, y)  # errors unrelated to the format are raised here
            print(
                f"Training in float32, since the model fails in {NARROW[self.precision]}: "
                f"{str(error).splitlines()[0]}"
            )
            self.precision = "fp32"

    def autocast(self) -> contextlib.AbstractContextManager:
        """The context of a forward pass: matrix products in the narrow format, if there is one."""
        if self.precision not in NARROW:
            return contextlib.nullcontext()
        return torch.autocast(self.device.type, NARROW[self.precision])

    def make_scaler(self) -> torch.amp.GradScaler:
        """Scales losses in fp16, whose smallest gradients would be zero; in other formats, its
        methods change nothing.
        """
        return torch.amp.GradScaler(self.device.type, enabled=self.precision == "fp16")

    def make_adamw(self, groups: list[dict], learning_rate: float, betas) -> torch.optim.AdamW:
        """AdamW in its fastest form; set its rate by set_rate."""
        # A CUDA graph reads everything, including the learning rate, from a fixed address on the
        # GPU. (AdamW warns that this is useless before anything is recorded.)
        warnings.filterwarnings("ignore", message="This instance was constructed with capturable")
        rate = torch.tensor(learning_rate, device=self.device) if self.graphs else learning_rate
        fused = self.device.type in ("cpu", "cuda", "mps")
        return torch.optim.AdamW(groups, lr=rate, betas=betas, fused=fused, capturable=self.graphs)

    def set_rate(self, optimizer: torch.optim.Optimizer, learning_rate: float) -> None:
        """Set the learning rate of the next step."""
        for group in optimizer.param_groups:
            if self.graphs:
                group["lr"].fill_(learning_rate)
            else:
                group["lr"] = learning_rate

    def send(self, tokens: torch.Tensor) -> torch.Tensor:
        """The tokens as int64 on the device. Only CUDA keeps the memory that it copies from until
        the copy is done, so only there nobody waits.
        """
        if self.is_cuda:
            tokens = tokens.pin_memory()
        return tokens.to(self.device, non_blocking=self.is_cuda).long()

    def recorded(self, step):
        """A function that does what step(x, y) does, recorded where that is faster."""
        return RecordedSteps(step) if self.graphs else step

    @contextlib.contextmanager
    def stream(self):
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
