"""The three jobs of problem 5, their trainings cut to a fraction."""

import math
import re

import pytest
import torch

import run
from common.files import UserError
from helpers import ROOT, SOLUTION, Page, call
from jobs.package import load_submission
from jobs.problem5 import copying, encoders, maps, report, scaling
from jobs.problem5.encoders import BAG, POST, PRE, Corpus, Run
from jobs.problem5.run import find_occupations

OCCUPATIONS = ROOT / "data" / "occupations"


def job(target, out, *options):
    return call(run.main, target, "--submission", SOLUTION, "--out", out, *options)


@pytest.fixture
def small(monkeypatch, tmp_path):
    """The jobs at a fraction of their size; returns a folder for --data."""
    epochs = {"occupations": 2, "random labels": 1}
    for name, value in {"SEEDS": 1, "EPOCHS": epochs, "BAG_EPOCHS": 1}.items():
        monkeypatch.setattr(encoders, name, value)
    for name, value in {"SIZES": (4, 64), "STEPS": 25, "SEEDS": 2}.items():
        monkeypatch.setattr(scaling, name, value)
    folder = tmp_path / "data" / "occupations"
    folder.mkdir(parents=True)
    for name, rows in (("train.tsv", 400), ("dev.tsv", 100)):
        lines = (OCCUPATIONS / name).read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / name).write_text("".join(lines[:rows]), encoding="utf-8")
    return folder.parent


@pytest.fixture
def encoder():
    """The reference's module, and that of its data."""
    return [load_submission(SOLUTION, f"problem5/encoder{end}.py") for end in ("", "_data")]


def contents(folder):
    """The files of a folder, without the seconds that a page has."""
    texts = {path.name: path.read_bytes().decode("latin-1") for path in folder.iterdir()}
    return {name: re.sub(r'(<span id="seconds">)\d+', r"\1", texts[name]) for name in texts}


@pytest.mark.full
def test_the_report(small, encoder, tmp_path):
    printed = job("encoder_report", tmp_path / "a", "--data", small).stdout
    assert f"Occupations from {small / 'occupations'}" in printed
    files = contents(tmp_path / "a")
    assert {*files} == {"encoder.params", "encoder_report.html", "encoder_maps.png"}
    assert files["encoder_maps.png"].startswith("\x89PNG")
    page = Page(files["encoder_report.html"])
    sections = [attrs["id"] for tag, attrs in page.tags if tag == "section"]
    assert page.balanced and sections == [f"part-{i}" for i in range(1, 7)]
    assert "Bag of words" in page.text and "Layer 2, head 0" in page.text
    # sentences, heads, one of them large too
    assert sum(tag == "image" for tag, _ in page.tags) == 4 * (8 + 1)

    # the weights: those of a fresh default encoder, float32, with the accuracy that was printed
    encoder, data = encoder
    state = torch.load(tmp_path / "a" / "encoder.params", weights_only=True)
    assert type(state) is dict and all(value.dtype == torch.float32 for value in state.values())
    folder = small / "occupations"
    model = encoder.Encoder(encoder.EncoderConfig(data.occupations_vocab_size(folder), 24, 5))
    model.load_state_dict(state)
    row = r"occupations, +encoder, pre-norm +in training +(\S+)% .*new sentences +(\S+)%"
    for split, share in zip(("train", "dev"), re.search(row, printed).groups()):
        accuracy = encoder.accuracy(model, *data.occupations(split, folder=folder))
        assert 100 * accuracy == pytest.approx(float(share), abs=0.06)

    job("encoder_report", tmp_path / "same", "--data", small)
    assert contents(tmp_path / "same") == files
    job("encoder_report", tmp_path / "other", "--data", small, "--seed", 1)
    other = contents(tmp_path / "other")
    assert all(other[name] != files[name] for name in files)


