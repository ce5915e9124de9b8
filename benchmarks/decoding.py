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


def main() -> None:
    """Time both ways in turn, and publish the medians."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    seed_everything(0)
    submission = load_submission(ROOT / "instructor" / "solution")
    dataset = submission.CharCorruptionDataset(
        read_documents(ROOT / "data" / "wiki.txt"), GPU.block_size
    )
    config = submission.GPTConfig(
        dataset.vocab_size,
        GPU.block_size,
        n_layer=GPU.n_layer,
        n_head=GPU.n_head,
        n_embd=GPU.n_embd,
    )
    rows = []
    for variant in ("vanilla", "rope"):
        model = getattr(submission, f"initialize_{variant}_model")(config)
        read = read_questions(
            ROOT / "data" / "birth_dev.tsv", dataset.stoi, GPU.block_size, answers=True
        )
        questions = sorted((question for question, _ in read), key=len)
        some = questions[:: len(questions) // PLAIN][:PLAIN]
        answers.predict_places(model, questions[:3], dataset, args.device)  # starts the device
        times = {"ours": [], "plain": []}
        for _ in range(args.runs):
            times["ours"].append(
                seconds(answers.predict_places, model, questions, dataset, args.device)
            )
            times["plain"].append(seconds(plain_way, model, some, dataset, args.device))
        ours, plain = (statistics.median(times[way]) for way in times)
        people = len(questions) / ours, len(some) / plain
        rows.append(
            [
                variant,
                f"{ours:.1f} s",
                f"{people[0]:.0f}",
                f"{people[1]:.1f}",
                f"{people[0] / people[1]:.0f}",
            ]
        )
    table = markdown(
        [
            "model",
            f"{len(questions)} people",
            "people/s",
            "one at a time, without a cache: people/s",
            "ratio",
        ],
        rows,
    )
    publish(
        "decoding",
        args.device,
        f"On {machine()}, {torch.get_num_threads()} threads; medians of {args.runs}.\n\n{table}",
    )


if __name__ == "__main__":
    main()
