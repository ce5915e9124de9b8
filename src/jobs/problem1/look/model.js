// The GPT of model.py in JavaScript, for names that are typed into the page: one token at a time,
// with a cache of keys and values. Every vector is a Float32Array; weights have the names and the
// layout of the state_dict. How RoPE turns a vector is not known here: the page brings a matrix for
// each position, made by the student's own code.
"use strict";

// W x + b, for W of (outputs, inputs), row by row.
function linear(x, W, b) {
  const inputs = x.length, result = new Float32Array(W.length / inputs);
  for (let i = 0; i < result.length; i++) {
    let sum = b ? b[i] : 0;
    for (let j = 0, at = i * inputs; j < inputs; j++) sum += W[at + j] * x[j];
    result[i] = sum;
  }
  return result;
}

function add(x, y) {
  return x.map((value, i) => value + y[i]);
}

// nn.LayerNorm: the variance is that of the population, eps is torch's default.
function layerNorm(x, weight, bias) {
  let mean = 0, variance = 0;
  for (const value of x) mean += value / x.length;
  for (const value of x) variance += (value - mean) ** 2 / x.length;
  const scale = 1 / Math.sqrt(variance + 1e-5);
  return x.map((value, i) => (value - mean) * scale * weight[i] + bias[i]);
}

// erf(x) = 2/sqrt(pi) exp(-x^2) (x + 2 x^3/3 + 4 x^5/15 + ...), whose terms have one sign.
function erf(x) {
  if (Math.abs(x) > 6) return Math.sign(x);
  let term = x, sum = x;
  for (let n = 1; Math.abs(term) > 1e-12 * Math.abs(sum); n++) {
    term *= 2 * x * x / (2 * n + 1);
    sum += term;
  }
  return 2 / Math.sqrt(Math.PI) * Math.exp(-x * x) * sum;
}

// nn.GELU, which is the exact one.
function gelu(x) {
  return x.map(value => 0.5 * value * (1 + erf(value / Math.SQRT2)));
}

function softmax(x) {
  const most = x.reduce((a, b) => Math.max(a, b), -Infinity);
  const powers = x.map(value => Math.exp(value - most));
  const sum = powers.reduce((a, b) => a + b, 0);
  return powers.map(value => value / sum);
}

// The position of the largest value, the first of equal ones.
function argmax(x) {
  return x.reduce((best, value, i) => value > x[best] ? i : best, 0);
}

// A text as a model reads it, token by token.
class Reader {
  // sizes: {n_layer, n_head, n_embd, block_size}; weights: name -> Float32Array; rotations: null,
  // or (T, head_dim, head_dim), where row i of a position's matrix is the image of unit vector i;
  // muted: null, or [layer, head], whose output is zero.
  constructor(sizes, weights, rotations = null, muted = null) {
    Object.assign(this, { sizes, weights, rotations, muted, length: 0 });
    this.cache = Array.from({ length: sizes.n_layer }, () => ({ keys: [], values: [] }));
  }

  // Read one more token. Returns the logits of the next one, and attention[layer][head], the
  // weights of this position over all up to it.
  read(token) {
    const { n_layer, n_embd, block_size } = this.sizes, w = this.weights, at = this.length;
    if (at >= block_size) throw new RangeError(`the model reads at most ${block_size} tokens`);
    let x = w["tok_emb.weight"].slice(token * n_embd, (token + 1) * n_embd);
    if (w.pos_emb) x = add(x, w.pos_emb.subarray(at * n_embd, (at + 1) * n_embd));
    const attention = [];
    for (let layer = 0; layer < n_layer; layer++) {
      const of = name => w[`blocks.${layer}.${name}`];
      const through = (name, input) => linear(input, of(`${name}.weight`), of(`${name}.bias`));
      const norm = (name, input) => layerNorm(input, of(`${name}.weight`), of(`${name}.bias`));
      const input = norm("ln1", x);
      const [query, key, value] = ["query", "key", "value"].map(
        name => through(`attn.${name}`, input));
      const heads = this.attend(layer, this.rotate(query), this.rotate(key), value);
      attention.push(heads.attention);
      x = add(x, through("attn.proj", heads.joined));
      x = add(x, through("mlp.2", gelu(through("mlp.0", norm("ln2", x)))));
    }
    this.length++;
    const last = layerNorm(x, w["ln_f.weight"], w["ln_f.bias"]);
    return { logits: linear(last, w["head.weight"]), attention };
  }

  // What the student's code does to a query or key at this position, head by head.
  rotate(x) {
    if (!this.rotations) return x;
    const width = x.length / this.sizes.n_head, result = new Float32Array(x.length);
    const size = width ** 2, from = this.length * size;
    const matrix = this.rotations.subarray(from, from + size);
    for (let start = 0; start < x.length; start += width)
      for (let i = 0; i < width; i++)
        for (let j = 0; j < width; j++) result[start + j] += x[start + i] * matrix[i * width + j];
    return result;
  }

  // Scaled dot-product attention of this position, over the keys so far and this one.
  attend(layer, query, key, value) {
    const { keys, values } = this.cache[layer], { n_head, n_embd } = this.sizes;
    const width = n_embd / n_head, joined = new Float32Array(n_embd), attention = [];
    keys.push(key);
    values.push(value);
    for (let head = 0; head < n_head; head++) {
      const start = head * width, scores = new Float32Array(keys.length);
      keys.forEach((other, t) => {
        for (let i = start; i < start + width; i++) scores[t] += query[i] * other[i];
      });
      const shares = softmax(scores.map(score => score / Math.sqrt(width)));
      attention.push(shares);
      if (this.muted && this.muted[0] === layer && this.muted[1] === head) continue;
      values.forEach((other, t) => {
        for (let i = start; i < start + width; i++) joined[i] += shares[t] * other[i];
      });
    }
    return { joined, attention };
  }
}

// Read a prompt, and go on with the likeliest token until `stop`, or for `steps` tokens, or until
// the block is full. Returns all tokens and the answer's, without `stop`, and what read() returned
// for each token.
function continued(reader, prompt, stop, steps) {
  const read = prompt.map(token => reader.read(token)), answer = [];
  while (answer.length < steps && reader.length < reader.sizes.block_size) {
    const token = argmax(read.at(-1).logits);
    read.push(reader.read(token));
    if (token === stop) return { tokens: [...prompt, ...answer, stop], answer, read };
    answer.push(token);
  }
  return { tokens: [...prompt, ...answer], answer, read };
}
