// The page: what look.py found is in elements of compressed data; this shows it, letter by letter.
"use strict";

const $ = id => document.getElementById(id);
const state = { model: 0, person: 0, letter: 0, layer: 0, head: 0, muted: null };
let facts, models, shown;   // shown: what the chosen model does with the chosen person, as of view()

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

// A token as text, as an element, and as a screen reader says it. PAD is 0, MASK is 1.
const NAMES = { 0: ["·", "pad", "padding"], 1: ["M", "mask", "mask"] };
const SIGNS = { " ": ["␣", "space", "space"], "\n": ["⏎", "space", "line break"] };
const named = token => NAMES[token] || SIGNS[facts.chars[token]] || [facts.chars[token], "", ""];
const glyph = token => make("span", { className: named(token)[1], textContent: named(token)[0] });
const spoken = token => named(token)[2] || facts.chars[token];
const percent = share => `${(100 * share).toFixed(share > 0 && share < 0.1 ? 1 : 0)}%`;
const title = (layer, head) => `layer ${layer + 1}, head ${head}`;
const said = answer => answer || "nothing";

// --- What is shown ---

const model = () => models[state.model];
const isOwn = () => state.person === facts.people.length;   // a name that was typed in
let own = null;                                             // its question, and its result by model

function view() {
  if (isOwn()) return own.results[state.model];
  const { question, place } = facts.people[state.person];
  const person = model().people[state.person], T = person.tokens.length;
  const size = tokens => facts.sizes.n_layer * facts.sizes.n_head * triangle(tokens.length);
  const before = model().people.slice(0, state.person);
  const start = before.reduce((sum, other) => sum + size(other.tokens), 0);
  const attention = (layer, head, t) => {
    const row = start + (layer * facts.sizes.n_head + head) * triangle(T) + triangle(t);
    return Array.from(model().bytes.subarray(row, row + t + 1), byte => byte / 255);
  };
  return { ...person, question, place, attention: model().attention && attention };
}

const triangle = n => n * (n + 1) / 2;
const heads = () => Array.from({ length: facts.sizes.n_layer * facts.sizes.n_head }, (_, i) =>
  [Math.floor(i / facts.sizes.n_head), i % facts.sizes.n_head]);

// Show another model or person: everything is made anew.
function show() {
  shown = view();
  for (const name of ["positions", "stage"])
    for (const input of document.getElementsByName(name)) {
      input.checked = input.value === model()[name];
      if (name === "stage")
        input.disabled = !find(model().positions, input.value);
    }
  $("person").replaceChildren(...facts.people.map(({ question, place }, i) => {
    const mark = model().people[i].answer === place ? "✓" : "✗";
    return new Option(`${mark} ${nameIn(question)}`, i, false, i === state.person);
  }), ...(own ? [new Option(`? ${nameIn(own.question)}`, facts.people.length, false, isOwn())] : []));
  state.letter = Math.min(state.letter, shown.tokens.length - 1);
  $("letters").replaceChildren(...words());
  $("heads").replaceChildren(...(shown.attention ? layers() : [make("p", { textContent:
    "Your attention doesn't pass its weights through attn_drop, as the given code does, so this " +
    "page can't see them." })]));
  $("table").parentElement.parentElement.hidden = !shown.attention;
  update();
}

const nameIn = question => question.replace(/^Where was (.*) born\?$/, "$1");
const find = (positions, stage) =>
  models.find(each => each.positions === positions && each.stage === stage);

// The letters as buttons, in words, so that lines break between them.
function words() {
  const result = [];
  shown.tokens.forEach((token, t) => {
    const end = t > 0 && [" ", "\n"].includes(facts.chars[shown.tokens[t - 1]]);
    if (t === 0 || end || token === 1) result.push(make("span", { className: "word" }));
    const button = make("button", { type: "button", onclick: () => choose(t) }, glyph(token));
    button.setAttribute("role", "radio");
    button.classList.add("text");
    button.classList.toggle("answer", t > shown.question.length);
    result.at(-1).append(button);
  });
  return result;
}

