"""What the handout and the worked answers say in words or in code. Their numbers are facts, which
instructor/documents/numbers.py computes.
"""

import random
import re

import pytest
import torch

from helpers import DATA, RESULTS, ROOT, call
from instructor.documents.facts import gather
from instructor.documents.numbers import compute
from instructor.documents.sources import HANDOUT, Sources
from jobs.problem5.encoders import PRE, Run, read_corpora
from jobs.problem5.maps import choose_sentences

RUBRICS = ROOT / "instructor" / "rubrics"


@pytest.fixture(scope="module")
def numbers():
    return compute()


def source(name):
    """The text of a problem of the handout ("problem2") or of a question's rubric."""
    folder = HANDOUT if name.startswith("problem") else RUBRICS
    return (folder / f"{name}.tex").read_text(encoding="utf-8")


def test_every_fact_is_known_and_every_number_is_used(numbers):
    Sources(gather() | numbers, rubrics=RUBRICS).read()
    paths = [*HANDOUT.glob("*.tex"), *RUBRICS.glob("*.tex")]
    texts = "\n".join(path.read_text(encoding="utf-8") for path in paths)
    assert not numbers.keys() - {*re.findall(r"\\fact\{(.*?)\}", texts)}
    assert not numbers.keys() & gather().keys()


def test_hyperparameters_of_problem_1(submission, tmp_path):
    """They are those of the reference's own functions."""
    corpus, weights = tmp_path / "corpus.tsv", tmp_path / "weights.params"
    corpus.write_text("Where was Ada Byron born?\tLondon\n", encoding="utf-8")
    text = "Ada Byron was born in London, wasn't she? Where else?\n" * 3
    documents = submission.CharCorruptionDataset(text, 80)
    config = submission.GPTConfig(documents.vocab_size, 80, n_layer=1, n_head=2, n_embd=8)
    model = submission.initialize_vanilla_model(config)
    torch.save(model.state_dict(), weights)
    paths, rest = (None, str(weights)), (corpus, documents, 80, model)
    configs = [submission.finetune(path, *rest)[0] for path in paths]
    configs.append(submission.pretrain(documents, 80, model)[0])
    for name in ("max_epochs", "batch_size", "lr_decay", "warmup_tokens", "final_tokens"):
        row = re.search(rf"\\code\{{{name}\}} & (.*?) & (.*?) & (.*?) \\\\\n", source("problem1"))
        for cell, config in zip(row.groups(), configs):
            value = eval(re.sub(r"\\code|[{}]", "", cell), {"N": len(documents), "block_size": 80})
            assert value == getattr(config, name), (name, cell)


def test_parameters_in_the_notebook(numbers):
    notebook = ROOT / "src" / "submission" / "mingpt-demo" / "play_char.ipynb"
    laptop, gpu = (
        int(numbers[f"{preset} vanilla parameters"].replace(",", "")) / 1e6
        for preset in ("laptop", "gpu")
    )
    said = f"{laptop:.2f} million with the preset `laptop`, and {gpu:.1f} million with `gpu`"
    assert said in notebook.read_text(encoding="utf-8")


def test_the_program_of_problem_2_prints_what_the_handout_shows():
    program, printed = (
        re.search(rf"(?s)\\begin{{{name}}}\n(.*?)\\end{{{name}}}", source("problem2"))[1]
        for name in ("python", "terminal")
    )
    names = {}
    program = program.replace("src/submission", RESULTS.as_posix())
    assert call(lambda: exec(program, names)).stdout == printed
    agreed = names["agreed"]
    assert agreed.count(False) == 2 and "all but two of them correctly" in source("problem2")
    rows = names["rows"](DATA / "birth_places_train.tsv")
    places = {*names["answers"], *(row.split("\t")[1] for row in rows)}
    assert {*names["vanilla"], *names["rope"]} <= places, "wrong answers are real cities"


def test_what_markers_accept_for_a_token_in_the_middle(submission):
    """6d i: right to within overlaps."""
    from submission.problem6.efficient_attention import Pattern, attended_positions

    for g, low, high in ((150, 1170, 1190), (200, 1220, 1240)):
        assert f"{low:,} to {high:,}" in source("6d")
        chosen = range(0, g * (75_000 // g), 75_000 // g)
        for i in random.sample(range(30_000, 45_000), 20):
            assert low <= len(attended_positions(i, 75_000, Pattern(), chosen)) <= high


def test_the_reference_encoder_attends_to_the_teachers_occupation(submission):
    """5g ii: what the maps of our encoder show."""
    from submission.problem5 import encoder, encoder_data

    corpus = read_corpora(encoder_data, ROOT / "data" / "occupations", 0)[0]
    model = encoder.Encoder(encoder.EncoderConfig(corpus.vocab_size, 24, 5))
    model.load_state_dict(torch.load(RESULTS / "encoder.params", weights_only=True))
    corpus.runs[PRE] = [Run(model, [], 1.0, 1.0)]
    active, passive = choose_sentences(corpus, corpus)[:2]
    for item, teacher in ((active, "judge"), (passive, "poet")):
        column = item.weights[1][0][:, item.tokens.index(teacher)]  # layer 2, head 0
        assert column.min() > 0.8 and column.mean() > 0.95 and item.answer == item.label
    assert passive.tokens[-1] == "poet"
    said = " ".join(source("5g").split())
    assert r"\emph{judge} in the active" in said
    assert r"\emph{poet}, its last word, in the passive" in said
