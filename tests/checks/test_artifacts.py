"""Predictions earn points only as far as the submitted weights and code reproduce them, weights
only as far as they answer.
"""

import contextlib
import dataclasses
import functools
import shutil
from pathlib import Path

import pytest
import torch

import proof
from proof import MANIFEST, grade_folder, start_process

from autograder import Verdict, WrongAnswer
from checks.problem1 import artifacts
from checks.problem1.random_texts import vocabulary
from checks.support.context import DATA
from helpers import RESULTS, ROOT, SOLUTION, copy_reference, require_level
from instructor.checks.problem5.q5g_weights import read_sentences
from instructor.checks.problem5.q5g_weights import vocabulary as occupations_vocabulary
from instructor.datasets.worlds.exercises import GROUPS
from jobs.presets import PRESETS
from jobs.targets import JOBS

DEV, ENCODER = "1h-8-basic", "5g-4-hidden"
CODED = sum(check.points for check in MANIFEST.checks.values() if check.coded)
LAPTOP = DATA / "laptop"
CORPUS = (LAPTOP / "wiki.txt").read_text(encoding="utf-8")


def rows_of(path):
    """Questions and places."""
    return [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]


QUESTIONS = rows_of(LAPTOP / "birth_dev.tsv")
PLACES = [place for _, place in QUESTIONS]


@pytest.fixture
def folder(tmp_path):
    """A copy of the reference with its results."""
    return copy_reference(tmp_path / "submission")


@pytest.fixture
def outcome(process, folder):
    """A function that grades one check of the folder: (id) -> Outcome."""
    return lambda id: grade_folder(process, folder, [id], artifacts=True).outcomes[id]


def edit(path, change):
    """Replace a file by bytes, or by what `change` makes of its weights, lines, or code."""
    if isinstance(change, bytes):
        path.write_bytes(change)
    elif path.suffix == ".params":
        torch.save(change(torch.load(path, weights_only=True)), path)
    elif path.suffix == ".py":
        path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        lines = change(path.read_text(encoding="utf-8").splitlines())
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


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


def mostly_full(*rows):
    """Rows of a table, of which every third is tried by default."""
    marks = [() if number % 3 == 0 else pytest.mark.full for number in range(len(rows))]
    return [pytest.param(*row, marks=mark) for row, mark in zip(rows, marks)]


def each(change):
    return lambda state: {name: change(x) for name, x in state.items()}


def without(part):
    return lambda state: {name: x for name, x in state.items() if part not in name}


def named(prefix):
    """Weights of a model that something was put around."""
    return lambda state: {prefix + name: x for name, x in state.items()}


redrawn = each(lambda x: torch.randn_like(x) if x.dim() > 1 else x)
with_nan = each(lambda x: x * float("nan") if x.is_floating_point() else x)
CLAIMS, WEIGHTS = "rope.pretrain.dev.predictions", "rope.finetune.params"
BAD = [
    (CLAIMS, lambda lines: lines[:-1], "has 99 lines; there are 100 (laptop) or 500 (gpu)"),
    (CLAIMS, lambda lines: [*lines, ""], "has 101 lines"),
    (
        CLAIMS,
        lambda lines: ["London"] * 100,
        "5 of 100 predictions in rope.pretrain.dev.predictions are right, 5.0%; at least 20.0",
    ),
    (CLAIMS, lambda lines: PLACES, f"differ from what {WEIGHTS} answers with our code. The fir"),
    # right answers in place of some wrong ones: every right claim is checked
    (CLAIMS, lambda lines: [*PLACES[:50], *lines[50:]], "differ"),
    (CLAIMS, b"version https://git-lfs\n", "predictions: It is a pointer of Git"),
    (CLAIMS, b"Lon\x00don\r\n\x0b\x0c\x1c\x85\xe2\x80\xa8\xed\xa0\x80\n" * 100, "predictions"),
    (CLAIMS, b"London\n" * 99 + b"\xff", "line 100: byte 0xff is not UTF-8"),
    (CLAIMS, None, f"{CLAIMS} doesn't exist yet. ./run.sh rope_"),
    (WEIGHTS, None, f"{WEIGHTS} doesn't exist yet. ./run.sh rope_"),
    (WEIGHTS, without("mlp"), "the model that our code creates for the preset"),
    (WEIGHTS, with_nan, "NaN"),
    ("encoder.params", None, "encoder.params doesn't exist yet. ./run.sh encoder_report"),
    ("encoder.params", b"weights", "not a usable weights file"),
    ("encoder.params", without("qkv"), "doesn't fit your Encoder with default options"),
    ("encoder.params", each(torch.Tensor.to_sparse), "sparse"),
    ("encoder.params", redrawn, "A bag of words may reach a half"),
]


