"""The worlds: data/ is what the generator makes, and keeps what the handout promises."""

import re
from collections import Counter

import pytest

from helpers import ROOT, call
from instructor.__main__ import main
from instructor.datasets.worlds.editions import EDITIONS, write_data
from instructor.datasets.worlds.world import SIZES, make_world, question, statistics

BLOCKS = {"full": 128, "laptop": 80}


@pytest.fixture(params=SIZES)
def world(request, seed):
    """A world of each size: its size, people and documents."""
    return request.param, *make_world(seed, SIZES[request.param])


def everybody(people):
    return [person for group in people.values() for person in group]


def test_what_ships_is_what_the_generator_makes(tmp_path):
    write_data(tmp_path)
    made = [path.relative_to(tmp_path) for path in tmp_path.rglob("*") if path.is_file()]
    assert len(made) == 15
    for path in made:
        assert (ROOT / path).read_bytes() == (tmp_path / path).read_bytes(), path


def test_people_are_different_and_the_jobs_can_ask_about_them(world):
    """Questions with their places fit into a block, and have no character that is not read."""
    size, people, documents = world
    names = {person.name for person in everybody(people)}
    assert len(names) == len(everybody(people)) == sum(SIZES[size].people.values())
    asked = [question(person) + person.place for person in everybody(people)]
    assert max(map(len, asked)) + 2 <= BLOCKS[size] + 1
    assert set("".join(asked)) <= set("".join(documents))
    for split in ("train", "dev"):
        places = Counter(person.place for person in people[split])
        (first, count), (_, second) = places.most_common(2)
        assert first == "London" and 0.04 <= count / len(people[split]) <= 0.06 and second < count


def test_every_place_can_be_read(world):
    """Within the longest truncation; in the laptop world between name and occupation."""
    size, people, documents = world
    about = {person.name: (person, set()) for person in everybody(people)}
    orders, starts = set(), []
    for text in documents:
        assert "\n" not in text and text.strip() == text
        words = re.findall(r"\w+", text)
        (name,) = {f"{a} {b}" for a, b in zip(words, words[1:])} & set(about)
        person, texts = about[name]
        texts.add(text)
        words = (name, person.job.split(" ", 1)[1], person.place)
        begins = [re.search(rf"\b{word}\b", text).start() for word in words]
        assert begins[2] + len(person.place) <= int(BLOCKS[size] * 3 / 4)
        orders.add(tuple(sorted(range(3), key=begins.__getitem__)))
        starts.append(begins[0] == 0)
    assert {len(texts) for _, texts in about.values()} == {SIZES[size].documents}
    assert len(documents) == len(about) * SIZES[size].documents
    if size == "full":
        assert len(orders) > 2
    else:
        assert orders == {(0, 2, 1)} and 0.85 < sum(starts) / len(starts) < 1


def test_another_seed_is_another_world(seed):
    worlds = (make_world(number, SIZES["laptop"])[0] for number in (seed, seed + 1))
    mine, other = ({person.name for person in everybody(people)} for people in worlds)
    assert len(mine & other) < 10


def test_gold_does_not_go_to_students(tmp_path):
    folders = ("--out", tmp_path / "w", "--gold", tmp_path / "w" / "gold")
    process = call(main, "world", "--seed", "1", *folders)
    assert process.returncode == 2 and "must not be inside --out" in process.stderr
    assert not list(tmp_path.iterdir())


def test_the_readme_of_the_data_tells_the_truth():
    text = (ROOT / "data" / "problem1.md").read_text(encoding="utf-8")
    worlds = [make_world(seed, SIZES[size]) for size, (seed, _) in EDITIONS.items()]
    figures = [statistics(*world) for world in worlds]
    for name in figures[0]:
        assert f"| {name} | {' | '.join(str(each[name]) for each in figures)} |\n" in text
    assert not any(str(seed) in text for seed, _ in EDITIONS.values())
