"""Pages that jobs write, in a real browser: WCAG 2.1 AA, keys, and their own arithmetic."""

import re

import pytest
import torch

from browser import SIZES, opened, sideways, smallest_text, violations
from helpers import SOLUTION
from jobs.package import load_submission
from jobs.problem1.answers import predict_places
from jobs.problem5 import report as encoder_report
from jobs.problem6.broken_training import write_page
from jobs.problem6.dashboard import page
from jobs.problem6.practice import practice_monitor
from jobs.targets import TARGETS
from looks import references, written
from test_debugging import CASES, FIXES, shrink
from test_encoder_jobs import odd_numbers
from test_monitor import records_that_learn

pytestmark = pytest.mark.full


def dashboard(folder):
    alarms = [("exploding_loss", 5000, "It rises."), ("dead_attention", 7000, "Head 3." + "x" * 99)]
    header = {"total_steps": 12_500, "reference_loss": 0.5}
    html = page(header, records_that_learn(), alarms)
    (folder / "page.html").write_text(html, encoding="utf-8")


def debugging(name):
    def build(folder):
        write_page(TARGETS[name], 0, CASES[name](load_submission(SOLUTION, FIXES), 0), folder)

    return build


def practice(folder):
    practice_monitor(load_submission(SOLUTION, "problem6/diagnostics.py"), folder)


def report(folder):
    html = encoder_report.page(*odd_numbers(), seed=0, seconds=1.5)
    (folder / "page.html").write_text(html, encoding="utf-8")


def look(folder):
    """Without weights to compute with, and without attention, the page says so."""
    found, _ = references(folder)
    for shown in found["looks"]:
        shown["weights"] = None
        for seen in shown["seen"] or ():
            seen["attention"] = None
    written(found, folder)


@pytest.fixture(
    scope="module", params=[dashboard, *map(debugging, CASES), practice, report, references, look]
)
def path(request, tmp_path_factory):
    """Each page, of trainings at a fraction of their size."""
    folder = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        shrink(patch)
        request.param(folder)
    (page,) = folder.glob("*.html")
    return page


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_is_for_everybody(browser, path, size, scheme):
    with opened(browser, path, size, scheme, reduced_motion="reduce") as tab:
        tab.evaluate("typeof ready === 'undefined' || ready")
        for closed in tab.locator("summary").all():
            closed.click()
        assert violations(tab) == [] and sideways(tab) <= 0 and smallest_text(tab) >= 9.4
        boxes = tab.locator(".scroll").all()
        assert all(box.get_attribute("tabindex") == "0" for box in boxes)


