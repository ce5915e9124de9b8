"""The worlds: data/ is what the generator makes, and it keeps what the handout and the interface
promise.
"""

from collections import Counter

import pytest

from conftest import ROOT
from instructor.datasets.worlds.editions import EDITIONS, write_edition
from instructor.datasets.worlds.world import SIZES, make_world, question, statistics

FILES = ("wiki.txt", "birth_places_train.tsv", "birth_dev.tsv", "birth_test_inputs.tsv")


@pytest.mark.parametrize("size", EDITIONS)
def test_what_ships_is_what_the_generator_makes(size, tmp_path):
    write_edition(size, tmp_path / "data", tmp_path / "gold")
    folder = EDITIONS[size][1]
    for name in FILES:
        assert (ROOT / "data" / folder / name).read_bytes() == (
            tmp_path / "data" / folder / name
        ).read_bytes()
    gold = ROOT / "instructor" / "gold" / folder / "birth_test.tsv"
    assert gold.read_bytes() == (tmp_path / "gold" / folder / "birth_test.tsv").read_bytes()


def test_test_answers_are_not_in_data():
    assert not list((ROOT / "data").rglob("birth_test.tsv"))
    for path in (ROOT / "data").rglob("birth_test_inputs.tsv"):
        assert "\t" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("size", SIZES)
def test_a_world(size, seed):
    people, documents = make_world(seed, SIZES[size])
    groups = [{person.name for person in group} for group in people.values()]
    assert (
        sum(map(len, groups))
        == len(set.union(*groups))
        == SIZES[size].train + SIZES[size].dev + SIZES[size].test
    )
    about = {person.name: [] for group in people.values() for person in group}
    for document in documents:
        assert "\n" not in document and document.strip() == document
        words = document.replace(":", " ").replace(",", " ").split(" ")
        names = [f"{a} {b}" for a, b in zip(words, words[1:]) if f"{a} {b}" in about]
        assert len(names) == 1
        about[names[0]].append(document)
    for person in (person for group in people.values() for person in group):
        mine = about[person.name]
        assert len(set(mine)) == SIZES[size].paraphrases
        # All of the place must be within the longest truncation, or there would be nothing to learn
        # it from.
        block_size = {"full": 128, "laptop": 80}[size]
        assert all(
            0 < text.find(person.place) + len(person.place) <= int(block_size * 3 / 4)
            for text in mine
        )
    longest = max(
        len(question(person)) + len(person.place) for group in people.values() for person in group
    )
    assert longest + 2 <= block_size + 1
    assert set("Where was born?") <= set("".join(documents))


@pytest.mark.parametrize("size", SIZES)
def test_the_most_common_place_is_about_a_twentieth(size, seed):
    people, _ = make_world(seed, SIZES[size])
    for split in ("train", "dev"):
        (first, count), (_, second) = Counter(person.place for person in people[split]).most_common(
            2
        )
        assert first == "London" and 0.04 <= count / len(people[split]) <= 0.06 and second < count


def test_the_full_world_has_the_numbers_of_the_public_corpus(seed):
    people, _ = make_world(seed, SIZES["full"])
    assert [len(people[split]) for split in ("train", "dev", "test")] == [2000, 500, 437]


def test_gold_does_not_go_to_students(tmp_path):
    import subprocess
    import sys

    process = subprocess.run(
        [
            sys.executable,
            "-m",
            "instructor",
            "world",
            "--seed",
            "1",
            "--out",
            str(tmp_path / "w"),
            "--gold",
            str(tmp_path / "w" / "gold"),
        ],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
    )
    assert (
        process.returncode == 2
        and "must not be inside --out" in process.stderr
        and not list(tmp_path.iterdir())
    )


def test_another_seed_is_another_world(seed):
    one, two = (make_world(s, SIZES["laptop"])[0] for s in (seed, seed + 1))
    names = [
        {person.name for group in people.values() for person in group} for people in (one, two)
    ]
    assert len(names[0] & names[1]) < 10


def test_single_mode_has_one_phrasing(seed):
    people, documents = make_world(seed, SIZES["laptop"], "single")
    assert len(documents) == 6 * 220 and len(set(documents)) == 220
    person = people["dev"][0]
    text = next(d for d in documents if person.name in d)
    assert set("Where was born?") <= set("".join(documents))
    assert 0 <= text.find(person.name) < text.find(person.job) < text.find(person.place)


@pytest.mark.parametrize("size", EDITIONS)
def test_the_readme_of_the_data_tells_the_truth(size):
    text = (ROOT / "data" / "README.md").read_text(encoding="utf-8")
    seed, _ = EDITIONS[size]
    column = 2 + list(EDITIONS).index(size)
    told = {
        cells[1].strip(): cells[column].strip()
        for cells in (line.split("|") for line in text.splitlines())
        if len(cells) == 5
    }
    for name, value in statistics(*make_world(seed, SIZES[size])).items():
        assert told[name] == str(value)
    assert str(seed) not in text
