"""Wrong attention across documents, and wrong memories of them (question 6g)."""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

ACROSS, MEMORY, GRADIENTS, WORK = "6g-1-basic", "6g-2-basic", "6g-3-hidden", "6g-4-hidden"
EVERYWHERE = ACROSS, GRADIENTS
GRADIENTS_BOTH, WORK_BOTH, REFUSED = ("6g-5-basic", GRADIENTS), ("6g-6-basic", WORK), "6g-7-basic"
FILE = "efficient_attention.py"


def edit(*pairs: tuple[str, str]) -> tuple[Edit, ...]:
    """Replacements in the reference."""
    return tuple(Edit(FILE, old, new) for old, new in pairs)


EACH = ("    outputs = [\n        sparse_attention(*document, pattern)\n"
        "        for document in zip(queries[:-1], keys[:-1], values[:-1])\n    ]\n")
ALLOWED = ("    allowed = torch.ones(question, q.size(2), dtype=torch.bool, "
           "device=q.device).tril(\n        diagonal=sum(lengths)\n    )\n")
MASK = '''
lengths = list(lengths)
N, T = sum(lengths), q.size(2)
if not lengths or min(lengths) < 1 or N >= T or window < 0:
    raise ValueError("lengths or window do not fit")
number = torch.repeat_interleave(torch.arange(len(lengths) + 1), torch.tensor([*lengths, T - N]))
i = torch.arange(T)
distance = i[:, None] - i
mask = torch.where(i[:, None] < N, (number[:, None] == number) & (distance.abs() <= window), distance >= 0)
output = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
'''

# The same where no meter in the process sees it, and products for the meter to count.
UNSEEN = '''
from torch.utils._python_dispatch import _disable_current_modes
lengths = list(lengths)
N, T = sum(lengths), q.size(2)
if not lengths or min(lengths) < 1 or N >= T or window < 0:
    raise ValueError("lengths or window do not fit")
number = torch.repeat_interleave(torch.arange(len(lengths) + 1), torch.tensor([*lengths, T - N]))
output = []
with _disable_current_modes():
    for i in torch.arange(T).split(64):
        distance = i[:, None] - torch.arange(T)
        same = (number[i, None] == number) & (distance.abs() <= window)
        mask = torch.where(i[:, None] < N, same, distance >= 0)
        output.append(F.scaled_dot_product_attention(q[:, :, i], k, v, attn_mask=mask))
output = torch.cat(output, dim=2)
pairs = sum(count_connections(n, Pattern(window, ())) for n in lengths) + (T - N) * T
some = q.new_ones(64, 64)
for _ in range(2 * q.size(1) * q.size(3) * pairs // 64 ** 3):
    some @ some
'''

