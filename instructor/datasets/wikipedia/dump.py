"""Reads a whole dump in parts, with several processes, and resumes an interrupted run.

A finished part is a file in the working folder: its candidates, and how many pages were dropped for
which reason. It is written to a temporary name and renamed, and its pages are not read again. The
result depends neither on the number of processes nor on interruptions. A worker keeps a stream and
the candidates of its part in memory.
"""

import dataclasses
import gzip
import json
import multiprocessing
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from tqdm import tqdm

from common.files import Interrupted, UserError, write_text, writing
from common.processes import serve, without_ctrl_c

from .archive import Archive, Part
from .language import LANGUAGES
from .pages import read_pages
from .people import Candidate
from .wikidata import Facts

VERSION = 1  # of the format of finished parts; another one rereads the dump


@dataclasses.dataclass(frozen=True)
class Dump:
    """A dump, and what is needed to read a part of it; it is sent to each worker.

    Attributes:
        archive: the file.
        language: the code of the wiki's language.
        facts: the database that `wikidata.read` made, or None.
        work: the folder for finished parts.
    """

    archive: Archive
    language: str
    facts: Path | None
    work: Path

    def read(self, workers: int) -> None:
        """Read all parts that no earlier run has finished, with a progress bar.

        Raises:
            UserError: the file is corrupt, the disk full, or the folder belongs to other input;
                finished parts are kept.
        """
        self._claim()
        with tqdm(
            total=self.archive.size, unit="B", unit_scale=True, desc=self.archive.path.name[:40]
        ) as bar:
            try:
                people = 0
                for part, count in self._finished(workers):
                    people += count or 0
                    if count is None:
                        # from an earlier run: it says nothing about the speed
                        bar.initial += part.end - part.start
                    bar.update(part.end - part.start)
                    bar.set_postfix_str(f"{people:,} people" if people else "", refresh=False)
            except UserError as error:
                raise UserError(
                    f"{error} Finished parts of the work are kept in {self.work}."
                ) from None
            except BrokenProcessPool:
                raise UserError(
                    "A process that read the dump was killed; out of memory? Finished parts are "
                    "kept: run the same command to continue, perhaps with fewer --workers."
                ) from None
            except KeyboardInterrupt:
                raise Interrupted(
                    "Interrupted. Finished parts are kept: run the same command to continue."
                ) from None

    def candidates(self) -> Iterator[Candidate]:
        """All candidates of a dump that was read, in its order."""
        for path in self._paths():
            for line in _content(path)[1:]:
                fields = json.loads(line)
                yield Candidate(**fields | {"documents": tuple(map(tuple, fields["documents"]))})

    def dropped(self) -> Counter:
        """How many pages were dropped for which reason."""
        total = Counter()
        for path in self._paths():
            total.update(json.loads(_content(path)[0]))
        return total

    def _claim(self):
        """Create the folder, or check that it belongs to the same input."""
        mine = {
            "version": VERSION,
            "articles": self.archive.fingerprint(),
            "part_size": self.archive.part_size,
            "wikidata": self.facts and Facts(self.facts).fingerprint(),
            "language": self.language,
        }
        path = self.work / "input.json"
        if path.exists():
            try:
                theirs = json.loads(path.read_text(encoding="utf-8"))
            except ValueError:
                theirs = None
            if theirs != mine:
                raise UserError(
                    f"{self.work} holds finished parts of other input, or with another --part-mb. "
                    "Give another folder with --work, or delete this one."
                )
        else:
            write_text(path, json.dumps(mine, indent=2) + "\n")

    def _paths(self):
        return sorted((self.work / "parts").glob("*.jsonl.gz"))

    def _finished(self, workers) -> Iterator[tuple[Part, int | None]]:
        """Each part when it is done, with the number of people found (None if an earlier run did
        it).
        """
        done = {path.name for path in self._paths()}
        # this process unpacks it; more workers would wait, holding XML in memory
        if self.archive.one_stream:
            workers = min(workers, 4)
        if workers == 1:
            for part in self.archive.parts():
                yield part, None if _name(part) in done else read_part(self, part)
            return
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), serve) as pool:
            running: dict = {}
            try:
                for part in self.archive.parts():
                    if _name(part) in done:
                        yield part, None
                    else:
                        with without_ctrl_c():
                            running[pool.submit(read_part, self, part)] = dataclasses.replace(
                                part, xml=None
                            )
                    if len(running) == 2 * workers:
                        yield from _ended(running)
                while running:
                    yield from _ended(running)
            finally:
                pool.shutdown(cancel_futures=True)


def _ended(running):
    """Wait for at least one running part, and yield those that ended."""
    for future in wait(running, return_when=FIRST_COMPLETED).done:
        yield running.pop(future), future.result()


def read_part(dump: Dump, part: Part) -> int:
    """Read a part and write its candidates; returns their number."""
    candidates, dropped = read_pages(
        dump.archive.pages(part), LANGUAGES[dump.language], dump.facts and Facts(dump.facts)
    )
    lines = [
        json.dumps(dropped, sort_keys=True),
        *(json.dumps(dataclasses.asdict(one), ensure_ascii=False) for one in candidates),
    ]
    with writing(dump.work / "parts" / _name(part)) as temporary:
        temporary.write_bytes(
            gzip.compress(
                "".join(line + "\n" for line in lines).encode("utf-8", "replace"), 1, mtime=0
            )
        )
    return len(candidates)


def _name(part):
    return f"{part.number:07}.jsonl.gz"


def _content(path):
    try:
        return gzip.decompress(path.read_bytes()).decode("utf-8").splitlines()
    except (OSError, EOFError, ValueError) as error:
        raise UserError(
            f"{path} cannot be read ({error}). Delete it: the same command makes it again."
        ) from None
