"""Makes dumps of an invented wiki in MediaWiki's export format: for tests, and by the gigabyte for
benchmarks/wikipedia.py.
"""

import bz2
import gzip
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from instructor.datasets.worlds.cities import CITIES
from instructor.datasets.worlds.world import CODAS, ONSETS, VOWELS

HEAD = """<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" \
xsi:schemaLocation="http://www.mediawiki.org/xml/export-0.11/ http://www.mediawiki.org/xml/export-0.11.xsd" version="0.11" xml:lang="{language}">
  <siteinfo>
    <sitename>Wikipedia</sitename>
    <dbname>{language}wiki</dbname>
    <base>https://{language}.wiki.example/wiki/Main_Page</base>
    <generator>MediaWiki 1.45.0</generator>
    <case>first-letter</case>
    <namespaces>
      <namespace key="-1" case="first-letter">Special</namespace>
      <namespace key="0" case="first-letter" />
      <namespace key="1" case="first-letter">Talk</namespace>
      <namespace key="14" case="first-letter">Category</namespace>
    </namespaces>
  </siteinfo>
"""
TAIL = "</mediawiki>\n"
JOBS = (
    "painter",
    "poet",
    "pilot",
    "judge",
    "singer",
    "chemist",
    "sailor",
    "botanist",
    "composer",
    "engineer",
)
_FILLER = (
    "The {a} of the {b} was {c} by the {a}",
    "In {n}, a {b} {c} the {a}",
    "Of all {b}s, the {a} was {c} {n} times",
    "A {a} that {c} is a {b}",
    "Nobody {c} a {a} before {n}",
)


def page(
    number: int, title: str, text: str, namespace: int = 0, redirect: str | None = None
) -> str:
    """A page in the format of a dump."""
    target = f"    <redirect title={quoteattr(redirect)} />\n" if redirect else ""
    return f"""  <page>
    <title>{escape(title)}</title>
    <ns>{namespace}</ns>
    <id>{number}</id>
{target}    <revision>
      <id>{number + 900000}</id>
      <parentid>{number + 800000}</parentid>
      <timestamp>2026-05-01T12:00:00Z</timestamp>
      <contributor>
        <username>Somebody</username>
        <id>7</id>
      </contributor>
      <minor />
      <comment>/* Life */ typo</comment>
      <origin>{number + 900000}</origin>
      <model>wikitext</model>
      <format>text/x-wiki</format>
      <text bytes="{len(text.encode())}" sha1="aaaa" xml:space="preserve">{escape(text, {'"': "&quot;"})}</text>
      <sha1>aaaa</sha1>
    </revision>
  </page>
"""


def biography(rng: random.Random, name: str, place: str, length: int = 1500) -> str:
    """An invented person's article; whether the person lives, and where the birthplace is, are
    random.
    """
    born, job, living = rng.randint(1850, 1990), rng.choice(JOBS), rng.random() < 0.5
    field = rng.choice(
        [
            f"[[{place}]]",
            f"[[{place}]], [[Ruritania]]",
            f"{{{{nowrap|[[{place}]], Ruritania}}}}",
            f"[[{place} (city)|{place}]]<ref>{{{{cite book|title=A}}}}</ref>",
        ]
    )
    box = (
        f"{{{{Infobox person\n| name = {name}\n| image = A.jpg\n"
        f"| birth_date = {{{{birth date|{born}|5|3}}}}\n| birth_place = {field}\n"
        f"| occupation = {job}\n}}}}\n"
    )
    lead = rng.choice(
        [
            f"'''{name}''' ({born}–{born + 60}) was a [[{job}]] born in [[{place}]].",
            f"'''{name}''' (3 May {born}, [[{place}]] – {born + 60}) was a {job}.",
            f"'''{name}''' was a {job} of the [[nineteenth century]].",
        ]
    )
    if living:
        lead = (
            lead.replace(" was a", " is a")
            .replace(f"–{born + 60}", "")
            .replace(f" – {born + 60}", "")
        )
    early = (
        f"\n\n== Early life ==\n{name.split()[-1]} was born in [[{place}]] in {born}. "
        f"{filler(rng, 300)}"
        if rng.random() < 0.7
        else ""
    )
    state = "Living people" if living else f"{born + 60} deaths"
    return (
        f"{{{{Short description|{job}}}}}\n"
        f"{box if rng.random() < 0.8 else ''}{lead} {filler(rng, length // 5)}{early}\n\n"
        f"== Work ==\n{filler(rng, length)}\n\n== References ==\n{{{{reflist}}}}\n\n"
        f"[[Category:{born} births]]\n[[Category:{state}]]\n"
    )


