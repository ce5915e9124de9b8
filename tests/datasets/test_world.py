"""The worlds: data/ is what the generator makes, and it keeps what the handout and the interface
promise.
"""

import re
import subprocess
import sys
from collections import Counter

import pytest

from conftest import ROOT
from instructor.datasets.worlds.editions import EDITIONS, write_edition
from instructor.datasets.worlds.world import SIZES, make_world, question, statistics

FILES = ("wiki.txt", "birth_places_train.tsv", "birth_dev.tsv", "birth_test_inputs.tsv")


def by_name(everybody, documents):
    """The documents about each person: every document names one."""
    about = {person.name: [] for person in everybody}
    for text in documents:
        words = re.findall(r"\w+", text)
        (name,) = {f"{a} {b}" for a, b in zip(words, words[1:])} & set(about)
        about[name].append(text)
    return about


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
    everybody = [person for group in people.values() for person in group]
    about = by_name(everybody, documents)
    assert all("\n" not in text and text.strip() == text for text in documents)
    for person in everybody:
        mine = about[person.name]
        assert len(set(mine)) == SIZES[size].documents
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


@pytest.mark.parametrize("size", SIZES)
def test_documents_of_a_person_differ_in_their_order(seed, size):
    """Name, occupation and place change places, as a model has to read them to use a fact."""
    people, documents = make_world(seed, SIZES[size])
    everybody = {person.name: person for group in people.values() for person in group}
    orders = set()
    for name, texts in by_name(everybody.values(), documents).items():
        person = everybody[name]
        assert len(set(texts)) == len(texts) == SIZES[size].documents
        for text in texts:
            words = (name, person.job.split(" ", 1)[1], person.place)
            found = [re.search(rf"\b{word}\b", text).start() for word in words]
            orders.add(tuple(sorted(range(3), key=found.__getitem__)))
    assert len(orders) > 2


@pytest.mark.parametrize("people", [100, 221, 600])
def test_a_world_of_any_number_of_people(seed, people):
    size = SIZES["laptop"].with_people(people)
    groups, documents = make_world(seed, size)
    counts = [len(groups[split]) for split in ("train", "dev", "test")]
    assert sum(counts) == people and len(documents) == 6 * people
    for count, share in zip(counts, (80, 100, 40)):
        assert abs(count - people * share / 220) <= 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--people", "0"], "at least 20"),
        (["--people", "5000", "--size", "laptop"], "no 5000 different names"),
    ],
)
def test_worlds_that_cannot_be_are_refused(tmp_path, options, told):
    command = [sys.executable, "-m", "instructor", "world", "--seed", "1", *options]
    folders = ["--out", str(tmp_path / "w"), "--gold", str(tmp_path / "gold")]
    process = subprocess.run([*command, *folders], cwd=ROOT, capture_output=True, encoding="utf-8")
    assert process.returncode == 2 and told in process.stderr and "Traceback" not in process.stderr
    assert not list(tmp_path.iterdir())


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
