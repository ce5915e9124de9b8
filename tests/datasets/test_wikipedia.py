"""Editions from a dump of Wikipedia: fit for the jobs, the same bytes in any case, and messages on
bad input.
"""

import bz2
import dataclasses
import errno
import gzip
import os
import random
import signal
import subprocess
import sys
import time
import unicodedata
from pathlib import Path
from urllib.parse import quote

import pytest
from sample_dump import crowd, item, page, write_multistream, write_wikidata, xml
from wiki_editions import PEOPLE, attributed, contents, dropped, lines, run, wikipedia
from wiki_pages import NO_SENTENCE, PAGES

from conftest import ROOT, SOLUTION, run_cli
from instructor.datasets.check_data.command import check_folder
from instructor.datasets.wikipedia import dump as dump_module
from instructor.datasets.wikipedia import selection
from instructor.datasets.wikipedia.command import read_exclusions
from instructor.datasets.wikipedia.people import Candidate

FILES = (
    "wiki.txt",
    "birth_places_train.tsv",
    "birth_dev.tsv",
    "birth_test_inputs.tsv",
    "ATTRIBUTION.tsv",
    "README.md",
)
DEAD = "\n[[Category:1880 births]]\n[[Category:1950 deaths]]"
TOVA = page(1, *PAGES[0][:2])


@pytest.fixture(scope="module")
def articles(tmp_path_factory):
    """A dump of 400 people and other pages in many streams."""
    path = tmp_path_factory.mktemp("dump") / "ruwiki-articles.xml.bz2"
    write_multistream(path, crowd(5, 400), together=20)
    return path


@pytest.fixture(scope="module")
def edition(articles, tmp_path_factory):
    """An edition of it, made with two processes."""
    out = tmp_path_factory.mktemp("edition") / "data"
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert (
            wikipedia(
                monkeypatch,
                articles,
                out,
                "--part-mb",
                "0.02",
                "--compare",
                ROOT / "data" / "laptop",
                workers=2,
            )
            == 0
        )
    return out


def _damaged(path, change):
    data = bytearray(path.read_bytes())
    return bytes(change(data) or data)