// The heads as cards, a grid for each layer.
function layers() {
  const grids = [];
  for (const [layer, head] of heads()) {
    if (head === 0)
      grids.push(make("h3", { textContent: `Layer ${layer + 1}` }), make("div", { className: "layer" }));
    const strip = make("span", { className: "strip text", ariaHidden: "true" },
      ...shown.tokens.map(token => make("span", {}, glyph(token))));
    const see = make("button", { type: "button", className: "see",
      onclick: () => { Object.assign(state, { layer, head }); update(); } }, make("span"), strip);
    const mute = make("button", { type: "button", className: "mute", onclick: () => {
      const again = state.muted && state.muted[0] === layer && state.muted[1] === head;
      state.muted = again ? null : [layer, head];
      update();
    } });
    grids.at(-1).append(make("div", { className: "head" }, see, mute));
  }
  return grids;
}

// Show another letter or head, or mute one.
function update() {
  const { tokens, attention, muted } = shown, { letter, layer, head } = state;
  verdict();
  $("after").replaceChildren("After ", make("span", { className: "text" }, glyph(tokens[letter])),
    `, letter ${letter + 1}, the likeliest next characters`);
  $("likeliest").replaceChildren(...shown.likeliest[letter].map(([token, share]) => {
    const bar = make("span", { className: "bar" });
    bar.style.width = `${100 * share}%`;
    const name = make("span", { className: "text" }, glyph(token));
    return make("li", {}, name, make("span", { className: "share", textContent: percent(share) }),
      make("span", {}, bar));
  }));
  $("shown").textContent = title(layer, head);
  shade([...$("letters").querySelectorAll("button")], attention && attention(layer, head, letter));
  $("letters").querySelectorAll("button").forEach((button, t) => {
    button.setAttribute("aria-checked", t === letter);
    button.tabIndex = t === letter ? 0 : -1;
    button.ariaLabel = `${spoken(tokens[t])}, ${t + 1} of ${tokens.length}` +
      (button.title ? `, ${button.title}` : "");
  });
  if (!attention) return;
  document.querySelectorAll(".head").forEach((card, i) => {
    const [l, h] = heads()[i], shares = attention(l, h, letter), [see, mute] = card.children;
    const most = argmax(shares), chosen = l === layer && h === head;
    const off = state.muted !== null && state.muted[0] === l && state.muted[1] === h;
    see.firstChild.replaceChildren(make("b", { textContent: `Head ${h}` }), " most on ",
      make("span", { className: "text" }, glyph(tokens[most])), ` ${percent(shares[most])}`);
    see.setAttribute("aria-pressed", chosen);
    see.setAttribute("aria-label", `Head ${h} of layer ${l + 1}, most on ${spoken(tokens[most])}, ` +
      percent(shares[most]));
    card.classList.toggle("chosen", chosen);
    card.classList.toggle("off", off);
    const spans = [...card.querySelectorAll(".strip > span")];
    shade(spans, shares);
    spans.forEach((span, t) => span.classList.toggle("from", t === letter));
    mute.hidden = muted === null;
    if (mute.hidden) return;
    const answer = muted[l][h], same = answer === shown.answer;
    mute.setAttribute("aria-pressed", off);
    mute.replaceChildren(off ? "muted: " : "mute: ", answer === undefined ? "…" : make("span",
      { className: same ? "good" : "bad", textContent: same ? "✓ survives" : `✗ ${said(answer)}` }));
    mute.setAttribute("aria-label", `Mute ${title(l, h)}: ` + (answer === undefined ? "computing" :
      same ? "the answer survives" : `it says ${said(answer)}`));
  });
  table();
}

// The shares of attention as shades and titles; without any, and after the chosen letter, none.
function shade(cells, shares) {
  cells.forEach((cell, t) => {
    const later = shares && t >= shares.length;
    cell.style.setProperty("--weight", shares && !later ? shares[t].toFixed(3) : 0);
    cell.classList.toggle("later", Boolean(later));
    cell.title = !shares ? "" : later ? "later, hidden" : percent(shares[t]);
  });
}