MISTAKES = [
    misconception("documents-joined",
          "All documents are one sequence, and the window crosses from one into the next.", edit(
        (EACH, "    outputs = [sparse_attention(*(x[:, :, :sum(lengths)] for x in (q, k, v)), "
               "pattern)]\n")), EVERYWHERE),
    misconception("documents-dense", "The window is not kept within a document.", edit(
        (EACH, "    outputs = [F.scaled_dot_product_attention(*document) for document in "
               "zip(queries[:-1], keys[:-1], values[:-1])]\n")), EVERYWHERE),
    misconception("documents-causal", "A document's tokens look back alone.",
          edit(("pattern = Pattern(window, strides=())",
                "pattern = Pattern(window, strides=(), causal=True)")), EVERYWHERE),
    slip("documents-default-strides", "The default strides are left in the pattern.",
         edit(("pattern = Pattern(window, strides=())", "pattern = Pattern(window)")), EVERYWHERE),
    slip("documents-strides", "There is a stride just beyond the window.",
         edit(("pattern = Pattern(window, strides=())",
               "pattern = Pattern(window, strides=(window + 2,))")), EVERYWHERE),
    misconception("documents-first-global", "The first token of each document is global.",
          edit(("sparse_attention(*document, pattern)\n        for",
                "sparse_attention(*document, pattern, [0]) for")), EVERYWHERE),
    slip("documents-window-open", "Tokens exactly `window` away are left out.",
         edit(("pattern = Pattern(window, strides=())",
               "pattern = Pattern(max(window - 1, 0), strides=())")), EVERYWHERE),
    misconception("documents-window-half", "The window is so wide altogether.",
          edit(("pattern = Pattern(window, strides=())",
                "pattern = Pattern(window // 2, strides=())")), EVERYWHERE),
    misconception("documents-see-question", "Documents attend to the question.",
          (Fill("cross_document_attention", MASK.replace(
        "(number[:, None] == number) & (distance.abs() <= window)",
        "(number[:, None] == number) & (distance.abs() <= window) | (i >= N)")),), EVERYWHERE),
    misconception("question-sees-ahead", "The question's tokens see those that follow them.",
          edit((ALLOWED, ALLOWED.replace(".tril(\n        diagonal=sum(lengths)\n    )", ""))),
          EVERYWHERE),
    slip("question-diagonal", "The diagonal of the question's mask is taken for that of a square.",
         edit((ALLOWED, ALLOWED.replace("diagonal=sum(lengths)", "diagonal=0"))), EVERYWHERE),
    slip("question-not-itself", "The question's tokens do not see themselves.",
         edit((ALLOWED, ALLOWED.replace("diagonal=sum(lengths)", "diagonal=sum(lengths) - 1"))),
         EVERYWHERE),
    misconception("question-documents-alone", "The question's tokens see the documents alone.",
          edit(("queries[-1], k, v, attn_mask=allowed",
                "queries[-1], k[:, :, :-question], v[:, :, :-question]")), EVERYWHERE),
    misconception("question-itself-alone", "The question does not see the documents.",
          edit(("queries[-1], k, v, attn_mask=allowed",
                "queries[-1], keys[-1], values[-1], is_causal=True")), EVERYWHERE),
    misconception("question-in-window", "The window is kept in the question, too.", edit(
        (ALLOWED, ALLOWED + "    allowed[:, sum(lengths):] &= torch.ones(question, question, "
                            "dtype=torch.bool).triu(-window)\n")), EVERYWHERE),
    misconception("documents-mask", "Dense attention with the right mask.",
          (Fill("cross_document_attention", MASK),), (ACROSS, GRADIENTS, WORK)),
    misconception("documents-dense-unseen",
          "Dense attention with the right mask, with all dispatch modes switched off.",
          (Fill("cross_document_attention", UNSEEN),), (ACROSS, *WORK_BOTH)),
    misconception("documents-dense-each", "Each document is dense attention with a mask.", edit(
        (EACH, '''    outputs = []
    for document in zip(queries[:-1], keys[:-1], values[:-1]):
        i = torch.arange(document[0].size(2))
        outputs.append(F.scaled_dot_product_attention(*document, attn_mask=(i[:, None] - i).abs() <= pattern.window))
''')), WORK_BOTH),
    misconception("documents-loop",
          "A loop over the tokens of the documents.", edit((EACH, '''    outputs = []
    for Q, K, V in zip(queries[:-1], keys[:-1], values[:-1]):
        for i in range(Q.size(2)):
            near = slice(max(0, i - pattern.window), i + pattern.window + 1)
            scores = Q[:, :, i:i + 1] @ K[:, :, near].transpose(-2, -1) / math.sqrt(q.size(-1))
            outputs.append(scores.softmax(dim=-1) @ V[:, :, near])
''')), WORK_BOTH),
    slip("documents-question-detached", "The question's keys and values carry no gradient.",
         edit(("queries[-1], k, v, attn_mask=allowed",
               "queries[-1], k.detach(), v.detach(), attn_mask=allowed")), GRADIENTS_BOTH),
    edge("documents-unchecked", "Lengths that do not fit break over shapes, or not at all.", edit(
       ("    if not lengths or min(lengths) < 1 or question < 1:\n", "    if False:\n")),
         (REFUSED,)),
    edge("documents-no-question", "A question of no tokens is accepted.",
         edit(("min(lengths) < 1 or question < 1:\n", "min(lengths) < 1 or question < 0:\n")),
         (REFUSED,)),
    edge("documents-window-unchecked", "A negative window is taken as its absolute value.",
         edit(("pattern = Pattern(window, strides=())",
               "pattern = Pattern(abs(window), strides=())")), (REFUSED,)),

    slip("remember-values-for-keys", "Keys and values are swapped.",
         edit(("for linear in (attention.key, attention.value)\n    )\n    memory",
               "for linear in (attention.value, attention.key))\n    memory")),
         (MEMORY, GRADIENTS)),
    slip("remember-queries", "The queries' projection makes the keys.",
         edit(("for linear in (attention.key, attention.value)\n    )\n    memory",
               "for linear in (attention.query, attention.value))\n    memory")),
         (MEMORY, GRADIENTS)),
    misconception("remember-states", "The documents' states are kept as they are.",
          edit(("(\n        attention.split_heads(linear(states))[0] for linear in "
                "(attention.key, attention.value)\n    )",
              "(attention.split_heads(states)[0] for _ in range(2))")), (MEMORY, GRADIENTS)),
    slip("remember-heads-mixed", "Heads are mixed with the positions.",
         edit(("(\n        attention.split_heads(linear(states))[0] for linear",
               "(linear(states[0]).view(attention.n_head, states.size(1), -1) for linear")),
         (MEMORY, GRADIENTS)),
    slip("remember-batch-axis", "A batch axis is left.",
         edit(("attention.split_heads(linear(states))[0] for linear",
               "attention.split_heads(linear(states)) for linear")), (MEMORY,)),
    slip("remember-heads-last", "The heads are not an axis of their own.",
         edit(("attention.split_heads(linear(states))[0] for linear",
               "linear(states)[0] for linear")), (MEMORY, GRADIENTS)),
    slip("remember-lengths-list", "The lengths are a list.",
         edit(("tuple(len(document) for document in documents))",
               "[len(document) for document in documents])")), (MEMORY,)),
    misconception("remember-last", "Only the last document is kept.",
          edit(("torch.cat(list(documents))[None]", "documents[-1][None]")), (MEMORY, GRADIENTS)),
    misconception("remember-sorted", "Documents are sorted by length.", edit(
        ("    states = torch.cat(list(documents))[None] ",
         "    documents = sorted(documents, key=len)\n"
         "    states = torch.cat(list(documents))[None] ")), (MEMORY, GRADIENTS)),
    misconception("remember-detached", "What is remembered carries no gradient.", edit(
        ("memory = Memory(keys, values, tuple(",
         "memory = Memory(keys.detach(), values.detach(), tuple(")), GRADIENTS_BOTH),
    misconception("remember-no-grad", "Remembering works without gradients.",
          edit(("def remember(attention", "@torch.no_grad()\ndef remember(attention")),
          GRADIENTS_BOTH),
    slip("remember-again", "All documents are projected again for each of them.", edit(
       ("    keys, values = (\n        attention.split_heads(linear(states))[0] for",
        "    for _ in documents:\n        attention.key(states), attention.value(states)\n"
        "    keys, values = "
        "(attention.split_heads(linear(states))[0] for")), WORK_BOTH),
    slip("remember-again-unseen",
         "All documents are projected again for each of them, with all dispatch modes switched off.", edit(
       ("    keys, values = (\n        attention.split_heads(linear(states))[0] for",
        "    from torch.utils._python_dispatch import _disable_current_modes\n"
        "    with _disable_current_modes():\n        for _ in documents:\n"
        "            attention.key(states), attention.value(states)\n"
        "    keys, values = (attention.split_heads(linear(states))[0] for")), WORK_BOTH),
    edge("documents-lengths-indexed", "The lengths are read several times, and by their index.", edit(
       ("    lengths = list(lengths)\n    question", "    question"),
       ("if not lengths or min(lengths) < 1", "if len(lengths) < 1 or min(lengths) < 1")), (REFUSED,)),
    slip("remember-once", "The keys and values of the first documents are kept on the module, for all "
                          "of these lengths.", edit(
       ("    memory = Memory(keys, values, tuple(len(document) for document in documents))\n",
        "    lengths = tuple(len(document) for document in documents)\n"
        "    kept = attention.__dict__.setdefault('kept', {})\n"
        "    memory = kept.setdefault(lengths, Memory(keys, values, lengths))\n")), (MEMORY, GRADIENTS)),
    slip("ask-keeps-weights", "The weights of the first states are kept on the module, for all of this "
                              "shape.", edit(
       ("    y = attention.proj(attention.join_heads(weights @ memory.values))",
        "    kept = attention.__dict__.setdefault('kept', {})\n"
        "    weights = kept.setdefault(weights.shape, weights)\n"
        "    y = attention.proj(attention.join_heads(weights @ memory.values))")), (MEMORY, GRADIENTS)),

    misconception("ask-no-scale", "The scores are not scaled.",
          edit(("(q @ memory.keys.transpose(-2, -1) / math.sqrt(q.size(-1)))",
                "(q @ memory.keys.transpose(-2, -1))")), (MEMORY, GRADIENTS)),
    misconception("ask-scale-width", "The scores are divided by the root of n_embd.",
          edit(("(q @ memory.keys.transpose(-2, -1) / math.sqrt(q.size(-1)))",
                "(q @ memory.keys.transpose(-2, -1) / math.sqrt(x.size(-1)))")),
          (MEMORY, GRADIENTS)),
    misconception("ask-causal", "The first states see the first tokens alone.", edit(
        ("    weights = (q @ memory.keys.transpose(-2, -1) / "
         "math.sqrt(q.size(-1))).softmax(dim=-1)\n",
         "    scores = q @ memory.keys.transpose(-2, -1) / math.sqrt(q.size(-1))\n"
         "    weights = scores.masked_fill(torch.ones_like(scores).triu(1) > 0, "
         "-math.inf).softmax(dim=-1)\n")), (MEMORY, GRADIENTS)),
    misconception("ask-softmax-per-document",
          "Each document has a softmax of its own, and the results are averaged.", edit(
        ("    weights = (q @ memory.keys.transpose(-2, -1) / "
         "math.sqrt(q.size(-1))).softmax(dim=-1)\n",
         "    scores = (q @ memory.keys.transpose(-2, -1) / "
         "math.sqrt(q.size(-1))).split(memory.lengths, dim=-1)\n"
         "    weights = torch.cat([part.softmax(dim=-1) for part in scores], dim=-1) / "
         "len(scores)\n")), (MEMORY, GRADIENTS)),
    misconception("ask-sees-itself", "The states attend to themselves as well.", edit(
        ("    weights = (q @ memory.keys.transpose(-2, -1) / "
         "math.sqrt(q.size(-1))).softmax(dim=-1)\n",
         "    own = attention.split_heads(attention.key(x))\n"
         "    keys = torch.cat((memory.keys.expand(len(x), -1, -1, -1), own), dim=2)\n"
         "    weights = (q @ keys.transpose(-2, -1) / math.sqrt(q.size(-1))).softmax(dim=-1)[..., "
         ":memory.keys.size(1)]\n")), (MEMORY, GRADIENTS)),
    slip("ask-no-projection", "The output projection is not applied.",
         edit(("y = attention.proj(attention.join_heads(weights @ memory.values))",
               "y = attention.join_heads(weights @ memory.values)")), (MEMORY, GRADIENTS)),
    slip("ask-no-join", "Heads are joined without a transposition.",
         edit(("attention.join_heads(weights @ memory.values)",
               "(weights @ memory.values).reshape(x.shape)")), (MEMORY, GRADIENTS)),
    slip("ask-shares-summed", "The shares are summed over the heads.",
         edit(("for part in weights.split(memory.lengths, dim=-1)], dim=-1\n    ).mean(dim=1)",
             "for part in weights.split(memory.lengths, dim=-1)], dim=-1).sum(dim=1)")),
         (MEMORY, GRADIENTS)),
    misconception("ask-shares-means", "The shares are means over a document's tokens.",
          edit(("torch.stack(\n        [part.sum(dim=-1) for part in weights",
                "torch.stack([part.mean(dim=-1) for part in weights")), (MEMORY, GRADIENTS)),
    misconception("ask-shares-largest", "A share is the largest weight of a document.",
          edit(("torch.stack(\n        [part.sum(dim=-1) for part in weights",
                "torch.stack([part.amax(dim=-1) for part in weights")), (MEMORY, GRADIENTS)),
    slip("ask-shares-per-head", "There are shares for each head.",
         edit(("weights.split(memory.lengths, dim=-1)], dim=-1\n    ).mean(dim=1)",
               "weights.split(memory.lengths, dim=-1)], dim=-1)")), (MEMORY, GRADIENTS)),
    slip("ask-shares-over-batch", "The shares are averaged over the batch instead of the heads.",
         edit(("weights.split(memory.lengths, dim=-1)], dim=-1\n    ).mean(dim=1)",
               "weights.split(memory.lengths, dim=-1)], dim=-1).mean(dim=0)")), (MEMORY,)),
    slip("ask-shares-first-head", "The shares are those of the first head.",
         edit(("weights.split(memory.lengths, dim=-1)], dim=-1\n    ).mean(dim=1)",
               "weights.split(memory.lengths, dim=-1)], dim=-1)[:, 0]")), (MEMORY, GRADIENTS)),
    slip("ask-y-alone", "Only the output is returned.",
         edit(("    return y, shares\n", "    return y\n")), (MEMORY, GRADIENTS)),
    slip("ask-projects-unseen",
         "The keys of memory are projected again, with all dispatch modes switched off.", edit(
       ("    q = attention.split_heads(attention.query(x))  ",
        "    from torch.utils._python_dispatch import _disable_current_modes\n"
        "    with _disable_current_modes():\n"
        "        attention.key(memory.keys.transpose(0, 1).flatten(1))\n"
        "        attention.value(memory.values.transpose(0, 1).flatten(1))\n"
        "    q = attention.split_heads(attention.query(x))  ")), WORK_BOTH),
    slip("ask-projects-memory", "The keys of memory are projected again, and not used.", edit(
       ("    q = attention.split_heads(attention.query(x))  ",
        "    attention.key(memory.keys.transpose(0, 1).flatten(1)), "
        "attention.value(memory.values.transpose(0, 1).flatten(1))\n "
        "   q = attention.split_heads(attention.query(x))  ")), WORK_BOTH),

    slip("documents-lengths-are-ends", "The lengths are taken for the places where documents end.",
         edit(
       ("    lengths = list(lengths)\n    question",
        "    lengths = list(lengths)\n    lengths = [abs(b - a) or 1 for a, b in zip([0, "
        "*lengths], lengths)]\n    question")), (*EVERYWHERE, WORK)),
    misconception("question-first", "The question comes before the documents.", edit(
        ("queries, keys, values = (x.split([*lengths, question], dim=2) for x in (q, k, v))",
         "queries, keys, values = ([*x.split([question, *lengths], dim=2)[1:], x[:, :, :question]] "
         "for x in (q, k, v))")), EVERYWHERE),
    misconception("question-in-a-window",
          "The question sees the tokens in the window before it alone.",
          edit(
        (ALLOWED, ALLOWED + "    allowed &= torch.ones_like(allowed).triu(sum(lengths) - window)\n")), EVERYWHERE),
    slip("documents-same-window", "Documents shorter than the window are cut to it.", edit(
       ("    pattern = Pattern(window, strides=())\n",
        "    window = min(window, *lengths)\n    pattern = Pattern(window // 2, strides=())\n")),
         EVERYWHERE),
    misconception("documents-question-window",
          "The question is a document as well, and dense rows are added for nobody.", edit(
        ("    outputs.append(F.scaled_dot_product_attention(queries[-1], k, v, "
         "attn_mask=allowed))\n",
         "    outputs.append(sparse_attention(queries[-1], keys[-1], values[-1], pattern))\n")),
          EVERYWHERE),
    misconception("remember-padded",
          "Documents are padded to one length, and the padding is kept.", edit(
        ("    states = torch.cat(list(documents))[None] ",
         "    states = nn.utils.rnn.pad_sequence(list(documents), batch_first=True).flatten(0, "
         "1)[None] ")), (MEMORY, GRADIENTS)),
    misconception("remember-first-token", "A document is remembered by its first token.", edit(
        ("    states = torch.cat(list(documents))[None] ",
         "    states = torch.stack([document[0] for document in documents])[None] ")),
          (MEMORY, GRADIENTS, WORK)),
    edge("remember-rotates", "A module that rotates is accepted.",
         edit(("    if attention.rope_cache is not None or not documents:\n",
               "    if not documents:\n")), (REFUSED,)),
    misconception("ask-shares-of-scores", "The shares are made of scores.", edit(
        ("for part in weights.split(memory.lengths, dim=-1)], dim=-1\n    ).mean(dim=1)",
         "for part in (q @ memory.keys.transpose(-2, -1) / "
         "math.sqrt(q.size(-1))).split(memory.lengths, dim=-1)], dim=-1)"
         ".mean(dim=1).softmax(dim=-1)")), (MEMORY, GRADIENTS)),
    slip("ask-shares-of-last-state", "All states get the shares of the last.", edit(
       ("dim=-1)], dim=-1\n    ).mean(dim=1)",
        "dim=-1)], dim=-1).mean(dim=1)[:, -1:].expand(-1, x.size(1), -1)")), (MEMORY, GRADIENTS)),
    slip("ask-values-are-keys", "The weights are multiplied with the keys.",
         edit(("attention.join_heads(weights @ memory.values)",
               "attention.join_heads(weights @ memory.keys)")), (MEMORY, GRADIENTS)),
    slip("ask-queries-not-projected", "The states are the queries as they are.",
         edit(("    q = attention.split_heads(attention.query(x))  ",
               "    q = attention.split_heads(x)  ")), (MEMORY, GRADIENTS)),
    slip("ask-residual", "x is added to the output.",
         edit(("y = attention.proj(attention.join_heads(weights @ memory.values))",
               "y = x + attention.proj(attention.join_heads(weights @ memory.values))")),
         (MEMORY, GRADIENTS)),
]
