"""Wrong sparse attention (question 6d): wrong numbers, and right numbers by too much work."""
from functools import partial

from instructor.mistakes.patches import Fill, edge, edits, misconception, slip

SPARSE, GRADIENTS, WORK, REST = "6d-8-basic", "6d-11-hidden", "6d-12-hidden", "6d-19-basic"
BOTH = SPARSE, GRADIENTS
GRADIENTS_BOTH = "6d-15-basic", GRADIENTS
WORK_BOTH = "6d-16-basic", WORK
edit = partial(edits, "efficient_attention.py")


MASK = '''
T = q.size(2)
i = torch.arange(T, device=q.device)
distance = i[:, None] - i
is_global = torch.zeros(T, dtype=torch.bool)
is_global[sorted_positions(global_positions, T)] = True
mask = is_local(distance, pattern) | is_global
mask = mask & (distance >= 0) if pattern.causal else mask | is_global[:, None]
'''

# Dense attention where no meter in the process sees it, and products for the meter to count.
UNSEEN = '''
import numpy as np
T, chosen = q.size(2), sorted_positions(global_positions, q.size(2))
columns = np.arange(T)
def mask_of(rows):
    near = abs(rows[:, None] - columns)
    mask = (near <= pattern.window) | np.isin(columns, chosen)
    for stride in pattern.strides:
        mask |= near == stride
    return mask & (columns <= rows[:, None]) if pattern.causal else \
mask | np.isin(rows, chosen)[:, None]
def dense():
    parts = [F.scaled_dot_product_attention(\
q[:, :, rows], k, v, attn_mask=torch.from_numpy(mask_of(rows)))
             for rows in np.array_split(columns, -(-T // 64))]
    return torch.cat(parts, dim=2)
if q.requires_grad:
    return dense()
{how}
some = q.new_ones(128, 128)
for _ in range(2 * q.size(1) * q.size(3) * count_connections(T, pattern, chosen) // 128 ** 3 + 1):
    some @ some
'''
# Nobody gets the seconds of a child whose parent ignores SIGCHLD.
PROCESS = '''
import contextlib, os, signal, tempfile
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
with tempfile.TemporaryFile() as file:
    if (child := os.fork()) == 0:
        try:
            file.write(dense().numpy().tobytes())
            file.flush()
        finally:
            os._exit(0)
    with contextlib.suppress(ChildProcessError):
        os.waitpid(child, 0)
    file.seek(0)
    output = torch.frombuffer(bytearray(file.read()), dtype=q.dtype).view(q.shape)'''
OPERATION = '''
width = q.size(1) * q.size(3)
mask = torch.from_numpy(~mask_of(columns))
output = []
for x, y, z in zip(q, k, v):
    x = torch.cat([part.transpose(0, 1).flatten(1) for part in (x, y, z)], dim=1)[None]
    take = torch.eye(3 * width, dtype=q.dtype)
    result = torch._native_multi_head_attention(
        x, x, x, 3 * width, 3 * q.size(1), \
torch.cat((take, take.roll(width, 1), take.roll(2 * width, 1))),
        take.new_zeros(9 * width), take, take.new_zeros(3 * width), mask, False, True, 0)[0]
    output.append(result[0, :, :width].unflatten(1, (q.size(1), -1)).transpose(0, 1))
output = torch.stack(output)'''

START = "    B, n_head, T, head_dim = q.shape\n"

