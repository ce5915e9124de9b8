"""check-data: what it passes, and what it finds in spoiled data."""

import shutil

import pytest

from helpers import DATA, ROOT
from instructor.__main__ import main

GOLD = ROOT / "instructor" / "gold"
TRAIN, DEV, TEST = "birth_places_train.tsv", "birth_dev.tsv", "birth_test_inputs.tsv"


@pytest.fixture
def data(tmp_path):
    """A copy of the laptop world, to be spoiled."""
    return shutil.copytree(DATA, tmp_path / "data")


@pytest.fixture
def check(monkeypatch, capsys):
    """Runs the command; returns its exit code and what it wrote."""

    def check(*arguments):
        monkeypatch.setattr("sys.argv", ["instructor", "check-data", *map(str, arguments)])
        code = main()
        return code, "".join(capsys.readouterr())

    return check


def rows(data, name):
    """The lines of a file."""
    return (data / name).read_text(encoding="utf-8").splitlines()


def rewrite(data, name, lines):
    """Rewrite a file."""
    (data / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def answer_in_the_corpus(data):
    asked = rows(data, TEST)[0].replace("was ", "was  ")
    rewrite(data, "wiki.txt", [*rows(data, "wiki.txt"), f"{asked} Rome."])


def ask_without_a_place(data):
    rewrite(data, DEV, [*rows(data, DEV), "Where was Ana Xu born?"])


def all_from_rome(data):
    rewrite(data, DEV, [row.split("\t")[0] + "\tRome" for row in rows(data, DEV)])


def share_people(data):
    """Three people of the training in dev, too, one of them in other letters."""
    shared = [row.replace("was ", "was  ").title() for row in rows(data, TRAIN)[:1]]
    shared = [row.replace("Where Was", "Where was").replace("Born?", "born?") for row in shared]
    rewrite(data, DEV, [*rows(data, DEV), *shared, *rows(data, TRAIN)[1:3]])


def change_places(form):
    """Spoils all places of the corpus; the form has {} where the place stands."""

    def spoil(data):
        text = "\n".join(rows(data, "wiki.txt"))
        for place in {row.split("\t")[1] for row in rows(data, DEV)}:
            text = text.replace(place, form.format(place))
        rewrite(data, "wiki.txt", text.split("\n"))

    return spoil


def copy_gold(name):
    """Spoils the data by the test answers in a file."""
    return lambda data: shutil.copy(GOLD / "laptop" / "birth_test.tsv", data / name)


@pytest.mark.parametrize("folder, gold", [("data", "."), ("data/laptop", "laptop")])
def test_the_worlds_have_no_problems(folder, gold, check):
    code, text = check(ROOT / folder, "--gold", GOLD / gold)
    assert code == 0 and "PROBLEM" not in text
    assert f"{TEST}: the places of 0.0%" in text
    assert f"{DEV}: 'London' for all is right 5.0%" in text


@pytest.mark.parametrize(
    "spoil, code, message",
    [
        (share_people, 1, f"{TRAIN} and {DEV} share 3 names"),
        (copy_gold("birth_test.TSV"), 1, "birth_test.TSV has the test answers"),
        (copy_gold(TEST), 1, f"{TEST} has answers after its questions"),
        (answer_in_the_corpus, 1, "wiki.txt has 1 documents with a test question word for word"),
        (change_places("{}ette"), 1, f"{DEV}: the places of 100.0%"),
        # too far from the start to be read
        (change_places("x" * 100 + " {}"), 1, f"{DEV}: the places of 100.0%"),
        (all_from_rome, 1, f"{DEV}: 'Rome' for all is right 100.0%"),
        # what the jobs refuse is refused
        (lambda data: (data / DEV).unlink(), 2, f"{DEV} does not exist"),
        (ask_without_a_place, 2, "line 101: expected a question, a tab and a place"),
    ],
)
def test_faults_are_named(spoil, code, message, data, check):
    spoil(data)
    found, text = check(data)
    assert found == code
    assert {1: "PROBLEM: ", 2: ""}[code] + message in text.replace(f"{data}/", "")


def test_gold_of_other_questions_is_refused(data, tmp_path, check):
    rewrite(tmp_path, "birth_test.tsv", reversed(rows(GOLD / "laptop", "birth_test.tsv")))
    code, text = check(data, "--gold", tmp_path)
    assert code == 2 and "does not answer the questions of" in text
