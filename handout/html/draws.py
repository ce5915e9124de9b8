"""Draws of the reference's span corruption, under the figure that explains it: what
./run.sh show_corruption shows of a student's.
"""

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


def with_draws(page: str) -> str:
    """The page with the draws, their style and their script, if it has the figure."""
    figure = FIGURE.search(page)
    if not figure:
        return page
    seed_everything(0)
    solution = load_submission(ROOT / "instructor" / "solution")
    dataset, numbers = corpus(solution.CharCorruptionDataset, ROOT / "data")
    # not of people of the test questions, whose places the handout must not tell
    questions = read_text(ROOT / "data" / "birth_test_inputs.tsv").splitlines()
    secret = [name_in(question) for question in questions]
    numbers = [i for i in numbers if not any(name in dataset.data[i] for name in secret)]
    draws = [read_draw(dataset, numbers[i % len(numbers)]) for i in range(DRAWS)]
    box = f"""
<section class="dial" aria-label="{TITLE}">
<p class="legend">{TITLE}</p>
{fragment(draws, BLOCK_SIZE)}
</section>"""
    page = page[: figure.end()] + box + page[figure.end() :]
    page = page.replace("</style>", f"{SHAPES}{CSS}</style>", 1)
    return page.replace("</script>", f"{SCRIPT}</script>", 1)
