"""check-data: what it passes, and what it finds in spoiled data."""

import gzip
import shutil

import pytest

from common.files import UserError
from conftest import DATA, ROOT
from instructor.__main__ import main
from instructor.datasets.check_data.command import CHECKS, check_folder

GOLD = ROOT / "instructor" / "gold"


@pytest.fixture
def data(tmp_path):
    """A copy of the laptop world, to be spoiled."""
    return shutil.copytree(DATA, tmp_path / "data")


def rows(data, name):
    """The lines of a file."""
    return (data / name).read_text(encoding="utf-8").splitlines()


def rewrite(data, name, lines):
    """Rewrite a file."""
    (data / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")


@pytest.mark.parametrize("folder, gold", [("data", "."), ("data/laptop", "laptop")])
def test_the_worlds_are_fit(folder, gold):
    facts, findings = check_folder(ROOT / folder, GOLD / gold, 128)
    assert not findings and set(facts) == set(CHECKS)
    assert (
        "one place for everybody gets 5.0% of train (London), 5.0% of dev (London), 5.0% of test"
        in facts["baseline"]
        and "100.0% of test" in facts["place"]
    )


def _append(name, line):
    return lambda data: rewrite(data, name, [*rows(data, name), line])


def _from(one, other, count):
    def spoil(data):
        taken = rows(data, one)[:count]
        rewrite(data, other, [*rows(data, other), *taken])

    return spoil


def _late(data):
    places = {row.split("\t")[1] for row in rows(data, "birth_dev.tsv")}
    text = "\n".join(rows(data, "wiki.txt"))
    for place in places:
        text = text.replace(place, "x" * 100 + place)
    rewrite(data, "wiki.txt", text.split("\n"))


def _london(data):
    lines = [
        row.split("\t")[0] + "\tLondon" if number % 3 else row
        for number, row in enumerate(rows(data, "birth_dev.tsv"))
    ]
    rewrite(data, "birth_dev.tsv", lines)


def _gold_inside(data):
    shutil.copy(GOLD / "laptop" / "birth_test.tsv", data / "birth_test.tsv")


def _gold_by_another_name(data):
    shutil.copy(GOLD / "laptop" / "birth_test.tsv", data / "notes.txt")


GOLD_ROWS = [row.split("\t") for row in rows(GOLD / "laptop", "birth_test.tsv")]
BARE_NAMES = [
    (question.removeprefix("Where was ").removesuffix(" born?"), place)
    for question, place in GOLD_ROWS
]


def _file(name, text):
    def write(data):
        (data / name).parent.mkdir(exist_ok=True)
        (data / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    return write


def _lines(form, pairs=GOLD_ROWS):
    return "".join(form.format(*pair) + "\n" for pair in pairs)


def _double(data):
    rewrite(data, "wiki.txt", rows(data, "wiki.txt") * 2)


def _two_blanks(one, other):
    return lambda data: rewrite(
        data,
        other,
        [*rows(data, other), *(row.replace("was ", "was  ") for row in rows(data, one)[:3])],
    )


# check, whether it is an error, what spoils the data, what the message says
SPOILED = [
    (
        "formats",
        True,
        lambda data: (data / "birth_dev.tsv").unlink(),
        "birth_dev.tsv does not exist",
    ),
    ("formats", True, lambda data: (data / "wiki.txt").write_bytes(b"\xff\xfe"), "is not UTF-8"),
    (
        "formats",
        True,
        _append("birth_dev.tsv", "Where was Ana Xu born?"),
        "line 101: expected a question, a tab and a place",
    ),
    (
        "formats",
        True,
        _append("birth_dev.tsv", "Birthplace of Ana Re?\tLondon"),
        "1 row without \"Where was NAME born?\": 'Birthplace of Ana Re?'",
    ),
    ("formats", True, _append("birth_dev.tsv", "Where was Ana Żu born?\tLondon"), "'Ż' (U+017B)"),
    ("formats", True, _append("wiki.txt", "A \u2047 here."), "is reserved for masking"),
    (
        "formats",
        False,
        _append("wiki.txt", "Something was here. "),
        "1 document with a space at the beginning or the end",
    ),
    (
        "overlap",
        True,
        _from("birth_places_train.tsv", "birth_dev.tsv", 3),
        "birth_places_train.tsv and birth_dev.tsv share 3 names",
    ),
    (
        "overlap",
        False,
        lambda data: _append(
            "birth_dev.tsv", rows(data, "birth_dev.tsv")[0].split("\t")[0] + "\tLima"
        )(data),
        "asks 1 question again, of which 1 have two answers",
    ),
    ("leakage", True, _gold_inside, "birth_test.tsv has the test answers"),
    ("leakage", True, _gold_by_another_name, "notes.txt seems to answer 40 test questions"),
    (
        "leakage",
        True,
        lambda data: rewrite(
            data, "birth_test_inputs.tsv", rows(GOLD / "laptop", "birth_test.tsv")
        ),
        "has answers after its questions",
    ),
    (
        "leakage",
        True,
        lambda data: _append("wiki.txt", rows(data, "birth_test_inputs.tsv")[0] + " In Rome.")(
            data
        ),
        "1 document with a test question word for word",
    ),
    (
        "leakage",
        True,
        _file("sub/answers.txt", _lines("{}\t{}")),
        "sub/answers.txt seems to answer 40 test questions",
    ),
    ("leakage", True, _file("a.csv", _lines("{},{}")), "a.csv seems to answer 40"),
    ("leakage", True, _file("quoted.tsv", _lines('"{}"\t"{}"')), "quoted.tsv seems to answer 40"),
    (
        "leakage",
        True,
        _file("a.jsonl", _lines('{{"q": "{}", "a": "{}"}}')),
        "a.jsonl seems to answer 40",
    ),
    (
        "leakage",
        True,
        _file("a.gz", gzip.compress(_lines("{}\t{}").encode())),
        "a.gz seems to answer 40",
    ),
    (
        "leakage",
        True,
        _file("names.tsv", _lines("{}\t{}", BARE_NAMES)),
        "names.tsv seems to answer 40",
    ),
    (
        "leakage",
        True,
        _file("laptop/birth_dev.tsv", _lines("{}\t{}")),
        "laptop/birth_dev.tsv seems to answer 40",
    ),
    (
        "leakage",
        True,
        _file("birth_test.TSV", "Where was Ana Xu born?\tRome\n"),
        "birth_test.TSV has the test answers",
    ),
    (
        "leakage",
        True,
        _file("parts/0000000.jsonl.gz", b""),
        "parts is in a working folder of the command wikipedia",
    ),
    (
        "leakage",
        False,
        _file("places.txt", _lines("{1}")),
        "1 file that the assignment doesn't know: 'places.txt'",
    ),
    (
        "leakage",
        False,
        _file("zeros.bin", bytes(1000)),
        "1 file that the assignment doesn't know: 'zeros.bin'",
    ),
    (
        "leakage",
        True,
        lambda data: _append(
            "wiki.txt",
            rows(data, "birth_test_inputs.tsv")[0].replace("was ", "was  ") + " In Rome.",
        )(data),
        "1 document with a test question word for word",
    ),
    (
        "overlap",
        True,
        _two_blanks("birth_places_train.tsv", "birth_dev.tsv"),
        "birth_places_train.tsv and birth_dev.tsv share 3 names",
    ),
    (
        "formats",
        True,
        _two_blanks("birth_places_train.tsv", "birth_dev.tsv"),
        '3 rows without "Where was NAME born?"',
    ),
    (
        "formats",
        False,
        lambda data: rewrite(data, "wiki.txt", ["", *rows(data, "wiki.txt")]),
        "1 blank line, the first is line 1",
    ),
    ("formats", False, _double, "1,320 documents equal to an earlier one"),
    (
        "formats",
        False,
        _append("wiki.txt", "Ana\tXu was here."),
        "1 document with a tab or another control character",
    ),
    (
        "length",
        True,
        lambda data: _append(
            "birth_dev.tsv", rows(data, "birth_dev.tsv")[0].split("\t")[0] + "\t" + "Rome" * 9
        )(data),
        "1 place of more than 32 characters: 'Rome",
    ),
    (
        "baseline",
        False,
        lambda data: rewrite(
            data,
            "birth_dev.tsv",
            [row.split("\t")[0] + "\tRome" for row in rows(data, "birth_dev.tsv")],
        ),
        "birth_dev.tsv: 'Rome' for everybody is right 100.0%",
    ),
    ("baseline", False, _london, "birth_dev.tsv: 'London' for everybody is right 6"),
    (
        "alphabet",
        False,
        _append("wiki.txt", "".join(map(chr, range(0x4E00, 0x4E00 + 230)))),
        "with more than 256",
    ),
    ("length", False, _append("wiki.txt", "Bo."), "1 document of fewer than 4 characters: 'Bo.'"),
    ("place", True, _late, "are not within the first 96 characters"),
    (
        "place",
        False,
        _append("birth_dev.tsv", "Where was Ana Re born?\tLondon"),
        "1 name in no document of wiki.txt: 'Ana Re'",
    ),
]


@pytest.mark.parametrize(
    "check, error, spoil, message", SPOILED, ids=[row[3][:30] for row in SPOILED]
)
def test_what_is_wrong_is_found(check, error, spoil, message, data, monkeypatch, capsys):
    spoil(data)
    _, findings = check_folder(data, None, 128)
    found = [finding for finding in findings if finding.check == check and message in finding.text]
    assert found and found[0].error == error, findings
    monkeypatch.setattr("sys.argv", ["instructor", "check-data", str(data)])
    assert main() == (1 if any(finding.error for finding in findings) else 0)
    assert message in capsys.readouterr().out


def test_one_name_of_a_hundred_in_two_splits_is_no_error(data):
    _from("birth_places_train.tsv", "birth_dev.tsv", 1)(data)
    findings = check_folder(data, None, 128)[1]
    # one of 80 is more than 1%
    assert [(finding.check, finding.error) for finding in findings] == [("overlap", True)]
    others = [f"Where was Lo{one}{other} born?\tRome" for one in "aeiorstln" for other in "aeiorst"]
    rewrite(data, "birth_places_train.tsv", [*rows(data, "birth_places_train.tsv"), *others])
    overlap = [
        finding for finding in check_folder(data, None, 128)[1] if finding.check == "overlap"
    ]
    assert [finding.error for finding in overlap] == [False]


def test_gold_of_other_questions(data, tmp_path):
    (tmp_path / "birth_test.tsv").write_text(
        "".join(line + "\n" for line in reversed(rows(GOLD / "laptop", "birth_test.tsv"))),
        encoding="utf-8",
    )
    (finding,) = check_folder(data, tmp_path, 128)[1]
    assert finding.error and "doesn't answer the questions" in finding.text


@pytest.mark.parametrize("heading", ["", "place\n"])
def test_places_in_the_order_of_the_questions_are_answers(heading, data):
    _file("predictions.txt", heading + _lines("{1}"))(data)
    found = [
        finding
        for finding in check_folder(data, GOLD / "laptop", 128)[1]
        if finding.check == "leakage"
    ]
    assert [finding.error for finding in found] == [
        True
    ] and "predictions.txt seems to answer 40 test questions" in found[0].text


def test_what_may_lie_in_the_folder(data):
    """Questions alone, people without answers, and a page that says where the data are from."""
    _file("laptop/birth_test_inputs.tsv", _lines("{}"))(data)
    _file("README.md", "# Data\n")(data)
    _file("ATTRIBUTION.tsv", _lines("{}\t17\tCC BY-SA 4.0", BARE_NAMES))(data)
    assert not check_folder(data, GOLD / "laptop", 128)[1]


def test_a_place_within_another_word_cannot_be_learned(data):
    places = {row.split("\t")[1] for row in rows(data, "birth_dev.tsv")}
    text = "\n".join(rows(data, "wiki.txt"))
    for place in places:
        text = text.replace(place, place + "ette")
    rewrite(data, "wiki.txt", text.split("\n"))
    (dev,) = [
        finding
        for finding in check_folder(data, None, 128)[1]
        if finding.check == "place" and "birth_dev.tsv" in finding.text
    ]
    assert dev.error and "100.0% in none at all" in dev.text


def test_no_folder(tmp_path):
    with pytest.raises(UserError, match="is not a folder"):
        check_folder(tmp_path / "none", None, 128)