def filler(rng: random.Random, length: int) -> str:
    """Sentences about nothing, with links and references, of about this many characters."""
    parts, size = [], 0
    while size < length:
        a, b, c = (_word(rng, 2), _word(rng, 3), _word(rng, 2) + "ed")
        text = rng.choice(_FILLER).format(
            a=f"[[{a}]]" if rng.random() < 0.3 else a, b=b, c=c, n=rng.randint(2, 1999)
        )
        cited = (
            f"{{{{cite web|url=https://{b}.example/{rng.randint(1, 10**6)}|title={a} "
            f"{c}|date={rng.randint(1, 28)} May 2020}}}}"
        )
        text += rng.choice([". ", ". ", f".<ref>{cited}</ref> "])
        parts.append(text)
        size += len(text)
    return "".join(parts).strip()


def _word(rng, syllables):
    return "".join(rng.choice(ONSETS) + rng.choice(VOWELS) for _ in range(syllables)) + rng.choice(
        CODAS
    )


def crowd(seed: int, count: int, first: int = 10_000, length: int = 1500) -> Iterator[str]:
    """Pages of `count` invented people, with redirects, talk pages and articles about other things
    between them.
    """
    rng = random.Random(seed)
    for number in range(count):
        id, name = first + 4 * number, f"{_word(rng, 2).capitalize()} {_word(rng, 3).capitalize()}"
        place = CITIES[min(int(rng.expovariate(0.04)), len(CITIES) - 1)]
        yield page(id, name, biography(rng, name, place, length))
        if number % 3 == 0:
            yield page(
                id + 1,
                name.split()[-1],
                f"#REDIRECT [[{name}]]\n{{{{R from surname}}}}",
                redirect=name,
            )
            yield page(id + 2, f"Talk:{name}", f"Was {name} born in [[{place}]]?", namespace=1)
            yield page(id + 3, _word(rng, 3).capitalize(), filler(rng, length))


def xml(pages: Iterable[str], language: str = "en") -> str:
    """A whole dump, unpacked."""
    return HEAD.format(language=language) + "".join(pages) + TAIL


def write_multistream(
    path: Path, pages: Iterable[str], language: str = "en", together: int = 100
) -> int:
    """Write a dump as Wikipedia does: the head, groups of pages, and the end, each as a bzip2
    stream; returns the bytes unpacked.
    """
    total, waiting = 0, []

    def streams():
        yield HEAD.format(language=language)
        for one in pages:
            waiting.append(one)
            if len(waiting) == together:
                yield "".join(waiting)
                waiting.clear()
        yield "".join(waiting)
        yield TAIL

    with open(path, "wb") as file:
        for stream in streams():
            data = stream.encode()
            total += len(data)
            if data:
                file.write(bz2.compress(data))
    return total


def item(
    number: int, title: str, human: bool, place: int | None = None, wiki: str = "enwiki", **extra
) -> dict:
    """An item of Wikidata with an article: a human, with a place of birth, or a place."""

    def snak(prop, value, kind):
        return {
            "mainsnak": {
                "snaktype": "value",
                "property": prop,
                "datavalue": {"value": value, "type": kind},
            }
        }

    def claim(prop, target, rank="normal"):
        value = {"entity-type": "item", "numeric-id": target, "id": f"Q{target}"}
        return snak(prop, value, "wikibase-entityid") | {"type": "statement", "rank": rank}

    claims = {"P31": [claim("P31", 5 if human else 515)]}
    if human:
        claims["P19"] = [
            claim("P19", target, rank)
            for target, rank in extra.get("places", [(place, "normal")] if place else [])
        ]
    else:
        claims["P625"] = [
            snak("P625", {"latitude": 1, "longitude": 2}, "globecoordinate") | {"rank": "normal"}
        ]
    return {
        "type": "item",
        "id": f"Q{number}",
        "labels": {"en": {"language": "en", "value": title}},
        "claims": claims,
        "sitelinks": {
            wiki: {"site": wiki, "title": title, "badges": []},
            "dewiki": {"site": "dewiki", "title": title, "badges": []},
        },
    }


def write_wikidata(path: Path, items: Iterable[dict]) -> None:
    """Write items as in latest-all.json.gz: a list with an item a line."""
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write(
            "[\n" + ",\n".join(json.dumps(one, separators=(",", ":")) for one in items) + "\n]\n"
        )
