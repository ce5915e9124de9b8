// The page: what command.py found is in elements of compressed data; this shows it, letter by letter.

const $ = id => document.getElementById(id);
const state = { model: 0, person: 0, letter: 0, layer: 0, head: 0, muted: null, away: false };
// away: a name was typed in, but the chosen model can't answer it
// shown: what the chosen model does with the chosen person, from view()
let facts, models, shown;

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
  }));
  if (own)
    $("person").add(new Option(`? ${nameIn(own.question)}`, facts.people.length, false, isOwn()));
  state.letter = Math.min(state.letter, shown.tokens.length - 1);
  $("letters").replaceChildren(...inWords(letterButton));
  $("heads").replaceChildren(...(shown.attention ? layers() : [make("p", { textContent:
    "Your attention doesn't pass its weights through attn_drop, as the given code does, so this " +
    "page can't see them." })]));
  $("table").closest("section").hidden = !shown.attention;
  update();
}

const nameIn = question => question.replace(/^Where was (.*) born\?$/, "$1");
const find = (positions, stage) =>
  models.find(each => each.positions === positions && each.stage === stage);

// One element for each token, made by `of`, in words, so that lines break between them.
function inWords(of) {
  const result = [];
  shown.tokens.forEach((token, t) => {
    const ended = t > 0 && [" ", "\n"].includes(facts.chars[shown.tokens[t - 1]]);
    if (t === 0 || ended || token === 1) result.push(make("span", { className: "word" }));
    result.at(-1).append(of(token, t));
  });
  return result;
}

function letterButton(token, t) {
  const button = make("button", { type: "button", onclick: () => choose(t) }, glyph(token));
  button.setAttribute("role", "radio");
  button.classList.add("text");
  button.classList.toggle("answer", t > shown.question.length);
  return button;
}

// The heads as cards, a grid for each layer.
function layers() {
  const grids = [];
  for (const [layer, head] of heads()) {
    if (head === 0)
      grids.push(make("h3", { textContent: `Layer ${layer + 1}` }),
        make("div", { className: "layer" }));
    const strip = make("span", { className: "strip text", ariaHidden: "true" },
      ...inWords(token => make("span", { className: "cell" }, glyph(token))));
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
    see.setAttribute("aria-label", `Head ${h} of layer ${l + 1}, most on ` +
      `${spoken(tokens[most])}, ${percent(shares[most])}`);
    card.classList.toggle("chosen", chosen);
    card.classList.toggle("off", off);
    const spans = [...card.querySelectorAll(".cell")];
    shade(spans, shares);
    spans.forEach((span, t) => span.classList.toggle("from", t === letter));
    mute.hidden = muted === null;
    if (mute.hidden) return;
    const answer = muted[l][h], same = answer === shown.answer;
    mute.setAttribute("aria-pressed", off);
    const result = same ? "✓ survives" : `✗ ${said(answer)}`;
    mute.replaceChildren(off ? "muted: " : "mute: ", answer === undefined ? "…" :
      make("span", { className: same ? "good" : "bad", textContent: result }));
    mute.setAttribute("aria-label", `Mute ${title(l, h)}: ` + (answer === undefined ? "computing" :
      same ? "the answer survives" : `it says ${said(answer)}`));
  });
  table();
}

function verdict() {
  const { question, answer, place, muted } = shown, right = answer === place;
  const parts = [make("span", { className: "printed", textContent: `${model().name}: ` }),
    `${question} `, make("b", { textContent: said(answer) })];
  if (place === null) parts.push(". Whether that is right, only you know.");
  else parts.push(" ", make("b", { className: right ? "good" : "bad",
    textContent: right ? "✓ right" : "✗ wrong" }), right ? "." : `: the place is ${place}.`);
  replace($("verdict"), ...parts);
  const without = muted && state.muted && muted[state.muted[0]][state.muted[1]];
  const lost = typeof without === "string", same = without === answer;
  const who = state.muted ? `without ${title(...state.muted)}` : "with all heads";
  $("without").className = lost ? (same ? "good" : "bad") : "";
  replace($("without"), `${who}: ${lost ? (same ? "✓ " : "✗ ") : ""}${
    said(lost ? without : answer)}`, make("span", { className: "spoken",
    textContent: lost ? (same ? ", the answer survives" : ", the answer changes") : "" }));
  const lines = [["model", answer, place]];
  if (place !== null) lines.push(["right", place, null]);
  const last = lost ? [who, without, answer] : ["without a head", null, null];
  $("compare").replaceChildren(...[...lines, last].flatMap(([name, text, other]) => [
    make("dt", { textContent: name }),
    text === null ? make("dd", { className: "muted", textContent: "mute one below" })
      : letters(text, other)]));
  $("needed").textContent = needed();
}

// How many of the people are answered right, and which head is needed most.
function needed() {
  const people = model().people, right = answerOf => facts.people.filter(
    ({ place }, i) => answerOf(people[i]) === place).length;
  const all = right(person => person.answer);
  let text = `This model answers ${all} of these ${people.length} people right.`;
  if (all === 0) return text;
  if (people[0].muted === null)
    return `${text} No head can be muted: your attention doesn't call proj as the given code does.`;
  const counts = heads().map(([l, h]) => right(person => person.muted[l][h]));
  const least = argmax(counts.map(count => -count));
  return `${text} The head that it needs most is ${title(...heads()[least])}: without it, ` +
    `${counts[least]}.`;
}

// --- What is chosen ---

function choose(letter, focus = false) {
  state.letter = Math.max(0, Math.min(shown.tokens.length - 1, letter));
  update();
  if (focus) $("letters").querySelectorAll("button")[state.letter].focus();
}

function chooseModel(index) {
  note("");
  state.model = index;
  if (isOwn() || state.away) {
    if (model().weights) return ask(own.question);
    if (isOwn()) state.person = 0;
    state.away = true;
    onlyFinetuned(nameIn(facts.people[state.person].question));
  }
  show();
}

function choosePerson(index) {
  note("");
  state.away = false;
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
  const before = state.letter - 1, after = state.letter + 1;
  const to = { ArrowLeft: before, ArrowRight: after, Home: 0, End: Infinity };
  if (inside) Object.assign(to, { ArrowUp: before, ArrowDown: after });   // else they scroll
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
