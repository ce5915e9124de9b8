"""The page of ./run.sh look in a browser: by keyboard, its own arithmetic, and for everybody."""

import re

import pytest
import torch

from browser import opened, violations
from jobs.problem1.answers import predict_places
from jobs.problem1.look.command import find
from looks import dataset_of, make_models, options_for, references, written

pytestmark = pytest.mark.full
LOGITS = """async ([index, tokens]) => {
  await ready;
  const { weights, rotations } = await load(index);
  const reader = new Reader(facts.sizes, weights, rotations);
  return tokens.map(token => {
    const { logits, attention } = reader.read(token);
    return [Array.from(logits), attention.map(layer => layer.map(row => Array.from(row)))];
  });
}"""


@pytest.fixture
def dataset(submission):
    return dataset_of(submission)


@pytest.fixture
def models(submission, seed, tmp_path):
    return make_models(submission, tmp_path)


@pytest.fixture
def found(models, tmp_path):
    return find(options_for(tmp_path))


def test_the_model_in_the_page_is_torchs(browser, found, models, tmp_path):
    """Logits and attention weights, to 1e-4."""
    tokens = torch.randint(len(found.chars), (80,)).tolist()
    with opened(browser, written(found, tmp_path)) as tab:
        for index, look in enumerate(found.looks):
            if not look.weights:
                continue
            model, weights = models[look.positions], []
            for block in model.blocks:
                block.attn.attn_drop.register_forward_hook(lambda *args: weights.append(args[2][0]))
            with torch.no_grad():
                expected = model(torch.tensor([tokens]))[0][0]
            logits, attention = zip(*tab.evaluate(LOGITS, [index, tokens]))
            assert torch.allclose(torch.tensor(logits).float(), expected, atol=1e-4, rtol=0)
            for t, layers in enumerate(attention):
                rows = torch.stack([layer[:, t, : t + 1] for layer in weights])
                assert torch.allclose(torch.tensor(layers).float(), rows, atol=1e-4, rtol=0)


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """What is found in the reference's results, and its page."""
    return references(tmp_path_factory.mktemp("kept"))


def test_letters_are_chosen_by_keys(browser, kept):
    found, path = kept
    with opened(browser, path) as tab:
        tab.evaluate("ready")
        look = found.looks[tab.evaluate("state.model")]
        assert (look.positions, look.stage) == ("rope", "finetuned")
        seen, (question, place) = look.seen[0], found.people[0]
        assert f"{question} {seen.answer} ✓ right" in tab.inner_text("#verdict")
        tab.locator("summary").press("Enter")
        before = tab.inner_text("#table")
        assert f"From letter {len(question) + 1}, mask" in before
        tab.locator("#letters [aria-checked=true]").press("ArrowRight")
        at = len(question) + 1
        after = tab.inner_text("#table")
        assert f"From letter {at + 1}, {place[0]}" in after and after != before
        assert tab.evaluate("document.activeElement.getAttribute('aria-checked')") == "true"
        assert place[1] in tab.inner_text("#likeliest li:first-child")
        for layer in range(2):
            for head in range(8):
                share, most = seen.attention[layer, head, at, : at + 1].max(0)
                row = tab.locator("#table tbody tr").nth(8 * layer + head).inner_text()
                number, shown = re.search(r"\((\d+)\), <?([\d.]+)%", row).groups()
                assert float(shown) == pytest.approx(100 * share.item(), abs=0.8)
                assert seen.attention[layer, head, at, int(number) - 1] > share - 1 / 250
        tab.keyboard.press("Home")
        assert "From letter 1, W" in tab.inner_text("#table")
        tab.keyboard.press("ArrowLeft")
        assert "From letter 1, W" in tab.inner_text("#table")


def test_models_people_and_heads_are_chosen_by_keys(browser, kept):
    found, path = kept
    with opened(browser, path) as tab:
        tab.evaluate("ready")
        tab.locator("[name=stage]:checked").press("ArrowLeft")  # pretrained is missing
        assert tab.evaluate("models[state.model].stage") == "untrained"
        tab.locator("[name=stage]:checked").press("ArrowRight")
        tab.locator("[name=positions]:checked").press("ArrowLeft")
        look = found.looks[tab.evaluate("state.model")]
        assert (look.positions, look.stage) == ("vanilla", "finetuned")
        tab.locator("#person").select_option("4")
        seen, question = look.seen[4], found.people[4][0]
        assert question in tab.inner_text("#verdict") and seen.answer in tab.inner_text("#verdict")
        for row, answer in enumerate(answer for layer in seen.muted for answer in layer):
            tab.locator(".mute").nth(row).press("Enter")
            sign, end = ("✓", "survives") if answer == seen.answer else ("✗", "changes")
            said = f"layer {row // 8 + 1}, head {row % 8}: {sign} {answer}, the answer {end}"
            assert tab.text_content("#without") == f"without {said}"
        tab.locator(".mute").nth(row).press("Enter")
        assert tab.text_content("#without") == f"with all heads: {seen.answer}"
        tab.locator(".see").nth(5).press("Enter")
        assert tab.inner_text("#shown") == "layer 1, head 5"
        right = sum(seen.answer == place for seen, (_, place) in zip(look.seen, found.people))
        assert f"answers {right} of these 12 people right" in tab.inner_text("#needed")


def test_other_names_are_answered_in_the_page(browser, found, models, dataset, tmp_path):
    question = "Where was Ada Lovelace born?"
    with opened(browser, written(found, tmp_path)) as tab:
        tab.evaluate("ready")
        for index, look in enumerate(found.looks):
            if not look.weights:
                continue
            tab.locator(f"[name=positions][value={look.positions}]").check()
            tab.fill("#name", "Ada Lovelace")
            tab.locator("#name").press("Enter")
            tab.wait_for_function(
                "([q, i]) => shown.question === q && state.model === i && "
                "shown.muted.every(layer => layer.filter(x => x !== undefined).length === 3)",
                arg=[question, index],
            )
            model, steps = models[look.positions], found.sizes["steps"]
            (place,) = predict_places(model, [question], dataset, steps=steps)
            assert tab.evaluate("shown.answer") == place
            model.blocks[1].attn.proj.weight.data[:, 16:] = 0
            (place,) = predict_places(model, [question], dataset, steps=steps)
            assert tab.evaluate("shown.muted")[1][2] == place
        for name, why in (("Ada €", "no token for “€”"), ("A" * 63, "too long")):
            tab.fill("#name", name)
            tab.locator("#name").press("Enter")
            assert why in tab.inner_text("#note")


def test_a_page_that_computes_otherwise_than_the_code_says_so(browser, found, tmp_path):
    found.rotations = torch.eye(8).repeat(80, 1, 1)
    with opened(browser, written(found, tmp_path)) as tab:
        tab.evaluate("ready")
        tab.locator("[name=positions][value=rope]").check()
        tab.fill("#name", "Ada")
        tab.locator("#name").press("Enter")
        tab.wait_for_function("document.getElementById('note').textContent")
        assert "can't answer for your model" in tab.inner_text("#note")


def test_what_a_page_lacks_is_said_in_it(browser, found, tmp_path):
    for look in found.looks:
        look.weights = None
        for seen in look.seen:
            seen.attention = seen.muted = None
    found.sizes["parameters"] = 3_300_000
    with opened(browser, written(found, tmp_path)) as tab:
        tab.evaluate("ready")
        assert "3.3 million parameters, the model is too large" in tab.inner_text("#controls")
        assert "attn_drop" in tab.inner_text("#heads") and not tab.locator("#table").is_visible()
        tab.keyboard.press("ArrowRight")
        assert violations(tab) == []
