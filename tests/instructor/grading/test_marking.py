"""Written answers cut by question: all of an answer, nothing else, and no PDF stops the others."""

import argparse
import os
import re
import subprocess

import numpy as np
import pytest

from common.files import UserError
from conftest import ROOT, require_tools
from instructor.documents.facts import points
from instructor.grading import graded_class
from instructor.grading.graded_class import codes
from instructor.grading.grades import Entry, GradedClass, Person
from instructor.grading.written import add_parser, cut, pdf
from instructor.grading.written.cut import collect
from tests.instructor.grading.sample_class import MANIFEST

NAMES = points(MANIFEST)
WRITTEN = [check.id for check in MANIFEST.checks.values() if not check.coded]
TITLES = {id: NAMES[f"check {id} name"] for id in WRITTEN}
FIRST, LONG, AFTER = "1g-0-written", "3a-0-written", "3a-1-written"
COLORS = {"red": (255, 0, 0), "blue": (0, 0, 255), "green": (0, 255, 0)}
BLOCK = r"{\color[rgb]{%s}\rule{3cm}{1cm}}"
RED, BLUE, GREEN = (BLOCK % ",".join(str(x // 255) for x in COLORS[name]) for name in COLORS)
BOX = "(answer {0} top) [3 0 R /XYZ 9 {1} null] (answer {0} end) [3 0 R /XYZ 9 {2} null]"


@pytest.fixture(autouse=True)
def poppler():
    require_tools("pdfinfo", "pdftoppm", "pdftotext")


@pytest.fixture(scope="module")
def sheet(tmp_path_factory):
    """The sheet with a name (green), and answers that are blocks: red.

    But 3(a) i goes on over pages, red and 60 times blue, and 3(a) ii is a formula.
    """
    require_tools("latexmk", "pdflatex")
    long = "\n\n".join([RED, *[BLUE] * 60])
    boxes = iter([RED, RED, long, "\\[x = y\\]", *[RED] * len(TITLES)])
    text = (ROOT / "handout" / "submission.tex").read_text(encoding="utf-8")
    text = re.sub(r"\\blank\{\d+cm\}", lambda match: next(boxes), text)
    text = text.replace(r"\newcommand{\name}{}", rf"\newcommand{{\name}}{{Ada Lovelace {GREEN}}}")
    text = text.replace(r"\begin{document}", r"\hypersetup{pdfauthor=Ada}\begin{document}")
    folder = tmp_path_factory.mktemp("sheet")
    (folder / "submission.tex").write_text(text, encoding="utf-8")
    command = ["latexmk", "-pdf", "-interaction=nonstopmode", "submission.tex"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder / "submission.pdf"


@pytest.fixture(scope="module")
def made(sheet, tmp_path_factory):
    """What is cut out of it."""
    out = tmp_path_factory.mktemp("made")
    assert cut({"A1": sheet}, TITLES, out) == {}
    return out


def hand_made(path, boxes=None, page="", catalog="", extra="", trailer=""):
    """A PDF of one empty page, with boxes: title -> (top, end)."""
    boxes = {TITLES[FIRST]: (700, 600)} if boxes is None else boxes
    names = " ".join(
        BOX.format(re.sub(r"([()])", r"\\\1", title), top, end)
        for title, (top, end) in boxes.items()
    )
    path.write_bytes(
        f"""%PDF-1.4
1 0 obj << /Type /Catalog /Pages 2 0 R 
  /Names << /Dests << /Names [{names}] >> >> {catalog} >> endobj
2 0 obj << /Type /Pages /Count 1 /Kids [3 0 R] >> endobj
3 0 obj << /Type /Page /Parent 2 0 R {page or "/MediaBox [0 0 612 792]"} >> endobj
{extra}
trailer << /Root 1 0 R {trailer} >>
%%EOF
""".encode()
    )
    return path


def seen(path):
    """How many blocks of each color are on each page of a PDF."""
    shown = subprocess.run(["pdftoppm", "-r", "144", path], capture_output=True, check=True).stdout
    pages = []
    while shown:
        _, size, _, rest = shown.split(b"\n", 3)
        width, height = map(int, size.split())
        pixels = np.frombuffer(rest[: width * height * 3], np.uint8).astype(int)
        pixels, shown = pixels.reshape(-1, 3), rest[width * height * 3 :]
        areas = {name: (abs(pixels - rgb).max(1) < 90).sum() for name, rgb in COLORS.items()}
        blocks = {name: area * 2.54**2 / 144**2 / 3 for name, area in areas.items()}
        pages.append({name: number for name, number in blocks.items() if number > 0.02})
    return pages


def text_of(path):
    shown = subprocess.run(
        ["pdftotext", path, "-"], capture_output=True, encoding="utf-8", check=True
    )
    return shown.stdout.split("\f")[:-1]


# What is cut


def test_the_sheet_has_a_box_for_every_written_part(sheet):
    assert set(pdf.Sheet(sheet).boxes) == set(TITLES.values())


def test_an_answer_is_cut_whole_with_a_code_and_nothing_else(made):
    assert {path.name for path in made.iterdir()} == {f"{id}.pdf" for id in TITLES}
    for id, title in TITLES.items():
        if id != LONG:
            expected = {} if id == AFTER else {"red": 1}
            assert seen(made / f"{id}.pdf") == [pytest.approx(expected, rel=0.06)], id
            assert text_of(made / f"{id}.pdf")[0].split() == f"A1 {title}".split()


def test_an_answer_of_several_pages_is_cut_whole(made):
    pages = seen(made / f"{LONG}.pdf")
    assert len(pages) == 3 and pages[0]["red"] == pytest.approx(1, rel=0.06)
    assert sum(page["blue"] for page in pages) == pytest.approx(60, rel=0.06)
    assert text_of(made / f"{LONG}.pdf")[1].split() == f"A1 {TITLES[LONG]}, page 2 of 3".split()


def test_no_name_and_no_hidden_text_is_left(sheet, made):
    assert "Ada" in subprocess.run(["pdfinfo", sheet], capture_output=True, encoding="utf-8").stdout
    assert "green" in seen(sheet)[0] and "Lovelace" in text_of(sheet)[0]
    for path in made.iterdir():
        assert not any("green" in page for page in seen(path))
        assert not re.search(rb"Ada|Lovelace|/Info|/Metadata|/Annots|/Author", path.read_bytes())
        told = subprocess.run(["pdfinfo", path], capture_output=True, encoding="utf-8", check=True)
        assert "Syntax" not in told.stderr and "Author" not in told.stdout


def test_answers_are_in_the_order_of_codes(tmp_path):
    path = hand_made(tmp_path / "a.pdf")
    cut({"C3": path, "A1": path, "B2": path}, TITLES, tmp_path / "out")
    pages = text_of(tmp_path / "out" / f"{FIRST}.pdf")
    assert [page.split()[0] for page in pages] == ["A1", "B2", "C3"]


def test_scripts_and_links_go_and_ink_on_the_page_stays(tmp_path):
    """Who writes into the PDF with a pen makes annotations of it."""
    ink = "/Type /Annot /Subtype /Ink /Rect [100 610 300 690] /AP << /N 5 0 R >>"
    link = "/Type /Annot /Subtype /Link /Rect [0 0 600 700] /A << /S /URI /URI (evil) >>"
    draw = "1 0 0 rg 0 0 200 80 re f"
    form = f"<< /Type /XObject /Subtype /Form /BBox [0 0 200 80] /Length {len(draw)} >>"
    path = hand_made(
        tmp_path / "a.pdf",
        page=f"/MediaBox [0 0 612 792] /Annots [<< {ink} >> << {link} >>]",
        catalog="/OpenAction << /S /JavaScript /JS (app.alert\\(1\\)) >>",
        extra=f"5 0 obj {form} stream\n{draw}\nendstream endobj",
    )
    reasons = cut({"A1": path}, TITLES, tmp_path / "out")
    assert reasons["A1"].startswith("It lacks the boxes 1(g) ii, 3(a) i,")
    (made,) = (tmp_path / "out").iterdir()
    assert made.name == f"{FIRST}.pdf" and [*seen(made)[0]] == ["red"]
    assert not re.search(rb"JavaScript|OpenAction|Annot|URI|evil", made.read_bytes())


# What cannot be cut

KEYS = f"/O <{'41' * 32}> /U <{'42' * 32}>"
LOCK = f"/Encrypt << /Filter /Standard /V 1 /R 2 {KEYS} /P -4 >> /ID [(a) (a)]"


def make_hostile(kind, path):
    changes = {
        "locked": {"trailer": LOCK},
        "boxless": {"boxes": {}},
        "backwards": {"boxes": {TITLES[FIRST]: (300, 400)}},
        "outside": {"boxes": {TITLES[FIRST]: (-4000, -4001)}},
        "turned": {"page": "/MediaBox [0 0 612 792] /Rotate 90"},
        "huge": {"page": "/MediaBox [0 0 99999 99999]"},
        "liar": {"trailer": "/Info << /Title (Page 1 MediaBox: 0 0 1.1.1 -\nPage 1 rot: x) >>"},
    }
    if kind in ("", "<html>Log in</html>"):
        path.write_text(kind, encoding="utf-8")
    elif kind == "link":
        path.symlink_to(hand_made(path.with_suffix(".other")))
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "half":
        path.write_bytes(hand_made(path).read_bytes()[:200])
    else:
        hand_made(path, **changes[kind])


REASONS = {
    "": "broken",
    "<html>Log in</html>": "broken",
    "half": "broken|none of the boxes",
    "link": "not a regular file",
    "pipe": "not a regular file",
    "locked": "password",
    "boxless": "none of the boxes",
    "backwards": "ends before it begins",
    "outside": "outside of page 1",
    "turned": "rotated",
    "huge": "odd size",
}


@pytest.mark.parametrize("kind", REASONS)
def test_what_cannot_be_cut_is_said_and_stops_nobody(tmp_path, kind):
    make_hostile(kind, tmp_path / "bad.pdf")
    good = hand_made(tmp_path / "good.pdf")
    titles = {FIRST: TITLES[FIRST]}
    reasons = cut({"A1": tmp_path / "bad.pdf", "B2": good}, titles, tmp_path / "out")
    assert list(reasons) == ["A1"] and re.search(REASONS[kind], reasons["A1"])
    assert [page[:2] for page in text_of(tmp_path / "out" / f"{FIRST}.pdf")] == ["B2"]


def test_a_pdf_that_lies_about_itself_is_cut_all_the_same(tmp_path):
    make_hostile("liar", tmp_path / "a.pdf")
    cut({"A1": tmp_path / "a.pdf"}, {FIRST: TITLES[FIRST]}, tmp_path / "out")
    assert text_of(tmp_path / "out" / f"{FIRST}.pdf")


@pytest.mark.parametrize(
    "limit, reason",
    [("MOST_BYTES", "larger than"), ("SECONDS", "takes longer"), ("MOST_PIECES", "too many")],
)
def test_size_time_and_pages_have_limits(tmp_path, monkeypatch, limit, reason):
    monkeypatch.setattr(pdf, limit, 0)
    with pytest.raises(pdf.Unfit, match=reason):
        pdf.Sheet(hand_made(tmp_path / "a.pdf"))


def test_a_program_that_prints_without_end_is_stopped(tmp_path, monkeypatch):
    (tmp_path / "pdfinfo").write_text("#!/bin/sh\nexec yes\n", encoding="utf-8")
    (tmp_path / "pdfinfo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(pdf.Unfit, match="broken"):
        pdf.Sheet(hand_made(tmp_path / "a.pdf"))


def test_a_second_run_leaves_no_answers_of_the_first(tmp_path):
    out = tmp_path / "out"
    cut({"A1": hand_made(tmp_path / "a.pdf")}, TITLES, out)
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    cut({"A1": hand_made(tmp_path / "a.pdf", {TITLES[LONG]: (700, 600)})}, TITLES, out)
    assert {path.name for path in out.iterdir()} == {f"{LONG}.pdf", "notes.txt"}


def test_without_poppler_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="pdfinfo and pdftoppm.*poppler-utils"):
        cut({}, TITLES, tmp_path / "out")


# Whose is whose

PEOPLE = [
    Person("ada", "Ada Lovelace", canvas_id="11"),
    Person("alan", "Alan Turing", canvas_id="12"),
]


def a_class():
    entries = [Entry(person, person.id) for person in PEOPLE]
    return GradedClass(
        MANIFEST, "T", entries, codes=codes("a secret", [person.id for person in PEOPLE])
    )


def test_pdfs_are_matched_as_submissions_are(tmp_path):
    for name in ("lovelaceada_11_501_s.pdf", "turingalan_LATE_12_502_x.PDF", "hopper_13_503_x.pdf"):
        (tmp_path / name).write_bytes(b"")
    chosen, left = collect(a_class(), tmp_path)
    assert {id: path.name[-5:] for id, path in chosen.items()} == {"ada": "s.pdf", "alan": "x.PDF"}
    assert [name for name, _ in left] == ["hopper_13_503_x.pdf"]
    assert "not in the roster" in left[0][1]


def test_folders_links_and_second_pdfs(tmp_path):
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / "answers.pdf").write_bytes(b"")
    (tmp_path / "Ada Lovelace.pdf").write_bytes(b"")
    (tmp_path / "alan").symlink_to(tmp_path / "ada")
    chosen, left = collect(a_class(), tmp_path)
    assert list(chosen) == ["ada"] and len(left) == 2
    assert "of the same person, counts" in dict(left)["Ada Lovelace.pdf"]
    assert dict(left)["alan"] == "It has no PDFs instead of one."


def test_the_command_names_people_only_to_who_runs_it(tmp_path, monkeypatch, capsys):
    graded, folder = a_class(), tmp_path / "pdfs"
    monkeypatch.setattr(graded_class, "load_class", lambda out: graded)
    folder.mkdir()
    hand_made(folder / "ada.pdf", {title: (700, 600) for title in TITLES.values()})
    (folder / "alan.pdf").write_bytes(b"scan")
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers())
    args = parser.parse_args(["cut", "GRADES", str(folder), "--out", str(tmp_path / "out")])
    assert args.run(args) == 0
    said = capsys.readouterr().out
    assert f"alan.pdf ({graded.codes['alan']}): It is broken, or not a PDF." in said
    code, made = graded.codes["ada"], list((tmp_path / "out").iterdir())
    assert len(made) == len(TITLES) and all(text_of(path)[0].startswith(code) for path in made)
    assert not any(b"ada" in path.read_bytes() or b"Ada" in path.read_bytes() for path in made)
