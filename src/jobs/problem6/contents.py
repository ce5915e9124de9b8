"""Problem 6: its files in src/submission, and its targets of ./run.sh."""

from jobs.target import Problem, Target

DEBUGGING = {
    "debug_exploding": "a training that explodes, before and after your fixes",
    "debug_repetition": "a model that repeats itself, before and after your fixes",
    "debug_slow": "a deep model that learns slowly, before and after your fixes",
}
PROBLEM = Problem(
    code=(
        "problem6/accounting.py",
        "problem6/positions.py",
        "problem6/efficient_attention.py",
        "problem6/fixes.py",
        "problem6/diagnostics.py",
    ),
    answers={"problem6/choices.toml": "6b"},
    supplied=("utils.py",),
    needed=("attention.py", "model.py"),  # another problem's, for this one's code and debug_...
    files=("data/laptop/wiki.txt", "data/traces/*"),
    gold_shared=("traces/traces.json.gz",),
    targets=(
        Target(
            "plot_positions",
            "6c",
            "the plot of 6c, and its claims in numbers",
            "problem6/positions.py",
            writes="positions.png",
        ),
        Target(
            "measure_sparse",
            "6d",
            "time and memory of your sparse_attention over 5,000 to 75,000 tokens",
            "problem6/efficient_attention.py",
            writes="sparse_attention.png",
        ),
        *(
            Target(name, "6e", does, "problem6/fixes.py", writes=f"{name}.html")
            for name, does in DEBUGGING.items()
        ),
        Target(
            "practice_monitor",
            "6f",
            "your monitor on six recorded trainings: what it reported, against their labels",
            "problem6/diagnostics.py",
            writes="practice.html",
        ),
        Target(
            "dashboard",
            "6f",
            "a page from the newest log that a training kept with --log, and your alarms",
            "problem6/diagnostics.py",
            writes="dashboard.html",
            log=True,
        ),
    ),
)