function verdict() {
  const { question, answer, place, muted } = shown, right = answer === place;
  const without = muted && state.muted && muted[state.muted[0]][state.muted[1]];
  const parts = [`${question} `, make("b", { textContent: said(answer) })];
  if (place !== null)
    parts.push(" ", make("b", { className: right ? "good" : "bad", textContent: right ? "✓ right" :
      `✗ wrong` }), right ? "." : `: the place is ${place}.`);
  else parts.push(". Whether that is right, only you know.");
  if (typeof without === "string") {
    const same = without === answer;
    parts.push(` Without ${title(...state.muted)}: `, make("b", { textContent: said(without) }), " ",
      make("b", { className: same ? "good" : "bad",
        textContent: same ? "✓ the answer survives" : "✗ the answer is lost" }), ".");
  }
  $("verdict").replaceChildren(...parts);
  const lines = [["model", answer, place]];
  if (place !== null) lines.push(["right", place, null]);
  if (typeof without === "string") lines.push([`without ${title(...state.muted)}`, without, answer]);
  $("compare").replaceChildren(...lines.flatMap(([who, text, other]) => [
    make("dt", { textContent: who }), letters(text, other)]));
  $("needed").textContent = needed();
}

// An answer in cells; each is marked by whether it is the other answer's letter at this place.
function letters(text, other) {
  const cells = [...text].map((c, i) => make("span", { textContent: c === " " ? "␣" : c,
    className: other === null ? "" : c === [...other][i] ? "good" : "bad" }));
  const row = make("span", { className: "cells text", ariaHidden: "true" }, ...cells);
  return make("dd", {}, row, make("span", { className: "spoken", textContent: said(text) }));
}

// How many of the people are answered right, and which head is needed most.
function needed() {
  const people = model().people, right = answerOf => facts.people.filter(
    ({ place }, i) => answerOf(people[i]) === place).length;
  const all = right(person => person.answer);
  let text = `This model answers ${all} of these ${people.length} people right.`;
  if (all === 0) return text;
  if (people[0].muted === null) return `${text} No head can be muted: your attention doesn't call ` +
    "proj as the given code does.";
  const counts = heads().map(([l, h]) => right(person => person.muted[l][h]));
  const least = argmax(counts.map(count => -count));
  return `${text} The head that it needs most is ${title(...heads()[least])}: without it, ` +
    `${counts[least]}.`;
}

function table() {
  const { tokens, attention, muted } = shown;
  const cell = (tag, content, scope) => {
    const element = make(tag, {}, content);
    if (scope) element.scope = scope;
    return element;
  };
  const columns = ["Layer", "Head", "Most on", "Then on", "Then on", ...(muted ? ["Without it"] : [])];
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

// --- What is chosen ---

function choose(letter, focus = false) {
  state.letter = Math.max(0, Math.min(shown.tokens.length - 1, letter));
  update();
  if (focus) $("letters").querySelectorAll("button")[state.letter].focus();
}

function chooseModel(index) {
  state.model = index;
  if (isOwn() && !model().weights) state.person = 0;
  if (isOwn()) return ask(own.question);
  show();
}

function choosePerson(index) {
  state.person = index;
  if (isOwn() && !own.results[state.model]) return ask(own.question);
  const question = isOwn() ? own.question : facts.people[index].question;
  state.letter = question.length;   // the MASK, after which the answer begins
  show();
}

document.addEventListener("keydown", event => {
  const inside = $("letters").contains(event.target);
  if (!shown || event.ctrlKey || event.metaKey || event.altKey) return;
  if (!inside && event.target !== document.body) return;
  const to = { ArrowLeft: state.letter - 1, ArrowRight: state.letter + 1, Home: 0, End: Infinity };
  if (!(event.key in to)) return;
  event.preventDefault();
  choose(to[event.key], true);
});

$("person").addEventListener("change", event => choosePerson(Number(event.target.value)));
$("controls").addEventListener("change", event => {
  if (event.target.name === "stage")
    chooseModel(models.indexOf(find(model().positions, event.target.value)));
  if (event.target.name === "positions") {
    const same = models.filter(each => each.positions === event.target.value);
    chooseModel(models.indexOf(same.find(each => each.stage === model().stage) || best(same)));
  }
});
$("controls").addEventListener("submit", event => {
  event.preventDefault();
  if ($("name") && $("name").value.trim()) ask(`Where was ${$("name").value.trim()} born?`);
});
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(
  details => { details.open = true; }));

// The model to begin with.
const best = some => some.findLast(each => each.stage === "finetuned") || some.at(-1);

