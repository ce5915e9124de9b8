"""What a folder of data has: names of its files, the form of a question, and figures of it."""

import re
from collections import Counter
from pathlib import Path

from common.files import UserError

SPLITS = {
    "train": "birth_places_train.tsv",
    "dev": "birth_dev.tsv",
    "test": "birth_test_inputs.tsv",
}
QUESTION = "Where was {} born?"
Rows = list[tuple[str, str | None]]  # questions with their places; None where they are not known
_ASKED = re.compile(r"Where was (.*\S) born\?")


def name_in(question: str) -> str:
    """The name that a question asks for; the whole question if it has another form."""
    match = _ASKED.fullmatch(question)
    return match[1].strip() if match else question


def refuse_gold_inside(out: Path, gold: Path) -> None:
    """Refuse a folder of test answers inside the one that students get.

    Raises:
        UserError: it is inside.
    """
    if gold.resolve() == out.resolve() or out.resolve() in gold.resolve().parents:
        raise UserError(
            "--gold must not be inside --out: students get that folder. Nothing was written."
        )


def figures(documents: list[str], splits: dict[str, Rows]) -> dict[str, object]:
    """The figures that a README or a report states about an edition; places count where they are
    known.
    """
    lengths = [len(document) for document in documents]
    rows = [row for split in splits.values() for row in split]
    common, count = Counter(place for _, place in splits["dev"]).most_common(1)[0]
    return {
        "people": len(rows),
        "train / dev / test": " / ".join(str(len(splits[split])) for split in SPLITS),
        "documents": len(documents),
        "characters": sum(lengths) + len(lengths),
        "mean and longest document": f"{sum(lengths) / len(lengths):.0f} and {max(lengths)} "
        "characters",
        "symbols, with MASK and PAD": len(set("\n".join(documents))) + 2,
        "places": len({place for _, place in rows if place is not None}),
        "most common place in dev": f"{common}, {count / len(splits['dev']):.1%}",
    }
