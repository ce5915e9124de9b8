"""./run.sh look: what the page says of a model is what the model does."""

import json
import re
import shlex
import shutil

import pytest
import torch

import run
from common.files import UserError
from helpers import RESULTS, SOLUTION, Page, call
from instructor.mistakes.patches import Edit
from jobs.deliverables import DELIVERABLES
from jobs.problem1.answers import predict_places
from jobs.problem1.look import command
from jobs.problem1.look.command import find
from jobs.problem1.look.page import page
from jobs.targets import LOOK
from looks import WEIGHTS, options_for


def finetuned(found):
    return [look for look in found["looks"] if look["stage"] == "finetuned"]


def shown(found):
    looks = [look for look in found["looks"] if look["seen"]]
    return [f"{look['positions']}, {look['stage']}" for look in looks]


def test_answers_attention_and_next_characters_are_the_models(found, models, dataset):
    questions = [question for question, _ in found["people"]]
    for look in finetuned(found):
        model = models[look["positions"]]
        places = predict_places(model, questions, dataset, steps=found["sizes"]["steps"])
        assert [seen["answer"] for seen in look["seen"]] == places
        for question, seen in zip(questions, look["seen"]):
            tokens, asked = seen["tokens"], [dataset.stoi[c] for c in question] + [1]
            assert tokens[: len(asked)] == asked and 1 not in tokens[len(asked) : -1]
            with torch.no_grad():
                shares = model(torch.tensor([tokens]))[0][0].softmax(-1)
            assert torch.allclose(seen["next"], shares, atol=1e-5, rtol=0)
            T = len(tokens)
            assert seen["attention"].shape == (2 * 3, T, T)
            if look["positions"] == "learned positions":
                first = model.blocks[0]
                x = first.ln1(model.tok_emb(torch.tensor(tokens)) + model.pos_emb[0, :T])
                q, k = (linear(x)[:, 8:16] for linear in (first.attn.query, first.attn.key))
                scores = (q @ k.T / 8**0.5).masked_fill(torch.ones(T, T).triu(1) > 0, -torch.inf)
                assert torch.allclose(seen["attention"][1], scores.softmax(-1), atol=1e-4)


def test_a_muted_head_is_one_whose_columns_of_proj_are_zero(found, models, dataset, code, tmp_path):
    """However the code uses proj."""
    other = Edit("attention.py", "self.proj(y)", "F.linear(y, self.proj.weight, self.proj.bias)")
    others = finetuned(find(options_for(tmp_path, code(other))))
    questions = [question for question, _ in found["people"]]
    changed = 0
    for look, same in zip(finetuned(found), others, strict=True):
        model = models[look["positions"]]
        assert [seen["muted"] for seen in look["seen"]] == [seen["muted"] for seen in same["seen"]]
        for layer, block in enumerate(model.blocks):
            for head in range(3):
                before = block.attn.proj.weight.data.clone()
                block.attn.proj.weight.data[:, 8 * head : 8 * (head + 1)] = 0
                places = predict_places(model, questions, dataset, steps=found["sizes"]["steps"])
                block.attn.proj.weight.data.copy_(before)
                assert [seen["muted"][3 * layer + head] for seen in look["seen"]] == places
                changed += places != [seen["answer"] for seen in look["seen"]]
    assert changed


def test_the_page_has_what_was_found(found):
    """A text cannot end its data."""
    found["chars"][5] = "</script><b>"
    text = page(found)
    assert Page(text).balanced
    facts = json.loads(re.search(r'id="facts">(.*?)</script>', text, re.DOTALL)[1])
    assert facts["chars"] == found["chars"]
    for shown, look in zip(facts["looks"], found["looks"], strict=True):
        assert (shown["seen"] is None) == (look["seen"] is None)
        for person, seen in zip(shown["seen"] or (), look["seen"] or (), strict=True):
            assert person["tokens"] == seen["tokens"] and person["muted"] == [*seen["muted"]]
            for what in ("attention", "next"):
                got = torch.tensor(person[what]) / 10_000
                assert torch.allclose(got, seen[what], atol=0.51 / 10_000, rtol=0)


