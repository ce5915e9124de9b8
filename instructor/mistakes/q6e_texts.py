"""Mistakes in question 6e: what changes logits, and generate."""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

FILTERS, REPEATS, SET_UPS = "6e-4-basic", "6e-5-basic", "6e-7-basic"
TEXTS, DRAWS = "6e-8-hidden", "6e-9-basic"


def edit(old: str, new: str) -> tuple[Edit]:
    """Another line in fixes.py."""
    return (Edit("fixes.py", old, new),)


TOP_K = "    result = logits.masked_fill(logits < kth, -math.inf)"
KTH = "kth = logits.topk(min(k, logits.size(-1)), dim=-1).values[..., -1:]"
EXCLUDED = "excluded = (before >= p) & (p < 1)"
BEFORE = "before = probabilities.cumsum(dim=-1) - probabilities"
SCATTER = "excluded = torch.zeros_like(excluded).scatter(-1, index, excluded)"
TOP_P = "    result = logits.masked_fill(excluded, -math.inf)"
SORTED = "ordered, index = logits.sort(dim=-1, descending=True, stable=True)"

LOGITS = [
    misconception("temperature-times", "The logits are multiplied.",
          edit("result = logits / temperature", "result = logits * temperature"),
          (FILTERS, TEXTS, DRAWS)),
    slip("temperature-in-place", "The logits are divided in place.",
         edit("result = logits / temperature", "result = logits.div_(temperature)"), (FILTERS,)),
    edge("temperature-zero",
         "A temperature of 0 means greedy decoding.", edit('''    if not temperature > 0:
        raise ValueError(f"the temperature must be above 0; it is {temperature}")
''', '''    if temperature <= 0:
        return torch.where(logits == logits.max(-1, keepdim=True).values, logits, -math.inf)
'''), (FILTERS, TEXTS, DRAWS)),
    misconception("temperature-of-probabilities",
          "The temperature is used on probabilities, which come back.",
          edit("result = logits / temperature", "result = F.softmax(logits / temperature, dim=-1)"),
          (FILTERS, TEXTS, DRAWS)),
    slip("temperature-forgotten", "It is not used.", edit("result = logits / temperature",
       "result = logits.clone()"), (FILTERS, TEXTS, DRAWS)),
    slip("temperature-of-log-probabilities", "The logits are normalized first, and then divided.",
         edit("result = logits / temperature",
              "result = F.log_softmax(logits, dim=-1) / temperature"), (FILTERS,)),
    edge("top-k-ties", "Exactly k stay, whatever ties.",
         edit(TOP_K, "    index = logits.topk(min(k, logits.size(-1)), dim=-1).indices\n"
                     "    result = torch.full_like(logits, "
                     "-math.inf).scatter(-1, index, logits.gather(-1, index))"), (FILTERS,)),
    slip("top-k-drops-kth", "The k-th largest is dropped.", edit(TOP_K, TOP_K.replace("<", "<=")),
         (FILTERS, TEXTS, DRAWS)),
    slip("top-k-one-more", "One more stays.", edit(KTH, KTH.replace("min(k,", "min(k + 1,")),
         (FILTERS, TEXTS, DRAWS)),
    edge("top-k-too-large", "A k above V is not thought of.",
         edit(KTH, KTH.replace("min(k, logits.size(-1))", "k")), (FILTERS, TEXTS, DRAWS)),
    slip("top-k-first-row", "The limit is that of the first row.",
         edit(KTH, "kth = logits.reshape(-1, logits.size(-1))[0].topk(min(k, "
                   "logits.size(-1))).values[-1]"), (FILTERS,)),
    slip("top-k-all-rows", "The k largest of all rows stay.",
         edit(KTH, "kth = logits.flatten().topk(min(k, logits.numel())).values[-1]"), (FILTERS,)),
    slip("top-k-in-place", "The logits are masked in place.",
         edit(TOP_K, TOP_K.replace("masked_fill", "masked_fill_")), (FILTERS,)),
    slip("top-k-finite", "What is excluded gets -10^10.",
         edit(TOP_K, TOP_K.replace("-math.inf", "-1e10")), (FILTERS,)),
    misconception("top-k-zero", "What is excluded gets a logit of 0.",
          edit(TOP_K, TOP_K.replace("-math.inf", "0.0")), (FILTERS, TEXTS, DRAWS)),
    edge("top-k-no-error", "k = 0 keeps all.", edit('''    if k < 1:
        raise ValueError(f"top-k must keep at least 1 token; k is {k}")
''', "    k = k if k > 0 else logits.size(-1)\n"), (FILTERS, TEXTS, DRAWS)),
    misconception("top-p-off-by-one", "The token that reaches p is dropped, the usual mistake.",
          edit(BEFORE, "before = probabilities.cumsum(dim=-1)"), (FILTERS, TEXTS, DRAWS)),
    misconception("top-p-first-kept", "The same, with the first token kept.",
          edit(EXCLUDED, "excluded = (probabilities.cumsum(dim=-1) > p) & (p < 1)\n"
                         "    excluded[..., 0] = False"), (FILTERS, TEXTS, DRAWS)),
    slip("top-p-shifted-twice", "One token too many stays.",
         edit(EXCLUDED, EXCLUDED + "\n    excluded = torch.cat((torch.zeros_like(excluded[..., "
                                   ":1]), excluded[..., :-1]), dim=-1)"), (FILTERS, TEXTS, DRAWS)),
    slip("top-p-overlapping-shift",
         "The shift is done on the first axis, which is right for one row only.", (Fill("top_p_filter", '''
ordered, index = logits.sort(dim=-1, descending=True, stable=True)
excluded = F.softmax(ordered, dim=-1).cumsum(dim=-1) >= p
excluded[1:] = excluded[:-1].clone()
excluded[0] = False
excluded = torch.zeros_like(excluded).scatter(-1, index, excluded & (p < 1))
result = logits.masked_fill(excluded, -math.inf)
'''),), (FILTERS,)),
    slip("top-p-not-scattered", "The mask of the sorted logits is used on the others.",
         edit(SCATTER, "pass"), (FILTERS, TEXTS, DRAWS)),
    slip("top-p-gathered", "The mask is gathered instead of scattered.",
         edit(SCATTER, "excluded = excluded.gather(-1, index)"), (FILTERS, TEXTS, DRAWS)),
    slip("top-p-stays-sorted", "The sorted logits come back.",
         edit(TOP_P, "    result = ordered.masked_fill((before >= p) & (p < 1), -math.inf)"),
         (FILTERS, TEXTS, DRAWS)),
    edge("top-p-ties-reversed", "Of ties, the larger index comes first.",
         edit(SORTED, "ordered, index = logits.flip(-1).sort(dim=-1, descending=True, "
                      "stable=True)\n    index = logits.size(-1) - 1 - index"), (FILTERS,)),
    edge("top-p-ties-stay", "All that tie with the last one stay.", (Fill("top_p_filter", '''
ordered = logits.sort(dim=-1, descending=True).values
probabilities = F.softmax(ordered, dim=-1)
kept = (probabilities.cumsum(dim=-1) - probabilities < p) | (p == 1)
least = ordered.masked_fill(~kept, math.inf).min(dim=-1, keepdim=True).values
result = logits.masked_fill(logits < least, -math.inf)
'''),), (FILTERS,)),
    edge("top-p-rounding", "p = 1 drops what comes after a sum that was rounded to 1.",
         edit(EXCLUDED, "excluded = before >= p"), (FILTERS,)),
    misconception("top-p-ascending", "The least probable are summed first.",
          edit(SORTED, SORTED.replace("True, stable", "False, stable")), (FILTERS, TEXTS, DRAWS)),
    misconception("top-p-min-p",
          "Each probability is compared with p times the largest, which is another filter.",
          edit(EXCLUDED, "excluded = (probabilities < p * probabilities[..., :1]) & (p < 1)"),
          (FILTERS, TEXTS, DRAWS)),
    slip("top-p-as-many-in-all-rows",
         "A token is dropped only if all rows drop the one at its place of the order.",
         edit(EXCLUDED, EXCLUDED + "\n    excluded &= excluded.flatten(0, -2).all(0) if "
                                   "excluded.dim() > 1 else True"), (FILTERS,)),
    slip("top-p-sum-of-another-axis", "The cumulative sum runs along the first axis.",
         edit(BEFORE, "before = probabilities.cumsum(dim=0) - probabilities"), (FILTERS,)),
    misconception("top-p-threshold", "Each probability is compared with 1 - p.",
          edit(TOP_P, "    result = logits.masked_fill((F.softmax(logits, dim=-1) < 1 - p) & (p < "
                      "1), -math.inf)"), (FILTERS, TEXTS, DRAWS)),
    misconception("top-p-no-softmax", "The logits are summed instead of probabilities.",
          edit("    probabilities = F.softmax(ordered, dim=-1)", "    probabilities = ordered"),
          (FILTERS, TEXTS, DRAWS)),
    slip("top-p-in-place", "The logits are masked in place.",
         edit(TOP_P, TOP_P.replace("masked_fill", "masked_fill_")), (FILTERS,)),
    slip("top-p-probabilities", "Probabilities come back.",
         edit(TOP_P, TOP_P + ".softmax(dim=-1)"), (FILTERS, TEXTS, DRAWS)),
    edge("top-p-above-one", "p above 1 keeps all.",
         edit("    if not 0 < p <= 1:", "    if not 0 < p:"), (FILTERS, TEXTS, DRAWS)),
]

