"""Reads the file of a dump: its kind, where reading can start, and the XML of its pages from there.

A part begins where a bzip2 stream does, found by the ten bytes that begin one, so no index is
needed; in plain XML it begins anywhere. A page belongs to the part that its first byte is in,
wherever it ends. A file that is one stream is decompressed by the parent, and workers get its XML.
"""

import bz2
import hashlib
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import mwxml

from common.files import UserError

_STREAM = re.compile(rb"BZh[1-9]1AY&SY")  # how a bzip2 stream begins
_STREAM_LENGTH = 10
_END_OF_STREAM = 0x177245385090  # and what precedes its checksum, at any bit
_READ = 1 << 18
_WINDOW = 1 << 20
_MOST = 4 << 20  # bytes that are decompressed at a time
_FAR = 64 << 20  # bytes within which a file of many streams has a second one
# bytes of XML for a worker, if workers cannot read the file from its middle
PIECE = 8 << 20
_OTHERS = {
    b"7z\xbc\xaf": "7-zip",
    b"PK\x03\x04": "zip",
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstandard",
    b"\xfd7zX": "xz",
}
_AGAIN = "Download it again, and compare its checksum with the one that the download page lists."


@dataclass(frozen=True)
class Part:
    """A part of the work: the pages that begin from `start` up to `end` of the file; `xml` has them
    if they cannot be read from there.
    """

    number: int
    start: int
    end: int
    xml: bytes | None = None


@dataclass(frozen=True)
class Site:
    """Which wiki it is: its database's name (enwiki), the language's code, and the address of its
    pages.
    """

    database: str
    language: str
    address: str


