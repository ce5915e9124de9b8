"""Wrong fixes of broken trainings (question 6e): filters of logits."""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

SCORES, FILTERS, REPEATS, STACK, SET_UPS = (f"6e-{n}-basic" for n in range(3, 8))
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

MISTAKES = LOGITS
