"""Mistakes in question 6e: what changes logits, and generate."""
from instructor.mistakes.patches import Fill, edge, misconception, slip
from instructor.mistakes.q6e import edit

FILTERS, REPEATS, SET_UPS = "6e-4-basic", "6e-5-basic", "6e-7-basic"
TEXTS, DRAWS = "6e-8-hidden", "6e-9-basic"

TOP_K = "    result = logits.masked_fill(logits < kth, -math.inf)"
KTH = "kth = logits.topk(min(k, logits.size(-1)), dim=-1).values[..., -1:]"
EXCLUDED = "excluded = (before >= p) & (p < 1)"
BEFORE = "before = probabilities.cumsum(dim=-1) - probabilities"
SCATTER = "excluded = torch.zeros_like(excluded).scatter(-1, index, excluded)"
TOP_P = "    result = logits.masked_fill(excluded, -math.inf)"
SORTED = "ordered, index = logits.sort(dim=-1, descending=True, stable=True)"

LOGITS = [
    misconception("temperature-times",
          "The logits are multiplied by the temperature instead of divided.",
          edit("result = logits / temperature", "result = logits * temperature"),
          (FILTERS, TEXTS, DRAWS)),
    slip("temperature-in-place", "The logits are divided in place.",
         edit("result = logits / temperature", "result = logits.div_(temperature)"), (FILTERS,)),
    edge("temperature-zero",
         "A temperature of 0 is greedy decoding; it should be refused.",
         edit('''    if not temperature > 0:
        raise ValueError(f"the temperature must be above 0; it is {temperature}")
''', '''    if temperature <= 0:
        return torch.where(logits == logits.max(-1, keepdim=True).values, logits, -math.inf)
'''), (FILTERS, TEXTS, DRAWS)),
    edge("top-k-ties", "Of the logits equal to the k-th largest, only some are kept.",
         edit(TOP_K, "    index = logits.topk(min(k, logits.size(-1)), dim=-1).indices\n"
                     "    result = torch.full_like(logits, "
                     "-math.inf).scatter(-1, index, logits.gather(-1, index))"), (FILTERS,)),
    slip("top-k-drops-kth",
         "The k-th largest logit itself is dropped.", edit(TOP_K, TOP_K.replace("<", "<=")),
         (FILTERS, TEXTS, DRAWS)),
    edge("top-k-too-large", "topk raises where k is above vocab_size.",
         edit(KTH, KTH.replace("min(k, logits.size(-1))", "k")), (FILTERS, TEXTS, DRAWS)),
    slip("top-k-all-rows", "The k largest of all rows together are kept, not those of each row.",
         edit(KTH, "kth = logits.flatten().topk(min(k, logits.numel())).values[-1]"), (FILTERS,)),
    slip("top-k-finite", "Excluded tokens get a large negative logit instead of -inf.",
         edit(TOP_K, TOP_K.replace("-math.inf", "-1e10")), (FILTERS,)),
    misconception("top-p-off-by-one",
          "The token that reaches p is dropped, too: it is part of the sum before it.",
          edit(BEFORE, "before = probabilities.cumsum(dim=-1)"), (FILTERS, TEXTS, DRAWS)),
    slip("top-p-not-scattered",
         "The mask is for the sorted logits, but is applied to the unsorted ones.",
         edit(SCATTER, "pass"), (FILTERS, TEXTS, DRAWS)),
    edge("top-p-ties-reversed",
         "Of equally probable tokens, the one with the larger index comes first.",
         edit(SORTED, "ordered, index = logits.flip(-1).sort(dim=-1, descending=True, "
                      "stable=True)\n    index = logits.size(-1) - 1 - index"), (FILTERS,)),
    edge("top-p-rounding", "p = 1 drops the tokens after a sum that was rounded to 1.",
         edit(EXCLUDED, "excluded = before >= p"), (FILTERS,)),
    misconception("top-p-ascending", "Probabilities are summed from the least probable token on.",
          edit(SORTED, SORTED.replace("True, stable", "False, stable")), (FILTERS, TEXTS, DRAWS)),
    misconception("top-p-min-p",
          "Each probability is compared with p times the largest; top-p compares sums.",
          edit(EXCLUDED, "excluded = (probabilities < p * probabilities[..., :1]) & (p < 1)"),
          (FILTERS, TEXTS, DRAWS)),
    slip("top-p-as-many-in-all-rows",
         "All rows keep as many tokens as the one that needs most.",
         edit(EXCLUDED, EXCLUDED + "\n    excluded &= excluded.flatten(0, -2).all(0) if "
                                   "excluded.dim() > 1 else True"), (FILTERS,)),
    slip("top-p-probabilities", "top_p_filter returns probabilities instead of logits.",
         edit(TOP_P, TOP_P + ".softmax(dim=-1)"), (FILTERS, TEXTS, DRAWS)),
]