class Archive:
    """A dump of articles, compressed by bzip2 in one stream or many, or plain XML.

    Args:
        path: the file.
        part_size: about how many bytes of the file a part has.

    Raises:
        UserError: there is no such file, or it isn't such a dump, or it is cut off.
    """

    def __init__(self, path: Path, part_size: int):
        self.path, self.part_size = path, part_size
        try:
            self.size = path.stat().st_size
            with open(path, "rb") as file:
                beginning = file.read(_WINDOW)
                file.seek(max(0, self.size - 64))
                end = file.read()
        except OSError as error:
            raise UserError(f"{path} cannot be read: {error.strerror}. Check --articles.") from None
        self.compressed = bool(_STREAM.match(beginning))
        if not self.compressed and not beginning.lstrip(b"\xef\xbb\xbf \r\n").startswith(
            (b"<mediawiki", b"<?xml")
        ):
            raise UserError(
                f"{path} is not a dump of Wikipedia: {_what_it_is(beginning)}. Give the file whose "
                "name ends in -pages-articles-multistream.xml.bz2 (or -pages-articles.xml.bz2)."
            )
        if not (_ends_a_stream(end) if self.compressed else b"</mediawiki>" in end):
            raise self._cut_off()
        self.one_stream = self.compressed and self._stream_from(1, _FAR) == self.size
        self.site = self._read_site()
        if self.compressed and not self.one_stream and not self._ends_the_xml():
            raise self._cut_off()

    def fingerprint(self) -> str:
        """A hash of the size, the beginning and the end of the file: it differs between dumps."""
        digest = hashlib.sha256(str(self.size).encode())
        with open(self.path, "rb") as file:
            digest.update(file.read(_WINDOW))
            file.seek(max(0, self.size - _WINDOW))
            digest.update(file.read(_WINDOW))
        return digest.hexdigest()

    def parts(self) -> Iterator[Part]:
        """The parts of the work, in the order of the file; their borders depend only on the file
        and the size of parts.
        """
        if self.one_stream:
            yield from self._pieces()
            return
        start = number = 0
        while start < self.size:
            goal = (start // self.part_size + 1) * self.part_size
            end = min(goal, self.size) if not self.compressed else self._stream_from(goal)
            yield Part(number, start, end)
            start, number = end, number + 1

    def pages(self, part: Part) -> Iterator[bytes]:
        """The XML of the pages that begin in a part, each from `<page>` to `</page>`.

        Raises:
            UserError: the file is corrupt or ends too early.
        """
        if part.xml is not None:
            yield from _cut_pages(part.xml)[0]
            return
        rest = b""
        data = self._from(part.start, part.end)
        for position, _, xml in data:
            if position >= part.end:
                yield from self._last_page(rest, xml, data)
                return
            pages, rest = _cut_pages(rest + xml)
            yield from pages
        if rest.startswith(b"<page>"):
            raise self._unfinished()

    def _last_page(self, rest, xml, data):
        """The page that begins in a part, even with half a tag, and ends after it."""
        border = len(rest)
        rest += xml
        while True:
            start = rest.find(b"<page>")
            if not 0 <= start < border:
                return
            end = rest.find(b"</page>", start)
            if end >= 0:
                yield rest[start : end + len(b"</page>")]
                return
            more = next(data, None)
            if more is None:
                raise self._unfinished()
            rest += more[2]

    def _unfinished(self):
        return UserError(f"{self.path} ends in the middle of a page. {_AGAIN}")

    def _cut_off(self):
        return UserError(
            f"{self.path} is cut off: after {self.size:,} bytes it ends in the middle. {_AGAIN}"
        )

    def _ends_the_xml(self):
        """Whether the last stream ends the XML, so that no streams are missing; True if it begins
        too far from the end to be unpacked now.
        """
        with open(self.path, "rb") as file:
            for offset in range(self.size - _WINDOW, self.size - _FAR, -_WINDOW):
                file.seek(max(0, offset))
                found = [
                    match.start()
                    for match in _STREAM.finditer(file.read(_WINDOW + _STREAM_LENGTH - 1))
                ]
                if found:
                    end = b""
                    for _, _, xml in self._from(max(0, offset) + found[-1], self.size):
                        end = (end + xml)[-64:]
                    return b"</mediawiki>" in end
        return True

    def _stream_from(self, offset, reach=None):
        """Where the first stream at or after an offset begins; the size of the file if there is
        none (within reach).
        """
        end = self.size if reach is None else min(self.size, offset + reach)
        with open(self.path, "rb") as file:
            while offset < end:
                file.seek(offset)
                found = _STREAM.search(file.read(_WINDOW + _STREAM_LENGTH - 1))
                if found:
                    return offset + found.start()
                offset += _WINDOW
        return self.size

    def _from(self, start, border):
        """Decompressed data of the file from an offset on; no piece crosses the border.

        Yields: where its stream begins (or itself, in plain XML), how far the file was read, XML.
        """
        with open(self.path, "rb") as file:
            file.seek(start)
            if not self.compressed:
                position = start
                while raw := file.read(
                    min(_WINDOW, border - position) if position < border else _WINDOW
                ):
                    yield position, position + len(raw), raw
                    position += len(raw)
                return
            stream, decompressor = start, bz2.BZ2Decompressor()
            while raw := file.read(_READ):
                while raw or not (decompressor.needs_input or decompressor.eof):
                    try:
                        xml = decompressor.decompress(raw, _MOST)
                    except OSError:
                        raise UserError(
                            f"{self.path} is corrupt in the stream that begins at byte {stream:,}. "
                            f"{_AGAIN}"
                        ) from None
                    if xml:
                        yield stream, file.tell(), xml
                    raw = decompressor.unused_data if decompressor.eof else b""
                    if raw or (decompressor.eof and file.tell() < self.size):
                        stream, decompressor = file.tell() - len(raw), bz2.BZ2Decompressor()
            if not decompressor.eof:
                raise UserError(
                    f"{self.path} is cut off in the stream that begins at byte {stream:,}. {_AGAIN}"
                )

    def _pieces(self):
        """Parts of a file that is one stream: read from its beginning, cut at ends of pages."""
        rest, number, begun, position = b"", 0, 0, 0
        for _, position, xml in self._from(0, self.size):
            rest += xml
            end = rest.rfind(b"</page>") + len(b"</page>")
            if len(rest) >= PIECE and end >= len(b"</page>"):
                yield Part(number, begun, position, rest[:end])
                rest, number, begun = rest[end:], number + 1, position
        if b"</mediawiki>" not in rest[-64:]:
            raise self._cut_off()
        yield Part(number, begun, position, rest)

    def _read_site(self):
        xml = b""
        for _, _, more in self._from(0, self.size):
            xml += more
            if b"</siteinfo>" in xml or len(xml) > _WINDOW:
                break
        start = xml[:200].lstrip(b"\xef\xbb\xbf \r\n")
        if not start.startswith((b"<mediawiki", b"<?xml")):
            what = "the index of a dump" if re.match(rb"\d+:\d+:", start) else _what_it_is(start)
            raise UserError(
                f"{self.path} holds no articles: it is {what.removeprefix('it is ')}. Give the "
                "file whose name ends in -pages-articles-multistream.xml.bz2 (without -index)."
            )
        language = re.search(rb'<mediawiki[^>]*xml:lang="([^"]+)"', xml[:4000])
        try:
            info = mwxml.Dump.from_file(
                io.BytesIO(xml[: xml.index(b"</siteinfo>") + len(b"</siteinfo>")] + b"</mediawiki>")
            ).site_info
            host = re.match(r"https?://[^/]+", info.base)
            return Site(
                info.dbname, language[1].decode() if language else "", host[0] if host else ""
            )
        except (ValueError, SyntaxError, AttributeError, TypeError):
            raise UserError(
                f"{self.path} is XML, but not of a dump of MediaWiki: it has no <siteinfo>. Check "
                "--articles."
            ) from None


def _cut_pages(xml):
    """The complete pages of some XML, and what is left after the last one."""
    pages, position = [], 0
    while True:
        start = xml.find(b"<page>", position)
        end = xml.find(b"</page>", start) if start >= 0 else -1
        if end < 0:
            return pages, xml[
                start if start >= 0 else max(position, len(xml) - len(b"<page>") + 1) :
            ]
        position = end + len(b"</page>")
        pages.append(xml[start:position])


def _ends_a_stream(end):
    """Whether the last bytes are the end of a bzip2 stream: its mark and a checksum, then less than
    a byte of padding.
    """
    bits = int.from_bytes(end, "big")
    return any((bits >> (32 + padding)) & (1 << 48) - 1 == _END_OF_STREAM for padding in range(8))


def _what_it_is(beginning):
    """What a file of the wrong kind is, judging by its first bytes."""
    for magic, name in _OTHERS.items():
        if beginning.startswith(magic):
            return f"it is a {name} file"
    start = beginning[:500].lstrip().lower()
    if not start:
        return "it is empty"
    if start.startswith((b"<!doctype html", b"<html")):
        return "it is a web page, perhaps an error message of the download"
    if start.startswith((b"{", b"[")):
        return "it is JSON (did you mean --wikidata?)"
    return f"it begins with {beginning[:20]!r}"
