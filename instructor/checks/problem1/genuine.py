"""A model of the staff's own that answers with submitted weights. None of the submission's code
runs there: it could look answers up, in its corpus or in a table of its own.
"""

from autograder import probe
from checks.problem1.asking import load_and_ask


@probe(uses=(load_and_ask,))
def answer_alone(weights, variant, sizes, symbols, questions, texts):
    """Load the weights into a GPT that is written here, and ask it."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    block_size, n_head, C = (sizes[name] for name in ("block_size", "n_head", "n_embd"))
    D = C // n_head
    angles = torch.outer(torch.arange(block_size), 10000.0 ** (-torch.arange(0, D, 2) / D))
    turns = torch.polar(torch.ones_like(angles), angles)  # (block_size, D / 2)
    seen = torch.ones(block_size, block_size, dtype=torch.bool).tril()

    def rotated(x, start):
        pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], D // 2, 2))
        return torch.view_as_real(pairs * turns[start : start + x.shape[-2]]).flatten(-2)

    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.key, self.query, self.value, self.proj = (nn.Linear(C, C) for _ in range(4))

        def forward(self, x, cache):
            q, k, v = (
                layer(x).unflatten(-1, (n_head, D)).transpose(1, 2)
                for layer in (self.query, self.key, self.value)
            )
            start, T = cache.length if cache else 0, x.shape[1]
            if variant == "rope":
                q, k = rotated(q, start), rotated(k, start)
            if cache:
                k, v = cache.append(k, v)
            y = F.scaled_dot_product_attention(q, k, v, seen[start : start + T, : start + T])
            return self.proj(y.transpose(1, 2).flatten(2))

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.ln1, self.ln2, self.attn = nn.LayerNorm(C), nn.LayerNorm(C), Attention()
            self.mlp = nn.Sequential(nn.Linear(C, 4 * C), nn.GELU(), nn.Linear(4 * C, C))

        def forward(self, x, cache):
            x = x + self.attn(self.ln1(x), cache)
            return x + self.mlp(self.ln2(x))

    class GPT(nn.Module):
        def __init__(self):
            super().__init__()
            self.tok_emb = nn.Embedding(len(symbols), C)
            if variant == "vanilla":
                self.pos_emb = nn.Parameter(torch.zeros(1, block_size, C))
            self.blocks = nn.ModuleList(Block() for _ in range(sizes["n_layer"]))
            self.ln_f, self.head = nn.LayerNorm(C), nn.Linear(C, len(symbols), bias=False)

        def get_block_size(self):
            return block_size

        def forward(self, tokens, caches=None):
            x, start = self.tok_emb(tokens), caches[0].length if caches else 0
            if variant == "vanilla":
                x = x + self.pos_emb[:, start : start + tokens.shape[1]]
            for i, block in enumerate(self.blocks):
                x = block(x, caches[i] if caches else None)
            return self.head(self.ln_f(x)), None

    # masks and tables of rotations are computed above
    return load_and_ask(GPT, ("mask", "cache"), weights, symbols, questions, texts)
