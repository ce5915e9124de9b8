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
    """Replace a file by bytes, or by what `change` makes of its lines, or of its weights."""
    if isinstance(change, bytes):
        path.write_bytes(change)
    elif path.suffix == ".params":
        torch.save(change(torch.load(path, weights_only=True)), path)
    else:
        lines = change(path.read_text(encoding="utf-8").splitlines())
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def insert(path, line, code):
    """Write code below a line that is there once."""
    text = path.read_text(encoding="utf-8")
    assert text.count(line) == 1
    path.write_text(text.replace(line, line + code), encoding="utf-8")


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


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("rope.finetune.params", "rope_"),
        ("rope.pretrain.dev.predictions", "rope_"),
        ("encoder.params", "encoder_report"),
    ],
)
def test_a_missing_file(folder, outcome, name, target):
    (folder / name).unlink()
    result = outcome(ENCODER if name == "encoder.params" else DEV)
    assert result.verdict is Verdict.NOT_IMPLEMENTED
    assert f"{name} doesn't exist yet. ./run.sh {target}" in result.details


def mostly_full(*rows):
    """Rows of a table, of which the first four are tried by default."""
    return [*rows[:4], *(pytest.param(*row, marks=pytest.mark.full) for row in rows[4:])]


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
PLACES = [place for _, place in QUESTIONS]
CLAIMS = [
    (lambda lines: lines[:-1], "has 99 lines; there are 100 (laptop) or 500 (gpu) questions"),
    (lambda lines: lines + [""], "has 101 lines"),
    (lambda lines: ["London"] * 100, "5 of 100 predictions are right, 5.0%; at least 20.0% should"),
    (lambda lines: lines[1:] + lines[:1], "at least 20.0%"),
    (lambda lines: PLACES, "differ from what rope.finetune.params answers with our code. The fir"),
    # right answers in place of some wrong ones: every right claim is checked
    (lambda lines: [x if i % 2 else y for i, (x, y) in enumerate(zip(PLACES, lines))], "differ"),
    (LFS, "predictions: It is a pointer of Git"),
    (b"<!DOCTYPE html>\n" * 100, "predictions: It is a web page"),
    (b"London\n" * 500_000, "has 500000 lines"),
    (b"Lon\x00don\r\n\x0b\x0c\x1c\x85\xe2\x80\xa8\xed\xa0\x80\n" * 100, "predictions"),
    (b"London\n" * 99 + b"\xff", "line 100: byte 0xff is not UTF-8"),
]


@pytest.mark.parametrize(("change", "message"), mostly_full(*CLAIMS))
def test_claims_that_the_weights_do_not_bear_out(folder, outcome, change, message):
    edit(folder / "rope.pretrain.dev.predictions", change)
    result = outcome(DEV)
    assert result.verdict is Verdict.WRONG_ANSWER and result.score == 0
    assert message in result.message
    # pages draw it as a result
    assert "accuracy rope.pretrain.dev" not in result.facts


def test_predictions_that_windows_wrote_are_taken(folder, outcome):
    path = folder / "rope.pretrain.dev.predictions"
    text = path.read_text(encoding="utf-8")
    path.write_bytes(("\ufeff" + text.removesuffix("\n").replace("\n", "\r\n")).encode())
    assert outcome(DEV).verdict is Verdict.PASSED


def test_weights_of_the_other_model(folder, outcome):
    for name in ("{}.finetune.params", "{}.pretrain.dev.predictions"):
        shutil.copy(folder / name.format("vanilla"), folder / name.format("rope"))
    assert "is identical to vanilla.pretrain.dev.predictions" in outcome(DEV).message
    edit(folder / "rope.pretrain.dev.predictions", lambda lines: ["Rome", *lines[1:]])
    message = "holds the weights of a model with learned positions; it should have RoPE"
    assert message in outcome(DEV).message


def named(prefix):
    """Weights of a model that something was put around."""
    return lambda state: {prefix + name: value for name, value in state.items()}


def redrawn(state):
    """The same shapes with random matrices."""
    return {name: torch.randn_like(x) if x.dim() > 1 else x for name, x in state.items()}


def with_nan(state):
    return {name: x * float("nan") if x.is_floating_point() else x for name, x in state.items()}


def without(part):
    return lambda state: {name: x for name, x in state.items() if part not in name}


