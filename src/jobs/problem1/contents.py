"""Problem 1: its files in src/submission, and its targets of ./run.sh."""

from jobs.target import Job, Problem, Target


def _jobs(question, variant, pretrained):
    """The jobs of one model, in order."""
    how, kept = ("with", "pretrain") if pretrained else ("without", "nopretrain")
    weights = f"{variant}.{'finetune' if pretrained else 'model'}.params"
    of_it = {"question": question, "variant": variant, "pretrained": pretrained}
    first = f"{variant}.pretrain.params" if pretrained else None
    if pretrained:
        yield Job(f"{variant}_pretrain", writes=first, kind="pretrain", **of_it)
    name = f"{variant}_finetune_{how}_pretrain"
    yield Job(name, reads=first, writes=weights, kind="finetune", **of_it)
    for split in ("dev", "test"):
        name, writes = f"{variant}_eval_{split}_{how}_pretrain", f"{variant}.{kept}.{split}"
        writes += ".predictions"
        yield Job(name, reads=weights, writes=writes, kind="evaluate", split=split, **of_it)


PROBLEM = Problem(
    code=("attention.py", "dataset.py", "helper.py", "model.py"),
    supplied=("trainer.py", "utils.py", "given/cuda_graphs.py", "given/epochs.py"),
    files=(
        *("data/wiki.txt", "data/birth_*", "data/laptop/*", "src/submission/mingpt-demo/*"),
        *("docs/running.md", "slurm.sbatch", "train_on_gpu.ipynb"),
    ),
    targets=(
        *_jobs("1e", "vanilla", pretrained=False),
        *_jobs("1f", "vanilla", pretrained=True),
        *_jobs("1h", "rope", pretrained=True),
        Target(
            "show_corruption",
            "1c",
            "your span corruption: examples, and a plot beside what is asked",
            "dataset.py",
            writes="span_corruption.png",
            data=True,
        ),
        Target(
            "look",
            "1h",
            "a page to play with: where your trained models look, letter by letter; seconds",
            writes="look.html",
        ),
    ),
)