PENALIZED = "torch.where(repeated > 0, repeated / penalty, repeated * penalty)"
LAST = "last = tokens[max(0, len(tokens) - (n - 1)) :]"
BANNED = ("banned = {\n        tokens[i + n - 1] for i in range(len(tokens) - n + 1) if tokens[i "
          ": i + n - 1] == last\n    }")
INDEX = "index = torch.tensor(sorted(set(tokens)), dtype=torch.long)"

REPETITION = [
    misconception("penalty-negative-divided",
          "Negative logits are divided, too, and become larger.",
          edit(PENALIZED, "repeated / penalty"), (REPEATS, TEXTS, DRAWS)),
    misconception("penalty-sign-reversed", "Positive logits are multiplied, negative ones divided.",
          edit(PENALIZED, PENALIZED.replace("> 0", "< 0")), (REPEATS, TEXTS, DRAWS)),
    misconception("penalty-positive-alone", "Negative logits stay as they are.",
          edit(PENALIZED, "torch.where(repeated > 0, repeated / penalty, repeated)"),
          (REPEATS, TEXTS, DRAWS)),
    misconception("penalty-each-time",
          "A token is penalized as often as it occurs.", (Fill("repetition_penalty", '''
result = logits.clone()
for token in tokens:
    result[token] = result[token] / penalty if result[token] > 0 else result[token] * penalty
'''),), (REPEATS, TEXTS, DRAWS)),
    misconception("penalty-subtracted",
          "The penalty is subtracted.", edit(PENALIZED, "repeated - penalty"),
          (REPEATS, TEXTS, DRAWS)),
    misconception("penalty-logarithm", "The logarithm of the penalty is subtracted.",
          edit(PENALIZED, "repeated - math.log(penalty)"), (REPEATS, TEXTS, DRAWS)),
    misconception("penalty-of-the-size",
          "Each logit becomes smaller by the same share of its size.",
          edit(PENALIZED, "repeated - repeated.abs() * (penalty - 1)"), (REPEATS, TEXTS, DRAWS)),
    misconception("penalty-of-probabilities",
          "Probabilities are divided.", (Fill("repetition_penalty", '''
probabilities = F.softmax(logits, dim=-1)
probabilities[list(set(tokens))] /= penalty
result = probabilities.log()
'''),), (REPEATS, TEXTS, DRAWS)),
    misconception("penalty-by-frequency",
          "What is subtracted grows with how often a token occurs.", (Fill("repetition_penalty", '''
result = logits.clone()
for token in tokens:
    result[token] -= penalty - 1
'''),), (REPEATS, TEXTS, DRAWS)),
    misconception("penalty-all-tokens", "All tokens are penalized.",
          edit(INDEX, "index = torch.arange(logits.size(-1))"), (REPEATS, TEXTS, DRAWS)),
    misconception("penalty-last-token", "Only the last token is penalized.",
          edit(INDEX, "index = torch.tensor(tokens[-1:], dtype=torch.long)"),
          (REPEATS, TEXTS, DRAWS)),
    slip("penalty-in-place", "The logits are changed in place.", (Fill("repetition_penalty", '''
result = logits
for token in set(tokens):
    result[token] = result[token] / penalty if result[token] > 0 else result[token] * penalty
'''),), (REPEATS,)),
    edge("penalty-empty-list", "An empty list of tokens makes an index of floats.",
         edit(INDEX, "index = torch.tensor(tokens)"), (REPEATS,)),
    edge("penalty-below-one", "A penalty below 1 is let through.",
         edit("    if not penalty >= 1:", "    if not penalty > 0:"), (REPEATS, TEXTS, DRAWS)),
    edge("ngrams-slice-of-zero", "With n = 1, the last 0 tokens are taken for the whole list.",
         edit(LAST, "last = tokens[-(n - 1):]"), (REPEATS, TEXTS, DRAWS)),
    misconception("ngrams-n-tokens",
          "The last n tokens are compared.", (Fill("no_repeat_ngrams", '''
last = tokens[-n:]
banned = {tokens[i + n] for i in range(len(tokens) - n) if tokens[i:i + n] == last}
result = logits.clone()
result[list(banned)] = -math.inf
if not (result > -math.inf).any():
    result = logits.clone()
'''),), (REPEATS, TEXTS, DRAWS)),
    slip("ngrams-first-follower", "Only what followed the first time is excluded.",
         edit(BANNED, BANNED.replace("banned = {",
                                     "banned = [").replace("== last\n    }", "== last][:1]")),
         (REPEATS,)),
    slip("ngrams-last-follower", "Only what followed the last time is excluded.",
         edit(BANNED, BANNED.replace("banned = {",
                                     "banned = [").replace("== last\n    }", "== last][-1:]")),
         (REPEATS,)),
    slip("ngrams-loop-ends-early", "The last place of an n-gram is left out.",
         edit(BANNED, BANNED.replace("len(tokens) - n + 1)", "len(tokens) - n)")),
         (REPEATS, TEXTS, DRAWS)),
    edge("ngrams-all-excluded",
         "All tokens may be excluded.", edit('''    if not (result > -math.inf).any():
        result = logits.clone()
''', ""), (REPEATS, TEXTS, DRAWS)),
    edge("ngrams-one-left",
         "If all are excluded, the most probable one stays.", edit('''    if not (result > -math.inf).any():
        result = logits.clone()
''', '''    if not (result > -math.inf).any():
        result[logits.argmax()] = logits.max()
'''), (REPEATS, TEXTS)),
    slip("ngrams-in-place", "The logits are changed in place.", (Fill("no_repeat_ngrams", '''
last = tokens[max(0, len(tokens) - (n - 1)):]
banned = {tokens[i + n - 1] for i in range(len(tokens) - n + 1) if tokens[i:i + n - 1] == last}
result = logits
if len(banned) < len(logits):
    result[list(banned)] = -math.inf
'''),), (REPEATS,)),
    misconception("ngrams-any-token", "Every token of the list is excluded, whatever n.",
          edit(BANNED, "banned = set(tokens)"), (REPEATS, TEXTS, DRAWS)),
    edge("ngrams-no-unigrams", "n = 1 excludes nothing.",
         edit(LAST, "last = tokens[len(tokens) - (n - 1):] if n > 1 else None"),
         (REPEATS, TEXTS, DRAWS)),
    misconception("ngrams-shorter-too", "Shorter n-grams are excluded, too.",
          edit(BANNED, "banned = {tokens[i + m - 1] for m in range(2, n + 1) for i in "
                       "range(len(tokens) - m + 1) if tokens[i:i + m - 1] == tokens[len(tokens) - "
                       "m + 1:]} if n > 1 else set(tokens)"), (REPEATS,)),
    misconception("ngrams-side-by-side", "Only every n-th place is looked at.",
          edit(BANNED, BANNED.replace("range(len(tokens) - n + 1)",
                                      "range(0, len(tokens) - n + 1, n)")), (REPEATS,)),
    slip("ngrams-any-order", "Tokens in another order count as the same.",
         edit(BANNED, BANNED.replace("tokens[i : i + n - 1] == last",
                                     "set(tokens[i:i + n - 1]) == set(last)")), (REPEATS,)),
    slip("ngrams-of-a-window", "Only the last 8 tokens are looked at.",
         edit(LAST, f"tokens = tokens[-8:]\n    {LAST}"), (REPEATS,)),
    misconception("ngrams-adjacent", "Only n-grams that are repeated at once are excluded.",
          edit(BANNED, "banned = {tokens[-n]} if len(tokens) >= 2 * n - 1 and tokens[len(tokens) - "
                       "2 * n + 1:len(tokens) - n] == last else set()"), (REPEATS, TEXTS, DRAWS)),
    edge("ngrams-zero", "n = 0 excludes nothing.", edit('''    if n < 1:
        raise ValueError(f"an n-gram has at least 1 token; n is {n}")
''', "    if n < 1:\n        return logits\n"), (REPEATS, TEXTS, DRAWS)),
]

