"""Runs of a model with random weights (questions 1d, 1h)."""

from dataclasses import dataclass

from autograder import WrongAnswer, probe
from checks.support.asked import Asked, Close, Same
from checks.support.weights import fill

# float32, with weights of this size: two ways to compute it differ by 1e-6 of the largest logit
TOLERANCE = {"float32": 1e-4}


@probe(uses=(fill,))
def run_model(initialize, config, tokens, targets, seed, ends=None):
    """Create a model, give it random weights, and run it: in evaluation mode, with a cache on
    pieces that end at `ends`, and in training mode.

    Args:
        initialize: a function of helper.py, or None for GPT itself.
    """
    import inspect

    import torch
    from answers import KVCache

    from submission.model import GPT, GPTConfig

    def make():
        mconf = GPTConfig(**config)
        if initialize is None:
            return GPT(mconf), mconf
        from submission import helper

        return getattr(helper, initialize)(mconf), mconf

    def read_pieces():
        caches, starts = [KVCache(tokens.shape[1]) for _ in model.blocks], [0, *ends]
        pieces = [tokens[:, start:end] for start, end in zip(starts, ends)]
        return torch.cat([model(piece, caches=caches)[0] for piece in pieces], dim=1)

    def note_zeros(block, given):
        zeros.append((given[0] == 0).float().mean().item())

    model, mconf = make()
    if not isinstance(model, GPT):
        return {"made": None if model is None else type(model).__name__}
    again, zeros = make()[0], []
    fresh = again is not model and any(
        not torch.equal(a, b) for a, b in zip(model.parameters(), again.parameters())
    )
    names = [f"{name} {tuple(value.shape)}" for name, value in model.named_parameters()]
    fill(model, seed)
    tokens, targets = torch.from_numpy(tokens), torch.from_numpy(targets)
    has_cache = "cache" in inspect.signature(model.blocks[0].attn.forward).parameters
    has_cache &= "caches" in inspect.signature(model.forward).parameters
    with torch.no_grad():
        model.eval()
        logits, no_loss = model(tokens)
        same, loss = model(tokens, targets)
        pieces = read_pieces() if ends and has_cache else logits
        model.train()
        torch.manual_seed(seed)
        hook = model.blocks[0].register_forward_pre_hook(note_zeros)
        model(tokens.repeat(16, 1))
        hook.remove()
    dropouts = [module for module in model.modules() if isinstance(module, torch.nn.Dropout)]
    rates = sorted(f"{module.p:g}" for module in dropouts)
    for module in dropouts:
        module.p = 0.0
    in_training, loss_in_training = model(tokens, targets)
    loss_in_training.backward()
    return {
        "made": "GPT",
        "parameters": names,
        "logits": logits,
        "same": torch.allclose(logits, same, rtol=0, atol=0, equal_nan=True),
        "no_loss": no_loss is None,
        "loss": loss,
        "pieces": pieces,
        "in_training": in_training,
        "dropouts": rates,
        "zeros": sum(zeros) / max(1, len(zeros)),
        "untrained": [name for name, value in model.named_parameters() if value.grad is None],
        "fresh": fresh,
        "config_changed": bool(getattr(mconf, "rope", False)),
    }


@dataclass(frozen=True)
class Parameters:
    """The reference's names and shapes, in any order."""

    of: str = "parameters of {call}"

    def require(self, call: str, got, right) -> None:
        """Compare two values of a reply.

        Raises:
            WrongAnswer: they differ.
        """
        names = [name for name in got if isinstance(name, str)] if isinstance(got, list) else []
        faults = {
            "which it should not have": [name for name in names if name not in right],
            "which it lacks": [name for name in right if name not in names],
        }
        if any(faults.values()):
            texts = [f"{', '.join(names[:4])}, {what}" for what, names in faults.items() if names]
            what = self.of.format(call=call)
            raise WrongAnswer(f"The {what} are wrong: {'; '.join(texts)}.")


MODEL = Asked(
    run_model,
    call=lambda inputs: (
        f"{inputs['initialize']}(mconf)" if inputs["initialize"] else "GPT(mconf) without RoPE"
    ),
    reply={
        "made": Close("What {call} returns"),
        "parameters": Parameters(),
        "same": Same(
            "In evaluation mode, {call} gives different logits when it is called again. Likely "
            "cause: something random, such as dropout, is active there."
        ),
        "logits": Close("The logits of {call}", TOLERANCE),
        "no_loss": Same("GPT.forward should return None as the loss if there are no targets."),
        "loss": Close("The loss of {call}", {"float32": 1e-3}),
        "pieces": Close(
            "With a cache, for tokens that are read piece by piece, the logits of {call}", TOLERANCE
        ),
        "in_training": Close(
            "In training mode with a dropout of 0, the logits of {call}", TOLERANCE
        ),
        "dropouts": Same(
            "The dropout rates of {call} should be {right}, as the config says; they are {got}."
        ),
        # Half of at least 3,072 numbers are dropped, three quarters after two dropouts. Two right
        # shares differ by 0.1, 7.8 standard deviations, once in 10^14 runs.
        "zeros": Close(
            "In training mode, the share of zeros in what the first block of {call} reads",
            {"float64": 0.1},
        ),
        "untrained": Same(
            "No gradient of the loss of {call} reaches {got}: training would not change it."
        ),
        "fresh": Same(
            "Two calls of {call} gave models with equal weights. Create a new model, with random "
            "weights, on each call."
        ),
    },
)


def require_models(student, calls: list) -> None:
    """Judge models: logits, in training mode and with a cache, too; the loss, without padding; the
    config is used; initial weights are random; gradients reach all parameters.

    Raises:
        Failed: something is wrong; names the likely cause.
    """
    if any(reply["config_changed"].flag() for reply in MODEL.require(student, calls)):
        student.hint(
            "initialize_rope_model sets mconf.rope in place, so a vanilla model created later from "
            "the same config gets RoPE too. That is accepted, but the handout asks you to leave "
            "the caller's mconf unchanged: modify a copy, copy.copy(mconf)."
        )
