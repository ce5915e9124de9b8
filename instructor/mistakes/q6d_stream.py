"""Wrong StreamingAttention (question 6d)."""
from functools import partial

from instructor.mistakes.patches import Edit, Fill, edge, edits, misconception, slip

STREAM, CACHE, LIMITS = "6d-10-basic", "6d-13-hidden", "6d-21-basic"
KEPT = "6d-17-basic", CACHE
FILE = "efficient_attention.py"
edit = partial(edits, FILE)


HELD = "        self.ring = max(attention.pattern.window, *attention.pattern.strides, 0)\n"
ALLOWED = "            allowed &= (distance >= 0) & (columns >= 0)\n"
KEEP = '''
positions = list(range(self.length, self.length + x.size(1)))
flags = [False] * x.size(1) if is_global is None else list(is_global)
q, k, v = self.attention.project(x, start=self.length)
for position, flag in zip(positions, flags):
    if flag and len(self.global_positions) < self.max_global:
        self.global_positions.append(position)
self.length += x.size(1)
self.keys = k if self.keys is None else torch.cat((self.keys, k), dim=2)
self.values = v if self.values is None else torch.cat((self.values, v), dim=2)
held = torch.tensor(self.kept + positions)
self.kept = held.tolist()
distance = torch.tensor(positions)[:, None] - held
allowed = is_local(distance, self.attention.pattern) | \
torch.isin(held, torch.tensor(self.global_positions, dtype=torch.long))
scores = (q @ self.keys.transpose(-2, -1) / math.sqrt(q.size(-1)))\
.masked_fill(~(allowed & (distance >= 0)), -math.inf)
y = self.attention.proj(self.attention.join_heads(scores.softmax(dim=-1) @ self.values))
'''
CUT = '''
keep = (held >= self.length - self.ring) | \
torch.isin(held, torch.tensor(self.global_positions, dtype=torch.long))
self.kept = held[keep].tolist()
'''
START = (Fill("StreamingAttention", "self.ring = max(attention.pattern.window, "
                                    "*attention.pattern.strides, 0)\nself.kept, self.keys, "
              "self.values = [], None, None"),
         Fill("StreamingAttention.cache_bytes",
              "size = 0 if self.keys is None else self.keys.nbytes + self.values.nbytes"))

