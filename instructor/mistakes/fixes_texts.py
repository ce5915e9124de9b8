"""Wrong fixes of broken trainings (question 6e): repetition, generate, stacks and their
initialization.
"""
from instructor.mistakes.fixes import DRAWS, REPEATS, SET_UPS, TEXTS, edit
from instructor.mistakes.patches import Fill, edge, misconception, slip

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

MISTAKES = REPETITION + GENERATE
