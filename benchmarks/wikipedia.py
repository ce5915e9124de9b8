"""How fast a dump of Wikipedia is read: python benchmarks/wikipedia.py [--gigabytes 1] [--workers
2]

Makes a dump of invented articles in a temporary folder (four minutes a gigabyte), with proportions
like those of the English Wikipedia: 28% of articles about people, 14 kB of wikitext on average,
three redirects for two articles, and pages of other namespaces. Then it runs `python -m instructor
wikipedia` on it with one process and with --workers, and prints megabytes of XML for each second of
a core, the peak memory of all processes together, and an estimate for the whole English Wikipedia.
The same for a piece of Wikidata. Everything is removed afterwards.
"""

import argparse
import bz2
import gzip
import json
import random
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src"), str(ROOT / "tests" / "datasets")]

from sample_dump import biography, filler, item, page, write_multistream  # noqa: E402

from batch import measured  # noqa: E402
from common.cores import cores  # noqa: E402
from instructor.datasets.worlds.cities import CITIES  # noqa: E402
from instructor.datasets.worlds.world import SIZES, make_names  # noqa: E402

ENGLISH = 105e9  # bytes of XML in pages-articles of the English Wikipedia, an estimate
WIKIDATA = 1.7e12  # bytes of JSON in latest-all, an estimate
PEOPLE = 0.28  # of articles
READ_WIKIDATA = """import sys; sys.path[:0] = ['src', '.']
from pathlib import Path
from instructor.datasets.wikipedia.wikidata import read
read(Path(sys.argv[1]), Path(sys.argv[2]), 'enwiki')"""


def articles(seed: int, size: float):
    """Pages of about `size` bytes in all."""
    rng, names, written, number = random.Random(seed), [], 0, 1000
    while written < size:
        number += 1
        if not names:
            names = make_names(rng, SIZES["full"])
        kind = rng.random()
        length = int(min(rng.lognormvariate(8.9, 0.9), 200_000))
        if kind < 0.30:  # an article
            is_person = rng.random() < PEOPLE
            name = names.pop() if is_person else f"Thing {number}"
            text = (
                biography(rng, name, rng.choice(CITIES), length)
                if is_person
                else thing(rng, length)
            )
            made = page(number, name, text)
        elif kind < 0.75:
            target = f"Thing {number - 1}"
            made = page(
                number,
                f"Also {number}",
                f"#REDIRECT [[{target}]]\n\n{{{{R from move}}}}",
                redirect=target,
            )
        else:
            made = page(number, f"Template:T {number}", filler(rng, 800), namespace=10)
        written += len(made)
        yield made


def thing(rng: random.Random, length: int) -> str:
    """An article that is about no person, though somebody was born in it."""
    box = f"{{{{Infobox settlement\n| name = A\n| population = {rng.randint(1, 10**6)}\n}}}}\n"
    parts = [f"{box}'''A''' is a place in [[B]]. {filler(rng, length // 4)}"]
    parts += [
        f"\n\n== Part {number} ==\nSomebody was born in [[B]] in 1900. {filler(rng, length // 4)}"
        for number in range(3)
    ]
    return "".join(parts) + "\n\n[[Category:Places]]\n"


def write_items(path: Path, size: float) -> int:
    """Write about `size` bytes of Wikidata's JSON: one item in ten has an article, a third of these
    a person. Returns the bytes.
    """
    rng, written, number = random.Random(1), 2, 1000
    padding = [{"language": "xx", "value": filler(rng, 60)} for _ in range(200)]
    with gzip.open(path, "wb", 4) as file:
        file.write(b"[\n")
        while written < size:
            number += 1
            one = item(
                number,
                f"Item {number}",
                number % 3 == 0,
                7,
                wiki="enwiki" if number % 10 == 0 else "xxwiki",
            )
            one["descriptions"] = {str(k): value for k, value in enumerate(rng.sample(padding, 60))}
            written += file.write(json.dumps(one, separators=(",", ":")).encode() + b",\n")
        file.write(b"{}\n]\n")
    return written


def cpu() -> float:
    """CPU seconds of finished child processes."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def decompression(path: Path) -> float:
    """Megabytes a second that a core unpacks, of about the first hundred of a dump: no reader can
    be faster.
    """
    with bz2.open(path) as file:
        started = time.process_time()
        size = sum(len(file.read(1 << 20)) for _ in range(100))
    return size / 1e6 / (time.process_time() - started)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--gigabytes", type=float, default=1)
    parser.add_argument("--workers", type=int, default=cores())
    parser.add_argument("--people", type=int, default=2937)
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the dump here, and reuse the one here"
    )
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        dump = folder / "articles.xml.bz2"
        if dump.exists():
            with bz2.open(dump) as file:
                size = sum(map(len, iter(lambda: file.read(1 << 20), b"")))
        else:
            size = write_multistream(dump, articles(1, args.gigabytes * 1e9))
        print(f"{size / 1e9:.2f} GB of XML in {dump.stat().st_size / 1e9:.2f} GB", flush=True)
        for workers in sorted({1, args.workers}):
            print(
                f"bzip2 alone: {decompression(dump):.1f} MB for each second of a core, just before "
                "this:",
                flush=True,
            )
            before = cpu()
            out = folder / f"out{workers}"
            shutil.rmtree(out.with_name(out.name + "-work"), ignore_errors=True)
            command = [
                sys.executable,
                "-m",
                "instructor",
                "wikipedia",
                "--articles",
                dump,
                "--people",
                args.people,
                "--out",
                out,
                "--workers",
                workers,
            ]
            seconds, memory = measured(command, cwd=ROOT, stderr=sys.stderr)
            rate = size / 1e6 / (cpu() - before)
            print(
                f"{workers} processes: {seconds:.0f} s, {size / 1e6 / seconds:.1f} MB/s in all, "
                f"{rate:.1f} MB for each second of a core, at most {memory:.0f} MiB; all of it "
                f"({ENGLISH / 1e9:.0f} GB): {ENGLISH / 1e6 / rate / 3600:.1f} hours of a core",
                flush=True,
            )
        same = all(
            (folder / "out1" / path.name).read_bytes() == path.read_bytes()
            for path in (folder / f"out{args.workers}").iterdir()
        )
        print(f"the same bytes with 1 and {args.workers} processes: {same}")

        facts = folder / "wikidata.json.gz"
        (folder / "facts.sqlite").unlink(missing_ok=True)
        size = write_items(facts, args.gigabytes * 1e9)
        before = cpu()
        _, memory = measured(
            [sys.executable, "-c", READ_WIKIDATA, facts, folder / "facts.sqlite"], cwd=ROOT
        )
        rate = size / 1e6 / (cpu() - before)
        print(
            f"Wikidata, {size / 1e9:.2f} GB of JSON in {facts.stat().st_size / 1e9:.2f} GB: "
            f"{rate:.0f} MB for each second of a core, at most {memory:.0f} MiB; all of it "
            f"({WIKIDATA / 1e12:.1f} TB): {WIKIDATA / 1e6 / rate / 3600:.1f} hours"
        )


if __name__ == "__main__":
    main()
