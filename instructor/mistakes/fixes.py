"""Wrong fixes of broken trainings (question 6e): scores and clipping, filters, generation, stacks
and their initialization.
"""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

SCORES, FILTERS, REPEATS, STACK, SET_UPS = (f"6e-{n}-basic" for n in range(3, 8))
TEXTS, DRAWS = "6e-8-hidden", "6e-9-basic"


def edit(old: str, new: str) -> tuple[Edit]:
    """Another line in fixes.py."""
    return (Edit("fixes.py", old, new),)


SCALED = "scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))"
CLIPPED = "            parameter.grad.mul_(max_norm / norm)"
NORM = "norm = math.sqrt(sum(parameter.grad.square().sum().item() for parameter in parameters))"
LISTED = "parameters = [parameter for parameter in parameters if parameter.grad is not None]"
STEP = '''    for parameter in parameters:
        if not math.isfinite(norm):
            parameter.grad = None
        elif norm > max_norm:
            parameter.grad.mul_(max_norm / norm)'''

EXPLODING = [
    misconception("scores-unscaled", "The scores are not scaled.",
          edit(SCALED, "scores = q @ k.transpose(-2, -1)"), (SCORES, SET_UPS)),
    misconception("scores-head-dim", "The scores are divided by head_dim.",
          edit(SCALED, SCALED.replace("math.sqrt(q.size(-1))", "q.size(-1)")), (SCORES,)),
    slip("scores-length", "The scores are divided by the root of T.",
         edit(SCALED, SCALED.replace("-1))", "-2))")), (SCORES,)),
    slip("scores-keys-length", "The scores are divided by the root of T_kv.",
         edit(SCALED, SCALED.replace("q.size(-1)", "k.size(-2)")), (SCORES,)),
    slip("scores-first-size", "head_dim is read off the first axis.",
         edit(SCALED, SCALED.replace("q.size(-1)", "q.size(0)")), (SCORES,)),
    slip("scores-third-size", "head_dim is read off axis 1, which is right for two axes only.",
         edit(SCALED, SCALED.replace("q.size(-1)", "q.size(1)")), (SCORES,)),
    misconception("scores-softmax", "The softmax is taken already.",
          edit(SCALED, SCALED + "\n    scores = F.softmax(scores, dim=-1)"), (SCORES,)),
    slip("scores-transposed", "Keys are compared with queries.",
         edit(SCALED, "scores = k @ q.transpose(-2, -1) / math.sqrt(q.size(-1))"), (SCORES,)),
    slip("scores-times", "The scores are multiplied by the root.",
         edit(SCALED, SCALED.replace(" / ", " * ")), (SCORES,)),
    slip("scores-four-axes", "The transposition names four axes.",
         edit(SCALED, SCALED.replace("k.transpose(-2, -1)", "k.permute(0, 1, 3, 2)")), (SCORES,)),
    slip("scores-in-place", "The queries are scaled in place.",
         edit(SCALED, "q.data /= math.sqrt(q.size(-1))\n    scores = q @ k.transpose(-2, -1)"),
         (SCORES,)),
    slip("scores-detached", "No gradient reaches queries and keys.",
         edit(SCALED, SCALED.replace("q @ k", "q.detach() @ k.detach()")), (SCORES,)),
    misconception("clip-each", "Each parameter is clipped by itself.", (Fill("clip_gradients", '''
parameters = [parameter for parameter in parameters if parameter.grad is not None]
norm = math.sqrt(sum(parameter.grad.norm().item() ** 2 for parameter in parameters))
for parameter in parameters:
    if not math.isfinite(norm):
        parameter.grad = None
    elif (own := parameter.grad.norm().item()) > max_norm:
        parameter.grad.mul_(max_norm / own)
'''),), (SCORES,)),
    misconception("clip-values", "Entries are limited instead of the norm.",
          edit(CLIPPED, "            parameter.grad.clamp_(-max_norm, max_norm)"), (SCORES,)),
    slip("clip-no-root", "The norm lacks its root.",
         edit(NORM, NORM.replace("math.sqrt(sum(", "float(sum(")), (SCORES,)),
    misconception("clip-sum-of-norms", "The norms of the parameters are added up.",
          edit(NORM, "norm = float(sum(parameter.grad.norm().item() for parameter in parameters))"),
          (SCORES,)),
    misconception("clip-largest-norm", "The largest norm of a parameter counts.",
          edit(NORM, "norm = max([parameter.grad.norm().item() for parameter in parameters], "
                     "default=0.0)"), (SCORES,)),
    misconception("clip-root-mean-square", "The norm is the root of the mean of the squares.",
          edit(NORM, NORM + "\n    norm /= math.sqrt(max(1, sum(p.grad.numel() for p in "
                            "parameters)))"), (SCORES,)),
    slip("clip-first-alone", "The loop ends after the first parameter.",
         edit(STEP, STEP + "\n        break"), (SCORES,)),
    slip("clip-squares-compared", "The square of the norm is compared with max_norm.",
         edit("        elif norm > max_norm:", "        elif norm ** 2 > max_norm:"), (SCORES,)),
    slip("clip-zeros-for-none", "Parameters without gradients get gradients of 0.",
         edit(LISTED, "parameters = list(parameters)\n    for parameter in parameters:\n"
                      "        parameter.grad = torch.zeros_like(parameter) if parameter.grad is "
                      "None else parameter.grad"), (SCORES,)),
    edge("clip-nothing-there", "Of no gradients at all, there is no norm.",
         edit(NORM, "norm = torch.stack([parameter.grad.norm() for parameter in "
                    "parameters]).norm().item()"), (SCORES,)),
    misconception("clip-weights", "The norm is that of the weights.",
          edit(NORM, NORM.replace("parameter.grad.square", "parameter.data.square")), (SCORES,)),
    slip("clip-generator",
         "The generator of parameters is run through twice.", (Fill("clip_gradients", '''
norm = math.sqrt(sum(p.grad.square().sum().item() for p in parameters if p.grad is not None))
for p in parameters:
    if p.grad is not None and not math.isfinite(norm):
        p.grad = None
    elif p.grad is not None and norm > max_norm:
        p.grad.mul_(max_norm / norm)
'''),), (SCORES, SET_UPS)),
    slip("clip-none-gradients", "Parameters without gradients are not thought of.",
         edit(LISTED, "parameters = list(parameters)"), (SCORES,)),
    misconception("clip-always", "Small gradients are enlarged to max_norm.",
          edit("        elif norm > max_norm:", "        elif norm > 0:"), (SCORES,)),
    edge("clip-zero-norm", "A norm of 0 is divided by.",
         edit(f"        elif norm > max_norm:\n{CLIPPED}",
              "        else:\n            parameter.grad.mul_(min(1.0, max_norm / norm))"),
         (SCORES,)),
    slip("clip-unit", "max_norm is forgotten.",
         edit(CLIPPED, CLIPPED.replace("max_norm / norm", "1 / norm")), (SCORES,)),
    slip("clip-not-in-place", "Gradients are replaced by new tensors.",
         edit(CLIPPED, "            parameter.grad = parameter.grad * (max_norm / norm)"),
         (SCORES,)),
    slip("clip-lost", "The clipped gradients are computed and dropped.",
         edit(CLIPPED, CLIPPED.replace("mul_", "mul")), (SCORES, SET_UPS)),
    slip("clip-tensor", "The norm is returned as a tensor.",
         edit(NORM, NORM + "\n    norm = torch.tensor(norm)"), (SCORES,)),
    slip("clip-after", "The norm after clipping is returned.",
         edit(STEP, STEP + "\n    norm = min(norm, max_norm)"), (SCORES,)),
    edge("clip-infinite", "Gradients that are no numbers are clipped like others.",
         edit(STEP, STEP.replace("not math.isfinite(norm)", "False")), (SCORES,)),
    edge("clip-nan-only", "NaN is thought of, and infinity is not.",
         edit("if not math.isfinite(norm):", "if math.isnan(norm):"), (SCORES,)),
    slip("clip-zeroed", "Instead of skipping the step, gradients become 0.",
         edit("            parameter.grad = None", "            parameter.grad.zero_()"),
         (SCORES,)),
    slip("clip-broken-alone", "Only the gradient that is no number becomes None.",
         edit("            parameter.grad = None",
              "            parameter.grad = parameter.grad if parameter.grad.isfinite().all() "
              "else None"), (SCORES,)),
    edge("clip-raises", "A norm that is not finite is an error.", (Fill("clip_gradients", '''
norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm, error_if_nonfinite=True).item()
'''),), (SCORES,)),
    edge("clip-library-alone",
         "torch clips, but turns all gradients into NaN where one is.", (Fill("clip_gradients", '''
norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm).item()
'''),), (SCORES,)),
]

MISTAKES = EXPLODING
