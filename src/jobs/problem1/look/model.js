// The GPT of model.py in JavaScript, for names that are typed into the page. Weights have the names
// and shapes of the state_dict, as nested arrays. How RoPE turns a vector is not known here:
// weights.rotations has a matrix for each position, made by the student's own code.
"use strict";

function dot(x, y) {   // much faster than reduce
  let sum = 0;
  for (let i = 0; i < x.length; i++) sum += x[i] * y[i];
  return sum;
}
const add = (x, y) => x.map((value, i) => value + y[i]);
const linear = (x, W, b) => W.map((row, i) => dot(row, x) + (b ? b[i] : 0));

// nn.LayerNorm: the variance is that of the population, 1e-5 is torch's default.
function layerNorm(x, weight, bias) {
  const mean = x.reduce((a, b) => a + b) / x.length, centered = x.map(value => value - mean);
  const deviation = Math.sqrt(dot(centered, centered) / x.length + 1e-5);
  return centered.map((value, i) => value / deviation * weight[i] + bias[i]);
}

// nn.GELU, x (1 + erf(x / sqrt(2))) / 2, with erf to 1.5e-7: Abramowitz and Stegun, 7.1.26.
function gelu(x) {
  const z = Math.abs(x) / Math.SQRT2, t = 1 / (1 + 0.3275911 * z);
  const series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 +
    t * 1.061405429))));
  return x / 2 * (1 + Math.sign(x) * (1 - series * Math.exp(-z * z)));
}

function softmax(x) {
  const most = Math.max(...x), powers = x.map(value => Math.exp(value - most));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map(value => value / sum);
}

// Begins a text. Returns read(token), which reads its next token, with the keys and values of those
// before, and returns the logits of the one after it, and attention: for each head of each layer,
// this position's weights over all up to it. muted: a head whose output is zero, or null.
function begin({ n_layer, n_head }, weights, muted = null) {
  const keys = [], values = [];   // [head][position]
  let t = 0;
  return token => {
    const attention = [];
    let x = weights["tok_emb.weight"][token];
    if (weights.pos_emb) x = add(x, weights.pos_emb[0][t]);
    const width = x.length / n_head;
    for (let layer = 0; layer < n_layer; layer++) {
      const apply = (operation, name, input) => operation(input,
        weights[`blocks.${layer}.${name}.weight`], weights[`blocks.${layer}.${name}.bias`]);
      const input = apply(layerNorm, "ln1", x), joined = [];
      const all = ["query", "key", "value"].map(name => apply(linear, `attn.${name}`, input));
      for (let start = 0; start < x.length; start += width) {
        const head = attention.length;
        const [query, key, value] = all.map((vector, i) => {
          const part = vector.slice(start, start + width);
          return weights.rotations && i < 2 ? linear(part, weights.rotations[t]) : part;
        });
        (keys[head] ||= []).push(key);
        (values[head] ||= []).push(value);
        const shares = softmax(keys[head].map(other => dot(query, other) / Math.sqrt(width)));
        attention.push(shares);
        for (let i = 0; i < width; i++)
          joined.push(head === muted ? 0 : dot(shares, values[head].map(other => other[i])));
      }
      x = add(x, apply(linear, "attn.proj", joined));
      const hidden = apply(linear, "mlp.0", apply(layerNorm, "ln2", x)).map(gelu);
      x = add(x, apply(linear, "mlp.2", hidden));
    }
    t++;
    x = layerNorm(x, weights["ln_f.weight"], weights["ln_f.bias"]);
    return { logits: linear(x, weights["head.weight"]), attention };
  };
}

// Go on from a prompt with the likeliest token, up to `stop`, or for `steps` tokens, or until the
// block is full. Returns all tokens, and what was read from each.
function generate(sizes, weights, prompt, stop, muted = null) {
  const read = begin(sizes, weights, muted), tokens = [...prompt], outputs = tokens.map(read);
  const end = Math.min(prompt.length + sizes.steps, sizes.block_size);
  while (tokens.length < end && (tokens.length === prompt.length || tokens.at(-1) !== stop)) {
    const { logits } = outputs.at(-1);
    tokens.push(logits.indexOf(Math.max(...logits)));
    outputs.push(read(tokens.at(-1)));
  }
  return { tokens, outputs };
}
