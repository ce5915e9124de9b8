"""Pictures of the boxes of handout/submission.tex, and a PDF made of such pictures.

submission.tex writes a named destination at both ends of every box; pdfinfo finds them, and
pdftoppm draws what is between. Only these programs read what was handed in, in processes with
limits, and they give positions and pixels. A cropped page would keep all its text, the name
included; a picture has no hidden text, metadata, links or scripts, and shows ink added with a pen.
The PDF of pictures needs no library: each page is an image and a line of text.
"""

import math
import re
import subprocess
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

TOOLS = ("pdfinfo", "pdftoppm")  # of poppler-utils
MOST_BYTES = 64 << 20
MOST_PAGES = 100
MOST_PIECES = 200
LARGEST_SIDE = 1200  # points: a little more than A3
DOTS = 144  # per inch
SECONDS = 120  # for one PDF
# 2 GiB of memory and 64 MiB of output, on systems that have such limits.
LIMITED = '{ ulimit -v 2097152; ulimit -f 131072; } 2> /dev/null; exec "$@"'
ABOVE, BELOW = 27, 11  # points of a box beyond its ends: its title, its frame
HEAD = 28  # points above a picture, for its heading
BOX = re.compile(r' *(\d+) \[ XYZ +\S+ +(-?\d+) +\S+ *\] "answer (.*) (top|end)"')
PAGE = re.compile(r"^Page +(\d+) MediaBox:" + 4 * r" +(-?\d+\.\d+)" + "$", re.MULTILINE)
TURNED = re.compile(r"^Page +\d+ rot: +[1-9]", re.MULTILINE)


class Unfit(Exception):
    """A PDF that cannot be cut; the message says why."""


@dataclass(frozen=True)
class Picture:
    """A region of a page: a JPEG, and its size in pixels."""

    jpeg: bytes
    width: int
    height: int


class Sheet:
    """A PDF as it was handed in.

    Attributes:
        boxes: where the box of each title is, from (page, height) to (page, height), in points.

    Raises:
        Unfit: it is too large, broken or locked, or has none of the boxes.
    """

    def __init__(self, path: Path):
        self._path, self._end = path.absolute(), time.monotonic() + SECONDS
        if path.is_symlink() or not path.is_file():
            raise Unfit("It is not a regular file.")
        if path.stat().st_size > MOST_BYTES:
            raise Unfit(f"It is larger than {MOST_BYTES >> 20} MiB.")
        ends = {}
        for line in self._poppler("pdfinfo", "-dests").splitlines():
            if match := BOX.fullmatch(line):
                ends[match[3], match[4]] = int(match[1]), int(match[2])
        self.boxes = {
            title: (ends[title, "top"], ends[title, "end"])
            for title, end in ends
            if end == "top" and (title, "end") in ends
        }
        if not self.boxes:
            raise Unfit(
                "It has none of the boxes of submission.tex: handwritten, or another document."
            )
        for title, ((first, top), (last, end)) in self.boxes.items():
            if not 1 <= first <= last or (first == last and top < end):
                raise Unfit(f"The box {title} ends before it begins.")
        pieces = sum(last - first + 1 for (first, _), (last, _) in self.boxes.values())
        if pieces > MOST_PIECES or max(last for _, (last, _) in self.boxes.values()) > MOST_PAGES:
            raise Unfit(f"Its boxes are beyond page {MOST_PAGES}, or on too many pages.")
        told = self._poppler("pdfinfo", "-box", "-f", "1", "-l", str(MOST_PAGES))
        if TURNED.search(told):
            raise Unfit("Some of its pages are rotated.")
        self._pages = {int(page): [*map(float, box)] for page, *box in PAGE.findall(told)}

    def pictures(self, title: str) -> list[Picture]:
        """The pictures of a box, one for each of its pages, as wide as the page.

        Where a box continues, the page is kept to its end, and the next one from its beginning.

        Raises:
            Unfit: the PDF cannot be shown, or it takes too long.
        """
        (first, top), (last, end) = self.boxes[title]
        return [
            self._picture(
                page,
                top + ABOVE if page == first else math.inf,
                end - BELOW if page == last else -math.inf,
            )
            for page in range(first, last + 1)
        ]

    def _picture(self, page, top, end):
        """What a page shows between two heights."""
        left, bottom, right, upper = self._pages.get(page, (0, 0, 0, 0))
        if not (0 < right - left <= LARGEST_SIDE and 0 < upper - bottom <= LARGEST_SIDE):
            raise Unfit(f"Page {page} is missing, or of an odd size.")
        scale = DOTS / 72
        first = math.floor((upper - min(top, upper)) * scale)
        rows = math.floor((upper - max(end, bottom)) * scale) - first
        columns = math.floor((right - left) * scale)
        if rows < 1:
            raise Unfit(f"A box is outside of page {page}.")
        options = f"-q -jpeg -singlefile -r {DOTS} -f {page} -x 0 -y {first} -W {columns} -H {rows}"
        jpeg = self._poppler("pdftoppm", *options.split())
        if not jpeg.startswith(b"\xff\xd8"):
            raise Unfit(f"Page {page} cannot be shown.")
        return Picture(jpeg, columns, rows)

    def _poppler(self, *command):
        """The output of a poppler program for the PDF."""
        with tempfile.TemporaryFile() as output:
            try:
                done = subprocess.run(
                    ["sh", "-c", LIMITED, "sh", *command, str(self._path)],
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    timeout=max(0, self._end - time.monotonic()),
                )
            except subprocess.TimeoutExpired:
                raise Unfit(f"It takes longer than {SECONDS} seconds to read.") from None
            output.seek(0)
            told = output.read()
        if done.returncode:
            locked = b"Incorrect password" in told
            raise Unfit(
                "It is locked with a password." if locked else "It is broken, or not a PDF."
            )
        return told if command[0] == "pdftoppm" else told.decode(errors="replace")


