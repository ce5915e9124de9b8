"""Running StreamingAttention, what it should give in float64 with NumPy, and what it may keep.

The checks of question 6d share it.
"""
from dataclasses import dataclass, field, replace

import numpy as np

from autograder import Answer, WrongAnswer, probe, require_close
from checks.patterns import connected, require_positions
from checks.sparse import given
from checks.sparse_layers import TOLERANCE, Layer, layer_of


@probe(uses=(given, layer_of))
def streams(cases):
    """For each stream: after each append, its output, length, global_positions, cached_positions() and cache_bytes(); and the
    bytes that the tensors in it really hold on to, and whether one of them has a history."""
    import array
    import copy
    import types
    import numpy as np
    import torch
    from submission.efficient_attention import StreamingAttention

    def held(stream, layer):
        """Bytes of all numbers of floating point that can be reached from a stream, without those of the module: in tensors and
        arrays (also those of which they are views), as raw bytes and one by one."""
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
                waiting += [getattr(thing, name, None) for name in getattr(type(thing), "__slots__", ())]
                if hasattr(thing, "__dict__"):
                    waiting.append(vars(thing))
                if hasattr(thing, "__iter__") and hasattr(thing, "__len__"):
                    waiting += list(thing)
        return sum(storages.values()) + 4 * max(single - 16, 0), history        # a few are no cache

    results = []
    for case in cases:
        layer, _ = layer_of(case["layer"])
        if layer is None:
            results.append(None)
            continue
        stream = StreamingAttention(layer, case["max_global"]) if case["max_global"] is not None else StreamingAttention(layer)
        x, start, steps = torch.from_numpy(case["layer"]["x"].copy()), 0, []
        for count in case["cuts"]:
            flags = case["declared"][start:start + count]
            part = x[:, start:start + count].clone()
            y = stream.append(part, flags) if any(flags) else stream.append(part)
            start += count
            steps.append({"y": y.detach() if isinstance(y, torch.Tensor) else y, "length": stream.length,
                          "global": copy.copy(stream.global_positions),
                          "cached": stream.cached_positions(), "bytes": stream.cache_bytes(), "held": list(held(stream, layer))})
        results.append(steps)
    return results


@dataclass
class Stream:
    """A stream: the module and its x, how the positions are cut into calls, which are declared global."""
    layer: Layer
    cuts: list[int]
    declared: list[bool]
    max_global: int | None = None
    chosen: list[int] = field(default_factory=list)

    @classmethod
    def draw(cls, rng, layer: Layer, cuts: list[int] | None = None, max_global: int | None = None,
             share: float = 0.15) -> "Stream":
        """Random flags, of which not all become global; random cuts if there are none."""
        T = layer.x.shape[1]
        declared = (rng.random(T) < share).tolist()
        if cuts is None:
            cuts = []
            while sum(cuts) < T:
                cuts.append(int(min(rng.choice([1, 2, 3, 8, 25]), T - sum(cuts))))
        chosen = [i for i in range(T) if declared[i]][:200 if max_global is None else max_global]
        return cls(replace(layer, spec=replace(layer.spec, chosen=tuple(chosen))), cuts, declared, max_global, chosen)

    @property
    def data(self) -> dict:
        """For the probe."""
        return {"layer": self.layer.data, "cuts": self.cuts, "declared": self.declared, "max_global": self.max_global}

    @property
    def ring(self) -> int:
        """R: how far back an ordinary position is asked for."""
        return max(self.layer.spec.window, *self.layer.spec.strides, 0)

    def __str__(self):
        cuts = self.cuts if len(set(self.cuts)) > 1 else f"{self.cuts[0]} each"
        limit = 200 if self.max_global is None else self.max_global
        return f"a stream of {sum(self.cuts)} positions in calls of {cuts}, max_global {limit}, {self.layer.spec}"


def run_streams(student, cases: list[Stream]) -> list[tuple[Stream, Answer]]:
    """Run `streams`."""
    return list(zip(cases, student.run(streams, cases=[case.data for case in cases]).items(len(cases))))


