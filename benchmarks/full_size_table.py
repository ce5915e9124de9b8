"""The table of full_size.sh: python benchmarks/full_size_table.py OUT/ours [OUT/...]

Each folder has a finished demo. Published in benchmarks/README.md.
"""

import argparse
import json
from pathlib import Path

from tables import markdown, publish

from common.files import read_documents
from jobs.targets import JOBS


def main() -> None:
    """Read the demos and publish their times and accuracies."""
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("folders", type=Path, nargs="+", help="those of finished demos")
    folders = parser.parse_args().folders
    summaries = [
        json.loads((folder / "summary.json").read_text(encoding="utf-8")) for folder in folders
    ]
    logs = [json.loads((folder / "jobs.json").read_text(encoding="utf-8")) for folder in folders]
    done, asked = [log["jobs"] for log in logs], [log["settings"] for log in logs]
    rows = []
    for target in JOBS:
        cells = [
            f"{jobs[target]['seconds']:.1f}"
            + (
                f" ({jobs[target]['correct'] / jobs[target]['total']:.1%})"
                if jobs[target]["total"]
                else ""
            )
            for jobs in done
        ]
        rows.append([target, *cells])
    corpora = [
        read_documents(Path(settings["data"]) / "wiki.txt").count("\n") + 1 for settings in asked
    ]
    steps = [jobs["vanilla_pretrain"]["history"][-1]["step"] for jobs in done]
    rows.append(
        [
            "documents, steps of a pretraining",
            *(f"{n:,}, {count:,}" for n, count in zip(corpora, steps)),
        ]
    )
    rows.append(["together", *(f"{summary['total_seconds']:.1f}" for summary in summaries)])
    table = markdown(["seconds (accuracy)", *(folder.name for folder in folders)], rows)
    publish(
        "full_size",
        "cuda",
        "All eleven jobs with the preset gpu, each with its start-up but for Python's own (of "
        f"jobs that were resumed, the last part alone), on {summaries[0]['machine']}.\n\n{table}",
    )


if __name__ == "__main__":
    main()