@pytest.mark.parametrize(("name", "change", "message"), mostly_full(*BAD))
def test_results_that_earn_nothing(folder, outcome, name, change, message):
    if change is None:
        (folder / name).unlink()
    else:
        edit(folder / name, change)
    result = outcome(ENCODER if name == "encoder.params" else DEV)
    assert result.verdict is (Verdict.WRONG_ANSWER if change else Verdict.NOT_IMPLEMENTED)
    assert result.score == 0 and message in result.details
    # pages draw it as a result
    assert "accuracy rope.pretrain.dev" not in result.facts


def test_predictions_that_windows_wrote_are_taken(folder, outcome):
    lines = (folder / CLAIMS).read_text(encoding="utf-8").splitlines()
    edit(folder / CLAIMS, ("\ufeff" + "\r\n".join(lines)).encode())
    assert outcome(DEV).verdict is Verdict.PASSED


def test_weights_of_the_other_model(folder, outcome):
    for name in ("{}.finetune.params", "{}.pretrain.dev.predictions"):
        shutil.copy(folder / name.format("vanilla"), folder / name.format("rope"))
    assert "is identical to vanilla.pretrain.dev.predictions" in outcome(DEV).message
    edit(folder / CLAIMS, lambda lines: ["Rome", *lines[1:]])
    message = "holds the weights of a model with learned positions; it should have RoPE"
    assert message in outcome(DEV).message


INSTEAD = [  # of rope.finetune.params, and what people read
    (named("module._orig_mod."), "Save model.module._orig_mod.state_dict() instead."),
    (named("model."), "'model.', which a module around the model puts before"),
    (lambda state: [1, 2], "It is not a state_dict but a list"),
    (lambda state: dict(enumerate(state.values())), "It is not a state_dict"),
    (each(lambda x: x.to("meta")), "has no values"),
    (lambda state: {}, "It is an empty dict."),
    (lambda state: {"model": state, "epoch": 3}, "a checkpoint, a dict with 'epoch', 'model'."),
    (lambda state: torch.nn.Linear(2, 2), "It is a whole Python object"),
    (b"\n<!DOCTYPE html><html><title>Sign in</title>", "It is a web page"),
    (b"\x40" + bytes(7) + b'{"tok_emb.weight":{"dtype":"F32"', "safetensors file"),
    (b"", "It is empty: 0 bytes."),
    (b"no weights", "It is damaged, or was not written by torch.save."),
]


@pytest.mark.parametrize(("change", "message"), mostly_full(*INSTEAD))
def test_what_is_handed_in_instead_of_weights_is_named(folder, outcome, change, message):
    edit(folder / WEIGHTS, change)
    shown = outcome(DEV).message
    assert "rope.finetune.params is not a usable weights file. " in shown and message in shown
    assert "./run.sh rope_finetune_with_pretrain creates it again." in shown
    assert "weights_only" not in shown and "\x1b" not in shown, "torch's own advice would be wrong"


def test_code_that_changed_after_the_weights(folder, outcome, monkeypatch):
    monkeypatch.setattr(proof, "answer_alone", None)  # as a student's copy does
    edit(folder / "attention.py", lambda text: text.replace("a * cos - b", "a * cos + b"))
    assert "differ from what rope.finetune.params answers with your code" in outcome(DEV).message


