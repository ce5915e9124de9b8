"""encoder.params earns points only for weights that classify sentences."""

import pytest
import torch

from proof import grade_folder

from autograder import Verdict
from conftest import copy_reference

CHECK = "5g-4-hidden"
HEAD = "        logits = self.head(x)\n"


@pytest.fixture
def folder(tmp_path):
    """A copy of the reference with its results."""
    return copy_reference(tmp_path / "submission")


@pytest.fixture
def outcome(process, folder):
    """A function that grades the folder."""
    return lambda: grade_folder(process, folder, [CHECK], artifacts=True).outcomes[CHECK]


def change(folder, edit):
    """Edit the state_dict."""
    path = folder / "encoder.params"
    state = torch.load(path, weights_only=True)
    torch.save(edit(state) or state, path)


def redraw(state):
    """The same shapes with random matrices."""
    return {
        name: torch.randn_like(value) if value.dim() > 1 else value for name, value in state.items()
    }


def test_the_reference(outcome):
    result = outcome()
    assert result.verdict is Verdict.PASSED and result.facts["accuracy encoder"] > 0.95


def test_a_missing_file(folder, outcome):
    (folder / "encoder.params").unlink()
    result = outcome()
    assert (
        result.verdict is Verdict.NOT_IMPLEMENTED
        and "./run.sh encoder_report writes it" in result.details
    )


@pytest.mark.parametrize("content", [b"", b"weights", b"PK\x03\x04 and so on"])
def test_no_weights(folder, outcome, content):
    (folder / "encoder.params").write_bytes(content)
    result = outcome()
    assert result.verdict is Verdict.WRONG_ANSWER and "not a usable weights file" in result.details


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (lambda state: [1, 2, 3], "It is not a state_dict"),
        (lambda state: {**state, "head.bias": 3}, "It is not a state_dict"),
        (lambda state: {**state, "head.bias": torch.full((5,), float("nan"))}, "NaN or infinite"),
        (
            lambda state: {**state, "pos_emb": torch.zeros(25, 32)},
            "doesn't fit your Encoder with default options",
        ),
        (
            lambda state: {name: value for name, value in state.items() if "qkv" not in name},
            "doesn't fit",
        ),
        (lambda state: {**state, "tok_emb.weight": state["tok_emb.weight"].to_sparse()}, "sparse"),
        (lambda state: redraw(state), "A bag of words may reach a half"),
        (lambda state: {f"module.{name}": value for name, value in state.items()}, "DataParallel"),
    ],
)
def test_wrong_weights(folder, outcome, edit, message):
    change(folder, edit)
    result = outcome()
    assert result.verdict is Verdict.WRONG_ANSWER and message in result.details, result.details


def test_an_encoder_that_recognizes_tokens(folder, outcome):
    """Make answers come from the code: a verb in the passive, and the occupations' groups by their
    tokens.
    """
    from checks.support.context import DATA
    from instructor.checks.problem5.q5g.sentences import read_sentences, vocabulary
    from instructor.datasets.worlds.exercises import GROUPS

    vocab = vocabulary(read_sentences(DATA / "occupations" / "train.tsv")[0])
    groups = {vocab[job]: group for group, jobs in enumerate(GROUPS) for job in jobs}
    path = folder / "problem5" / "encoder.py"
    text = path.read_text(encoding="utf-8")
    assert text.count(HEAD) == 1
    path.write_text(
        text.replace(
            HEAD,
            HEAD
            + f"""\
        groups = {groups}
        rows = [([groups[t] for t in row if t in groups], {vocab["by"]} in row) for row in idx.tolist()]
        if logits.dim() == 2 and all(len(jobs) == 2 for jobs, _ in rows):
            logits = 9.0 * F.one_hot(torch.tensor([jobs[passive] for jobs, passive in rows]), 5).float()
""",
        ),
        encoding="utf-8",
    )
    change(folder, redraw)
    result = outcome()
    assert (
        result.verdict is Verdict.WRONG_ANSWER and "do not come from the weights" in result.details
    ), result.details


def test_other_numbers_of_precision_are_fine(folder, outcome):
    change(folder, lambda state: {name: value.double() for name, value in state.items()})
    assert outcome().verdict is Verdict.PASSED
