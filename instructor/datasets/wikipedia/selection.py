"""Chooses an edition from candidates: who is in it, in which split, and with which documents.

Candidates are drawn by a hash of the seed and their page's id, so the same dump and seed give the
same bytes. Only a sample of them is in memory: POOL for each person wanted, and four times as many
if that isn't enough.
"""

import hashlib
import heapq
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from urllib.parse import parse_qs, unquote, urlsplit

from common.files import UserError
from instructor.datasets.folder import QUESTION, find_word, longest_truncation
from instructor.datasets.worlds.world import FULL

from .people import Candidate
from .phrasings import PLAIN, WHOLE_ALPHABET

SPECIAL = 3  # symbols besides the characters of documents: PAD, MASK and the line end
# what people put around an entry of a list
_AROUND = " \t\ufeff\"'`\u2018\u2019\u201c\u201d\u201e\u00ab\u00bb[]"
POOL = 20  # candidates considered for each person wanted, at first


@dataclass(frozen=True)
class Wishes:
    """What an edition should be like.

    Attributes:
        people: in all three splits, in the proportions of the public corpus.
        seed: another one gives other people.
        paraphrases: documents a person.
        block_size: of the model that reads them: places are within the longest truncation, and
            questions fit.
        max_symbols: the size of the alphabet, with PAD, MASK and the line end.
        max_share: the most that one place may have of a split.
        max_length: characters of a document.
        transliterate: write everything in ASCII.
        excluded: page ids, titles, names or page addresses of people to leave out.
    """

    people: int
    seed: int
    paraphrases: int = 1
    block_size: int = 128
    max_symbols: int = 256
    max_share: float = 0.05
    max_length: int = 516
    transliterate: bool = False
    excluded: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Chosen:
    """A person of the edition with their documents: the first `quoted` are from the article, the
    others are our own.
    """

    candidate: Candidate
    documents: tuple[str, ...]
    quoted: int


@dataclass
class Edition:
    """An edition: its people by split, its documents in the order of the file, why candidates were
    dropped, and which entries of the exclusion list matched nobody.
    """

    splits: dict[str, list[Chosen]]
    documents: list[str]
    dropped: Counter = field(default_factory=Counter)
    unmatched: list[str] = field(default_factory=list)


def choose(candidates: Callable[[], Iterable[Candidate]], wishes: Wishes) -> Edition:
    """Choose people by a keyed hash of their pages' ids, so that neither the order nor the parts of
    the dump matter.

    Args:
        candidates: returns all candidates, at each call.
        wishes: what the edition should be like.

    Raises:
        TooFew: there are not enough people who fit.
    """
    size, sizes = POOL * wishes.people, split_sizes(wishes.people)
    while True:
        pool, total = _draw(candidates(), size, wishes)
        edition = _fill(pool, sizes, wishes)
        missing = wishes.people - sum(map(len, edition.splits.values()))
        if not missing or len(pool) == total:
            break
        size *= 4  # a wish is so strict that hardly anyone fits: consider more
    if missing:
        raise TooFew(missing, edition.dropped)
    edition.dropped["not needed"] = total - wishes.people - sum(edition.dropped.values())
    return edition


class TooFew(Exception):
    """How many people are `missing`, and for which reasons candidates were `dropped`."""

    def __init__(self, missing: int, dropped: Counter):
        super().__init__(missing, dropped)
        self.missing, self.dropped = missing, dropped


def split_sizes(people: int) -> dict[str, int]:
    """How many people each split has, in the proportions of the public corpus.

    Raises:
        UserError: there would be a split without people.
    """
    whole = FULL.train + FULL.dev + FULL.test
    dev, test = round(people * FULL.dev / whole), round(people * FULL.test / whole)
    if min(dev, test, people - dev - test) < 1:
        raise UserError(
            f"{people} people are too few for three splits. Ask for more with --people."
        )
    return {"train": people - dev - test, "dev": dev, "test": test}


def _draw(candidates, size, wishes):
    """The `size` candidates with the smallest hashes, sorted, and how many there are in all. Memory
    holds no more than these.
    """
    heap, total = [], 0
    for one in candidates:
        total += 1
        digest = hashlib.blake2b(f"{wishes.seed}:{one.id}".encode(), digest_size=8).digest()
        entry = (-int.from_bytes(digest, "big"), -one.id, total, one)
        if len(heap) < size:
            heapq.heappush(heap, entry)
        else:
            heapq.heappushpop(heap, entry)
    return [entry[3] for entry in sorted(heap, reverse=True)], total


