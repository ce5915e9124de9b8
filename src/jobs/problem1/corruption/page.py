"""The page of ./run.sh show_corruption: the student's span corruption, step by step and in
histograms beside what question 1c asks for.
"""

from collections import Counter
from collections.abc import Callable
from html import escape
from itertools import groupby, pairwise
from pathlib import Path
from statistics import fmean as mean

from tqdm import tqdm

from common.charts import Axis, Plot, round_numbers
from common.files import read_documents, write_text
from jobs.errors import says_where
from jobs.options import ROOT
from jobs.problem1.corruption.draws import Draw, lengths_asked, read_draw
from jobs.problem1.corruption.verdict import verdicts
from jobs.web_page import MARKS, characters, document, figure, scroll

DRAWS, BLOCK_SIZE = 1000, 64  # rows of 65 characters fit on a screen
EXAMPLES = 24  # that a page has
MASK, PAD = "\u2047", "\u25a1"

CSS = """
.corruption .cells { font: .9rem/1.7 ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  white-space: pre-wrap; overflow-wrap: anywhere; margin: 0 0 .6rem; }
.corruption dl { margin: .5rem 0; } .corruption dt { font-size: .875rem; color: var(--muted); }
.corruption dd { margin: 0; }
.corruption .rows .scroll { margin: 0; } .corruption .rows .cells { white-space: pre; }
.corruption .cells span { border-bottom: 2px solid transparent; }
.corruption .cells .prefix { border-color: var(--accent); background: var(--panel); }
.corruption .cells .suffix { border-bottom: 2px dotted var(--accent); background: var(--panel); }
.corruption .cells .masked { background: var(--accent); color: var(--paper); }
.corruption .cells s { color: var(--muted); }
.corruption button { font: inherit; padding: .35rem .9rem; color: var(--ink);
  background: var(--panel); border: 1px solid var(--muted); border-radius: .3rem; cursor: pointer; }
.corruption .fault, .far { font-weight: 650; color: var(--second); }
.corruption .histograms { display: grid; gap: 0 2rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 17rem), 1fr)); }
.corruption .asked { stroke: var(--second); fill: none; stroke-width: 2; stroke-dasharray: 4 3; }
.corruption svg .bar { fill-opacity: .5; }
.corruption svg text.named { fill: var(--second); }
.corruption [hidden] { display: none; }
@media print { .corruption button { display: none; } }
"""
SCRIPT = """for (const box of document.querySelectorAll(".corruption")) {
  const examples = box.querySelectorAll(".example");
  const button = box.querySelector("button"), status = box.querySelector("[role=status]");
  let shown = 0;
  const say = () => status.textContent = `Example ${shown + 1} of ${examples.length}`;
  button.addEventListener("click", () => {
    examples[shown].hidden = true;
    shown = (shown + 1) % examples.length;
    examples[shown].hidden = false;
    say();
  });
  button.hidden = examples.length < 2;
  say();
}
"""


@says_where
def show_corruption(student, data: Path | None, out: Path) -> None:
    """Draw DRAWS examples with the student's code, and write the page.

    Args:
        student: the submission's dataset.py.
        data: the folder of wiki.txt, by default that of the whole corpus.
        out: the file.

    Raises:
        UserError: __getitem__ raised an error, or returned no tensors of tokens.
    """
    dataset, numbers = corpus(student.CharCorruptionDataset, data or ROOT / "data")
    print(f"Drawing {DRAWS:,} examples ...", flush=True)
    bar = tqdm(range(DRAWS), desc="Drawing", unit="example", leave=False)
    draws = [read_draw(dataset, numbers[i % len(numbers)]) for i in bar]
    write_text(out, page(draws))
    for alike in by_fault(draws).values():
        print(f"{len(alike)} of {DRAWS} draws are not as asked, such as: {alike[0].fault}")
    for sentence in verdicts([draw for draw in draws if draw.parts], BLOCK_SIZE):
        print(sentence)
    print(f"Wrote {out}: open it in a browser.")


def corpus(make: Callable, data: Path):
    """The dataset of the corpus in a folder, and the documents to draw: those long enough for every
    truncated length.
    """
    dataset = make(read_documents(data / "wiki.txt"), BLOCK_SIZE)
    most = int(BLOCK_SIZE * 3 / 4)
    numbers = [i for i, text in enumerate(dataset.data) if len(text) >= most]
    return dataset, numbers[:DRAWS] or list(range(min(DRAWS, len(dataset.data))))