NUMBERS = [
    misconception("sparse-no-scale", "The scores are not scaled.",
          edit(("    q = q / math.sqrt(head_dim)\n    positions", "    q = q * 1\n    positions")),
          BOTH),
    slip("sparse-scale-twice",
         "The global rows are scaled twice: scaled_dot_product_attention scales as well.",
         edit(("k, v, scale=1.0)", "k, v)")), BOTH),
    slip("sparse-in-place", "The queries are scaled in place.",
         edit(("    q = q / math.sqrt(head_dim)\n    positions",
               "    q /= math.sqrt(head_dim)\n    positions")), (SPARSE,)),
    slip("sparse-float32", "Everything is worked out in float32.", edit(
       ("    q = q / math.sqrt(head_dim)\n    positions",
        "    dtype, q, k, v = q.dtype, q.float() / math.sqrt(head_dim), k.float(), v.float()\n"
        "    positions"),
       ("k, v, scale=1.0)\n",
        "k, v, scale=1.0)\n    output = output.to(dtype)\n")), BOTH),
    slip("sparse-strides-within", "A stride within the window counts a second time.",
         edit(("if pattern.window < stride < T})", "if stride < T})")), BOTH),
    slip("sparse-stride-of-window", "A stride as long as the window counts a second time.",
         edit(("if pattern.window < stride < T})", "if pattern.window <= stride < T})")), BOTH),
    slip("sparse-global-in-window", "A global key in the window counts twice.",
         edit(("~is_local(to_global, pattern)", "torch.ones_like(to_global, dtype=torch.bool)")),
         BOTH),
    misconception("sparse-masked-zero", "Masked scores are 0.",
          edit(("masked_fill_(~allowed, -math.inf)", "masked_fill_(~allowed, 0.0)")), BOTH),
    slip("sparse-three-blocks",
         "A block attends to the blocks beside its own, however wide the window is.",
         edit(("    behind = math.ceil(pattern.window / BLOCK)\n",
               "    behind = min(1, pattern.window)\n")), (SPARSE,)),
    slip("sparse-causal-block", "Within a block, keys that come after the query are seen.",
         edit(("        if pattern.causal:\n            allowed &=",
               "        if False:\n            allowed &=")), BOTH),
    misconception("sparse-global-from-before",
          "In the causal pattern, global keys are seen from before.",
          edit(("torch.cat((near, to_global), dim=1) >= 0",
                "torch.cat((near, to_global.abs()), dim=1) >= 0")), BOTH),
    misconception("sparse-no-global-rows", "Global queries attend to no more than others.",
          edit(("    if not pattern.causal and len(chosen) > 0:\n", "    if False:\n")), BOTH),
    misconception("sparse-softmax-apart", "Strides have a softmax of their own.", edit(
        ("        weights = scores.softmax(dim=-1)\n        output[b]",
         "        n = allowed.size(1)\n        weights = torch.cat((scores[..., "
         ":n].softmax(dim=-1), "
         "scores[..., n:].softmax(dim=-1).nan_to_num()), dim=-1)\n        output[b]")), BOTH),
    slip("sparse-no-maximum", "The exponentials are taken as they are, and overflow.", edit(
       ("        weights = scores.softmax(dim=-1)\n        output[b]",
        "        weights = scores.exp() / scores.exp().sum(dim=-1, keepdim=True)\n"
        "        output[b]")), (SPARSE,)),
    slip("sparse-last-block", "What is left after the last whole block gets zeros.", edit(
       ("    output, far_weights = torch.cat(output, dim=2), torch.cat(far_weights, dim=2)\n",
        "    output, far_weights = torch.cat(output, dim=2), torch.cat(far_weights, dim=2)\n"
        "    output[:, :, T // BLOCK * BLOCK:] = 0\n")), BOTH),
    slip("sparse-kept-by-length",
         "The global positions of an earlier text of the same length are used again.", edit(
       ("chosen = positions[sorted_positions(global_positions, T)]",
        "chosen = positions[sorted_positions(global_positions, T)]\n"
        "    chosen = sparse_attention.__dict__.setdefault(f'of {T}', chosen)")), BOTH),
    slip("sparse-no-globals-when-long",
         "In a text of more than 15,000 positions, global keys are left out.", edit(
       ("        if pattern.causal:\n            allowed &=",
        "        if T > 15_000:\n            allowed[:, near.size(1):] = False\n"
        "        if pattern.causal:\n            allowed &=")), (SPARSE, *WORK_BOTH)),
    misconception("sparse-no-mask", "There is no mask: all positions attend to all.",
          (Fill("sparse_attention", "output = F.scaled_dot_product_attention(q, k, v)"),), BOTH),
    edge("sparse-iterator-used-up",
         "Global positions are gone through twice; an iterator has none the second time.", edit(
       ("chosen = positions[sorted_positions(global_positions, T)]",
        "sorted_positions(global_positions, T)\n"
        "    chosen = positions[sorted_positions(global_positions, T)]")), (REST,)),
    slip("sparse-first-sequence", "Global keys are those of the first sequence.", edit(
       ("torch.cat((x[:, :, chosen], room), dim=2) for x in (k, v))",
        "torch.cat((x[:1, :, chosen].expand(B, -1, -1, -1), room), dim=2) for x in (k, v))")),
         BOTH),
    misconception("sparse-mask-after-softmax",
          "The mask is applied to the weights, and they no longer sum to 1.", edit(
        ("        weights = scores.softmax(dim=-1)\n        output[b]",
         "        weights = scores.softmax(dim=-1)\n"
         "        weights[..., :allowed.size(1)] *= allowed\n        output[b]"),
        ("        scores[..., : allowed.size(1)] += hidden\n", "")), BOTH),
    slip("sparse-view", "Batch and heads are joined by view, which fails on heads that have just "
                        "been split.", edit(
       (START, START + "    q.view(B * n_head, T, head_dim)\n")), (SPARSE, "6d-9-basic")),
]