def _fill(pool, sizes, wishes):
    rng = random.Random(f"{wishes.seed} splits")
    dropped, fitting = Counter(), []
    is_excluded = _exclusion(wishes.excluded)
    met = set()
    for one in pool:
        found = is_excluded(one)
        met |= found
        reason, chosen = ("on the exclusion list", None) if found else _fit(one, wishes)
        if chosen:
            fitting.append(chosen)
        else:
            dropped[reason] += 1
    allowed = _alphabet(fitting, wishes)

    splits, counts = {split: [] for split in sizes}, {split: Counter() for split in sizes}
    most = {split: max(1, int(wishes.max_share * size)) for split, size in sizes.items()}
    names, texts = set(), set()
    for chosen in fitting:
        if all(len(splits[split]) == size for split, size in sizes.items()):
            break
        name, place = chosen.candidate.name, chosen.candidate.place
        free = [
            split
            for split, size in sizes.items()
            if len(splits[split]) < size and counts[split][place] < most[split]
        ]
        if not allowed.issuperset(place.join(chosen.documents) + name):
            dropped["letters outside the alphabet"] += 1
        elif name.casefold() in names or not texts.isdisjoint(chosen.documents):
            dropped["a duplicate name or document"] += 1
        elif not free:
            dropped["the place is common enough"] += 1
        else:
            split = rng.choices(free, [sizes[split] - len(splits[split]) for split in free])[0]
            splits[split].append(chosen)
            counts[split][place] += 1
            names.add(name.casefold())
            texts.update(chosen.documents)
    everyone = [chosen for split in splits.values() for chosen in split]
    documents = [document for chosen in everyone for document in chosen.documents]
    if splits["train"] and not set("".join(documents)) >= set(QUESTION.replace("{}", "")):
        first = splits["train"][0].candidate  # a character that pretraining never saw has no token
        documents.append(WHOLE_ALPHABET.format(name=first.name, place=first.place))
    rng.shuffle(documents)
    return Edition(
        splits,
        documents,
        dropped,
        sorted(entry for entry in wishes.excluded if _meant(entry) not in met),
    )


def _exclusion(excluded):
    """A function from a candidate to the entries that match its page, its name, or a name in its
    sentences.
    """
    entries = {_meant(entry) for entry in excluded} - {""}
    names = sorted(entry for entry in entries if not entry.isdigit())
    quoted = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in names) or r"(?!)")

    def meets(one):
        found = {str(one.id), _spelled(one.title), _spelled(one.name)} & entries
        for forms in one.documents:
            for form in forms:
                found.update(quoted.findall(_spelled(form)))
        return found

    return meets


def _meant(entry):
    """A page's id, or a title or name in one spelling, from an entry of an exclusion list, which
    may be a page's address.
    """
    entry = entry.strip(_AROUND + "<>")
    if "://" in entry:
        address = urlsplit(entry)
        query = parse_qs(address.query)
        entry = (
            query.get("curid")
            or query.get("title")
            or [unquote(address.path.partition("/wiki/")[2])]
        )[0]
    return _spelled(entry)


def _spelled(text):
    """Text normalized for comparison with entries: letters, blanks and quotes."""
    text = unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold()).replace(
        "_", " "
    )
    return " ".join(text.strip(_AROUND).split())


def _fit(one, wishes):
    """(None, Chosen) for a candidate whose name, place and documents fit, else (reason, None)."""
    write = (
        _transliterate if wishes.transliterate else lambda text: unicodedata.normalize("NFC", text)
    )
    documents = tuple(tuple(map(write, forms)) for forms in one.documents)
    one = replace(one, name=write(one.name), place=write(one.place), documents=documents)
    if len(QUESTION.format(one.name)) + len(one.place) + 2 > wishes.block_size + 1:
        return "the question is too long", None
    last = longest_truncation(wishes.block_size)

    def fits(text):
        return len(text) <= wishes.max_length and 0 <= find_word(text, one.place) <= last - len(
            one.place
        )

    quoted = [text for text in (next(filter(fits, forms), None) for forms in one.documents) if text]
    quoted = list(dict.fromkeys(quoted))[: wishes.paraphrases]
    if not quoted:
        short = any(len(text) <= wishes.max_length for forms in one.documents for text in forms)
        return (
            "the place comes too late" if short else "the document is longer than --max-length",
            None,
        )
    ours = [
        text
        for text in (phrasing.format(name=one.name, place=one.place) for phrasing in PLAIN)
        if text not in quoted
    ]
    return None, Chosen(one, tuple(quoted + ours[: wishes.paraphrases - len(quoted)]), len(quoted))


def _alphabet(fitting, wishes):
    """The characters of questions and of our phrasings, and those that the most people need."""
    needed = set(QUESTION.replace("{}", "") + "".join(PLAIN) + WHOLE_ALPHABET) - set("{}")
    used = Counter(
        character
        for chosen in fitting
        for character in set("".join(chosen.documents) + chosen.candidate.name)
    )
    for character in needed:
        used.pop(character, None)
    common = sorted(used, key=lambda character: (-used[character], character))
    return needed | set(common[: max(0, wishes.max_symbols - SPECIAL - len(needed))])


def _transliterate(text):
    from anyascii import anyascii

    return "".join(
        ch if ch.isascii() else anyascii(ch) for ch in unicodedata.normalize("NFC", text)
    )
