"""`python -m instructor wikipedia`: makes an edition of the corpus and the questions from a dump of
Wikipedia.
"""

import argparse
import contextlib
import importlib.util
import sys
import tempfile
from pathlib import Path

from common.arguments import number
from common.cores import cores
from common.files import UserError, read_text

MOST = 6  # documents a person: one sentence of the article at least, and ours
PACKAGES = ("anyascii", "mwparserfromhell", "mwxml", "orjson")


def add_parser(commands: argparse._SubParsersAction) -> None:
    """Add the command `wikipedia`."""
    command = commands.add_parser(
        "wikipedia",
        help="make corpus and questions from a dump of Wikipedia",
        description="Makes an edition of the corpus and the questions from a dump of Wikipedia. If "
        "interrupted, run the same command to continue.",
    )
    command.add_argument(
        "--articles",
        type=Path,
        required=True,
        metavar="FILE",
        help="the dump: ...-pages-articles-multistream.xml.bz2, the same in one stream (read more "
        "slowly), or unpacked",
    )
    command.add_argument(
        "--people",
        type=number(1, kind=int),
        required=True,
        metavar="N",
        help="number of people, in all splits together (public corpus: 2937)",
    )
    command.add_argument(
        "--out",
        type=_folder,
        required=True,
        metavar="DIR",
        help="the folder to make, which students get",
    )
    command.add_argument(
        "--gold",
        type=_folder,
        metavar="DIR",
        help="the folder for the test answers (default: DIR-gold beside --out)",
    )
    command.add_argument(
        "--wikidata",
        type=Path,
        metavar="FILE",
        help="latest-all.json.gz: identifies humans, and adds birthplaces",
    )
    command.add_argument(
        "--seed", type=number(0, kind=int), default=1, help="selects the people (default: 1)"
    )
    command.add_argument(
        "--exclude",
        type=Path,
        metavar="FILE",
        help="people to leave out, one per line: a title, a name, a page's address or id",
    )
    text = command.add_argument_group("texts")
    text.add_argument(
        "--paraphrases",
        type=number(1, MOST, int),
        default=1,
        metavar="N",
        help=f"documents per person, 1 to {MOST}: sentences of the article, then our own "
        "phrasings (default: 1)",
    )
    text.add_argument(
        "--max-symbols",
        type=number(64, kind=int),
        default=256,
        metavar="N",
        help="most symbols in the alphabet (default: 256)",
    )
    text.add_argument("--transliterate", action="store_true", help="write everything in ASCII")
    text.add_argument(
        "--max-length",
        type=number(40, kind=int),
        default=516,
        metavar="N",
        help="most characters of a document (default: 516; sentences with a birthplace rarely have "
        "fewer than 80)",
    )
    text.add_argument(
        "--max-share",
        type=number(0.001, 1),
        default=0.05,
        metavar="X",
        help="largest share of a split with one place (default: 0.05)",
    )
    text.add_argument(
        "--preset",
        choices=("laptop", "gpu"),
        default="gpu",
        help="texts must fit into its block (default: gpu)",
    )
    text.add_argument(
        "--language",
        metavar="CODE",
        help="of the wiki: en, simple, de, fr or es (default: what the dump says)",
    )
    text.add_argument(
        "--compare", type=Path, metavar="DIR", help="another folder of data to show in the report"
    )
    work = command.add_argument_group("work")
    work.add_argument(
        "--workers",
        type=number(1, 512, int),
        default=cores(),
        metavar="N",
        help="processes (default: all cores)",
    )
    work.add_argument(
        "--work",
        type=_folder,
        metavar="DIR",
        help="where finished parts are kept (default: DIR-work beside --out); not for students",
    )
    work.add_argument(
        "--part-mb",
        type=number(0.001, 1024),
        default=8,
        metavar="X",
        help="MiB of the file in a part (default: 8)",
    )
    command.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Read the dump, choose people, and write the edition.

    Raises:
        UserError: a mistake on the command line, a file that is broken or no dump, too few people,
            a full disk. Finished parts are kept.
    """
    if missing := [name for name in PACKAGES if importlib.util.find_spec(name) is None]:
        raise UserError(
            f"Not installed: {', '.join(missing)}. To install: pip install -e '.[wikipedia]'"
        )
    from instructor.datasets.folder import read_folder
    from jobs.presets import PRESETS

    from .archive import Archive
    from .dump import Dump
    from .language import LANGUAGES
    from .report import drop_table
    from .selection import TooFew, Wishes, choose, split_sizes
    from .wikidata import read as read_wikidata
    from .write import write_edition

    gold, work = _folders(args)
    split_sizes(args.people)
    block_size = PRESETS[args.preset].block_size
    wishes = Wishes(
        args.people,
        args.seed,
        args.paraphrases,
        block_size,
        args.max_symbols,
        args.max_share,
        args.max_length,
        args.transliterate,
        read_exclusions(args.exclude) if args.exclude else frozenset(),
    )
    with _said_of("--compare"):
        compared = (
            (args.compare.resolve().name, read_folder(args.compare, block_size))
            if args.compare
            else None
        )
    archive = Archive(args.articles, int(args.part_mb * 2**20))
    code = args.language or archive.site.language
    if code not in LANGUAGES:
        raise UserError(
            f"The dump is in the language {code!r}; supported are {', '.join(LANGUAGES)}. Choose "
            "one with --language, or add it to instructor/datasets/wikipedia/language.py."
        )
    if archive.site.database not in (f"{code}wiki", "simplewiki"):
        print(
            f"{args.articles} is a dump of {archive.site.database or 'a wiki without a name'}, "
            f"not of the Wikipedia in {code!r}. If you didn't mean that, check --articles.",
            file=sys.stderr,
        )
    facts = None
    if args.wikidata:
        facts = work / "wikidata.sqlite"
        read_wikidata(args.wikidata, facts, archive.site.database)
    dump = Dump(archive, code, facts, work)
    dump.read(args.workers)
    pages = dump.dropped()
    try:
        edition = choose(dump.candidates, wishes)
    except TooFew as few:
        table = "\n".join(drop_table(pages + few.dropped))
        raise UserError(
            f"Too few people: {args.people - few.missing:,} of {args.people:,} were found. All "
            f"other pages, by the first reason found:\n\n{table}\n\n"
            "Ask for fewer --people, give a larger dump, or loosen --max-share, --max-symbols or "
            f"--max-length. {work} keeps what was read."
        ) from None
    try:
        write_edition(edition, wishes, archive, pages, compared, args.out, gold)
    except UserError as error:
        raise UserError(
            f"{error} {work} keeps what was read: make room, or fix the problem, and run the same "
            "command to continue."
        ) from None
    if edition.unmatched:
        print(
            "On the exclusion list, but matching nobody who was considered: "
            f"{', '.join(edition.unmatched)}",
            file=sys.stderr,
        )
    print(
        f"Wrote {args.out}: {args.people:,} people, {len(edition.documents):,} documents. The test "
        f"answers and report.md are in {gold}."
    )
    print(
        f"{work} can be reused with other seeds. It has data on many more people, so delete it "
        "when you are done."
    )
    print(f"Next: python -m instructor check-data {args.out} --gold {gold}")
    return 0


def _folder(text):
    """A folder from the command line; an empty word, perhaps an unset variable, would be the
    current one.
    """
    if not text.strip():
        raise argparse.ArgumentTypeError("it is empty; give a folder's name")
    return Path(text)


def _folders(args):
    """The folders of the test answers and of the work; all three are checked before hours of work.

    Raises:
        UserError: students would get what they must not see, files that aren't ours would be
            overwritten, or nothing can be written.
    """
    from instructor.datasets.folder import refuse_gold_inside

    from .write import refuse_occupied

    beside = args.out if args.out.name not in ("", "..") else args.out.resolve()
    folders = {
        "--out": args.out,
        "--gold": args.gold or beside.with_name(beside.name + "-gold"),
        "--work": args.work or beside.with_name(beside.name + "-work"),
    }
    out, gold, work = (folder.resolve() for folder in folders.values())
    refuse_gold_inside(out, gold)
    if work == out or out in work.parents:
        raise UserError(
            "--work must not be inside --out: students get that folder, and the working folder has "
            "all test answers and the people of the exclusion list. Nothing was written."
        )
    for option, other in (("--out", out), ("--gold", gold)):
        if work in (other, *other.parents) or other in work.parents:
            raise UserError(
                f"--work and {option} must not be inside each other, since the working folder is "
                "to be deleted. Nothing was written."
            )
    for option, folder in (("--gold", gold), ("--work", work)):
        data = next((parent for parent in folder.parents if (parent / "wiki.txt").exists()), None)
        if data:
            raise UserError(
                f"{folders[option]} would be in {data}, a folder of data (it has a wiki.txt), "
                f"which students get. Choose another one with {option}. Nothing was written."
            )
    refuse_occupied(args.out, folders["--gold"])
    for option, folder in folders.items():
        _refuse_unwritable(option, folder)
    return folders["--gold"], folders["--work"]


def _refuse_unwritable(option, folder):
    existing = next(
        path for path in (folder.absolute(), *folder.absolute().parents) if path.exists()
    )
    try:
        # by permissions alone, root may write to /proc
        tempfile.TemporaryDirectory(dir=existing).cleanup()
    except OSError as error:
        raise UserError(
            f"{folder} cannot be made: {existing} is not a folder that you can write to "
            f"({error.strerror}). Choose another one with {option}."
        ) from None


@contextlib.contextmanager
def _said_of(option):
    """Let errors about an unreadable file name the option that it was given with."""
    try:
        yield
    except UserError as error:
        raise UserError(
            str(error).replace(
                "Check --data (or --gold, for the test answers).", f"Check {option}."
            )
        ) from None


def read_exclusions(path: Path) -> frozenset[str]:
    """The entries of an exclusion list, one per line; blank lines and what follows a # are ignored.

    Raises:
        UserError: the file cannot be read.
    """
    with _said_of("--exclude"):
        lines = read_text(path).split("\n")
    return frozenset(entry for entry in (line.split("#")[0].strip() for line in lines) if entry)