def test_letters_models_people_and_heads_are_chosen_by_keys(browser, tmp_path):
    found, path = references(tmp_path)
    with opened(browser, path) as tab:
        look = found["looks"][chosen(tab)]
        assert (look["positions"], look["stage"]) == ("RoPE", "finetuned")
        seen, (question, place) = look["seen"][0], found["people"][0]
        assert f"{question} {seen['answer']} ✓ right" in tab.inner_text("#verdict")
        slider, at, T = tab.locator("[name=letter]"), len(question), len(seen["tokens"])
        assert slider.get_attribute("aria-valuetext") == f"mask, {at + 1} of {T}"
        slider.press("ArrowRight")
        at += 1
        assert slider.get_attribute("aria-valuetext") == f"{place[0]}, {at + 1} of {T}"
        assert place[1] in tab.inner_text("#likeliest li:first-child")
        rows = tab.locator("#heads tbody tr").all_inner_texts()
        assert len(rows) == len(seen["attention"]) == 2 * 8
        for row, shares in zip(rows, seen["attention"][:, at, : at + 1]):
            number, percent = re.search(r"\((\d+)\), <?([\d.]+)%", row).groups()
            assert float(percent) == pytest.approx(100 * shares.max().item(), abs=0.51)
            assert shares[int(number) - 1] > shares.max() - 1 / 5000
        tab.keyboard.press("Home")
        assert tab.locator("#letters .chosen").inner_text() == "W"
        # with the mouse, and on by the keys
        tab.locator("#heads [data-letter='5']").nth(2).click()
        tab.keyboard.press("ArrowRight")
        assert slider.input_value() == "6"
        for _ in range(3):  # pretrained is missing
            tab.locator("[name=model]:checked").press("ArrowLeft")
        look = found["looks"][chosen(tab)]
        assert (look["positions"], look["stage"]) == ("learned positions", "finetuned")
        tab.locator("#person").select_option("4")
        seen, question = look["seen"][4], found["people"][4][0]
        assert question in tab.inner_text("#verdict") and tab.inner_text("#all") == seen["answer"]
        for head, without in enumerate(seen["muted"]):
            tab.locator("[name=mute]").nth(1 + head).press("Space")
            said = f"without layer {head // 8 + 1}, head {head % 8}: {without} "
            said += "✓" if without == seen["answer"] else "✗"
            assert said in " ".join(tab.text_content("#without").split())
        tab.locator("[name=head]").nth(5).press("Space")
        assert tab.inner_text("#shown") == "layer 1, head 5"
        answers = [
            seen["answer"] == place for seen, (_, place) in zip(look["seen"], found["people"])
        ]
        assert f"answers {sum(answers)} of these 12 people right" in tab.inner_text("#summary")


def chosen(tab) -> int:
    return int(tab.evaluate("form.model.value"))


def test_other_names_are_answered_in_the_page(browser, found, models, dataset, tmp_path):
    question = "Where was Ada Lovelace born?"
    with opened(browser, written(found, tmp_path)) as tab:
        for index, look in enumerate(found["looks"]):
            if not look["weights"]:
                continue
            tab.locator(f"[name=model][value='{index}']").check()
            tab.fill("#name", "Ada Lovelace")
            tab.locator("#name").press("Enter")
            tab.wait_for_function(
                "([q, i]) => people[person][0] === q && form.model.value == i && "
                "!looks[i].seen[person].muted.includes(null)",
                arg=[question, index],
            )
            model, steps = models[look["positions"]], found["sizes"]["steps"]
            (place,) = predict_places(model, [question], dataset, steps=steps)
            assert tab.evaluate("i => looks[i].seen[person].answer", index) == place
            assert f"{question} {place or 'nothing'}. Whether" in tab.inner_text("#verdict")
            model.blocks[1].attn.proj.weight.data[:, 16:] = 0
            (place,) = predict_places(model, [question], dataset, steps=steps)
            assert tab.evaluate("i => looks[i].seen[person].muted[5]", index) == place
        for name, why in (("Ada €", "no token for “€”"), ("A" * 63, "too long")):
            tab.fill("#name", name)
            tab.locator("#name").press("Enter")
            assert why in tab.inner_text("#note")
        # an untrained model isn't asked: the finetuned one with the same positions is
        tab.locator("#person").select_option("0")
        tab.locator("[name=model][value='0']").check()
        tab.fill("#name", "Ada Lovelace")
        tab.locator("form button").click()
        assert chosen(tab) == 2 and question in tab.inner_text("#verdict")
        assert "by finetuned models only" in tab.inner_text("#verdict")


def test_a_page_that_computes_otherwise_than_the_code_says_so(browser, found, tmp_path):
    (look,) = [look for look in found["looks"] if look["weights"] and look["positions"] == "RoPE"]
    look["weights"]["rotations"] = torch.eye(8).repeat(80, 1, 1).tolist()
    with opened(browser, written(found, tmp_path)) as tab:
        said = "can't answer for your model (RoPE, finetuned)"
        assert said in tab.inner_text("#note")
        tab.fill("#name", "Ada")
        tab.locator("#name").press("Enter")
        assert said in tab.inner_text("#note") and chosen(tab) == 2