def require_stream(answer: Answer, stream: Stream) -> None:
    """The outputs are those of the whole, and length and global_positions are right after each call.

    Raises:
        WrongAnswer: names the likely cause.
    """
    outputs, T = [], 0
    B, _, C = stream.layer.x.shape
    if answer.value is None:
        raise WrongAnswer("SparseSelfAttention should have the parameters of query, key, value, proj and predictor, in their "
                          "shapes.")
    for step, count in zip(answer.items(len(stream.cuts)), stream.cuts):
        outputs.append(step["y"].named(f"what append returns for {count} positions, in {stream},").array("float32",
                                                                                                         (B, count, C)))
        T += count
        if (length := step["length"].named("length").number()) != T:
            raise WrongAnswer(f"length is {length} after {T} positions, in {stream}.")
        chosen = [position for position in stream.chosen if position < T]
        require_positions(step["global"].named(f"global_positions after {T} positions, in {stream},"), chosen)
    layer, spec = stream.layer, stream.layer.spec
    declared = tuple(i for i, flag in enumerate(stream.declared) if flag)
    before = replace(spec, chosen=())
    i, j = np.indices((T, T), sparse=True)
    starts = np.repeat(np.cumsum([0, *stream.cuts[:-1]]), stream.cuts)[:, None]
    ends = np.repeat(np.cumsum(stream.cuts), stream.cuts)[:, None]
    known = np.isin(j, spec.chosen) & (j < starts)
    causes = [
        ("positions that are declared global after max_global others become so, too; they should be ordinary.",
         lambda: layer.expected(connected(replace(spec, chosen=declared)))),
        ("the last positions that are declared global become so; it should be the first.",
         lambda: layer.expected(connected(replace(spec, chosen=declared[-len(spec.chosen):])))),
        ("declared positions do not become global.", lambda: layer.expected(connected(before))),
        ("the new positions of a call do not see each other.",
         lambda: layer.expected(connected(spec) & ((j < starts) | (i == j)))),
        ("the new positions of a call do not see themselves.", lambda: layer.expected(connected(spec) & (i != j))),
        ("the new positions of a call see those that come after them.",
         lambda: layer.expected(connected(replace(spec, causal=False), rows=lambda i, j, _: (i != i) & (j != j)) & (j < ends))),
        ("a global position that is still among the last R counts twice.",
         lambda: layer.expected(twice=np.isin(j, spec.chosen) & (j < starts) & (j >= starts - stream.ring) &
                                ((i - j <= spec.window) | np.isin(i - j, spec.strides)))),
        ("a new global position is global from the next call on; it is for those that follow it in the same call, too.",
         lambda: layer.expected(connected(before) | (known & (j <= i)))),
        ("strides beyond the window are not to be had: the cache forgets too early. It needs the last R = max(window, strides) "
         "positions.", lambda: layer.expected(connected(spec, far=lambda i, j, _: (i != i) & (j != j)))),
        ("global positions are forgotten once they are R positions back.",
         lambda: layer.expected(connected(before) | (np.isin(j, spec.chosen) & (j <= i) & (i - j <= stream.ring)))),
        ("all positions that are held are attended to, whatever their distance.",
         lambda: layer.expected(((i - j <= stream.ring) | np.isin(j, spec.chosen)) & (j <= i))),
        ("each call is a sequence of its own.", lambda: layer.expected(connected(spec) & (j >= starts))),
        ("the window is one too short for what is held: position i - R is attended to by i.",
         lambda: layer.expected(connected(spec) & ((i - j < stream.ring) | np.isin(j, spec.chosen)))),
        *layer.causes()]
    if layer.rope and len(stream.cuts) > 1:
        causes.append(("each call is rotated as if it began at position 0.", lambda: _restarted(stream)))
    require_close(f"The outputs of {stream}, one after another", np.concatenate(outputs, axis=1).astype(float), layer.expected(),
                  TOLERANCE, causes)


def _restarted(stream):
    """The output where each call's rotations begin anew."""
    angles, starts = stream.layer.angles(), np.repeat(np.cumsum([0, *stream.cuts[:-1]]), stream.cuts)
    return stream.layer.expected(angles=angles[np.arange(len(starts)) - starts])


def require_cache(answer: Answer, stream: Stream) -> None:
    """After each call, cached_positions and cache_bytes are right, and no more is held than that.

    Raises:
        WrongAnswer: names what is not.
    """
    T, R, limit = 0, stream.ring, 200 if stream.max_global is None else stream.max_global
    B, _, C = stream.layer.x.shape
    most = 2 * (R + limit) * C * 4 * B
    for step, count in zip(answer.items(len(stream.cuts)), stream.cuts):
        T += count
        chosen = [position for position in stream.chosen if position < T]
        expected = sorted({*range(max(0, T - R), T), *chosen})
        where = f"after {T} positions, in {stream}"
        require_positions(step["cached"].named(f"cached_positions() {where},"), expected,
                          f"\nThese are the last R = {R} positions and the global ones.")
        size, (held, history) = step["bytes"].named(f"cache_bytes() {where}").number(), step["held"].items(2)
        if history.flag():
            raise WrongAnswer(f"The tensors of the cache have a history for gradients {where}, which keeps everything alive that "
                              f"they were computed from. Work under torch.no_grad().")
        if size > most or held.number() > most:
            what = "cache_bytes() is" if size > most else "the tensors (or arrays, or bytes) of the stream hold on to"
            more = "" if size > most else " A view keeps the whole tensor alive that it is part of; clone() what is kept."
            raise WrongAnswer(f"{where[0].upper()}{where[1:]}, {what} {max(size, held.number()):,.0f} bytes. Room for R + "
                              f"max_global = {R + limit} "
                              f"keys and values of {C} numbers, for each of {B} sequences, is {most:,} bytes.{more}")
        least = 2 * len(expected) * C * 4 * B
        if size < least:
            raise WrongAnswer(f"cache_bytes() is {size:,.0f} {where}, where {len(expected)} keys and values of {C} numbers are "
                              f"held for each of {B} sequences: {least:,} bytes at least.")