def page(draws: list[Draw]) -> str:
    """The whole page."""
    faulty = sum(bool(draw.fault) for draw in draws)
    says = "All draws have the form that question 1c asks for."
    if faulty:
        says = f"{faulty:,} of {len(draws):,} draws do not have the form that question 1c asks for."
    far = verdicts([draw for draw in draws if draw.parts], BLOCK_SIZE)
    wrong = "".join(f'<p class="far">{sentence}</p>\n' for sentence in far)
    top = f"""<h1>Span corruption</h1>
<p>Your <code>CharCorruptionDataset</code> of <code>dataset.py</code>, called {len(draws):,} times
with <code>block_size</code> {BLOCK_SIZE}. {says} This page reads x and y alone; the grader's checks
try more (<code>python src/grader.py 1c</code>).</p>
{wrong}{fragment(draws, BLOCK_SIZE)}"""
    footer = "Counts differ from the expected ones by chance."
    return document("Span corruption", top, {}, footer, MARKS + CSS, SCRIPT)


def fragment(draws: list[Draw], block_size: int, name: str = "corruption") -> str:
    """The example and the histograms, to be put into any page that has this module's CSS and
    SCRIPT, web_page.MARKS, and what common.charts.CSS says of colors and drawings.

    Args:
        draws: of read_draw; the first EXAMPLES are shown, faulty ones first.
        block_size: of their dataset.
        name: what ids start with.

    Returns:
        HTML without ids of its own but those that start with the name, scripts or handlers.
    """
    shown = examples(draws)
    parts = "\n".join(example(draw, bool(i)) for i, draw in enumerate(shown))
    read = [draw for draw in draws if draw.parts]
    plots = "".join(make(read, block_size) for make in (lengths, shares, starts)) if read else ""
    return f"""<div class="corruption" id="{name}">
<p><span class="cells">{characters(MASK)}</span> is MASK,
<span class="cells">{characters(PAD)}</span> is PAD.</p>
<div id="{name}-examples">
{parts}
</div>
<p><button type="button" hidden>Draw again</button> <span role="status"></span></p>
<div class="histograms">{plots}</div>
</div>"""


