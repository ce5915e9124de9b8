"""Question 1c, hidden: the distributions of span corruption, short documents, the vocabulary, workers.

Sample sizes are such that a right submission fails one of these checks by chance in under one of a million runs; each
limit says how.
"""
import numpy as np

from autograder import WrongAnswer, check, probe
from checks.q1c import complain
from checks.spans import MASK, PAD, Spans, bounds, draw, random_text, read_examples, take_apart, vocabulary


@check("1c-4-hidden")
def test_truncated_length(student, rng):
    """Every length from 4 to the bound occurs, about as often as the others."""
    block_size, times = int(rng.integers(33, 41)), 2500
    text = "\n".join(random_text(rng, int(n)) for n in rng.integers(block_size + 1, 3 * block_size, size=3))
    examples = read_examples(student.run(draw, text=text, block_size=block_size, times=times), text, times)
    length = take_apart(examples).length
    # Other editions' bound is accepted; which of the two was meant shows in the longest one.
    longest, longest_elsewhere = bounds(block_size)
    bound = longest if length.max() <= longest else longest_elsewhere
    if length.max() > bound or length.min() < 4:
        raise WrongAnswer(f"With block_size = {block_size}, truncated lengths go from {length.min()} to {length.max()}. "
                          f"They should go from 4 to int(block_size * 3/4) = {longest}.")
    counts = np.bincount(length, minlength=bound + 1)[4:bound + 1]
    if np.count_nonzero(counts) == 1:
        raise WrongAnswer(f"The truncated length is always {length[0]}. It should be random.")
    if (counts == 0).any():
        never = [int(n) + 4 for n in np.flatnonzero(counts == 0)]
        cause = (" Likely cause: randint(a, b) includes b in Python's random alone, not in NumPy and torch; randrange(a, b) and "
                 "int(uniform(a, b)) never give b.") if never == [bound] else ""
        raise WrongAnswer(f"With block_size = {block_size}, {len(length)} draws never truncated to {', '.join(map(str, never[:8]))} "
                          f"characters; every length from 4 to int(block_size * 3/4) = {longest} should be possible.{cause}")
    # At least 230 are expected of each. 3/2 of that is 7 standard deviations away; a quarter leaves room for a rounded real
    # number, which reaches both ends half as often (115 expected, over 5 standard deviations away from 58).
    expected = len(length) / len(counts)
    for n, count in enumerate(counts, start=4):
        if not 0.25 * expected <= count <= 1.5 * expected:
            raise WrongAnswer(f"{count} of {len(length)} draws were truncated to {n} characters, where an even spread gives "
                              f"{expected:.0f}. "
                              "Are lengths outside the range cut to its ends, instead of drawn from "
                              "the range.")


@check("1c-5-hidden")
def test_masked_length(student, rng):
    """At every truncated length: random, a quarter on average, hardly ever nothing."""
    block_size, times = 128, 3000
    lengths = [*rng.integers(130, 200, size=2), 20]        # the last one is mostly shorter than the length that is drawn
    text = "\n".join(random_text(rng, int(n)) for n in lengths)
    examples = read_examples(student.run(draw, text=text, block_size=block_size, times=times), text, times)
    every, short = take_apart(examples), np.array([len(document) == 20 for document in examples.documents])[examples.index]
    _require_short(every.length[short], every.masked[short])
    spans = Spans(every.length[~short], every.start[~short], every.masked[~short])
    empty = (spans.masked == 0).mean()
    # randint(0, L // 2) gives 6%; 6000 draws have a standard deviation of 0.3 points there.
    if empty >= 0.1:
        raise WrongAnswer(f"{empty:.0%} of the examples mask nothing. Mask at least one character.")
    if empty > 0:
        student.hint(f"{empty:.1%} of the examples mask nothing: they teach nothing. Mask at least one character.")

    for low in range(12, 100, 8):
        _require_random(spans, low, low + 7)
    for low, high in ((12, 36), (37, 66), (67, 112)):
        here = (spans.length >= low) & (spans.length <= high)
        if here.sum() < 500:
            raise WrongAnswer(f"Truncated lengths from {low} to {high} occur {here.sum()} times in {len(here)} draws, "
                              f"though the block has 128.")
        length, masked = spans.length[here].mean(), spans.masked[here].mean()
        # Three quarters of a character for rounding, and 2% of the length: with lengths even from 0 to half (whose standard
        # deviation is 0.15 of the length), 6 standard deviations of the mean of 1500 draws or more.
        if abs(masked - length / 4) > 0.75 + 0.02 * length:
            raise WrongAnswer(f"Of texts of {low} to {high} characters ({length:.1f} on average), {masked:.1f} are masked "
                              f"on average. It should be a quarter of the truncated length, {length / 4:.1f}.")


