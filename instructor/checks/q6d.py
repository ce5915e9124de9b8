"""Question 6d, hidden: gradients, work and memory, what a stream keeps, rotation, what is refused."""
import math

from autograder import WrongAnswer, check, probe
from checks.calls import attempt
from checks.patterns import Spec, count, draw_spec, edge_specs
from checks.sparse import draw_case, given, require_gradients, require_output, run_cases
from checks.sparse_layers import draw_layer, layer_of, require_layer, run_layers
from checks.streams import Stream, require_cache, require_stream, run_streams
from checks.work import read_counts, require_no_loop, require_not_dense, require_seen, sparse_work

N, N_EMBD, MEMORY, FLOPS = 75_000, 512, 1.5e9, 3        # the handout's limits
EXPONENT = 1.25         # the handout's is 1.15, up to 75,000; in short texts, more of a row lies beyond the ends


@check("6d-11-hidden")
def test_gradients(student, rng):
    """Over several blocks, at the edges, in both formats; and less work than dense attention."""
    cases = []
    for causal in (False, True):
        for dtype, n in (("float32", int(rng.integers(290, 400))), ("float64", int(rng.integers(150, 200)))):
            spec = draw_spec(rng, causal, n, int(rng.integers(10, 30)))
            upstream = rng.standard_normal((2, 3, n, 5)).astype(dtype)
            cases.append(draw_case(rng, spec, 2, 3, 5, dtype, upstream=upstream))
    cases += [draw_case(rng, spec, 1, 2, 3, "float64", upstream=rng.standard_normal((1, 2, spec.n, 3)))
              for spec in edge_specs(rng)]
    for case, answer in run_cases(student, cases):
        require_output(answer, case)
        require_gradients(answer, case)
    require_not_dense(student, rng)


@check("6d-12-hidden")
def test_work(student, rng):
    """The growth of work and memory; products at 8,192 positions; and the memory at 75,000: that of 8 heads on a short text, and
    what each further position takes for one head, times 8. One head is enough for the rest, and all is counted, not timed."""
    def chosen(n, number):
        return tuple(rng.choice(n, number, replace=False).tolist())

    # Apart from each other, and short enough that most of them lead to somewhere, as in a long text.
    strides = tuple(int(s) for s in (900, 1900, 2900, 3900) + rng.integers(0, 100, 4))
    near, far = int(rng.integers(220, 300)), tuple(int(s) for s in rng.integers(310, 500, 2))
    runs = [(Spec(4096, near, far, True, chosen(4096, 20)), 1, 4, 1 << 28),
            (Spec(16384, near, far, True, chosen(16384, 20)), 1, 4, 1 << 28),
            (Spec(8192, 512, strides, False, chosen(8192, 150)), 1, 64, 1 << 29),
            (Spec(16384, 512, strides, False, chosen(16384, 150)), 1, 64, 1 << 29),
            (Spec(3072, 512, strides, False, chosen(3072, 150)), 8, 64, 1 << 30)]
    answers = student.run(sparse_work, runs=[(spec.data, *rest) for spec, *rest in runs]).items(len(runs))
    counts = []
    for (spec, n_head, head_dim, memory), answer in zip(runs, answers):
        what = f"sparse_attention (heads: {n_head}, of width {head_dim}; {spec})"
        require_no_loop(answer, spec.n, what)
        counts.append(read_counts(answer))
        if answer["stopped"].text():
            raise WrongAnswer(f"{what} takes more than {memory / 1e6:.0f} MB.")
        require_seen(counts[-1], count(spec), n_head * head_dim, what)
    for first, (small, large) in ((0, counts[:2]), (2, counts[2:4])):
        before, after = runs[first][0], runs[first + 1][0]
        for name, what in (("flops", "the FLOPs of its products"), ("elements", "the numbers that it works out"),
                           ("peak", "its memory")):
            exponent = math.log(max(large[name], 1) / max(small[name], 1), after.n / before.n)
            student.note(f"exponent of {name}{', causal' if after.causal else ''}", exponent)
            if exponent > EXPONENT:
                raise WrongAnswer(f"From {before.n:,} to {after.n:,} positions, {what} grow from {small[name]:,.0f} to "
                                  f"{large[name]:,.0f}: with "
                                  f"an exponent of {exponent:.2f}, where {EXPONENT} is allowed here ({after}).")
    spec, n_head, head_dim, _ = runs[2]
    allowed = FLOPS * 4 * head_dim * n_head * count(spec)
    if counts[2]["flops"] > allowed:
        raise WrongAnswer(f"sparse_attention takes {counts[2]['flops']:,.0f} FLOPs for {spec}. {FLOPS} times those of its "
                          f"connections are {allowed:,}.")
    # Queries, keys and values of the layer are there besides.
    each = 8 * (counts[3]["peak"] - counts[2]["peak"]) / 8192 + 3 * N_EMBD * 4
    peak = counts[4]["peak"] + 3 * 3072 * N_EMBD * 4 + each * (N - 3072)
    student.note("GB at 75,000 positions", peak / 1e9)
    if peak > MEMORY:
        raise WrongAnswer(f"With 8 heads of 64, sparse_attention holds {counts[4]['peak'] / 1e6:.0f} MB at 3,072 positions, and "
                          f"the layer {each:,.0f} bytes more for each further one. At 75,000 that makes {peak / 1e9:.2f} GB, where "
                          f"{MEMORY / 1e9} are allowed. Are the weights of all blocks held at once?")


