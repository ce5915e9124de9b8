"""Question 6d, steps 3 and 4, basic: SparseSelfAttention, new or from a dense module, and
StreamingAttention.
"""

from dataclasses import dataclass, replace

from autograder import Answer, WrongAnswer, probe
from checks.problem6.q6d import Exact
from checks.support.asked import TOLERANCE, Asked, Close, Same
from checks.support.unchanged import Unchanged, summarize


@probe
def draw_layer(layer, B, T):
    """For other probes: draw a module's weights, and x (B, T, C), in float32 from its seed. Those
    of queries are `scale` times as large.
    """
    import numpy as np

    # RandomState gives the same numbers in all NumPy versions
    draw, C = np.random.RandomState(layer["seed"]).standard_normal, layer["n_embd"]
    weights = {}
    for name in "query key value proj".split():
        weights |= {f"{name}.weight": 0.4 * draw((C, C)), f"{name}.bias": 0.4 * draw(C)}
    weights["query.weight"] *= layer["scale"]
    weights |= {"predictor.weight": draw((1, C)), "predictor.bias": np.full(1, 0.1)}
    weights = {name: value.astype("float32") for name, value in weights.items()}
    return weights, draw((B, T, C)).astype("float32")


@probe(uses=(draw_layer,))
def make_layer(layer):
    """For other probes: create SparseSelfAttention with the drawn weights, new or from a dense
    module. Returns it, and the parameters of the dense one.
    """
    import types

    import torch

    from submission.attention import CausalSelfAttention
    from submission.problem6.efficient_attention import Pattern, SparseSelfAttention

    def fill(module):
        with torch.no_grad():
            for name, parameter in module.named_parameters():
                if name in weights:
                    parameter.copy_(torch.from_numpy(weights[name]))
        return module.to(getattr(torch, layer["dtype"])).eval()

    weights, _ = draw_layer(layer, 1, 1)
    pattern, sizes = Pattern(**layer["pattern"]), {key: layer[key] for key in ("n_embd", "n_head")}
    more = {key: layer[key] for key in ("max_positions", "max_global") if layer[key] is not None}
    if layer["dense"] is None:
        return fill(SparseSelfAttention(**sizes, pattern=pattern, **more)), {}
    config = types.SimpleNamespace(**sizes, **layer["dense"], attn_pdrop=0.1, resid_pdrop=0.1)
    dense = fill(CausalSelfAttention(config))
    sparse = SparseSelfAttention.from_dense(dense, pattern, **more)
    return sparse, dict(dense.named_parameters())


@probe(uses=(draw_layer, make_layer, summarize))
def run_layer(layer, B, T, chosen, once):
    """Run SparseSelfAttention on x: its output, and x afterwards; of a module from a dense one also
    the parameters, which of them are shared, and those of the dense one.

    It has run before on other numbers of the same shape: nothing of that may be kept.
    """
    import torch

    module, dense = make_layer(layer)
    if module is None:
        return {"parameters": None}
    parts = "query.", "key.", "value.", "proj.", "predictor."
    own = {name: value for name, value in module.named_parameters() if name.startswith(parts)}
    places = [value.data_ptr() for value in dense.values()]
    x = torch.from_numpy(draw_layer(layer, B, T)[1]).to(getattr(torch, layer["dtype"]))
    module.eval()
    positions = [] if chosen is None else [iter(chosen) if once else chosen]
    with torch.no_grad():
        module(-x, *[[] for _ in positions])
        output = module(x, *positions)
    return {
        "parameters": sorted(f"{name} {tuple(value.shape)}" for name, value in own.items()),
        # the predictor may have another dtype
        "copies": summarize({name: value.double() for name, value in own.items() if dense}),
        "shared": [name for name, value in own.items() if value.data_ptr() in places],
        "output": output,
        "arguments": summarize({"x": x}),
        "dense": summarize(dense),
    }


