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
STEP = '''    for parameter in parameters:
        if not math.isfinite(norm):
            parameter.grad = None
        elif norm > max_norm:
            parameter.grad.mul_(max_norm / norm)'''

EXPLODING = [
    misconception("scores-unscaled", "The scores are not scaled.",
          edit(SCALED, "scores = q @ k.transpose(-2, -1)"), (SCORES,)),
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
    slip("clip-generator",
         "The generator of parameters is run through twice.", (Fill("clip_gradients", '''
norm = math.sqrt(sum(p.grad.square().sum().item() for p in parameters if p.grad is not None))
for p in parameters:
    if p.grad is not None and not math.isfinite(norm):
        p.grad = None
    elif p.grad is not None and norm > max_norm:
        p.grad.mul_(max_norm / norm)
'''),), (SCORES, SET_UPS)),
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
    slip("clip-broken-alone", "Only the gradient that is no number becomes None.",
         edit("            parameter.grad = None",
              "            parameter.grad = parameter.grad if parameter.grad.isfinite().all() "
              "else None"), (SCORES,)),
    slip("clip-first-alone", "The loop ends after the first parameter.",
         edit(STEP, STEP + "\n        break"), (SCORES,)),
    misconception("clip-always", "Small gradients are enlarged to max_norm.",
          edit("        elif norm > max_norm:", "        elif norm > 0:"), (SCORES,)),
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
    slip("clip-none-gradients", "Parameters without gradients are not thought of.",
         edit(LISTED, "parameters = list(parameters)"), (SCORES,)),
    misconception("clip-parameters", "The parameters are scaled; the gradients should be.",
          edit(CLIPPED, "            parameter.data.mul_(max_norm / norm)"), (SCORES,)),
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
    edge("clip-raises", "A norm that is not finite is an error.", (Fill("clip_gradients", '''
norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm, error_if_nonfinite=True).item()
'''),), (SCORES,)),
    edge("clip-library-alone",
         "torch clips, but turns all gradients into NaN where one is.", (Fill("clip_gradients", '''
norm = torch.nn.utils.clip_grad_norm_(parameters, max_norm).item()
'''),), (SCORES,)),
]

LINE = "            y = y + sublayer(norm(y))"
NORMS = "self.norms = nn.ModuleList([nn.LayerNorm(d_model) for _ in sublayers])"
SCALE = "std / math.sqrt(2 * n_layer)"
BIAS = '''            if module.bias is not None:
                nn.init.zeros_(module.bias)
'''
NAMED = '''        if own_name == "proj" and isinstance(module, nn.Linear):'''
LINEARS = "writing.update([part for part in module.modules() if isinstance(part, nn.Linear)][-1:])"
FINAL = "y = self.final_norm(y)"

