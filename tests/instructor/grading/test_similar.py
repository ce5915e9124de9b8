"""Finding code that agrees, and results that are equal."""

import csv
import re
import shutil
import zipfile
from argparse import ArgumentParser
from html import unescape

import pytest

from browser import SIZES, opened, sideways, violations
from checks.support.staging import END, GIVEN, START
from common.files import UserError
from conftest import ROOT, SOLUTION, copy_reference
from instructor.grading import graded_class, similar
from instructor.grading.similar.command import THRESHOLD, equal_files
from instructor.grading.similar.compare import compare, compare_with_released, released_code
from instructor.grading.similar.own import Own, read_own, regions
from instructor.grading.similar.pages import write_pages
from jobs.deliverables import STUDENT_FILES
from right.problem1.solutions import RIGHT as MANY
from right.problem1.whole import RIGHT as WHOLE
from variants import Fill, make

NAMES = {
    "truncated": "abschnitt",
    "masked_string": "kette",
    "position": "stelle",
    "number_of_epochs": "runden",
    "cos_rows": "zeilen_c",
    "sin_rows": "zeilen_s",
    "start": "anfang",
    "suffix": "rest",
    "prefix": "davor",
    "masked_content": "loch",
}
RIGHT = {right.name: right for right in MANY + WHOLE}
BEGINNER = "beginner_with_loops"


@pytest.fixture(scope="module")
def handed_in(tmp_path_factory):
    """A class of independent solutions, and of copies of one of them: {person: folder or zip}."""
    root = tmp_path_factory.mktemp("class")
    people = {name: make(right.changes, root / name) for name, right in RIGHT.items()}
    people["copy"] = make(RIGHT[BEGINNER].changes, root / "copy")
    people["renamed"] = changed(make(RIGHT[BEGINNER].changes, root / "renamed"), rename)
    people["reordered"] = changed(make(RIGHT[BEGINNER].changes, root / "reordered"), reorder)
    people["unmarked"] = changed(
        make(RIGHT[BEGINNER].changes, root / "unmarked"),
        lambda text: re.sub(r" *### (START|END)_CODE_HERE ###\n", "", text),
    )
    people["starter"] = people["starter too"] = GIVEN
    people["zipped"] = root / "zipped.zip"
    with zipfile.ZipFile(people["zipped"], "w") as archive:
        for path in people["copy"].iterdir():
            archive.write(path, "hw/" + path.name)
    return people


def changed(folder, change):
    for name in ("attention.py", "dataset.py", "helper.py"):
        text = (folder / name).read_text(encoding="utf-8")
        assert change(text) != text or name != "dataset.py"
        (folder / name).write_text(change(text), encoding="utf-8")
    return folder


def rename(text):
    for old, new in NAMES.items():
        text = re.sub(rf"\b{old}\b", new, text)
    return text.replace("        x = torch", "        # my own idea\n\n        x = torch")


def reorder(text):
    """Move what is in the last function of a file to its beginning, and swap two statements."""
    text = text.replace(
        'prefix = ""\n        masked_content = ""\n', 'masked_content = ""\n        prefix = ""\n'
    )
    parts = re.split(r"(?m)^(?=def |class )", text)
    return "".join([parts[0], *reversed(parts[1:])])


@pytest.fixture(scope="module")
def compared(handed_in):
    everybody = [read_own(person, source) for person, source in handed_in.items()]
    pairs, left_out = compare(everybody, 0.01, 2)
    return {frozenset((pair.first, pair.second)): pair for pair in pairs}, left_out, everybody


@pytest.mark.parametrize(
    "copy, least",
    [("copy", 1.0), ("zipped", 1.0), ("renamed", 0.95), ("reordered", 0.85), ("unmarked", 0.85)],
)
def test_a_copy_is_found_whatever_was_done_to_it(compared, copy, least):
    pair = compared[0][frozenset((BEGINNER, copy))]
    assert pair.similarity >= least and pair.similarity >= THRESHOLD


def test_independent_right_solutions_are_not_flagged(compared):
    pairs, left_out, _ = compared
    independent = {pair.similarity for people, pair in pairs.items() if people <= RIGHT.keys()}
    assert len(RIGHT.keys() - left_out.keys()) >= 4, "too few were compared"
    assert max(independent) <= 0.45, "the default threshold leaves no room"


def test_the_starter_is_similar_to_nothing(compared):
    pairs, left_out, _ = compared
    assert {"starter", "starter too"} <= left_out.keys()
    assert not any({"starter", "starter too"} & people for people in pairs)


