"""Reading a dump: what becomes of its pages, where its file can be cut, and what Wikidata adds."""

import bz2
import gzip
import io
import json
import random

import mwxml
import pytest
from sample_dump import HEAD, TAIL, crowd, item, page, write_multistream, write_wikidata, xml
from wiki_pages import OTHER_LANGUAGES, PAGES

from common.files import UserError
from instructor.datasets.wikipedia import wikidata
from instructor.datasets.wikipedia.archive import Archive
from instructor.datasets.wikipedia.birthplace import from_infobox, from_sentence
from instructor.datasets.wikipedia.language import LANGUAGES
from instructor.datasets.wikipedia.pages import read_pages
from instructor.datasets.wikipedia.sentences import split


@pytest.mark.parametrize("title, text, expected", PAGES, ids=[title for title, _, _ in PAGES])
def test_a_page(title, text, expected):
    candidates, dropped = read_pages([page(7, title, text).strip().encode()], LANGUAGES["en"])
    assert (
        [(one.name, one.place, one.documents[0][0]) for one in candidates] or list(dropped)
    ) == [expected]


@pytest.mark.parametrize(
    "language, title, text, expected", OTHER_LANGUAGES, ids=[row[1] for row in OTHER_LANGUAGES]
)
def test_a_page_in_another_language(language, title, text, expected):
    candidates, dropped = read_pages([page(7, title, text).strip().encode()], LANGUAGES[language])
    assert (
        [(one.name, one.place, one.documents[0][0]) for one in candidates] or list(dropped)
    ) == [expected]


@pytest.mark.parametrize(
    "value, place",
    [
        ("[[Riga]], [[Latvia]]", "Riga"),
        ("Riga", "Riga"),
        ("[[Springfield, Illinois]], U.S.", "Springfield"),
        ("U.S.", "U.S."),
        ("[[Riga|Old Riga]] (now Riga)", "Old Riga"),
        ("Riga [then Russia]; Latvia", "Riga"),
        ("{{small|[[Riga]]}}<br/>Latvia", "Riga"),
        ("Riga Hospital, [[Leeds]], England", "Leeds"),
        ("High Street, Leeds", "Leeds"),
        ("[[Fort Worth, Texas]]", "Fort Worth"),
        ("near [[Riga]]", "Riga"),
        ("probably in Riga", "Riga"),
        ("Riga or Vilnius", "Riga"),
        ("Riga – Latvia", "Riga"),
        ("[[St. Louis]], Missouri", "St. Louis"),
        ("{{hlist|[[Riga]]|[[Latvia]]}}", "Riga"),
        ("{{plainlist|\n* [[Riga]]\n* Latvia}}", "Riga"),
        ("{{flagicon|Latvia}} Riga", "Riga"),
        ("{{flag|Latvia}}", "Latvia"),
        ("{{lang|lv|Rīga}}", "Rīga"),
        ("Riga&nbsp;City, Latvia", "Riga City"),
        ("'''[[Riga]]'''", "Riga"),
        ("[https://a.example Riga]", "Riga"),
        ("{{nowrap|{{small|Riga}}, Latvia}}", "Riga"),
        ("\u200eRiga\u00ad", "Riga"),
        ("Saint-Denis", "Saint-Denis"),
        ("Unknown", None),
        ("unknown, perhaps Riga", None),
        ("?", None),
        ("", None),
        ("–", None),
        ("1901", None),
        ("N/A", None),
        ("the country", None),
        ("May 1901", None),
        ("R" * 40, None),
        ("{{citation needed}}", None),
        ("{{nowrap|[[Ri", None),
    ],
)
def test_places_of_infoboxes(value, place):
    assert from_infobox(value, LANGUAGES["en"]) == place


@pytest.mark.parametrize(
    "sentence, place",
    [
        ("A (born 3 May 1901 in Riga, Latvia) is a poet.", "Riga"),
        ("A (born May 3, 1901, Riga) is a poet.", "Riga"),
        ("A was born in May 1901.", None),
        ("A was born on 3 May 1901 at Riga to B, a smith in Leeds.", "Riga"),
        ("Born near the village of Old Riga, A left.", "Old Riga"),
        ("A, born 1901; later in Riga.", None),
        ("A lived in Riga.", None),
        ("A was born in poverty.", None),
        ("A was born in Stoke on Trent and died there.", "Stoke on Trent"),
        ("A was born in St. Louis, Missouri.", "St. Louis"),
        ("A was a native of Riga.", "Riga"),
        ("A (b. 1901 Riga) is a poet.", "Riga"),
        ("A (born 1901) is a poet in Riga.", None),
        ("A was born of Scottish parents.", None),
        ("A (born 1901) was born at Riga.", "Riga"),
    ]
    + [
        (sentence, None)
        for sentence in (
            "A is a British-born writer living in Paris.",
            "Born in 1950, Smith grew up in Leeds.",
            "A, born 3 May 1950, Canadian painter and poet.",
            "A was born to a professor at MIT in Boston.",
            "A was born while his father served in Malta.",
            "A was born in the Jewish quarter of Prague.",
            "A, son of Bo, who was born in Oslo.",
            "A was born (1901) in May 1901.",
        )
    ]
    + [
        ("A was born in Poznań in Prussia.", "Poznań"),
        ("A was born in Boston of Irish parents.", "Boston"),
        ("A was born in Leeds on Christmas Day.", "Leeds"),
        ("A was born in World War II in Lyon.", "Lyon"),
        ("Born in Santiago de los Caballeros, A left.", "Santiago de los Caballeros"),
        ("A was born in Castello d'Agogna.", "Castello d'Agogna"),
    ],
)
def test_places_of_sentences(sentence, place):
    assert from_sentence(sentence, LANGUAGES["en"]) == place