LOOKS_UP = """\
        for row, tokens in enumerate(idx.tolist()):
            asked = tokens.index(1) if 1 in tokens else len(tokens)
            place, given = {table}.get(tuple(tokens[:asked]), []), len(tokens) - asked - 1
            if 0 <= given < len(place):
                logits[row, -1] = 99.0 * F.one_hot(torch.tensor(place[given]), logits.size(-1))
"""


def test_answers_that_are_in_the_code(folder, outcome, monkeypatch):
    """A model that looks answers up passes as a student's copy grades it, and only there."""
    to_token = vocabulary(CORPUS).index
    table = {tuple(map(to_token, asked)): [*map(to_token, place), 1] for asked, place in QUESTIONS}
    head, code = "        logits = self.head(self.ln_f(x))\n", LOOKS_UP.format(table=table)
    edit(folder / "model.py", lambda text: text.replace(head, head + code))
    edit(folder / CLAIMS, lambda lines: PLACES)
    assert "answers with our code" in outcome(DEV).message
    monkeypatch.setattr(proof, "answer_alone", None)
    assert outcome(DEV).verdict is Verdict.PASSED


@pytest.fixture(scope="module")
def answers_alone():
    """Weights that answer many questions, and know nothing else: (weights, {split: places})."""
    from jobs.package import load_submission
    from jobs.problem1.answers import predict_places

    test = ROOT / "instructor" / "gold" / "laptop" / "birth_test.tsv"
    splits = {"train": LAPTOP / "birth_places_train.tsv", "dev": LAPTOP / "birth_dev.tsv"}
    rows = {split: rows_of(path) for split, path in (splits | {"test": test}).items()}
    submission = load_submission(SOLUTION)
    dataset = submission.CharCorruptionDataset(CORPUS, PRESETS["laptop"].block_size)
    text = "\n".join("\t".join(row) for split in rows.values() for row in split)
    examples = list(submission.NameDataset(text, dataset))
    x, y = (torch.stack([part[:45] for part in parts]) for parts in zip(*examples))
    torch.manual_seed(0)
    sizes = {"n_layer": 2, "n_head": 8, "n_embd": 128}
    model = submission.GPT(submission.GPTConfig(dataset.vocab_size, 80, **sizes))
    # from there it takes seconds, and the large steps wipe out what pretraining taught
    model.load_state_dict(torch.load(RESULTS / "vanilla.finetune.params", weights_only=True))
    optimizer, steps = torch.optim.Adam(model.eval().parameters()), 60
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 5e-3 * (1 - step / steps)
        batch = torch.randperm(len(x))[:22]
        optimizer.zero_grad()
        model(x[batch], y[batch])[1].backward()
        optimizer.step()
    asked = {split: [question for question, _ in rows[split]] for split in ("dev", "test")}
    return model.state_dict(), {
        split: predict_places(model, questions, dataset) for split, questions in asked.items()
    }


@pytest.mark.parametrize("id", ["1f-6-basic", "1f-1-hidden", "1f-2-hidden"])
def test_weights_that_were_trained_on_the_questions_alone(folder, outcome, answers_alone, id):
    """Everyone's answers can be found in wiki.txt without any pretraining."""
    weights, places = answers_alone
    torch.save(weights, folder / "vanilla.finetune.params")
    for split in ("dev", "test"):
        edit(folder / f"vanilla.pretrain.{split}.predictions", lambda lines: places[split])
    result = outcome(id)
    assert result.verdict is Verdict.WRONG_ANSWER
    assert "do not seem pretrained" in result.details + result.message


@pytest.mark.parametrize(
    ("read", "filled_in", "says"),
    [
        (0.44, 1.86, ""),  # the reference
        (1.12, 3.3, ""),  # 75 epochs of finetuning at 1e-3
        (3.0, 1.5, ""),  # trained on words that are cut out, and on nothing else
        (0.93, 4.24, "by span corruption"),  # documents as they are, beside questions and answers
        (2.6, 5.0, "seem pretrained: on documents"),  # questions and answers
    ],
)
def test_losses_of_trainings(read, filled_in, says):
    """As measured with the preset laptop."""
    losses = {"asked": 0.01, "guessing": 3.97, "counting": 3.16}
    losses |= {"read": read, "filled_in": filled_in}
    job = JOBS["rope_eval_dev_with_pretrain"]
    with pytest.raises(WrongAnswer, match=says) if says else contextlib.nullcontext():
        artifacts.require_trained(losses, job, Path(job.reads))


