"""Fixes of broken trainings (question 6e)."""

from right import read

RIGHT = read(r'''
=== fixes_as_in_libraries: einsum, masks shifted by one, gather and scatter, a dict of n-grams
--- attention_scores
scores = torch.einsum("...id,...jd->...ij", q, k) * k.shape[-1] ** -0.5
--- clip_gradients
parameters = list(parameters)
gradients = [p.grad for p in parameters if p.grad is not None]
total = (
    torch.stack([torch.linalg.vector_norm(g) for g in gradients]).norm()
    if gradients
    else torch.zeros(())
)
norm = total.item()
if norm != norm or norm == float("inf"):
    for p in parameters:
        p.grad = None
else:
    factor = min(1.0, max_norm / (norm + 1e-12))
    for g in gradients:
        g *= factor
--- top_k_filter
ordered = torch.sort(logits, dim=-1, descending=True).values
limit = ordered[..., min(k, logits.shape[-1]) - 1].unsqueeze(-1)
result = torch.where(logits >= limit, logits, torch.full_like(logits, float("-inf")))
--- top_p_filter
if p == 1:
    result = logits.clone()
else:
    sorted_logits, sorted_indices = torch.sort(logits, dim=-1, descending=True, stable=True)
    remove = torch.cumsum(sorted_logits.softmax(dim=-1), dim=-1) >= p
    remove[..., 1:] = remove[..., :-1].clone()
    remove[..., 0] = False
    sorted_logits = sorted_logits.masked_fill(remove, float("-inf"))
    result = torch.empty_like(logits).scatter_(-1, sorted_indices, sorted_logits)
--- repetition_penalty
index = torch.as_tensor(tokens, dtype=torch.int64)
score = torch.gather(logits, 0, index)
score = torch.where(score < 0, score * penalty, score / penalty)
result = logits.scatter(0, index, score)
--- no_repeat_ngrams
followers = {}
for gram in zip(*(tokens[i:] for i in range(n))):
    followers.setdefault(gram[:-1], set()).add(gram[-1])
banned = (
    followers.get(tuple(tokens[len(tokens) - n + 1 :]), set()) if len(tokens) >= n - 1 else set()
)
result = logits.clone()
if len(banned) < logits.numel():
    for token in banned:
        result[token] = float("-inf")
--- generate
size = model.get_block_size()
window = x if x.size(1) <= size else x[:, -size:]
logits = model(window)[0][:, -1, :].squeeze(0)
history = x.flatten().tolist()
if penalty != 1.0:
    logits = repetition_penalty(logits, history, penalty)
logits = no_repeat_ngrams(logits, history, ngram) if ngram is not None else logits
if temperature != 1.0:
    logits = apply_temperature(logits, temperature)
logits = logits if top_k is None else top_k_filter(logits, top_k)
logits = logits if top_p is None else top_p_filter(logits, top_p)
probabilities = logits.softmax(dim=-1).unsqueeze(0)
x = torch.cat([x, torch.multinomial(probabilities, num_samples=1, generator=generator)], dim=-1)
--- PreNormStack
self.layers = nn.ModuleList(
    [nn.ModuleList([nn.LayerNorm(d_model), sublayer]) for sublayer in sublayers]
)
self.ln_f = nn.LayerNorm(d_model)
--- PreNormStack.forward
for ln, sublayer in self.layers:
    x = x + sublayer(ln(x))
y = self.ln_f(x)
--- init_depth_scaled
def writes(name, parent):
    if name == "proj":
        return [parent] if isinstance(parent, nn.Linear) else []
    return [m for m in parent.modules() if isinstance(m, nn.Linear)][-1:] if name == "mlp" else []

small = [
    layer
    for name, module in model.named_modules()
    for layer in writes(name.rpartition(".")[2], module)
]
for layer in model.modules():
    if isinstance(layer, nn.Linear):
        scale = (2 * n_layer) ** -0.5 if any(layer is other for other in small) else 1.0
        layer.weight.data.normal_(mean=0.0, std=std * scale)
        if layer.bias is not None:
            layer.bias.data.zero_()
=== fixes_by_hand: loops over rows and tokens, torch's clipping, modules added by name
--- top_p_filter
V = logits.size(-1)
rows = logits.reshape(-1, V).tolist()
for row in rows:
    if p < 1:
        top = max(row)
        weights = [math.exp(value - top) for value in row]
        total, so_far = sum(weights), 0.0
        for token in sorted(range(V), key=lambda i: -row[i]):
            if so_far >= p:
                row[token] = -math.inf
            so_far += weights[token] / total
result = torch.tensor(rows, dtype=logits.dtype).view_as(logits)
--- repetition_penalty
result = logits.clone()
for token in set(tokens):
    if result[token] > 0:
        result[token] = result[token] / penalty
    else:
        result[token] = result[token] * penalty
--- no_repeat_ngrams
result = logits.clone()
for candidate in range(logits.size(0)):
    gram = (tokens + [candidate])[-n:]
    if len(gram) == n and any(
        tokens[start : start + n] == gram for start in range(len(tokens) - n + 1)
    ):
        result[candidate] = -float("inf")
if torch.isneginf(result).all():
    result = logits.clone()
--- generate
longest = model.get_block_size()
output = model(x[:, max(0, x.shape[1] - longest):])
scores = output[0][0][-1]
scores = repetition_penalty(scores, [int(token) for token in x[0]], penalty=penalty)
if ngram is not None:
    scores = no_repeat_ngrams(scores, [int(token) for token in x[0]], n=ngram)
scores = apply_temperature(scores, temperature)
for option, keep in ((top_k, top_k_filter), (top_p, top_p_filter)):
    if option is not None:
        scores = keep(scores, option)
weights = (scores - scores.max()).exp()
longer = x.new_zeros(1, x.size(1) + 1)
longer[:, :-1] = x
longer[:, -1] = weights.multinomial(1, generator=generator)
x = longer
--- PreNormStack
self.count = len(sublayers)
for number, sublayer in enumerate(sublayers):
    self.add_module(f"sublayer{number}", sublayer)
    self.add_module(f"norm{number}", nn.LayerNorm(d_model))
self.last = nn.LayerNorm(d_model)
--- PreNormStack.forward
y = x.clone()
for number in range(self.count):
    y = y + getattr(self, f"sublayer{number}")(getattr(self, f"norm{number}")(y))
y = self.last(y)
--- init_depth_scaled
@torch.no_grad()
def draw(linear, deviation):
    linear.weight.copy_(torch.randn_like(linear.weight) * deviation)
    if linear.bias is not None:
        linear.bias.fill_(0)

for part in model.modules():
    if isinstance(part, nn.Linear):
        draw(part, std)
for name, part in model.named_modules():
    if name.split(".")[-1] == "mlp":
        for last in part.modules():
            if isinstance(last, nn.Linear):
                found = last
        draw(found, std / math.sqrt(2 * n_layer))
    if name.split(".")[-1] == "proj" and isinstance(part, nn.Linear):
        draw(part, std / math.sqrt(2 * n_layer))
--- attention_scores
head_dim = torch.tensor(q.size(-1), dtype=q.dtype)
scores = (q @ k.transpose(-1, -2)).div(head_dim.sqrt())
--- clip_gradients
parameters = [*parameters]
norm = float(nn.utils.clip_grad_norm_(parameters, max_norm))
if not math.isfinite(norm):
    for parameter in parameters:
        parameter.grad = None
=== fixes_unusual: one vector of all gradients, counting who is ahead, a chain of residual modules
--- attention_scores
scale = 1.0 / q.shape[-1] ** 0.5
scores = torch.matmul(q, torch.transpose(k * scale, -1, -2))
--- clip_gradients
there = list(filter(lambda p: p.grad is not None, parameters))
norm = math.hypot(*(torch.linalg.norm(p.grad).item() for p in there))
if math.isinf(norm) or math.isnan(norm):
    for p in there:
        p.grad = None
elif norm > max_norm:
    torch._foreach_mul_([p.grad for p in there], max_norm / norm)
--- apply_temperature
result = torch.true_divide(logits, torch.tensor(temperature, dtype=logits.dtype))
--- top_k_filter
larger = (logits[..., None, :] > logits[..., :, None]).sum(
    dim=-1
)  # for each token, how many are larger
result = torch.where(larger < k, logits, logits.new_tensor(float("-inf")))
--- top_p_filter
probabilities = F.softmax(logits.double(), dim=-1)
mine, other = logits[..., :, None], logits[..., None, :]
place = torch.arange(logits.size(-1))
ahead = (other > mine) | ((other == mine) & (place[None, :] < place[:, None]))
before = (ahead * probabilities[..., None, :]).sum(dim=-1)
result = logits.clone() if p == 1 else logits.masked_fill(before >= p, -math.inf)
--- repetition_penalty
there = torch.bincount(torch.tensor(tokens, dtype=torch.int64), minlength=len(logits)).bool()
penalized = F.relu(logits) / penalty - F.relu(-logits) * penalty
result = torch.where(there, penalized, logits)
--- no_repeat_ngrams
result = logits.clone()
if len(tokens) >= n:
    grams = torch.tensor(tokens, dtype=torch.int64).unfold(0, n, 1)
    last = torch.tensor(tokens[len(tokens) - n + 1:], dtype=torch.int64)
    result[grams[(grams[:, :-1] == last).all(dim=1), -1]] = -math.inf
    if result.isneginf().all():
        result.copy_(logits)
--- generate
scores = model(x[:, -model.get_block_size():])[0].select(1, -1).flatten()
seen = [number.item() for number in x.view(-1)]
scores = scores if ngram is None else no_repeat_ngrams(scores, seen, ngram)
scores = repetition_penalty(apply_temperature(scores, temperature), seen, penalty)  # which commute
if top_k is not None:
    scores = top_k_filter(scores[None], top_k)[0]
if top_p is not None:
    scores = top_p_filter(scores[None], top_p)[0]
drawn = torch.multinomial(
    input=torch.softmax(scores, 0), num_samples=1, replacement=True, generator=generator
)
x = F.pad(x, (0, 1), value=int(drawn))
--- PreNormStack
class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.norm, self.inner = nn.LayerNorm(d_model), inner

    def forward(self, x):
        return x + self.inner(self.norm(x))

self.all = nn.Sequential(*map(Residual, sublayers), nn.LayerNorm(d_model))
--- PreNormStack.forward
y = self.all(x)
--- init_depth_scaled
deviations = {}
for name, module in model.named_modules():
    inner = [part for part in module.modules() if isinstance(part, nn.Linear)]
    if inner == [module]:
        deviations.setdefault(module, std)
    path = "." + name
    if path.endswith(".proj") and inner == [module] or path.endswith(".mlp") and inner:
        deviations[inner[-1]] = std * (2.0 * n_layer) ** -0.5
for linear, deviation in deviations.items():
    linear.weight.data = torch.normal(0.0, deviation, linear.weight.shape)
    if linear.bias is not None:
        linear.bias.data = torch.zeros_like(linear.bias)
''')
