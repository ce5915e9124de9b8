"""Question 6e, hidden: generate, with models whose logits are known; each draw is judged."""

import itertools

from autograder import check
from checks.problem6.q6e.generation import judge_generate, judge_random_numbers
from checks.problem6.q6e.runs import rare_cases
from instructor.checks.problem6.q6e.generation import draw_model, generate_case


@check("6e-8-hidden")
def test_generate(student, rng):
    """Each option alone and several together, prompts and texts longer than the model's context;
    then the generator; then options out of range.
    """
    V, size = int(rng.integers(8, 12)), int(rng.integers(5, 8))

    def number(low, high):
        return float(rng.uniform(low, high))

    def case(prompt=3, steps=14, **options):
        return generate_case(
            rng, draw_model(rng, V, size), prompt, steps, seed=int(rng.integers(1 << 30)), **options
        )

    cases = [
        case(),
        case(prompt=size + 4),
        case(prompt=1, steps=0),
        case(temperature=number(0.4, 0.8)),
        case(top_k=3),
        case(top_k=1),
        case(top_p=number(0.5, 0.8)),
        case(penalty=number(1.5, 3)),
        case(prompt=size + 3, ngram=2),
        case(ngram=3, steps=25),
    ]
    together = {
        "penalty": lambda: number(2, 4),
        "ngram": lambda: 2,
        "temperature": lambda: number(1.5, 3),
        "top_k": lambda: 4,
        "top_p": lambda: number(0.5, 0.7),
    }
    cases += [
        case(prompt=size + 2, **{name: together[name]() for name in pair})
        for pair in itertools.combinations(together, 2)
    ]
    cases += [
        case(prompt=prompt, **{name: draw() for name, draw in together.items()})
        for prompt in (1, size, size + 5)
    ]
    judge_generate(student, cases)

    judge_random_numbers(student, case(steps=40, temperature=1.2, followed=False))
    with rare_cases():
        judge_generate(
            student,
            [
                case(top_k=V + 3, top_p=1.0),
                case(prompt=size + 4, ngram=1),
                *(
                    case(refused=True, **{name: value})
                    for name, value in (
                        ("temperature", 0.0),
                        ("temperature", -1.0),
                        ("top_k", 0),
                        ("top_p", 0.0),
                        ("top_p", 1.5),
                        ("penalty", 0.5),
                        ("ngram", 0),
                    )
                ),
            ],
        )
