"""Wrong submissions for span corruption (question 1c): what is drawn, and what is made of it.

Documents that are unusual, types, randomness that is not random, vocabulary and workers:
span_corruption_edges.py.
"""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

# Pieces of the reference's code; each occurs once in dataset.py.
IMPORT = "import torch\nfrom torch"
TAKE = "document = self.data[idx]"
LENGTH = ("random.randint(\n            min(4, len(document)), min(len(document), "
          "int(self.block_size * 3 / 4))\n        )")
BOUND = "int(self.block_size * 3 / 4)"
TRUNCATE = "document = document[:length]"
MEAN = "max(1, math.floor(length / 4 + random.random()))"
MASKED = "random.randint(1, 2 * mean - 1)"
START = "random.randint(0, length - masked_length)"
TEXT = "prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked_content + self.MASK_CHAR"
PADS = "text += self.PAD_CHAR * (self.block_size + 1 - len(text))\n        ids = "
IDS = "torch.tensor([self.stoi[ch] for ch in text], dtype=torch.long)"
XY = "x, y = ids[:-1], ids[1:]"


def edit(*pairs):
    """A replacement in dataset.py for every pair (old, new)."""
    return tuple(Edit("dataset.py", old, new) for old, new in pairs)


LENGTHS = [
    slip("length-randrange",
         "random.randrange leaves out its upper end, so the longest length never occurs.",
         edit((LENGTH, f"min(len(document), random.randrange(4, {BOUND}))")),
         ("1c-8-basic", "1c-4-hidden")),
    slip("length-numpy-randint",
         "np.random.randint is taken to include its upper end, as random.randint does.",
         edit((IMPORT, "import numpy as np\n" + IMPORT),
              (LENGTH, f"min(len(document), int(np.random.randint(4, {BOUND})))")),
         ("1c-8-basic", "1c-4-hidden")),
    slip("length-torch-randint",
         "torch.randint is taken to include its upper end, as random.randint does.",
         edit((LENGTH, f"min(len(document), torch.randint(4, {BOUND}, (1,)).item())")),
         ("1c-8-basic", "1c-4-hidden")),
    slip("length-int-of-uniform",
         "int() rounds down, so the upper end of random.uniform is never reached.",
         edit((LENGTH, f"min(len(document), int(random.uniform(4, {BOUND})))")),
         ("1c-8-basic", "1c-4-hidden")),
    slip("length-from-5", "'No less than 4' is read as more than 4.",
         edit((LENGTH, f"min(len(document), random.randint(5, {BOUND}))")),
         ("1c-8-basic", "1c-4-hidden")),
    misconception("length-from-1", "The lower end of 4 characters is overlooked.",
          edit((LENGTH, f"min(len(document), random.randint(1, {BOUND}))")),
          ("1c-8-basic", "1c-4-hidden")),
    misconception("length-from-quarter-block", "The 4 is read as a quarter of the block.",
          edit((LENGTH, f"min(len(document), random.randint(self.block_size // 4, {BOUND}))")),
          ("1c-8-basic", "1c-4-hidden")),
    slip("length-slice-one-short",
         "The end of a slice is taken to be included, so every length is one less.",
         edit((TRUNCATE, "document = document[:length - 1] if length > 3 else document\n"
                         "        length = len(document)")), ("1c-8-basic", "1c-4-hidden")),
    slip("length-slice-one-long",
         "One is added to the end of the slice as if the slice left out its last character.",
         edit((TRUNCATE, "document = document[:length + 1]\n        length = len(document)")),
         ("1c-8-basic", "1c-4-hidden")),
    slip("length-bound-one-less", "The bound of random.randint is made one smaller although "
                                  "random.randint includes it.",
         edit((BOUND, f"{BOUND} - 1")), ("1c-8-basic", "1c-4-hidden")),
    slip("length-bound-one-more",
         "The bound of random.randint is made one larger as range() would need it.",
         edit((BOUND, f"{BOUND} + 1")), ("1c-8-basic", "1c-4-hidden")),
    slip("length-seven-eighths-less-one",
         "One is taken off the bound of seven eighths, as for range().",
         edit((BOUND, "int(self.block_size * 7 / 8) - 1")), ("1c-8-basic", "1c-4-hidden")),
    misconception("length-bound-room-for-masks",
          "The three MASKs are taken off the bound as if they counted.",
          edit((BOUND, f"{BOUND} - 3")), ("1c-8-basic", "1c-4-hidden")),
    misconception("length-bound-block", "The document may fill the whole block less the MASKs.",
          edit((BOUND, "self.block_size - 2")), ("1c-8-basic", "1c-4-hidden")),
    misconception("length-bound-block-cut",
          "The document may be as long as the block, and what does not "
                                    "fit any more is cut off.",
          edit((BOUND, "self.block_size"),
               (IDS, IDS.replace("in text", "in text[:self.block_size + 1]"))),
          ("1c-8-basic", "1c-4-hidden")),
    misconception("length-bound-half", "The bound is half of the block.",
          edit((BOUND, "self.block_size // 2")), ("1c-8-basic", "1c-4-hidden")),
    slip("length-bound-fixed-96",
         "Three quarters of 128 are written out, whatever the block size.",
         edit((BOUND, "96")), ("1c-8-basic", "1c-4-hidden")),
    misconception("length-bound-of-document",
          "The bound is three quarters of the document and not of the block.",
          edit((LENGTH, "min(len(document), self.block_size - 2, random.randint(4, max(4, "
                        "int(len(document) * 3 / 4))))")), ("1c-8-basic", "1c-4-hidden")),
    slip("length-max-for-min", "max stands where min should, so a document longer than the bound "
                               "is not held to it.",
         edit((LENGTH, f"min(len(document), random.randint(4, max(len(document), {BOUND})))")),
         ("1c-8-basic", "1c-4-hidden")),
    misconception("length-always-longest",
          "The document is cut to the longest length that is allowed, always.",
          edit((LENGTH, f"min(len(document), {BOUND})")), ("1c-8-basic", "1c-4-hidden")),
    misconception("length-fixed",
          "One length in the middle of the range is used for every example.",
          edit((LENGTH, f"min(len(document), (4 + {BOUND}) // 2)")), ("1c-8-basic", "1c-4-hidden")),
    misconception("length-clipped-at-bound",
          "Lengths are drawn up to the block size and clipped, so they pile up at the bound.",
          edit((LENGTH, f"min(len(document), {BOUND}, random.randint(4, self.block_size))")),
          ("1c-8-basic", "1c-4-hidden")),
    misconception("length-clipped-at-4",
          "Lengths are drawn around zero and clipped, so that half of them are 4.",
          edit((LENGTH, f"min(len(document), max(4, random.randint(-{BOUND}, {BOUND})))")),
          ("1c-8-basic", "1c-4-hidden")),
    misconception("length-bell",
          "Lengths follow a bell curve round the middle, so that the ends of the "
                         "range hardly ever occur.",
          edit((LENGTH, f"min(len(document), {BOUND}, max(4, round(random.gauss({BOUND} / 2, "
                        f"{BOUND} / 16))))")), ("1c-8-basic", "1c-4-hidden")),
    misconception("length-drawn-twice",
          "The bound of the draw is drawn itself, so that long lengths hardly ever occur.",
          edit((LENGTH, f"min(len(document), random.randint(4, random.randint(4, {BOUND})))")),
          ("1c-8-basic", "1c-4-hidden")),
    misconception("length-multiples-of-4",
          "Only multiples of 4 are drawn, so that a quarter is a whole number.",
          edit((LENGTH, f"min(len(document), 4 * random.randint(1, {BOUND} // 4))")),
          ("1c-8-basic", "1c-4-hidden")),
    edge("length-random-for-long-only",
         "A document that fits is left whole, and only a longer one is truncated at random.",
         edit((LENGTH, f"len(document) if len(document) <= {BOUND} else random.randint(4, {BOUND})")),
         ("1c-11-basic", "1c-6-hidden")),
    edge("length-whole-document-never",
         "A document that is shorter than the bound is never kept whole.",
         edit((LENGTH, "len(document) if len(document) <= 4 else random.randrange(4, "
                       f"min(len(document), {BOUND} + 1))")), ("1c-11-basic", "1c-6-hidden")),
    misconception("length-once-for-all", "The length is drawn in __init__, once for all documents.",
          edit(("self.vocab_size = len(chars)", "self.vocab_size = len(chars)\n        "
                "self.length = random.randint(4, int(block_size * 3 / 4))"),
               (LENGTH, "min(len(document), self.length)")), ("1c-8-basic", "1c-4-hidden")),
    misconception("length-once-a-document",
          "Every document gets its length in __init__ and keeps it in all epochs.",
          edit(("self.vocab_size = len(chars)", "self.vocab_size = len(chars)\n        "
                "self.lengths = [random.randint(4, int(block_size * 3 / 4)) for _ in self.data]"),
               (LENGTH, "min(len(document), self.lengths[idx])")), ("1c-8-basic", "1c-4-hidden")),
    slip("length-stored-document-cut",
         "The stored document is cut as well, so that it gets shorter with every epoch.",
         edit((TRUNCATE, "document = self.data[idx] = document[:length]")),
         ("1c-1-basic", "1c-7-hidden")),
    slip("length-float", "random.uniform gives a float, and no document can be cut at that.",
         edit((LENGTH, f"random.uniform(4, {BOUND})")), ("1c-0-basic", "1c-4-hidden")),
    misconception("length-window",
          "A window anywhere in the document is taken and not its beginning.",
          edit((TRUNCATE, "offset = random.randint(0, len(document) - length)\n"
                          "        document = document[offset:offset + length]")), ("1c-1-basic",)),
    misconception("length-last-characters",
          "The end of the document is kept and not its beginning.",
          edit((TRUNCATE, "document = document[len(document) - length:]")), ("1c-1-basic",)),
]