// --- A name that is typed in: the model runs here ---

function note(text) {
  $("note").textContent = text;
}

// Numbers of 16 bits, as torch's half.
function halves(bytes) {
  return Float32Array.from(new Uint16Array(bytes.buffer), bits => {
    const exponent = bits >> 10 & 31, fraction = bits & 1023, sign = bits & 32768 ? -1 : 1;
    return sign * (exponent ? (1 + fraction / 1024) * 2 ** (exponent - 15) : fraction * 2 ** -24);
  });
}

// The weights by name, and RoPE's rotations; null if with them this page's own arithmetic does not
// give what the student's code gave.
async function load(index) {
  const each = models[index];
  if (each.loaded !== undefined) return each.loaded;
  const flat = halves(await unpack(`weights-${index}`)), weights = {};
  let start = 0;
  for (const [name, size] of each.weights) weights[name] = flat.subarray(start, start += size);
  const rotations = each.positions === "rope"
    ? new Float32Array((await unpack("rotations")).buffer) : null;
  const reader = new Reader(facts.sizes, weights, rotations), { tokens, likeliest } = each.people[0];
  const agrees = tokens.every((token, t) => {
    const shares = softmax(reader.read(token).logits);
    return likeliest[t].every(([next, share]) => Math.abs(shares[next] - share) < 0.05);
  });
  return each.loaded = agrees ? { weights, rotations } : null;
}

async function ask(question) {
  note("");
  const stray = [...question].find(c => !facts.chars.includes(c, 2));
  if (stray) return note(`The model has no token for “${stray}”: the corpus doesn't have it.`);
  const prompt = [...[...question].map(c => facts.chars.indexOf(c)), 1];
  if (prompt.length >= facts.sizes.block_size)
    return note(`The name is too long: the model reads ${facts.sizes.block_size} characters.`);
  if (!model().weights) state.model = models.indexOf(models.find(each => each.weights &&
    each.positions === model().positions) || models.find(each => each.weights));
  const index = state.model, ready = await load(index);
  if (!ready) return note("This page computes the given Transformer, and that doesn't give what " +
    "your code gives, so it can't answer for your model.");
  const answerFrom = muted => continued(new Reader(facts.sizes, ready.weights, ready.rotations,
    muted), prompt, 1, facts.sizes.steps);
  const place = tokens => tokens.filter(token => token).map(token => facts.chars[token]).join("")
    .replace(/[\n\t]/g, " ").trim();
  const { tokens, answer, read } = answerFrom(null);
  const result = { question, place: null, tokens, answer: place(answer),
    likeliest: read.map(({ logits }) => Array.from(softmax(logits), (share, token) => [token, share])
      .sort((a, b) => b[1] - a[1]).slice(0, 5)),
    attention: (layer, head, t) => Array.from(read[t].attention[layer][head]),
    muted: Array.from({ length: facts.sizes.n_layer }, () => []) };
  if (!own || own.question !== question) own = { question, results: {} };
  own.results[index] = result;
  state.model = index;
  choosePerson(facts.people.length);
  for (const [layer, head] of heads()) {   // while the page stays alive
    await new Promise(resolve => setTimeout(resolve));
    result.muted[layer][head] = place(answerFrom([layer, head]).answer);
    if (shown === result) update();
  }
}

// --- Begin ---

async function begin() {
  facts = JSON.parse(new TextDecoder().decode(await unpack("facts")));
  models = facts.models;
  for (const [index, each] of models.entries())
    each.bytes = each.attention && await unpack(`attention-${index}`);
  state.model = models.indexOf(best(models));
  const first = models[state.model].people.findIndex(
    ({ answer }, i) => answer === facts.people[i].place);
  choosePerson(Math.max(0, first));
  if (!shown.attention) return;
  const sharpness = ([l, h]) => Math.max(...shown.attention(l, h, state.letter).slice(0, -1));
  const last = heads().filter(([l]) => l === facts.sizes.n_layer - 1);
  [state.layer, state.head] = last[argmax(last.map(sharpness))];
  update();
}

const ready = begin().catch(error => note(typeof DecompressionStream === "undefined"
  ? "This page needs a browser from 2023 or later." : `This page could not be read: ${error}`));