@check("6d-13-hidden")
def test_cache(student, rng):
    """The positions and bytes of the cache after each call: for all kinds of windows and strides, short streams and long."""
    T = int(rng.integers(50, 70))
    window, far = int(rng.integers(3, 7)), int(rng.integers(9, 15))
    streams = []
    for w, strides, B, limit, cuts in ((window, (far, 2), 2, 3, None), (window, (), 1, 5, [1] * T), (0, (far,), 1, 4, None),
                                       (0, (), 2, 3, None), (window, (2, far), 1, 0, [T]),
                                       (far, (window,), 1, 6, [7] * 6 + [T - 42]),
                                       (T + 5, (far,), 1, 2, None), (window, (1,), 1, None, None)):
        streams.append(Stream.draw(rng, draw_layer(rng, Spec(T, w, strides, True), B, 2, 3), cuts, limit, share=0.2))
    for stream, answer in run_streams(student, streams):
        require_stream(answer, stream)
        require_cache(answer, stream)


@probe(uses=(attempt, given, layer_of))
def refusals(layer, rotating, both, x):
    """What is raised for each call that should be refused: [call, what it should be, kinds of the exception or None]; and the
    length and positions of the stream of which one was refused."""
    import torch
    from submission import efficient_attention as student
    x = torch.from_numpy(x)
    T = x.shape[1]
    pattern, causal = student.Pattern(3, (5,)), student.Pattern(3, (5,), True)
    q = torch.randn(1, 2, T, 4)
    module, rotated, both = layer_of(layer)[0], layer_of(rotating)[0], layer_of(both)[0]
    stream = student.StreamingAttention(rotated, 3)
    stream.append(x[:1, :6], [True] + [False] * 5)
    calls = {
        "Pattern(window=-1)": lambda: student.Pattern(window=-1),
        "Pattern(strides=(4, 0))": lambda: student.Pattern(strides=(4, 0)),
        "every_kth(9, 0)": lambda: student.every_kth(9, 0), "every_kth(9, -2)": lambda: student.every_kth(9, -2),
        f"attended_positions(2, {T}, ..., [1, {T}])": lambda: student.attended_positions(2, T, pattern, [1, T]),
        f"attended_positions(2, {T}, ..., [-1])": lambda: student.attended_positions(2, T, causal, [-1]),
        f"count_connections({T}, ..., [{T}])": lambda: student.count_connections(T, causal, [T]),
        f"count_connections({T}, ..., [3, -2])": lambda: student.count_connections(T, pattern, [3, -2]),
        f"sparse_attention of {T} positions with [-1]": lambda: student.sparse_attention(q, q, q, pattern, [-1]),
        f"sparse_attention of {T} positions with [2, {T}]": lambda: student.sparse_attention(q, q, q, causal, [2, T]),
        "SparseSelfAttention(10, 3, ...)": lambda: student.SparseSelfAttention(10, 3, pattern),
        f"a module on {T} positions with [{T}]": lambda: module(x, [T]),
        "a module on two sequences without global positions": lambda: module(torch.cat((x, x))),
        f"a module that rotates, on {T} positions, which are more than max_positions,": lambda: rotated(x[:1], []),
        "StreamingAttention of a module whose pattern is not causal": lambda: student.StreamingAttention(both),
        "append of more positions than max_positions, to a stream that rotates,": lambda: stream.append(x[:1]),
        "append of 3 positions with 2 booleans": lambda: stream.append(x[:1, :3], [True, False]),
        "append of 3 positions with 4 booleans": lambda: stream.append(x[:1, :3], [True, False, False, False]),
        "append of no positions": lambda: stream.append(x[:1, :0], []),
    }
    indices = {f"attended_positions({i}, {T}, ...)": lambda i=i: student.attended_positions(i, T, pattern, [0])
               for i in (T, -1, T + 9)}
    said = []
    for wanted, group in (("ValueError", calls), ("IndexError", indices)):
        for call, function in group.items():
            said.append([call, wanted, attempt(function, True)[1]])
    return {"said": said, "length": stream.length, "cached": stream.cached_positions()}