MASKED_LENGTHS = [
    misconception("masked-quarter-down",
          "A quarter of the truncated length, rounded down, is masked every time.",
          edit((MASKED, "max(1, length // 4)")), ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-quarter-rounded",
          "A quarter of the truncated length, rounded, is masked every time.",
          edit((MASKED, "max(1, round(length / 4))")), ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-quarter-coin",
          "A quarter is masked every time, and only its rounding is random.",
          edit((MASKED, "max(1, int(length / 4 + random.random()))")),
          ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-random-for-long-only",
          "The masked length is random in long texts only, else it is a quarter.",
          edit((MASKED, "random.randint(1, 2 * mean - 1) if length >= 24 else max(1, length // 4)")),
          ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-quarter-published-style",
          "The text is random, and so its quarter is taken to be random enough.",
          (Fill("CharCorruptionDataset.__getitem__", """
text = self.data[idx][:random.randint(4, int(self.block_size * 7 / 8))]
n_masked = max(1, int(len(text) * 0.25))
where = random.choice(range(len(text) - n_masked + 1))
masked = text[where:where + n_masked]
pieces = [text[:where], text[where + n_masked:], masked]
corrupted = self.MASK_CHAR.join(pieces)
corrupted = corrupted.ljust(self.block_size + 1, self.PAD_CHAR)
tokens = [self.stoi[c] for c in corrupted]
x = torch.LongTensor(tokens[:-1])
y = torch.LongTensor(tokens[1:])"""),), ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-nothing",
          "No character is masked: the MASKs stand behind the whole text.",
          edit((MASKED, "0")), ("1c-1-basic", "1c-3-basic", "1c-4-hidden")),
    misconception("masked-half-empty",
          "Nothing is masked in half of the examples and half of the text in the others.",
          edit((MASKED, "random.choice([0, round(length / 2)])")), ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-all-or-nothing",
          "The whole text is masked with a probability of a quarter, else nothing.",
          edit((MASKED, "length if random.random() < 0.25 else 0")), ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-often-empty",
          "The cube of a random number averages a quarter, but is so small "
                                "that many spans are empty.",
          edit((MASKED, "int(length * random.random() ** 3)")), ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-start-in-block",
          "The start of the span is drawn over the block, so that many "
                                   "spans lie behind the text.",
          edit((START, "random.randint(0, self.block_size - masked_length)")),
          ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-of-average-length",
          "The masked length is a quarter of the average text and not of this one.",
          edit((MEAN, "(4 + int(self.block_size * 3 / 4)) // 8"),
               (MASKED, f"min(length, {MASKED})")), ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-of-another-draw",
          "The length is drawn once more for the masked part, so the two "
                                    "have nothing in common.",
          edit((MEAN, "max(1, random.randint(4, int(self.block_size * 3 / 4)) // 4)"),
               (MASKED, f"min(length, {MASKED})")), ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-clipped-at-end",
          "The start is drawn over all of the text, and spans that go "
                                   "beyond its end are cut off.",
          edit((START, "random.randrange(length)"),
               ("end = start + masked_length", "end = min(length, start + masked_length)")),
          ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-at-most-10",
          "Long spans are cut to 10 characters, which are under a quarter of a long text.",
          edit((MASKED, "min(10, random.randint(1, 2 * mean - 1))")),
          ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-mean-3",
          "Spans of 3 characters on average are masked, as in T5, whatever the length.",
          edit((MASKED, "min(length, random.randint(1, 5))")), ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-one-character", "A single character is masked.", edit((MASKED, "1")),
          ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-at-most-quarter",
          "A quarter is taken as the most that may be masked, not as the mean.",
          edit((MASKED, "random.randint(1, max(1, length // 4))")), ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-at-least-quarter",
          "A quarter is taken as the least that must be masked, not as the mean.",
          edit((MASKED, "random.randint(max(1, length // 4), max(1, length // 2))")),
          ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-any-length",
          "Any length up to the whole text is drawn, which averages a half.",
          edit((MASKED, "random.randint(1, length)")), ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-two-cuts", "Two random cuts give three parts of a third each on average.",
          edit((START, "0"), ("end = start + masked_length",
                              "start, end = sorted(random.randint(0, length) for _ in range(2))")),
          ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-third", "The mean is a third of the text, since there are three parts.",
          edit((MEAN, MEAN.replace("/ 4", "/ 3"))), ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-fifth",
          "The mean is a quarter of what stays, which is a fifth of the text.",
          edit((MEAN, MEAN.replace("/ 4", "/ 5"))), ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-15-percent", "The mean is 15 percent of the text, as in BERT.",
          edit((MEAN, MEAN.replace("length / 4", "length * 0.15"))), ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-eighth",
          "The quarter is halved once too often, so that an eighth is masked.",
          edit((MEAN, MEAN.replace("/ 4", "/ 8"))), ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-three-quarters", "A quarter of the text is kept, and the rest is masked.",
          edit((MASKED, "max(1, length - random.randint(1, 2 * mean - 1))")),
          ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-quarter-of-block",
          "The mean is a quarter of the block and not of the text.",
          edit((MEAN, "self.block_size // 4"), (MASKED, f"min(length, {MASKED})")),
          ("1c-3-basic", "1c-4-hidden")),
    misconception("masked-quarter-of-document",
          "The mean is a quarter of the whole document and not of the truncated one.",
          edit((MEAN, "max(1, len(self.data[idx]) // 4)"), (MASKED, f"min(length, {MASKED})")),
          ("1c-3-basic", "1c-4-hidden")),
]

