"""The page look.html: page.js shows what command.find() found, model.js answers for new names."""

import json
from html import escape
from pathlib import Path

from common.pages import document, table

TITLE = "Where does your model look?"
FOOTER = (
    "Answers, probabilities and attention weights are those of your own code; a head is muted "
    "by zeros in its columns of <code>proj.weight</code>. Layers count from 1, heads from 0."
)


def page(facts: dict) -> str:
    """The page's HTML, from what command.find() found."""
    models = {look["positions"]: "" for look in facts["looks"]}
    for i, look in enumerate(facts["looks"]):
        radio = f'<input type="radio" name="model" value="{i}"{" disabled" * (not look["seen"])}>'
        models[look["positions"]] += f"<label>{radio} {look['stage']}</label>\n"
    fieldsets = "".join(
        f"<fieldset><legend>{positions}</legend>\n{labels}</fieldset>\n"
        for positions, labels in models.items()
    )
    n_head = facts["sizes"]["n_head"]
    heads = [
        [
            f'<label id="head-{i}"><input type="radio" name="head" value="{i}"> '
            f"Layer {i // n_head + 1}, head {i % n_head}</label>",
            '<span class="text" aria-hidden="true"></span>',
            *[""] * 3,
            f'<label><input type="radio" name="mute" value="{i}" '
            f'aria-labelledby="head-{i} mute-{i}"> <span id="mute-{i}"></span></label>',
        ]
        for i in range(facts["sizes"]["n_layer"] * n_head)
    ]
    head = ["Head", "Attends to", "Most to", "Then to", "Then to", "Mute it"]
    caption = "From the chosen letter: letters with their numbers and shares"
    name_field = '<input id="name" spellcheck="false"> <button>Ask</button>'
    if not any(look["weights"] for look in facts["looks"]):
        name_field = "Not here: the page has no finetuned model that it can run; see its end."
    missing = "".join(f"<li>{escape(sentence)}</li>\n" for sentence in facts["missing"])
    # probabilities, which are in tensors, in hundredths of a percent
    blob = json.dumps(
        facts,
        default=lambda tensor: (10000 * tensor).nan_to_num().round().int().tolist(),
        separators=(",", ":"),
    ).replace("<", "\\u003c")
    form = f"""<form id="look" autocomplete="off">
<h1>{TITLE}</h1>
<div class="controls">
{fieldsets}<p><label for="person">A person of dev</label><select id="person"></select></p>
<p><label for="name">Or a name of your own</label>{name_field}</p>
</div>
<p id="note" role="status">This page needs JavaScript and a browser from 2023 or later.</p>
<h2>What it says</h2>
<p id="verdict" aria-live="polite"></p>
<p class="muted">Choose a letter: click it, or move the slider. The stronger another letter's shade,
the more the chosen one attends to it, in <b id="shown"></b>.</p>
<div class="above"><div id="letters" class="text"></div>
<input type="range" name="letter" min="0" aria-label="Letter">
<p><label><input type="radio" name="mute" value="" checked> with all heads:</label>
<span id="all"></span></p>
<p id="without" role="status"></p>
<p id="right"></p></div>
<h3 id="after"></h3>
<ol id="likeliest"></ol>
<h2>Where each head looks</h2>
<p>The letters are shaded by how much the chosen one, which is framed, attends to them. Choose a
head to see it large; mute one to see whether the answer survives without it.</p>
<p id="summary"></p>
<div id="heads">{table(caption, head, heads)}</div>
</form>
{missing and f"<h2>What is not in this page</h2><ul>{missing}</ul>"}
<script type="application/json" id="facts">{blob}</script>"""
    css, *scripts = (
        Path(__file__).with_name(name).read_text(encoding="utf-8")
        for name in ("page.css", "model.js", "page.js")
    )
    return document(TITLE, form, {}, FOOTER, css, "".join(scripts))
