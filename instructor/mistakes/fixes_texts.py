"""Wrong fixes of broken trainings (question 6e): stacks and their initialization."""
from instructor.mistakes.fixes import SET_UPS, STACK, edit
from instructor.mistakes.patches import Fill, edge, misconception, slip

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
          edit(LINE, "            y = norm(y + sublayer(y))"), (STACK, SET_UPS)),
    slip("stack-post-norm-at-the-end", "One sublayer, the last, still has its norm after the sum.",
         edit(LINE, "            y = norm(y + sublayer(y)) if norm is self.norms[-1] else y + "
                    "sublayer(norm(y))"), (STACK,)),
    misconception("stack-parallel", "Each sublayer gets the first x.",
          edit(LINE, "            y = y + sublayer(norm(x))"), (STACK,)),
    misconception("stack-halved", "Each sum is divided by the root of 2.",
          edit(LINE, "            y = (y + sublayer(norm(y))) / math.sqrt(2)"), (STACK,)),
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
    slip("stack-sublayers-in-list", "The sublayers are in a plain list.",
         edit("self.sublayers = nn.ModuleList(sublayers)", "self.sublayers = sublayers"),
         (STACK, SET_UPS)),
    misconception("stack-normed-residual", "The residual path starts from the normalized x.",
          edit(LINE, "            y = norm(y)\n            y = y + sublayer(y)"), (STACK,)),
    misconception("stack-no-residual", "The residual path is missing.",
          edit(LINE, "            y = sublayer(norm(y))"), (STACK, SET_UPS)),
    misconception("stack-output-normed", "What the sublayer returns is normalized.",
          edit(LINE, "            y = y + norm(sublayer(y))"), (STACK,)),
    misconception("stack-bare", "Nothing is normalized but the end.",
          edit(LINE, "            y = y + sublayer(y)"), (STACK, SET_UPS)),
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
    misconception("init-all-scaled",
          "All layers are scaled.", edit("if module in writing else std\n"
        "            )",
        "if True else std)"), (STACK,)),
    misconception("init-none-scaled", "No layer is scaled.", edit("if module in writing else std\n"
        "            )",
        "if False else std)"), (STACK,)),
    misconception("init-nothing", "It changes nothing.", (Fill("init_depth_scaled", "pass"),),
          (STACK, SET_UPS)),
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
    slip("init-biases-stay", "The biases are what they were.", edit(BIAS, ""), (STACK,)),
    slip("init-biases-drawn", "The biases are drawn, too.",
         edit(BIAS, BIAS.replace("zeros_(module.bias)", "normal_(module.bias, std=std)")),
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

MISTAKES = STACKS
