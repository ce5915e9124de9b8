"""Question 6d, step 4, basic: StreamingAttention: its outputs, what it keeps, what it rejects."""

from dataclasses import dataclass, replace

from autograder import Answer, WrongAnswer, check, probe
from checks.problem6.q6d_module import TOLERANCE, draw_layer, made, make_layer
from checks.support.asked import Asked, Close, Same


@probe
def count_held(stream, module):
    """For other probes: the bytes of all floating-point numbers reachable from a stream, without
    the module's: in tensors and arrays (including those of which they are views), raw bytes, and
    single numbers. And whether a tensor has an autograd history.
    """
    import array
    import types

    import numpy as np
    import torch

    parameters = {id(value) for value in (*module.parameters(), *module.buffers())}
    storages, single, history = {}, 0, False
    seen, waiting = {id(module)} | parameters, [vars(stream)]
    while waiting and len(seen) < 200_000:
        thing = waiting.pop()
        if id(thing) in seen:
            continue
        seen.add(id(thing))
        if isinstance(thing, torch.Tensor):
            if thing.is_floating_point():
                storages[thing.untyped_storage().data_ptr()] = thing.untyped_storage().nbytes()
                history = history or thing.grad_fn is not None
        elif isinstance(thing, np.ndarray) and not thing.dtype.hasobject:
            if isinstance(thing.base, (np.ndarray, torch.Tensor, bytes, bytearray, memoryview)):
                waiting.append(thing.base)
            elif thing.dtype.kind in "fcV":
                storages[thing.__array_interface__["data"][0]] = thing.nbytes
        elif isinstance(thing, (bytes, bytearray, memoryview, array.array)):
            storages["raw", id(thing)] = memoryview(thing).nbytes
        elif isinstance(thing, (float, np.floating)):
            single += 1
        elif isinstance(thing, dict):
            waiting += thing.values()
        elif not isinstance(thing, (str, int, type, types.ModuleType, type(None))):
            waiting += [
                getattr(thing, name, None) for name in getattr(type(thing), "__slots__", ())
            ]
            waiting += [vars(thing)] if hasattr(thing, "__dict__") else []
            if hasattr(thing, "__iter__") and hasattr(thing, "__len__"):
                waiting += list(thing)
    # a few numbers are not a cache
    return sum(storages.values()) + 4 * max(single - 16, 0), history


@probe(uses=(draw_layer, make_layer, count_held))
def read_stream(layer, B, cuts, declared, max_global, in_turns, once, bad):
    """Read x with StreamingAttention, in calls of as many positions as `cuts` says: of each call
    the output, and what the stream is and holds after it.

    It may take turns with another stream of the same module. `bad`: before a call, a number of
    positions comes with another number of booleans; a ValueError for it may be ignored.
    """
    import contextlib
    import copy

    import torch

    from submission.problem6.efficient_attention import StreamingAttention

    module = make_layer(layer)[0]
    limit = () if max_global is None else (max_global,)
    stream = StreamingAttention(module, *limit)
    other = StreamingAttention(module, *limit) if in_turns else None
    x = torch.from_numpy(draw_layer(layer, B, sum(cuts))[1]).to(getattr(torch, layer["dtype"]))
    reply = {name: [] for name in ("output", "length", "global", "held", "history", "cache")}
    start = 0
    for number, count in enumerate(cuts):
        if bad is not None and number == bad["call"]:
            with contextlib.suppress(*[ValueError] * bad["ignored"]):
                stream.append(x.new_ones(B, bad["positions"], x.size(2)), [True] * bad["booleans"])
        flags = [position in declared for position in range(start, start + count)]
        part = x[:, start : start + count].clone()
        if other is not None:
            other.append(-part, [not flag for flag in flags])
        if any(flags):
            output = stream.append(part, iter(flags) if once else flags)
        else:
            output = stream.append(part)
        start += count
        held, history = count_held(stream, module)
        one = 2 * part[:, 0].nbytes  # a position's keys and values of all sequences
        cache = {"positions": stream.cached_positions(), "bytes": stream.cache_bytes(), "one": one}
        now = (output, stream.length, copy.copy(stream.global_positions), held, history, cache)
        for steps, value in zip(reply.values(), now):
            steps.append(value)
    return reply


