"""What is handed in: the names of the files."""
from jobs import JOBS

WRITTEN = ("attention.py", "dataset.py", "helper.py", "model.py", "numpy_attention.py", "encoder.py",     # what students fill in
           "accounting.py", "positions.py", "efficient_attention.py", "fixes.py", "diagnostics.py")
ANSWERS = ("hand_attention.json", "choices.toml")           # where they enter numbers and choices
SUPPLIED = ("trainer.py", "epochs.py", "recorded.py", "utils.py", "encoder_data.py")      # what goes with it; grading takes these, and __init__.py, from us
GIVEN = ("__init__.py", *SUPPLIED)
CODE = ("__init__.py", *WRITTEN, *SUPPLIED)
ANSWERING = ("attention.py", "dataset.py", "helper.py", "model.py")         # those that answer questions: predictions come from them
TRAINED = {"encoder.params": ("encoder.py",)}        # weights that come from one file alone
MADE_BY = {job.writes: job.target for job in JOBS.values()} | {"encoder.params": "encoder_report"}      # results: the target that writes each
DELIVERABLES = CODE + ANSWERS + tuple(MADE_BY)
