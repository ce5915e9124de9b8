"""Reads the pages of a dump's XML: skips those that cannot be about people, and parses the others.

Nine of ten pages are dropped after a look at their bytes; the rest are cut to their first sections
before mwxml parses them. Only the infobox's field, and sentences that name the place or a birth, go
through mwparserfromhell. This makes it fast: the parsers handle a few megabytes a second, and
decompression takes at least two thirds of the time.
"""

import functools
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator
from xml.sax.saxutils import unescape

import mwxml
from mwxml.errors import MalformedXML

from common.files import UserError

from .language import Language
from .people import Candidate, Dropped, Page, field_pattern, read_page

LONGEST = 40_000  # bytes read of a page, from its start to the end of a line
_COMMENT = re.compile(rb"&lt;!--.*?--&gt;", re.DOTALL)
_HEADING = re.compile(rb"\n==[^=]")
_TITLE = re.compile(rb"<title>([^<]*)</title>")
_ID = re.compile(rb"<id>\d+</id>")
_TEXT = re.compile(rb"<text\b[^>]*>")
_HEAD = (
    b'<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/" '
    b'version="0.11"><siteinfo><sitename>-</sitename>'
    b"<dbname>-</dbname><base>-</base><generator>-</generator><case>-</case><namespaces "
    b"/></siteinfo>"
)
# title -> the person's birthplace in Wikidata, "" if unknown; None if it is no person
Facts = Callable[[str], str | None]


@functools.cache
def _patterns(language):
    def of(text):
        return re.compile(text.encode())

    at = f"(?:{language.at})"
    return {
        "field": of(field_pattern(language) + r"[ \t]*(?=[^\s|}])"),
        "person": tuple(map(of, language.person)),
        "dead": tuple(map(of, language.dead)),
        "living": of(language.living),
        "disambiguation": of(language.disambiguation),
        # Where a sentence may name the place; the parser looks more closely. For text: in bytes, \b
        # is not found after é.
        "told": re.compile(
            rf"(?:{language.born})[^\n]{{0,250}}?(?:\s{at} |\d{{4}})"
            + (r"|\'\'\'[^\n]{0,200}?\([^\n]{0,200}?\d{4}" if language.place_first else "")
        ),
    }


def read_pages(
    xml: Iterator[bytes], language: Language, facts: Facts | None = None
) -> tuple[list[Candidate], Counter]:
    """Read pages.

    Args:
        xml: pages, each from `<page>` to `</page>`.
        language: of the Wikipedia.
        facts: looks titles up in Wikidata, if given.

    Returns:
        The candidates, in the order of the pages, and how many pages were dropped for which reason.

    Raises:
        UserError: the dump has the pages' whole history, or lacks their texts.
    """
    dropped, kept, candidates = Counter(), [], []
    for raw in xml:
        try:
            kept.append(_shorten(raw, language, facts))
        except Dropped as reason:
            dropped[str(reason)] += 1
    for page in _parse(kept, dropped):
        try:
            candidates.append(read_page(page, language))
        except Dropped as reason:
            dropped[str(reason)] += 1
        except RecursionError:  # thousands of nested brackets
            dropped["malformed"] += 1
    return candidates, dropped


def _shorten(raw, language, facts):
    """What the parser needs of a page: (XML, whether the person may be living, the fact from
    Wikidata).
    """
    patterns = _patterns(language)
    revision = raw.find(b"<revision>")
    head = raw[:revision]
    if b"<ns>0</ns>" not in head:
        raise Dropped("another namespace")
    if b"<redirect" in head:
        raise Dropped("a redirect")
    if b"&lt;!--" in raw:  # they may have templates to be filled in, such as for deaths
        raw = _COMMENT.sub(b"", raw)
    # Infoboxes come before the first heading, categories after the last one; searching everything
    # takes a third of the time.
    first = _HEADING.search(raw, revision)
    first, last = (first.start(), raw.rfind(b"\n==")) if first else (len(raw), len(raw))

    def find(*marks):
        return next(
            filter(
                None,
                (
                    mark.search(raw, *where)
                    for mark in marks
                    for where in ((revision, first), (last,))
                ),
            ),
            None,
        )

    field, fact = find(patterns["field"]), None
    if facts is not None:
        fact = facts(unescape(_TITLE.search(head)[1].decode("utf-8", "replace")))
        if fact is None:
            raise Dropped("about no person")
    elif field is None and not find(*patterns["person"]):
        raise Dropped("about no person")
    if find(patterns["disambiguation"]):
        raise Dropped("a disambiguation page")
    text = _TEXT.search(raw)
    if text is None or raw.count(b"<revision>") > 1:
        raise _wrong_dump(text)
    living = not find(*patterns["dead"]) or bool(find(patterns["living"]))
    end = _end_of_sections(raw, text.end(), 1 if living else 2)
    body = raw[text.end() : end]
    block = b""
    if field and field.start() >= end:  # the personal data are at the page's end
        closing = raw.find(b"\n}}", field.start(), field.start() + 2000)
        block = (
            b"\n{{-\n"
            + raw[field.start() : closing if closing > 0 else raw.find(b"\n", field.start())]
            + b"\n}}\n"
        )
    if not _may_tell(
        body, raw[field.end() : field.end() + 300] if field else b"", not block, fact, patterns
    ):
        raise Dropped("no sentence in reach names the birthplace")
    number = _ID.search(raw, revision)[0]
    return (
        head + b"<revision>" + number + b"<text>" + body + block + b"</text></revision></page>",
        living,
        fact,
    )


def _end_of_sections(raw, start, count):
    """Where the first sections of a page end, within LONGEST bytes."""
    end = position = start
    for _ in range(count):
        heading = _HEADING.search(raw, position, start + LONGEST)
        if heading is None:
            closing = raw.find(b"</text>", start, start + LONGEST)
            return closing if closing >= 0 else raw.rfind(b"\n", start, start + LONGEST)
        end, position = heading.start(), heading.end()
    return end


def _may_tell(body, value, is_inside, fact, patterns):
    """Whether a sentence could name the place: it has a word of the value in the infobox or
    Wikidata, or tells of a birth.
    """
    value = value.split(b"\n", 1)[0]
    words = set(
        re.findall(rb"[A-Z\x80-\xff][\w\x80-\xff]{2,}", value + b" " + (fact or "").encode())
    )
    return any(body.count(word) > is_inside * value.count(word) for word in words) or bool(
        patterns["told"].search(body.decode("utf-8", "replace"))
    )


def _wrong_dump(text):
    what = (
        "pages without their texts (a stub dump?)"
        if text is None
        else "several revisions of a page (a history dump?)"
    )
    return UserError(
        f"This dump has {what}. Give the file pages-articles or pages-articles-multistream."
    )


def _parse(kept, dropped):
    """Pages from shortened XML. If one is malformed, they are parsed one by one, and only it is
    lost.
    """
    if not kept:
        return
    try:
        yield from list(_parsed(kept))
    except (MalformedXML, SyntaxError, ValueError):
        for one in kept:
            try:
                yield from list(_parsed([one]))
            except (MalformedXML, SyntaxError, ValueError):
                dropped["malformed"] += 1


def _parsed(kept):
    stream = io.BytesIO(_HEAD + b"".join(xml for xml, _, _ in kept) + b"</mediawiki>")
    for page, (_, living, fact) in zip(mwxml.Dump.from_file(stream), kept, strict=True):
        revision = next(iter(page))
        yield Page(page.id, revision.id, page.title, revision.text or "", living, fact)