def made(layer: dict) -> str:
    """A module as a student would create it."""
    pattern = "Pattern({window}, {strides}, {causal})".format(**layer["pattern"])
    limits = [(name, layer[name]) for name in ("max_positions", "max_global")]
    more = "".join(f", {name}={limit}" for name, limit in limits if limit is not None)
    if layer["dense"] is None:
        words = f"({layer['n_embd']}, {layer['n_head']}, {pattern}{more})"
    else:
        rotating = ", rotating" * layer["dense"]["rope"]
        sizes = f"{layer['n_head']} heads, block_size {layer['dense']['block_size']}{rotating}"
        words = f".from_dense(<dense module of {sizes}>, {pattern}{more})"
    return "SparseSelfAttention" + words + " in float64" * (layer["dtype"] == "float64")


def written(inputs: dict) -> str:
    """A call of the module as a student would write it."""
    shape, chosen = (inputs["B"], inputs["T"], inputs["layer"]["n_embd"]), inputs["chosen"]
    positions = "" if chosen is None else f", {f'iter({chosen})' if inputs['once'] else chosen}"
    return f"{made(inputs['layer'])}(x {shape}{positions})"


LAYER = Asked(
    run_layer,
    written,
    {
        "parameters": Same("The module in {call} should have {right}; it has {got}."),
        "copies": Unchanged(
            "{got} of the module in {call} should be the dense module's, and in the predictor 0."
        ),
        "shared": Same(
            "The module in {call} shares {got} with the dense module: training one would change "
            "the other. Copy them."
        ),
        "output": Close(tolerance=TOLERANCE),
        "arguments": Unchanged(),
        "dense": Unchanged("{call}: {got} of the dense module have changed. They should stay."),
    },
)


# --------------------------------------------------------------------------------------------------
# The stream


@probe
def count_held(stream, module):
    """For other probes: the bytes of all floating-point numbers reachable from a stream, without
    the module's: in tensors and arrays (including those of which they are views), raw bytes, and
    single numbers. And whether a tensor has an autograd history.
    """
    import gc
    import types

    import numpy as np
    import torch

    strange = type, types.ModuleType, types.FunctionType  # they lead to all that is imported
    seen = {id(value) for value in (module, *module.parameters(), *module.buffers())}
    sizes, single, history, waiting = {}, 0, False, [stream]
    while waiting and len(seen) < 200_000:
        thing = waiting.pop()
        if id(thing) in seen or isinstance(thing, strange):
            continue
        seen.add(id(thing))
        if isinstance(thing, torch.Tensor):
            if thing.is_floating_point():
                sizes[thing.untyped_storage().data_ptr()] = thing.untyped_storage().nbytes()
                history = history or thing.grad_fn is not None
        elif isinstance(thing, np.ndarray) and thing.base is not None:
            waiting.append(thing.base)
        elif isinstance(thing, np.ndarray) and thing.dtype.kind in "fcV":
            sizes[thing.__array_interface__["data"][0]] = thing.nbytes
        elif isinstance(thing, (bytes, bytearray)):
            sizes["raw", id(thing)] = len(thing)
        elif isinstance(thing, (float, np.floating)):
            single += 1
        else:
            waiting += gc.get_referents(thing)
    # a few numbers are not a cache
    return sum(sizes.values()) + 4 * max(single - 16, 0), history


@probe(uses=(draw_layer, make_layer, count_held))
def read_stream(layer, B, cuts, declared, max_global, in_turns, once, bad):
    """Read x with StreamingAttention, in calls of as many positions as `cuts` says: of each call
    the output, and what the stream is and holds after it.

    It may take turns with another stream of the same module. `bad`: before a call, a number of
    positions comes with another number of booleans; a ValueError for it may be ignored.
    """
    import contextlib

    import torch

    from submission.problem6.efficient_attention import StreamingAttention

    module, *_ = make_layer(layer)
    limit = () if max_global is None else (max_global,)
    stream, other = (StreamingAttention(module, *limit) for _ in range(2))
    x = torch.from_numpy(draw_layer(layer, B, sum(cuts))[1]).to(getattr(torch, layer["dtype"]))
    reply = {name: [] for name in "output length global held history cached bytes".split()}
    for number, part in enumerate(x.split(cuts, dim=1)):
        if bad is not None and number == bad["call"]:
            with contextlib.suppress(*[ValueError] * bad["ignored"]):
                stream.append(x.new_ones(B, bad["positions"], x.size(2)), [True] * bad["booleans"])
        start = sum(cuts[:number])
        flags = [position in declared for position in range(start, start + part.size(1))]
        if in_turns:
            other.append(-part, [not flag for flag in flags])
        more = [iter(flags) if once else flags] if any(flags) else []
        reply["output"].append(stream.append(part.clone(), *more))
        held, history = count_held(stream, module)
        cached = stream.cached_positions()
        least = 2 * part[:, 0].nbytes * len(cached) if isinstance(cached, list) else 0
        reply["length"].append(stream.length)
        reply["global"].append([*stream.global_positions])
        reply["held"].append({"least": 0, "size": held})
        reply["history"].append(history)
        reply["cached"].append(cached)
        reply["bytes"].append({"least": least, "size": stream.cache_bytes()})
    return reply


