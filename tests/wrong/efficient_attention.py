"""Wrong global positions, patterns and counts (question 6d): what comes before the attention itself."""
from variants import Edit, Fill, Wrong

FROM, ATTENDED, COUNT, SPARSE, MODULE, STREAM = (f"6d-{n}-basic" for n in range(5, 11))
REFUSED = "6d-14-hidden"
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
    return (Fill("attended", f'''
if not 0 <= i < n:
    {refuse}
chosen = set(sorted_positions(global_positions, n))
if {rows}:
    chosen = set(range(n))
near = {near}
far = {far}
attended = {result.format(chosen=found, past=past)}'''),)


SOURCES = [
    Wrong("kth-from-k", "Every k-th position begins with k.", edit("list(range(0, n, k))", "list(range(k, n, k))"), (FROM,)),
    Wrong("kth-up-to-n", "Position n is among them.", edit("list(range(0, n, k))", "list(range(0, n + 1, k))"), (FROM,)),
    Wrong("kth-k-positions", "There are k positions, at even distances.",
          edit("list(range(0, n, k))", "list(range(0, n, max(1, n // k)))"),
          (FROM,)),
    Wrong("kth-range", "They are returned as a range.", edit("list(range(0, n, k))", "range(0, n, k)"), (FROM,)),
    Wrong("kth-negative", "A negative k gives no positions, and no error.", edit("    if k < 1:\n", "    if k == 0:\n"),
          (REFUSED,)),
    Wrong("headers-match", "The expression may match the beginning of a token.",
          edit("re.fullmatch(regex, token)", "re.match(regex, token)"),
          (FROM,)),
    Wrong("headers-search", "The expression may match anywhere.", edit("re.fullmatch(regex, token)", "re.search(regex, token)"),
          (FROM,)),
    Wrong("headers-dollar", "A $ at the end also matches before a line break.",
          edit("re.fullmatch(regex, token)", 're.match(f"(?:{regex})$", token)'),
          (FROM,)),
    Wrong("headers-tokens", "The tokens are returned instead of their positions.",
          edit("[position for position, token in", "[token for position, token in"),
          (FROM,)),
    Wrong("predicted-first", "Of too many, the first are taken.",
          (Fill("predicted", "positions = (scores > 0).nonzero()[:, 0].tolist()[:limit]"),), (FROM, MODULE)),
    Wrong("predicted-lowest", "The lowest scores are taken.", edit("descending=True, stable", "descending=False, stable"),
          (FROM, MODULE)),
    Wrong("predicted-late", "Of equal scores, the later positions are taken.", (Fill("predicted", '''
best = len(scores) - 1 - torch.sort(scores.flip(0), descending=True, stable=True).indices[:limit]
positions = sorted(best[scores[best] > 0].tolist())'''),), (FROM,)),
    Wrong("predicted-topk", "topk takes some of equal scores, in no order that it promises.", (Fill("predicted", '''
best = scores.topk(min(limit, len(scores))).indices
positions = sorted(best[scores[best] > 0].tolist())'''),), (FROM,)),
    Wrong("predicted-zero", "A score of 0 is enough.", edit("best[scores[best] > 0]", "best[scores[best] >= 0]"), (FROM,)),
    Wrong("predicted-all-signs", "The highest scores are taken, also below 0.",
          edit("sorted(best[scores[best] > 0].tolist())", "sorted(best.tolist())"),
          (FROM, MODULE)),
    Wrong("predicted-by-score", "The positions are sorted by score.",
          edit("sorted(best[scores[best] > 0].tolist())", "best[scores[best] > 0].tolist()"),
          (FROM,)),
    Wrong("predicted-tensor", "They are returned as a tensor.",
          edit("sorted(best[scores[best] > 0].tolist())", "best[scores[best] > 0].sort().values"),
          (FROM,)),
    Wrong("predicted-no-limit", "There is no limit.", edit("stable=True).indices[:limit]", "stable=True).indices"),
          (FROM, MODULE)),
]

