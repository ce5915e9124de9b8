"""The three set-ups of question 6e: what they show of a submission without fixes, with all of them,
and with wrong ones.

The trainings are cut to a fraction here.
"""

import math
import re
import shutil

import pytest
import torch

from browser import SIZES, opened, sideways, smallest_text, violations
from common.files import UserError
from conftest import SOLUTION, STARTER, run_cli
from jobs.package import load_module
from jobs.problem6 import exploding, repetition, slow
from jobs.problem6.broken_training import mean_at, write_page
from jobs.targets import SMALL
from page import Page

CASES = {
    "debug_exploding": exploding.run,
    "debug_repetition": repetition.run,
    "debug_slow": slow.run,
}
FIXES = "problem6/fixes.py"

NEEDS = {
    "debug_exploding": ("attention_scores", "clip_gradients"),
    "debug_slow": ("PreNormStack", "init_depth_scaled"),
    "debug_repetition": (
        "apply_temperature",
        "top_k_filter",
        "top_p_filter",
        "repetition_penalty",
        "no_repeat_ngrams",
        "generate",
    ),
}


@pytest.fixture
def small(monkeypatch):
    """The set-ups at a fraction of their size."""
    for module, values in (
        (exploding, {"D_K": 32, "STEPS": 12, "SHOWN": (1, 12)}),
        (repetition, {"STEPS": 30, "SENTENCES": 300}),
        (slow, {"N_LAYER": 2, "STEPS": 12, "SHOWN": (10, 12)}),
    ):
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)


@pytest.fixture
def fixes():
    return load_module(SOLUTION, FIXES)


@pytest.mark.parametrize("target", CASES)
def test_with_all_fixes(small, fixes, capsys, target):
    sections = CASES[target](fixes, 0)
    first = capsys.readouterr().out
    page = Page("".join(sections.values()))
    lines = [attrs.get("style", "") for _, attrs in page.tags if attrs.get("class") == "line"]
    # each has its own dashes, in the plot and in the legend
    count = {"debug_exploding": 4, "debug_slow": 2, "debug_repetition": 1}[target]
    assert len(lines) == 2 * count and len({line[line.find("dash") :] for line in lines}) == count
    assert "The loss in nats. At the end: " in page.text
    assert re.search(r"Missing in fixes.py:\n  nothing\n", first) and "as it was" in first
    for words in {
        "debug_exploding": ["both", "clip_gradients alone"],
        "debug_slow": ["PreNormStack and init_depth_scaled"],
        "debug_repetition": list(repetition.WAYS),
    }[target]:
        assert words in first
    torch.rand(5)  # whatever was drawn before
    CASES[target](fixes, 0)
    assert capsys.readouterr().out == first
    CASES[target](fixes, 1)
    assert capsys.readouterr().out != first


@pytest.mark.parametrize("target", CASES)
def test_the_starter_sees_the_symptom_and_what_is_missing(small, capsys, target):
    CASES[target](load_module(STARTER, FIXES), 0)
    printed = capsys.readouterr().out
    for name in NEEDS[target]:
        assert re.search(rf"  {name}: .+fixes.py, line \d+\n", printed), name
    assert "as it was" in printed and "nothing\n" not in printed and "both" not in printed
    if target == "debug_repetition":
        assert "temperature" not in printed.split("Its loss is fine")[1]


def test_some_fixes_give_some_columns(small, fixes, capsys, monkeypatch):
    def stub(*args, **options):
        raise NotImplementedError("6e: a_stub")

    monkeypatch.setattr(fixes, "clip_gradients", stub)
    CASES["debug_exploding"](fixes, 0)
    printed = capsys.readouterr().out
    assert (
        "  clip_gradients: " in printed
        and "attention_scores alone" in printed
        and "both" not in printed
    )
    monkeypatch.setattr(fixes, "init_depth_scaled", stub)
    CASES["debug_slow"](fixes, 0)
    assert "PreNormStack alone" in capsys.readouterr().out
    monkeypatch.setattr(fixes, "no_repeat_ngrams", stub)
    CASES["debug_repetition"](fixes, 0)
    printed = capsys.readouterr().out
    assert "penalty 1.2" in printed and "4-gram twice" not in printed


@pytest.mark.parametrize(
    ("target", "name", "result"),
    [
        ("debug_exploding", "attention_scores", None),
        ("debug_exploding", "attention_scores", torch.ones(3)),
        ("debug_exploding", "attention_scores", torch.full((2, 3, 4), math.nan)),
        ("debug_exploding", "clip_gradients", torch.tensor(5.0)),
        ("debug_repetition", "top_p_filter", None),
        ("debug_repetition", "repetition_penalty", torch.ones(5, dtype=torch.int64)),
        ("debug_repetition", "generate", torch.ones(1, 3)),
        ("debug_slow", "PreNormStack", lambda x: None),
    ],
)
def test_nonsense_is_a_sentence(small, fixes, monkeypatch, target, name, result):
    monkeypatch.setattr(fixes, name, lambda *args, **options: result)
    with pytest.raises(UserError, match=f"{name} of fixes.py returned .*It should return"):
        CASES[target](fixes, 0)