def test_what_the_reference_has_is_nobodys_own(tmp_path):
    people = [read_own(name, SOLUTION) for name in ("a", "b")]
    pairs, left_out = compare(people, 0.01, 1)
    assert pairs == [] and left_out.keys() == {"a", "b"}


def test_part_of_a_copy_shows_on_one_side(tmp_path, handed_in):
    helper = handed_in["copy"] / "helper.py"
    folder = tmp_path / "part"
    folder.mkdir()
    (folder / "dataset.py").write_bytes((handed_in["copy"] / "dataset.py").read_bytes())
    (folder / "helper.py").write_bytes(GIVEN.joinpath("helper.py").read_bytes())
    assert helper.read_bytes() != (folder / "helper.py").read_bytes()
    (pair,) = compare(
        [read_own("whole", handed_in["copy"]), read_own("part", folder)], THRESHOLD, 1
    )[0]
    assert pair.shares[1] > 0.9 > pair.shares[0] + 0.2 and pair.similarity == pair.shares[1]


@pytest.mark.full
def test_many_pairs_go_to_workers_and_give_the_same(compared, monkeypatch):
    _, _, everybody = compared
    alone = compare(everybody, 0.2, 1)
    monkeypatch.setattr("instructor.grading.similar.compare.BATCH", 5)
    assert compare(everybody, 0.2, 2) == alone
    assert [pair.similarity for pair in alone[0]] == sorted(
        (pair.similarity for pair in alone[0]), reverse=True
    )


def test_only_what_is_between_markers_is_read():
    text = (SOLUTION / "model.py").read_text(encoding="utf-8")
    assert regions(text).strip() == "x_input = token_embeddings"
    assert regions(text.replace("\n", "\r\n")) == regions(text)


def test_numbers_are_no_code(tmp_path):
    """Right numbers are alike."""
    for name in ("hand_attention.json", "numpy_attention.py"):
        (tmp_path / name).write_bytes((SOLUTION / "problem5" / name).read_bytes())
    text = read_own("x", tmp_path).text
    assert (
        text.startswith("# problem5/numpy_attention.py\n")
        and "scores" in text
        and "scaled_scores" not in text
    )


@pytest.mark.parametrize(
    "write, part",
    [
        (lambda folder: None, "does not exist"),
        (lambda folder: folder.mkdir(), "none of the required files"),
        (
            lambda folder: (folder.mkdir(), (folder / "model.py").write_bytes(b"\xff\xfe\x00")),
            "model.py is not UTF-8 but UTF-16",
        ),
        (
            lambda folder: (
                folder.mkdir(),
                (folder / "model.py").write_text("x = 1\n" * 20_000, encoding="utf-8"),
            ),
            "more than the",
        ),
        (
            lambda folder: (folder.mkdir(), (folder / "model.py").symlink_to("/etc/passwd")),
            "is a link",
        ),
        (lambda folder: folder.write_text("<html>", encoding="utf-8"), "not a zip file"),
    ],
)
def test_what_cannot_be_read_is_not_compared(tmp_path, write, part):
    write(tmp_path / "x")
    own = read_own("x", tmp_path / "x")
    assert part in own.problem and own.text == ""
    assert compare([own, own], THRESHOLD, 1) == ([], {})


def test_equal_files_are_reported_near_the_reference_too(tmp_path):
    """Whoever wrote them: two who copied what is nearly the reference, and one whose is another."""
    everybody = []
    for person, line in (("a", "# mine"), ("b", "# mine"), ("c", "# another's")):
        folder = copy_reference(tmp_path / person)
        for name in ("attention.py", "dataset.py"):
            text = (folder / name).read_text(encoding="utf-8").replace(START, f"{START}\n{line}", 1)
            (folder / name).write_text(
                text, encoding="utf-8", newline="\r\n" if person == "b" else "\n"
            )
        everybody.append(read_own(person, folder))
    assert compare(everybody, THRESHOLD, 1)[0] == [], (
        "they are too near the reference to be compared"
    )
    groups = {tuple(people): files for files, people in equal_files(everybody)}
    named = {file.split(",")[0] for file in groups["a", "b"]}
    assert named == {"attention.py", "dataset.py"}
    assert {"rope.finetune.params", "rope.pretrain.dev.predictions"} <= set(groups["a", "b", "c"])


