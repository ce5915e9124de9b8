"""What is handed in: the names of the files."""
from jobs import JOBS

WRITTEN = ("attention.py", "dataset.py", "helper.py", "model.py")       # what students fill in
SUPPLIED = ("trainer.py", "utils.py")       # and what goes with it; grading takes these two, and __init__.py, from us
CODE = ("__init__.py", *WRITTEN, *SUPPLIED)
DELIVERABLES = CODE + tuple(job.writes for job in JOBS.values())
