"""Problem 5: its files in src/submission, and its targets of ./run.sh."""

from jobs.target import Problem, Target

PROBLEM = Problem(
    code=("problem5/numpy_attention.py", "problem5/encoder.py"),
    answers={"problem5/hand_attention.json": "5a"},
    supplied=("utils.py", "problem5/encoder_data.py"),
    exercises=("hand_attention.json", "occupations/train.tsv"),
    gold=("occupations/test.tsv",),
    files=("data/hand_attention.json", "data/occupations/*"),
    targets=(
        Target(
            "encoder_scaling",
            "5b",
            "the table and plot of 5b: softmax with and without scaling",
            "problem5/numpy_attention.py",
            writes="encoder_scaling.png",
        ),
        Target(
            "encoder_copy",
            "5f",
            "the sanity check of 5f: can your encoder learn to copy?",
            "problem5/encoder.py",
        ),
        Target(
            "encoder_report",
            "5g",
            "trains the encoders of 5g; writes encoder.params, a report and its maps",
            "problem5/encoder.py",
            writes="encoder.params",
            handed_in=True,
            data=True,
        ),
    ),
)
