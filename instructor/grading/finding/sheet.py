"""Reading the CSV files that spreadsheets write: with commas, semicolons or tabs, in UTF-8 or
UTF-16.
"""

import codecs
import csv
import io
import re
from dataclasses import dataclass
from pathlib import Path

from autograder.report import harmless
from common.files import UserError

ADVICE = "Save the file as CSV in UTF-8. Nothing was changed."
UTF_16 = codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE
SPREADSHEETS = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"  # how .xlsx and .xls begin


@dataclass(frozen=True)
class Sheet:
    """Rows that aren't blank, each with its line in the file; and what the file has between
    cells.
    """

    rows: list[tuple[int, list[str]]]
    delimiter: str


def read_sheet(path: Path) -> Sheet:
    """Read a CSV file.

    Raises:
        UserError: it cannot be read or is no CSV; the message names the line.
    """
    where = harmless(str(path))
    text = _decode(path, where)
    told = re.match(r"sep=(.)\n", text)  # how Excel is told
    text = text[told.end() :] if told else text
    before = 1 if told else 0
    header = text.lstrip().split("\n", 1)[0]
    delimiter = told[1] if told else max(",;\t", key=header.count)
    rows, end = [], 0
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                rows.append((before + end + 1, row))
            end = reader.line_num
    except csv.Error as error:
        raise UserError(
            f"{where}, line {before + end + 1}: this is no CSV: {error}. {ADVICE}"
        ) from None
    return Sheet(rows, delimiter)


def _decode(path, where):
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise UserError(f"{where} cannot be read: {error.strerror}. Look at the name.") from None
    if raw.startswith(SPREADSHEETS):
        raise UserError(f"{where} is a spreadsheet, not a CSV file. {ADVICE}")
    encoding = "utf-16" if raw.startswith(UTF_16) else "utf-8-sig"
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{where}, line {line}: this is not {encoding.removesuffix('-sig').upper()}. {ADVICE}"
        ) from None
    if "\0" in text:
        raise UserError(
            f"{where}, line {text.count(chr(10), 0, text.index(chr(0))) + 1}: a NUL character. "
            f"{ADVICE}"
        )
    return text.replace("\r\n", "\n").replace("\r", "\n")
