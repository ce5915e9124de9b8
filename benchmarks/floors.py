"""Whether a demo's accuracies are within the limits that CI requires: python benchmarks/floors.py
demo/summary.json
"""

import argparse
import json
import sys

# (variant, pretrained) -> least and greatest dev accuracy, over at least 100 people
FLOORS = {
    ("vanilla", False): (0.0, 0.10),
    ("vanilla", True): (0.30, 1.0),
    ("rope", True): (0.40, 1.0),
}


def outside_limits(summary: dict) -> list[str]:
    """What is outside of the limits in a summary, a sentence each."""
    problems = []
    if summary["dev_people"] < 100:
        problems.append(f"only {summary['dev_people']} dev people; 100 are needed")
    dev = {(model["variant"], model["pretrained"]): model["dev"] for model in summary["models"]}
    for (variant, pretrained), (low, high) in FLOORS.items():
        accuracy = dev.get((variant, pretrained))
        if accuracy is None or not low <= accuracy <= high:
            name = f"{variant} {'with' if pretrained else 'without'} pretraining"
            problems.append(f"{name}: dev accuracy {accuracy} is not between {low} and {high}")
    if not problems and dev["rope", True] <= dev["vanilla", True]:
        problems.append("RoPE is not ahead of learned positions")
    return problems


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("summary", type=argparse.FileType(encoding="utf-8"), help="summary.json")
    found = outside_limits(json.load(parser.parse_args().summary))
    print("\n".join(found) or "All accuracies are within the limits.")
    sys.exit(1 if found else 0)
