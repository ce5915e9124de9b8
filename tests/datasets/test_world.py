"""The worlds: data/ is what the generator makes, and it keeps what the handout and the interface
promise.
"""

import re
import subprocess
import sys
from collections import Counter

import pytest

from helpers import ROOT
from instructor.datasets.worlds.editions import EDITIONS, write_data
from instructor.datasets.worlds.world import SIZES, make_world, question, statistics

BLOCKS = {"full": 128, "laptop": 80}


@pytest.fixture(params=SIZES)
def world(request, seed):
    """A world of each size: its size, people and documents."""
    return request.param, *make_world(seed, SIZES[request.param])


def by_name(everybody, documents):
    """The documents about each person: every document names one."""
    about = {person.name: [] for person in everybody}
    for text in documents:
        words = re.findall(r"\w+", text)
        (name,) = {f"{a} {b}" for a, b in zip(words, words[1:])} & set(about)
        about[name].append(text)
    return about


def test_what_ships_is_what_the_generator_makes(tmp_path):
    write_data(tmp_path)
    made = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert len(made) == 15
    for path in made:
        assert (ROOT / path).read_bytes() == (tmp_path / path).read_bytes(), path


def test_nobody_is_in_two_groups(world):
    size, people, _ = world
    groups = [{person.name for person in group} for group in people.values()]
    assert sum(map(len, groups)) == len(set.union(*groups)) == sum(SIZES[size].people.values())


def test_every_place_can_be_read(world):
    """It is within the longest truncation, or there would be nothing to learn it from. Name,
    occupation and place change places in the full world. In the laptop world they come in the order
    of the question, the name mostly at the start.
    """
    size, people, documents = world
    everybody = {person.name: person for group in people.values() for person in group}
    assert all("\n" not in text and text.strip() == text for text in documents)
    orders, starts = set(), []
    for name, texts in by_name(everybody.values(), documents).items():
        person = everybody[name]
        assert len(set(texts)) == len(texts) == SIZES[size].documents
        for text in texts:
            words = (name, person.job.split(" ", 1)[1], person.place)
            begins = [re.search(rf"\b{word}\b", text).start() for word in words]
            assert begins[2] + len(person.place) <= int(BLOCKS[size] * 3 / 4)
            orders.add(tuple(sorted(range(3), key=begins.__getitem__)))
            starts.append(begins[0] == 0)
    if size == "full":
        assert len(orders) > 2
    else:
        assert orders == {(0, 2, 1)} and 0.85 < sum(starts) / len(starts) < 1


def test_the_jobs_can_ask(world):
    """Questions with their places fit into a block, and have no character that is not read."""
    size, people, documents = world
    everybody = [person for group in people.values() for person in group]
    asked = [question(person) + person.place for person in everybody]
    assert max(map(len, asked)) + 2 <= BLOCKS[size] + 1
    assert set("".join(asked)) <= set("".join(documents))


def test_the_most_common_place_is_about_a_twentieth(world):
    _, people, _ = world
    for split in ("train", "dev"):
        places = Counter(person.place for person in people[split])
        (first, count), (_, second) = places.most_common(2)
        assert first == "London" and 0.04 <= count / len(people[split]) <= 0.06 and second < count


def test_another_seed_is_another_world(seed):
    worlds = [make_world(number, SIZES["laptop"])[0] for number in (seed, seed + 1)]
    mine, other = (
        {person.name for group in people.values() for person in group} for people in worlds
    )
    assert len(mine & other) < 10


def test_gold_does_not_go_to_students(tmp_path):
    command = [sys.executable, "-m", "instructor", "world", "--seed", "1"]
    folders = ["--out", str(tmp_path / "w"), "--gold", str(tmp_path / "w" / "gold")]
    process = subprocess.run([*command, *folders], cwd=ROOT, capture_output=True, encoding="utf-8")
    assert process.returncode == 2 and "must not be inside --out" in process.stderr
    assert not list(tmp_path.iterdir())


def test_the_readme_of_the_data_tells_the_truth():
    text = (ROOT / "data" / "problem1.md").read_text(encoding="utf-8")
    worlds = [make_world(seed, SIZES[size]) for size, (seed, _) in EDITIONS.items()]
    figures = [statistics(*world) for world in worlds]
    for name in figures[0]:
        assert f"| {name} | {' | '.join(str(each[name]) for each in figures)} |\n" in text
    assert not any(str(seed) in text for seed, _ in EDITIONS.values())
