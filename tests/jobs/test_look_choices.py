"""The page of ./run.sh look in a browser: what it says, and reads out, after a choice."""

import pytest

from browser import opened
from looks import references

pytestmark = pytest.mark.full


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """What is found in the reference's results, and its page."""
    return references(tmp_path_factory.mktemp("kept"))


def test_an_answer_is_read_out_once(browser, kept):
    watching = """() => { window.read = 0; for (const id of ["verdict", "without"])
      new MutationObserver(all => { window.read += all.length; }).observe($(id),
        { childList: true, characterData: true, subtree: true }); }"""
    with opened(browser, kept[1]) as tab:
        tab.evaluate("ready")
        tab.evaluate(watching)
        letter = tab.locator("#letters [aria-checked=true]")
        letter.press("ArrowRight")
        tab.keyboard.press("ArrowLeft")
        assert tab.evaluate("read") == 0
        tab.locator(".mute").first.press("Enter")
        assert tab.evaluate("read") > 0


def asked(tab, name):
    tab.fill("#name", name)
    tab.locator("#name").press("Enter")


def test_the_page_says_when_it_shows_another_person_or_model(browser, kept):
    only = "Names of your own are answered by finetuned models only; this shows "
    own = "shown.question === 'Where was Ada Lovelace born?'"
    with opened(browser, kept[1]) as tab:
        tab.evaluate("ready")
        first = tab.evaluate("nameIn(facts.people[0].question)")
        tab.locator("[name=stage][value=untrained]").check()
        asked(tab, "Ada Lovelace")
        tab.wait_for_function(own)
        assert tab.inner_text("#note") == f"{only}RoPE, finetuned."
        tab.locator("[name=stage][value=untrained]").check()
        assert tab.inner_text("#note") == f"{only}{first}."
        assert first in tab.inner_text("#verdict")
        tab.locator("[name=stage][value=finetuned]").check()
        tab.wait_for_function(own)
        assert tab.inner_text("#note") == ""


def test_a_note_goes_with_the_next_choice(browser, kept):
    with opened(browser, kept[1]) as tab:
        tab.evaluate("ready")
        for choice in (
            lambda: tab.locator("#person").select_option("3"),
            lambda: tab.locator("[name=positions][value=vanilla]").check(),
        ):
            asked(tab, "Ada €")
            assert "no token" in tab.inner_text("#note")
            choice()
            assert tab.inner_text("#note") == ""


def test_a_listed_name_is_the_listed_person(browser, kept):
    found, path = kept
    with opened(browser, path) as tab:
        tab.evaluate("ready")
        asked(tab, tab.evaluate("nameIn(facts.people[5].question)"))
        tab.wait_for_function("state.person === 5")
        assert found.people[5][0] in tab.inner_text("#verdict")
        assert "only you know" not in tab.inner_text("#verdict")
        assert tab.locator("#person option").count() == len(found.people)


def test_letters_are_chosen_by_vertical_arrows_too(browser, kept):
    with opened(browser, kept[1]) as tab:
        tab.evaluate("ready")
        before = tab.evaluate("state.letter")
        tab.locator("#letters [aria-checked=true]").press("ArrowDown")
        assert tab.evaluate("state.letter") == before + 1
        tab.keyboard.press("ArrowUp")
        tab.keyboard.press("ArrowUp")
        assert tab.evaluate("state.letter") == before - 1
