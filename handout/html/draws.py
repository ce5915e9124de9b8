"""Draws of the reference's span corruption, under the figure that explains it: what
./run.sh show_corruption shows of a student's.
"""

import re

from common.charts import SHAPES
from instructor import ROOT
from jobs.package import load_submission, seed_everything
from jobs.problem1.corruption import read_draw
from jobs.problem1.corruption_page import BLOCK_SIZE, CSS, DRAWS, SCRIPT, corpus, fragment

FIGURE = re.compile('<figure[^>]*id="fig-span_corruption".*?</figure>', re.DOTALL)
TITLE = f"Try it: {DRAWS:,} draws of our solution"


def with_draws(page: str) -> str:
    """The page with the draws, their style and their script, if it has the figure."""
    figure = FIGURE.search(page)
    if not figure:
        return page
    seed_everything(0)
    solution = load_submission(ROOT / "instructor" / "solution")
    dataset, numbers = corpus(solution.CharCorruptionDataset, ROOT / "data")
    draws = [read_draw(dataset, numbers[i % len(numbers)]) for i in range(DRAWS)]
    box = f"""
<section class="dial" aria-label="{TITLE}">
<p class="legend">{TITLE}</p>
{fragment(draws, BLOCK_SIZE)}
</section>"""
    page = page[: figure.end()] + box + page[figure.end() :]
    page = page.replace("</style>", f"{SHAPES}{CSS}</style>", 1)
    return page.replace("</script>", f"{SCRIPT}</script>", 1)
