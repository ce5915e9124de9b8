"""Wrong attention across documents, and wrong memories of them (question 6g)."""
from functools import partial

from instructor.mistakes.patches import Edit, Fill, edge, edits, misconception, slip

BOTH, MEMORY = ("6g-1-basic", "6g-3-hidden"), ("6g-2-basic", "6g-3-hidden")
GRADIENTS, WORK = ("6g-5-basic", "6g-3-hidden"), ("6g-6-basic", "6g-4-hidden")
REFUSED = ("6g-7-basic",)
edit = partial(edits, "efficient_attention.py")


def window(pattern: str) -> tuple[Edit, ...]:
    """Another pattern of each document."""
    return edit(("pattern = Pattern(window, strides=())", f"pattern = Pattern({pattern})"))


EACH = ("    outputs = [\n        sparse_attention(*document, pattern)\n"
        "        for document in zip(queries[:-1], keys[:-1], values[:-1])\n    ]\n")
QUESTION = ("    outputs.append(F.scaled_dot_product_attention(queries[-1], k, v, "
            "attn_mask=allowed))\n")
SCALED = "(q @ memory.keys.transpose(-2, -1) / math.sqrt(q.size(-1)))"
SOFTMAX = f"    weights = {SCALED}.softmax(dim=-1)\n"
SHARES = ("[part.sum(dim=-1) for part in weights.split(memory.lengths, dim=-1)], dim=-1\n"
          "    ).mean(dim=1)")
REMEMBERED = ("    memory = Memory(keys, values, tuple(len(document) for document in documents))\n")
QUERIES = "    q = attention.split_heads(attention.query(x))  "

# Dense attention where no meter in the process sees it, and products for the meter to count.
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

ACROSS = [
    misconception("documents-joined",
          "The window crosses from one document into the next.", edit(
        (EACH, "    outputs = [sparse_attention(*(x[:, :, :sum(lengths)] for x in (q, k, v)), "
               "pattern)]\n")), BOTH),
    misconception("documents-dense",
          "A document's tokens attend to all of it, whatever the window.", edit(
        (EACH, "    outputs = [F.scaled_dot_product_attention(*document) for document in "
               "zip(queries[:-1], keys[:-1], values[:-1])]\n")), BOTH),
    edge("question-large-negative",
         "Later tokens of the question get -10,000 for minus infinity.", edit(
        (QUESTION, QUESTION.replace("=allowed", "=torch.where(allowed, 0.0, -1e4).to(q.dtype)"))),
         REFUSED),
    edge("documents-lengths-changed", "The caller's list of lengths gets the question's.", edit(
        ("    lengths = list(lengths)\n    question = q.size(2) - sum(lengths)",
         "    given, lengths = lengths, list(lengths)\n    question = q.size(2) - sum(lengths)\n"
         "    if isinstance(given, list):\n        given.append(question)")), REFUSED),
    misconception("documents-causal",
          "A document's tokens attend only backward; the window reaches to both sides.",
          window("window, strides=(), causal=True"), BOTH),
    slip("documents-default-strides",
         "The default strides are in the pattern. Pattern(window, strides=()) has none.",
         window("window"), BOTH),
    slip("documents-window-open", "Tokens exactly `window` away are left out.",
         window("max(window - 1, 0), strides=()"), BOTH),
    misconception("documents-see-question", "Documents attend to the question, too.", edit(
        ("sparse_attention(*document, pattern)\n",
         "sparse_attention(*(torch.cat((part, x[:, :, -question:]), dim=2) for part, x in "
         "zip(document, (q, k, v))), pattern, range(document[0].size(2), document[0].size(2) + "
         "question))[:, :, :-question]\n")), BOTH),
    misconception("question-sees-ahead", "The question's tokens attend to later ones.",
          edit((".tril(\n        diagonal=sum(lengths)\n    )", "")), BOTH),
    slip("question-diagonal",
         "The diagonal of the question's mask starts in the first column. It belongs into the "
         "question's own columns, the last ones.",
         edit(("diagonal=sum(lengths)", "diagonal=0")), BOTH),
    misconception("question-in-window",
          "The window is applied within the question, too; its tokens should attend to all "
          "earlier ones.", edit(
        (QUESTION, "    allowed[:, sum(lengths):] &= torch.ones(question, question, "
                   "dtype=torch.bool).triu(-window)\n" + QUESTION)), BOTH),
    slip("question-exponentials",
         "The softmax of the question's rows overflows. Subtract each row's maximum before the "
         "exponential.", edit(
        (QUESTION, "    powers = (queries[-1] @ k.transpose(-2, -1) / math.sqrt(q.size(-1))).exp() "
                   "* allowed\n    outputs.append(powers @ v / powers.sum(dim=-1, "
                   "keepdim=True))\n")), BOTH),
    slip("question-mask-kept", "The question's mask is kept from an earlier call of this shape.",
         edit(("def cross_document_attention(", "KEPT = {}\n\n\ndef cross_document_attention("),
              (QUESTION, "    allowed = KEPT.setdefault(q.shape, allowed)\n" + QUESTION)), BOTH),
    misconception("documents-dense-unseen",
          "Dense attention over all documents, with the right mask.",
          (Fill("cross_document_attention", UNSEEN),), ("6g-1-basic", *WORK)),
    misconception("documents-dense-each",
          "Each document is dense attention with a mask. Its work should be that of the window.",
          edit((EACH, '''    outputs = []
    for document in zip(queries[:-1], keys[:-1], values[:-1]):
        i = torch.arange(document[0].size(2))
        outputs.append(F.scaled_dot_product_attention(\
*document, attn_mask=(i[:, None] - i).abs() <= pattern.window))
''')), WORK),
    misconception("documents-loop",
          "There is a loop over the tokens of the documents.", edit((EACH, '''    outputs = []
    for Q, K, V in zip(queries[:-1], keys[:-1], values[:-1]):
        for i in range(Q.size(2)):
            near = slice(max(0, i - pattern.window), i + pattern.window + 1)
            scores = Q[:, :, i:i + 1] @ K[:, :, near].transpose(-2, -1) / math.sqrt(q.size(-1))
            outputs.append(scores.softmax(dim=-1) @ V[:, :, near])
''')), WORK),
    slip("documents-question-detached",
         "The keys and values that the question attends to carry no gradient.",
         edit(("queries[-1], k, v, attn_mask=allowed",
               "queries[-1], k.detach(), v.detach(), attn_mask=allowed")), GRADIENTS),
    edge("documents-no-question", "A question of no tokens is accepted.",
         edit(("min(lengths) < 1 or question < 1:\n", "min(lengths) < 1 or question < 0:\n")),
         REFUSED),
    edge("documents-lengths-indexed",
         "The lengths are read several times, which an iterator does not allow.", edit(
       ("    lengths = list(lengths)\n    question", "    question"),
       ("if not lengths or min(lengths) < 1", "if len(lengths) < 1 or min(lengths) < 1")), REFUSED),
]

