// A name that is typed into the page: the model runs here (model.js).

function note(text) {
  $("note").textContent = text;
}

function onlyFinetuned(instead) {
  note(`Names of your own are answered by finetuned models only; this shows ${instead}.`);
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
  const reader = new Reader(facts.sizes, weights, rotations);
  const { tokens, likeliest } = each.people[0];
  const agrees = tokens.every((token, t) => {
    const shares = softmax(reader.read(token).logits);
    return likeliest[t].every(([next, share]) => Math.abs(shares[next] - share) < 0.05);
  });
  return each.loaded = agrees ? { weights, rotations } : null;
}

async function ask(question) {
  note("");
  const listed = facts.people.findIndex(each => each.question === question);
  if (listed >= 0) return choosePerson(listed);
  const stray = [...question].find(c => !facts.chars.includes(c, 2));
  if (stray) return note(`The model has no token for “${stray}”: the corpus doesn't have it.`);
  const prompt = [...[...question].map(c => facts.chars.indexOf(c)), 1];
  if (prompt.length >= facts.sizes.block_size)
    return note(`The name is too long: the model reads ${facts.sizes.block_size} characters.`);
  const able = models.filter(each => each.weights), moved = !model().weights;
  const index = moved ? models.indexOf(able.find(each =>
    each.positions === model().positions) || able[0]) : state.model;
  const ready = await load(index);
  if (!ready) return note("This page computes the given Transformer, and that doesn't give what " +
    "your code gives, so it can't answer for your model.");
  const answerFrom = muted => continued(new Reader(facts.sizes, ready.weights, ready.rotations,
    muted), prompt, 1, facts.sizes.steps);
  const place = tokens => tokens.filter(token => token).map(token => facts.chars[token]).join("")
    .replace(/[\n\t]/g, " ").trim();
  const { tokens, answer, read } = answerFrom(null);
  const result = { question, place: null, tokens, answer: place(answer),
    likeliest: read.map(({ logits }) => Array.from(softmax(logits), (share, next) => [next, share])
      .sort((a, b) => b[1] - a[1]).slice(0, 5)),
    attention: (layer, head, t) => Array.from(read[t].attention[layer][head]),
    muted: Array.from({ length: facts.sizes.n_layer }, () => []) };
  if (!own || own.question !== question) own = { question, results: {} };
  own.results[index] = result;
  state.model = index;
  choosePerson(facts.people.length);
  if (moved) onlyFinetuned(model().name);
  for (const [layer, head] of heads()) {   // while the page stays alive
    await new Promise(resolve => setTimeout(resolve));
    result.muted[layer][head] = place(answerFrom([layer, head]).answer);
    if (shown === result) update();
  }
}

