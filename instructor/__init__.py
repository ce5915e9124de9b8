"""Code for instructors only. It imports the modules of src/, so src/ is put on sys.path."""

import sys
from pathlib import Path

_SRC = str(Path(__file__).resolve().parents[1] / "src")
if _SRC not in sys.path:
    sys.path.insert(0, _SRC)
