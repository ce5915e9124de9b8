"""Wrong global positions, patterns and counts (question 6d): what comes before the attention
itself.
"""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

FROM, ATTENDED, COUNT, SPARSE, MODULE, STREAM = (f"6d-{n}-basic" for n in range(5, 11))
REFUSED = "6d-18-basic"
# A count that is wrong for common patterns is wrong where the work is compared with it, too.
COMMON = COUNT, "6d-16-basic", "6d-12-hidden"
FILE = "efficient_attention.py"


def edit(old: str, new: str) -> tuple[Edit]:
    """A replacement in the reference."""
    return (Edit(FILE, old, new),)


def attended(near: str = "range(i - pattern.window, i + pattern.window + 1)",
             far: str = "[i + sign * stride for stride in pattern.strides for sign in (-1, 1)]",
             rows: str = "i in chosen and not pattern.causal",
             result: str = "sorted(j for j in {chosen} if 0 <= j < n and {past})",
             past: str = "(j <= i or not pattern.causal)", found: str = "chosen.union(near, far)",
             refuse: str = 'raise IndexError(f"there is no position {i}")') -> tuple[Fill]:
    """attended_positions with some of its expressions replaced."""
    return (Fill("attended_positions", f'''
if not 0 <= i < n:
    {refuse}
chosen = set(sorted_positions(global_positions, n))
if {rows}:
    chosen = set(range(n))
near = {near}
far = {far}
attended = {result.format(chosen=found, past=past)}'''),)


SOURCES = [
    slip("kth-from-k", "Every k-th position begins with k.",
         edit("list(range(0, n, k))", "list(range(k, n, k))"), (FROM,)),
    slip("kth-up-to-n", "Position n is among them.",
         edit("list(range(0, n, k))", "list(range(0, n + 1, k))"), (FROM,)),
    slip("kth-k-positions", "There are k positions, at even distances.",
         edit("list(range(0, n, k))", "list(range(0, n, max(1, n // k)))"), (FROM,)),
    slip("kth-range", "They are returned as a range.",
         edit("list(range(0, n, k))", "range(0, n, k)"), (FROM,)),
    edge("kth-negative", "A negative k gives no positions, and no error.",
         edit("    if k < 1:\n", "    if k == 0:\n"), (REFUSED,)),
    slip("headers-match", "The expression may match the beginning of a token.",
         edit("re.fullmatch(regex, token)", "re.match(regex, token)"), (FROM,)),
    slip("headers-search", "The expression may match anywhere.",
         edit("re.fullmatch(regex, token)", "re.search(regex, token)"), (FROM,)),
    edge("headers-dollar", "A $ at the end also matches before a line break.",
         edit("re.fullmatch(regex, token)", 're.match(f"(?:{regex})$", token)'), (FROM,)),
    slip("headers-tokens", "The tokens are returned instead of their positions.",
         edit("[position for position, token in", "[token for position, token in"), (FROM,)),
    edge("headers-indexed", "The tokens are counted and read by their index.",
         edit("[position for position, token in enumerate(tokens) if re.fullmatch(regex, token)]",
              "[n for n in range(len(tokens)) if re.fullmatch(regex, tokens[n])]"), (REFUSED,)),
    slip("predicted-first", "Of too many, the first are taken.",
         (Fill("predicted_globals", "positions = (scores > 0).nonzero()[:, 0].tolist()[:limit]"),),
         (FROM, MODULE)),
    slip("predicted-lowest", "The lowest scores are taken.",
         edit("descending=True, stable", "descending=False, stable"), (FROM, MODULE)),
    edge("predicted-late",
         "Of equal scores, the later positions are taken.", (Fill("predicted_globals", '''
best = len(scores) - 1 - torch.sort(scores.flip(0), descending=True, stable=True).indices[:limit]
positions = sorted(best[scores[best] > 0].tolist())'''),), (FROM,)),
    edge("predicted-topk",
         "topk takes some of equal scores, in no order that it promises.", (Fill("predicted_globals", '''
best = scores.topk(min(limit, len(scores))).indices
positions = sorted(best[scores[best] > 0].tolist())'''),), (FROM,)),
    edge("predicted-zero", "A score of 0 is enough.",
         edit("best[scores[best] > 0]", "best[scores[best] >= 0]"), (FROM,)),
    slip("predicted-all-signs", "The highest scores are taken, also below 0.",
         edit("sorted(best[scores[best] > 0].tolist())", "sorted(best.tolist())"), (FROM, MODULE)),
    slip("predicted-by-score", "The positions are sorted by score.",
         edit("sorted(best[scores[best] > 0].tolist())", "best[scores[best] > 0].tolist()"),
         (FROM,)),
    slip("predicted-tensor", "They are returned as a tensor.",
         edit("sorted(best[scores[best] > 0].tolist())", "best[scores[best] > 0].sort().values"),
         (FROM,)),
    slip("predicted-no-limit", "There is no limit.", edit("stable=True).indices[:limit]",
       "stable=True).indices"), (FROM, MODULE)),
]

