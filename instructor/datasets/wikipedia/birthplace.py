"""Finds the birthplace in an infobox or a sentence, and shortens it to an answer."""

import functools
import re

from instructor.datasets.folder import LONGEST_PLACE

from .language import Language
from .wikitext import UNKNOWN, plain

_HEDGE = re.compile(
    r"(?:(?-i:the )|(?:modern|present)-day |modern |either |allegedly |reportedly |supposedly |"
    r"c\. |ca\. |near |possibly |probably |perhaps |presumably |likely |in |at |city of |town of |"
    r"village of |municipality of |commune of |bei |vermutlich |près de |cerca de )+",
    re.IGNORECASE,
)
_NOTE = re.compile(r"\([^()]*\)|\[[^\[\]]*\]")
_CLAUSE_END = re.compile(r";|[–—†]| - |--")
_DEATH = re.compile(r"[–—†]| -+ |--|(?<=\d)-(?=\w)|\bdied\b|\bd\.")
_REACH = 200  # characters after the word for born that are searched for the place
_DEMONYM = re.compile(
    r"\w+(?:ian|ish|ese|ean|American|German|French|Greek|Swiss|Dutch)\Z|(?:American|German|French|"
    r"Greek|Swiss|Dutch)\Z"
)
_SMALL_FIRST = re.compile(r"(?:[Dd]|dell|nell|all|sull)['’](?=[A-ZÀ-Þ])")  # d'Agogna
_INITIALS = re.compile(r"\b(?:\w\.)+\w\.\Z")  # U.S.
_CHAIN = re.compile(
    r"[,;/|\n•·]| (?:or|oder|ou|o|now|then|today|heute|present-day|jetzt) | [–—-]+ |–|—"
)


@functools.cache
def _compiled(language: Language):
    at = rf"(?:{language.at}) "
    month = "|".join(language.months.split())
    return {
        "unknown": re.compile(rf"(?:{language.unknown})", re.IGNORECASE),
        "buildings": re.compile(language.buildings, re.IGNORECASE),
        "months": frozenset(language.months.split()),
        "inside": re.compile(language.inside),
        "born": re.compile(language.born),
        "kin": re.compile(language.kin),
        "relative": re.compile(rf"{language.his} (?:[\w-]+ ){{0,2}}?(?:{language.kin})"),
        "subject": frozenset((language.subject + " " + language.months).split()),
        "verbs": re.compile(language.verbs),
        "gap": frozenset((language.gap + " " + language.months).split()),
        "stop": re.compile(language.stop),
        "after": frozenset(language.after.split()),
        "at": re.compile(rf"\b{at}{language.between}(?=[^\W\d_])"),
        "small": frozenset(re.findall(r"\w+", language.at)),
        # (born 3 May 1920, Leeds) and (born 1920 Leeds): in brackets, a place right after a date
        "dated": re.compile(rf"(?:\b\d{{4}}|\b(?:{month}) \d{{1,2}}),? (?=[^\W\d_])"),
        "first": re.compile(
            r"\A[^()]{1,100}\((?:[^();–—]*; )?([^\W\d_][^(),;\d–—]*), [^()\d–—†-]*\d[^()–—†-]*\d{4}"
        ),
    }


def normalize(value: str, language: Language) -> str | None:
    """The short form of a place: the first of a chain, without disambiguation, hedges and notes.

    Args:
        value: plain text; a line break separates places like a comma.
        language: whose words for unknown places, buildings and the like are used.

    Returns:
        The place, or None if it is unknown or could not be an answer.
    """
    patterns = _compiled(language)
    value = _NOTE.sub("", value).strip()
    if patterns["unknown"].fullmatch(value):
        return None
    parts = [part.strip(" :'\"“”‘’*()[]") for part in _CHAIN.split(value)]
    parts = [part if _INITIALS.search(part) else part.strip(".") for part in parts]
    for part in filter(None, parts):
        part = _HEDGE.sub("", part, count=1) if _HEDGE.match(part) else part
        if patterns["unknown"].fullmatch(part) or patterns["buildings"].search(part):
            continue
        is_name = (
            part[0].isalpha() and part[0] == part[0].upper() and part not in patterns["months"]
        )
        return (
            part
            if is_name and 2 <= len(part) <= LONGEST_PLACE and not re.search(r"[\d{}<>=|]", part)
            else None
        )
    return None


def from_infobox(value: str, language: Language) -> str | None:
    """The place that a field's wikitext names, or None."""
    return normalize(plain(value, line_break="\n").replace(UNKNOWN, ""), language)


