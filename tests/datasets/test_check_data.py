"""check-data: what it passes, and what it finds in spoiled data."""

import shutil
from functools import partial

import pytest

from helpers import DATA, ROOT, call
from instructor.__main__ import main

GOLD = ROOT / "instructor" / "gold"
ANSWERS = GOLD / "laptop" / "birth_test.tsv"
NAME = "birth_test.TSV"
TRAIN, DEV, TEST = "birth_places_train.tsv", "birth_dev.tsv", "birth_test_inputs.tsv"


@pytest.fixture
def data(tmp_path):
    """A copy of the laptop world, to be spoiled."""
    return shutil.copytree(DATA, tmp_path / "data")


def rows(data, name):
    return (data / name).read_text(encoding="utf-8").splitlines()


def rewrite(data, name, lines):
    (data / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def answer_in_the_corpus(data):
    asked = rows(data, TEST)[0].replace("was ", "was  ")
    rewrite(data, "wiki.txt", [*rows(data, "wiki.txt"), f"{asked} Rome."])


def all_from_rome(data):
    rewrite(data, DEV, [row.split("\t")[0] + "\tRome" for row in rows(data, DEV)])


def share_people(data):
    """Three people of the training in dev, too, one of them in other letters."""
    first, *others = rows(data, TRAIN)[:3]
    first = first.replace("was ", "was  ").title()
    shared = first.replace("Where Was", "Where was").replace("Born?", "born?")
    rewrite(data, DEV, [*rows(data, DEV), shared, *others])


def change_places(form, data):
    """In the corpus; the form has {} where the place stands."""
    text = (data / "wiki.txt").read_text(encoding="utf-8")
    for place in {row.split("\t")[1] for row in rows(data, DEV)}:
        text = text.replace(place, form.format(place))
    (data / "wiki.txt").write_text(text, encoding="utf-8")


@pytest.mark.parametrize("folder, gold", [("data", "."), ("data/laptop", "laptop")])
def test_the_worlds_have_no_problems(folder, gold):
    process = call(main, "check-data", ROOT / folder, "--gold", GOLD / gold)
    assert process.returncode == 0 and "PROBLEM" not in process.stdout + process.stderr
    assert f"{TEST}: the places of 0.0%" in process.stdout
    assert f"{DEV}: 'London' for all is right 5.0%" in process.stdout


FAULTS = [
    (share_people, 1, f"{TRAIN} and {DEV} share 3 names"),
    (lambda data: shutil.copy(ANSWERS, data / NAME), 1, f"{NAME} has the test answers"),
    (lambda data: shutil.copy(ANSWERS, data / TEST), 1, f"{TEST} has answers after its questions"),
    (answer_in_the_corpus, 1, "wiki.txt has 1 documents with a test question word for word"),
    (partial(change_places, "{}ette"), 1, f"{DEV}: the places of 100.0%"),
    # too far from the start to be read
    (partial(change_places, "x" * 100 + " {}"), 1, f"{DEV}: the places of 100.0%"),
    (all_from_rome, 1, f"{DEV}: 'Rome' for all is right 100.0%"),
    (lambda data: (data / DEV).unlink(), 2, f"{DEV} does not exist"),
]


@pytest.mark.parametrize("spoil, code, message", FAULTS)
def test_faults_are_named(spoil, code, message, data):
    spoil(data)
    process = call(main, "check-data", data)
    said = (process.stdout + process.stderr).replace(f"{data}/", "")
    assert process.returncode == code and "PROBLEM: " * (code == 1) + message in said


def test_gold_of_other_questions_is_refused(data, tmp_path):
    rewrite(tmp_path, "birth_test.tsv", reversed(rows(ANSWERS.parent, ANSWERS.name)))
    process = call(main, "check-data", data, "--gold", tmp_path)
    assert process.returncode == 2 and "does not answer the questions of" in process.stderr