def test_what_was_given_is_no_finding(tmp_path):
    """The starter, with its markers or without; and nothing in the place of its stubs."""
    folders = [tmp_path / name for name in ("unmarked", "emptied")]
    for folder in folders:
        shutil.copytree(GIVEN, folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in STUDENT_FILES:
        text = (GIVEN / name).read_text(encoding="utf-8")
        unmarked = re.sub(f" *({START}|{END})\n", "", text)
        (folders[0] / name).write_text(unmarked, encoding="utf-8")
        emptied = re.sub(f"(?s)(?<={START}\n).*?(?= *{END})", "", text)
        (folders[1] / name).write_text(emptied, encoding="utf-8")
    everybody = [read_own(str(n), source) for n, source in enumerate([GIVEN, GIVEN, *folders * 2])]
    assert equal_files(everybody) == []


def test_equal_files_of_what_cannot_be_compared(tmp_path):
    """Code that is too long, or no UTF-8, is equal all the same."""
    for n, content in enumerate([b"x = 1\n" * 20_000, b"x = '\xff'\n"]):
        people = []
        for person in "ab":
            (folder := tmp_path / f"{person}{n}").mkdir()
            (folder / "model.py").write_bytes(content)
            people.append(read_own(person, folder))
        assert all(own.problem for own in people)
        ((files, group),) = equal_files(people)
        assert group == ["a", "b"] and files[0].startswith("model.py")


def test_equal_results(tmp_path):
    def results(name, **files):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.py").write_text(f"x = '{name}'", encoding="utf-8")
        for file, content in files.items():
            (tmp_path / name / file.replace("_", ".")).write_bytes(content)
        return read_own(name, tmp_path / name)

    same = {"rope_finetune_params": b"weights", "rope_pretrain_dev_predictions": b"Oslo\nRome\n"}
    everybody = [
        results("a", **same),
        results("b", **same),
        results("c", rope_finetune_params=b"weights"),
        results("f", rope_finetune_params=b"others"),
        results("d", vanilla_pretrain_dev_predictions=b"London\n" * 9),
        results("e", vanilla_pretrain_dev_predictions=b"London\n" * 9),
    ]
    assert equal_files(everybody) == [
        (["rope.finetune.params"], ["a", "b", "c"]),
        (["rope.pretrain.dev.predictions"], ["a", "b"]),
        (["vanilla.pretrain.dev.predictions, always the same answer"], ["d", "e"]),
    ]


# The command and its pages

EVIL = "<script>alert(1)</script>\n=cmd|' /C calc'!A0"


@pytest.fixture(scope="module")
def released():
    """The code of the assignment."""
    return released_code()


@pytest.fixture
def command(handed_in, released, tmp_path, monkeypatch):
    some = released[:3]  # to compare with all takes long
    monkeypatch.setattr("instructor.grading.similar.compare.released_code", lambda: some)

    def run(*options, people=(BEGINNER, "copy", "careful_with_try", "starter")):
        sources = {EVIL if person == "copy" else person: handed_in[person] for person in people}
        monkeypatch.setattr(graded_class, "load_sources", lambda out: sources)
        parser = ArgumentParser()
        similar.add_parser(parser.add_subparsers())
        args = parser.parse_args(["similar", str(tmp_path), *options])
        assert args.run(args) == 0
        return tmp_path / "similar"

    return run


def test_the_pages(command, capsys):
    folder = command()
    assert (
        "Compared 3 submissions; 1 could not" in (said := capsys.readouterr().out)
        and "0.6 or more: 1." in said
    )
    assert sorted(path.name for path in folder.iterdir()) == [
        "index.html",
        "pair-001.html",
        "similar.csv",
    ]
    index = (folder / "index.html").read_text(encoding="utf-8")
    pair = (folder / "pair-001.html").read_text(encoding="utf-8")
    assert (
        "not proof" in index
        and "100%" in index
        and 'href="pair-001.html"' in index
        and re.search("Without what .*<bdi>starter</bdi>", index)
    )
    for page in (index, pair):
        assert "<script" not in page and "&lt;script&gt;alert(1)" in page
        assert not re.search(
            r"https?:|src=|@import|url\(", re.sub(r"(?s)<pre.*?</pre>", "", page)
        ), "it loads something"
    code = [
        unescape(re.sub("<[^>]+>", "", block))
        for block in re.findall(r"(?s)<pre[^>]*>(.*?)</pre>", pair)
    ]
    marked = unescape("".join(re.findall(r"(?s)<mark>(.*?)</mark>", pair.split("<main")[1])))
    assert len(code) == 2 and code[0] == code[1] and "while len(masked_string)" in code[0]
    assert "while len(masked_string) != self.block_size + 1:" in marked, "what agrees is not marked"
    assert "random.randint(4, maximum)" in marked
    rows = list(csv.reader((folder / "similar.csv").read_text(encoding="utf-8-sig").splitlines()))
    assert len(rows) == 2 and {rows[1][1], rows[1][2]} == {
        BEGINNER,
        "<script>alert(1)</script> =cmd|' /C calc'!A0",
    }


def test_code_is_shown_as_text_and_formulas_are_none(tmp_path):
    text = "# model.py\nx = '</pre><img src=x onerror=alert(1)>' + \"\u202e\"\n"
    everybody = [Own("=1+2", text), Own("@b", text)]
    from instructor.grading.similar.compare import Pair

    pairs = [Pair("=1+2", "@b", (1.0, 0.5), (((11, 30),), ((0, 500),)))]
    write_pages(
        tmp_path,
        everybody,
        pairs,
        {"\x1b[31m": "<b>"},
        [(["rope.finetune.params"], ["<i>", "@b"])],
        0.6,
    )
    page = (tmp_path / "similar" / "pair-001.html").read_text(encoding="utf-8")
    assert (
        "<img" not in page and "<mark>x = &#39;&lt;/pre&gt;&lt;img" in page and "\u202e" not in page
    )
    index = (tmp_path / "similar" / "index.html").read_text(encoding="utf-8")
    assert "<b>" not in index and "<i>" not in index and "\x1b" not in index
    rows = list(
        csv.reader(
            (tmp_path / "similar" / "similar.csv").read_text(encoding="utf-8-sig").splitlines()
        )
    )
    assert rows[1] == ["1", "'=1+2", "'@b", "1", "0.5"]


@pytest.mark.full
def test_a_second_run_replaces_the_first(command):
    before = command("--threshold", "0.6")
    assert {path.stat().st_mode & 0o077 for path in (before, *before.iterdir())} == {0}
    folder = command(people=("careful_with_try", "copy"))
    assert sorted(path.name for path in folder.iterdir()) == ["index.html", "similar.csv"]
    assert "No pair reaches 60%" in (folder / "index.html").read_text(encoding="utf-8")
    assert [path.name for path in folder.parent.iterdir()] == ["similar"]


def test_nobody_to_compare(command):
    assert "No pair reaches" in (command(people=()) / "index.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "options",
    [("--threshold", "0"), ("--threshold", "2"), ("--threshold", "x"), ("--workers", "0")],
)
def test_bad_options(command, options, capsys):
    with pytest.raises(SystemExit):
        command(*options)
    assert "is not a number" in capsys.readouterr().err


@pytest.mark.full
def test_a_page_that_cannot_be_written_loses_nothing(command, monkeypatch):
    folder = command()
    before = (folder / "index.html").read_bytes()
    monkeypatch.setattr(
        "instructor.grading.similar.pages._write",
        lambda path, text: (_ for _ in ()).throw(OSError(28, "No space left on device")),
    )
    with pytest.raises(UserError, match="could not be written: No space left"):
        command()
    assert (folder / "index.html").read_bytes() == before


def test_code_of_the_assignment_is_found(tmp_path, handed_in, released):
    """Somebody who pastes a part of the grader between the markers; nobody of those who wrote their
    own.
    """
    files = released
    assert {"src/autograder/compare.py", "src/jobs/problem1/run_job.py"} <= {
        file.person for file in files
    }
    assert not any(
        file.person.startswith(("src/submission/", "src/checks/given/")) for file in files
    )
    source = (
        (ROOT / "src" / "autograder" / "compare.py")
        .read_text(encoding="utf-8")
        .split("def require_close")[1]
    )
    pasted = re.sub(r"\berror\b", "mistake", source.split('"""')[2])
    folder = make((Fill("pretrain", pasted),), tmp_path / "pasted")
    everybody = [read_own(name, source) for name, source in {**handed_in, "pasted": folder}.items()]
    pairs = compare_with_released(everybody, files)
    assert [(pair.first, pair.second) for pair in pairs] == [
        ("pasted", "src/autograder/compare.py")
    ]
    page = write_pages(tmp_path, everybody, [], {}, [], 0.6, files, pairs)
    assert "src/autograder/compare.py" in page.read_text(encoding="utf-8")
    assert "<mark>" in (page.parent / "released-001.html").read_text(encoding="utf-8")


@pytest.mark.full
def test_everybody_can_read_the_pages(browser, command):
    folder = command()
    for name in ("index.html", "pair-001.html"):
        for size in SIZES:
            for scheme in ("light", "dark"):
                with opened(browser, folder / name, size, scheme) as tab:
                    assert violations(tab) == [] and sideways(tab) == 0
