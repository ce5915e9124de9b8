"""Answering 500 questions with the full-size model, with and without a key-value cache: python benchmarks/decoding.py

The weights are random, so that rows rarely end early: the worst case. Prints medians and the ratio of the two.
"""
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "src"))

import answers  # noqa: E402
from execute import load_submission, seed_everything  # noqa: E402
from files import read_documents, read_questions  # noqa: E402
from presets import GPU  # noqa: E402


def main() -> None:
    """Time both ways in turn, three times."""
    seed_everything(0)
    submission = load_submission(ROOT / "instructor" / "solution")
    dataset = submission.CharCorruptionDataset(read_documents(ROOT / "data" / "wiki.txt"), GPU.block_size)
    config = submission.GPTConfig(dataset.vocab_size, GPU.block_size, n_layer=GPU.n_layer, n_head=GPU.n_head, n_embd=GPU.n_embd)
    model = submission.initialize_rope_model(config)
    rows = read_questions(ROOT / "data" / "birth_dev.tsv", dataset.stoi, GPU.block_size, answers=True)
    questions = [question for question, _ in rows]
    check, seconds = answers.cache_works, {True: [], False: []}
    for _ in range(3):
        for cached in (True, False):
            answers.cache_works = check if cached else lambda *_: False
            started = time.perf_counter()
            answers.predict_places(model, questions, dataset)
            seconds[cached].append(time.perf_counter() - started)
    with_cache, without = (statistics.median(seconds[cached]) for cached in (True, False))
    print(f"{len(questions)} questions: {with_cache:.1f} s with a cache, {without:.1f} s without, ratio {without / with_cache:.1f}")


if __name__ == "__main__":
    main()