@check("6d-14-hidden")
def test_rotation_and_refusals(student, rng):
    """A rotating dense module, at its own length, cut short, and stretched; in a stream, too; what is out of range."""
    T = int(rng.integers(22, 30))
    every, causal = Spec(T, T + 2, (), True), draw_spec(rng, True, 40)
    common = {"dense": True, "rope": True}
    plain = draw_layer(rng, Spec(T, 4, (9,)), 1, 2, 4)
    stretched = draw_layer(rng, causal, 2, 2, 6, block_size=13, max_positions=47, **common)
    cases = [draw_layer(rng, every, 2, 3, 4, block_size=T, **common),
             draw_layer(rng, causal, 1, 2, 6, block_size=64, **common),
             draw_layer(rng, draw_spec(rng, False, 40), 2, 2, 4, block_size=64, max_positions=41, **common),
             stretched, draw_layer(rng, every, 1, 2, 6, block_size=T + 3, max_positions=5 * T, **common),
             draw_layer(rng, draw_spec(rng, False, 40), 1, 2, 4, dense=True, block_size=7),
             # without rotation there is no limit
             draw_layer(rng, causal, 1, 2, 4, dense=True, block_size=7, max_positions=9)]
    for case, answer in run_layers(student, cases):
        require_layer(answer, case)
    streams = [Stream.draw(rng, case, max_global=3) for case in (cases[1], stretched, cases[6])]
    for stream, answer in run_streams(student, streams):
        require_stream(answer, stream)

    rotating = draw_layer(rng, Spec(T, 4, (9,), True), 1, 2, 4, block_size=T - 1, **common)
    answer = student.run(refusals, layer=plain.data, both=plain.data, rotating=rotating.data, x=plain.x)
    for said in answer["said"].items():
        call, wanted, kinds = said.items(3)
        if kinds.value is None:
            raise WrongAnswer(f"{call.text()} raises no error; it should raise {wanted.text()}.")
        if wanted.text() not in (names := kinds.texts()):
            raise WrongAnswer(f"{call.text()} should raise {wanted.text()}; it raises {names[0] if names else 'something else'}.")
    if answer["length"].number() != 6 or answer["cached"].value != list(range(6)):
        raise WrongAnswer("A call of append that is refused changes the stream: length and cached_positions() should be what "
                          "they were.")
