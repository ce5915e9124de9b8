"""`python -m instructor cut`: written answers cut by question, with codes in place of names."""

import shutil
import tempfile
from collections import defaultdict
from pathlib import Path

from tqdm import tqdm

from autograder.report import harmless
from common.files import UserError, writing

from .pdf import TOOLS, Picture, Sheet, Unfit, write_pdf


def cut(pdfs: dict[str, Path], titles: dict[str, str], out: Path) -> dict[str, str]:
    """Write OUT/RUBRIC.pdf for each written part: everybody's answer, in the order of codes.

    Args:
        pdfs: the PDFs, by the code of the person.
        titles: of the boxes, by the rubric's id.
        out: the folder. Other files in it stay; the file of a part without answers is removed.

    Returns:
        Why PDFs could not be cut, or which boxes they lack, by code.

    Raises:
        UserError: poppler isn't installed, or a file can't be written.
    """
    if missing := [tool for tool in TOOLS if not shutil.which(tool)]:
        raise UserError(
            f"Cutting needs {' and '.join(missing)}, which is not installed. "
            "Install poppler (Debian: poppler-utils), then try again."
        )
    reasons, pages = {}, defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="cut-") as scratch:
        for number, code in enumerate(tqdm(sorted(pdfs), "Cutting", unit="PDF", disable=None)):
            try:
                sheet = Sheet(pdfs[code])
                found = {
                    id: sheet.pictures(title)
                    for id, title in titles.items()
                    if title in sheet.boxes
                }
            except Unfit as reason:
                reasons[code] = str(reason)
                continue
            if lacking := [title for id, title in titles.items() if id not in found]:
                reasons[code] = f"It lacks the boxes {', '.join(lacking)}."
            for id, pictures in found.items():
                for part, picture in enumerate(pictures, start=1):
                    place = Path(scratch) / f"{number}-{id}-{part}"
                    place.write_bytes(picture.jpeg)  # those of a class may not fit in memory
                    more = f", page {part} of {len(pictures)}" if len(pictures) > 1 else ""
                    pages[id].append(
                        (f"{code}   {titles[id]}{more}", place, picture.width, picture.height)
                    )
        for id in titles:
            if pages[id]:
                with writing(out / f"{id}.pdf") as temporary:
                    write_pdf(
                        temporary,
                        (
                            (heading, Picture(place.read_bytes(), width, height))
                            for heading, place, width, height in pages[id]
                        ),
                    )
            else:
                (out / f"{id}.pdf").unlink(missing_ok=True)
    return reasons


def collect(graded, folder: Path) -> tuple[dict[str, Path], list[tuple[str, str]]]:
    """The PDFs by person: paths by id, and (name, reason) of what is left out.

    Raises:
        UserError: the folder is missing, or as find_submissions.
    """
    from instructor.grading.finding.find import find_submissions
    from instructor.grading.finding.roster import Roster

    roster = Roster(tuple(entry.person for entry in graded.entries))
    ids = {person.id for person in roster.people}
    chosen, left = {}, []
    if not folder.is_dir():
        raise UserError(
            f"{folder} is not a folder. Give the folder with the written answers: a PDF, or a "
            "folder with one, for each student."
        )
    for found in find_submissions(folder):
        person, remark = roster.match(found)
        inside = _pdfs(found.source)
        if person.id not in ids:
            left.append((found.label, remark or "Nobody is in this class."))
        elif len(inside) != 1:
            left.append((found.label, f"It has {len(inside) or 'no'} PDFs instead of one."))
        else:
            if person.id in chosen:
                left.append((chosen[person.id].name, f"{found.label}, of the same person, counts."))
            chosen[person.id] = inside[0]
    return chosen, left


def _pdfs(source):
    """The PDFs of a submission: the file itself, or those in the folder."""
    inside = source.iterdir() if source.is_dir() and not source.is_symlink() else [source]
    return sorted(path for path in inside if path.suffix.lower() == ".pdf")


def command(args) -> int:
    """The command: cut the PDFs of a class, and list those to mark whole."""
    from instructor.documents.facts import points
    from instructor.grading.graded_class import load_class

    graded = load_class(args.grades)
    facts = points(graded.manifest)
    titles = {
        check.id: facts[f"check {check.id} name"]
        for check in graded.manifest.checks.values()
        if not check.coded
    }
    chosen, left = collect(graded, args.pdfs)
    codes = {graded.codes[id]: path for id, path in chosen.items()}
    reasons = cut(codes, titles, args.out)
    left += [(f"{codes[code].name} ({code})", reason) for code, reason in reasons.items()]
    written = sum((args.out / f"{id}.pdf").is_file() for id in titles)
    print(f"{len(codes)} PDFs. For each of {written} written parts, one PDF is in {args.out}.")
    if left:
        print(f"To be looked at by hand: {len(left)}.")
    for name, reason in left:
        print(harmless(f"  {name}: {reason}"))
    return 0


def add_parser(commands) -> None:
    """Add `cut` to the commands of `python -m instructor`."""
    parser = commands.add_parser(
        "cut", help="cut PDFs of written answers by question, with codes in place of names"
    )
    parser.add_argument("grades", type=Path, help="the folder that `grade` wrote")
    parser.add_argument(
        "pdfs", type=Path, help="folder with a PDF for each person, named as submissions are"
    )
    parser.add_argument("--out", type=Path, required=True, help="folder for the PDFs of the parts")
    parser.set_defaults(run=command)