@pytest.mark.parametrize(
    "text",
    [
        "One. | Two.",
        "He met J. R. Smith in St. Louis. | Then he left.",
        "It (e.g. this. Or that) went on. | End.",
        "So he said \"No.\" | 'Yes' was meant.",
        "In the U.S. Navy he was c. 20. | Then 21.",
        "A [[b. C]] {{d. E}} f. | [[G]] h.",
        'He was born in Riga to Fr. Bo of St. Petersburg, Fla. Smith. | Then he said "I left. It '
        'was late." | End.',
        "All 3.5 of it",
    ],
)
def test_sentences(text):
    assert list(split(text.replace(" | ", " "), LANGUAGES["en"].abbreviations)) == text.split(" | ")


def test_only_articles_count():
    tova = PAGES[0]
    pages = [
        page(1, *tova[:2]),
        page(2, "Talk:Tova", tova[1], namespace=1),
        page(3, "T. Brenk", "#REDIRECT [[Tova Brenk]]" + tova[1], redirect="Tova Brenk"),
    ]
    candidates, dropped = read_pages([one.strip().encode() for one in pages], LANGUAGES["en"])
    assert [(one.id, one.revision, one.title) for one in candidates] == [(1, 900001, "Tova Brenk")]
    assert dropped == {"another namespace": 1, "a redirect": 1}


def test_one_malformed_page_costs_no_other():
    pages = [page(number, *PAGES[0][:2]).strip().encode() for number in (1, 2, 3)]
    pages[1] = pages[1].replace(b"<title>Tova", b"<title>\x01 & Tova")
    candidates, dropped = read_pages(pages, LANGUAGES["en"])
    assert [one.id for one in candidates] == [1, 3] and dropped == {"malformed": 1}


def test_all_sentences_of_the_dead_are_found_and_none_twice():
    text = PAGES[0][1].replace(
        "\n\n[[Category:1880",
        " She liked Riga.\n\nBrenk's mother was born in Riga, too. She was born in Riga.\n\n"
        "[[Category:1880",
    )
    (one,), _ = read_pages([page(1, "Tova Brenk", text).strip().encode()], LANGUAGES["en"])
    assert [forms[-1] for forms in one.documents] == [
        "Tova Brenk (12 May 1880 – 3 June 1950) was a weaver, born in Riga.",
        "Tova Brenk. She was born in Riga.",
    ]


def test_long_pages_and_many_sentences():
    lead = "'''Tova Brenk''' was a weaver. " + "Weavers weave all day long. " * 40
    text = PAGES[0][1].replace("}}\n", "}}\n" + lead, 1)
    text = text.replace(
        "\n\n[[Category:1880",
        "".join(f"\n\nBrenk was born in Riga in {year}." for year in range(1880, 1890))
        + "\n\n[[Category:1880",
    )
    (one,), _ = read_pages([page(1, "Tova Brenk", text).strip().encode()], LANGUAGES["en"])
    assert len(one.documents) == 8


@pytest.mark.parametrize(
    "kind", ["many streams", "one stream", "plain", "streams that end anywhere"]
)
@pytest.mark.parametrize("part_size", [1, 1000, 70_000, 1 << 24])
def test_every_page_is_in_one_part(kind, part_size, tmp_path):
    pages, path = list(crowd(1, 30)), tmp_path / "a.xml"
    text = xml(pages).encode()
    if kind == "many streams":
        write_multistream(path, pages, together=7)
    elif kind == "streams that end anywhere":
        cuts = sorted(random.Random(part_size).sample(range(len(text)), 40))
        path.write_bytes(
            b"".join(bz2.compress(text[a:b]) for a, b in zip([0, *cuts], [*cuts, len(text)]))
        )
    else:
        path.write_bytes(text if kind == "plain" else bz2.compress(text))
    archive = Archive(path, max(part_size, 500))
    assert [one.decode() for part in archive.parts() for one in archive.pages(part)] == [
        one.strip() for one in pages
    ]
    assert (archive.site.database, archive.site.language, archive.site.address) == (
        "enwiki",
        "en",
        "https://en.wiki.example",
    )


