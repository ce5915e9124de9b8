"""Question 1c, basic: span corruption. Of each example, most checks read x alone, so that one mistake costs one check."""
import numpy as np

from autograder import WrongAnswer, check
from checks.spans import MASK, PAD, bounds, draw, random_text, read_examples, take_apart


def corpus(rng, block_size, documents):
    """Documents of various lengths, from 6 characters to twice the block."""
    return "\n".join(random_text(rng, int(n)) for n in rng.integers(6, 2 * block_size, size=documents))


@check("1c-0-basic")
def test_shape(student, rng):
    """dataset[i] is a pair of int64 tensors, both of block_size (or, as in other editions, both of one less)."""
    block_size = int(rng.integers(33, 60))
    answer = student.run(draw, text=corpus(rng, block_size, 12), block_size=block_size, times=20)
    for example in ("odd", "first"):
        if answer[example].value is None and example == "odd":
            continue
        x, y = answer[example].named("dataset[i]").present().items(2)
        x, y = x.named("x").array("int64", (None,)), y.named("y").array("int64", (None,))
        if len(x) != len(y) or len(x) not in (block_size, block_size - 1):
            raise WrongAnswer(f"x and y should have length block_size = {block_size}; they have {len(x)} and {len(y)}.")
    if answer["odd"].value is not None:
        raise WrongAnswer("The length of x and y differs from draw to draw. Pad every example to the same length.")


def complain(example: str, document: str) -> str | None:
    """What is wrong with the arrangement of an example, as characters; None if nothing is."""
    body = example.rstrip(PAD)
    if PAD in body:
        return "PADs stand before or within the text; they belong at the end."
    parts = body.split(MASK)
    if len(parts) == 4 and parts[3]:
        return "there is text after the third MASK, where only PADs belong."
    if len(parts) not in (3, 4):
        return f"there are {len(parts) - 1} MASKs instead of three. Use self.MASK_CHAR: one stands for the whole span."
    prefix, suffix, masked = parts[:3]
    if document.startswith(prefix + masked + suffix):
        return None
    if document.startswith(prefix + suffix + masked) or document.startswith(prefix + masked + suffix[len(masked):]):
        return "what is masked is not the text between prefix and suffix. Cut it out of the middle."
    if document.startswith(prefix + masked[::-1] + suffix):
        return "the masked content is reversed."
    if document.startswith(suffix + masked + prefix):
        return "prefix and suffix have changed places."
    if prefix + masked + suffix in document:
        return "it is a window from within the document. Truncate it: keep its beginning."
    return "prefix + masked content + suffix is not the beginning of the document."


@check("1c-1-basic")
def test_rearrangement(student, rng):
    """prefix + masked content + suffix is the document's beginning, not longer than allowed, and PADs fill the end."""
    block_size = int(rng.integers(33, 60))
    text = corpus(rng, block_size, 20)
    examples = read_examples(student.run(draw, text=text, block_size=block_size, times=15), text, 15)
    longest, longest_elsewhere = bounds(block_size)
    if not ((examples.x >= 0) & (examples.x < len(examples.itos))).all():
        raise WrongAnswer(f"x has tokens from {examples.x.min()} to {examples.x.max()}; the vocabulary has 0 to "
                          f"{len(examples.itos) - 1}. Take them from self.stoi.")
    masks = (examples.x == 1).sum(axis=1)
    if set(masks.tolist()) == {2, 3}:
        raise WrongAnswer("Some examples end with a third MASK, and some don't. Always put one after the masked content.")
    for row, index in enumerate(examples.index):
        document, example = examples.documents[index], examples.text(row)
        problem = complain(example, document)
        length = len(example.replace(PAD, "").replace(MASK, ""))
        if problem is None and length > longest_elsewhere:
            problem = f"{length} characters of the document are left; at most int(block_size * 3/4) = {longest} should be."
        if problem is None and length < min(4, len(document)):
            problem = f"only {length} characters of the document are left; at least 4 should be."
        if problem:
            raise WrongAnswer(f"With block_size = {block_size}: {problem}\n  document: {document}\n  x:        {example}")


@check("1c-2-basic")
def test_shift(student, rng):
    """y[i] is x[i + 1], and y's last character goes on from there."""
    block_size = int(rng.integers(33, 60))
    text = corpus(rng, block_size, 12)
    examples = read_examples(student.run(draw, text=text, block_size=block_size, times=20), text, 20)
    x, y = examples.x, examples.y
    if x.shape == y.shape and (x[:, 1:] == y[:, :-1]).all():
        # y's last one: PAD after text that has ended, else one of the vocabulary.
        ended = (x == 0).any(axis=1)
        if (y[ended, -1] == 0).all() and ((y >= 0) & (y < len(examples.itos))).all():
            return
        raise WrongAnswer("y ends with something else than what follows x: after PADs, there should be another PAD.")
    message = "y should be x moved on by one, y[i] = x[i + 1], so that each position predicts the next character. "
    if x.shape != y.shape:
        message += f"Here they have lengths {x.shape[1]} and {y.shape[1]}."
    elif (x == y).all():
        message += "Here y equals x: it is not shifted."
    elif (y[:, 1:] == x[:, :-1]).all():
        message += "Here it is shifted the wrong way: x[i + 1] = y[i]. Have x and y changed places?"
    elif (x[:, 2:] == y[:, :-2]).all():
        message += "Here it is shifted by two."
    else:
        row, i = (int(n) for n in np.argwhere(x[:, 1:] != y[:, :-1])[0])
        message += f"Here, with x = {examples.text(row)!r}, y[{i}] is {_name(examples, y[row, i])}, and x[{i + 1}] {_name(examples, x[row, i + 1])}."
    raise WrongAnswer(message)


def _name(examples, token):
    return repr(examples.itos[token]) if 0 <= token < len(examples.itos) else f"token {token}"


@check("1c-3-basic")
def test_masked_length(student, rng):
    """A quarter of the truncated length on average, not always the same, and new at every call."""
    block_size, times = 128, 1200
    text = "\n".join(random_text(rng, int(n)) for n in rng.integers(130, 200, size=3))
    examples = read_examples(student.run(draw, text=text, block_size=block_size, times=times), text, times)
    once = len(examples.documents)
    if (examples.x.reshape(times, once, -1) == examples.x[:once]).all():
        raise WrongAnswer("dataset[i] gives the same example at every call. Draw anew each time, and set no seed in "
                          "__getitem__.")
    spans = take_apart(examples)
    if len(np.unique(spans.length)) == 1:
        raise WrongAnswer(f"Documents are always truncated to {spans.length[0]} characters. That length should be random.")
    if len(np.unique(spans.masked)) == 1:
        raise WrongAnswer(f"The masked content always has {spans.masked[0]} characters. Its length should be random.")
    # With the most spread-out sensible lengths (even from 0 to half), the mean of 3600 ratios has a standard deviation of 0.003.
    # Rounding down twice costs 0.017, and the nearest wrong idea, a fifth, lies 0.05 away: 0.033 is over 5 of them from both.
    share = spans.masked.sum() / max(1, spans.length.sum())
    if abs(share - 0.25) > 0.033:
        raise WrongAnswer(f"{share:.1%} of the truncated text is masked, on average over {len(spans.masked)} draws. It "
                          f"should be 25%: the mean of the masked length is a quarter of the truncated length.")