def test_without_weights_it_says_what_makes_them(tmp_path):
    process = call(run.main, "look", "--submission", SOLUTION, "--out", tmp_path)
    assert process.returncode == 2 and "./run.sh vanilla_finetune_w" in process.stderr
    assert not any(tmp_path.iterdir())


def test_what_is_missing_or_wrong_is_left_out_and_named(models, tmp_path):
    shutil.copy(RESULTS / "vanilla.model.params", tmp_path)  # of another size
    state = torch.load(tmp_path / WEIGHTS["vanilla"])
    state["head.weight"][1, 2] = torch.nan
    torch.save(state, tmp_path / WEIGHTS["vanilla"])
    found = find(options_for(tmp_path))
    assert shown(found) == ["learned positions, untrained", "RoPE, untrained", "RoPE, finetuned"]
    said = "\n".join(found["missing"])
    assert "./run.sh rope_pretrain makes it" in said and "another size" in said
    assert "head.weight: its training diverged" in said
    assert all(sentence in page(found) for sentence in found["missing"][:1])
    (tmp_path / WEIGHTS["rope"]).write_bytes(b"damaged")
    with pytest.raises(UserError, match="another size|diverged|damaged"):
        find(options_for(tmp_path))


def test_a_model_whose_code_fails_costs_the_page_that_model_only(models, code, tmp_path):
    folder = code(Edit("attention.py", "= rope_cache[:T]", "= rope_cache[: T - 1]"))
    lines = (folder / "attention.py").read_text(encoding="utf-8").splitlines()
    at = 1 + next(i for i, line in enumerate(lines) if "rotated_x = torch.stack" in line)
    found = find(options_for(tmp_path, folder))
    assert shown(found) == ["learned positions, untrained", "learned positions, finetuned"]
    why = f"attention.py, line {at}: RuntimeError: "
    (said,) = (said for said in found["missing"] if said.startswith("RoPE, finetuned: a"))
    assert said.startswith(f"RoPE, finetuned: {why}") and len(said.splitlines()) == 1
    (tmp_path / WEIGHTS["vanilla"]).unlink()
    with pytest.raises(UserError, match=f"^{why}") as caught:
        find(options_for(tmp_path, folder))
    assert caught.value.exit_code == 1


def test_code_that_hides_its_weights_is_shown_without_them(models, code, tmp_path):
    hides = Edit("attention.py", "self.attn_drop(F.softmax(att, dim=-1))", "F.softmax(att, dim=-1)")
    found = find(options_for(tmp_path, code(hides)))
    for seen in (seen for look in found["looks"] for seen in look["seen"] or ()):
        assert seen["attention"] is None and len(seen["muted"]) == 6
    assert '"attention":null' in page(found)


def test_a_model_that_is_too_large_is_not_asked_names(models, tmp_path, monkeypatch):
    monkeypatch.setattr(command, "MOST_IN_PAGE", 10_000)
    text = page(find(options_for(tmp_path)))
    assert "RoPE, finetuned, for a name of your own: with 0.0 million parameters, it is too" in text
    assert "no finetuned model that it can run" in text and '<input id="name"' not in text


def test_a_finetuning_leads_to_the_page_which_is_not_handed_in(demo, tmp_path):
    options = ["--submission", str(demo.code), "--out", str(demo.folder)]
    leads = f"A page to play with: {shlex.join(['./run.sh', 'look', *options])}\n"
    assert demo.printed.count(leads) == 3
    shutil.copy(demo.folder / "vanilla.model.params", tmp_path)  # the preset follows from it
    process = call(run.main, "look", "--submission", SOLUTION, "--out", tmp_path)
    assert process.returncode == 0, process.stderr
    assert f"Wrote {tmp_path / 'look.html'}" in process.stdout and "Preset smoke" in process.stdout
    assert "RoPE, finetuned: ./run.sh rope_finetune_with_pretrain makes it." in process.stdout
    assert LOOK.writes == "look.html" and LOOK.writes not in DELIVERABLES