def _claims_of_ranks():
    return [(30, "deprecated"), (31, "normal"), (32, "preferred")]


@pytest.fixture
def items():
    """Two people, places, and others."""
    return [
        item(1, "Ana Quist", True, 30),
        item(2, "Leeds", False),
        item(30, "Leeds (city)", False),
        item(31, "Rome", False),
        item(32, "Bern", False),
        item(4, "Bo Quist", True, places=_claims_of_ranks()),
        item(5, "Cy Quist", True),
        item(6, "Dee Quist", True, 30, wiki="frwiki"),
        item(7, "Eve Quist", True, places=[(30, "deprecated")]),
        {"type": "property", "id": "P19", "claims": []},
    ]


def test_wikidata(items, tmp_path):
    write_wikidata(tmp_path / "w.json.gz", items)
    wikidata.read(tmp_path / "w.json.gz", tmp_path / "facts.sqlite", "enwiki")
    facts = wikidata.Facts(tmp_path / "facts.sqlite")
    titles = ("Ana Quist", "Bo Quist", "Cy Quist", "Eve Quist", "Dee Quist", "Leeds", "Nobody")
    assert [facts(title) for title in titles] == ["Leeds (city)", "Bern", "", "", None, None, None]


def test_wikidata_says_who_is_a_person_and_where_born(items, tmp_path):
    items.insert(0, item(8, "Al & Quist", True))
    write_wikidata(tmp_path / "w.json.gz", items)
    wikidata.read(tmp_path / "w.json.gz", tmp_path / "facts.sqlite", "enwiki")
    pages = [
        page(4, "Al & Quist", "'''Al & Quist''' was born in Leeds."),
        page(1, "Ana Quist", "'''Ana Quist''' was a poet. Born to Leeds in poverty, she left."),
        page(2, "Leeds", "Leeds (born in Rome)."),
        page(3, "Fay Quist", PAGES[0][1]),
    ]
    candidates, dropped = read_pages(
        [one.strip().encode() for one in pages],
        LANGUAGES["en"],
        wikidata.Facts(tmp_path / "facts.sqlite"),
    )
    assert [(one.name, one.place, one.source) for one in candidates] == [
        ("Al & Quist", "Leeds", "sentence"),
        ("Ana Quist", "Leeds", "Wikidata"),
    ]
    assert dropped == {"about no person": 2}


def test_wikidata_resumed(items, tmp_path, monkeypatch):
    write_wikidata(tmp_path / "w.json.gz", items)
    monkeypatch.setattr(wikidata, "COMMIT", 1)
    real, seen = wikidata._take, []

    def interrupted(line, *args):
        seen.append(json.loads(line.rstrip(b",\n"))["id"])
        if len(seen) == 4:
            raise KeyboardInterrupt
        return real(line, *args)

    monkeypatch.setattr(wikidata, "_take", interrupted)
    with pytest.raises(UserError, match="run the same command to continue"):
        wikidata.read(tmp_path / "w.json.gz", tmp_path / "facts.sqlite", "enwiki")
    wikidata.read(tmp_path / "w.json.gz", tmp_path / "facts.sqlite", "enwiki")
    assert seen == ["Q1", "Q2", "Q30", "Q31", "Q31", "Q32", "Q4", "Q5", "Q7"]
    facts = wikidata.Facts(tmp_path / "facts.sqlite")
    assert (facts("Ana Quist"), facts("Bo Quist")) == ("Leeds (city)", "Bern")


@pytest.mark.parametrize(
    "data, message",
    [
        (None, "No such file"),
        (b"", "not with '\\['"),
        (b"{}", "not with '\\['"),
        (gzip.compress(b"[\n{},\n", mtime=0), "is cut off"),
        (gzip.compress(b"[\n" + b"x" * 99999 + b"\n]\n", mtime=0)[:-20], "corrupt or cut off"),
        (gzip.compress(b'[\n"Q5" "enwiki":\n]\n', mtime=0), "isn't in the format"),
    ],
    ids=["missing", "empty", "plain JSON", "cut at a line", "cut in the middle", "another format"],
)
def test_bad_wikidata(data, message, tmp_path):
    if data is not None:
        (tmp_path / "w").write_bytes(data)
    with pytest.raises(UserError, match=message):
        wikidata.read(tmp_path / "w", tmp_path / "facts.sqlite", "enwiki")


def test_the_sample_is_a_dump():
    pages = mwxml.Dump.from_file(
        io.BytesIO((HEAD.format(language="en") + page(3, "A & B", "<ref>&</ref>") + TAIL).encode())
    )
    assert [(one.id, one.title, next(iter(one)).text) for one in pages] == [
        (3, "A & B", "<ref>&</ref>")
    ]
