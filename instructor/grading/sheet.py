"""CSV files: reading what spreadsheets write (with commas, semicolons or tabs, in UTF-8 or UTF-16),
and writing what they open safely.

Without a byte order mark, Excel reads a CSV file in its old code page and spoils names, so files
that people open begin with one.
"""

import codecs
import csv
import io
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from autograder.report import harmless
from common.files import UserError

from .text import line

ADVICE = "Save the file as CSV in UTF-8. Nothing was changed."
SPREADSHEETS = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"  # how .xlsx and .xls begin
MARK = "\ufeff"
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?")
# What a spreadsheet takes for a formula, at the beginning of a cell, or after a separator that it
# may split a cell at.
FORMULA = re.compile(r"(^|[;,])(?=[\s\u200c\u200d\"]*[=+\-@\uff1d\uff0b\uff0d\uff20])")


@dataclass(frozen=True)
class Sheet:
    """Rows that aren't blank, each with its line in the file; and the delimiter of cells."""

    rows: list[tuple[int, list[str]]]
    delimiter: str


def read_sheet(path: Path) -> Sheet:
    """Read a CSV file.

    Raises:
        UserError: it cannot be read or is not CSV; the message names the line.
    """
    where, text = harmless(str(path)), _decode(path)
    separator = re.match(r"sep=(.)\n", text)  # Excel's line for the delimiter
    before = 1 if separator else 0
    text = text[separator.end() :] if separator else text
    header = text.lstrip().split("\n", 1)[0]
    delimiter = separator[1] if separator else max(",;\t", key=header.count)
    rows, end = [], before
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append((end + 1, row))
            end = before + reader.line_num
    except csv.Error as error:
        fault = f"{where}, line {end + 1}: this is not CSV: {error}. {ADVICE}"
        raise UserError(fault) from None
    return Sheet(rows, delimiter)


def _decode(path):
    where = harmless(str(path))
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UserError(f"{where} cannot be read: {error.strerror}. Check the name.") from None
    if raw.startswith(SPREADSHEETS):
        raise UserError(f"{where} is a spreadsheet, not a CSV file. {ADVICE}")
    wide = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = raw.decode("utf-16" if wide else "utf-8-sig")
        fault, bad = "a NUL character", text.find("\0")
    except UnicodeDecodeError as error:
        text, bad = raw.decode("latin-1"), error.start
        fault = f"this is not {'UTF-16' if wide else 'UTF-8'}"
    if bad >= 0:
        line = text.count("\n", 0, bad) + 1
        raise UserError(f"{where}, line {line}: {fault}. {ADVICE}")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def cell(value) -> str:
    """The text of a cell: one line that no spreadsheet takes for a formula. Numbers stay numbers.

    An apostrophe is put before a text that begins with = + - @ (also fullwidth), a tab or a line
    end, even after blanks.
    """
    if value is None:
        return ""
    if isinstance(value, (int, float)):
        return f"{round(value, 4):.4f}".rstrip("0").rstrip(".")
    text = line(value)
    if NUMBER.fullmatch(text):
        return text
    text = FORMULA.sub(r"\1'", text)
    blank = value.replace("\0", "")[:1] in ("\t", "\r", "\n")
    return "'" + text if blank and not text.startswith("'") else text


def table(rows: Iterable[Iterable], safe: Callable[[object], str] = cell) -> str:
    """Rows as CSV, every cell made safe by `safe`."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows(map(safe, row) for row in rows)
    return stream.getvalue()