def write_pdf(path: Path, pages: Iterable[tuple[str, Picture]]) -> None:
    """Write a PDF with a picture on each page, and a searchable heading above it.

    Args:
        path: the file to write.
        pages: heading (non-Latin letters become question marks) and picture.
    """
    catalog, tree, font = 1, 2, 3
    places, kids = {}, []
    with open(path, "wb") as file:

        def put(number, *content):
            places[number] = file.tell()
            file.write(b"%d 0 obj\n%b\nendobj\n" % (number, b"\n".join(content)))

        def stream(number, entries, content):
            put(
                number,
                b"<< %b /Length %d >>\nstream" % (entries, len(content)),
                content,
                b"endstream",
            )

        file.write(b"%PDF-1.4\n")
        for heading, picture in pages:
            page, drawing, image = range(font + 1 + 3 * len(kids), font + 4 + 3 * len(kids))
            width, height = picture.width * 72 / DOTS, picture.height * 72 / DOTS
            kids.append(b"%d 0 R" % page)
            stream(
                image,
                b"/Type /XObject /Subtype /Image /ColorSpace /DeviceRGB /BitsPerComponent 8 "
                b"/Filter /DCTDecode /Width %d /Height %d" % (picture.width, picture.height),
                picture.jpeg,
            )
            text = heading.encode("latin-1", "replace").hex().encode()
            stream(
                drawing,
                b"",
                b"BT /F 12 Tf 24 %.2f Td <%b> Tj ET q %.2f 0 0 %.2f 0 0 cm /I Do Q"
                % (height + 9, text, width, height),
            )
            put(
                page,
                b"<< /Type /Page /Parent %d 0 R /MediaBox [0 0 %.2f %.2f] /Contents %d 0 R "
                b"/Resources << /Font << /F %d 0 R >> /XObject << /I %d 0 R >> >> >>"
                % (tree, width, height + HEAD, drawing, font, image),
            )
        put(
            font,
            b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        )
        put(tree, b"<< /Type /Pages /Count %d /Kids [%b] >>" % (len(kids), b" ".join(kids)))
        put(catalog, b"<< /Type /Catalog /Pages %d 0 R >>" % tree)
        table = file.tell()
        file.write(b"xref\n0 %d\n0000000000 65535 f \n" % (len(places) + 1))
        file.writelines(b"%010d 00000 n \n" % places[number] for number in sorted(places))
        file.write(
            b"trailer << /Size %d /Root %d 0 R >>\nstartxref\n%d\n%%%%EOF\n"
            % (len(places) + 1, catalog, table)
        )
