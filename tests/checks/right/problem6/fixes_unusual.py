"""Right fixes of broken trainings, done as nobody expects."""
from instructor.mistakes.patches import Fill, Right

RIGHT = [
    Right(
        "fixes_unusual",
        "One vector of all gradients; a filter by counting who is ahead; windows of a tensor; a "
        "chain of residual modules.",
        (
            Fill("attention_scores", r'''
scale = 1.0 / q.shape[-1] ** 0.5
scores = torch.matmul(q, torch.transpose(k * scale, -1, -2))
'''),
            Fill("clip_gradients", r'''
there = list(filter(lambda p: p.grad is not None, parameters))
norm = math.hypot(*(torch.linalg.norm(p.grad).item() for p in there))
if math.isinf(norm) or math.isnan(norm):
    for p in there:
        p.grad = None
elif norm > max_norm:
    torch._foreach_mul_([p.grad for p in there], max_norm / norm)
'''),
            Fill("apply_temperature", r'''
result = torch.true_divide(logits, torch.tensor(temperature, dtype=logits.dtype))
'''),
            Fill("top_k_filter", r'''
larger = (logits[..., None, :] > logits[..., :, None]).sum(dim=-1)     # for each token, how many are larger
result = torch.where(larger < k, logits, logits.new_tensor(float("-inf")))
'''),
            Fill("top_p_filter", r'''
probabilities = F.softmax(logits.double(), dim=-1)
mine, other = logits[..., :, None], logits[..., None, :]
place = torch.arange(logits.size(-1))
ahead = (other > mine) | ((other == mine) & (place[None, :] < place[:, None]))
before = (ahead * probabilities[..., None, :]).sum(dim=-1)
result = logits.clone() if p == 1 else logits.masked_fill(before >= p, -math.inf)
'''),
            Fill("repetition_penalty", r'''
there = torch.bincount(torch.tensor(tokens, dtype=torch.int64), minlength=len(logits)).bool()
penalized = F.relu(logits) / penalty - F.relu(-logits) * penalty
result = torch.where(there, penalized, logits)
'''),
            Fill("no_repeat_ngrams", r'''
result = logits.clone()
if len(tokens) >= n:
    grams = torch.tensor(tokens, dtype=torch.int64).unfold(0, n, 1)
    last = torch.tensor(tokens[len(tokens) - n + 1:], dtype=torch.int64)
    result[grams[(grams[:, :-1] == last).all(dim=1), -1]] = -math.inf
    if result.isneginf().all():
        result.copy_(logits)
'''),
            Fill("generate", r'''
scores = model(x[:, -model.get_block_size():])[0].select(1, -1).flatten()
seen = [number.item() for number in x.view(-1)]
scores = scores if ngram is None else no_repeat_ngrams(scores, seen, ngram)
scores = repetition_penalty(apply_temperature(scores, temperature), seen, penalty)     # which commute
if top_k is not None:
    scores = top_k_filter(scores[None], top_k)[0]
if top_p is not None:
    scores = top_p_filter(scores[None], top_p)[0]
drawn = torch.multinomial(input=torch.softmax(scores, 0), num_samples=1, replacement=True, generator=generator)
x = F.pad(x, (0, 1), value=int(drawn))
'''),
            Fill("PreNormStack", r'''
class Residual(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.norm, self.inner = nn.LayerNorm(d_model), inner

    def forward(self, x):
        return x + self.inner(self.norm(x))

self.all = nn.Sequential(*map(Residual, sublayers), nn.LayerNorm(d_model))
'''),
            Fill("PreNormStack.forward", r'''
y = self.all(x)
'''),
            Fill("init_depth_scaled", r'''
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
'''),
        ),
    ),
]