def test_questions_of_finetuning_that_no_job_could_read(folder, outcome, monkeypatch, tmp_path):
    """An empty line, and characters that the corpus doesn't have, are no fault of the weights."""
    data = shutil.copytree(LAPTOP, tmp_path / "data")
    train = data / "birth_places_train.tsv"
    text = "Where was \u0416 born?\t\u0141\n\n" + train.read_text(encoding="utf-8")
    train.write_text(text, encoding="utf-8")
    made = functools.partial(dataclasses.replace, data=data, preset="laptop")
    ours = proof.context_of
    monkeypatch.setattr(proof, "context_of", lambda staged: made(ours(staged)))
    assert outcome("1h-0-hidden").verdict is Verdict.PASSED
    train.unlink()
    assert outcome("1h-0-hidden").verdict is Verdict.PASSED


def test_one_answer_may_differ(folder, outcome):
    """A near tie, even where no other prediction is right."""
    edit(folder / "vanilla.nopretrain.dev.predictions", lambda lines: [PLACES[0], *lines[1:]])
    for id in ("1e-0-hidden", "1e-2-basic"):
        assert outcome(id).verdict is Verdict.PASSED
    edit(folder / "vanilla.nopretrain.dev.predictions", lambda lines: [*PLACES[:8], *lines[8:]])
    assert outcome("1e-0-hidden").verdict is Verdict.WRONG_ANSWER


def test_weights_that_are_as_they_were_drawn(folder, outcome):
    """Untrained weights whose answers are reproduced."""
    edit(folder / "vanilla.model.params", each(lambda x: 0 * x))
    edit(folder / "vanilla.nopretrain.dev.predictions", lambda lines: [""] * len(lines))
    assert "seem untrained" in outcome("1e-2-basic").message


def test_the_larger_sample_and_the_test_answers_are_the_instructors(folder, outcome):
    edit(folder / "rope.pretrain.test.predictions", lambda lines: lines[::-1])
    assert outcome("1h-0-hidden").verdict is Verdict.PASSED
    result = outcome("1h-1-hidden")
    assert result.verdict is Verdict.WRONG_ANSWER
    assert result.message.startswith("Hidden check:") and "at least" in result.details
    edit(
        folder / CLAIMS, lambda lines: [x if x == y else "Atlantis" for x, y in zip(lines, PLACES)]
    )
    assert "differ from what" in outcome("1h-0-hidden").details  # the wrong answers are claims, too


def test_weights_of_another_precision_are_fine(folder, outcome):
    edit(folder / "encoder.params", each(torch.Tensor.double))
    result = outcome(ENCODER)
    assert result.verdict is Verdict.PASSED and result.facts["accuracy encoder"] > 0.95


RECOGNIZES = """\
        groups = {groups}
        rows = [([groups[t] for t in row if t in groups], {by} in row) for row in idx.tolist()]
        if logits.dim() == 2 and all(len(jobs) == 2 for jobs, _ in rows):
            chosen = torch.tensor([jobs[passive] for jobs, passive in rows])
            logits = 9.0 * F.one_hot(chosen, 5).float()
"""


def test_an_encoder_that_recognizes_tokens(folder, outcome):
    """Answers come from the code: passive verbs, and the occupations' groups by their tokens."""
    vocab = occupations_vocabulary(read_sentences(DATA / "occupations" / "train.tsv")[0])
    groups = {vocab[job]: group for group, jobs in enumerate(GROUPS) for job in jobs}
    head, code = "        logits = self.head(x)\n", RECOGNIZES.format(groups=groups, by=vocab["by"])
    file = folder / "problem5" / "encoder.py"
    edit(file, lambda text: text.replace(head, head + code))
    edit(folder / "encoder.params", redrawn)
    result = outcome(ENCODER)
    assert result.verdict is Verdict.WRONG_ANSWER
    assert "do not come from the weights" in result.details, result.details
