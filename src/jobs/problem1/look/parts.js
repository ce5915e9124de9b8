// Parts of the page: texts, cells, shades, the table; `facts`, `state` and `shown` are page.js's.

async function unpack(id) {
  const packed = Uint8Array.from(atob($(id).textContent), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

// Another content, unless it has the same text: screen readers read out every change.
function replace(element, ...children) {
  const fresh = make("div", {}, ...children);
  if (fresh.textContent !== element.textContent) element.replaceChildren(...fresh.childNodes);
}

// A token as text, as an element, and as a screen reader says it. PAD is 0, MASK is 1.
const NAMES = { 0: ["·", "pad", "padding"], 1: ["M", "mask", "mask"] };
const SIGNS = { " ": ["␣", "space", "space"], "\n": ["⏎", "space", "line break"] };
const named = token => NAMES[token] || SIGNS[facts.chars[token]] || [facts.chars[token], "", ""];
const glyph = token => make("span", { className: named(token)[1], textContent: named(token)[0] });
const spoken = token => named(token)[2] || facts.chars[token];
const percent = share => share < 0.001 ? "<0.1%" : `${(100 * share).toFixed(share < 0.1 ? 1 : 0)}%`;
const title = (layer, head) => `layer ${layer + 1}, head ${head}`;
const said = answer => answer || "nothing";

// The shares of attention as shades and titles; without any, and after the chosen letter, none. The
// power makes small shares visible.
function shade(cells, shares) {
  cells.forEach((cell, t) => {
    const later = shares && t >= shares.length;
    cell.style.setProperty("--weight", shares && !later ? (shares[t] ** 0.6).toFixed(3) : 0);
    cell.classList.toggle("later", Boolean(later));
    cell.title = !shares ? "" : later ? "later, hidden" : percent(shares[t]);
  });
}

// An answer in cells; each is marked by whether it is the other answer's letter at this place.
function letters(text, other) {
  const cells = [...text].map((c, i) => make("span", { textContent: c === " " ? "␣" : c,
    className: other === null ? "" : c === [...other][i] ? "good" : "bad" }));
  const row = make("span", { className: "cells text", ariaHidden: "true" }, ...cells);
  return make("dd", {}, row, make("span", { className: "spoken", textContent: said(text) }));
}

// The table of all heads, from the chosen letter.
function table() {
  const { tokens, attention, muted } = shown;
  const cell = (tag, content, scope) => {
    const element = make(tag, {}, content);
    if (scope) element.scope = scope;
    return element;
  };
  const columns = ["Layer", "Head", "Most on", "Then on", "Then on"];
  if (muted) columns.push("Without it");
  const rows = heads().map(([l, h]) => {
    const shares = attention(l, h, state.letter);
    const order = shares.map((_, t) => t).sort((a, b) => shares[b] - shares[a]);
    const tops = [0, 1, 2].map(i => order[i] === undefined ? "" :
      `${spoken(tokens[order[i]])} (${order[i] + 1}), ${percent(shares[order[i]])}`);
    const last = muted ? [muted[l][h] === undefined ? "…" : said(muted[l][h])] : [];
    return make("tr", {}, cell("th", l + 1, "row"), cell("th", h, "row"),
      ...[...tops, ...last].map(text => cell("td", text)));
  });
  $("table").replaceChildren(
    make("caption", { textContent: `From letter ${state.letter + 1}, ` +
      `${spoken(tokens[state.letter])}: letters with their numbers and shares` }),
    make("thead", {}, make("tr", {}, ...columns.map(text => cell("th", text, "col")))),
    make("tbody", {}, ...rows));
}