READ = "logits, _ = model(x[:, -model.get_block_size():])"
TOKENS = "tokens, logits = x[0].tolist(), logits[0, -1]"
DRAW = "token = torch.multinomial(F.softmax(logits, dim=-1), 1, generator=generator)"
APPEND = "x = torch.cat((x, token[None]), dim=1)"


def generate(order: str = "penalty ngram temperature top_k top_p", **lines) -> tuple[Fill]:
    """A right body of generate with its steps in another order, or other lines."""
    steps = {"penalty": "logits = repetition_penalty(logits, tokens, penalty)",
             "ngram": "if ngram is not None:\n    logits = no_repeat_ngrams(logits, tokens, ngram)",
             "temperature": "logits = apply_temperature(logits, temperature)",
             "top_k": "if top_k is not None:\n    logits = top_k_filter(logits, top_k)",
             "top_p": "if top_p is not None:\n    logits = top_p_filter(logits, top_p)"}
    body = [lines.get("read", READ), lines.get("tokens", TOKENS),
            *(lines.get(name, steps[name]) for name in order.split()),
            lines.get("draw", DRAW), lines.get("append", APPEND)]
    return (Fill("generate", "\n".join(body)),)


GENERATE = [
    misconception("generate-top-p-first", "Top-p comes before top-k.",
          generate("penalty ngram temperature top_p top_k"), (TEXTS, DRAWS)),
    misconception("generate-temperature-last", "The temperature comes last.",
          generate("penalty ngram top_k top_p temperature"), (TEXTS, DRAWS)),
    misconception("generate-penalty-last", "The penalty comes after the filters.",
          generate("ngram temperature top_k top_p penalty"), (TEXTS, DRAWS)),
    misconception("generate-ngrams-last", "The n-grams come after the filters.",
          generate("penalty temperature top_k top_p ngram"), (TEXTS, DRAWS)),
    slip("generate-whole-text", "All tokens are read, more than the model can.",
         generate(read="logits, _ = model(x)"), (TEXTS, DRAWS, SET_UPS)),
    misconception("generate-first-tokens", "The first tokens are read.",
          generate(read="logits, _ = model(x[:, :model.get_block_size()])"), (TEXTS, DRAWS)),
    slip("generate-one-less", "One token less is read.",
         generate(read="logits, _ = model(x[:, 1 - model.get_block_size():])"), (TEXTS, DRAWS)),
    misconception("generate-last-alone", "Only the last token is read.",
          generate(read="logits, _ = model(x[:, -1:])"), (TEXTS, DRAWS)),
    misconception("generate-first-logits", "The logits of the first position are taken.",
          generate(tokens="tokens, logits = x[0].tolist(), logits[0, 0]"), (TEXTS, DRAWS)),
    slip("generate-cuts-text", "The text is cut to what the model reads, and comes back so.",
         generate(read="x = x[:, -model.get_block_size():]\nlogits, _ = model(x)"),
         (TEXTS, DRAWS, SET_UPS)),
    slip("generate-window-for-penalty", "Penalty and n-grams see only what the model reads.",
         generate(tokens="tokens, logits = x[0, -model.get_block_size():].tolist(), logits[0, -1]"), (TEXTS, DRAWS)),
    misconception("generate-argmax", "The most probable token is taken.",
          generate(draw="token = logits.argmax(dim=-1, keepdim=True)"), (TEXTS, DRAWS, SET_UPS)),
    slip("generate-no-generator", "The generator is not used.",
         generate(draw=DRAW.replace(", generator=generator", "")), (TEXTS, DRAWS)),
    misconception("generate-seeded", "It seeds the random numbers itself.",
          generate(draw="torch.manual_seed(0)\n" + DRAW.replace(
        "generator=generator", "generator=generator and generator.manual_seed(0)")),
          (TEXTS, DRAWS, SET_UPS)),
    slip("generate-drawn-twice", "It draws twice, and takes the second.",
         generate(draw=DRAW + "\n" + DRAW), (TEXTS, DRAWS)),
    slip("generate-draws-two", "It draws two tokens and takes the first.",
         generate(draw=DRAW.replace(", 1, gen", ", 2, replacement=True, gen") + "[:1]"),
         (TEXTS, DRAWS)),
    slip("generate-other-draw", "It draws by another way than torch.multinomial.",
         generate(draw="noise = torch.rand(logits.shape, generator=generator)\n"
                       "token = (F.softmax(logits, dim=-1) / -noise.log()).argmax(dim=-1, "
                       "keepdim=True)"), (TEXTS, DRAWS)),
    misconception("generate-from-logits", "It draws in proportion to shifted logits.",
          generate(draw=DRAW.replace("F.softmax(logits, dim=-1)",
                                     "(logits - logits[logits > -math.inf].min() + "
                                     "1e-3).clamp(min=0)")), (TEXTS, DRAWS)),
    edge("generate-zero-means-none", "0 leaves a step out.",
         generate(top_k="if top_k:\n    logits = top_k_filter(logits, top_k)"), (TEXTS, DRAWS)),
    edge("generate-no-top-p-zero", "A top-p of 0 leaves the step out.",
         generate(top_p="if top_p:\n    logits = top_p_filter(logits, top_p)"), (TEXTS, DRAWS)),
    edge("generate-no-ngram-zero", "An n of 0 leaves the step out.",
         generate(ngram="if ngram:\n    logits = no_repeat_ngrams(logits, tokens, ngram)"),
         (TEXTS, DRAWS)),
    edge("generate-penalty-above-one", "Penalties below 1 are passed over.",
         generate(penalty="if penalty > 1:\n    logits = repetition_penalty(logits, tokens, "
                          "penalty)"), (TEXTS, DRAWS)),
    edge("generate-greedy-at-zero",
         "A temperature of 0 is greedy decoding, where it should be refused.",
         generate(temperature="if temperature == 0:\n    logits = top_k_filter(logits, 1)\nelse:\n"
                              "    logits = apply_temperature(logits, temperature)"),
         (TEXTS, DRAWS)),
    slip("generate-new-alone", "Only the new tokens come back.",
         edit("    return x\n\n\n# Case iii", "    return x[:, -steps:]\n\n\n# Case iii"),
         (TEXTS, DRAWS, SET_UPS)),
    slip("generate-temperature-twice", "The temperature is used in the softmax once more.",
         generate(draw=DRAW.replace("F.softmax(logits, ", "F.softmax(logits / temperature, ")),
         (TEXTS, DRAWS)),
    slip("generate-default-top-k", "Without top-k, the 5 most probable stay.",
         generate(top_k="logits = top_k_filter(logits, 5 if top_k is None else top_k)"),
         (TEXTS, DRAWS)),
    misconception("generate-options-exclusive", "Top-k and top-p exclude each other.",
          generate(top_p="if top_p is not None and top_k is None:\n"
                         "    logits = top_p_filter(logits, top_p)"), (TEXTS, DRAWS)),
]

MISTAKES = LOGITS + REPETITION + GENERATE