def sparse(state):
    return {**state, "tok_emb.weight": state["tok_emb.weight"].to_sparse()}


def checkpoint(state):
    return {"model": state, "optimizer": {}, "epoch": 3}


INSTEAD = [  # of rope.finetune.params, and what people read
    (named("_orig_mod."), "Save model._orig_mod.state_dict() instead."),
    (named("module._orig_mod."), "Save model.module._orig_mod.state_dict() instead."),
    (named("model."), "'model.', which a module around the model puts before"),
    (lambda state: [1, 2], "It is not a state_dict but a list"),
    (lambda state: dict(enumerate(state.values())), "It is not a state_dict"),
    (lambda state: {name: x.to("meta") for name, x in state.items()}, "has no values"),
    (lambda state: {}, "It is an empty dict."),
    (checkpoint, "It is a checkpoint, a dict with 'epoch', 'model', 'optimizer'."),
    (lambda state: torch.nn.Linear(2, 2), "It is a whole Python object"),
    (LFS, "It is a pointer of Git LFS"),
    (b"\n<!DOCTYPE html><html><title>Sign in</title>", "It is a web page"),
    (b"\x40" + bytes(7) + b'{"tok_emb.weight":{"dtype":"F32"', "safetensors file"),
    (b"", "It is empty: 0 bytes."),
    (b"no weights", "It is damaged, or was not written by torch.save."),
]


@pytest.mark.parametrize(("change", "message"), mostly_full(*INSTEAD))
def test_what_is_handed_in_instead_of_weights_is_named(folder, outcome, change, message):
    edit(folder / "rope.finetune.params", change)
    shown = outcome(DEV).message
    assert "rope.finetune.params is not a usable weights file. " in shown and message in shown
    assert "./run.sh rope_finetune_with_pretrain creates it again." in shown
    assert "weights_only" not in shown and "\x1b" not in shown, "torch's own advice would be wrong"


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("rope.finetune.params", without("mlp"), "the model that our code creates for the preset"),
        ("rope.finetune.params", with_nan, "NaN"),
        ("encoder.params", b"weights", "not a usable weights file"),
        ("encoder.params", without("qkv"), "doesn't fit your Encoder with default options"),
        ("encoder.params", sparse, "sparse"),
        ("encoder.params", redrawn, "A bag of words may reach a half"),
    ],
)
def test_weights_that_answer_nothing(folder, outcome, name, change, message):
    edit(folder / name, change)
    result = outcome(ENCODER if name == "encoder.params" else DEV)
    assert result.verdict is Verdict.WRONG_ANSWER and message in result.details


@pytest.fixture
def as_a_student(monkeypatch):
    """Grade basic checks as a student's copy does."""
    monkeypatch.setattr(proof, "answer_alone", None)


def test_code_that_changed_after_the_weights(folder, outcome, as_a_student):
    path = folder / "attention.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("a * cos - b * sin", "a * cos + b * sin"), encoding="utf-8")
    assert "differ from what rope.finetune.params answers with your code" in outcome(DEV).message


def test_answers_that_are_in_the_code(folder, outcome, request):
    """A model that looks answers up passes as a student's copy grades it, and only there."""
    symbols = vocabulary((DATA / "laptop" / "wiki.txt").read_text(encoding="utf-8"))
    table = {
        tuple(map(symbols.index, question)): [*map(symbols.index, place), 1]
        for question, place in QUESTIONS
    }
    head = "        logits = self.head(self.ln_f(x))\n"
    insert(folder / "model.py", head, LOOKS_UP.format(table=table))
    edit(folder / "rope.pretrain.dev.predictions", lambda lines: PLACES)
    assert "answers with our code" in outcome(DEV).message
    request.getfixturevalue("as_a_student")
    assert outcome(DEV).verdict is Verdict.PASSED


LOOKS_UP = """\
        for row, tokens in enumerate(idx.tolist()):
            asked = tokens.index(1) if 1 in tokens else len(tokens)
            place, given = {table}.get(tuple(tokens[:asked]), []), len(tokens) - asked - 1
            if 0 <= given < len(place):
                logits[row, -1] = 99.0 * F.one_hot(torch.tensor(place[given]), logits.size(-1))
"""


