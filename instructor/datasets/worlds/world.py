"""Draws a world of invented people, and writes the documents about them and the files of the
assignment.

A language model that has read a fact in one phrasing alone can recite it but not answer a question
about it; about five paraphrases, each with the full name, make facts extractable (Allen-Zhu and Li,
Physics of Language Models, part 3.1). The worlds that we hand out have that.
"""

import random
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from common.files import write_text

from .cities import CITIES
from .phrasings import JOBS, LONG, SHORT

ONSETS = "b c d f g h j k l m n p r s t v w y z br dr gr kr tr pl st sh th kh zh".split()
VOWELS = "a e i o u".split()
CODAS = ["", "", "", "n", "r", "l", "s", "m", "k", "x"]


@dataclass(frozen=True)
class Size:
    """How large a world is.

    train, dev and test count people; `documents` are those about each person, each in another one
    of the `phrasings`. A name has `syllables` (first name, last name), and no two first names begin
    with the same `distinct` letters, nor two last names: a model has to tell people apart.
    """

    train: int
    dev: int
    test: int
    documents: int
    phrasings: tuple[str, ...]
    syllables: tuple[int, int]
    distinct: tuple[int, int]
    cities: tuple[str, ...]


# The numbers of the public corpus. The place is within the first 96 characters, all that a
# block of 128 shows.
FULL = Size(
    train=2000,
    dev=500,
    test=437,
    documents=5,
    phrasings=LONG,
    syllables=(2, 3),
    distinct=(99, 99),
    cities=CITIES,
)

# What two CPU cores learn in five minutes: short names and places, and the place early, with
# something after it, so that about half of the truncated lengths include it.
LAPTOP = Size(
    train=80,
    dev=100,
    test=40,
    documents=6,
    phrasings=SHORT,
    syllables=(1, 2),
    distinct=(3, 4),
    cities=tuple(city for city in CITIES if len(city) <= 7)[:28],
)

SIZES = {"full": FULL, "laptop": LAPTOP}


@dataclass(frozen=True)
class Person:
    """An invented person. `job` comes with its article; years are of birth and death."""

    name: str
    place: str
    job: str
    born: int
    died: int


def make_names(rng: random.Random, size: Size) -> list[str]:
    """Draw one name for every person of a world; no word occurs in two of them.

    Raises:
        ValueError: there are not so many names.
    """
    taken = [set(), set()]

    def word(part):
        for _ in range(10_000):
            drawn = "".join(
                rng.choice(ONSETS) + rng.choice(VOWELS) for _ in range(size.syllables[part])
            ) + rng.choice(CODAS)
            key = drawn[: size.distinct[part]]
            if len(drawn) >= 3 and key not in taken[part]:
                taken[part].add(key)
                return drawn.capitalize()
        raise ValueError(
            f"There are no {size.train + size.dev + size.test} different names of this size: take "
            "fewer people."
        )

    return [f"{word(0)} {word(1)}" for _ in range(size.train + size.dev + size.test)]


def make_places(rng: random.Random, cities: tuple[str, ...], count: int) -> list[str]:
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
    left_over = sorted(ranks, key=lambda rank: (dealt[rank] - shares[rank], rank))
    for rank in left_over[: count - first - sum(dealt)]:
        dealt[rank] += 1
    places = [cities[0]] * first + [city for city, n in zip(cities[1:], dealt) for _ in range(n)]
    rng.shuffle(places)
    return places


def fill(phrasing: str, person: Person) -> str:
    """Put a person into a phrasing; the sentence begins with a capital letter."""
    text = phrasing.format(
        name=person.name,
        place=person.place,
        job=person.job,
        bare_job=person.job.split(" ", 1)[1],
        born=person.born,
        died=person.died,
    )
    return text[0].upper() + text[1:]


def make_world(seed: int, size: Size) -> tuple[dict[str, list[Person]], list[str]]:
    """Draw a world.

    Args:
        seed: another seed is another world, with other people.
        size: FULL or LAPTOP.

    Returns:
        The people of "train", "dev" and "test", and the documents about all of them, shuffled.
    """
    rng = random.Random(seed)
    names = iter(make_names(rng, size))
    people = {}
    for split, count in (("train", size.train), ("dev", size.dev), ("test", size.test)):
        people[split] = []
        for place in make_places(rng, size.cities, count):
            born = rng.randint(1780, 1960)
            people[split].append(
                Person(next(names), place, rng.choice(JOBS), born, born + rng.randint(30, 60))
            )
    documents = [
        fill(phrasing, person)
        for group in people.values()
        for person in group
        for phrasing in rng.sample(size.phrasings, size.documents)
    ]
    rng.shuffle(documents)
    return people, documents


def write_world(
    people: dict[str, list[Person]], documents: list[str], out: Path, gold: Path
) -> None:
    """Write the files of the assignment into `out` and the answers of the test questions into
    `gold`.
    """
    files = {
        out / "wiki.txt": documents,
        out / "birth_places_train.tsv": [
            question(person) + "\t" + person.place for person in people["train"]
        ],
        out / "birth_dev.tsv": [question(person) + "\t" + person.place for person in people["dev"]],
        out / "birth_test_inputs.tsv": [question(person) for person in people["test"]],
        gold / "birth_test.tsv": [
            question(person) + "\t" + person.place for person in people["test"]
        ],
    }
    for path, lines in files.items():
        write_text(path, "".join(line + "\n" for line in lines))


def question(person: Person) -> str:
    """What finetuning and evaluation ask about a person."""
    return f"Where was {person.name} born?"


def name_in(question: str) -> str:
    """The name that a question asks for; the whole question if it has another form."""
    match = re.fullmatch(r"Where was (.*\S) born\?", question)
    return match[1].strip() if match else question


def statistics(people: dict[str, list[Person]], documents: list[str]) -> dict[str, object]:
    """The figures that data/README.md states about a world."""
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
