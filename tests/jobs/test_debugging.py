"""The set-ups of question 6e, cut to a fraction: without fixes, with all, and with wrong ones."""

import math
import re

import pytest
import torch

import run
from common.files import UserError
from helpers import SOLUTION, STARTER, Page, call
from instructor.mistakes.patches import Edit
from jobs.package import load_submission
from jobs.problem6 import exploding, repetition, slow

FIXES = "problem6/fixes.py"
CASES = {
    "debug_exploding": exploding.run,
    "debug_repetition": repetition.run,
    "debug_slow": slow.run,
}
NEEDS = {
    "debug_exploding": "attention_scores clip_gradients",
    "debug_slow": "PreNormStack init_depth_scaled",
    "debug_repetition": "apply_temperature top_k_filter top_p_filter repetition_penalty "
    "no_repeat_ngrams generate",
}
# a missing fix, and what is then shown and what is not
SOME = [
    ("debug_exploding", "clip_gradients", "attention_scores alone", "both"),
    ("debug_slow", "init_depth_scaled", "PreNormStack alone", "PreNormStack and init"),
    ("debug_repetition", "no_repeat_ngrams", "penalty 1.2", "4-gram twice"),
]


def shrink(monkeypatch):
    for module, values in (
        (exploding, {"D_K": 32, "STEPS": 12, "SHOWN": (1, 12)}),
        (repetition, {"STEPS": 30, "SENTENCES": 300}),
        (slow, {"N_LAYER": 2, "STEPS": 12, "SHOWN": (10, 12)}),
    ):
        for name, value in values.items():
            monkeypatch.setattr(module, name, value)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    shrink(monkeypatch)


@pytest.fixture
def fixes():
    return load_submission(SOLUTION, FIXES)


@pytest.mark.parametrize(("target", "words"), [(target, words) for target, *_, words in SOME])
def test_with_all_fixes(fixes, capsys, target, words):
    sections = CASES[target](fixes, 0)
    first = capsys.readouterr().out
    assert "The loss in nats. At the end: " in Page("".join(sections.values())).text
    assert "Missing in fixes.py:\n  nothing\n" in first
    assert "as it was" in first and words in first
    torch.rand(5)  # whatever was drawn before
    CASES[target](fixes, 0)
    assert capsys.readouterr().out == first
    CASES[target](fixes, 1)
    assert capsys.readouterr().out != first


@pytest.mark.parametrize("target", CASES)
def test_the_starter_sees_the_symptom_and_what_is_missing(capsys, target):
    CASES[target](load_submission(STARTER, FIXES), 0)
    printed = capsys.readouterr().out
    for name in NEEDS[target].split():
        assert re.search(rf"  {name}: .+fixes.py, line \d+\n", printed), name
    assert "as it was" in printed and "nothing\n" not in printed and "both" not in printed


@pytest.mark.parametrize(("target", "missing", "shown", "hidden"), SOME)
def test_some_fixes_give_some_columns(fixes, capsys, monkeypatch, target, missing, shown, hidden):
    """What torch lacks is no missing fix, but an error."""

    def stub(*args, **options):
        raise NotImplementedError(message)

    monkeypatch.setattr(fixes, missing, stub)
    message = "6e: a_stub"
    CASES[target](fixes, 0)
    printed = capsys.readouterr().out
    assert f"  {missing}: " in printed and shown in printed and hidden not in printed
    message = "torch lacks this operator"
    with pytest.raises(NotImplementedError, match="operator"):
        CASES[target](fixes, 0)


NONSENSE = [
    ("debug_exploding", "attention_scores", torch.full((2, 3, 4), math.nan)),
    ("debug_exploding", "clip_gradients", torch.tensor(5.0)),
    ("debug_repetition", "repetition_penalty", torch.ones(5, dtype=torch.int64)),
    ("debug_slow", "PreNormStack", lambda x: None),
]


@pytest.mark.parametrize(("target", "name", "result"), NONSENSE)
def test_nonsense_is_a_sentence(fixes, monkeypatch, target, name, result):
    monkeypatch.setattr(fixes, name, lambda *args, **options: result)
    with pytest.raises(UserError, match=f"{name} of fixes.py returned .*It should return"):
        CASES[target](fixes, 0)


WINDOW = "x[:, -model.get_block_size() :]"
TOO_LONG = "in generate:\n .*\nValueError: the model reads at most"
WRONG = "in attention_scores:\n    scores = q @ k / .*\nRuntimeError: "
ERRORS = [
    ("debug_exploding", "q @ k.transpose(-2, -1)", "q @ k", WRONG),
    ("debug_repetition", WINDOW, "x", TOO_LONG),
    ("debug_slow", "class PreNormStack(", "class PreNorm(", "has no PreNormStack"),
]


@pytest.mark.parametrize(("target", "old", "new", "words"), ERRORS)
def test_an_error_in_fixes_is_a_sentence_with_its_place(code, target, old, new, words):
    process = call(run.main, target, "--submission", code(Edit("fixes.py", old, new)))
    assert process.returncode == 2 and re.search(words, process.stderr)
