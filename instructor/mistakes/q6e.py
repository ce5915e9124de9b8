"""Known mistakes of question 6e: scores and clipping, stacks and their initialization."""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

SCORES, STACK, SET_UPS = "6e-3-basic", "6e-6-basic", "6e-7-basic"


def edit(old: str, new: str) -> tuple[Edit]:
    """Another line in fixes.py."""
    return (Edit("fixes.py", old, new),)


SCALED = "scores = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))"
CLIPPED = "            parameter.grad.mul_(max_norm / norm)"
NORM = "norm = math.sqrt(sum(parameter.grad.square().sum().item() for parameter in parameters))"
LISTED = "parameters = [parameter for parameter in parameters if parameter.grad is not None]"

EXPLODING = [
    misconception("scores-unscaled", "The scores are not scaled: divide by the root of head_dim.",
          edit(SCALED, "scores = q @ k.transpose(-2, -1)"), (SCORES,)),
    misconception("scores-head-dim", "The scores are divided by head_dim; it should be its root.",
          edit(SCALED, SCALED.replace("math.sqrt(q.size(-1))", "q.size(-1)")), (SCORES,)),
    misconception("scores-softmax",
                  "These are the weights, after a softmax; return the scores before it.",
          edit(SCALED, SCALED + "\n    scores = F.softmax(scores, dim=-1)"), (SCORES,)),
    slip("scores-in-place", "The queries are scaled in place.",
         edit(SCALED, "q.data /= math.sqrt(q.size(-1))\n    scores = q @ k.transpose(-2, -1)"),
         (SCORES,)),
    slip("scores-detached", "No gradient reaches queries and keys.",
         edit(SCALED, SCALED.replace("q @ k", "q.detach() @ k.detach()")), (SCORES,)),
    edge("clip-library-alone",
         "Where the norm is infinite or NaN, gradients should become None, so the step is skipped.",
         (Fill("clip_gradients", '''
norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm).item()
'''),), (SCORES,)),
    slip("clip-generator",
         "Nothing is clipped. Is the generator of parameters used up? Make a list of it first.",
         (Fill("clip_gradients", '''
norm = math.sqrt(sum(p.grad.square().sum().item() for p in parameters if p.grad is not None))
for p in parameters:
    if p.grad is not None and not math.isfinite(norm):
        p.grad = None
    elif p.grad is not None and norm > max_norm:
        p.grad.mul_(max_norm / norm)
'''),), (SCORES, SET_UPS)),
    misconception("clip-each", "Each gradient is clipped by its own norm; use one factor for all.",
          (Fill("clip_gradients", '''
parameters = [parameter for parameter in parameters if parameter.grad is not None]
norm = math.sqrt(sum(parameter.grad.norm().item() ** 2 for parameter in parameters))
for parameter in parameters:
    if not math.isfinite(norm):
        parameter.grad = None
    elif (own := parameter.grad.norm().item()) > max_norm:
        parameter.grad.mul_(max_norm / own)
'''),), (SCORES,)),
    misconception("clip-values", "Each entry is limited to max_norm; use one factor for all.",
          edit(CLIPPED, "            parameter.grad.clamp_(-max_norm, max_norm)"), (SCORES,)),
    misconception("clip-sum-of-norms", "The norms of the gradients are added; add their squares.",
          edit(NORM, "norm = float(sum(parameter.grad.norm().item() for parameter in parameters))"),
          (SCORES,)),
    misconception("clip-always",
                  "Small gradients are enlarged to max_norm; they should stay as they are.",
          edit("        elif norm > max_norm:", "        elif norm > 0:"), (SCORES,)),
    edge("clip-nothing-there", "No gradients at all are not thought of: their norm is 0.",
         edit(NORM, "norm = torch.stack([parameter.grad.norm() for parameter in "
                    "parameters]).norm().item()"), (SCORES,)),
    slip("clip-none-gradients", "Parameters whose grad is None are not thought of.",
         edit(LISTED, "parameters = list(parameters)"), (SCORES,)),
    misconception("clip-parameters", "The parameters are scaled; the gradients should be.",
          edit(CLIPPED, "            parameter.data.mul_(max_norm / norm)"), (SCORES,)),
    edge("clip-zero-norm", "max_norm is divided by a norm of 0.",
         edit(f"        elif norm > max_norm:\n{CLIPPED}",
              "        else:\n            parameter.grad.mul_(min(1.0, max_norm / norm))"),
         (SCORES,)),
    slip("clip-not-in-place", "Gradients are replaced by new tensors.",
         edit(CLIPPED, "            parameter.grad = parameter.grad * (max_norm / norm)"),
         (SCORES,)),
    slip("clip-tensor", "The norm is returned as a tensor: use .item().",
         edit(NORM, NORM + "\n    norm = torch.tensor(norm)"), (SCORES,)),
    edge("clip-nan-only", "A norm of NaN is thought of, and an infinite one is not.",
         edit("if not math.isfinite(norm):", "if math.isnan(norm):"), (SCORES,)),
]

LINE = "            y = y + sublayer(norm(y))"
NORMS = "self.norms = nn.ModuleList([nn.LayerNorm(d_model) for _ in sublayers])"
SCALE = "std / math.sqrt(2 * n_layer)"
DRAWN = '''nn.init.normal_(
                module.weight, std=std / math.sqrt(2 * n_layer) if module in writing else std
            )'''
BIAS = '''            if module.bias is not None:
                nn.init.zeros_(module.bias)
'''
NAMED = '''        if own_name == "proj" and isinstance(module, nn.Linear):'''
LINEARS = "writing.update([part for part in module.modules() if isinstance(part, nn.Linear)][-1:])"
FINAL = "y = self.final_norm(y)"

