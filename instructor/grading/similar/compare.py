"""Compares the code of every pair of people by copydetect's fingerprints: names, blanks, comments
and strings don't count, nor does the order of functions. Nothing is executed.
"""

import io
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import chain, combinations, islice

from checks.support.staging import GIVEN
from instructor import ROOT
from instructor.release.pasting import released
from instructor.release.starter import SOLUTION
from jobs.deliverables import STUDENT_FILES

from .own import Own, regions

NOISE = 25  # characters, where a name is one: shorter matches are chance
# such characters of own code that a comparison needs: with fewer, right answers to a small task
# look alike
LEAST = 200
# such characters in common with a released file, from which on they are reported
PASTED = 150
BATCH = 4000  # pairs that a worker gets at once


@dataclass(frozen=True)
class Pair:
    """Two people whose code matches.

    Attributes:
        first, second: ids.
        shares: for each the fraction of their own code, without what the starter and the reference
            have, that the other also has.
        spans: for each the characters of Own.text that match, as (start, end), in order.
    """

    first: str
    second: str
    shares: tuple[float, float]
    spans: tuple[tuple[tuple[int, int], ...], tuple[tuple[int, int], ...]] = ((), ())

    @property
    def similarity(self) -> float:
        """The larger share: it also finds copies with additions and copied parts."""
        return max(self.shares)


def compare(
    everybody: list[Own], threshold: float, workers: int
) -> tuple[list[Pair], dict[str, str]]:
    """Compare every pair of people.

    Args:
        everybody: what each wrote; those with a problem are skipped.
        threshold: the least similarity of pairs to return, from 0 to 1.
        workers: processes.

    Returns:
        The pairs, most similar first; and a sentence for each person who has too little code of
        their own to compare.
    """
    known = _boilerplate()
    prints, left_out = {}, {}
    for own in everybody:
        if not own.problem:
            print_ = _fingerprint(own.text, known)
            if print_.token_coverage < LEAST:
                left_out[own.person] = (
                    "Without what the starter and the reference have, too little is left to "
                    "compare."
                )
            else:
                prints[own.person] = print_
    pairs = combinations(prints, 2)
    batches = iter(lambda: list(islice(pairs, BATCH)), [])
    if len(prints) * (len(prints) - 1) // 2 <= BATCH:
        found = [_similar(prints, threshold, batch) for batch in batches]
    # passes the fingerprints on: their hashes are valid only in this process and its forks
    else:
        with ProcessPoolExecutor(workers, initializer=_start, initargs=(prints, threshold)) as pool:
            found = list(pool.map(_similar_here, batches))
    return sorted(
        chain(*found),
        key=lambda pair: (-pair.similarity, -min(pair.shares), pair.first, pair.second),
    ), left_out


def released_code() -> list[Own]:
    """The released code, which students may not paste: an Own for each file under src/ except the
    student package.
    """
    return [
        Own(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))
        for path in released(ROOT / "src")
    ]


def compare_with_released(everybody: list[Own], files: list[Own]) -> list[Pair]:
    """Compare everybody with the released files.

    Args:
        everybody: what each wrote; those with a problem are skipped.
        files: from released_code.

    Returns:
        Pairs of a person and a file that share PASTED characters or more, longest match first.
    """
    from copydetect import compare_files

    known, found = _boilerplate(), []
    prints = [(file.person, _fingerprint(file.text, known)) for file in files]
    for own in everybody:
        mine = None if own.problem else _fingerprint(own.text, known)
        for name, theirs in prints if mine else ():
            overlap, shares, slices = compare_files(mine, theirs)
            if overlap >= PASTED:
                found.append((overlap, _pair(own.person, name, shares, slices)))
    return [
        pair
        for _, pair in sorted(found, key=lambda both: (-both[0], both[1].first, both[1].second))
    ]


def _start(*known):
    """Initialize a worker with what its batches need."""
    global _KNOWN
    _KNOWN = known


def _similar_here(batch):
    return _similar(*_KNOWN, batch)


def _similar(prints, threshold, batch):
    """The Pairs of a batch that reach the threshold."""
    from copydetect import compare_files

    found = []
    for first, second in batch:
        _, shares, slices = compare_files(prints[first], prints[second])
        if max(shares) >= threshold:
            found.append(_pair(first, second, shares, slices))
    return found


def _pair(first, second, shares, slices):
    spans = tuple(
        tuple(sorted((int(start), int(end)) for start, end in zip(*slice_))) for slice_ in slices
    )
    return Pair(first, second, tuple(min(1.0, float(share)) for share in shares), spans)


def _boilerplate() -> set[int]:
    """Fingerprints of code that anyone may have: the starter and the reference."""
    files = [path for name in STUDENT_FILES for path in (GIVEN / name, SOLUTION / name)]
    texts = [path.read_text(encoding="utf-8") for path in files]
    texts += [regions(text) for text in texts] + [
        "\n".join(regions((SOLUTION / name).read_text(encoding="utf-8")) for name in STUDENT_FILES)
    ]
    return set().union(*(_fingerprint(text, set()).hashes for text in texts))


def _fingerprint(text, known):
    """copydetect's fingerprint of a text, less what is known."""
    from copydetect import CodeFingerprint
    from copydetect.utils import get_token_coverage

    # A window of 1 keeps all hashes: so the result doesn't depend on Python's hash seed.
    print_ = CodeFingerprint("own.py", NOISE, 1, fp=io.StringIO(text))
    print_.hash_idx = {
        value: where for value, where in print_.hash_idx.items() if value not in known
    }
    print_.hashes = set(print_.hash_idx)
    print_.token_coverage = get_token_coverage(print_.hash_idx, NOISE, len(print_.filtered_code))
    return print_