def _require_short(length, masked):
    """In a document that is shorter than most lengths that are drawn, a quarter of what there is is masked."""
    # Real numbers rounded down mask nothing in 18% of such draws. 3000 draws have a standard deviation of under 1 point, and
    # their mean masked length one of 0.06.
    if len(masked) and (masked == 0).mean() > 0.3:
        raise WrongAnswer(f"In a document of 20 characters, {(masked == 0).mean():.0%} of the examples mask nothing. Likely cause: the span is chosen in "
                          "the length that was drawn, although the document is shorter.")
    if len(masked) and abs(masked.mean() - length.mean() / 4) > 0.75 + 0.02 * length.mean():
        raise WrongAnswer(f"In a document of 20 characters, {masked.mean():.1f} of {length.mean():.1f} characters are masked on average. It should be a quarter.")


def _require_random(spans, low, high):
    """The masked length is no function of the truncated length, which is from low to high.

    How often is the most frequent masked length drawn, at one truncated length? A function of it, rounded or with a coin for the
    rounding, draws it in three quarters of the cases. Lengths within one of the mean, the least random ones accepted, in a
    third, and some more by the luck of the 60 draws at each length.
    """
    shares, weights = [], []
    for length in range(low, high + 1):
        masked = spans.masked[spans.length == length]
        if len(masked) >= 20:
            shares.append(np.bincount(masked).max() / len(masked))
            weights.append(len(masked))
    if weights and np.average(shares, weights=weights) > 0.6:
        raise WrongAnswer(f"For texts of {low} to {high} characters, the length of the masked content is a function of the "
                          f"truncated length, or nearly "
                          "so. It should be random, with a quarter of the truncated length as its mean.")


@check("1c-6-hidden")
def test_span_position(student, rng):
    """The span starts anywhere, and reaches the first and the last character."""
    block_size, times = 128, 2000
    text = "\n".join(random_text(rng, int(n)) for n in rng.integers(130, 200, size=2))
    examples = read_examples(student.run(draw, text=text, block_size=block_size, times=times), text, times)
    spans = take_apart(examples)
    chosen = (spans.length >= 12) & (spans.masked >= 1) & (spans.masked <= spans.length / 2)
    if chosen.sum() < len(chosen) / 3:
        raise WrongAnswer("Hardly any example masks between one character and half of a text of 12 or more.")
    room, start = (spans.length - spans.masked)[chosen], spans.start[chosen]
    # An even spread puts a fifth into each fifth; 3000 draws stay within 0.05 of it (6 standard deviations).
    fifths = np.histogram(start / room, bins=5, range=(0, 1))[0] / len(start)
    if fifths.min() < 0.1:
        parts = ", ".join(f"{share:.0%}" for share in fifths)
        raise WrongAnswer(f"Spans are not spread over the text. Of their starts, {parts} lie in the first, second, ... "
                          f"fifth of where they could.")
    # Both ends are expected about 90 times. A rounded real number reaches them half as often, 45 times: 18 are 4 standard
    # deviations away from that, and 8 from 90.
    expected = (1 / (room + 1)).sum()
    for name, count in (("first", (start == 0).sum()), ("last", (start == room).sum())):
        if count < expected / 5:
            raise WrongAnswer(f"The {name} character of the truncated document is masked {count} times in {len(start)} "
                              f"draws; about {expected:.0f} were to be "
                              "expected. Every start from 0 to length - masked_length should be possible, both included.")
    _require_free(spans.length[chosen], spans.masked[chosen], start, room)


