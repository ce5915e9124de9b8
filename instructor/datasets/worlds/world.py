"""Draws a world of invented people, and writes the documents about them and the files of the
assignment.

A language model that has read a fact in one phrasing alone can recite it but not answer a question
about it; about five paraphrases, each with the full name, make facts extractable (Allen-Zhu and Li,
Physics of Language Models, part 3.1). The worlds that we hand out have that.
"""

import argparse
import random
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from common.files import UserError, write_text

from .names import WORLDS, draw_word


@dataclass(frozen=True)
class Size:
    """How large a world is, and the phrasings of its documents: a table of worlds.toml."""

    people: dict[str, int]  # in each split
    syllables: tuple[int, int]  # of first and last names
    # letters at their beginning that are one person's alone: a model has to tell people apart
    distinct: tuple[int, int]
    cities: int
    longest_city: int  # letters
    documents: int  # about each person, each in another one of the phrasings
    phrasings: list[str]


SIZES = {size: Size(**WORLDS[size]) for size in ("full", "laptop")}


@dataclass(frozen=True)
class Person:
    """An invented person. `job` comes with its article; years are of birth and death."""

    name: str
    place: str
    job: str
    born: int
    died: int


def make_names(rng: random.Random, size: Size) -> list[str]:
    """Draw one name for every person of a world; no first or last name occurs in two of them."""
    taken = set()

    def new_word(part):
        while True:
            word = draw_word(rng, size.syllables[part])
            beginning = part, word[: size.distinct[part]]
            if len(word) >= 3 and beginning not in taken:
                taken.add(beginning)
                return word

    return [f"{new_word(0)} {new_word(1)}" for _ in range(sum(size.people.values()))]


def make_places(rng: random.Random, cities: list[str], count: int) -> list[str]:
    """Draw birth places for `count` people: 5% in the first city, the others in decreasing shares
    (Zipf).

    Shares are dealt out, not drawn, so that the baseline of the most common place is the same in
    every world.
    """
    first = round(0.05 * count)
    ranks = range(len(cities) - 1)
    weights = [1 / (rank + 12) for rank in ranks]
    shares = [(count - first) * weight / sum(weights) for weight in weights]
    # with few cities, the second would be as common as the first: use equal shares
    if max(shares) > 0.8 * first:
        shares = [(count - first) / len(ranks)] * len(ranks)
    dealt = [int(share) for share in shares]
    left_over = sorted(ranks, key=lambda rank: dealt[rank] - shares[rank])
    for rank in left_over[: count - first - sum(dealt)]:
        dealt[rank] += 1
    places = [*Counter(dict(zip(cities, [first, *dealt]))).elements()]
    rng.shuffle(places)
    return places


def make_world(seed: int, size: Size) -> tuple[dict[str, list[Person]], list[str]]:
    """Draw a world of one of the SIZES: the people of each split, and the documents about all of
    them, shuffled.
    """
    rng = random.Random(seed)
    names = iter(make_names(rng, size))
    cities = [city for city in WORLDS["cities"] if len(city) <= size.longest_city][: size.cities]

    def person_from(place):
        born, job = rng.randint(1780, 1960), rng.choice(WORLDS["jobs"])
        return Person(next(names), place, job, born, died=born + rng.randint(30, 60))

    people = {
        split: [person_from(place) for place in make_places(rng, cities, count)]
        for split, count in size.people.items()
    }
    documents = [
        _sentence(phrasing, person)
        for group in people.values()
        for person in group
        for phrasing in rng.sample(size.phrasings, size.documents)
    ]
    rng.shuffle(documents)
    return people, documents


def _sentence(phrasing, person):
    text = phrasing.format(**vars(person), bare_job=person.job.split(" ", 1)[1])
    return text[0].upper() + text[1:]


def question(person: Person) -> str:
    """What finetuning and evaluation ask about a person."""
    return f"Where was {person.name} born?"


def write_world(
    people: dict[str, list[Person]], documents: list[str], out: Path, gold: Path
) -> None:
    """Write the files of the assignment into `out` and the answers of the test questions into
    `gold`.
    """
    answered = {
        split: [f"{question(person)}\t{person.place}" for person in group]
        for split, group in people.items()
    }
    files = {
        out / "wiki.txt": documents,
        out / "birth_places_train.tsv": answered["train"],
        out / "birth_dev.tsv": answered["dev"],
        out / "birth_test_inputs.tsv": map(question, people["test"]),
        gold / "birth_test.tsv": answered["test"],
    }
    for path, lines in files.items():
        write_text(path, "".join(line + "\n" for line in lines))


def run(args: argparse.Namespace) -> int:
    """Make a world of invented people; returns 0.

    Raises:
        UserError: the answers would lie where students get them.
    """
    if args.gold.resolve().is_relative_to(args.out.resolve()):
        raise UserError(
            "--gold must not be inside --out: students get that folder. Nothing was written."
        )
    people, documents = make_world(args.seed, SIZES[args.size])
    write_world(people, documents, args.out, args.gold)
    print("\n".join(f"{name}: {value}" for name, value in statistics(people, documents).items()))
    print(f"Wrote {args.out}; the test answers are in {args.gold / 'birth_test.tsv'}")
    return 0


def statistics(people: dict[str, list[Person]], documents: list[str]) -> dict[str, object]:
    """The figures that data/problem1.md states about a world."""
    lengths = [len(document) for document in documents]
    everybody = [person for group in people.values() for person in group]
    common, count = Counter(person.place for person in people["dev"]).most_common(1)[0]
    return {
        "people": len(everybody),
        "train / dev / test": " / ".join(str(len(group)) for group in people.values()),
        "documents": len(documents),
        "characters": sum(lengths) + len(lengths),
        "mean and longest document": f"{sum(lengths) / len(lengths):.0f} and {max(lengths)} "
        "characters",
        "symbols, with MASK and PAD": len(set("\n".join(documents))) + 2,
        "places": len({person.place for person in everybody}),
        "most common place in dev": f"{common}, {count / len(people['dev']):.1%}",
    }