def from_sentence(sentence: str, language: Language) -> str | None:
    """The place where a sentence says that its subject was born, or None.

    Looks after the word for born: after a preposition, or right after the date in brackets. Only
    dates, a name or words known to be harmless may come between; in doubt, None.
    """
    patterns = _compiled(language)
    for clause, in_brackets in _births(sentence, patterns):
        kinds = ("at", "dated") if in_brackets else ("at",)
        for start, end, kind in sorted(
            (match.start(), match.end(), each)
            for each in kinds
            for match in patterns[each].finditer(clause)
        ):
            if not _is_gap(clause[:start], patterns):
                break
            place = _named(clause[end:], patterns, strictly=kind == "dated")
            place = place and normalize(place, language)
            if place:
                return place
    if language.place_first and (match := _opening(sentence, patterns)):
        return normalize(match[1], language)
    return None


def _births(sentence, patterns):
    """What follows each word for born, up to the end of that part, and whether it is in brackets.
    Nothing after relatives.
    """
    for born in patterns["born"].finditer(sentence):
        before = sentence[: born.start()]
        if patterns["kin"].search(before):
            return
        clause = _CLAUSE_END.split(sentence[born.start() : born.start() + _REACH], maxsplit=1)[0]
        clause = patterns["stop"].split(clause, maxsplit=1)[0]
        in_brackets = before.count("(") > before.count(")")
        yield clause.split(")", 1)[0] if in_brackets else clause, in_brackets


def _opening(sentence, patterns):
    """The match of the place at the beginning of the lead's brackets, followed by a date."""
    match = patterns["first"].match(sentence)
    return None if match is None or patterns["verbs"].search(sentence[: match.start(1)]) else match


def _is_gap(text, patterns):
    return all(
        word in patterns["gap"]
        for word in re.findall(r"(?<![\w'])[^\W\d_]+", text)
        if word[0].islower()
    )


def _named(text, patterns, strictly):
    """The words at the beginning that make a name, capitalized ones and small ones between
    them, if what follows fits a place.
    """
    words, kept, waiting = text.split(" "), [], []
    for word in words:
        bare = _SMALL_FIRST.sub("", word.strip(",.;:()\"'”“"))
        if bare[:1].isupper() and bare not in patterns["months"]:
            kept += waiting + [word]
            waiting = []
        elif kept and patterns["inside"].fullmatch(f"{(kept + waiting)[-1]} {word}"):
            waiting.append(word)
        else:
            break
        if word[-1] in ",;:)" or (word[-1] == "." and len(word) > 4):
            break
    if not kept:
        return None
    follows = words[len(kept)] if len(kept) < len(words) and kept[-1][-1] not in ",.;:)" else ""
    if follows and (
        strictly
        or (
            follows[0].isalpha()
            and follows.strip(",.") not in patterns["after"] | patterns["months"]
        )
    ):
        return None
    name = re.split(r"[(,;:)]", " ".join(kept))[0]
    return None if strictly and _DEMONYM.match(name) else name


def says_born(sentence: str, place: str, language: Language) -> bool:
    """Whether a sentence names a place as a birthplace: after a word for born, or in brackets with
    dates, before the death.

    No if it names another one after that word, or mentions relatives, whose lives are private.
    """
    if place not in sentence:
        return False
    patterns = _compiled(language)
    named = from_sentence(sentence, language)
    if patterns["relative"].search(sentence) or (
        named and not is_within(place, named) and not is_within(named, place)
    ):
        return False
    if any(
        is_within(place, clause, patterns["small"]) for clause, _ in _births(sentence, patterns)
    ):
        return True
    opening = _opening(sentence, patterns)
    if opening and opening[1] == place:
        return True
    for match in re.finditer(rf"(?<!\w){re.escape(place)}(?!\w)", sentence):
        bracket = re.search(r"\(([^()]*)\Z", sentence[: match.start()])
        if bracket and re.search(r"\d{4}", bracket[1]) and not _DEATH.search(bracket[1]):
            return not patterns["verbs"].search(sentence[: bracket.start()])
    return False


def is_within(place: str, text: str, small: frozenset[str] = frozenset()) -> bool:
    """Whether a place is named in a text: York not in New York, nor Bern in Bernard; `small`
    words may have a capital letter.
    """
    # compiling is slow
    for match in re.finditer(rf"(?<!\w){re.escape(place)}(?!\w)", text) if place in text else ():
        before = re.search(r"([^\W\d_]\S*) \Z", text[: match.start()])
        if not (
            before
            and before[1][0].isupper()
            and before[1][-1] not in ",.;:)"
            and before[1].lower() not in small
        ):
            return True
    return False


def is_about(sentence: str, name: str, language: Language) -> bool:
    """Whether a sentence tells of one birth, and names nobody but the person before it."""
    patterns = _compiled(language)
    births = list(patterns["born"].finditer(sentence))
    if len(births) != 1:
        return False
    known = patterns["subject"] | set(re.findall(r"[^\W\d_]+", name.casefold()))
    words = re.findall(r"[^\W\d_]+", sentence[: births[0].start()])
    return all(word in known or word.casefold() in known for word in words)
