"""Runs StreamingAttention and judges its output and its cache; shared by the checks of question
6d.
"""

import numpy as np

from autograder import Answer, WrongAnswer, probe
from checks.problem6.q6d.rows import given, masks, require_part, require_positions, shown, thin
from checks.problem6.q6d.sparse_layers import TOLERANCE, layer_inputs, layer_of, name_of
from checks.support.cases import Case

SIZES = {"float32": 4, "float64": 8}  # bytes per number


@probe(uses=(given, layer_inputs, layer_of))
def streams(cases):
    """For each stream: after each append, its output, length, global_positions, cached_positions()
    and cache_bytes(); the bytes that its tensors actually keep alive, and whether one has an
    autograd history; and which attributes the module gained.
    """
    import array
    import copy
    import types

    import numpy as np
    import torch

    from submission.problem6.efficient_attention import StreamingAttention

    def held(stream, layer):
        """Count the bytes of all floating-point numbers reachable from a stream, without the
        module's: in tensors and arrays (including those of which they are views), raw bytes, and
        single numbers.
        """
        module = {id(layer)} | {id(value) for value in (*layer.parameters(), *layer.buffers())}
        storages, single, history, seen, waiting = {}, 0, False, set(module), [vars(stream)]
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
            elif isinstance(thing, (str, int, type, types.ModuleType)) or thing is None:
                pass
            else:
                waiting += [
                    getattr(thing, name, None) for name in getattr(type(thing), "__slots__", ())
                ]
                if hasattr(thing, "__dict__"):
                    waiting.append(vars(thing))
                if hasattr(thing, "__iter__") and hasattr(thing, "__len__"):
                    waiting += list(thing)
        return sum(storages.values()) + 4 * max(
            single - 16, 0
        ), history  # a few numbers are not a cache

    def attributes(layer):
        return {name for module in layer.modules() for name in (*vars(module), *module._buffers)}

    results = []
    for case in cases:
        layer, _ = layer_of(case["layer"])
        if layer is None:
            results.append(None)
            continue
        dtype, before = getattr(torch, case["dtype"]), attributes(layer)
        layer = layer.to(dtype)
        limit = () if case["max_global"] is None else (case["max_global"],)
        stream = StreamingAttention(layer, *limit)
        other = StreamingAttention(layer, *limit) if case["in_turns"] else None
        x, start, steps = torch.from_numpy(layer_inputs(case["layer"])[1]).to(dtype), 0, []
        for count in case["cuts"]:
            flags = [position in case["declared"] for position in range(start, start + count)]
            part = x[:, start : start + count].clone()
            if other is not None:
                other.append(-part, [not flag for flag in flags])
            y = stream.append(part, flags) if any(flags) else stream.append(part)
            start += count
            steps.append(
                {
                    "y": y.detach() if isinstance(y, torch.Tensor) else y,
                    "length": stream.length,
                    "global": copy.copy(stream.global_positions),
                    "cached": stream.cached_positions(),
                    "bytes": stream.cache_bytes(),
                    "held": list(held(stream, layer)),
                }
            )
        results.append({"steps": steps, "added": sorted(attributes(layer) - before)})
    return results


def name_of_stream(stream: dict) -> str:
    """Describe the stream."""
    cuts = stream["cuts"] if len(set(stream["cuts"])) > 1 else f"{stream['cuts'][0]} each"
    limit = 200 if stream["max_global"] is None else stream["max_global"]
    module = "" if not stream["layer"]["dense"] else f" of {name_of(stream['layer'])}"
    other = ", read in turns with another stream of the same module" if stream["in_turns"] else ""
    dtype = f" in {stream['dtype']}" if stream["dtype"] != "float32" else ""
    spec = stream["layer"]["spec"]
    return (
        f"a stream{module}{dtype} of {sum(stream['cuts'])} positions in calls of "
        f"{cuts}{other}, window {spec['window']}, "
        f"strides {tuple(spec['strides'])}, declared global {shown(stream['declared'])}, "
        f"max_global {limit}"
    )


def run_streams(student, cases: list[Case]) -> list[tuple[Case, Answer]]:
    """Run `streams`."""
    return list(
        zip(cases, student.run(streams, cases=[case.inputs for case in cases]).items(len(cases)))
    )