REMEMBER = [
    slip("remember-values-for-keys", "Keys and values are swapped.",
         edit(("for linear in (attention.key, attention.value)\n    )\n    memory",
               "for linear in (attention.value, attention.key))\n    memory")), MEMORY),
    slip("remember-heads-mixed",
         "Heads are mixed with the positions: view(N, n_head, head_dim), then transpose.",
         edit(("(\n        attention.split_heads(linear(states))[0] for linear",
               "(linear(states[0]).view(attention.n_head, states.size(1), -1) for linear")),
         MEMORY),
    slip("remember-lengths-list", "The lengths are a list; they should be a tuple.",
         edit(("tuple(len(document) for document in documents))",
               "[len(document) for document in documents])")), ("6g-2-basic",)),
    misconception("remember-detached", "Memory carries no gradient.", edit(
        ("memory = Memory(keys, values, tuple(",
         "memory = Memory(keys.detach(), values.detach(), tuple(")), GRADIENTS),
    slip("remember-again", "All documents are projected again for each of them.", edit(
       ("    keys, values = (\n        attention.split_heads(linear(states))[0] for",
        "    for _ in documents:\n        attention.key(states), attention.value(states)\n"
        "    keys, values = (attention.split_heads(linear(states))[0] for")), WORK),
    slip("remember-once",
         "The keys and values of the first documents are kept, for all of these lengths.", edit(
       (REMEMBERED, "    lengths = tuple(len(document) for document in documents)\n"
                    "    kept = attention.__dict__.setdefault('kept', {})\n"
                    "    memory = kept.setdefault(lengths, Memory(keys, values, lengths))\n")),
         MEMORY),
    edge("remember-rotates", "A module that rotates is accepted.",
         edit(("    if attention.rope_cache is not None or not documents:\n",
               "    if not documents:\n")), REFUSED),
]

ASK = [
    misconception("ask-last-remembered",
          "ask uses what was remembered last; it should use `memory`.", edit(
        (REMEMBERED, REMEMBERED + "    attention.__dict__['last'] = memory\n"),
        (QUERIES, "    memory = attention.__dict__['last']\n" + QUERIES)), MEMORY),
    misconception("ask-no-scale", "The scores are not divided by sqrt(head_dim).",
          edit((SCALED, "(q @ memory.keys.transpose(-2, -1))")), MEMORY),
    misconception("ask-causal",
          "There is a causal mask; each state should attend to all of every document.", edit(
        (SOFTMAX, f"    scores = {SCALED}\n"
                  "    weights = scores.masked_fill(torch.ones_like(scores).triu(1) > 0, "
                  "-math.inf).softmax(dim=-1)\n")), MEMORY),
    misconception("ask-softmax-per-document",
          "Each document has a softmax of its own; there should be one over all of memory.", edit(
        (SOFTMAX, f"    scores = {SCALED}.split(memory.lengths, dim=-1)\n"
                  "    weights = torch.cat([part.softmax(dim=-1) for part in scores], dim=-1) / "
                  "len(scores)\n")), MEMORY),
    slip("ask-no-join", "Heads are joined without a transpose.",
         edit(("attention.join_heads(weights @ memory.values)",
               "(weights @ memory.values).reshape(x.shape)")), MEMORY),
    misconception("ask-shares-means",
          "The shares are averages over a document's tokens; they should be sums.",
          edit(("[part.sum(dim=-1) for part in weights", "[part.mean(dim=-1) for part in weights")),
          MEMORY),
    slip("ask-shares-first-head", "The shares are those of the first head; average over all.",
         edit((SHARES, SHARES.replace("\n    ).mean(dim=1)", ")[:, 0]"))), MEMORY),
    slip("ask-projects-memory", "The keys and values in memory are projected again.", edit(
       (QUERIES, "    attention.key(memory.keys.transpose(0, 1).flatten(1)), "
                 "attention.value(memory.values.transpose(0, 1).flatten(1))\n" + QUERIES)), WORK),
]

MISTAKES = [*ACROSS, *REMEMBER, *ASK]
