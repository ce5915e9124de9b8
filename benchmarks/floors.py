"""Hold a demo's summary.json to the accuracies that its README promises: python benchmarks/floors.py demo/summary.json"""
import json
import sys
from pathlib import Path

# (variant, pretrained) -> least and greatest dev accuracy, over at least 100 people
FLOORS = {("vanilla", False): (0.0, 0.10), ("vanilla", True): (0.25, 1.0), ("rope", True): (0.35, 1.0)}


def broken_floors(summary: dict) -> list[str]:
    """What a summary breaks, a sentence each."""
    problems = [] if summary["dev_people"] >= 100 else [f"only {summary['dev_people']} dev people; 100 are needed"]
    for model in summary["models"]:
        low, high = FLOORS[model["variant"], model["pretrained"]]
        if not low <= model["dev"] <= high:
            name = f"{model['variant']} {'with' if model['pretrained'] else 'without'} pretraining"
            problems.append(f"{name}: dev accuracy {model['dev']:.1%} is not between {low:.0%} and {high:.0%}")
    return problems


if __name__ == "__main__":
    found = broken_floors(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")))
    print("\n".join(found) or "The demo keeps its promises.")
    sys.exit(1 if found else 0)
