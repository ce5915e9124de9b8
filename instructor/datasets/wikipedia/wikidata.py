"""Looks up in Wikidata who is a human, and where they were born. One pass over its JSON dump makes
a small database.

Rows are kept for the items that have an article in the wiki: for humans (P31 is Q5) their place of
birth (P19), and for what has coordinates (P625) the title of its article.
"""

import bz2
import contextlib
import functools
import gzip
import hashlib
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path

import orjson
from tqdm import tqdm

from common.files import Interrupted, UserError

COMMIT = 64 << 20  # bytes of JSON between two points where a run can resume
_SCHEMA = """
CREATE TABLE IF NOT EXISTS people (title TEXT PRIMARY KEY, place INTEGER) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS places (id INTEGER PRIMARY KEY, title TEXT);
CREATE TABLE IF NOT EXISTS progress (input TEXT, position INTEGER, done INTEGER);"""


class Facts:
    """The database, for looking titles up.

    Called with a title, gives the title of the article about the birthplace; "" if it isn't known;
    None if there is no such human.
    """

    def __init__(self, path: Path):
        self.path = path

    def __call__(self, title: str) -> str | None:
        """The place of birth of the person whose article has this title, or None."""
        row = (
            _opened(self.path)
            .execute(
                "SELECT places.title FROM people LEFT JOIN places ON places.id = people.place "
                "WHERE people.title = ?",
                (title,),
            )
            .fetchone()
        )
        return None if row is None else row[0] or ""

    def fingerprint(self) -> str:
        """What the database was made from."""
        return _opened(self.path).execute("SELECT input FROM progress").fetchone()[0]


@functools.cache
def _opened(path):
    """The connection of this process."""
    return sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)


def read(path: Path, database: Path, wiki: str) -> None:
    """Make the database, or resume an earlier run.

    Args:
        path: latest-all.json.gz (or .bz2, or unpacked).
        database: the file to make.
        wiki: whose articles count, such as enwiki.

    Raises:
        UserError: the file is missing, corrupt, cut off or something else, or the disk is full.
    """
    try:
        size = path.stat().st_size
        with open(path, "rb") as file:
            beginning = file.read(1 << 16)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}. Check --wikidata.") from None
    mine = hashlib.sha256(f"{size} {wiki} ".encode() + beginning).hexdigest()
    database.parent.mkdir(parents=True, exist_ok=True)
    try:
        with contextlib.closing(sqlite3.connect(database)) as connection:
            connection.executescript(_SCHEMA)
            row = connection.execute("SELECT input, position, done FROM progress").fetchone() or (
                mine,
                0,
                0,
            )
            if row[0] != mine:
                raise UserError(
                    f"{database.parent} holds facts from another --wikidata file. Give another "
                    "folder with --work, or delete that one."
                )
            if not row[2]:
                _fill(connection, path, size, wiki, mine, row[1])
    except sqlite3.Error as error:
        raise UserError(
            f"{database} could not be written: {error}. Is the disk full? Make room, then run the "
            "same command to continue."
        ) from None
    except KeyboardInterrupt:
        raise Interrupted(
            "Interrupted. What was read of Wikidata is kept: run the same command to continue."
        ) from None


def _fill(connection, path, size, wiki, mine, begin):
    people, places, position, committed = [], [], 0, begin
    link = f'"{wiki}":'.encode()

    def commit(done=0):
        with connection:
            connection.executemany("INSERT OR REPLACE INTO people VALUES (?, ?)", people)
            connection.executemany("INSERT OR REPLACE INTO places VALUES (?, ?)", places)
            connection.execute("DELETE FROM progress")
            connection.execute("INSERT INTO progress VALUES (?, ?, ?)", (mine, position, done))
        people.clear()
        places.clear()

    with tqdm(total=size, unit="B", unit_scale=True, desc=path.name[:40]) as bar:
        for line, read in _lines(path):
            position += len(line)
            bar.update(read - bar.n)
            if position <= begin or link not in line:
                continue
            is_human, is_place = b'"Q5"' in line, b'"P625"' in line
            if is_human or is_place:
                _take(line, wiki, is_place, people, places, path)
            if position - committed >= COMMIT:
                committed = position
                commit()
        commit(done=1)


def _take(line, wiki, is_place, people, places, path):
    """Add the facts of one line of the dump, an item."""
    try:
        item = orjson.loads(line.rstrip(b",\r\n"))
        title, number, claims = (
            item["sitelinks"][wiki]["title"],
            int(item["id"][1:]),
            item["claims"],
        )
    except (ValueError, KeyError, TypeError):
        if line.startswith(b"{"):
            return  # a redirect, a property, or an item without that article
        raise UserError(
            f"{path} isn't in the format of Wikidata's JSON dump, which has one item a line: "
            f"{line[:60]!r}. Check --wikidata."
        ) from None
    if 5 in _targets(claims, "P31"):
        people.append((title, next(iter(_targets(claims, "P19")), None)))
    elif is_place:
        places.append((number, title))


def _targets(claims, prop) -> list[int]:
    """The items that a property points to, those of preferred rank first, without deprecated
    ones.
    """
    ranked = []
    for claim in claims.get(prop, ()) if isinstance(claims, dict) else ():
        value = claim.get("mainsnak", {}).get("datavalue", {}).get("value", {})
        if (
            claim.get("rank") != "deprecated"
            and isinstance(value, dict)
            and str(value.get("id", "")).startswith("Q")
        ):
            ranked.append((claim.get("rank") != "preferred", int(value["id"][1:])))
    return [number for _, number in sorted(ranked, key=lambda pair: pair[0])]


def _lines(path) -> Iterator[tuple[bytes, int]]:
    """The lines of the dump, with how much of the file has been read."""
    with open(path, "rb") as file:
        magic = file.read(3)
        file.seek(0)
        opened = (
            gzip.open(file)
            if magic[:2] == b"\x1f\x8b"
            else bz2.open(file)
            if magic == b"BZh"
            else file
        )
        try:
            first = opened.readline(1 << 20)
            if first.strip() != b"[":
                raise UserError(
                    f"{path} isn't in the format of Wikidata's JSON dump: it begins with "
                    f"{first[:30]!r}, not with '['. Give latest-all.json.gz."
                )
            yield first, file.tell()
            line = b""
            for line in opened:
                yield line, file.tell()
            if line.strip() != b"]":
                raise UserError(
                    f"{path} is cut off: its last line is {line[:30]!r}, not ']'. Download it "
                    "again."
                )
        except (EOFError, gzip.BadGzipFile, zlib.error, OSError) as error:
            raise UserError(
                f"{path} is corrupt or cut off ({error}). Download it again; what was read is kept."
            ) from None
