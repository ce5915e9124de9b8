"""The page look.html: what command.py found, packed, and the page's frame. page.js fills it in;
ask.js and model.js answer for names that are typed in.
"""

import base64
import json
import zlib
from html import escape
from pathlib import Path

import torch

from common.pages import document
from jobs.problem1.look.data import MOST_IN_PAGE, POSITIONS, STAGES, Found

SCRIPTS = ("model.js", "ask.js", "parts.js", "page.js")
CSS = (Path(__file__).with_name("page.css")).read_text(encoding="utf-8")
NAMES = {"vanilla": "learned", "rope": "RoPE"}  # of the positions, on buttons


def page(found: Found) -> str:
    """The page's HTML, from what look.find() found."""
    sections = {
        "What it says": ANSWER,
        "Where each head looks": HEADS,
        "The same as a table": TABLE,
    }
    if found.missing:
        items = "".join(f"<li>{escape(sentence)}</li>" for sentence in found.missing)
        sections["What is not in this page"] = f"<ul>{items}</ul>"
    top = f"""<h1>Where does your model look?</h1>
<noscript><p>This page needs JavaScript.</p></noscript>
<form id="controls" aria-label="What to look at">
{radios("positions", "Positions", NAMES, {look.positions for look in found.looks})}
{radios("stage", "Training", dict(zip(STAGES, STAGES)), {look.stage for look in found.looks})}
<p class="field"><label for="person">A person of dev</label>
<select id="person"></select></p>
{name_field(found)}
</form>
<p id="note" role="status"></p>"""
    footer = (
        "Answers, probabilities and attention weights are those of your own code; a head is muted "
        "by zeros in its place before <code>proj</code>. Layers count from 1, heads from 0."
    )
    script = "\n".join(
        (Path(__file__).with_name(name)).read_text(encoding="utf-8") for name in SCRIPTS
    )
    html = document("Where does your model look?", top, sections, footer, CSS, script)
    return html.replace("</main>", "</main>\n" + "\n".join(blobs(found)))


ANSWER = """<p id="verdict" aria-live="polite"></p>
<p class="hint" id="hint">Choose a letter: click, or <kbd>←</kbd> <kbd>→</kbd>. The stronger
another letter's shade, the more the chosen one attends to it, in <b id="shown"></b>.</p>
<div id="above"><div id="letters" role="radiogroup" aria-label="Letters" aria-describedby="hint">
</div><p id="without" role="status"></p></div>
<div class="plots"><div><h3 id="after"></h3>
<ol id="likeliest"></ol></div>
<div><h3>Letter by letter</h3>
<dl id="compare"></dl></div></div>"""
HEADS = """<p>The letters are shaded by how much the chosen one, which is framed, attends to them.
Choose a head to see it large; mute one to see whether the answer survives without it.</p>
<p id="needed"></p>
<div id="heads"></div>"""
TABLE = """<details><summary>What each head looks at most, and what the model says without it
</summary><div class="scroll" tabindex="0" role="region" aria-label="Table of heads">
<table id="table"></table></div></details>"""


def radios(name: str, legend: str, choices: dict[str, str], there: set[str]) -> str:
    """A group of buttons of which one is pressed; those that are nowhere there can't be."""
    buttons = "".join(
        f'<label><input type="radio" name="{name}" value="{value}"'
        f"{'' if value in there else ' disabled'}><span>{escape(text)}</span></label>"
        for value, text in choices.items()
    )
    return f'<fieldset><legend>{legend}</legend><div class="buttons">{buttons}</div></fieldset>'


def name_field(found: Found) -> str:
    """The field for a name that is not in the list, or why there is none."""
    if any(look.weights for look in found.looks):
        return """<p class="field"><label for="name">Or a name of your own</label>
<span class="ask"><input id="name" autocomplete="off" spellcheck="false">
<button>Ask</button></span></p>"""
    count = found.sizes["parameters"]
    why = (
        f"with {count / 1e6:.1f} million parameters, the model is too large to be part of a page"
        if count > MOST_IN_PAGE
        else "the page has no finetuned model that it can run; see its end for why"
    )
    return f'<p class="field"><span>A name of your own</span><span>Not here: {why}.</span></p>'


def blobs(found: Found) -> list[str]:
    """The data of the page: compressed, in base64, in script elements that browsers don't run."""
    models, parts = [], []
    for look in found.looks:
        number = len(models)
        models.append(
            {
                "positions": look.positions,
                "stage": look.stage,
                "name": f"{POSITIONS[look.positions]}, {look.stage}",
                "people": [
                    {
                        "tokens": seen.tokens,
                        "answer": seen.answer,
                        "likeliest": [
                            [[token, round(share, 4)] for token, share in after]
                            for after in seen.likeliest
                        ],
                        "muted": seen.muted,
                    }
                    for seen in look.seen
                ],
                "attention": all(seen.attention is not None for seen in look.seen),
                "weights": look.weights
                and [[name, value.numel()] for name, value in look.weights.items()],
            }
        )
        if models[-1]["attention"]:
            rows = b"".join(attention_bytes(seen.attention) for seen in look.seen)
            parts.append(blob(f"attention-{number}", rows))
        if look.weights:
            halves = torch.cat([value.flatten() for value in look.weights.values()]).half()
            parts.append(blob(f"weights-{number}", halves.numpy().astype("<f2").tobytes()))
    if found.rotations is not None:
        matrices = found.rotations.float().contiguous().numpy().astype("<f4")
        parts.append(blob("rotations", matrices.tobytes()))
    facts = {
        "chars": found.chars,
        "sizes": found.sizes,
        "people": [{"question": question, "place": place} for question, place in found.people],
        "models": models,
    }
    return [blob("facts", json.dumps(facts).encode("utf-8")), *parts]


def attention_bytes(attention: torch.Tensor) -> bytes:
    """Weights (n_layer, n_head, T, T) as bytes from 0 to 255: for each layer and head, row t has
    the weights of position t over positions 0 to t.
    """
    T = attention.size(-1)
    rows = attention[..., *torch.tril_indices(T, T)]
    return (rows.clamp(0, 1) * 255).round().to(torch.uint8).numpy().tobytes()


def blob(name: str, content: bytes) -> str:
    """An element with compressed data."""
    text = base64.b64encode(zlib.compress(content, 9)).decode("ascii")
    return f'<script type="application/octet-stream" id="{name}">{text}</script>'