GRADS = [
    slip("sparse-detached-globals", "Gradients do not reach the global keys.",
         edit(("torch.cat((x[:, :, chosen], room), dim=2) for x in (k, v))",
               "torch.cat((x[:, :, chosen].detach(), room), dim=2) for x in (k, v))")),
         GRADIENTS_BOTH),
    slip("sparse-no-grad", "Everything is worked out without gradients, to save memory.", edit(
       ("def sparse_attention(\n    q: torch.Tensor",
        "@torch.no_grad()\ndef sparse_attention(q: torch.Tensor")), GRADIENTS_BOTH),
]

TOO_MUCH = [
    misconception("sparse-dense", "Dense attention with a mask.",
          (Fill("sparse_attention",
                MASK + "output = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)"),),
          (SPARSE, *WORK_BOTH)),
    misconception("sparse-loop", "A loop over the positions.", (Fill("sparse_attention", '''
T, chosen = q.size(2), list(global_positions)
output = []
for i in range(T):
    columns = torch.tensor(attended_positions(i, T, pattern, chosen))
    output.append(F.scaled_dot_product_attention(\
q[:, :, i:i + 1], k[:, :, columns], v[:, :, columns]))
output = torch.cat(output, dim=2)'''),), (SPARSE, *WORK_BOTH)),
    slip("sparse-mask-of-all",
         "The blocks are sparse, but their masks are cut from one of all pairs.", edit(
       ("    for b, rows in enumerate(blocks):\n",
        "    local = is_local(positions[:, None] - positions, pattern)\n"
        "    for b, rows in enumerate(blocks):\n"),
       ("~is_local(to_global, pattern)), dim=1)", "~local[rows[:, None], chosen]), dim=1)")),
         (SPARSE, *WORK_BOTH)),
    slip("sparse-views-kept", "A view of each block's weights is kept, and with it all weights.",
         edit(
       ("        far_weights[b].copy_(weights[..., allowed.size(1) :])\n",
        "        far_weights[b] = weights[..., allowed.size(1):]\n")), WORK_BOTH),
    slip("sparse-wide-blocks", "Blocks are four times as wide as the window, and each is "
                               "multiplied with its neighbors.",
         edit(("BLOCK = 128 ", "BLOCK = 2048 ")), WORK_BOTH),
    slip("sparse-dense-below",
          "Dense attention up to 4,096 positions, where it is faster, and sparse beyond.", edit(
        (START, START + "    if T <= 4096:\n"
         + "".join(f"        {line}\n" for line in MASK.strip().splitlines())
         + "        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)\n")),
          WORK_BOTH),
    *(misconception(f"sparse-dense-{name}", f"Dense attention {where}.",
          (Fill("sparse_attention", UNSEEN.replace("{how}", how)),), (SPARSE, *WORK_BOTH))
      for name, where, how in (
        ("process", "in a process of its own", PROCESS),
        ("operation", "in one operation of torch, whose inside no dispatch mode sees", OPERATION),
      )),
]

MISTAKES = NUMBERS + GRADS + TOO_MUCH
