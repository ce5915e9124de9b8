"""What the tests of machines with a GPU share: a student's copy, and jobs that are under way."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

from conftest import ROOT, SOLUTION


def for_gpu(out, submission=SOLUTION):
    """The zip of a student's copy."""
    process = subprocess.run(
        [sys.executable, ROOT / "src" / "collect.py", "--for-gpu", "--submission", submission]
        + ["--out", out],
        capture_output=True,
        encoding="utf-8",
    )
    assert process.returncode == 0, process.stderr
    return process.stdout


def trainings(folder):
    """The processes that train into a folder."""
    return [
        path
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if f"--out\0{folder}".encode() in _read(path)
    ]


def _read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def wait_for(condition):
    for _ in range(2400):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("waited in vain")


def waiting_for(path, folder):
    """The reference in a folder, whose RoPE model is made when the path exists."""
    shutil.copytree(SOLUTION, folder)
    code = (folder / "helper.py").read_text(encoding="utf-8")
    code = code.replace("import", f"import os\nimport time\nGO = {str(path)!r}\nimport", 1)
    wait = "while not os.path.exists(GO):\n        time.sleep(0.1)\n    "
    before, name, after = code.partition("def initialize_rope_model")
    after = after.replace("### START_CODE_HERE", f"{wait}### START_CODE_HERE", 1)
    (folder / "helper.py").write_text(before + name + after, encoding="utf-8")
    return folder
