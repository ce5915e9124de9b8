"""Question 6d, basic: global positions, the pattern and its connections; the attention, the module
and the stream.
"""

from autograder import check
from checks.problem6.q6d.limits import require_limits
from checks.problem6.q6d.rows import require_each
from checks.problem6.q6d.sparse_layers import require_layer, run_layers
from checks.problem6.q6d.streams import require_cache, require_stream, run_streams
from checks.problem6.q6d.work import require_little_work


@check("6d-9-basic")
def test_module(student, cases):
    """From a dense module, whose output it reproduces if the pattern covers everything; other
    patterns; rotation, at the dense module's length and for longer sequences; a new module; the
    predictor, whose choice is used if no positions are given; and no dense attention.
    """
    require_each(
        run_layers(student, [case for case in cases if "dense" not in case.about]), require_layer
    )
    require_little_work(student, [case for case in cases if "dense" in case.about])


@check("6d-10-basic")
def test_stream(student, cases):
    """One position at a time, a few, all at once; more declared than become global; with rotation;
    interleaved with another stream.
    """
    require_each(run_streams(student, cases), require_stream)


@check("6d-17-basic")
def test_cache(student, cases):
    """The positions and bytes of the cache after each call; in float64, too."""
    require_each(run_streams(student, cases), require_cache)


@check("6d-20-basic")
def test_module_limits(student, rng, cases):
    """What the module rejects, and where there is no limit."""
    require_limits(student, rng, 3, cases)


@check("6d-21-basic")
def test_stream_limits(student, rng):
    """What the stream rejects, unchanged by it."""
    require_limits(student, rng, 4)