PATTERN = [
    Wrong("attended-end-of-range", "The end of a range is not in it, so the window is too short ahead.",
          attended(near="range(i - pattern.window, i + pattern.window)"), (ATTENDED,)),
    Wrong("attended-window-open", "|i - j| < window.", attended(near="range(i - pattern.window + 1, i + max(pattern.window, 1))"),
          (ATTENDED,)),
    Wrong("attended-half", "The window is w wide altogether.",
          attended(near="range(i - pattern.window // 2, i + pattern.window // 2 + 1)"), (ATTENDED,)),
    Wrong("attended-not-itself", "A position does not attend to itself.",
          attended(past="j != i and (j <= i or not pattern.causal)"), (ATTENDED,)),
    Wrong("attended-multiples", "All multiples of a stride are attended to.",
          attended(far="[j for j in range(n) if any((i - j) % stride == 0 for stride in pattern.strides)]"), (ATTENDED,)),
    Wrong("attended-stride-positions", "Strides are taken for positions.", attended(far="pattern.strides"), (ATTENDED,)),
    Wrong("attended-strides-back", "Strides reach back alone, also where the pattern is not causal.",
          attended(far="[i - stride for stride in pattern.strides]"), (ATTENDED,)),
    Wrong("attended-strides-from-window", "Strides are counted from the edge of the window.",
          attended(far="[i + sign * (pattern.window + stride) for stride in pattern.strides for sign in (-1, 1)]"), (ATTENDED,)),
    Wrong("attended-no-global-rows", "A global position attends to no more than others.", attended(rows="False"), (ATTENDED,)),
    Wrong("attended-causal-global-rows", "In the causal pattern, a global position looks at all earlier ones.",
          attended(rows="i in chosen"), (ATTENDED,)),
    Wrong("attended-no-global-columns", "Others do not attend to global positions.",
          attended(found="(chosen if i in sorted_positions(global_positions, n) else set()).union(near, far)"), (ATTENDED,)),
    Wrong("attended-causal-late", "Global positions are seen from before, in the causal pattern, too.",
          attended(past="(j <= i or not pattern.causal or j in chosen)"), (ATTENDED,)),
    Wrong("attended-ends", "Positions beyond the ends are in the list.", attended(result="sorted(j for j in {chosen} if {past})"),
          (ATTENDED,)),
    Wrong("attended-repeated", "What several rules allow is in the list several times.", attended(found="[*chosen, *near, *far]"),
          (ATTENDED,)),
    Wrong("attended-unsorted", "The list has the window first, then strides, then global positions.",
          attended(result="list(dict.fromkeys(j for j in [*near, *far, *chosen] if 0 <= j < n and {past}))"), (ATTENDED,)),
    Wrong("attended-set", "A set is returned.", attended(result="{{j for j in {chosen} if 0 <= j < n and {past}}}"), (ATTENDED,)),
    Wrong("attended-negative-i", "A negative i counts from the end.",
          (*attended(refuse="i = i + n"),), (REFUSED,)),
    Wrong("attended-value-error", "A position beyond the end raises ValueError.",
          attended(refuse='raise ValueError("no such position")'), (REFUSED,)),
    Wrong("globals-modulo", "Global positions beyond the ends are taken modulo n.",
          edit("    positions = sorted({int(position) for position in positions})\n",
               "    positions = sorted({int(position) % n for position in positions})\n"),
          (REFUSED,)),
    Wrong("globals-dropped", "Global positions beyond the ends are left out silently.",
          edit("    positions = sorted({int(position) for position in positions})\n",
               "    positions = sorted({int(position) for position in positions if 0 <= position < n})\n"), (REFUSED,)),
    Wrong("pattern-unchecked", "A pattern with a negative window is accepted.",
          edit("        if self.window < 0:\n", "        if self.window < -9:\n"),
          (REFUSED,)),
]