PATTERN = [
    slip("attended-end-of-range",
         "The end of a range is not in it, so the window is too short ahead.",
         attended(near="range(i - pattern.window, i + pattern.window)"), (ATTENDED,)),
    slip("attended-window-open", "|i - j| < window.",
         attended(near="range(i - pattern.window + 1, i + max(pattern.window, 1))"), (ATTENDED,)),
    slip("attended-half", "The window is w wide altogether.",
         attended(near="range(i - pattern.window // 2, i + pattern.window // 2 + 1)"), (ATTENDED,)),
    slip("attended-not-itself", "A position does not attend to itself.",
         attended(past="j != i and (j <= i or not pattern.causal)"), (ATTENDED,)),
    slip("attended-multiples", "All multiples of a stride are attended to.",
         attended(far="[j for j in range(n) if any((i - j) % stride == 0 for stride in "
                      "pattern.strides)]"), (ATTENDED,)),
    slip("attended-stride-positions", "Strides are taken for positions.",
         attended(far="pattern.strides"), (ATTENDED,)),
    slip("attended-strides-back",
         "Strides reach back alone, also where the pattern is not causal.",
         attended(far="[i - stride for stride in pattern.strides]"), (ATTENDED,)),
    slip("attended-strides-from-window", "Strides are counted from the edge of the window.",
         attended(far="[i + sign * (pattern.window + stride) for stride in pattern.strides for "
                      "sign in (-1, 1)]"), (ATTENDED,)),
    slip("attended-no-global-rows", "A global position attends to no more than others.",
         attended(rows="False"), (ATTENDED,)),
    slip("attended-causal-global-rows",
         "In the causal pattern, a global position looks at all earlier ones.",
         attended(rows="i in chosen"), (ATTENDED,)),
    slip("attended-no-global-columns", "Others do not attend to global positions.",
         attended(found="(chosen if i in sorted_positions(global_positions, n) else "
                        "set()).union(near, far)"), (ATTENDED,)),
    slip("attended-causal-late",
         "Global positions are seen from before, in the causal pattern, too.",
         attended(past="(j <= i or not pattern.causal or j in chosen)"), (ATTENDED,)),
    slip("attended-ends", "Positions beyond the ends are in the list.",
         attended(result="sorted(j for j in {chosen} if {past})"), (ATTENDED,)),
    slip("attended-repeated", "What several rules allow is in the list several times.",
         attended(found="[*chosen, *near, *far]"), (ATTENDED,)),
    slip("attended-unsorted",
         "The list has the window first, then strides, then global positions.",
         attended(result="list(dict.fromkeys(j for j in [*near, *far, *chosen] if 0 <= j < n and "
                         "{past}))"), (ATTENDED,)),
    slip("attended-set", "A set is returned.",
         attended(result="{{j for j in {chosen} if 0 <= j < n and {past}}}"), (ATTENDED,)),
    edge("attended-negative-i", "A negative i counts from the end.",
         (*attended(refuse="i = i + n"),), (REFUSED,)),
    edge("attended-value-error", "A position beyond the end raises ValueError.",
         attended(refuse='raise ValueError("no such position")'), (REFUSED,)),
    edge("globals-modulo", "Global positions beyond the ends are taken modulo n.",
         edit("    positions = sorted({int(position) for position in positions})\n",
              "    positions = sorted({int(position) % n for position in positions})\n"),
         (REFUSED,)),
    edge("globals-dropped", "Global positions beyond the ends are left out silently.",
         edit("    positions = sorted({int(position) for position in positions})\n",
              "    positions = sorted({int(position) for position in positions if 0 <= position < "
              "n})\n"), (REFUSED,)),
    edge("pattern-unchecked", "A pattern with a negative window is accepted.",
         edit("        if self.window < 0:\n", "        if self.window < -9:\n"), (REFUSED,)),
]

DISTANCES = ("    distances = {\n        *range(min(pattern.window, n - 1) + 1),\n"
             "        *(stride for stride in pattern.strides if stride < n),\n    }\n")
NEW = "    distances = [*range(min(pattern.window, n - 1) + 1), *{}]\n"
BOTH = " - sum(g + d in members for g in chosen)"

