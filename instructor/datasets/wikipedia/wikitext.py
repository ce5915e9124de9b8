"""Converts wikitext to plain text."""

import re
import unicodedata

import mwparserfromhell
from mwparserfromhell.nodes import ExternalLink, HTMLEntity, Tag, Template, Text, Wikilink

# What readers don't see, or see elsewhere. References are removed before parsing: they have most of
# a page's templates.
_UNSEEN = re.compile(
    r"<!--.*?(?:-->|\Z)|<ref\b[^<>]*/>|<ref\b[^<>]*>.*?</ref\s*>|__[A-Z]+__|"
    r"<(gallery|math|score|syntaxhighlight|timeline)\b.*?</\1\s*>",
    re.DOTALL | re.IGNORECASE,
)
_BRACKETS = re.compile(r"\{\{|\}\}|\[\[|\]\]|\{\||\|\}")
_FIELD = re.compile(r"\{\{|\}\}|\[\[|\]\]|\|")
_LINK = re.compile(r"\[\[(?:[^\[\]{}<>&|:#]*\|)?([^\[\]{}<>&|:#]+)\]\]")
_BRACES = re.compile(r"\{\{|\}\}")
_ELSEWHERE = re.compile(
    r"\s*(?:file|image|media|category|datei|bild|kategorie|fichier|catégorie|archivo|imagen|"
    r"categoría)\s*:",
    re.IGNORECASE,
)
_BLANKS = re.compile("[\t\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_HIDDEN = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff0-\uffff\ue000-\uf8ff]"
)
_MONTHS = (
    "January February March April May June July August September October November December".split()
)

# Templates that show one of their arguments, by its number (-1: the last), or always the same. All
# others show nothing.
_SHOWS = dict.fromkeys(
    (
        "nowrap",
        "no wrap",
        "nobr",
        "nobold",
        "noitalic",
        "small",
        "smaller",
        "big",
        "larger",
        "normal",
        "resize",
        "avoid wrap",
        "nowraplinks",
        "ill",
        "interlanguage link",
        "abbr",
        "sc",
        "smallcaps",
        "vanchor",
        "visible anchor",
        "longitem",
        "formerly",
        "dfn",
        "not a typo",
        "sic",
        "as written",
        "ubl",
        "unbulleted list",
        "hlist",
        "plainlist",
        "plain list",
        "flatlist",
        "br separated entries",
        "flag",
        "flagu",
        "flagcountry",
        "city-state",
        "nihongo",
        "korean",
        "zh",
        "birth-date",
        "birth-date and age",
        "lang-la",
        "linktext",
        "link",
    ),
    1,
)
_SHOWS |= {"lang": 2, "langr": 2, "transl": -1, "transliteration": -1}
_WRITES = dict.fromkeys(("snd", "spnd", "sndash", "spaced ndash", "spaced en dash"), " – ")
_WRITES |= {
    "ndash": "–",
    "en dash": "–",
    "mdash": "—",
    "em dash": "—",
    "nbsp": " ",
    "'": "'",
    "'s": "'s",
    "!": "|",
    "=": "=",
}
_MONTHS_OF = {
    "fr": (
        "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
    ).split(),
    "de": (
        "Januar Februar März April Mai Juni Juli August September Oktober November Dezember"
    ).split(),
    "es": (
        "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre"
    ).split(),
}
# replaces a template that may show a word of the sentence; no text with braces gets into a corpus
UNKNOWN = "{{?}}"
_IN_BRACKETS = re.compile(r"\([^()]*\)")
_INVISIBLE = re.compile(
    r"(?:cn|fact|sfn\w*|efn(?:-\w+)?|refn?|r|rp|note\w*|harv\w*|cite .*|citation.*|.*\bneeded|"
    r"as of|clarify.*|when|who|which|where|by whom.*|according to whom.*|dubious.*|better source.*|"
    r"failed verification|verify.*|unreliable.*|anchor|dead link|webarchive|ipa.*|pron\w*|respell|"
    r"audio.*|coord|flag ?icon.*|flagdeco|use .*|short description|#tag:.*|clear|-|zwj|wbr|shy|"
    r"lang-.*|langx|dn|better|fn|anker|belege.*|refnec|référence .*|refsou|api|drapeau.*|quand|afi|"
    r"cita requerida|cr|demostrar|(?:birth|death)[ -].*)\Z"
)
_DATES = re.compile(r"(?:birth|death|start|end) (?:date|year)")