def examples(draws: list[Draw]) -> list[Draw]:
    """Those that a page has: one of each kind of fault, then others as they were drawn."""
    first = [draws[0] for draws in by_fault(draws).values()][: EXAMPLES // 2]
    others = [draw for draw in draws if draw not in first]
    return (first + others)[:EXAMPLES]


def by_fault(draws: list[Draw]) -> dict[tuple, list[Draw]]:
    """The faulty draws by kind, the most frequent first. Sentences that start alike are of a kind:
    numbers and quoted text differ.
    """
    kinds = {}
    for draw in draws:
        if draw.fault:
            kinds.setdefault(tuple(draw.fault.split()[:4]), []).append(draw)
    return dict(sorted(kinds.items(), key=lambda kind: -len(kind[1])))


def example(draw: Draw, hidden: bool) -> str:
    """One draw, step by step."""
    text = draw.x + draw.y[-1:]
    kinds = [""] * len(text)
    steps = [("The document", escape(draw.document))]
    if draw.parts:
        prefix, masked, suffix = draw.parts
        kept = prefix + masked + suffix
        split = ["prefix"] * len(prefix) + ["masked"] * len(masked) + ["suffix"] * len(suffix)
        whole = ["prefix"] * len(prefix) + [""] + ["suffix"] * len(suffix) + [""]
        kinds = [*whole, *["masked"] * len(masked), *kinds][: len(text)]
        if draw.document.startswith(kept):
            cut = draw.document[len(kept) :]
            says = f"1. Truncate: {len(kept)} of {len(draw.document)} characters"
            steps = [(says, escape(kept) + (cut and f"<s>{escape(cut)}</s>"))]
        says = f"2. Split: prefix, masked content (here {len(masked)} of {len(kept)}), suffix"
        steps.append((says, paint(kept, split)))
    steps.append(("3. Rearrange, with MASKs and PADs", paint(text, kinds)))
    terms = "".join(f'<dt>{says}</dt><dd class="cells">{html}</dd>\n' for says, html in steps)
    shifted = kinds[1:] if draw.x[1:] == draw.y[:-1] else [""] * len(draw.y)
    rows = f"x  {paint(draw.x, kinds)}\ny  {paint(draw.y, shifted)}"
    wrong = draw.fault.replace(repr(MASK), "MASK").replace(repr(PAD), "PAD")
    wrong = wrong and f'<p class="fault">{escape(wrong)}</p>\n'
    return f"""<div class="example"{" hidden" * hidden}>
{wrong}<dl>
{terms}<dt>4. Shift by one: after x[0], ..., x[i], predict y[i]</dt>
<dd class="rows">{scroll(f'<div class="cells">{rows}</div>', "x and y")}</dd>
</dl>
</div>"""


def paint(text: str, kinds: list[str]) -> str:
    """Characters as HTML, those of one kind together."""
    result = ""
    for kind, run in groupby(zip(text, kinds), key=lambda pair: pair[1]):
        html = characters(ch for ch, _ in run)
        result += f'<span class="{kind}">{html}</span>' if kind else html
    return result


def lengths(draws: list[Draw], block_size: int) -> str:
    """The histogram of truncated lengths, beside equally likely ones."""
    ranges = [lengths_asked(draw.document, block_size) for draw in draws]
    low, high = min(each[0] for each in ranges), max(each[-1] for each in ranges)
    size = max(1, (high - low + 1) // 9)  # lengths in a bar
    edges = [*range(low, high + 1, size), high + 1]
    expected = Counter()
    for each in ranges:
        for length in each:
            expected[length] += 1 / len(each)
    found = Counter(draw.length for draw in draws)
    never = [f"{each}" for each in range(low, high + 1) if expected[each] > 15 and not found[each]]
    outside = sum(count for length, count in found.items() if not low <= length <= high)
    says = (
        f"Truncated length: from {min(found)} to {max(found)}, mean {mean(found.elements()):.1f}."
    )
    says += f" Never: {', '.join(never[:5])}{'...' * (len(never) > 5)}." if never else ""
    says += f" Beyond the plot: {outside}." if outside else ""
    middle = mean(expected[each] * each * len(expected) / len(draws) for each in expected)
    says += f" Asked: from {low} to {high}, all equally likely, mean {middle:.1f}."
    bins = [sum(found[i] for i in range(*ends)) for ends in pairwise(edges)]
    asked = [sum(expected[i] for i in range(*ends)) for ends in pairwise(edges)]
    return histogram(edges, bins, asked, "truncated length", says)


def shares(draws: list[Draw], block_size: int) -> str:
    """The histogram of the share that is masked, with the mean that is asked for."""
    values = [len(draw.parts[1]) / max(1, draw.length) for draw in draws]
    ordered = sorted(draws, key=lambda draw: draw.length)
    third = len(draws) // 3
    of = (
        [
            mean(len(draw.parts[1]) / max(1, draw.length) for draw in part)
            for part in (ordered[:third], ordered[-third:])
        ]
        if third
        else []
    )
    says = f"Masked share: mean {mean(values):.3f}"
    says += f" (of the shortest third {of[0]:.3f}, of the longest {of[1]:.3f})" if of else ""
    says += ". Asked: on average 0.25, whatever the length; the form of the histogram is free."
    edges = [i / 20 for i in range(21)]
    bins = [0] * 20
    for value in values:
        bins[min(19, int(20 * value + 1e-9))] += 1
    return histogram(edges, bins, None, "masked share", says, 0.25)


def starts(draws: list[Draw], block_size: int) -> str:
    """The histogram of where the span starts: 0 is the first place, 1 the last possible one."""
    bins, asked = [0] * 10, [0.0] * 10
    for draw in draws:
        if last := draw.length - len(draw.parts[1]):
            bins[min(9, 10 * len(draw.parts[0]) // last)] += 1
            for start in range(last + 1):
                asked[min(9, 10 * start // last)] += 1 / (last + 1)
    says = (
        "Start of the span, from 0 (the first character) to 1 (as late as possible). Asked: "
        "random; the line is for starts that are all equally likely."
    )
    return histogram([i / 10 for i in range(11)], bins, asked, "start", says)


def histogram(edges, bins, asked, title: str, says: str, level: float | None = None) -> str:
    """Bars of counts between edges; asked: expected counts, as a dashed line; level: an expected
    mean, as an upright one.
    """
    most = max([*bins, *(asked or ())])
    across = Axis(round_numbers(edges[0], edges[-1]), title, last=edges[-1])
    if across.ticks[0] != edges[0]:
        across = Axis(
            [edges[0], *(tick for tick in across.ticks if tick > edges[0])], title, last=edges[-1]
        )
    plot = Plot(320, (44, 22, 308, 156), across, Axis(round_numbers(0, most, 4)))
    for ends, count in zip(pairwise(edges), bins):
        plot.bar(ends, (0, count), title=f"{ends[0]:g} to {ends[1]:g}: {count}")
    if asked:
        places = [(x, y) for ends, y in zip(pairwise(edges), asked) for x in ends]
        plot.line(places, "asked")
        plot.text(plot.right, plot.top - 9, "line: expected counts", "named end")
    if level is not None:
        plot.upright(level, "asked")
        plot.text(plot.x(level), plot.top - 9, f"asked: mean {level:g}", "named")
    return figure(plot.svg(f"Histogram. {says}"), says)