COUNTS = [
    slip("count-no-ends", "The window is taken for full near the ends, too.",
         edit("count += (n - d - either)", "count += (n - d * (d > pattern.window) - either)"),
         COMMON),
    slip("count-no-diagonal", "The position itself is forgotten.",
         edit("{\n        *range(min(", "{*range(1, min("), COMMON),
    slip("count-global-pairs-twice", "Pairs of two global positions are counted twice.",
         edit("2 * n * len(chosen) - len(chosen) ** 2", "2 * n * len(chosen)"), COMMON),
    slip("count-overlap", "Global pairs that are also in the window are counted twice.",
         edit("count += (n - d - either)", "count += (n - d)"), COMMON),
    slip("count-overlap-of-two", "Local pairs of two global positions are subtracted twice.",
         edit(BOTH, ""), COMMON),
    slip("count-overlap-strides",
         "Local pairs of two global positions that lie at a stride are subtracted twice.",
         edit(BOTH, " - sum(g + d in members for g in chosen) * (d <= pattern.window)"), COMMON),
    slip("count-overlap-one-side",
         "Of a pair with a global position, only the earlier place is looked at.",
         edit("either = earlier + later", "either = earlier + later * (d == 0)"), COMMON),
    slip("count-strides-within", "Strides within the window are counted again.",
         edit(DISTANCES, NEW.format("{stride for stride in pattern.strides if stride < n}")),
         (COUNT,)),
    slip("count-strides-beyond", "Strides longer than the text take connections away.",
         edit(DISTANCES, DISTANCES.replace(" if stride < n", "")), (COUNT,)),
    edge("count-repeated-strides", "A stride that is named twice counts twice.",
         edit(DISTANCES, NEW.format(
             "(stride for stride in pattern.strides if pattern.window < stride < n)")), (COUNT,)),
    edge("count-repeated-globals", "A global position that is named twice counts twice.",
         edit("    chosen = sorted_positions(global_positions, n)\n    members = ",
              "    chosen = sorted(global_positions)\n    members = "), (COUNT, REFUSED)),
    slip("count-causal-half", "The causal pattern is said to have half the connections.",
         edit("    if pattern.causal:\n        # Of the pairs",
              "    if pattern.causal:\n        return (count_connections(n, "
              "Pattern(pattern.window, pattern.strides), "
              "global_positions) + n) // 2\n        # Of the pairs"), COMMON),
    slip("count-scores", "It is the number of scores of full attention.",
         (Fill("count_connections", "count = n * (n + 1) // 2 if pattern.causal else n * n"),),
         COMMON),
    slip("count-estimate", "The estimate of the text is worked out.",
         (Fill("count_connections", "count = n * (2 * pattern.window) + 2 * n * "
                                    "len(set(global_positions)) + 2 * n * "
               "len(pattern.strides)"),), COMMON),
    slip("count-goes-through-pairs",
         "The lengths of all rows' lists are summed, which takes a minute.",
         (Fill("count_connections", "chosen = list(global_positions)\n"
                                    "count = sum(len(attended_positions(i, n, pattern, chosen)) "
                                    "for i in range(n))"),), (COUNT,)),
    slip("count-mask", "The mask is made and summed.", (Fill("count_connections", '''
i = torch.arange(n)
distance = i[:, None] - i
chosen = torch.isin(i, torch.tensor(sorted_positions(global_positions, n)))
mask = is_local(distance, pattern)
mask = (mask | chosen) & (distance >= 0) if pattern.causal else mask | chosen | chosen[:, None]
count = int(mask.sum())'''),), (COUNT,)),
]

# What is wrong in one function and right in the others is a slip: a wrong idea of the pattern is in
# all of them.
IDEAS = [
    misconception("pattern-multiples", "A stride is taken for all its multiples, everywhere.", edit(
        "        if self.window < 0:\n",
        "        multiples = tuple(d for s in self.strides for d in range(s, 2000, max(s, 1)))\n"
        "        object.__setattr__(self, 'strides', multiples or self.strides)\n"
        "        if self.window < 0:\n"), (ATTENDED, COUNT, SPARSE, MODULE, STREAM)),
    misconception("pattern-window-altogether",
          "The window is taken to be w wide altogether, everywhere.",
          edit("        if self.window < 0:\n",
               "        object.__setattr__(self, 'window', self.window // 2)\n"
               "        if self.window < 0:\n"), (ATTENDED, COUNT, SPARSE, MODULE, STREAM)),
]

COUNTS.append(
    edge("count-iterator-used-up", "Global positions are gone through twice.",
         edit("    chosen = sorted_positions(global_positions, n)\n    members = ",
              "    sorted_positions(global_positions, n)\n"
              "    chosen = sorted_positions(global_positions, n)\n    members = "),
         (COUNT,)))

MISTAKES = SOURCES + PATTERN + COUNTS + IDEAS
