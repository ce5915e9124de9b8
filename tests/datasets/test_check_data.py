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


def append(name, line):
    """Spoils the data by one more line, which may depend on them."""
    return lambda data: rewrite(
        data, name, [*rows(data, name), line if isinstance(line, str) else line(data)]
    )


def share_people(data):
    """Three people of the training in dev, too, one of them in other letters."""
    shared = [row.replace("was ", "was  ").title() for row in rows(data, TRAIN)[:1]]
    shared = [row.replace("Where Was", "Where was").replace("Born?", "born?") for row in shared]
    rewrite(data, DEV, [*rows(data, DEV), *shared, *rows(data, TRAIN)[1:3]])


def change_places(change):
    """Spoils all places of the corpus."""

    def spoil(data):
        text = "\n".join(rows(data, "wiki.txt"))
        for place in {row.split("\t")[1] for row in rows(data, DEV)}:
            text = text.replace(place, change(place))
        rewrite(data, "wiki.txt", text.split("\n"))

    return spoil


def all_from(place):
    """Spoils dev: everybody is from one place."""
    return lambda data: rewrite(
        data, DEV, [f"{row.split(chr(9))[0]}\t{place}" for row in rows(data, DEV)]
    )


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
    "spoil, message",
    [
        (share_people, f"{TRAIN} and {DEV} share 3 names"),
        (copy_gold("birth_test.TSV"), "birth_test.TSV has the test answers"),
        (copy_gold(TEST), f"{TEST} has answers after its questions"),
        (
            append(
                "wiki.txt", lambda data: rows(data, TEST)[0].replace("was ", "was  ") + " Rome."
            ),
            "wiki.txt has 1 documents with a test question word for word",
        ),
        (change_places(lambda place: "x" * 100 + " " + place), f"{DEV}: the places of 100.0%"),
        (change_places(lambda place: place + "ette"), f"{DEV}: the places of 100.0%"),
        (all_from("Rome"), f"{DEV}: 'Rome' for all is right 100.0%"),
    ],
)
def test_problems_are_named(spoil, message, data, check):
    spoil(data)
    code, text = check(data)
    assert code == 1 and f"PROBLEM: {message}" in text.replace(f"{data}/", "")


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda data: (data / DEV).unlink(), f"{DEV} does not exist"),
        (append(DEV, "Where was Ana Xu born?"), "line 101: expected a question, a tab and a place"),
    ],
)
def test_what_the_jobs_refuse_is_refused(spoil, message, data, check):
    spoil(data)
    code, text = check(data)
    assert code == 2 and message in text


def test_gold_of_other_questions_is_refused(data, tmp_path, check):
    rewrite(tmp_path, "birth_test.tsv", reversed(rows(GOLD / "laptop", "birth_test.tsv")))
    code, text = check(data, "--gold", tmp_path)
    assert code == 2 and "does not answer the questions of" in text