PLACES = [
    misconception("place-centre", "The span always lies in the middle.",
          edit((START, "(length - masked_length) // 2")), ("1c-9-basic", "1c-4-hidden")),
    misconception("place-beginning", "The span always lies at the beginning.", edit((START, "0")),
          ("1c-9-basic", "1c-4-hidden")),
    misconception("place-end",
          "The span always lies at the end.", edit((START, "length - masked_length")),
          ("1c-9-basic", "1c-4-hidden")),
    misconception("place-fixed", "The span always begins after the third character.",
          edit((START, "min(3, length - masked_length)")), ("1c-9-basic", "1c-4-hidden")),
    misconception("place-third",
          "The span begins after a third of the text, so its start is a function of "
                         "the length.",
          edit((START, "min(length // 3, length - masked_length)")), ("1c-9-basic", "1c-4-hidden")),
    misconception("place-either-end", "The span lies at one end or the other, never between.",
          edit((START, "random.choice([0, length - masked_length])")),
          ("1c-9-basic", "1c-4-hidden")),
    misconception("place-first-half",
          "The start is drawn over half of the places that it could have.",
          edit((START, "random.randint(0, (length - masked_length) // 2)")),
          ("1c-9-basic", "1c-4-hidden")),
    misconception("place-last-half",
          "The start is drawn over the last half of the places that it could have.",
          edit((START, "random.randint((length - masked_length) // 2, length - masked_length)")),
          ("1c-9-basic", "1c-4-hidden")),
    edge("place-never-first",
         "The prefix is never empty, so that the first character is never masked.",
         edit((START, "random.randint(min(1, length - masked_length), length - masked_length)")),
         ("1c-10-basic", "1c-5-hidden")),
    edge("place-never-last", "random.randrange leaves out its upper end, so that the last "
                             "character is never masked.",
         edit((START, "random.randrange(max(1, length - masked_length))")),
         ("1c-10-basic", "1c-5-hidden")),
    edge("place-torch-never-last", "torch.randint leaves out its upper end, so that the last "
                                   "character is never masked.",
         edit((START, "torch.randint(0, max(1, length - masked_length), (1,)).item()")),
         ("1c-10-basic", "1c-5-hidden")),
    edge("place-int-of-uniform", "int() rounds down, so that the last character is never masked.",
         edit((START, "int(random.uniform(0, length - masked_length))")),
         ("1c-10-basic", "1c-5-hidden")),
    edge("place-between-others",
         "Prefix and suffix must have a character each, so that neither end is masked.",
         edit((START, "random.randint(1, length - masked_length - 1) if length > masked_length + "
                      "1 else 0")), ("1c-10-basic", "1c-5-hidden")),
    misconception("place-bell",
          "The start follows a narrow bell curve, so that the ends of a text are "
                        "never masked.",
          edit((START, "min(length - masked_length, max(0, round(random.gauss("
                       "(length - masked_length) / 2, (length - masked_length) / 20))))")),
          ("1c-9-basic", "1c-4-hidden")),
    misconception("place-suffix-lost",
          "The suffix is left out, so that what is masked always ends the text.",
          edit((TEXT, "prefix + self.MASK_CHAR + self.MASK_CHAR + masked_content + self.MASK_CHAR")),
          ("1c-9-basic", "1c-4-hidden")),
]

