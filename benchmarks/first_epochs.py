"""The first epochs of the full-size pretraining, on any machine: does the loss fall as it should?

    python benchmarks/first_epochs.py [--epochs 2] [--variant rope] [--data DIR]

The model, the batches and the learning rate are exactly those at the start of a run of 650 epochs.
"""

import argparse
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

from common.files import read_documents  # noqa: E402
from jobs.package import load_submission, seed_everything  # noqa: E402
from jobs.presets import GPU  # noqa: E402


def main() -> None:
    """Train for a few epochs and print the loss."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--variant", choices=("vanilla", "rope"), default="vanilla")
    parser.add_argument("--data", type=Path, default=ROOT / "data")
    parser.add_argument("--precision", choices=("auto", "fp32", "bf16", "fp16"), default="auto")
    args = parser.parse_args()
    seed_everything(0)
    submission = load_submission(ROOT / "instructor" / "solution")
    dataset = submission.CharCorruptionDataset(
        read_documents(args.data / "wiki.txt"), GPU.block_size
    )
    config = submission.GPTConfig(
        dataset.vocab_size,
        GPU.block_size,
        n_layer=GPU.n_layer,
        n_head=GPU.n_head,
        n_embd=GPU.n_embd,
    )
    model = getattr(submission, f"initialize_{args.variant}_model")(config)
    trainer_config, trainer = submission.pretrain(dataset, GPU.block_size, model)
    trainer_config.max_epochs, trainer_config.log_every, trainer_config.precision = (
        args.epochs,
        10,
        args.precision,
    )
    trainer.train()
    print(
        f"{args.variant}, {len(dataset)} documents, {sum(p.numel() for p in model.parameters())} "
        "parameters"
    )
    print("| batch | learning rate | loss |\n|---|---|---|")
    for entry in trainer.history:
        print(f"| {entry['step']} | {entry['lr']:.1e} | {entry['loss']:.3f} |")


if __name__ == "__main__":
    main()
