"""Wrong global positions, patterns and counts (question 6d): what comes before the attention
itself.
"""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

FROM, ATTENDED, COUNT, SPARSE, MODULE, STREAM = (f"6d-{n}-basic" for n in range(5, 11))
REFUSED = "6d-18-basic"
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
    edge("kth-negative", "A negative k gives no positions, and no error.",
         edit("    if k < 1:\n", "    if k == 0:\n"), (REFUSED,)),
    slip("headers-match", "The expression may match the beginning of a token.",
         edit("re.fullmatch(regex, token)", "re.match(regex, token)"), (FROM,)),
    edge("headers-dollar", "A $ at the end also matches before a line break.",
         edit("re.fullmatch(regex, token)", 're.match(f"(?:{regex})$", token)'), (FROM,)),
    edge("headers-indexed", "The tokens are counted and read by their index.",
         edit("[position for position, token in enumerate(tokens) if re.fullmatch(regex, token)]",
              "[n for n in range(len(tokens)) if re.fullmatch(regex, tokens[n])]"), (REFUSED,)),
    edge("predicted-topk",
         "topk takes some of equal scores, in no order that it promises.",
         (Fill("predicted_globals", '''
best = scores.topk(min(limit, len(scores))).indices
positions = sorted(best[scores[best] > 0].tolist())'''),), (FROM,)),
    edge("predicted-zero", "A score of 0 is enough.",
         edit("best[scores[best] > 0]", "best[scores[best] >= 0]"), (FROM,)),
    slip("predicted-all-signs", "The highest scores are taken, also below 0.",
         edit("sorted(best[scores[best] > 0].tolist())", "sorted(best.tolist())"), (FROM, MODULE)),
    slip("predicted-no-limit", "There is no limit.", edit("stable=True).indices[:limit]",
       "stable=True).indices"), (FROM, MODULE)),
]

PATTERN = [
    slip("attended-end-of-range",
         "The end of a range is not in it, so the window is too short ahead.",
         attended(near="range(i - pattern.window, i + pattern.window)"), (ATTENDED,)),
    slip("attended-stride-positions", "Strides are taken for positions.",
         attended(far="pattern.strides"), (ATTENDED,)),
    slip("attended-no-global-rows", "A global position attends to no more than others.",
         attended(rows="False"), (ATTENDED,)),
    slip("attended-causal-global-rows",
         "In the causal pattern, a global position looks at all earlier ones.",
         attended(rows="i in chosen"), (ATTENDED,)),
    slip("attended-wrap-round", "Positions beyond the ends are those at the other end.",
         attended(near="[j % n for j in range(i - pattern.window, i + pattern.window + 1)]",
                  far="[(i + sign * stride) % n for stride in pattern.strides "
                      "for sign in (-1, 1)]"),
         (ATTENDED,)),
    slip("attended-ends", "Positions beyond the ends are in the list.",
         attended(result="sorted(j for j in {chosen} if {past})"), (ATTENDED,)),
    slip("attended-unsorted",
         "The list has the window first, then strides, then global positions.",
         attended(result="list(dict.fromkeys(j for j in [*near, *far, *chosen] if 0 <= j < n and "
                         "{past}))"), (ATTENDED,)),
    edge("attended-negative-i", "A negative i counts from the end.",
         (*attended(refuse="i = i + n"),), (REFUSED,)),
    edge("attended-value-error", "A position beyond the end raises ValueError.",
         attended(refuse='raise ValueError("no such position")'), (REFUSED,)),
    edge("globals-dropped", "Global positions beyond the ends are left out silently.",
         edit("    positions = sorted({int(position) for position in positions})\n",
              "    positions = sorted({int(position) for position in positions if 0 <= position < "
              "n})\n"), (REFUSED,)),
    edge("pattern-unchecked", "A pattern with a negative window is accepted.",
         edit("        if self.window < 0:\n", "        if self.window < -9:\n"), (REFUSED,)),
]

DISTANCES = ("    distances = {\n        *range(min(pattern.window, n - 1) + 1),\n"
             "        *(stride for stride in pattern.strides if stride < n),\n    }\n")

COUNTS = [
    slip("count-no-ends", "The window is taken for full near the ends, too.",
         edit("count += (n - d - either)", "count += (n - d * (d > pattern.window) - either)"),
         (COUNT,)),
    slip("count-global-pairs-twice", "Pairs of two global positions are counted twice.",
         edit("2 * n * len(chosen) - len(chosen) ** 2", "2 * n * len(chosen)"), (COUNT,)),
    slip("count-overlap", "Global pairs that are also in the window are counted twice.",
         edit("count += (n - d - either)", "count += (n - d)"), (COUNT,)),
    slip("count-strides-beyond", "Strides longer than the text take connections away.",
         edit(DISTANCES, DISTANCES.replace(" if stride < n", "")), (COUNT,)),
    edge("count-repeated-globals", "A global position that is named twice counts twice.",
         edit("    chosen = sorted_positions(global_positions, n)\n    members = ",
              "    chosen = sorted(global_positions)\n    members = "), (COUNT, REFUSED)),
    edge("count-iterator-used-up", "Global positions are gone through twice.",
         edit("    chosen = sorted_positions(global_positions, n)\n    members = ",
              "    sorted_positions(global_positions, n)\n"
              "    chosen = sorted_positions(global_positions, n)\n    members = "),
         (COUNT,)),
    slip("count-estimate", "The estimate of the text is worked out.",
         (Fill("count_connections", "count = n * (2 * pattern.window) + 2 * n * "
                                    "len(set(global_positions)) + 2 * n * "
               "len(pattern.strides)"),), (COUNT,)),
    slip("count-goes-through-pairs",
         "The lengths of all rows' lists are summed, which takes a minute.",
         (Fill("count_connections", "chosen = list(global_positions)\n"
                                    "count = sum(len(attended_positions(i, n, pattern, chosen)) "
                                    "for i in range(n))"),), (COUNT,)),
]

CHANGED = [
    edge("predicted-scores-changed", "Scores below 0 become 0 in place.", edit(
        "    best = torch.sort(scores,",
        "    with torch.no_grad():\n        scores[scores <= 0] = 0.0\n"
        "    best = torch.sort(scores,"),
         (FROM,)),
    edge("pattern-globals-sorted-in-place",
         "The caller's list of global positions is sorted.", edit(
        "    chosen = set(sorted_positions(global_positions, n))\n",
        "    if isinstance(global_positions, list):\n        global_positions.sort()\n"
        "    chosen = set(sorted_positions(global_positions, n))\n"), (ATTENDED,)),
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

MISTAKES = SOURCES + PATTERN + COUNTS + CHANGED + IDEAS