@pytest.fixture(scope="module")
def answers_alone():
    """Weights that answer many questions, dev and test among them, and know nothing else, and what
    they answer: (weights, {split: places}).
    """
    from jobs.package import load_submission
    from jobs.problem1.answers import predict_places

    laptop, gold = DATA / "laptop", ROOT / "instructor" / "gold" / "laptop"
    files = {"train": laptop / "birth_places_train.tsv", "dev": laptop / "birth_dev.tsv"}
    files["test"] = gold / "birth_test.tsv"
    rows = {split: file.read_text(encoding="utf-8").splitlines() for split, file in files.items()}
    submission = load_submission(SOLUTION)
    corpus = (DATA / "laptop" / "wiki.txt").read_text(encoding="utf-8")
    dataset = submission.CharCorruptionDataset(corpus, PRESETS["laptop"].block_size)
    text = "\n".join(line for lines in rows.values() for line in lines)
    examples = list(submission.NameDataset(text, dataset))
    x, y = (torch.stack([part[:45] for part in parts]) for parts in zip(*examples))
    torch.manual_seed(0)
    model = submission.GPT(
        submission.GPTConfig(dataset.vocab_size, 80, n_layer=2, n_head=8, n_embd=128)
    )
    # from there it takes seconds, and the large steps wipe out what pretraining taught
    model.load_state_dict(torch.load(RESULTS / "vanilla.finetune.params", weights_only=True))
    optimizer, steps = torch.optim.Adam(model.eval().parameters()), 60
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = 5e-3 * (1 - step / steps)
        batch = torch.randperm(len(x))[:22]
        optimizer.zero_grad()
        model(x[batch], y[batch])[1].backward()
        optimizer.step()
    questions = {split: [line.split("\t")[0] for line in lines] for split, lines in rows.items()}
    places = {split: predict_places(model, questions[split], dataset) for split in questions}
    return model.state_dict(), places


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
    job = JOBS["rope_eval_dev_with_pretrain"]
    with pytest.raises(WrongAnswer, match=says) if says else contextlib.nullcontext():
        measured = losses | {"read": read, "filled_in": filled_in}
        artifacts._require_trained(measured, job, Path(job.reads))


def test_questions_of_finetuning_that_no_job_could_read(folder, outcome, monkeypatch, tmp_path):
    """An empty line, and characters that the corpus doesn't have, are no fault of the weights."""
    data = shutil.copytree(DATA / "laptop", tmp_path / "data")
    train = data / "birth_places_train.tsv"
    lines = train.read_text(encoding="utf-8").splitlines()
    train.write_text("\n\n".join(["Where was \u0416 born?\t\u0141", *lines]), encoding="utf-8")
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
    path, answers = folder / "vanilla.model.params", folder / "vanilla.nopretrain.dev.predictions"
    edit(path, lambda state: {name: 0 * x for name, x in state.items()})
    edit(answers, lambda lines: [""] * len(lines))
    assert "seem untrained" in outcome("1e-2-basic").message


def test_the_larger_sample_and_the_test_answers_are_the_instructors(folder, outcome):
    edit(folder / "rope.pretrain.test.predictions", lambda lines: lines[::-1])
    assert outcome("1h-0-hidden").verdict is Verdict.PASSED
    result = outcome("1h-1-hidden")
    assert result.verdict is Verdict.WRONG_ANSWER
    assert result.message.startswith("Hidden check:") and "at least" in result.details
    claims = folder / "rope.pretrain.dev.predictions"
    edit(claims, lambda lines: [x if x == y else "Atlantis" for x, y in zip(lines, PLACES)])
    assert "differ from what" in outcome("1h-0-hidden").details  # the wrong answers are claims, too


def test_weights_of_another_precision_are_fine(folder, outcome):
    path = folder / "encoder.params"
    edit(path, lambda state: {name: x.double() for name, x in state.items()})
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
    """Make answers come from the code: a verb in the passive, and the occupations' groups by their
    tokens.
    """
    vocab = occupations_vocabulary(read_sentences(DATA / "occupations" / "train.tsv")[0])
    groups = {vocab[job]: group for group, jobs in enumerate(GROUPS) for job in jobs}
    code = RECOGNIZES.format(groups=groups, by=vocab["by"])
    insert(folder / "problem5" / "encoder.py", "        logits = self.head(x)\n", code)
    edit(folder / "encoder.params", redrawn)
    result = outcome(ENCODER)
    assert result.verdict is Verdict.WRONG_ANSWER
    assert "do not come from the weights" in result.details, result.details