def clean(text: str) -> str:
    """Wikitext without comments, references and anything else that is no part of a sentence."""
    return _UNSEEN.sub("", text)


def field_value(text: str, name: re.Pattern) -> tuple[str, str] | None:
    """The first value of an infobox's field that isn't blank.

    Args:
        text: wikitext, after `clean`.
        name: matches from the bar before the field to the equals sign after it.

    Returns:
        The name of the template in lower case, and the value as wikitext; None if there is no such
        field.
    """
    for match in name.finditer(text):
        depth, end = 0, len(text)
        for bracket in _FIELD.finditer(text, match.end()):
            token = bracket.group()
            if depth == 0 and token in ("|", "}}"):
                end = bracket.start()
                break
            depth += {"{{": 1, "[[": 1, "}}": -1, "]]": -1}.get(token, 0)
        value = text[match.end() : end].strip()
        if value:
            return _template_around(text, match.start()), value
    return None


def _template_around(text, position):
    depth = 0
    for brace in reversed(list(_BRACES.finditer(text, 0, position))):
        depth += 1 if brace.group() == "}}" else -1
        if depth < 0:
            return (
                re.split(r"[|\n}]", text[brace.end() : brace.end() + 100], maxsplit=1)[0]
                .replace("_", " ")
                .strip()
                .lower()
            )
    return ""


def paragraphs(text: str) -> list[str]:
    """The paragraphs of wikitext, still as wikitext: without infoboxes, pictures, tables, lists and
    headings.

    An unclosed bracket hides only the rest of its line.
    """
    kept, position, depth, start = [], 0, 0, 0
    for bracket in _BRACKETS.finditer(text):
        token = bracket.group()
        if token in ("{{", "[[", "{|"):
            if depth == 0:
                start = bracket.start()
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0 and _is_block(text, start, bracket.end()):
                kept.append(text[position:start])
                position = bracket.end()
    if depth and _is_block(text, start, len(text)):
        kept.append(text[position:start])
        position = text.find("\n", start) if "\n" in text[start:] else len(text)
    kept.append(text[position:])
    lines = "".join(kept).split("\n")
    return [
        line.strip()
        for line in lines
        if len(line) > 15 and line.strip()[:1] not in tuple("=*#:;|!}")
    ]


def _is_block(text, start, end):
    """Whether the text between two brackets is no part of a sentence: it fills whole lines, or is a
    picture or a table.
    """
    if text.startswith("{|", start) or (
        text.startswith("[[", start) and _ELSEWHERE.match(text, start + 2)
    ):
        return True
    line_before = text[text.rfind("\n", 0, start) + 1 : start].strip()
    return (
        not line_before
        and text.startswith("{{", start)
        and ("\n" in text[start:end] or text[end : end + 1] in ("", "\n"))
    )


def plain(text: str, line_break: str = " ") -> str:
    """Wikitext as a reader sees it, on one line, or on several where a list or `line_break`
    makes them.
    """
    # Most sentences have nothing else, and the parser is slow.
    text = _LINK.sub(r"\1", text).replace("'''", "").replace("''", "")
    if not any(mark in text for mark in "[{<&"):
        return _one_line(text)
    text = _render(mwparserfromhell.parse(text, skip_style_tags=True), line_break)
    # In brackets it may be dropped: most are pronunciations and other scripts.
    text = _IN_BRACKETS.sub(lambda match: match[0].replace(UNKNOWN, ""), text)
    sentence = text.lstrip("{?} ")
    if text.startswith(UNKNOWN) and sentence[:1].isupper():  # after a box or a note to editors
        text = sentence
    return _one_line(text)