def _steps(answer, case):
    """Return each call's results, with the number of positions read so far."""
    if answer.value is None:
        raise WrongAnswer(
            "SparseSelfAttention should have the parameters of query, key, value, "
            "proj and predictor, in their "
            "shapes."
        )
    cuts = case.inputs["cuts"]
    return list(zip(answer["steps"].items(len(cuts)), np.cumsum(cuts).tolist()))


def require_stream(answer: Answer, case: Case) -> None:
    """Check that the outputs equal those of the whole sequence, that length and global_positions
    are right after each call, and that the stream keeps no more than it has room for.

    Raises:
        WrongAnswer: names the likely cause.
    """
    stream, name = case.inputs, name_of_stream(case.inputs)
    B, C, dtype, outputs = stream["layer"]["B"], stream["layer"]["n_embd"], stream["dtype"], []
    try:
        for (step, T), count in zip(_steps(answer, case), stream["cuts"]):
            y = step["y"].named(f"what append returns for {count} positions, in {name},")
            outputs.append(y.array(dtype, (B, count, C)))
            if (length := step["length"].named("length").number()) != T:
                raise WrongAnswer(f"length is {length} after {T} positions, in {name}.")
            chosen = [position for position in case.right["global"] if position < T]
            got = step["global"].named(f"global_positions after {T} positions, in {name},")
            require_positions(got, chosen)
        y = thin(np.concatenate(outputs, axis=1)[:, None])
        require_part(
            f"The outputs of {name}, one after another, one number of each position",
            y,
            case,
            "y",
            TOLERANCE,
        )
    except WrongAnswer as wrong:
        added = [] if answer.value is None else answer["added"].texts()
        if not added or "Likely cause" in wrong.message:
            raise
        raise WrongAnswer(
            f"{wrong.message}\n"
            f"Likely cause: the stream keeps its state on the module ({', '.join(added)}), which "
            "other streams share. Keep it on the stream instead."
        ) from None
    for step, T in _steps(answer, case):
        _require_room(step, T, case)


def _require_room(step, T, case):
    """Check that the tensors kept fit the room and have no autograd history."""
    held, history = step["held"].items(2)
    where = f"after {T} positions, in {name_of_stream(case.inputs)}"
    if history.flag():
        raise WrongAnswer(
            f"The cache's tensors have an autograd history {where}, which keeps everything alive "
            "that they were computed from. Use torch.no_grad()."
        )
    if held.number() > case.about["room"]:
        raise WrongAnswer(
            f"{where[0].upper()}{where[1:]}, the tensors (or arrays, or bytes) of the stream keep "
            f"{held.number():,.0f} bytes alive. {_allowed(case)} A view keeps its whole tensor "
            "alive; clone() what is kept."
        )


def _allowed(case):
    layer, about = case.inputs["layer"], case.about
    return (
        f"Room for R + max_global = {about['slots']} keys and values of {layer['n_embd']} "
        f"numbers ({case.inputs['dtype']}), for each of {layer['B']} sequences, is "
        f"{about['room']:,} bytes."
    )


def require_cache(answer: Answer, case: Case) -> None:
    """Check the stream, and cached_positions and cache_bytes after each call.

    Raises:
        WrongAnswer: names what is wrong.
    """
    require_stream(answer, case)
    stream, steps, R = case.inputs, _steps(answer, case), case.about["ring"]
    kept = masks(case.right["cached"], (len(steps), sum(stream["cuts"])))
    for (step, T), row, least in zip(steps, kept, case.about["least"]):
        expected = np.flatnonzero(row).tolist()
        where = f"after {T} positions, in {name_of_stream(stream)}"
        require_positions(
            step["cached"].named(f"cached_positions() {where},"),
            expected,
            f"\nThese are the last R = {R} positions and the global ones.",
        )
        size = step["bytes"].named(f"cache_bytes() {where}").number()
        if size > case.about["room"]:
            raise WrongAnswer(f"cache_bytes() is {size:,.0f} {where}. {_allowed(case)}")
        width = SIZES[stream["dtype"]]
        if size < least:
            cause = "\nLikely cause: float64 has eight bytes per number, not four (nbytes)."
            cause = "" if width == 4 else cause
            raise WrongAnswer(
                f"cache_bytes() is {size:,.0f} {where}, where {len(expected)} keys "
                f"and values of {stream['layer']['n_embd']} numbers ({width} bytes "
                f"each) are held for each of {stream['layer']['B']} sequences: "
                f"{least:,} bytes at least.{cause}"
            )
