"""Code for instructors only. It imports the modules of src/, so src/ is put on sys.path."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]  # of the project
if str(ROOT / "src") not in sys.path:
    sys.path.insert(0, str(ROOT / "src"))