PENALIZED = "torch.where(repeated > 0, repeated / penalty, repeated * penalty)"
LAST = "last = tokens[max(0, len(tokens) - (n - 1)) :]"
BANNED = ("banned = {\n        tokens[i + n - 1] for i in range(len(tokens) - n + 1) if tokens[i "
          ": i + n - 1] == last\n    }")
INDEX = "index = torch.tensor(sorted(set(tokens)), dtype=torch.long)"

REPETITION = [
    misconception("penalty-negative-divided",
          "Negative logits are divided by the penalty, too, which makes them larger.",
          edit(PENALIZED, "repeated / penalty"), (REPEATS, TEXTS, DRAWS)),
    misconception("penalty-each-time",
          "A token that occurs several times is penalized several times.",
          (Fill("repetition_penalty", '''
result = logits.clone()
for token in tokens:
    result[token] = result[token] / penalty if result[token] > 0 else result[token] * penalty
'''),), (REPEATS, TEXTS, DRAWS)),
    misconception("penalty-subtracted",
          "The penalty is subtracted from the logits.", edit(PENALIZED, "repeated - penalty"),
          (REPEATS, TEXTS, DRAWS)),
    slip("penalty-in-place",
         "repetition_penalty changes the logits in place.", (Fill("repetition_penalty", '''
result = logits
for token in set(tokens):
    result[token] = result[token] / penalty if result[token] > 0 else result[token] * penalty
'''),), (REPEATS,)),
    edge("penalty-empty-list",
         "torch.tensor of an empty list has floats, which cannot be an index.",
         edit(INDEX, "index = torch.tensor(tokens)"), (REPEATS,)),
    edge("ngrams-slice-of-zero",
         "With n = 1, tokens[-(n - 1):] is the whole list instead of no token.",
         edit(LAST, "last = tokens[-(n - 1):]"), (REPEATS, TEXTS, DRAWS)),
    misconception("ngrams-n-tokens",
          "The last n tokens are compared instead of the last n - 1.", (Fill("no_repeat_ngrams", '''
last = tokens[-n:]
banned = {tokens[i + n] for i in range(len(tokens) - n) if tokens[i:i + n] == last}
result = logits.clone()
result[list(banned)] = -math.inf
if not (result > -math.inf).any():
    result = logits.clone()
'''),), (REPEATS, TEXTS, DRAWS)),
    slip("ngrams-first-follower", "Only the token that followed the first time is excluded.",
         edit(BANNED, BANNED.replace("banned = {",
                                     "banned = [").replace("== last\n    }", "== last][:1]")),
         (REPEATS, TEXTS, DRAWS)),
    edge("ngrams-all-excluded",
         "All tokens are excluded where the unchanged logits should be returned.",
         edit('''    if not (result > -math.inf).any():
        result = logits.clone()
''', ""), (REPEATS, TEXTS, DRAWS)),
    misconception("ngrams-any-token", "Every token of the list is excluded, whatever n is.",
          edit(BANNED, "banned = set(tokens)"), (REPEATS, TEXTS, DRAWS)),
    misconception("ngrams-shorter-too",
          "Repeated n-grams that are shorter than n are excluded, too.",
          edit(BANNED, "banned = {tokens[i + m - 1] for m in range(2, n + 1) for i in "
                       "range(len(tokens) - m + 1) if tokens[i:i + m - 1] == tokens[len(tokens) - "
                       "m + 1:]} if n > 1 else set(tokens)"), (REPEATS, TEXTS, DRAWS)),
    slip("ngrams-any-order", "The same tokens in another order are taken for the same n-gram.",
         edit(BANNED, BANNED.replace("tokens[i : i + n - 1] == last",
                                     "set(tokens[i:i + n - 1]) == set(last)")),
         (REPEATS, TEXTS, DRAWS)),
    slip("ngrams-of-a-window", "Repeated n-grams are looked for in the last tokens only.",
         edit(LAST, f"tokens = tokens[-8:]\n    {LAST}"), (REPEATS,)),
]

READ = "logits, _ = model(x[:, -model.get_block_size():])"
TOKENS = "tokens, logits = x[0].tolist(), logits[0, -1]"
DRAW = "token = torch.multinomial(F.softmax(logits, dim=-1), 1, generator=generator)"


