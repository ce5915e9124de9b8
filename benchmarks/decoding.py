"""Answering 500 questions with the full-size model: python benchmarks/decoding.py [--device
cpu|cuda]

In batches, as run.py does it; and on a part of them the plain way, a question at a time and without
a cache. The weights are random, so that rows rarely end early: the worst case. Medians are
published in benchmarks/README.md.
"""

import argparse
import statistics
import time

import torch

from tables import ROOT, markdown, publish

from common.files import read_documents, read_questions
from jobs.package import load_submission, seed_everything
from jobs.presets import GPU
from jobs.problem1 import answers
from jobs.problem1.demo import machine

PLAIN = 20  # questions, spread over all lengths


def plain_way(model, questions, dataset, device):
    """One question at a time, with the whole text read again for each character."""
    model.to(device).eval()
    for question in questions:
        prompt = torch.tensor(
            [dataset.stoi[ch] for ch in question + dataset.MASK_CHAR], device=device
        )
        answers.generate(model, [prompt], 32, dataset.stoi[dataset.MASK_CHAR])


def seconds(function, *arguments) -> float:
    """The time of a call."""
    started = time.perf_counter()
    function(*arguments)
    return time.perf_counter() - started


def measure(preset, variant: str, device: str, runs: int) -> dict:
    """People a second, in batches and the plain way, one at a time: the medians of both in turn."""
    seed_everything(0)
    submission = load_submission(ROOT / "instructor" / "solution")
    data = ROOT / "data" / preset.data
    dataset = submission.CharCorruptionDataset(read_documents(data / "wiki.txt"), preset.block_size)
    config = submission.GPTConfig(
        dataset.vocab_size,
        preset.block_size,
        n_layer=preset.n_layer,
        n_head=preset.n_head,
        n_embd=preset.n_embd,
    )
    model = getattr(submission, f"initialize_{variant}_model")(config)
    read = read_questions(data / "birth_dev.tsv", dataset.stoi, preset.block_size, answers=True)
    questions = sorted((question for question, _ in read), key=len)
    some = questions[:: len(questions) // PLAIN][:PLAIN]
    answers.predict_places(model, questions[:3], dataset, device)  # starts the device
    ours, plain = [], []
    for _ in range(runs):
        ours.append(seconds(answers.predict_places, model, questions, dataset, device))
        plain.append(seconds(plain_way, model, some, dataset, device))
    return {
        "people": len(questions),
        "batches": len(questions) / statistics.median(ours),
        "plain": len(some) / statistics.median(plain),
    }


def main() -> None:
    """Time both ways, and publish the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    rows = []
    for variant in ("vanilla", "rope"):
        found = measure(GPU, variant, args.device, args.runs)
        rows.append(
            [
                variant,
                f"{found['people'] / found['batches']:.1f} s",
                f"{found['batches']:.0f}",
                f"{found['plain']:.1f}",
                f"{found['batches'] / found['plain']:.0f}",
            ]
        )
        head = [
            "model",
            f"{found['people']} people",
            "people/s",
            "one at a time, without a cache: people/s",
            "ratio",
        ]
        # after each row, so that an interrupted run leaves what it measured
        publish(
            "decoding",
            args.device,
            f"On {machine()}, {torch.get_num_threads()} threads; medians of {args.runs}.\n\n"
            f"{markdown(head, rows)}",
        )


if __name__ == "__main__":
    main()