def stream_as_written(inputs: dict) -> str:
    """A stream as a student would make it, and what it reads."""
    layer, cuts, bad = inputs["layer"], inputs["cuts"], inputs["bad"]
    limit = "" if inputs["max_global"] is None else f", max_global={inputs['max_global']}"
    calls = f"calls of {cuts}" if len({*cuts}) > 1 else f"calls of {cuts[0]} each"
    shape = (inputs["B"], sum(cuts), layer["n_embd"])
    words = (
        f"StreamingAttention({made(layer)}{limit}), which reads x {shape} in {calls}, declared "
        f"global {inputs['declared']}"
    )
    words += ", in turns with another stream of the same module" * inputs["in_turns"]
    words += ", with an iterator of booleans" * inputs["once"]
    if bad is not None:
        words += (
            f", after an append of {bad['positions']} positions with {bad['booleans']} booleans as "
            f"call {bad['call'] + 1}"
        )
        words += ", whose ValueError is caught" * bad["ignored"]
    return words


@probe(uses=(draw_layer, make_layer))
def start_stream(layer, method):
    """Call a method of a stream that has read nothing."""
    from submission.problem6.efficient_attention import StreamingAttention

    return {"output": getattr(StreamingAttention(make_layer(layer)[0]), method)()}


def start_as_written(inputs: dict) -> str:
    """The same, as a student would write it."""
    return f"StreamingAttention({made(inputs['layer'])}).{inputs['method']}()"


@dataclass(frozen=True)
class Steps:
    """What a stream is after each call of append: a number, or a list of positions.

    name: of the value. rule: judges one.
    """

    name: str
    rule: object

    def require(self, call: str, got, right) -> None:
        """Raise WrongAnswer for the first that is wrong; see `Asked`."""
        if not isinstance(got, list) or len(got) != len(right):
            raise WrongAnswer(f"{call} gave no reply.")
        for number, pair in enumerate(zip(got, right), 1):
            self.rule.require(f"{self.name} after call {number} of {call}", *pair)


@dataclass(frozen=True)
class Bytes:
    """At least as many bytes as needed, and no more than the reference's, which has room for R +
    max_global keys and values from its first call on: the most that is allowed.
    """

    def require(self, call: str, got, right) -> None:
        """Raise WrongAnswer if there are fewer or more; see `Asked`."""
        size, least, most = Answer(got, call)["size"].number(), right["least"], right["size"]
        if not least <= size <= most:
            raise WrongAnswer(
                f"{call} should be {least:,} to {most:,} bytes; the most is what keys and values "
                f"of R + max_global positions take. It is {size:,}. A view keeps its whole tensor "
                "alive: clone() what is kept."
            )


STREAM = Asked(
    read_stream,
    stream_as_written,
    {
        "output": Close("In {call}, outputs", TOLERANCE),
        "length": Steps("length", Exact()),
        "global": Steps("global_positions", Exact()),
        "history": Same(
            "The cache of {call} has an autograd history, which keeps everything alive that it was "
            "computed from. Use torch.no_grad()."
        ),
        "held": Steps("What the stream keeps alive, in tensors, arrays or bytes,", Bytes()),
    },
)
CACHE = replace(
    STREAM,
    variant="and its cache",
    reply={
        **STREAM.reply,
        "cached": Steps("cached_positions()", Exact()),
        "bytes": Steps("cache_bytes()", Bytes()),
    },
)
NEW = Asked(start_stream, start_as_written, {"output": Exact()})
