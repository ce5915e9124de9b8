"""Wrong SparseSelfAttention (question 6d)."""
from functools import partial

from instructor.mistakes.patches import edge, edits, misconception, slip

MODULE, STREAM, ROTATION, LIMITS = "6d-9-basic", "6d-10-basic", "6d-14-hidden", "6d-20-basic"
edit = partial(edits, "efficient_attention.py")


COPY = "getattr(sparse, name).load_state_dict(getattr(attention, name).state_dict())"
NAMES = '        for name in ("query", "key", "value", "proj"):\n'
STRETCH = "* min(\n                1.0, block_size / max_positions\n            )"

DENSE = '''n, i = x.size(1), torch.arange(x.size(1))
        chosen = torch.zeros(n, dtype=torch.bool)
        chosen[sorted_positions(global_positions, n)] = True
        mask = is_local(i[:, None] - i, self.pattern) | chosen
        mask = mask & (i <= i[:, None]) if self.pattern.causal else mask | chosen[:, None]
        y = self.proj(self.join_heads(\
F.scaled_dot_product_attention(*self.project(x), attn_mask=mask)))
'''

MISTAKES = [
    slip("module-dense",
         "The module does not use sparse_attention: it is dense attention with a mask.", edit(
       ("y = self.proj(\n            self.join_heads(sparse_attention(*self.project(x), "
        "self.pattern, global_positions))\n        )\n", DENSE)), (MODULE,)),
    slip("module-shares", "The new module gets the dense one's layers, and not copies.",
         edit((COPY, "setattr(sparse, name, getattr(attention, name))")), (MODULE,)),
    slip("module-no-proj", "The output projection is not copied.",
         edit((NAMES, '        for name in ("query", "key", "value"):\n')), (MODULE,)),
    slip("module-empties-dense", "The dense module's biases are added to, in place.",
         edit((COPY, COPY + "\n            getattr(attention, name).bias.data += 1")), (MODULE,)),
    slip("module-predictor-random", "The predictor is not zero after conversion.",
         edit(("        if attention.rope:\n            block_size",
               "        nn.init.normal_(sparse.predictor.weight)\n        if attention.rope:\n"
               "            block_size")), (MODULE,)),
    slip("module-empty-is-none", "An empty list of positions is taken for None.",
         edit(("        if global_positions is None:\n", "        if not global_positions:\n")),
         (MODULE,)),
    slip("module-default-limit",
         "The predictor's choice is limited to 200, whatever max_global is.", edit(
       ("predicted_globals(self.predictor(x)[0, :, 0], self.max_global)",
        "predicted_globals(self.predictor(x)[0, :, 0])")), (MODULE,)),
    slip("module-predictor-unused", "None means no global positions.", edit(
       ("global_positions = predicted_globals(self.predictor(x)[0, :, 0], self.max_global)",
        "global_positions = ()")), (MODULE,)),
    edge("module-batch-predicted", "For several sequences, the choice for the first is used.",
         edit(
       ('            if x.size(0) != 1:\n'
        '                raise ValueError(f"the predictor chooses for one sequence; there are '
        '{x.size(0)}")\n', "")), (LIMITS,)),
    slip("module-chooses-once",
         "The predictor's choice is kept on the module, for all texts of this shape.", edit(
       ("global_positions = predicted_globals(self.predictor(x)[0, :, 0], self.max_global)",
        "kept = self.__dict__.setdefault('kept', {})\n"
        "            if x.shape not in kept:\n"
        "                kept[x.shape] = predicted_globals("
        "self.predictor(x)[0, :, 0], self.max_global)\n"
        "            global_positions = kept[x.shape]")), (MODULE,)),
    slip("module-keeps-keys", "Keys are kept on the module, for all texts of this shape.", edit(
       ("        if self.rope_cache is not None:\n            end",
        "        k = self.__dict__.setdefault('kept', {}).setdefault((start, k.shape), k)\n"
        "        if self.rope_cache is not None:\n            end")), (MODULE, STREAM)),
    edge("module-iterator-used-up", "The module goes through the global positions twice.", edit(
       ("        y = self.proj(\n            self.join_heads(sparse_attention(",
        "        sorted_positions(global_positions, x.size(1))\n"
        "        y = self.proj(\n            self.join_heads(sparse_attention(")), (LIMITS,)),
    edge("module-float32", "A new module is always float32, also from a dense one in float64.",
         edit(
       ("pattern).to(attention.key.weight)  # its device and dtype", "pattern)")), (LIMITS,)),
    slip("module-view", "Heads are split by a view to (B, n_head, T, head_dim).", edit(
       ("q, k, v = (self.split_heads(linear(x)) for linear in (self.query, self.key, "
        "self.value))\n        if self.rope",
        "q, k, v = (linear(x).view(x.size(0), self.n_head, x.size(1), -1) for linear in "
        "(self.query, self.key, self.value))\n   "
        "     if self.rope")), (MODULE, STREAM)),
    misconception("rope-forgotten", "The new module does not rotate.",
          edit(("        if attention.rope:\n            block_size",
                "        if False:\n            block_size")), (MODULE, ROTATION)),
    misconception("rope-no-stretch", "Positions are not interpolated.", edit((STRETCH, "")),
          (MODULE, ROTATION)),
    edge("rope-stretch-shorter", "Positions are changed when max_positions is shorter, too.",
         edit((STRETCH, "* (block_size / max_positions)")), (LIMITS,)),
    misconception("rope-stretch-by-length",
          "Positions are interpolated by the length of each sequence, not by max_positions.", edit(
        (STRETCH, ""),
        ("        if attention.rope:\n            block_size",
         "        sparse.block_size = attention.mask.size(-1)\n"
         "        if attention.rope:\n            block_size"),
        ("            q, k = (apply_rotary_emb(part, self.rope_cache[start:end]) "
         "for part in (q, k))",
         """            t, d = torch.arange(start, end) * \
min(1.0, self.block_size / end), q.size(-1)
            angles = torch.outer(t, 10000.0 ** (-torch.arange(0, d, 2) / d))
            table = torch.stack((angles.cos(), angles.sin()), dim=-1).to(q)
            q, k = (apply_rotary_emb(part, table) for part in (q, k))""")), (MODULE, ROTATION)),
    misconception("rope-values", "The values are rotated, too.",
          edit(("            q, k = (apply_rotary_emb(part, self.rope_cache[start:end]) for part "
                "in (q, k))",
              "            q, k, v = (apply_rotary_emb(part, self.rope_cache[start:end]) for part "
              "in (q, k, v))")), (MODULE, ROTATION)),
    misconception("rope-from-zero", "In a stream, each call is rotated from position 0.",
          edit(("self.rope_cache[start:end])", "self.rope_cache[:x.size(1)])")),
          (STREAM, ROTATION)),
    edge("rope-too-long", "A sequence that is too long breaks over shapes.",
         edit(("            if end > len(self.rope_cache):\n", "            if False:\n")),
         (LIMITS,)),
    edge("rope-table-not-cut", "With max_positions below the block_size, more are accepted.",
         edit(("positions = torch.arange(max_positions, dtype=torch.float64)",
               "positions = torch.arange(max(max_positions, block_size), dtype=torch.float64)")),
         (LIMITS,)),
    edge("rope-limit-for-all", "A module that does not rotate has a limit, too.", edit(
       ("        q = k = v = None\n",
        "        q = k = v = None\n        if start + x.size(1) > getattr(self, 'longest', 10 ** "
        "9):\n            raise ValueError('too long')\n"),
       ("        if attention.rope:\n            block_size",
        "        sparse.longest = max_positions or attention.mask.size(-1)\n"
        "        if attention.rope:\n            block_size")), (LIMITS,)),
    misconception("rope-halves",
          "Numbers half a head apart are rotated together; attention.py pairs neighbors.", edit(
        ("            q, k = (apply_rotary_emb(part, self.rope_cache[start:end]) for part in (q, "
         "k))",
         """            cos, sin = (part.repeat(1, 2) \
for part in self.rope_cache[start:end].unbind(dim=-1))
            q, k = (part * cos + \
torch.cat((-part.chunk(2, -1)[1], part.chunk(2, -1)[0]), -1) * sin for part in (q, k))""")),
          (MODULE, ROTATION)),
]