def odd_numbers():
    """Corpora and sentences as the page takes them, with odd numbers and hostile text."""
    model = torch.nn.Module()
    model.add_module("<b>", torch.nn.Linear(2, 1))
    part = torch.tensor([[3, 4, 0]]), torch.tensor([1])
    corpora = [Corpus(name, 9, 0, part, part) for name in encoders.EPOCHS]
    for corpus in corpora:
        for kind, losses in ((PRE, [1.0, math.nan, 0.0]), (POST, [math.inf, 2.0, 1e-9]), (BAG, [])):
            rows = [[0.0, 1.0, None], [None, None, math.nan]]
            corpus.runs[kind] = [Run(model, losses, 0.5, 0.25, [[0.0], [99.0]], rows)]
    weights = torch.tensor([[[1.0, 0.0], [math.nan, 0.5]]])
    sentence = maps.Sentence("new", ['["><script>]', "a & b"], "1", "0", [weights])
    return corpora, [sentence]


def test_the_page_escapes_text_and_bears_odd_numbers():
    html = report.page(*odd_numbers(), seed=0, seconds=1.5)
    assert "<script" not in html and "<b>" not in html and '"><script>' in Page(html).text


def test_scaling(small, tmp_path):
    printed = job("encoder_scaling", tmp_path, "--data", small, "--preset", "gpu").stdout
    assert "--preset, --data make no difference" in printed
    assert (tmp_path / "encoder_scaling.png").read_bytes().startswith(b"\x89PNG")
    table = printed[printed.index(" variance ") : printed.index("u: unscaled")].splitlines()
    row = next(line.split() for line in table if line.split()[:1] == ["64"])  # the handout's
    assert row == "64 66.18 1.03 0.59 3.66 0.449 0.000 0.1915 0.1802 0.821 0.066".split()
    assert max(map(len, table)) <= 80
    assert "halved" in printed and "So without the scale, this training at d_k = 64" in printed


COPIES = [
    (0.002, 0.0, True, "Passed:"),
    (2.6, 0.0, False, "nothing is learned"),
    (1.2, 0.0, False, "positions"),
    (0.02, 0.0, False, "lower the learning rate"),
    (0.001, 0.5, False, "key_padding_mask"),
    (math.nan, math.nan, False, "not finite"),
    (0.001, 0.5, True, "its own numbers say"),
]


@pytest.mark.parametrize(("loss", "gap", "passed", "words"), COPIES)
def test_copy_says_what_to_look_at(capsys, loss, gap, passed, words):
    found = {"loss": loss, "padding_gap": gap, "seconds": 9.0, "passed": passed}
    copying.copy(lambda seed: found, 0)
    assert words in capsys.readouterr().out


def test_nonsense_from_a_submission_is_a_sentence(small, encoder, tmp_path, monkeypatch):
    for nonsense in (None, {"loss": "a", "padding_gap": 0, "seconds": 0, "passed": True}):
        with pytest.raises(UserError, match="copy_task returned"):
            copying.copy(lambda seed: nonsense, 0)
    for nonsense in (None, {"unscaled": {"variance": 1}, "scaled": []}):
        with pytest.raises(UserError, match=r"scaling_experiment\(4\) returned"):
            scaling.scaling(lambda d_k, seed: nonsense, tmp_path / "p.png", 0)
    encoder, data = encoder
    for name, value in (("train_classifier", [1.0]), ("accuracy", 50), ("attention_entropy", None)):
        with monkeypatch.context() as patch:
            patch.setattr(encoder, name, lambda *args, **options: value)
            with pytest.raises(UserError, match=f"{name} returned"):
                report.report(encoder, data, small / "occupations", tmp_path / "out", 0)
    assert not list((tmp_path / "out").iterdir()) and not list(tmp_path.glob("p.png*"))


def test_where_the_occupations_are(small, tmp_path):
    """In --data, beside it, or those of the assignment."""
    (small / "laptop").mkdir()
    (tmp_path / "x" / "y").mkdir(parents=True)
    assert find_occupations(small / "laptop") == find_occupations(small) == small / "occupations"
    assert find_occupations(tmp_path / "x" / "y") == find_occupations(None) == OCCUPATIONS


DAMAGED = [(b"A sentence\t7\n", "line 1"), (b"\xff\n", "UTF-8"), (b"a\t1\nno tab\n", "line 2")]


@pytest.mark.parametrize(("content", "words"), DAMAGED)
def test_damaged_occupations_are_refused(small, tmp_path, content, words):
    (small / "occupations" / "dev.tsv").write_bytes(content)
    process = job("encoder_report", tmp_path / "out", "--data", small)
    assert process.returncode == 2 and words in process.stderr
    assert not (tmp_path / "out").exists()