DISTANCES = "    distances = {*range(min(pattern.window, n - 1) + 1), *(stride for stride in pattern.strides if stride < n)}\n"
NEW = "    distances = [*range(min(pattern.window, n - 1) + 1), *{}]\n"
BOTH = " - sum(g + d in members for g in chosen)"

COUNTS = [
    Wrong("count-no-ends", "The window is taken for full near the ends, too.",
          edit("count += (n - d - either)", "count += (n - d * (d > pattern.window) - either)"), (COUNT,)),
    Wrong("count-no-diagonal", "The position itself is forgotten.", edit("{*range(min(", "{*range(1, min("), (COUNT,)),
    Wrong("count-global-pairs-twice", "Pairs of two global positions are counted twice.",
          edit("2 * n * len(chosen) - len(chosen) ** 2", "2 * n * len(chosen)"), (COUNT,)),
    Wrong("count-overlap", "Global pairs that are also in the window are counted twice.",
          edit("count += (n - d - either)", "count += (n - d)"), (COUNT,)),
    Wrong("count-overlap-of-two", "Local pairs of two global positions are subtracted twice.", edit(BOTH, ""), (COUNT,)),
    Wrong("count-overlap-strides", "Local pairs of two global positions that lie at a stride are subtracted twice.",
          edit(BOTH, " - sum(g + d in members for g in chosen) * (d <= pattern.window)"), (COUNT,)),
    Wrong("count-overlap-one-side", "Of a pair with a global position, only the earlier place is looked at.",
          edit("either = earlier + later", "either = earlier + later * (d == 0)"), (COUNT,)),
    Wrong("count-strides-within", "Strides within the window are counted again.",
          edit(DISTANCES, NEW.format("{stride for stride in pattern.strides if stride < n}")), (COUNT,)),
    Wrong("count-strides-beyond", "Strides longer than the text take connections away.",
          edit(DISTANCES, DISTANCES.replace(" if stride < n", "")), (COUNT,)),
    Wrong("count-repeated-strides", "A stride that is named twice counts twice.",
          edit(DISTANCES, NEW.format("(stride for stride in pattern.strides if pattern.window < stride < n)")), (COUNT,)),
    Wrong("count-repeated-globals", "A global position that is named twice counts twice.",
          edit("    chosen = sorted_positions(global_positions, n)\n    members = ",
               "    chosen = sorted(global_positions)\n    members = "), (COUNT, REFUSED)),
    Wrong("count-causal-half", "The causal pattern is said to have half the connections.",
          edit("    if pattern.causal:\n        # Of the pairs",
               "    if pattern.causal:\n        return (count_connections(n, Pattern(pattern.window, pattern.strides), "
               "global_positions) + n) // 2\n        # Of the pairs"), (COUNT,)),
    Wrong("count-scores", "It is the number of scores of full attention.",
          (Fill("connections", "count = n * (n + 1) // 2 if pattern.causal else n * n"),), (COUNT,)),
    Wrong("count-estimate", "The estimate of the text is worked out.",
          (Fill("connections", "count = n * (2 * pattern.window) + 2 * n * len(set(global_positions)) + 2 * n * "
                "len(pattern.strides)"),), (COUNT,)),
    Wrong("count-goes-through-pairs", "The lengths of all rows' lists are summed, which takes a minute.",
          (Fill("connections", "chosen = list(global_positions)\ncount = sum(len(attended_positions(i, n, pattern, chosen)) for "
                "i in range(n))"),), (COUNT,)),
    Wrong("count-mask", "The mask is made and summed.", (Fill("connections", '''
i = torch.arange(n)
distance = i[:, None] - i
chosen = torch.isin(i, torch.tensor(sorted_positions(global_positions, n)))
mask = is_local(distance, pattern)
mask = (mask | chosen) & (distance >= 0) if pattern.causal else mask | chosen | chosen[:, None]
count = int(mask.sum())'''),), (COUNT,)),
]

WRONG = SOURCES + PATTERN + COUNTS