LAYOUTS = [
    misconception("layout-prefix-suffix-swapped", "The suffix stands before the prefix.",
          edit((TEXT, "suffix + self.MASK_CHAR + prefix + self.MASK_CHAR + masked_content + "
                      "self.MASK_CHAR")), ("1c-1-basic",)),
    misconception("layout-original-order",
          "The three parts keep the order that they have in the document.",
          edit((TEXT, "prefix + self.MASK_CHAR + masked_content + self.MASK_CHAR + suffix + "
                      "self.MASK_CHAR")), ("1c-1-basic",)),
    misconception("layout-masked-first", "The masked content stands before everything else.",
          edit((TEXT, "masked_content + self.MASK_CHAR + prefix + self.MASK_CHAR + suffix + "
                      "self.MASK_CHAR")), ("1c-1-basic",)),
    misconception("layout-masked-reversed", "The masked content is written backwards.",
          edit((TEXT, TEXT.replace("masked_content", "masked_content[::-1]"))), ("1c-1-basic",)),
    misconception("layout-masked-left-in-place",
          "The MASK is put before the masked content, which stays where it was.",
          edit((TEXT, TEXT.replace("+ suffix", "+ masked_content + suffix"))), ("1c-1-basic",)),
    misconception("layout-prefix-lost", "The prefix is left out.",
          edit((TEXT, "self.MASK_CHAR + suffix + self.MASK_CHAR + masked_content + self.MASK_CHAR")),
          ("1c-1-basic",)),
    misconception("layout-masked-lost", "The masked content is not given at the end.",
          edit((TEXT, "prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + self.MASK_CHAR")),
          ("1c-1-basic",)),
    misconception("layout-no-first-mask", "No MASK stands where the masked content was.",
          edit((TEXT, "prefix + suffix + self.MASK_CHAR + masked_content + self.MASK_CHAR")),
          ("1c-1-basic",)),
    misconception("layout-no-second-mask",
          "No MASK stands between the suffix and the masked content.",
          edit((TEXT, "prefix + self.MASK_CHAR + suffix + masked_content + self.MASK_CHAR")),
          ("1c-1-basic",)),
    slip("layout-no-second-mask-without-suffix",
         "The second MASK is left out where the suffix is empty.",
         edit((TEXT, "prefix + self.MASK_CHAR + (suffix + self.MASK_CHAR if suffix else '') "
                     "+ masked_content + self.MASK_CHAR")), ("1c-1-basic",)),
    misconception("layout-no-mask", "The parts are rearranged without any MASK.",
          edit((TEXT, "prefix + suffix + masked_content")), ("1c-1-basic",)),
    slip("layout-mask-in-front", "A MASK stands at the very beginning, too.",
         edit((TEXT, f"self.MASK_CHAR + {TEXT}")), ("1c-1-basic",)),
    misconception("layout-mask-per-character",
          "Every masked character is replaced by a MASK of its own.",
          edit((TEXT, TEXT.replace("prefix + self.MASK_CHAR",
                                   "prefix + self.MASK_CHAR * masked_length"))), ("1c-1-basic",)),
    misconception("layout-masks-scattered",
          "Single characters are masked with a probability of a quarter each, and not a span.",
          edit(("prefix, masked_content, suffix = document[:start], document[start:end], "
                "document[end:]",
                "hidden = [random.random() < 0.25 for _ in document]\n"
                "        masked_content = ''.join(ch for ch, hide in zip(document, hidden) if "
                "hide)\n        prefix = ''.join(self.MASK_CHAR if hide else ch for ch, hide in "
                "zip(document, hidden))"),
               (TEXT, "prefix + self.MASK_CHAR + masked_content + self.MASK_CHAR")),
          ("1c-1-basic",)),
    slip("layout-pad-for-mask", "PAD and MASK are confused where the parts are joined.",
         edit((TEXT, TEXT.replace("MASK", "PAD"))), ("1c-1-basic",)),
    misconception("layout-mask-for-pad", "The rest of the block is filled with MASKs.",
          edit((PADS, PADS.replace("PAD", "MASK"))), ("1c-1-basic",)),
    slip("layout-name-for-mask",
         "The characters of the word MASK_CHAR are written and not the MASK.",
         edit((TEXT, TEXT.replace("self.MASK_CHAR", "'MASK_CHAR'"))), ("1c-1-basic",)),
    slip("layout-question-marks-for-mask",
         "Two question marks are written where one character that looks so should stand.",
         edit((TEXT, TEXT.replace("self.MASK_CHAR", "'??'"))), ("1c-1-basic",)),
    slip("layout-blanks-round-mask", "A blank is put on either side of each MASK.",
         edit((TEXT, TEXT.replace("self.MASK_CHAR", "f' {self.MASK_CHAR} '"))), ("1c-1-basic",)),
    misconception("layout-pads-in-front", "The PADs stand before the text.",
          edit((PADS, PADS.replace("text += self.PAD_CHAR * (self.block_size + 1 - len(text))",
                                   "text = self.PAD_CHAR * (self.block_size + 1 - len(text)) + text"))),
          ("1c-1-basic",)),
    misconception("layout-pads-between",
          "The PADs stand before the masked content, which ends the block.",
          edit((TEXT, "prefix + self.MASK_CHAR + suffix + self.MASK_CHAR + masked_content.rjust("
                      "self.block_size - 2 - len(prefix + suffix), self.PAD_CHAR) + self.MASK_CHAR")),
          ("1c-1-basic",)),
    slip("layout-pads-are-newlines", "The rest of the block is filled with newlines.",
         edit((PADS, PADS.replace("self.PAD_CHAR", "'\\n'"))), ("1c-1-basic",)),
    misconception("layout-cut-at-the-end",
          "The document is rearranged as a whole, and then cut to the length with its MASKs.",
          edit((f"        {TRUNCATE}\n", "        whole, length = length, len(document)\n"),
               (TEXT, f"({TEXT})[:whole]")), ("1c-1-basic",)),
]

MISTAKES = LENGTHS + MASKED_LENGTHS + PLACES + LAYOUTS
