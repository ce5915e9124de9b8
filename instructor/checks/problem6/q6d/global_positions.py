"""Cases of every_kth, section_headers and predicted_globals."""

import numpy as np

from checks.support.cases import Case

MATCH = "the expression must match the whole token, as with re.fullmatch."


def _case(function, args, call, right, wrong=()):
    known = [(sentence, positions) for sentence, positions in wrong if positions != right]
    return Case({"function": function, "args": args}, right, known, {"call": call})


def kth_case(n: int, k: int) -> Case:
    """Make a case of every_kth."""
    return _case(
        "every_kth",
        [n, k],
        f"every_kth({n}, {k})",
        list(range(0, n, k)),
        [
            ("the first position is 0.", list(range(k, n, k))),
            ("n itself is not a position.", list(range(0, n + 1, k))),
            ("there are k positions; it should be every k-th.", list(range(0, n, max(1, n // k)))),
        ],
    )


def headers_case(rng) -> list[Case]:
    """Make cases of section_headers: tokens like headers, with the default expression; and
    others.
    """
    tokens = [
        "Name:",
        "HISTORY:",
        "of",
        "PAST ILLNESSES:",
        "ALLERGIES",
        ":",
        "see ALLERGIES:",
        "ALLERGIES: none",
        "A:",
        " PLAN:",
        "PLAN:\n",
        "MG2:",
        "",
        "ÄTZUNG:",
    ]
    tokens = [tokens[i] for i in rng.permutation(len(tokens))]
    words = [("H" if flag else "x") + str(i) for i, flag in enumerate(rng.random(12) < 0.5)]
    calls = [
        (
            [tokens],
            [i for i, token in enumerate(tokens) if token in ("HISTORY:", "PAST ILLNESSES:", "A:")],
            [
                i
                for i, token in enumerate(tokens)
                if token in ("HISTORY:", "PAST ILLNESSES:", "A:", "PLAN:\n")
            ],
        ),
        (
            [words, r"H\d"],
            [i for i, word in enumerate(words) if word[0] == "H" and len(word) == 2],
            [i for i, word in enumerate(words) if word[0] == "H"],
        ),
        ([[]], [], []),
        ([words, "h"], [], []),
        ([["ab", "a", "abc"], "a|ab"], [0, 1], [0, 1, 2]),
    ]
    cases = []
    for args, right, loose in calls:
        call = f"section_headers({', '.join(map(repr, args))})"
        found = "\n" in "".join(args[0])
        wrong = (
            [("a $ at the end also matches before a line break; re.fullmatch does not.", loose)]
            if found
            else [(MATCH, loose)]
        )
        if found:
            begin = ("HISTORY:", "PAST ILLNESSES:", "A:", "PLAN:\n", "ALLERGIES: none")
            wrong += [
                (MATCH, [i for i, token in enumerate(tokens) if token in some])
                for some in (
                    begin,
                    (*begin, "see ALLERGIES:", " PLAN:"),
                    (*begin, "see ALLERGIES:", " PLAN:", "ÄTZUNG:"),
                )
            ]
            wrong.append(
                (
                    "the tokens are returned; it should be their positions.",
                    [tokens[i] for i in right],
                )
            )
        cases.append(_case("section_headers", args, call, right, wrong))
    return cases


def predicted_case(scores: np.ndarray, limit: int | None) -> Case:
    """Make a case of predicted_globals."""
    args = [scores] if limit is None else [scores, limit]
    what = f"limit={limit}" if limit is not None else "the default limit, 200"
    call = (
        f"predicted_globals for {len(scores)} scores, {(scores > 0).sum()} of them above 0, "
        f"and {what},"
    )
    wrong = []
    if len(scores) < 100:
        late = len(scores) - 1 - np.argsort(-scores[::-1], kind="stable")
        wrong = [
            (
                "of equal scores, the earlier positions are taken.",
                _predicted(scores, limit, order=late),
            ),
            (
                "the first positions are taken; it should be those with the highest scores.",
                _predicted(scores, limit, order=np.arange(len(scores))),
            ),
            (
                "the lowest scores are taken.",
                _predicted(scores, limit, order=np.argsort(scores, kind="stable")),
            ),
            ("a score of 0 is not above 0.", _predicted(scores, limit, above=-1e-9)),
            ("the limit is ignored.", _predicted(scores, len(scores))),
            (
                "positions with scores below 0 are taken, too.",
                _predicted(scores, limit, above=-np.inf),
            ),
        ]
    return _case("predicted_globals", args, call, _predicted(scores, limit), wrong)


def _predicted(scores, limit, above=0.0, order=None):
    """Return the right result of predicted_globals; `above` and `order` are for mistakes."""
    order = np.argsort(-scores, kind="stable") if order is None else order
    return sorted([int(i) for i in order if scores[i] > above][: 200 if limit is None else limit])
