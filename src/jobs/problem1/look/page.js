// The page is one form: render() shows what its controls choose.

const $ = id => document.getElementById(id);
const { chars, sizes, people, looks } = JSON.parse($("facts").textContent), form = $("look");
const MASK = 1, SIGNS = { "□": ["·", "padding"], "⁇": ["M", "mask"], " ": ["␣", "space"],
  "\n": ["⏎", "line break"] };   // as they are shown and spoken
let person = 0;                  // of people; those who were typed in have no place

const escaped = text => String(text).replace(/[&<>"]/g, c => `&#${c.charCodeAt()};`);
const spoken = token => SIGNS[chars[token]]?.[1] ?? chars[token];
const glyph = token => !(chars[token] in SIGNS) ? escaped(chars[token]) :
  `<span class="${token === MASK ? "mask" : "muted"}">${SIGNS[chars[token]][0]}</span>`;
const percent = share =>   // from hundredths of a percent
  share < 10 ? "&lt;0.1%" : `${(share / 100).toFixed(share < 1000 ? 1 : 0)}%`;
// Where the largest values are, without those that are 0.
const largest = (values, count) => [...values.keys()].filter(i => values[i] > 0)
  .sort((a, b) => values[b] - values[a]).slice(0, count);
const title = head => `layer ${Math.floor(head / sizes.n_head) + 1}, head ${head % sizes.n_head}`;

// Another content, unless it is the same: screen readers read out every change.
function put(element, html) {
  if (element.html !== html) element.innerHTML = element.html = html;
}

// Letters, shaded by the shares of attention from the chosen one; the power makes small ones
// visible. Lines break between words.
function letters(tokens, letter, shares) {
  const asked = tokens.indexOf(MASK), html = tokens.map((token, t) => {
    const share = !shares ? "" : t > letter ? "later, hidden" : percent(shares[t]);
    const ended = token === MASK || [" ", "\n"].includes(chars[tokens[t - 1]]);
    const weight = shares && t <= letter ? (shares[t] / 10000) ** 0.6 : 0;
    return `${ended ? '</span><span class="word">' : ""}<span role="img" data-letter="${t}"
      class="${t > letter ? "muted" : t === letter ? "chosen" : ""} ${t > asked ? "answer" : ""}"
      style="--weight: ${weight.toFixed(3)}" title="${share}"
      aria-label="${escaped(spoken(token))} ${share}">${glyph(token)}</span>`;
  });
  return `<span class="word">${html.join("")}</span>`;
}

// An answer, each letter marked by whether it is the other answer's at this place, if there is one.
function marked(answer, other) {
  const kinds = [...answer].map((c, i) => other && (c === [...other][i] ? "good" : "bad"));
  const html = [...answer].map((c, i) => `<span class="${kinds[i]}">${escaped(c)}</span>`);
  return `<span class="text" role="img" aria-label="${escaped(answer) || "nothing"}">${
    html.join("") || "nothing"}</span>`;
}

// How many people a model knows, and which head it needs most for that.
function summary({ seen }) {
  const listed = people.filter(([, place]) => place !== null);
  const right = answer => listed.filter(([, place], i) => answer(seen[i]) === place).length;
  const counts = seen[0].muted.map((_, head) => right(each => each.muted[head]));
  const all = right(each => each.answer), least = Math.min(...counts), needed = all === 0 ? "" :
    ` The head that it needs most is ${title(counts.indexOf(least))}: without it, ${least}.`;
  return `This model answers ${all} of these ${listed.length} people right.${needed}` +
    (seen[0].attention ? "" : ` Your attention doesn't pass its weights through attn_drop, as the
    given code does, so this page can't see them.`);
}

function render() {
  const [question, place] = people[person];
  const able = looks.filter(each => each.seen && (place !== null || each.weights));
  let look = looks[form.model.value];
  if (!able.includes(look)) look = able.find(each => each.positions === look.positions) || able[0];
  for (const radio of form.model) radio.disabled = !able.includes(looks[radio.value]);
  form.model.value = looks.indexOf(look);
  const { tokens, answer, muted, next, attention } = look.seen[person] ||= ask(look, question);
  put(form.person, people.map(([asked, right], i) => {
    const mark = right === null ? "?" : look.seen[i].answer === right ? "✓" : "✗";
    const name = escaped(asked.replace(/^Where was (.*) born\?$/, "$1"));
    return `<option value="${i}" ${i === person ? "selected" : ""}>${mark} ${name}</option>`;
  }).join(""));

  form.letter.max = tokens.length - 1;
  const letter = form.letter.valueAsNumber, head = form.head.value, mute = form.mute.value;
  form.letter.setAttribute("aria-valuetext",
    `${spoken(tokens[letter])}, ${letter + 1} of ${tokens.length}`);
  put($("verdict"), `${look.name}: ${escaped(question)} <b>${
    escaped(answer) || "nothing"}</b>` + (place === null ? `. Whether that is right, only you know.
    Names of your own are answered by finetuned models only.` : answer === place
    ? ' <b class="good">✓ right</b>.'
    : ` <b class="bad">✗ wrong</b>: the place is ${escaped(place)}.`));
  put($("shown"), title(head));
  put($("letters"), letters(tokens, letter, attention?.[head][letter]));
  put($("all"), marked(answer, place));
  const end = muted[mute] === answer ? '<b class="good">✓ the answer survives</b>'
    : '<b class="bad">✗ the answer changes</b>';
  put($("without"), mute === "" ? "<span>without a head:</span> mute one below"
    : `<span>without ${title(mute)}:</span> ${
      muted[mute] === null ? "…" : `${marked(muted[mute], answer)} ${end}`}`);
  put($("right"), place === null ? "" : `<span>right:</span> ${marked(place, null)}`);
  put($("after"), `After <span class="text">${glyph(tokens[letter])}</span>, letter ${letter + 1},
    the likeliest next characters`);
  put($("likeliest"), largest(next[letter], 5).map(token => `<li><span class="text">${glyph(token)}
    </span> ${percent(next[letter][token])}
    <span class="bar" style="width: ${next[letter][token] / 100}%"></span></li>`).join(""));
  put($("summary"), summary(look));

  $("heads").hidden = !attention;
  if (attention) $("heads").querySelectorAll("tbody tr").forEach((row, i) => {
    const from = attention[i][letter].slice(0, letter + 1), order = largest(from, 3);
    put(row.cells[1].firstChild, letters(tokens, letter, from));
    for (const k of [0, 1, 2]) put(row.cells[2 + k], order[k] === undefined ? "" :
      `${escaped(spoken(tokens[order[k]]))} (${order[k] + 1}), ${percent(from[order[k]])}`);
    put($(`mute-${i}`), muted[i] === null ? "…" : muted[i] === answer
      ? '<b class="good">✓ survives</b>'
      : `<b class="bad">✗ ${escaped(muted[i]) || "nothing"}</b>`);
  });
}

function choose(index) {
  person = index;
  const mask = [...people[person][0]].length;   // the answer begins after it
  Object.assign(form.letter, { max: mask, value: mask });
  render();
}

// What a model does with a question that was typed in; the answers without a head follow.
function ask(look, question) {
  const prompt = [...[...question].map(c => chars.indexOf(c)), MASK];
  const answered = muted => generate(sizes, look.weights, prompt, MASK, muted);
  const place = ({ tokens }) => tokens.slice(prompt.length).filter(token => token > MASK)
    .map(token => chars[token]).join("").replace(/[\n\t]/g, " ").trim();
  const result = answered(null), scaled = shares => shares.map(share => 10000 * share);
  const muted = Array(sizes.n_layer * sizes.n_head).fill(null);
  const mute = head => setTimeout(() => {   // one by one: the page stays alive
    muted[head] = place(answered(head));
    render();
    if (head + 1 < muted.length) mute(head + 1);
  });
  mute(0);
  return { tokens: result.tokens, answer: place(result), muted,
    next: result.outputs.map(({ logits }) => scaled(softmax(logits))),
    attention: muted.map((_, head) => result.outputs.map(at => scaled(at.attention[head]))) };
}

form.oninput = ({ target }) => target === form.person ? choose(Number(target.value)) : render();
form.onclick = ({ target }) => {
  const cell = target.closest("[data-letter]");
  if (!cell) return;
  form.letter.value = cell.dataset.letter;
  form.letter.focus({ preventScroll: true });   // for the arrow keys
  render();
};
form.onsubmit = event => {
  event.preventDefault();
  const name = $("name")?.value.trim(), question = `Where was ${name} born?`;
  if (!name) return;
  const stray = [...question].find(c => !chars.includes(c, 2));
  const wrong = stray ? `The model has no token for “${stray}”: the corpus doesn't have it.`
    : [...question].length + 1 >= sizes.block_size
      ? `The name is too long: the model reads ${sizes.block_size} characters.` : "";
  $("note").textContent = wrong || unlike;
  if (wrong || !looks.some(each => each.weights)) return;
  $("name").value = "";   // Enter in another field would ask again
  const known = people.findIndex(([other]) => other === question);
  choose(known >= 0 ? known : people.push([question, null]) - 1);
};

// Does this page's own arithmetic give what the student's code gave?
const unlike = $("note").textContent = looks.filter(each => each.weights).map(each => {
  const [{ tokens, next }] = each.seen, read = begin(sizes, each.weights);
  if (tokens.every((token, t) => softmax(read(token).logits).every((share, i) =>
    Math.abs(10000 * share - next[t][i]) < 500))) return "";
  each.weights = null;
  return `This page computes the given Transformer, and that doesn't give what your code gives, so
    for names of your own it can't answer for your model (${each.name}). `;
}).join("");

// Begin with the last finetuned model, a person that it knows, and the head of the last layer that
// attends to one other letter most.
const last = sizes.n_head * (sizes.n_layer - 1), shown = looks.filter(each => each.seen);
const begun = shown.findLast(each => each.stage === "finetuned") || shown.at(-1);
const known = Math.max(0, people.findIndex(([, place], i) => begun.seen[i].answer === place));
const { tokens, attention } = begun.seen[known], mask = tokens.indexOf(MASK);
const most = attention?.slice(last).map(shares => Math.max(...shares[mask].slice(0, mask))) ?? [0];
form.model.value = looks.indexOf(begun);
form.head.value = last + most.indexOf(Math.max(...most));
choose(known);