def test_a_text_of_the_wrong_length_is_a_sentence(small, fixes, monkeypatch):
    def two_more(model, x, steps, **options):
        return torch.ones(1, x.size(1) + (1 if steps == 1 else 2), dtype=torch.int64)

    monkeypatch.setattr(fixes, "generate", two_more)
    with pytest.raises(UserError, match="generate of fixes.py returned a tensor of shape"):
        CASES["debug_repetition"](fixes, 0)


@pytest.mark.parametrize(
    ("target", "old", "new", "words"),
    [
        (
            "debug_exploding",
            "q @ k.transpose(-2, -1)",
            "q @ k",
            "in attention_scores:\n    scores = q @ k / .*\nRuntimeError: ",
        ),
        (
            "debug_repetition",
            "x[:, -model.get_block_size() :]",
            "x",
            "in generate:\n .*\nValueError: the model reads at most",
        ),
        (
            "debug_slow",
            "nn.Linear)][-1:])",
            "nn.Linear)][-1])",
            "in init_depth_scaled:\n .*\nTypeError: ",
        ),
        ("debug_slow", "class PreNormStack", "class PreNorm", "has no PreNormStack"),
    ],
)
def test_an_error_in_fixes_is_a_sentence_with_its_place(small, tmp_path, target, old, new, words):
    shutil.copytree(SOLUTION, tmp_path / "mine")
    path = tmp_path / "mine" / "problem6" / "fixes.py"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    with pytest.raises(UserError, match=words):
        CASES[target](load_module(tmp_path / "mine", FIXES), 0)


def test_the_verdicts_are_read_off_the_numbers():
    nan, steps = float("nan"), exploding.STEPS
    broken, stuck, falls = [4.0, 9.0, 156.3, nan], [2.6] * steps, [1.5] * steps
    assert "rises to 156 and is not a number after 3 steps" in exploding.verdict(
        {"as it was": broken}
    )
    runs = {"as it was": broken, "attention_scores alone": broken, "clip_gradients alone": stuck}
    assert "Scaling alone still explodes" in exploding.verdict(runs)
    assert "it trains to 1.50" in exploding.verdict({**runs, "both": falls})
    assert "Look at attention_scores" in exploding.verdict({**runs, "both": stuck})
    assert "Look at clip_gradients" in exploding.verdict(
        {**runs, "clip_gradients alone": broken, "both": broken}
    )
    assert "still falling" in slow.verdict({"as it was": 3.18, "yours": 2.0}, 3.2)
    assert "Look at the residual path" in slow.verdict({"as it was": 3.18, "yours": 3.1}, 3.2)
    greedy = {"corpus": 0.04, "greedy": 0.8}
    assert "15%" in repetition.verdict({**greedy, repetition.SAMPLED: 0.15, "no 4-gram twice": 0.0})
    assert "Look at the draw" in repetition.verdict({**greedy, repetition.SAMPLED: 0.8})
    assert "Look at no_repeat_ngrams" in repetition.verdict(
        {**greedy, repetition.SAMPLED: 0.1, "no 4-gram twice": 0.2}
    )
    assert mean_at([1.0, 2.0, 3.0], 2) == 1.5 and mean_at([1.0], 2) != mean_at([1.0], 2)


def test_on_the_command_line(tmp_path):
    """A folder without fixes.py, and options that make no difference."""
    shutil.copytree(SOLUTION, tmp_path / "mine")
    (tmp_path / "mine" / "problem6" / "fixes.py").rename(tmp_path / "mine" / "fixes copy.py")
    process = run_cli(
        "debug_slow", "--submission", tmp_path / "mine", "--out", tmp_path, "--preset", "gpu"
    )
    assert "--preset makes no difference" in process.stdout
    assert (
        process.returncode == 2
        and "has no problem6/fixes.py, which this job needs; there is 'fixes copy.py': rename it."
        in process.stderr
        and "Traceback" not in process.stderr
    )


@pytest.mark.full
def test_the_page_in_a_browser(small, fixes, browser, tmp_path):
    for name, run in CASES.items():
        write_page(SMALL[name], 0, run(fixes, 0), tmp_path)
        for size in SIZES:
            for scheme in ("light", "dark"):
                with opened(browser, tmp_path / f"{name}.html", size, scheme) as tab:
                    assert violations(tab) == [] and sideways(tab) <= 0
                    assert smallest_text(tab) >= 9.4