STACKS = [
    misconception("stack-post-norm", "The norm comes after the sum.",
          edit(LINE, "            y = norm(y + sublayer(y))"), (STACK,)),
    slip("stack-post-norm-at-the-end", "One sublayer, the last, still has its norm after the sum.",
         edit(LINE, "            y = norm(y + sublayer(y)) if norm is self.norms[-1] else y + "
                    "sublayer(norm(y))"), (STACK,)),
    misconception("stack-parallel", "Each sublayer gets the first x.",
          edit(LINE, "            y = y + sublayer(norm(x))"), (STACK,)),
    misconception("stack-halved", "Each sum is divided by the root of 2.",
          edit(LINE, "            y = (y + sublayer(norm(y))) / math.sqrt(2)"), (STACK,)),
    slip("stack-sublayers-in-list", "The sublayers are in a plain list.",
         edit("self.sublayers = nn.ModuleList(sublayers)", "self.sublayers = sublayers"),
         (STACK, SET_UPS)),
    slip("stack-of-copies", "The stack has copies of the sublayers.",
         edit("self.sublayers = nn.ModuleList(sublayers)",
              "self.sublayers = __import__('copy').deepcopy(nn.ModuleList(sublayers))"), (STACK,)),
    misconception("stack-input-normalized", "x is normalized before it enters the residual path.",
          edit("        y = x\n", "        y = self.final_norm(x)\n"), (STACK,)),
    slip("stack-no-final-norm", "The last norm is missing.", edit(FINAL, "pass"), (STACK,)),
    misconception("stack-shared-norm", "All sublayers share one norm.",
          edit(NORMS, "self.norms = nn.ModuleList([nn.LayerNorm(d_model)] * len(sublayers))"),
          (STACK,)),
    slip("stack-final-shared", "The last norm is that of the last sublayer.",
         edit("self.final_norm = nn.LayerNorm(d_model)",
              "self.final_norm = self.norms[-1] if sublayers else nn.LayerNorm(d_model)"),
         (STACK,)),
    slip("stack-norms-in-list", "The norms are in a plain list.",
         edit(NORMS, "self.norms = [nn.LayerNorm(d_model) for _ in sublayers]"), (STACK,)),
    misconception("stack-normed-residual", "The residual path starts from the normalized x.",
          edit(LINE, "            y = norm(y)\n            y = y + sublayer(y)"), (STACK,)),
    misconception("stack-no-residual", "The residual path is missing.",
          edit(LINE, "            y = sublayer(norm(y))"), (STACK, SET_UPS)),
    misconception("stack-output-normed", "What the sublayer returns is normalized.",
          edit(LINE, "            y = y + norm(sublayer(y))"), (STACK,)),
    misconception("stack-bare", "Nothing is normalized but the end.",
          edit(LINE, "            y = y + sublayer(y)"), (STACK,)),
    slip("stack-detached", "No gradient passes along the residual path.",
         edit(LINE, "            y = y.detach() + sublayer(norm(y))"), (STACK,)),
    slip("stack-first-norm-alone", "The first norm is used before each sublayer.",
         edit(LINE, "            y = y + sublayer(self.norms[0](y))"), (STACK,)),
    slip("stack-normalized-again", "What the last norm returns is normalized again, without weights.",
         edit(FINAL, "y = F.layer_norm(self.final_norm(y), y.shape[-1:])"), (STACK,)),
    slip("stack-in-place", "x is changed in place.",
         edit(LINE, "            y += sublayer(norm(y))"), (STACK,)),
    slip("stack-no-affine", "The norms have no weights.",
         edit(NORMS, NORMS.replace("(d_model)", "(d_model, elementwise_affine=False)")), (STACK,)),
    slip("stack-other-eps", "The norms have an eps of their own.",
         edit(NORMS, NORMS.replace("(d_model)", "(d_model, eps=1e-2)")), (STACK,)),
    misconception("stack-rms", "RMSNorm takes the place of LayerNorm.",
          edit(NORMS, NORMS.replace("LayerNorm", "RMSNorm")), (STACK,)),
    slip("stack-reversed", "The sublayers come in the reverse order.",
         edit("zip(self.norms, self.sublayers)", "zip(self.norms, reversed(self.sublayers))"),
         (STACK,)),
    misconception("stack-pairs-of-norms", "Every second sublayer has no norm of its own.",
          edit(NORMS, "self.norms = nn.ModuleList([nn.LayerNorm(d_model) if i % 2 == 0 else "
                      "nn.Identity() for i in "
                      "range(len(sublayers))])"), (STACK,)),
    slip("init-biases-stay", "The biases are what they were.", edit(BIAS, ""), (STACK,)),
    misconception("init-all-scaled",
          "All layers are scaled.", edit("if module in writing else std\n"
        "            )",
        "if True else std)"), (STACK,)),
    misconception("init-none-scaled", "No layer is scaled.", edit("if module in writing else std\n"
        "            )",
        "if False else std)"), (STACK,)),
    misconception("init-nothing", "It changes nothing.", (Fill("init_depth_scaled", "pass"),),
          (STACK,)),
    slip("init-head-too", "The last layer of the model is scaled, too.",
         edit("    writing = set()", "    writing = {[part for part in model.modules() if "
                                     "isinstance(part, nn.Linear)][-1]}"), (STACK,)),
    misconception("init-variance", "std is taken for the variance.",
          edit("    writing = set()", "    std, writing = math.sqrt(std), set()"), (STACK,)),
    slip("init-outer-alone", "Only the modules of the uppermost level are looked at.",
         edit("    for module in model.modules():", "    for module in model.children():"),
         (STACK,)),
    slip("init-truncated", "Weights beyond 1.5 standard deviations are not drawn.",
         edit("nn.init.normal_(\n                module.weight, std=std / math.sqrt(2 * "
              "n_layer) if module in writing else std\n            )",
              "own = std / math.sqrt(2 * n_layer) if module in writing else std\n"
              "            nn.init.trunc_normal_(module.weight, std=own, a=-1.5 * own, b=1.5 * "
              "own)"), (STACK,)),
    slip("init-root-of-layers", "The 2 is missing.", edit(SCALE, "std / math.sqrt(n_layer)"),
         (STACK,)),
    slip("init-no-root", "The root is missing.", edit(SCALE, "std / (2 * n_layer)"), (STACK,)),
    slip("init-proj-alone", "The feed-forward parts are forgotten.", edit(LINEARS, "pass"),
         (STACK,)),
    slip("init-mlp-alone", "The attentions are forgotten.", edit(NAMED, "        if False:"),
         (STACK,)),
    slip("init-first-of-mlp", "The first layer of an mlp is scaled.",
         edit(LINEARS, LINEARS.replace("[-1:]", "[:1]")), (STACK,)),
    edge("init-children-of-mlp",
         "The last layer is looked for among the children of an mlp alone.",
         edit(LINEARS, LINEARS.replace("modules()", "children()")), (STACK,)),
    slip("init-all-of-mlp", "All layers of an mlp are scaled.",
         edit(LINEARS, LINEARS.replace("[-1:]", "")), (STACK,)),
    edge("init-ends-with-proj", "Names that end with proj count, too.",
         edit(NAMED, NAMED.replace('own_name == "proj"', 'own_name.endswith("proj")')), (STACK,)),
    edge("init-sequential-alone", "The last part of an mlp is looked for by its index.",
         edit(LINEARS, 'writing.update([module[2]] if isinstance(module, nn.Sequential) else [])'),
         (STACK,)),
    slip("init-biases-drawn", "The biases are drawn, too.",
         edit(BIAS, BIAS.replace("zeros_(module.bias)", "normal_(module.bias, std=std)")),
         (STACK,)),
    edge("init-proj-of-any-type", "What is named proj is drawn, whatever its type.",
         edit("        if isinstance(module, nn.Linear):",
              "        if isinstance(module, (nn.Linear, nn.Conv1d)) and (\n            "
              "isinstance(module, nn.Linear) or module is getattr(model, 'proj', None)\n        ):"),
         (STACK,)),
    edge("init-needs-biases", "Layers without biases are not thought of.",
         edit(BIAS, "            nn.init.zeros_(module.bias)\n"), (STACK,)),
    misconception("init-even", "The weights are evenly distributed, with the right deviation.",
          edit("nn.init.normal_(\n                module.weight, std=std / math.sqrt(2 * "
               "n_layer) if module in writing else std\n            )",
               "bound = math.sqrt(3) * (std / math.sqrt(2 * n_layer) if module in writing else "
               "std)\n            nn.init.uniform_(module.weight, -bound, bound)"), (STACK,)),
    misconception("init-embeddings", "Embeddings are drawn, too.",
          edit("        if isinstance(module, nn.Linear):\n            nn.init.normal_",
              "        if isinstance(module, (nn.Linear, nn.Embedding)):\n"
              "            module.bias = getattr(module, 'bias', None)\n            "
              "nn.init.normal_"), (STACK,)),
    slip("init-fixed-std", "std is always 0.02.",
         edit("    writing = set()", "    std, writing = 0.02, set()"), (STACK,)),
    slip("init-counts-blocks", "The layers of the model are counted, though n_layer is given.",
         edit("    writing = set()", "    writing = set()\n    n_layer = len(getattr(model, "
                                     "'blocks', [])) or n_layer"), (STACK,)),
    misconception("init-residual-alone", "Only what writes into the residual stream is drawn.",
          edit("    for module in model.modules():\n        if isinstance(module, nn.Linear):",
               "    for module in writing:\n        if True:"), (STACK,)),
    misconception("init-multiplies",
          "The old weights are scaled instead of drawn.", (Fill("init_depth_scaled", '''
for name, module in model.named_modules():
    if isinstance(module, nn.Linear) and name.endswith((".proj", "mlp.2", "mlp.down.1")):
        with torch.no_grad():
            module.weight /= math.sqrt(2 * n_layer)
'''),), (STACK,)),
]

MISTAKES = EXPLODING + STACKS
