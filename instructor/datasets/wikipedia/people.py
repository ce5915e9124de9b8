"""Turns a page into a candidate for the corpus: a person with a birthplace, and sentences that name
it.

Only name, place, and sentences that name the place are kept. Of people without a category or date
of death, only two sentences are read.
"""

import functools
import re
import unicodedata
from dataclasses import dataclass
from itertools import islice

from instructor.datasets.folder import find_word

from . import birthplace, sentences, wikitext
from .language import Language

SENTENCES = 8  # kept of a page, at most
PARAGRAPHS = 12  # searched for them
LONGEST = 600  # characters of a sentence; longer ones are mostly lists
_NO_PERSON = re.compile(
    r"character|fictional|horse\b|animal|\b(?:dog|cat|pet|band|ship|family|deity|royal house)\b"
)
_DISAMBIGUATION = re.compile(r"\s*\([^()]*\)\s*$")
# MASK, PAD, and what a broken page leaves
_MARKUP = ("\u2047", "\u25a1", "\n", "{{", "}}", "[[", "]]", "|", "==", "http")
_ENDS = tuple(".!?\"'”’»)")


@dataclass(frozen=True)
class Page:
    """What is read of a page: its first sections, and facts from the rest.

    `living`: whether the person is taken to be living. `fact`: the title of the place in Wikidata,
    "" if it has none; None without Wikidata.
    """

    id: int
    revision: int
    title: str
    text: str
    living: bool
    fact: str | None = None


@dataclass(frozen=True)
class Candidate:
    """A person who could be in the corpus: public facts only.

    Attributes:
        id, revision, title: of the page.
        name: as questions have it.
        place: where the person was born, in its short form.
        source: "infobox", "sentence" or "Wikidata".
        documents: for each sentence that names the place, the forms it can have as a document, best
            first.
    """

    id: int
    revision: int
    title: str
    name: str
    place: str
    source: str
    documents: tuple[tuple[str, ...], ...]


class Dropped(Exception):
    """A page that gives no candidate; the message says why, in the words of the report."""


def read_page(page: Page, language: Language) -> Candidate:
    """Find the name, the birthplace and the sentences that name it.

    Of people who may be living, only the first two sentences of the article are used.

    Raises:
        Dropped: the page is about no person, or lacks one of the three.
    """
    text = wikitext.clean(page.text)
    name = name_of(page.title)
    found = wikitext.field_value(text, _field(language))
    if found and _NO_PERSON.search(found[0]):
        raise Dropped("about no person")
    paragraphs = wikitext.paragraphs(text)
    lead = _lead(paragraphs, language)
    places = []
    if found:
        places.append(("infobox", birthplace.from_infobox(found[1], language)))
    places += [
        ("sentence", place)
        for place in (birthplace.from_sentence(sentence, language) for sentence in lead)
        if place
    ][:1]
    if page.fact:
        places.append(("Wikidata", birthplace.normalize(name_of(page.fact), language)))
    places = [(source, place) for source, place in places if place]
    if not places:
        raise Dropped("the birthplace is unknown" if found else "no birthplace found")
    named = dict(places)
    if (
        "infobox" in named
        and "sentence" in named
        and not _agree(named["sentence"], named["infobox"], wikitext.plain(found[1], "\n"))
    ):
        raise Dropped("infobox and first sentence disagree")
    if any(find_word(name, place) >= 0 for _, place in places):
        raise Dropped("the name gives the place away")
    for source, place in places:
        told = lead if page.living else lead + _mentions(place, paragraphs, lead, language)
        documents = _documents(name, place, told, language)
        if documents:
            return Candidate(page.id, page.revision, page.title, name, place, source, documents)
    raise Dropped("no sentence in reach names the birthplace")


def _agree(told, place, field):
    """Whether a sentence's place is that of the infobox, or another of its chain."""
    told, place, field = map(_without_accents, (told, place, field))
    return birthplace.is_within(told, field) or birthplace.is_within(place, told)


def _without_accents(text):
    return "".join(
        mark for mark in unicodedata.normalize("NFD", text) if not unicodedata.combining(mark)
    )


def name_of(title: str) -> str:
    """A title without its disambiguation."""
    return _DISAMBIGUATION.sub("", title.replace("_", " ")).strip()


@functools.cache
def field_pattern(language: Language) -> str:
    """A regular expression for an infobox's birthplace field, from its bar to the equals sign."""
    names = "|".join(field.replace("_", "[ _]?") for field in language.fields)
    return rf"\|\s*(?i:{names})\s*="


@functools.cache
def _field(language):
    return re.compile(field_pattern(language))


def _lead(paragraphs, language):
    """The first two sentences of an article as plain text; only the first, if the second mentions
    no birth.
    """
    told = (
        sentence
        for paragraph in paragraphs[:2]
        for sentence in sentences.split(paragraph, language.abbreviations)
    )
    first_two = list(islice(told, 2))
    if not any(re.search(language.born, sentence) for sentence in first_two[1:]):
        del first_two[1:]
    return [sentences.tidy(wikitext.plain(sentence)) for sentence in first_two]


def _mentions(place, paragraphs, lead, language):
    """The other sentences with a place. The rest isn't parsed: that takes most of the time."""
    found, word = [], place.split()[0]
    for paragraph in paragraphs[:PARAGRAPHS]:
        if word in paragraph:
            told = (
                wikitext.plain(sentence)
                for sentence in sentences.split(paragraph, language.abbreviations)
                if word in sentence
            )
            found += [sentences.tidy(sentence) for sentence in told if place in sentence]
    return [sentence for sentence in found if sentence not in lead]


def _documents(name, place, told, language):
    found = []
    for number, sentence in enumerate(told):
        usable = (
            len(sentence) <= LONGEST
            and sentence[-1:] in _ENDS
            and not any(mark in sentence for mark in _MARKUP)
        )
        if number:  # later ones may be about others' births
            usable = usable and birthplace.is_about(sentence, name, language)
        if usable and birthplace.says_born(sentence, place, language):
            forms = [sentence if name in sentence else f"{name}. {sentence}"]
            if number == 1 and name in told[0] and len(told[0]) <= LONGEST:
                forms.insert(0, f"{told[0]} {sentence}")  # the first two sentences, where both fit
            found.append(tuple(forms))
    return tuple(found[:SENTENCES])