def _one_line(text):
    return re.sub(
        " {2,}", " ", _HIDDEN.sub("", _BLANKS.sub(" ", unicodedata.normalize("NFC", text)))
    ).strip()


def _render(code, line_break):
    return "".join(_render_node(node, line_break) for node in code.nodes)


def _render_node(node, line_break):
    if isinstance(node, Text):
        return node.value
    if isinstance(node, Wikilink):
        if _ELSEWHERE.match(str(node.title)):
            return ""
        label = _render(node.text, line_break) if node.text is not None else ""
        return label or _render(node.title, line_break).lstrip(":").split("#")[0]
    if isinstance(node, HTMLEntity):
        return node.normalize()
    if isinstance(node, Tag):
        name = str(node.tag).strip().lower()
        if name in ("br", "li", "dd", "dt", "hr"):
            return line_break
        return (
            ""
            if name in ("ref", "table", "style", "sup", "nowiki") or node.contents is None
            else _render(node.contents, line_break)
        )
    if isinstance(node, Template):
        return _render_template(node, line_break)
    if isinstance(node, ExternalLink):
        return _render(node.title, line_break) if node.title is not None else ""
    return ""


def _render_template(node, line_break):
    name = str(node.name).strip().replace("_", " ").lower()
    values = [parameter.value for parameter in node.params if not parameter.showkey]
    if name in _WRITES:
        return _WRITES[name]
    if name in ("circa", "c.", "ca."):
        return "c. " + (_render(values[0], line_break) if values else "")
    if name in ("oldstyledate", "oldstyledatedy") and len(values) > 1:
        return _render(values[0], line_break) + " " + _render(values[1], line_break)
    if _DATES.match(name):
        numbers = [str(value).strip() for value in values if str(value).strip().isdigit()][:3]
        if len(numbers) == 3 and 1 <= int(numbers[1]) <= 12:
            return f"{int(numbers[2])} {_MONTHS[int(numbers[1]) - 1]} {numbers[0]}"
        return numbers[0] if numbers else ""
    shown = [_render(value, line_break).strip() for value in values[:4]]
    if (written := _written(name, shown)) is not None:
        return written
    which = _SHOWS.get(name)
    if which is None or not values or which > len(values):
        return "" if which is not None or _INVISIBLE.match(name) else UNKNOWN
    return _render(values[which - 1 if which > 0 else which], line_break)


def _written(name, shown):
    """What templates for dates, centuries and lengths write, or None."""
    if re.fullmatch(r"date-?|date de (?:naissance|décès)-?", name):
        return _date(shown, "fr", "{} {} {}")
    if name == "julgregdatum":
        return _date(shown, "de", "{}. {} {}")
    if name == "fecha":
        return _date(shown, "es", "{} de {} de {}")
    if name == "dts" and shown and not re.fullmatch(r"[\d-]+", shown[0]):
        return shown[0]
    if (
        name in ("convert", "cvt")
        and len(shown) > 1
        and shown[1] not in ("to", "-", "–", "and", "by", "x")
    ):
        return f"{shown[0]} {shown[1]}"
    if name in ("s", "s-", "siècle") and shown:
        return shown[0] + ("er" if shown[0] == "I" else "e") + " siècle"
    if re.fullmatch(r"\d+(?:er|re|e)", name):
        return " ".join([name, *shown])
    return None


def _date(shown, language, form):
    """A date from day, month and year, or as it is written out; UNKNOWN if it isn't understood."""
    if shown[1:] and not all(shown[:3]) or not shown:
        return UNKNOWN
    if len(shown) < 3:
        return shown[0] if " " in shown[0] else UNKNOWN
    day, month, year = shown[:3]
    if month.isdigit():
        if not 1 <= int(month) <= 12:
            return UNKNOWN
        month = _MONTHS_OF[language][int(month) - 1]
    return form.format("1er" if language == "fr" and day == "1" else day, month, year)