MISTAKES = [
    misconception("stream-window-only",
          "The ring holds the window, and forgets what strides ask for.",
          edit((HELD, "        self.ring = attention.pattern.window\n")), (STREAM, CACHE)),
    misconception("stream-sum", "The ring has room for the window and for all strides.",
          edit((HELD, "        self.ring = attention.pattern.window + "
                      "sum(attention.pattern.strides)\n")), (STREAM, *KEPT)),
    misconception("stream-forgets-globals", "Global positions are overwritten like others.", edit(
        ("            for places, chosen in ((in_ring, recent), (apart, becomes)):\n",
         "            for places, chosen in ((in_ring, recent),):\n"),
        ("            self.held[in_ring[becomes[recent]]] = -1\n", ""),
        ("torch.cat(\n                (slots >= self.ring, becomes)\n            )",
         "torch.isin(columns, torch.tensor(self.global_positions + rows[becomes].tolist(), "
         "dtype=torch.long))")), (STREAM, CACHE)),
    slip("stream-globals-in-both", "While it is in the ring, a global position counts twice.",
         edit(("            self.held[in_ring[becomes[recent]]] = -1\n", "")), (STREAM, CACHE)),
    slip("stream-globals-unlimited", "All that is declared becomes global.", edit(
       ("        free = self.max_global - len(self.global_positions)\n",
        "        free = 10 ** 9\n"),
       ("self.held = torch.full((self.ring + max_global,), -1",
        "self.held = torch.full((self.ring + 1000,), -1")), (STREAM, CACHE)),
    slip("stream-globals-next-call", "A new global position is global from the next call on.",
         edit(
       ("torch.cat(\n                (slots >= self.ring, becomes)\n            )\n",
        "torch.cat((slots >= self.ring, torch.zeros_like(becomes)))\n")), (STREAM,)),
    misconception("stream-not-causal", "Within a call, positions see those that come after them.",
          edit((ALLOWED, "            allowed &= columns >= 0\n")), (STREAM,)),
    misconception("stream-all-held", "All that is held is attended to.", edit(
        ("            allowed = is_local(distance, self.attention.pattern) | torch.cat(\n"
         "                (slots >= self.ring, becomes)\n            )\n",
         "            allowed = distance.abs() <= self.ring\n"
         "            allowed = allowed | torch.cat((slots >= self.ring, becomes))\n")), (STREAM,)),
    misconception("stream-calls-apart",
          "Each call is a sequence of its own.", (Fill("StreamingAttention.append", '''
flags = [False] * x.size(1) if is_global is None else is_global
y = self.attention(x, [t for t, flag in enumerate(flags) if flag])
self.length += x.size(1)'''),), (STREAM,)),
    misconception("stream-keeps-all-in-secret",
          "Everything is kept, and what should be is reported.",
          (*START, Fill("StreamingAttention.append", KEEP),
           Fill("StreamingAttention.cached_positions", '''
positions = sorted({*range(max(0, self.length - self.ring), self.length), \
*self.global_positions})'''),
           Fill("StreamingAttention.cache_bytes", '''
C = self.attention.key.in_features
size = 0 if self.keys is None else \
2 * (self.ring + self.max_global) * self.keys.size(0) * C * 4''')),
          (STREAM, *KEPT)),
    slip("stream-views",
         "What is kept is a view of all that was there.",
         (*START, Fill("StreamingAttention.append", KEEP + CUT + '''
if keep.all():
    return y
first = int(keep.nonzero()[0, 0]) if keep.any() else len(keep)
if keep[first:].all():
    self.keys, self.values = self.keys[:, :, first:], self.values[:, :, first:]
else:
    self.keys, self.values = self.keys[:, :, keep], self.values[:, :, keep]'''),
          Fill("StreamingAttention.cached_positions", "positions = list(self.kept)")),
         KEPT),
    slip("stream-history", "The cache has gradients, and with them all that was ever read.",
         (*START, Edit(FILE, "    @torch.no_grad()\n    def append", "    def append"),
          Fill("StreamingAttention.append",
               KEEP + CUT + "self.keys, self.values = self.keys[:, :, keep], self.values[:, :, "
                            "keep]"),
          Fill("StreamingAttention.cached_positions", "positions = list(self.kept)")), KEPT),
    slip("stream-bytes-keys", "Only keys are counted.",
         edit(("self.keys.nbytes + self.values.nbytes", "self.keys.nbytes")), KEPT),
    slip("stream-cached-ring", "Global positions that have left the ring are not reported.", edit(
       ("positions = sorted(self.held[self.held >= 0].tolist())",
        "positions = [p for p in sorted(self.held[self.held >= 0].tolist()) if p >= self.length - "
        "self.ring]")), KEPT),
    edge("stream-bytes-of-nothing", "Bytes are counted of a cache that is not there yet.",
         (Fill("StreamingAttention.cache_bytes", "size = self.keys.nbytes + self.values.nbytes"),),
         ("6d-17-basic",)),
    edge("stream-bytes-times-four", "Four bytes are counted for each number, whatever its dtype.",
         edit(("self.keys.nbytes + self.values.nbytes",
               "4 * (self.keys.numel() + self.values.numel())")), ("6d-17-basic",)),
    slip("stream-state-on-module", "Keys and values are kept on the module, which streams share.",
         (
       Edit(FILE, "        self.keys = self.values = None",
            "        attention.cache = None, None    "),
       Edit(FILE, "    @torch.no_grad()\n    def append", """    @property
    def keys(self):
        return self.attention.cache[0]

    @keys.setter
    def keys(self, value):
        self.attention.cache = value, self.attention.cache[1]

    @property
    def values(self):
        return self.attention.cache[1]

    @values.setter
    def values(self, value):
        self.attention.cache = self.attention.cache[0], value

    @torch.no_grad()
    def append""")), (STREAM, *KEPT)),
    edge("stream-refused-counts", "A call that is refused is counted all the same.", edit(
       ("        q, k, v = self.attention.project(x, start=self.length)\n        if self.keys",
        "        self.length += x.size(1)\n"
        "        q, k, v = self.attention.project(x, start=self.length - x.size(1))\n        "
        "self.length -= x.size(1)\n        if self.keys")), (LIMITS,)),
    edge("stream-any-pattern", "A pattern in both directions is streamed as if it were causal.",
         edit(("        if not attention.pattern.causal:\n            raise",
               "        if False:\n            raise")), (LIMITS,)),
    edge("stream-flags-indexed", "The booleans are counted and read by their index.", edit(
       ("[bool(flag) for flag in is_global]",
        "[bool(is_global[t]) for t in range(len(is_global))]")), (LIMITS,)),
    slip("stream-overwritten",
         "New keys overwrite what earlier positions of the call still ask for.",
         edit(("        slots = torch.arange(len(self.held), device=x.device)\n"
               "        outputs = []\n",
               """        slots = torch.arange(len(self.held), device=x.device)
        if self.ring:
            self.held[(self.length + torch.arange(min(x.size(1), self.ring))) % self.ring] = -1
        outputs = []
""")), (STREAM, CACHE)),
    misconception("stream-numpy-history", "All keys are kept besides, in NumPy arrays.", edit(
        ("        y = self.attention.proj(self.attention.join_heads(torch.cat(outputs, dim=2)))\n",
         "        self.seen = [*getattr(self, 'seen', []), k.detach().numpy().copy()]\n"
         "        y = self.attention.proj("
         "self.attention.join_heads(torch.cat(outputs, dim=2)))\n")),
          (STREAM, *KEPT)),
    edge("stream-large-negative",
         "Positions that are not attended to get -10,000 for minus infinity.",
         edit(("scores.masked_fill(~allowed, -math.inf)", "scores.masked_fill(~allowed, -1e4)")),
         (LIMITS,)),
    edge("stream-flags-counted", "A call with too few booleans takes the missing ones for False.",
         edit(
       ("        if x.size(1) == 0 or len(declared) != x.size(1):\n",
        "        declared += [False] * (x.size(1) - len(declared))\n"
        "        if x.size(1) == 0:\n")), (LIMITS,)),
    misconception("stream-rope-in-cache", "Keys are held before they are rotated.", edit(
        ("                    k[:, :, chosen],\n",
         "                    self.attention.split_heads(self.attention.key(x))[\n"
         "                        :, :, rows - self.start\n                    ][:, :, chosen],\n"),
        ("        slots = torch.arange(len(self.held), device=x.device)\n",
         "        slots = torch.arange(len(self.held), device=x.device)\n"
         "        self.start = self.length\n")), (STREAM, "6d-14-hidden")),
]
