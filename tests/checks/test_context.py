"""Where checks look for data and answers."""

from pathlib import Path

import pytest

from checks.support.context import DATA, EXERCISES, GOLD_EXERCISES, Context
from common.files import UserError
from helpers import ROOT


@pytest.fixture
def world(tmp_path):
    """A cohort's folders data and gold, with one preset's corpus and nothing of problem 5 yet."""
    for folder in ("data/laptop", "gold/laptop"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("wiki.txt", "birth_dev.tsv"):
        (tmp_path / "data" / "laptop" / name).write_text("Where was A born?\tB\n", encoding="utf-8")
    return tmp_path


def put(folder, name):
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).touch()
    return folder / name


def test_our_own_are_the_default():
    context = Context(ROOT, None, None, ROOT / "instructor" / "gold", {})
    assert [context.path(name) for name in EXERCISES] == [DATA / name for name in EXERCISES]
    assert all(context.path(name).is_file() for name in EXERCISES) and all(
        context.gold_path(name).is_file() for name in GOLD_EXERCISES
    )


@pytest.mark.parametrize("name", [*EXERCISES, *GOLD_EXERCISES])
def test_a_cohorts_lie_in_the_folder_given_or_above_it(world, monkeypatch, name):
    kind = "data" if name in EXERCISES else "gold"
    folder = world / kind

    def find(given):
        folders = {"data": None, "gold": None, kind: given}
        context = Context(ROOT, "laptop", *folders.values(), {})
        return context.path(name) if kind == "data" else context.gold_path(name)

    # not replaced by ours
    message = f"{name} is neither in .*laptop nor above it. Check --{kind}"
    with pytest.raises(UserError, match=message):
        find(folder / "laptop")
    above = put(folder, name)
    assert find(folder / "laptop") == above
    monkeypatch.chdir(folder / "laptop")
    assert find(Path()).samefile(above) and find(Path("../laptop")).samefile(above)
    beside = put(folder / "laptop", name)
    assert find(folder / "laptop") == beside


def test_without_answers_it_says_which_option_gives_them():
    with pytest.raises(
        UserError, match=f"{GOLD_EXERCISES[0]} is missing. Give its folder: --gold DIR"
    ):
        Context(ROOT, None, None, None, {}).gold_path(GOLD_EXERCISES[0])
