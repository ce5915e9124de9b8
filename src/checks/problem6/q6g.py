"""Question 6g, basic: attention across documents; a memory of documents, and questions to it;
gradients, work, and what is refused.
"""

from dataclasses import dataclass, replace

from autograder import Answer, WrongAnswer, check, probe
from checks.problem6.q6d_attention import ATTENTION, LONG
from checks.problem6.q6d_module import draw_layer, made, make_layer
from checks.support.asked import TOLERANCE, Asked, Close
from checks.support.gradients import GRADIENTS, differentiate
from checks.support.unchanged import Unchanged, summarize

PROJECTIONS = 1.25  # times the reference's
DOCUMENTS, LONG_DOCUMENTS = ATTENTION, LONG  # cross_document_attention is judged by these


@probe(uses=(draw_layer, make_layer, differentiate, summarize))
def remembered(layer, lengths, B, n, gradients):
    """Remember random documents, and ask of random states: Memory, ask's results, the arguments
    afterwards, to how many vectors linear maps were applied, and gradients.

    Before and between, the module has remembered others of the same lengths: of each memory,
    nothing may be kept outside it.
    """
    import torch

    from submission.problem6 import efficient_attention as student

    def remember_and_ask(documents, x, others):
        memory = student.remember(module, documents)
        with torch.no_grad():
            student.remember(module, others)
        return memory, student.ask(module, x, memory) if isinstance(memory, tuple) else None

    module, *_ = make_layer(layer)
    drawn = torch.from_numpy(draw_layer(layer, 1, sum(lengths) + B * n)[1][0])
    *documents, x = drawn.to(getattr(torch, layer["dtype"])).split([*lengths, B * n])
    inputs = {f"document {number}": document for number, document in enumerate(documents)}
    inputs = {name: value.clone() for name, value in (inputs | {"x": x.view(B, n, -1)}).items()}
    with torch.no_grad():
        *others, other_x = (-value for value in inputs.values())
        remember_and_ask([2 * other for other in others], other_x, others)
    projected = []
    for linear in (module.query, module.key, module.value, module.proj):
        linear.register_forward_hook(lambda *run: projected.append(run[-1][..., 0].numel()))
    *documents, x = (value.requires_grad_(gradients) for value in inputs.values())
    memory, answer = remember_and_ask(documents, x, others)
    pair = answer if isinstance(answer, (tuple, list)) and len(answer) == 2 else (answer, None)
    parts = {name: getattr(memory, name, memory) for name in ("keys", "values", "lengths")}
    if isinstance(parts["lengths"], tuple):
        parts["lengths"] = tuple(map(int, parts["lengths"]))
    used = {name: each for name, each in module.named_parameters() if "predictor" not in name}
    return {
        **parts,
        "output": pair[0],
        "shares": pair[1],
        "projected": sum(projected),
        "arguments": summarize(inputs),
        **differentiate(pair, inputs | used if gradients else {}),
    }


def written(inputs: dict) -> str:
    """The calls of remember and ask as a student would write them."""
    shape = inputs["B"], inputs["n"], inputs["layer"]["n_embd"]
    return (
        f"ask(attention, x {shape}, remember(attention, documents of {inputs['lengths']} tokens)), "
        f"with attention = {made(inputs['layer'])}"
    )


MEMORY = Asked(
    remembered,
    written,
    {
        "lengths": Close("Memory's lengths in {call}"),
        "keys": Close("Memory's keys in {call}", TOLERANCE),
        "values": Close("Memory's values in {call}", TOLERANCE),
        "output": Close("The output of {call}", TOLERANCE),
        "shares": Close("The shares of {call}", TOLERANCE),
        "arguments": Unchanged(),
        **GRADIENTS,
    },
)


@dataclass(frozen=True)
class Projections:
    """How many vectors the module's linear maps were applied to, in all: few more than the
    reference's.
    """

    def require(self, call: str, got, right) -> None:
        """Raise WrongAnswer if there were many more; see `Asked`."""
        count = Answer(got, "the number of vectors").number()
        if count > PROJECTIONS * right:
            raise WrongAnswer(
                f"{call} applies the linear maps of attention to {count} vectors; {right} should "
                "do. remember applies key and value once to each token; ask uses the keys and "
                "values in memory."
            )


WORK = replace(MEMORY, variant="and its work", reply={"projected": Projections()})


@check("6g-7-basic")
def test_refusals(student, calls):
    """Plain calls are not refused. Each of the others, which do not fit, have an iterator, a list
    that must stay as it is, or large scores, is worth a part of the points.
    """
    wrong, count = [], 0
    for asked in (DOCUMENTS, MEMORY):
        mine = [call for call in calls if call.asked == asked.name]
        # other checks judge what plain calls give
        rules = [replace(asked, reply={}), *[asked] * (len(mine) - 1)]
        replies = student.each(asked.probe, [call.inputs for call in mine])
        faults = [rule.fault(*each) for rule, *each in zip(rules, mine, replies)]
        if faults[0]:
            raise faults[0].failed
        count += len(mine) - 1
        wrong += [fault.explained(call).message for call, fault in zip(mine, faults) if fault]
    if wrong:
        raise WrongAnswer("\n".join(wrong), fraction=1 - len(wrong) / count)