def _scratch(data):
    data[len(data) // 2 : len(data) // 2 + 50] = bytes(50)


def _last_stream(path):
    return path.read_bytes().rindex(b"BZh91AY&SY")


BAD = {
    "missing": (lambda path: None, "No such file"),
    "empty": (lambda path: b"", "it is empty"),
    "cut off": (lambda path: path.read_bytes()[:-5000], "is cut off"),
    "cut off between streams": (lambda path: path.read_bytes()[: _last_stream(path)], "is cut off"),
    "cut off, then in one stream": (
        lambda path: bz2.compress(bz2.decompress(path.read_bytes())[:-30]),
        "is cut off",
    ),
    "corrupt": (
        lambda path: _damaged(path, _scratch),
        "is corrupt in the stream that begins at byte",
    ),
    "gzip": (lambda path: gzip.compress(b"<mediawiki"), "it is a gzip file"),
    "7-zip": (lambda path: b"7z\xbc\xaf\x27\x1c" + bytes(100), "it is a 7-zip file"),
    "a web page": (lambda path: b"<!DOCTYPE html><p>404", "it is a web page"),
    "JSON": (lambda path: b"[\n{}", "--wikidata"),
    "an index": (lambda path: bz2.compress(b"614:10:Ada\n614:12:Bob\n"), "the index of a dump"),
    "other XML": (lambda path: b"<?xml version='1.0'?><rss></rss></mediawiki>", "no <siteinfo>"),
    "plain XML, cut off": (lambda path: bz2.decompress(path.read_bytes())[:-30], "is cut off"),
    "without texts": (
        lambda path: xml([TOVA.replace("<text", "<no").replace("</text", "</no")]).encode(),
        "stub",
    ),
    "with histories": (
        lambda path: xml([TOVA.replace("  </page>", "<revision></revision></page>")]).encode(),
        "history",
    ),
    "Russian": (
        lambda path: bz2.decompress(path.read_bytes()).replace(b'xml:lang="en"', b'xml:lang="ru"'),
        "language 'ru'",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_file_that_is_no_dump(kind, articles, tmp_path, monkeypatch, capsys):
    make, message = BAD[kind]
    path, data = tmp_path / "dump", make(articles)
    if data is not None:
        path.write_bytes(data)
    assert wikipedia(monkeypatch, path, tmp_path / "out", "--part-mb", "0.01") == 2
    error = capsys.readouterr().err
    assert (
        message in error
        and str(path) in error
        or kind in ("without texts", "with histories", "Russian")
    )
    assert message in error and not (tmp_path / "out").exists()
    # it is seen before hours of work
    assert "cut off" not in kind or "one stream" in kind or not (tmp_path / "out-work").exists()


def test_an_edition_is_fit(edition, monkeypatch, capsys):
    assert run(monkeypatch, "check-data", edition, "--gold", edition.with_name("data-gold")) == 0
    assert "0 errors, 0 warnings" in capsys.readouterr().out
    assert sorted(path.name for path in edition.iterdir()) == sorted(FILES)
    assert [len(lines(edition / name)) for name in FILES[1:4]] == [102, 26, 22]
    gold = lines(edition.with_name("data-gold") / "birth_test.tsv")
    assert [row.split("\t")[0] for row in gold] == lines(edition / "birth_test_inputs.tsv") and all(
        row.split("\t")[1] for row in gold
    )


def test_everybody_is_attributed(edition):
    rows = attributed(edition)
    asked = {
        line.split(" born?")[0].removeprefix("Where was ")
        for name in FILES[1:4]
        for line in lines(edition / name)
    }
    assert {row["name"] for row in rows} == asked and len(rows) == PEOPLE
    for row in rows:
        assert int(row["revision_id"]) == int(row["page_id"]) + 900000 and row[
            "license"
        ].startswith("CC BY-SA")
        assert row["url"] == (
            f"https://en.wiki.example/w/index.php?title={row['title'].replace(' ', '_')}&oldid={row['revision_id']}"
        )


def test_the_report(edition):
    report = (edition.with_name("data-gold") / "report.md").read_text(encoding="utf-8")
    assert (
        "CC BY-SA" in (edition / "README.md").read_text(encoding="utf-8")
        and not (edition / "report.md").exists()
    )
    assert (
        "| | this edition | laptop |" in report
        and "| people | 150 | 220 |" in report
        and "CC BY-SA" in report
        and NO_SENTENCE in report
    )
    lost = dropped(report.split("## Dropped pages")[1])
    assert sum(lost.values()) + PEOPLE == 400 + 3 * 134  # none without a reason
    assert not any(
        line.split(" born?")[0].removeprefix("Where was ") in report
        for line in lines(edition / "birth_test_inputs.tsv")
    )


@pytest.mark.parametrize("kind", ["one stream", "plain"])
def test_the_same_bytes_however_it_is_read(kind, articles, edition, tmp_path, monkeypatch):
    path, text = tmp_path / articles.name, bz2.decompress(articles.read_bytes())
    path.write_bytes(bz2.compress(text) if kind == "one stream" else text)
    out = tmp_path / "data"
    workers = 2 if kind == "one stream" else 1
    assert (
        wikipedia(
            monkeypatch,
            path,
            out,
            "--part-mb",
            "0.3",
            "--compare",
            ROOT / "data" / "laptop",
            workers=workers,
        )
        == 0
    )
    assert contents(out) == contents(edition)


def _alive(group):
    """The running processes of a group, from /proc."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, of = path.read_text(encoding="utf-8").rsplit(")", 1)[1].split()[:3]
        except OSError:
            continue
        if int(of) == group and state != "Z":
            yield path


def test_killed_and_resumed(articles, edition, tmp_path):
    out = tmp_path / "data"
    command = [
        sys.executable,
        "-m",
        "instructor",
        "wikipedia",
        "--articles",
        str(articles),
        "--people",
        str(PEOPLE),
        "--out",
        str(out),
        "--workers",
        "2",
        "--part-mb",
        "0.001",
        "--compare",
        str(ROOT / "data" / "laptop"),
    ]
    finished, before = tmp_path / "data-work" / "parts", 0
    for more in (2, 4):  # killed twice, early
        process = subprocess.Popen(
            command, cwd=ROOT, stderr=subprocess.DEVNULL, start_new_session=True
        )
        while process.poll() is None and len(list(finished.glob("*.gz"))) < before + more:
            time.sleep(0.002)
        process.kill()
        assert process.wait() == -signal.SIGKILL, "it was done before it was killed"
        before = len(list(finished.glob("*.gz")))
        deadline = time.monotonic() + 30
        while any(_alive(process.pid)) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not any(_alive(process.pid)), "workers outlived their parent"
    kept = {path: path.stat().st_mtime_ns for path in finished.glob("*.gz")}
    assert not out.exists() and kept
    assert subprocess.run(command, cwd=ROOT, capture_output=True).returncode == 0
    assert contents(out) == contents(edition)
    # nothing was read twice
    assert all(path.stat().st_mtime_ns == then for path, then in kept.items())


def test_another_seed_is_other_people_from_the_same_parts(articles, edition, tmp_path, monkeypatch):
    def never(*args):
        raise AssertionError("read again")

    assert wikipedia(monkeypatch, articles, tmp_path / "a", "--work", tmp_path / "work") == 0
    monkeypatch.setattr(dump_module, "read_pages", never)
    assert (
        wikipedia(monkeypatch, articles, tmp_path / "b", "--work", tmp_path / "work", "--seed", "2")
        == 0
    )
    one, two = ({row["page_id"] for row in attributed(tmp_path / name)} for name in "ab")
    assert (
        len(one - two) > 20
        and (tmp_path / "a" / "birth_dev.tsv").read_bytes()
        == (edition / "birth_dev.tsv").read_bytes()
    )


def test_parts_of_another_dump_are_not_mixed_in(articles, tmp_path, monkeypatch, capsys):
    other = tmp_path / "other.bz2"
    write_multistream(other, crowd(6, 100))
    assert wikipedia(monkeypatch, articles, tmp_path / "a", "--work", tmp_path / "work") == 0
    assert wikipedia(monkeypatch, other, tmp_path / "b", "--work", tmp_path / "work") == 2
    assert (
        "finished parts of other input" in capsys.readouterr().err and not (tmp_path / "b").exists()
    )


def test_too_few_people(articles, tmp_path, monkeypatch, capsys):
    assert wikipedia(monkeypatch, articles, tmp_path / "out", people=2000) == 2
    error = capsys.readouterr().err
    assert "of 2,000 were found" in error and not (tmp_path / "out").exists()
    assert {"a redirect": 134, "another namespace": 134, "about no person": 134}.items() <= dropped(
        error
    ).items()
    assert wikipedia(monkeypatch, articles, tmp_path / "out", "--max-length", "40") == 2
    assert dropped(capsys.readouterr().err)["the document is longer than --max-length"] > 200
    assert (
        wikipedia(monkeypatch, articles, tmp_path / "out", people=3) == 2
        and "too few for three splits" in capsys.readouterr().err
    )


def test_a_disk_that_is_full_at_the_end_leaves_the_earlier_edition(articles, tmp_path, monkeypatch):
    assert wikipedia(monkeypatch, articles, tmp_path / "out") == 0
    before, real = contents(tmp_path / "out"), Path.write_text

    def full(self, *args, **kwargs):
        if self.name.startswith("report"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", full)
        assert wikipedia(patch, articles, tmp_path / "out", "--seed", "2") == 2
    assert contents(tmp_path / "out") == before
    assert wikipedia(monkeypatch, articles, tmp_path / "out", "--seed", "2") == 0
    now = contents(tmp_path / "out")
    assert now.keys() == before.keys() and all(
        now[name] != before[name] for name in ("wiki.txt", "birth_test.tsv", "report.md")
    )


@pytest.mark.parametrize("when", ["a part", "the end"])
def test_a_full_disk(when, articles, tmp_path, monkeypatch, capsys):
    calls, method = [], "write_bytes" if when == "a part" else "write_text"
    real = getattr(Path, method)

    def full(self, *args, **kwargs):
        calls.append(self.name)
        if len(calls) == 3 if when == "a part" else self.name.startswith("birth_dev"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(self, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Path, method, full)
        assert wikipedia(patch, articles, tmp_path / "out", "--part-mb", "0.02") == 2
    error = capsys.readouterr().err
    assert when == "a part" or f"{tmp_path / 'out-work'} keeps what was read: make room" in error
    assert "No space left on device" in error and (
        "Finished parts of the work are kept" in error
    ) == (when == "a part")
    assert not list(tmp_path.rglob("*.tmp")) and list((tmp_path / "out-work" / "parts").iterdir())
    assert wikipedia(monkeypatch, articles, tmp_path / "out", "--part-mb", "0.02") == 0


def test_the_exclusion_list(articles, edition, tmp_path, monkeypatch, capsys):
    rows = attributed(edition)
    listed = tmp_path / "list.txt"
    title, number = rows[0]["title"].replace(" ", "_"), rows[1]["page_id"]
    listed.write_text(
        f"# who asked\n{title}   # by title\n{number}\n\nNobody Ofthisname\n", encoding="utf-8"
    )
    assert wikipedia(monkeypatch, articles, tmp_path / "out", "--exclude", listed) == 0
    everything = b"".join(contents(tmp_path / "out").values()).decode()
    assert rows[0]["name"] not in everything and rows[1]["name"] not in everything
    assert "Nobody Ofthisname" in capsys.readouterr().err


@pytest.mark.parametrize(
    "spelling",
    [
        str.lower,
        '"{}"'.format,
        "Ole Quist\n\ufeff{}".format,
        "[[{}]]".format,
        lambda title: unicodedata.normalize("NFD", title.replace(" ", "  ")),
        lambda title: f"https://en.wikipedia.org/wiki/{quote(title.replace(' ', '_'))}",
        lambda title: (
            f"https://en.wikipedia.org/w/index.php?title={quote(title.replace(' ', '_'))}&oldid=7"
        ),
    ],
)
def test_however_the_exclusion_list_is_spelled(spelling, tmp_path):
    one = Candidate(
        7,
        8,
        "Zoë Ó Brin (poet)",
        "Zoë Ó Brin",
        "Cork",
        "infobox",
        (("Zoë Ó Brin was born in Cork.",),),
    )
    for title, meets in ((one.title, True), (one.name, True), ("Zoë Ó Brinn", False)):
        (tmp_path / "list.txt").write_text(
            f"# Who asked\n{spelling(title)}  # by mail\n", encoding="utf-8"
        )
        assert bool(selection._exclusion(read_exclusions(tmp_path / "list.txt"))(one)) == meets


def test_a_page_on_the_exclusion_list_by_the_address_with_its_id():
    one = Candidate(7, 8, "Ana Xu", "Ana Xu", "Cork", "infobox", (("Ana Xu was born in Cork.",),))
    assert selection._exclusion(frozenset({"https://en.wikipedia.org/?curid=7"}))(one)
    assert not selection._exclusion(frozenset({"https://en.wikipedia.org/?curid=77"}))(one)


def test_whoever_is_on_the_exclusion_list_is_not_mentioned_either(tmp_path, monkeypatch):
    pages = list(crowd(5, 60))
    pages.append(
        page(
            1, "Ana Quist", "'''Ana Quist''' (1880–1950) was born in [[Leeds]] to Ole Quist." + DEAD
        )
    )
    (tmp_path / "list.txt").write_text("Ole Quist\n", encoding="utf-8")
    (tmp_path / "a.xml").write_text(xml(pages), encoding="utf-8")
    options = ("--exclude", tmp_path / "list.txt", "--max-share", "1")
    assert wikipedia(monkeypatch, tmp_path / "a.xml", tmp_path / "out", *options, people=30) == 0
    assert "Ana Quist" not in (tmp_path / "out" / "wiki.txt").read_text(encoding="utf-8")
    assert (
        dropped((tmp_path / "out-gold" / "report.md").read_text(encoding="utf-8"))[
            "on the exclusion list"
        ]
        == 1
    )


def test_one_of_several_namesakes(tmp_path, monkeypatch):
    """Their question would have two answers."""
    names = [f"Ana Quist ({job})" for job in ("poet", "cook", "judge")]
    pages = [
        page(number + 1, name, f"'''Ana Quist''' was born in [[{place}]]." + DEAD)
        for number, (name, place) in enumerate(zip(names, ("Bern", "Rome", "Oslo")))
    ]
    (tmp_path / "a.xml").write_text(xml([*pages, *crowd(5, 8)]), encoding="utf-8")
    assert (
        wikipedia(monkeypatch, tmp_path / "a.xml", tmp_path / "out", "--max-share", "1", people=7)
        == 0
    )
    text = "".join((tmp_path / "out" / name).read_text(encoding="utf-8") for name in FILES[1:4])
    assert text.count("Ana Quist") == 1 and text.count("?") == 7


def test_when_hardly_anybody_fits_more_are_looked_at(articles, tmp_path, monkeypatch):
    monkeypatch.setattr(selection, "POOL", 1)
    assert wikipedia(monkeypatch, articles, tmp_path / "out") == 0
    assert len(lines(tmp_path / "out" / "birth_dev.tsv")) == 26


def _names(rng, count):
    return [
        f"{first}{rng.randrange(10**6)} Żółw{last}".translate(
            str.maketrans("0123456789", "abcdefghij")
        ).title()
        for first, last in ((rng.choice("KLM"), rng.randrange(10**6)) for _ in range(count))
    ]


def test_alphabet_and_share(tmp_path, monkeypatch, capsys):
    """Half of the names have rare letters; half of the people are from one town."""
    rng = random.Random(1)
    names = _names(rng, 120)
    odd = [chr(0x4E00 + number) + name for number, name in enumerate(names[60:])]
    places = [
        rng.choice(["Łódź", "Kyiv", "Oslo", "Bern", "Rome", "Nice"]) if number % 2 else "Łódź"
        for number in range(120)
    ]
    pages = [
        page(
            number + 1, name, f"'''{name}''' ({number + 1000}–1950) was born in [[{place}]]." + DEAD
        )
        for number, (name, place) in enumerate(zip(names[:60] + odd, places))
    ]
    path = tmp_path / "a.xml"
    path.write_text(xml(pages), encoding="utf-8")
    assert (
        wikipedia(
            monkeypatch,
            path,
            tmp_path / "out",
            "--max-symbols",
            "80",
            "--max-share",
            "0.4",
            people=30,
        )
        == 0
    )
    text = (tmp_path / "out" / "wiki.txt").read_text(encoding="utf-8")
    assert len(set(text)) + 2 <= 80 and "Łódź" in text
    train = [line.split("\t")[1] for line in lines(tmp_path / "out" / "birth_places_train.tsv")]
    assert len(train) == 21 and train.count("Łódź") <= 8
    assert "letters outside the alphabet" in (tmp_path / "out-gold" / "report.md").read_text(
        encoding="utf-8"
    )
    assert (
        wikipedia(
            monkeypatch, path, tmp_path / "ascii", "--transliterate", "--max-share", "1", people=60
        )
        == 0
    )
    assert all((tmp_path / "ascii" / name).read_bytes().isascii() for name in FILES[:4])
    assert b"Lodz" in (tmp_path / "ascii" / "wiki.txt").read_bytes()


def test_paraphrases(articles, edition, tmp_path, monkeypatch):
    assert wikipedia(monkeypatch, articles, tmp_path / "out", "--paraphrases", "4") == 0
    documents, single = lines(tmp_path / "out" / "wiki.txt"), lines(edition / "wiki.txt")
    assert (
        len(documents) >= 4 * PEOPLE
        and len(set(documents)) == len(documents)
        and len(set(single) - set(documents)) <= 1
    )
    facts, findings = check_folder(tmp_path / "out", tmp_path / "out-gold", 128)
    assert not findings
    assert "in words of ours" in (tmp_path / "out" / "README.md").read_text(encoding="utf-8")


def test_a_place_that_cannot_be_written_to_is_refused_before_the_work(
    articles, tmp_path, monkeypatch, capsys
):
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert (
        wikipedia(monkeypatch, articles, tmp_path / "file" / "out", "--work", tmp_path / "work")
        == 2
    )
    assert (
        "is not a folder that you can write to" in capsys.readouterr().err
        and not (tmp_path / "work").exists()
    )


def test_gold_does_not_go_to_students(articles, tmp_path, monkeypatch, capsys):
    assert (
        wikipedia(monkeypatch, articles, tmp_path / "out", "--gold", tmp_path / "out" / "gold") == 2
    )
    assert "must not be inside --out" in capsys.readouterr().err and not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "gold, work, message",
    [
        (None, "out", "--work must not be inside --out"),
        (None, "out/work", "--work must not be inside --out"),
        ("work", "work", "--work and --gold must not be inside each other"),
        ("work/gold", "work", "--work and --gold must not be inside each other"),
        ("gold", "gold/work", "--work and --gold must not be inside each other"),
        (None, ".", "--work and --out must not be inside each other"),
        ("release/gold", "work", "which students get. Choose another one with --gold"),
        (None, "release/data/work", "which students get. Choose another one with --work"),
    ],
)
def test_work_does_not_go_to_students_and_is_not_deleted_with_the_rest(
    gold, work, message, articles, tmp_path, monkeypatch, capsys
):
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "wiki.txt").write_text("Somebody was here.\n", encoding="utf-8")
    options = ["--work", tmp_path / work] + (["--gold", tmp_path / gold] if gold else [])
    assert wikipedia(monkeypatch, articles, tmp_path / "out", *options) == 2
    error = capsys.readouterr().err
    assert (
        message in error
        and "Nothing was written" in error
        and [path.name for path in tmp_path.iterdir()] == ["release"]
    )


@pytest.mark.parametrize(
    "option, name",
    [
        ("--out", "README.md"),
        ("--out", "wiki.txt"),
        ("--gold", "birth_test.tsv"),
        ("--gold", "report.md"),
    ],
)
def test_files_of_others_are_not_overwritten(option, name, articles, tmp_path, monkeypatch, capsys):
    folder = tmp_path / "out" if option == "--out" else tmp_path / "out-gold"
    folder.mkdir()
    (folder / name).write_text("# My project\n", encoding="utf-8")
    assert wikipedia(monkeypatch, articles, tmp_path / "out") == 2
    error = capsys.readouterr().err
    assert f"would be overwritten: {name}. Give another folder with {option}" in error
    assert (folder / name).read_text(encoding="utf-8") == "# My project\n" and [
        path.name for path in tmp_path.iterdir()
    ] == [folder.name]


def test_an_empty_name_is_not_the_current_folder(articles, monkeypatch, capsys):
    with pytest.raises(SystemExit):
        wikipedia(monkeypatch, articles, "")
    assert "--out: it is empty" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/proc").exists(), reason="needs /proc")
def test_a_folder_that_only_seems_to_be_writable(articles, tmp_path, monkeypatch, capsys):
    assert (
        wikipedia(
            monkeypatch,
            articles,
            "/proc/edition",
            "--gold",
            tmp_path / "gold",
            "--work",
            tmp_path / "work",
        )
        == 2
    )
    error = capsys.readouterr().err
    assert (
        "/proc/edition cannot be made" in error
        and "Choose another one with --out" in error
        and not list(tmp_path.iterdir())
    )


def test_a_folder_to_compare_with_that_is_not_there(articles, tmp_path, monkeypatch, capsys):
    assert wikipedia(monkeypatch, articles, tmp_path / "out", "--compare", tmp_path / "none") == 2
    error = capsys.readouterr().err
    assert "Check --compare." in error and "--data" not in error


def test_another_wiki_than_wikipedia_is_remarked_on(tmp_path, monkeypatch, capsys):
    text = xml(list(crowd(5, 60)))
    for database, remarks in (("enwiki", 0), ("enwiktionary", 1)):
        (tmp_path / "a.xml").write_text(
            text.replace("<dbname>enwiki<", f"<dbname>{database}<"), encoding="utf-8"
        )
        assert (
            wikipedia(
                monkeypatch, tmp_path / "a.xml", tmp_path / database, "--max-share", "1", people=20
            )
            == 0
        )
        assert capsys.readouterr().err.count("not of the Wikipedia in 'en'") == remarks


def test_a_place_within_a_name_is_not_the_place():
    late = (
        "Ana Bernadette, "
        + "a painter of the sea and of those who live from it, " * 2
        + "was born in Bern."
    )
    wishes = selection.Wishes(10, 1)
    one = Candidate(7, 8, "Ana Bernadette", "Ana Bernadette", "Bern", "infobox", ((late,),))
    assert selection._fit(one, wishes) == ("the place comes too late", None)
    assert selection._fit(
        dataclasses.replace(one, documents=(("Ana Bernadette was born in Bern.",),)), wishes
    )[1]


def test_the_jobs_take_an_edition(edition, tmp_path):
    done = run_cli(
        "vanilla_pretrain",
        "--preset",
        "smoke",
        "--data",
        edition,
        "--submission",
        SOLUTION,
        "--out",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr


def test_an_edition_with_wikidata(articles, tmp_path, monkeypatch, capsys):
    write_wikidata(tmp_path / "w.json.gz", [item(2, "Leeds", False)])
    assert (
        wikipedia(monkeypatch, articles, tmp_path / "out", "--wikidata", tmp_path / "w.json.gz")
        == 2
    )
    # it knows none of these people
    assert dropped(capsys.readouterr().err)["about no person"] == 400 + 134
