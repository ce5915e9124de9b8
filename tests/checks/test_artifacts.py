"""Predictions earn points only as far as the submitted weights and code reproduce them."""

import re
import shutil

import pytest
import torch

from proof import MANIFEST, grade_folder, start_process

from autograder import Verdict
from checks.support.context import DATA
from conftest import copy_reference, require_level

DEV = "1h-8-basic"
CODED = sum(check.points for check in MANIFEST.checks.values() if check.coded)
QUESTIONS = [
    line.split("\t")
    for line in (DATA / "laptop" / "birth_dev.tsv").read_text(encoding="utf-8").splitlines()
]


@pytest.fixture
def folder(tmp_path):
    """A copy of the reference with its results."""
    return copy_reference(tmp_path / "submission")


@pytest.fixture
def outcome(process, folder):
    """A function that grades one check of the folder: (id) -> Outcome."""
    return lambda id: grade_folder(process, folder, [id], artifacts=True).outcomes[id]


def edit(path, change):
    """Change a file of predictions as a list of lines."""
    path.write_text(
        "".join(line + "\n" for line in change(path.read_text(encoding="utf-8").splitlines())),
        encoding="utf-8",
    )


# test_grader.py grades it behind the strongest
@pytest.mark.full
@pytest.mark.parametrize("level", [pytest.param("landlock", marks=pytest.mark.landlock), "limits"])
def test_the_reference_is_graded_in_full(folder, level):
    """Isolation doesn't break correct code."""
    require_level(level)
    with start_process(level) as process:
        report = grade_folder(process, folder, artifacts=True)
    assert report.passed and report.score == report.max_score == CODED, [
        (o.id, o.details) for o in report.outcomes.values() if o.details
    ]


@pytest.mark.parametrize("name", ["rope.finetune.params", "rope.pretrain.dev.predictions"])
def test_a_missing_file(folder, outcome, name):
    (folder / name).unlink()
    result = outcome(DEV)
    assert (
        result.verdict is Verdict.NOT_IMPLEMENTED
        and f"{name} doesn't exist yet. ./run.sh rope_" in result.message
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[:-1], "has 99 lines; there are 100 (laptop) or 500 (gpu) questions"),
        (lambda lines: lines + [""], "has 101 lines"),
        (
            lambda lines: ["London"] * 100,
            "5 of 100 predictions are right, 5.0%; at least 20.0% should be.",
        ),
        (
            lambda lines: [place for _, place in QUESTIONS],
            "differ from what rope.finetune.params answers with your code. The first is in line",
        ),
        (lambda lines: lines[1:] + lines[:1], "at least 20.0%"),
        # Right answers in place of some wrong ones: every right claim is checked.
        (
            lambda lines: [QUESTIONS[i][1] if i % 2 else line for i, line in enumerate(lines)],
            "differ from what",
        ),
    ],
)
def test_claims_that_the_weights_do_not_bear_out(folder, outcome, change, message):
    edit(folder / "rope.pretrain.dev.predictions", change)
    result = outcome(DEV)
    assert (
        result.verdict is Verdict.WRONG_ANSWER and result.score == 0 and message in result.message
    )
    # pages draw it as a result
    assert "accuracy rope.pretrain.dev" not in result.facts


def test_predictions_in_other_encodings(folder, outcome):
    path = folder / "rope.pretrain.dev.predictions"
    text = path.read_text(encoding="utf-8")
    # as Windows may
    path.write_bytes(("\ufeff" + text.removesuffix("\n").replace("\n", "\r\n")).encode())
    assert outcome(DEV).verdict is Verdict.PASSED
    path.write_bytes(text.encode() + b"\xff")
    assert "line 101: byte 0xff is not UTF-8" in outcome(DEV).message


def save(folder, state):
    torch.save(state, folder / "rope.finetune.params")


