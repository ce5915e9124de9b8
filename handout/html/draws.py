"""Draws of the reference's span corruption, under the figure that explains it: what
./run.sh show_corruption shows of a student's.
"""

import functools
import re

from common.charts import SHAPES
from common.files import read_text
from instructor import ROOT
from instructor.datasets.worlds.world import name_in
from jobs.package import load_submission, seed_everything
from jobs.problem1.corruption.draws import read_draw
from jobs.problem1.corruption.page import BLOCK_SIZE, CSS, DRAWS, SCRIPT, corpus, fragment

FIGURE = re.compile('<figure[^>]*id="fig-span_corruption".*?</figure>', re.DOTALL)
TITLE = f"Try it: {DRAWS:,} draws of our solution"


QUESTIONS = ROOT / "data" / "birth_test_inputs.tsv"


def with_draws(page: str) -> str:
    """The page with the draws, their style and their script, if it has the figure."""
    figure = FIGURE.search(page)
    if not figure:
        return page
    seed_everything(0)
    solution = load_submission(ROOT / "instructor" / "solution")
    dataset, numbers = corpus(solution.CharCorruptionDataset, ROOT / "data")
    numbers = [i for i in numbers if not _about_test(dataset.data[i])]
    draws = [read_draw(dataset, numbers[i % len(numbers)]) for i in range(DRAWS)]
    box = f"""
<section class="dial" aria-label="{TITLE}">
<p class="legend">{TITLE}</p>
{fragment(draws, BLOCK_SIZE)}
</section>"""
    page = page[: figure.end()] + box + page[figure.end() :]
    page = page.replace("</style>", f"{SHAPES}{CSS}</style>", 1)
    return page.replace("</script>", f"{SCRIPT}</script>", 1)


@functools.cache
def _people():
    """The names of the test questions, whose places the handout must not tell."""
    return [name_in(question) for question in read_text(QUESTIONS).splitlines()]


def _about_test(document):
    return any(name in document for name in _people())