def _require_free(length, masked, start, room):
    """The start is neither a function of the two lengths nor tied to one of them."""
    draws = {}
    for key, place in zip(zip(length.tolist(), masked.tolist()), start.tolist()):
        draws.setdefault(key, []).append(place)
    pairs = sum(len(places) * (len(places) - 1) // 2 for places in draws.values())
    equal = sum(places.count(place) - 1 for places in draws.values() for place in places) // 2
    # Of over 1000 pairs of draws with both lengths equal, about 4% start at the same place.
    if pairs > 200 and equal > 0.5 * pairs:
        raise WrongAnswer("Spans of one length in texts of one length always start at the same place. Where they start should be random.")
    for name, values in (("the truncated length", length), ("the length of the span", masked / length)):
        # Of two independent numbers, 3000 draws have a correlation within 0.09 (5 standard deviations).
        if np.std(values) > 0 and abs(np.corrcoef(start / room, values)[0, 1]) > 0.3:
            raise WrongAnswer(f"Where the span starts depends on {name}. Draw it on its own.")


@check("1c-7-hidden")
def test_short_documents(student, rng):
    """Documents of 0 to 5 characters, as long as the block, one more or less."""
    block_size, times = int(rng.integers(33, 41)), 300
    longest, longest_elsewhere = bounds(block_size)
    lengths = [1, 2, 3, 4, 5, 6, longest - 1, longest, longest + 1, block_size - 1, block_size, block_size + 1, 2 * block_size]
    documents = [random_text(rng, n) for n in lengths]
    documents.insert(int(rng.integers(len(documents))), "")         # an empty line
    text = "\n".join(documents)
    examples = read_examples(student.run(draw, text=text, block_size=block_size, times=times), text, times)
    if missing := [document for document in documents if document and document not in examples.documents]:
        raise WrongAnswer(f"The document {missing[0]!r} is not in the dataset's list `data`, or was changed there.")
    # x keeps all but the last token. Of the shortest documents nothing is cut off by that.
    lengths_of = {}
    for row, index in enumerate(examples.index):
        document, example = examples.documents[index], examples.text(row)
        problem = complain(example, document)
        length = len(example.replace(PAD, "").replace(MASK, ""))
        if problem is None and not min(4, len(document)) <= length <= min(len(document), longest_elsewhere):
            problem = f"{length} characters are left of {len(document)}."
        if problem:
            raise WrongAnswer(f"With block_size = {block_size}: {problem}\n  document: {document}\n  x:        {example}")
        lengths_of.setdefault(document, set()).add(length)
    # Where truncation slices beyond the document's end, 4 occurs once in 37 draws or more: never in 300 is 3e-4 for one
    # length, so the two of the document of 5 characters are asked for, 5 with a chance of at least 1/2, and of 6 any two.
    for document in (documents[i] for i in range(len(documents)) if len(documents[i]) in (5, 6)):
        if len(lengths_of[document]) < 2 and len(document) == 6:
            raise WrongAnswer(f"A document of 6 characters is always truncated to {lengths_of[document].pop()}. Lengths of "
                              f"4, 5 and 6 should occur.")
        if len(document) not in lengths_of[document]:
            raise WrongAnswer(f"A document of {len(document)} characters never stays whole, though it is short enough.")


@probe
def vocabulary_and_batches(text, block_size, workers):
    """The vocabulary, and an epoch drawn by a DataLoader."""
    import sys
    import torch
    from submission.dataset import CharCorruptionDataset
    dataset = CharCorruptionDataset(text, block_size)
    dataset[0]              # what fails without workers should say so
    workers = workers if sys.platform.startswith("linux") else 0
    context = {"multiprocessing_context": "fork"} if workers else {}
    # As arrays they come through a pipe; tensors would need a socket, which not every sandbox allows.
    loader = torch.utils.data.DataLoader(dataset, batch_size=4, num_workers=workers, **context, collate_fn=lambda examples: [
        part.numpy() for part in torch.utils.data.default_collate(examples)])
    batches = [[torch.from_numpy(x), torch.from_numpy(y)] for x, y in loader]
    refused = []
    for special in dataset.MASK_CHAR, dataset.PAD_CHAR:
        try:
            CharCorruptionDataset(text + special, block_size)
        except Exception:
            refused.append(special)
    return {"refused": refused, "stoi": dict(dataset.stoi), "itos": [dataset.itos[i] for i in range(len(dataset.itos))], "vocab_size": dataset.vocab_size,
            "block_size": dataset.block_size, "documents": list(dataset.data),
            "x": torch.cat([x for x, _ in batches]), "y": torch.cat([y for _, y in batches])}


@check("1c-8-hidden")
def test_vocabulary_and_workers(student, rng):
    """PAD, MASK, then the sorted characters of the data; two workers draw what the main process would."""
    block_size = int(rng.integers(33, 60))
    text = "\n".join([random_text(rng, int(n)) for n in rng.integers(6, 2 * block_size, size=18)] + ["two  blanks"])
    answer = student.run(vocabulary_and_batches, text=text, block_size=block_size, workers=2)
    symbols = vocabulary(text)
    if answer["stoi"].value != {symbol: i for i, symbol in enumerate(symbols)}:
        raise WrongAnswer("stoi should be PAD = 0, MASK = 1, then the sorted characters of the data, the newline included.")
    if answer["itos"].value != symbols:
        raise WrongAnswer("itos should be the inverse of stoi.")
    if (answer["vocab_size"].number(), answer["block_size"].number()) != (len(symbols), block_size):
        raise WrongAnswer(f"vocab_size and block_size should be {len(symbols)} and {block_size}; they are "
                          f"{answer['vocab_size'].describe()} and {answer['block_size'].describe()}.")
    if answer["refused"].texts() != [MASK, PAD]:
        raise WrongAnswer("Data that contains MASK or PAD should be refused with an error.")
    documents = answer["documents"].texts()
    if [document for document in documents if document] != text.split("\n"):
        raise WrongAnswer("The list `data` should have the lines of the text as they are.")
    x = answer["x"].array("int64", (len(documents), None))
    y = answer["y"].array("int64", x.shape)
    if not ((x >= 0) & (x < len(symbols))).all() or not (x[:, 1:] == y[:, :-1]).all():
        raise WrongAnswer("What the workers of a DataLoader drew is not x and y, moved on by one.")
    for document, row in zip(documents, x):
        if problem := complain("".join(symbols[i] for i in row), document):
            raise WrongAnswer(f"In an example drawn by the workers of a DataLoader, {problem}")