def test_weights_of_the_other_model(folder, outcome):
    shutil.copy(folder / "vanilla.finetune.params", folder / "rope.finetune.params")
    shutil.copy(
        folder / "vanilla.pretrain.dev.predictions", folder / "rope.pretrain.dev.predictions"
    )
    assert "is identical to vanilla.pretrain.dev.predictions" in outcome(DEV).message
    edit(folder / "rope.pretrain.dev.predictions", lambda lines: ["Rome", *lines[1:]])
    assert (
        "holds the weights of a model with learned positions; it should have RoPE"
        in outcome(DEV).message
    )


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (
            lambda folder: save(folder, {"tok_emb.weight": torch.ones(3, 4)}),
            "doesn't fit the model that your code creates for the preset laptop",
        ),
        (lambda folder: save(folder, [1, 2]), "not a state_dict but a list"),
        (
            lambda folder: save(
                folder,
                {
                    name: value * float("nan") if value.is_floating_point() else value
                    for name, value in torch.load(
                        folder / "rope.finetune.params", weights_only=True
                    ).items()
                },
            ),
            "NaN",
        ),
    ],
)
def test_weights_that_are_none(folder, outcome, spoil, message):
    spoil(folder)
    result = outcome(DEV)
    assert result.verdict is Verdict.WRONG_ANSWER and message in result.message


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
INSTEAD = {  # what people hand in instead of weights -> what they read
    "prefix of torch.compile": (
        lambda state: {f"_orig_mod.{name}": value for name, value in state.items()},
        "All names in it begin with '_orig_mod.', which torch.compile puts before them. Save "
        "model._orig_mod.state_dict() instead.",
    ),
    "prefix of DataParallel": (
        lambda state: {f"module.{name}": value for name, value in state.items()},
        "begin with 'module.', which DataParallel or DistributedDataParallel puts",
    ),
    "prefix of both": (
        lambda state: {f"module._orig_mod.{name}": value for name, value in state.items()},
        "DataParallel or DistributedDataParallel and torch.compile puts before them. Save "
        "model.module._orig_mod.state_dict() instead.",
    ),
    "prefix of another": (
        lambda state: {f"model.{name}": value for name, value in state.items()},
        "begin with 'model.', which a module around the model puts before them.",
    ),
    "numbers as names": (
        lambda state: dict(enumerate(state.values())),
        "It is not a state_dict, a dict of tensors.",
    ),
    "no values": (
        lambda state: {name: value.to("meta") for name, value in state.items()},
        "is sparse, has no values, or has more than 100 million numbers.",
    ),
    "empty dict": (lambda state: {}, "It is an empty dict."),
    "checkpoint": (
        lambda state: {"model": state, "optimizer": {}, "epoch": 3},
        "It is a checkpoint, a dict with 'epoch', 'model', 'optimizer'.",
    ),
    "whole model": (lambda state: torch.nn.Linear(2, 2), "It is a whole Python object"),
    "pointer": (LFS, "It is a pointer of Git LFS"),
    "page": (b"\n<!DOCTYPE html><html><title>Sign in</title>", "It is a web page"),
    "safetensors": (b"\x40" + bytes(7) + b'{"tok_emb.weight":{"dtype":"F32"', "safetensors file"),
    "nothing": (b"", "It is empty: 0 bytes."),
    "text": (b"no weights", "It is damaged, or was not written by torch.save."),
}


@pytest.mark.parametrize("name", INSTEAD)
def test_what_is_handed_in_instead_of_weights_is_named(folder, outcome, name):
    made, message = INSTEAD[name]
    path = folder / "rope.finetune.params"
    if isinstance(made, bytes):
        path.write_bytes(made)
    else:
        save(folder, made(torch.load(path, weights_only=True)))
    told = outcome(DEV).message
    assert "rope.finetune.params is not a usable weights file. " in told and message in told
    assert "./run.sh rope_finetune_with_pretrain creates it again." in told
    assert "weights_only" not in told and "\x1b" not in told, "torch's own advice would be wrong"


@pytest.mark.parametrize("content", [LFS, b"<!DOCTYPE html>\n" * 100])
def test_what_is_handed_in_instead_of_predictions_is_named(folder, outcome, content):
    (folder / "rope.pretrain.dev.predictions").write_bytes(content)
    told = outcome(DEV).message
    assert re.match(r"rope\.pretrain\.dev\.predictions: It is a (pointer of Git|web page)", told)


def test_code_that_changed_after_the_weights(folder, outcome):
    path = folder / "attention.py"
    path.write_text(
        path.read_text(encoding="utf-8").replace("a * cos - b * sin", "a * cos + b * sin"),
        encoding="utf-8",
    )
    assert "differ from what rope.finetune.params answers with your code" in outcome(DEV).message


def test_the_larger_sample_and_the_test_answers_are_the_instructors(folder, outcome):
    edit(folder / "rope.pretrain.test.predictions", lambda lines: lines[::-1])
    assert outcome("1h-0-hidden").verdict is Verdict.PASSED
    result = outcome("1h-1-hidden")
    assert (
        result.verdict is Verdict.WRONG_ANSWER
        and result.message.startswith("Hidden check:")
        and "at least" in result.details
    )
    edit(
        folder / "rope.pretrain.dev.predictions",
        lambda lines: [
            "Atlantis" if line != place else line for line, (_, place) in zip(lines, QUESTIONS)
        ],
    )
    assert "differ from what" in outcome("1h-0-hidden").details  # the wrong answers are claims, too
