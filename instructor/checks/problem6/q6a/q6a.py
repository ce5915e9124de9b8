"""Question 6a, hidden: every function at other sizes, by position and by name."""

from autograder import check
from checks.problem6.q6a.accounting import Call, account
from checks.problem6.q6a.q6a import SIZES
from checks.support.calls import require_right
from instructor.checks.problem6.q6a.cases import by_name, by_position, draw_odd_sizes


@check("6a-4-hidden")
def test_any_sizes(student, rng):
    """Odd sizes, one head, heads of width 1, with every option."""
    small, other = draw_odd_sizes(rng), draw_odd_sizes(rng)
    one_head = {**draw_odd_sizes(rng), "n_head": 1}
    narrow = {**draw_odd_sizes(rng), "d_model": small["n_head"], "n_head": small["n_head"]}
    cases = [by_position(sizes, name) for sizes in (small, one_head, narrow) for name in SIZES]
    cases += [by_name(other, name) for name in SIZES]
    for bias, learned, tied in ((False, True, True), (True, False, False), (False, False, True)):
        options = {"bias": bias, "learned_positions": learned, "tied": tied}
        cases += [by_position(sizes, "model_parameters", **options) for sizes in (small, other)]
    for dtype in ("int8", "float32", "bfloat16"):
        options = {"n_kv_head": 1, "dtype": dtype, "batch": int(rng.integers(2, 9))}
        cases += [by_position(sizes, "kv_cache_bytes", **options) for sizes in (small, other)]
    require_right(student, account, [Call(case) for case in cases])
