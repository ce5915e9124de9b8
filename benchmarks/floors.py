"""Checks a demo's summary.json against what the README promises: python benchmarks/floors.py
demo/summary.json
"""

import json
import sys
from pathlib import Path

# (variant, pretrained) -> least and greatest dev accuracy, over at least 100 people
FLOORS = {
    ("vanilla", False): (0.0, 0.10),
    ("vanilla", True): (0.25, 1.0),
    ("rope", True): (0.35, 1.0),
}


def broken_promises(summary: dict) -> list[str]:
    """The broken promises of a summary, a sentence each."""
    problems = []
    if summary["dev_people"] < 100:
        problems.append(f"only {summary['dev_people']} dev people; 100 are needed")
    dev = {(model["variant"], model["pretrained"]): model["dev"] for model in summary["models"]}
    for (variant, pretrained), (low, high) in FLOORS.items():
        accuracy = dev.get((variant, pretrained))
        if accuracy is None or not low <= accuracy <= high:
            name = f"{variant} {'with' if pretrained else 'without'} pretraining"
            problems.append(f"{name}: dev accuracy {accuracy} is not between {low} and {high}")
    return problems


if __name__ == "__main__":
    found = broken_promises(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    print("\n".join(found) or "The demo keeps its promises.")
    sys.exit(1 if found else 0)