STACKS = [
    misconception("stack-post-norm",
                  "This is post-norm, norm(x + sublayer(x)): the norm belongs before the sublayer.",
          edit(LINE, "            y = norm(y + sublayer(y))"), (STACK,)),
    slip("stack-sublayers-in-list", "The sublayers are in a plain list: use an nn.ModuleList.",
         edit("self.sublayers = nn.ModuleList(sublayers)", "self.sublayers = sublayers"),
         (STACK, SET_UPS)),
    slip("stack-no-final-norm", "The last norm is missing.", edit(FINAL, "pass"), (STACK,)),
    misconception("stack-shared-norm", "All sublayers share one norm.",
          edit(NORMS, "self.norms = nn.ModuleList([nn.LayerNorm(d_model)] * len(sublayers))"),
          (STACK,)),
    slip("stack-norms-in-list", "The norms are in a plain list: use an nn.ModuleList.",
         edit(NORMS, "self.norms = [nn.LayerNorm(d_model) for _ in sublayers]"), (STACK,)),
    misconception("stack-normed-residual",
                  "The residual path starts from the normalized x; add to x itself.",
          edit(LINE, "            y = norm(y)\n            y = y + sublayer(y)"), (STACK,)),
    misconception("stack-no-residual", "The residual path, x + ..., is missing.",
          edit(LINE, "            y = sublayer(norm(y))"), (STACK, SET_UPS)),
    misconception("stack-bare", "The sublayers get x without a norm.",
          edit(LINE, "            y = y + sublayer(y)"), (STACK,)),
    slip("stack-detached", "No gradient passes along the residual path.",
         edit(LINE, "            y = y.detach() + sublayer(norm(y))"), (STACK,)),
    slip("stack-first-norm-alone", "The first norm is used before each sublayer.",
         edit(LINE, "            y = y + sublayer(self.norms[0](y))"), (STACK,)),
    slip("stack-normalized-again",
         "What the last norm returns is normalized again, without weights.",
         edit(FINAL, "y = F.layer_norm(self.final_norm(y), y.shape[-1:])"), (STACK,)),
    slip("stack-in-place", "x is changed in place.",
         edit(LINE, "            y += sublayer(norm(y))"), (STACK,)),
    slip("stack-other-eps", "The norms have another eps than torch's default.",
         edit(NORMS, NORMS.replace("(d_model)", "(d_model, eps=1e-2)")), (STACK,)),
    slip("init-biases-stay", "The biases are not set to 0.", edit(BIAS, ""), (STACK,)),
    misconception("init-all-scaled",
          "All layers are scaled; only those that write into the residual stream should be.",
          edit(" if module in writing else std", ""), (STACK,)),
    slip("init-head-too", "The last layer of the model is scaled, too; it writes no residual.",
         edit("    writing = set()", "    writing = {[part for part in model.modules() if "
                                     "isinstance(part, nn.Linear)][-1]}"), (STACK,)),
    slip("init-root-of-layers", "The 2 in the root of 2 * n_layer is missing.",
         edit(SCALE, "std / math.sqrt(n_layer)"), (STACK,)),
    slip("init-proj-alone", "The last nn.Linear of each mlp is not scaled.", edit(LINEARS, "pass"),
         (STACK,)),
    edge("init-all-but-the-first-of-mlp", "Of an mlp with three nn.Linear, two are scaled.",
         edit(LINEARS, LINEARS.replace("[-1:]", "[1:]")), (STACK,)),
    edge("init-children-of-mlp",
         "The last nn.Linear of an mlp is looked for among its children; it can be further inside.",
         edit(LINEARS, LINEARS.replace("modules()", "children()")), (STACK,)),
    edge("init-ends-with-proj", "Layers whose name only ends with proj are scaled, too.",
         edit(NAMED, NAMED.replace('own_name == "proj"', 'own_name.endswith("proj")')), (STACK,)),
    edge("init-proj-of-any-type", "A module named proj is drawn although it is not an nn.Linear.",
         edit("        if isinstance(module, nn.Linear):",
              "        if isinstance(module, nn.Linear) or module is getattr(model, 'proj', 0):"),
         (STACK,)),
    edge("init-needs-biases", "Layers without a bias are not thought of.",
         edit(BIAS, "            nn.init.zeros_(module.bias)\n"), (STACK,)),
    misconception("init-even", "The weights are drawn from a uniform distribution.",
          edit(DRAWN, f"bound = math.sqrt(3) * ({SCALE} if module in writing else std)\n"
                      "            nn.init.uniform_(module.weight, -bound, bound)"), (STACK,)),
    misconception("init-multiplies", "The old weights are scaled; they should be drawn anew.",
          edit(DRAWN, "module.weight.data *= math.sqrt(0.5 / n_layer) if module in writing else 1"),
          (STACK,)),
    misconception("init-embeddings", "Embeddings are drawn, too; only nn.Linear should be.",
          edit("        if isinstance(module, nn.Linear):\n            nn.init.normal_",
              "        if isinstance(module, (nn.Linear, nn.Embedding)):\n"
              "            module.bias = getattr(module, 'bias', None)\n            "
              "nn.init.normal_"), (STACK,)),
    edge("init-new-parameters", "Weights are new parameters, which no optimizer knows.",
         edit("            nn.init.normal_(\n                module.weight, std=",
              "            module.weight = nn.Parameter(torch.empty_like(module.weight))\n"
              "            nn.init.normal_(\n                module.weight, std="), (STACK,)),
    slip("init-fixed-std", "The argument std is not used.",
         edit("    writing = set()", "    std, writing = 0.02, set()"), (STACK,)),
]

MISTAKES = EXPLODING + STACKS