def generate(order: str = "penalty ngram temperature top_k top_p", **lines) -> tuple[Fill]:
    """A body of generate with its steps in another order, or other lines."""
    steps = {"penalty": "logits = repetition_penalty(logits, tokens, penalty)",
             "ngram": "if ngram is not None:\n    logits = no_repeat_ngrams(logits, tokens, ngram)",
             "temperature": "logits = apply_temperature(logits, temperature)",
             "top_k": "if top_k is not None:\n    logits = top_k_filter(logits, top_k)",
             "top_p": "if top_p is not None:\n    logits = top_p_filter(logits, top_p)"}
    body = [lines.get("read", READ), lines.get("tokens", TOKENS),
            *(lines.get(name, steps[name]) for name in order.split()),
            lines.get("draw", DRAW), "x = torch.cat((x, token[None]), dim=1)"]
    return (Fill("generate", "\n".join(body)),)


GENERATE = [
    misconception("generate-seeded", "generate seeds the random numbers itself.",
          generate(draw="torch.manual_seed(0)\n" + DRAW.replace(
        "generator=generator", "generator=generator and generator.manual_seed(0)")),
          (TEXTS, DRAWS)),
    misconception("generate-top-p-first", "generate applies top-p before top-k.",
          generate("penalty ngram temperature top_p top_k"), (TEXTS, DRAWS)),
    misconception("generate-temperature-last",
          "generate applies the temperature after top-k and top-p.",
          generate("penalty ngram top_k top_p temperature"), (TEXTS, DRAWS)),
    misconception("generate-penalty-last", "generate applies the penalty after top-k and top-p.",
          generate("ngram temperature top_k top_p penalty"), (TEXTS, DRAWS)),
    slip("generate-whole-text", "generate passes all tokens to the model, more than it can read.",
         generate(read="logits, _ = model(x)"), (TEXTS, DRAWS, SET_UPS)),
    slip("generate-one-less", "generate passes one token less to the model than it can read.",
         generate(read="logits, _ = model(x[:, 1 - model.get_block_size():])"), (TEXTS, DRAWS)),
    misconception("generate-last-alone", "generate passes only the last token to the model.",
          generate(read="logits, _ = model(x[:, -1:])"), (TEXTS, DRAWS)),
    slip("generate-cuts-text", "generate cuts x itself to what the model can read.",
         generate(read="x = x[:, -model.get_block_size():]\nlogits, _ = model(x)"),
         (TEXTS, DRAWS, SET_UPS)),
    slip("generate-window-for-penalty",
         "Penalty and n-grams see only the tokens that the model reads.",
         generate(tokens=TOKENS.replace("x[0]", "x[0, -model.get_block_size():]")),
         (TEXTS, DRAWS)),
    slip("generate-last-unseen", "Penalty and n-grams leave out the last token.",
         generate(tokens=TOKENS.replace("x[0]", "x[0, :-1]")), (TEXTS, DRAWS)),
    misconception("generate-argmax",
          "generate takes the most probable token instead of drawing one.",
          generate(draw="token = logits.argmax(dim=-1, keepdim=True)"), (TEXTS, DRAWS, SET_UPS)),
    slip("generate-no-generator", "generate does not pass the generator to torch.multinomial.",
         generate(draw=DRAW.replace(", generator=generator", "")), (TEXTS, DRAWS)),
    slip("generate-other-draw", "generate draws by another way than torch.multinomial.",
         generate(draw="noise = torch.rand(logits.shape, generator=generator)\n"
                       "token = (F.softmax(logits, dim=-1) / -noise.log()).argmax(dim=-1, "
                       "keepdim=True)"), (TEXTS, DRAWS)),
    edge("generate-zero-means-none", "generate takes a top_k of 0 for None.",
         generate(top_k="if top_k:\n    logits = top_k_filter(logits, top_k)"), (TEXTS, DRAWS)),
    slip("generate-new-alone", "generate returns only the new tokens.",
         edit("    return x\n\n\n# Case iii", "    return x[:, -steps:]\n\n\n# Case iii"),
         (TEXTS, DRAWS, SET_UPS)),
    misconception("generate-options-exclusive",
          "generate applies either top-k or top-p, where both are given.",
          generate(top_p="if top_p is not None and top_k is None:\n"
                         "    logits = top_p_filter(logits, top_p)"), (TEXTS, DRAWS)),
]

MISTAKES = LOGITS + REPETITION + GENERATE