def written(inputs: dict) -> str:
    """A stream as a student would make it, and what it reads."""
    layer, cuts, bad = inputs["layer"], inputs["cuts"], inputs["bad"]
    limit = "" if inputs["max_global"] is None else f", max_global={inputs['max_global']}"
    calls = f"calls of {cuts}" if len({*cuts}) > 1 else f"calls of {cuts[0]} each"
    shape = (inputs["B"], sum(cuts), layer["n_embd"])
    words = (
        f"StreamingAttention({made(layer)}{limit}), which reads x {shape} in {calls}, declared "
        f"global {inputs['declared']}"
    )
    if inputs["in_turns"]:
        words += ", in turns with another stream of the same module"
    if inputs["once"]:
        words += ", with an iterator of booleans"
    if bad is not None:
        words += (
            f", after an append of {bad['positions']} positions with {bad['booleans']} booleans as "
            f"call {bad['call'] + 1}"
        )
        words += ", whose ValueError is caught" * bad["ignored"]
    return words


@dataclass(frozen=True)
class Steps:
    """What a stream is after each call: a number, or a list of positions, as the reference's."""

    name: str

    def require(self, call: str, got, right) -> None:
        """Compare two values of a reply; see `Asked`.

        Raises:
            WrongAnswer: they differ.
        """
        for after, value, wanted in _each(call, got, right):
            _require_same(f"{self.name} {after}", value, wanted)


def _each(call, got, right):
    """For each call of append: words for when it was, and the two values."""
    if not isinstance(got, list) or len(got) != len(right):
        raise WrongAnswer(f"{call} gave no reply.")
    for number, pair in enumerate(zip(got, right), 1):
        yield f"after call {number} of {call}", *pair


def _require_same(name, got, right):
    answer = Answer(got, name).present()
    if isinstance(right, int):
        if answer.number() != right:
            raise WrongAnswer(f"{name} should be {right}; it is {got}.")
        return
    got = list(got) if isinstance(got, tuple) else got
    if repr(got) == repr(right):  # 4.0 and True are other positions than 4 and 1
        return
    if not isinstance(got, list) or not all(type(position) is int for position in got):
        raise WrongAnswer(f"{name} should be a list of ints, {right}; it is {answer.describe()}.")
    missing, more = sorted({*right} - {*got}), sorted({*got} - {*right})
    words = f" Missing: {missing}." * bool(missing) + f" Too many: {more}." * bool(more)
    raise WrongAnswer(f"{name} should be {right}; it is {got}.{words}"[:2000])


@dataclass(frozen=True)
class Held:
    """After each call, no more bytes than the reference's, which has room for R + max_global keys
    and values from its first call on: the most that is allowed.
    """

    def require(self, call: str, got, right) -> None:
        """Compare two values of a reply; see `Asked`.

        Raises:
            WrongAnswer: there are more.
        """
        for after, value, most in _each(call, got, right):
            size = Answer(value, "what is held").number()
            if size > most:
                raise WrongAnswer(
                    f"The tensors (or arrays, or bytes) of the stream keep {size:,} bytes alive "
                    f"{after}. Keys and values of R + max_global positions are {most:,}. A view "
                    "keeps its whole tensor alive; clone() what is kept."
                )


@dataclass(frozen=True)
class Cache:
    """After each call, cached_positions as the reference's; and cache_bytes between what these
    positions take and what the reference has.
    """

    def require(self, call: str, got, right) -> None:
        """Compare two values of a reply; see `Asked`.

        Raises:
            WrongAnswer: one is wrong.
        """
        for after, step, wanted in _each(call, got, right):
            step, positions = Answer(step, "the cache"), wanted["positions"]
            _require_same(f"cached_positions() {after}", step["positions"].value, positions)
            size = step["bytes"].named(f"cache_bytes() {after}").number()
            least, most = len(positions) * wanted["one"], wanted["bytes"]
            if not least <= size <= most:
                raise WrongAnswer(
                    f"cache_bytes() should be {least:,} or more {after}, for {len(positions)} "
                    f"positions, and {most:,} at most, for R + max_global. It is {size:,}."
                )


STREAM = Asked(
    read_stream,
    written,
    {
        "output": Close("In {call}, outputs", TOLERANCE),
        "length": Steps("length"),
        "global": Steps("global_positions"),
        "history": Same(
            "The cache of {call} has an autograd history, which keeps everything alive that it was "
            "computed from. Use torch.no_grad()."
        ),
        "held": Held(),
    },
)
CACHE = replace(STREAM, reply={**STREAM.reply, "cache": Cache()})


@check("6d-10-basic", "6d-21-basic")
def test_stream(student, calls):
    """The outputs, however the sequence is cut; the memory; what is rejected, and that the stream
    is then as before.
    """
    STREAM.require(student, calls)


@check("6d-17-basic")
def test_cache(student, calls):
    """cached_positions and cache_bytes, too."""
    CACHE.require(student, calls)
