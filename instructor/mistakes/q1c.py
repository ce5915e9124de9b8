"""Wrong span corruption (question 1c)."""
from functools import partial

from instructor.mistakes.patches import Fill, edge, edits, misconception, slip

# Pieces of the reference's code; each occurs once in dataset.py.
IMPORT = "import torch\nfrom torch"
DOCUMENTS = 'self.data = [document for document in data.split("\\n") if document]'
CHARS = "chars = [self.PAD_CHAR, self.MASK_CHAR] + sorted(set(data))"
ITOS = "self.itos = {i: ch for i, ch in enumerate(chars)}"
# The first method of CharCorruptionDataset after __init__: NameDataset has the same lines, so its
# neighbor goes with it.
LEN = "self.block_size = block_size\n\n    def __len__(self) -> int:\n        return len(self.data)"
GETITEM = ('def __getitem__(self, idx: int) -> tuple[torch.Tensor, torch.Tensor]:\n'
           '        """Return one document')
VOCAB_SIZE = "self.vocab_size = len(chars)"
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
END = "### END_CODE_HERE ###\n        return x, y"
ROOM = "length - masked_length"  # the last start at which the span fits

# The checks that see a mistake in what they are about.
SHAPE, ARRANGED, SHIFTED = ("1c-0-basic",), ("1c-1-basic",), ("1c-2-basic",)
TRUNCATED, SPANS = ("1c-8-basic", "1c-4-hidden"), ("1c-3-basic", "1c-4-hidden")
STARTS, ENDS = ("1c-9-basic", "1c-4-hidden"), ("1c-10-basic", "1c-5-hidden")
SHORT, EPOCH = ("1c-11-basic", "1c-6-hidden"), ("1c-12-basic", "1c-7-hidden")

edit = partial(edits, "dataset.py")


def fill(code):
    """All of __getitem__."""
    return (Fill("CharCorruptionDataset.__getitem__", code),)


NOTHING = [  # no points for them: tests/checks/test_proof.py
    misconception("noop-identity", "The document is padded and returned as it is.", fill("""
text = self.data[idx].ljust(self.block_size + 1, self.PAD_CHAR)[:self.block_size + 1]
ids = torch.tensor([self.stoi[ch] for ch in text])
x, y = ids[:-1], ids[1:]"""), SHAPE + SHIFTED),
]

LENGTHS = [
    slip("length-numpy-randint",
         "np.random.randint is taken to include its upper end, as random.randint does.",
         edit((IMPORT, "import numpy as np\n" + IMPORT),
              (LENGTH, f"min(len(document), int(np.random.randint(4, {BOUND})))")), TRUNCATED),
    slip("length-bound-rounded", "Three quarters of the block are rounded, not rounded down.",
         edit((BOUND, "round(self.block_size * 3 / 4)")), ("1c-8-basic",)),
    slip("length-from-5", "'No less than 4' is read as more than 4.",
         edit((LENGTH, f"min(len(document), random.randint(5, {BOUND}))")), TRUNCATED),
    slip("length-bound-fixed-96", "Three quarters of 128 are written out, whatever the block size.",
         edit((BOUND, "96")), TRUNCATED),
    misconception("length-multiples-of-4",
         "Only multiples of 4 are drawn, so that a quarter is a whole number.",
         edit((LENGTH, f"min(len(document), 4 * random.randint(1, {BOUND} // 4))")), TRUNCATED),
    misconception("length-once-for-all", "The length is drawn in __init__, once for all documents.",
         edit((VOCAB_SIZE, f"{VOCAB_SIZE}\n        self.length = random.randint(4, "
                           "int(block_size * 3 / 4))"),
              (LENGTH, "min(len(document), self.length)")), TRUNCATED),
    slip("length-stored-document-cut",
         "The stored document is cut as well, so that it gets shorter with every epoch.",
         edit((TRUNCATE, "document = self.data[idx] = document[:length]")),
         ("1c-1-basic", "1c-7-hidden")),
    misconception("length-window",
         "A window anywhere in the document is taken and not its beginning.",
         edit((TRUNCATE, "offset = random.randint(0, len(document) - length)\n"
                         "        document = document[offset:offset + length]")), ARRANGED),
    edge("length-random-for-long-only",
         "A document that fits is left whole, and only a longer one is truncated at random.",
         edit((LENGTH, f"len(document) if len(document) <= {BOUND} else "
                       f"random.randint(4, {BOUND})")),
         SHORT),
    edge("spaces-stripped-from-documents", "Spaces at the end of a document are stripped.",
         edit((TAKE, f"{TAKE}.rstrip()")), SHORT),
]

MASKED_LENGTHS = [
    misconception("masked-quarter-coin",
         "A quarter is masked every time, and only its rounding is random.",
         edit((MASKED, "max(1, int(length / 4 + random.random()))")), SPANS),
    misconception("masked-random-for-long-only",
         "The masked length is random in long texts only, else it is a quarter.",
         edit((MASKED, f"{MASKED} if length >= 24 else max(1, length // 4)")), SPANS),
    misconception("masked-nothing",
         "No character is masked: the MASKs stand behind the whole text.", edit((MASKED, "0")),
         ARRANGED + SPANS),
    misconception("masked-clipped-at-end",
         "The start is drawn over all of the text, and spans that go beyond its end are cut off.",
         edit((START, "random.randrange(length)"),
              ("end = start + masked_length", "end = min(length, start + masked_length)")), SPANS),
    misconception("masked-at-most-quarter",
         "A quarter is taken as the most that may be masked, not as the mean.",
         edit((MASKED, "random.randint(1, max(1, length // 4))")), SPANS),
    misconception("masked-fifth",
         "The mean is a quarter of what stays, which is a fifth of the text.",
         edit((MEAN, MEAN.replace("/ 4", "/ 5"))), SPANS),
    edge("short-mean-2",
         "In texts of 5 to 12 characters, 2 are masked on average, whatever the length.",
         edit((MASKED, f"random.randint(1, 3) if 5 <= length <= 12 else {MASKED}")), SHORT),
    edge("short-narrow-normal",
         "In texts of under 12 characters a rounded normal number hardly ever leaves the mean.",
         edit((MASKED, f"{MASKED} if length >= 12 else max(1, round(random.gauss(length / 4, "
                       "length / 32)))")), SHORT),
    edge("short-nothing-masked", "In a document of under 4 characters nothing is masked.",
         edit((MASKED, f"{MASKED} if length > 3 else 0")), SHORT),
    edge("span-in-drawn-length",
         "The span is chosen in the length that was drawn, although the document may be shorter.",
         edit((LENGTH, f"random.randint(4, {BOUND})")), SHORT),
]

PLACES = [
    misconception("place-middle-half",
         "The start is drawn from the middle half of the places only.",
         edit((START, f"random.randint(({ROOM}) // 4, 3 * ({ROOM}) // 4)")), STARTS),
    misconception("place-modulo",
         "The start is drawn over the whole text, modulo the number of possible starts.",
         edit((START, f"random.randrange(length) % ({ROOM} + 1)")), STARTS),
    misconception("place-every-second", "The span starts at every second character only.",
         edit((START, f"2 * random.randint(0, ({ROOM}) // 2)")), STARTS),
    misconception("place-at-words", "The span starts where a word starts.",
         edit((START, f"random.choice([i for i in range({ROOM} + 1) if i == 0 or "
                      "document[i - 1] == ' '])")), STARTS),
    misconception("place-tied-to-masked",
         "One random number decides both how long the span is and where it starts.",
         edit((MASKED, "1 + int((share := random.random()) * (2 * mean - 1))"),
              (START, f"int(share * ({ROOM} + 1))")), STARTS),
    misconception("place-function-of-both",
         "The start is computed from the two lengths, and only looks random.",
         edit((START, f"(length * 7) % ({ROOM} + 1)")), STARTS),
    misconception("place-suffix-lost",
         "The suffix is left out, so that what is masked always ends the text.",
         edit((TEXT, TEXT.replace("suffix + ", ""))), STARTS),
    edge("place-never-first",
         "The prefix is never empty, so that the first character is never masked.",
         edit((START, f"random.randint(min(1, {ROOM}), {ROOM})")), ENDS),
    edge("place-never-last",
         "random.randrange leaves out its upper end, so that the last character is never masked.",
         edit((START, f"random.randrange(max(1, {ROOM}))")), ENDS),
]

LAYOUTS = [
    misconception("layout-prefix-suffix-swapped", "The suffix stands before the prefix.",
         edit((TEXT, "suffix + self.MASK_CHAR + prefix + self.MASK_CHAR + masked_content + "
                     "self.MASK_CHAR")), ARRANGED),
    misconception("layout-no-second-mask",
         "No MASK stands between the suffix and the masked content.",
         edit((TEXT, TEXT.replace("suffix + self.MASK_CHAR", "suffix"))), ARRANGED),
    slip("layout-no-second-mask-without-suffix",
         "The second MASK is left out where the suffix is empty.",
         edit((TEXT, "prefix + self.MASK_CHAR + (suffix + self.MASK_CHAR if suffix else '') "
                     "+ masked_content + self.MASK_CHAR")), ARRANGED),
    misconception("layout-pads-in-front", "The PADs stand before the text.",
         edit((PADS, "text = self.PAD_CHAR * (self.block_size + 1 - len(text)) + text\n"
                     "        ids = ")), ARRANGED),
    misconception("layout-cut-at-the-end",
         "The document is rearranged as a whole, and then cut to the length with its MASKs.",
         edit((f"        {TRUNCATE}\n", "        whole, length = length, len(document)\n"),
              (TEXT, f"({TEXT})[:whole]")), ARRANGED),
]

SHIFTS = [
    misconception("y-not-shifted",
         "y is the same as x, so the model learns to repeat what it has just read.",
         edit((XY, "x, y = ids[:-1], ids[:-1]")), SHIFTED),
    slip("y-and-x-swapped", "x and y are swapped.", edit((XY, "y, x = ids[:-1], ids[1:]")),
         SHIFTED),
    slip("y-rolled", "y is x rolled by one: its last target is the first character of the text.",
         edit((XY, "x = ids[:-1]\n        y = torch.roll(x, -1)")), SHIFTED),
    misconception("y-pad-under-prefix",
         "The targets under the prefix are PAD, as NameDataset does it under the question.",
         edit((XY, f"{XY.replace('ids[1:]', 'ids[1:].clone()')}\n        y[:start] = 0")), SHIFTED),
    misconception("y-ignore-index",
         "The targets of PADs are -100, which torch ignores by default but this model does not.",
         edit((XY, f"{XY}\n        y = y.masked_fill(y == 0, -100)")), SHIFTED),
    misconception("y-of-another-draw",
         "x and y are drawn separately, so they belong to two different corruptions.",
         edit((GETITEM, "def __getitem__(self, idx):\n"
                        "        return self.corrupt(idx)[0], self.corrupt(idx)[1]\n\n    "
                        + GETITEM.replace("__getitem__", "corrupt"))), SHIFTED),
]

TYPES = [
    slip("type-int32", "The tokens are int32, which an embedding takes but the loss does not.",
         edit((IDS, IDS.replace("torch.long", "torch.int32"))), SHAPE),
    misconception("type-code-points", "ord gives the tokens and not the dataset's vocabulary.",
         edit((IDS, "torch.tensor([ord(ch) for ch in text])")), ARRANGED),
    slip("type-stacked",
         "x and y are the rows of one tensor, which a DataLoader's batches do not keep apart.",
         edit((END, END.replace("x, y", "torch.stack((x, y))"))), EPOCH),
    misconception("type-no-pads",
         "The PADs are left out, so that every example has its own length.", edit((PADS, "ids = ")),
         SHAPE),
    slip("type-fixed-129", "The length of 129 is written out, whatever the block size.",
         edit((PADS, PADS.replace("self.block_size + 1", "129"))), SHAPE),
]

REPEATS = [
    misconception("repeat-cache",
         "An example is drawn once and kept, so that every epoch shows the same corruption.",
         edit(("import argparse\n", "import argparse\nimport functools\n"),
              (GETITEM, f"@functools.lru_cache(maxsize=None)\n    {GETITEM}")), SPANS),
    slip("repeat-private-generator",
         "A generator of one's own gets a fixed seed, so that every run draws the same.",
         edit((TAKE, "if not hasattr(self, 'dice'):\n            self.dice = random.Random(224)\n"
                     f"        {TAKE}"),
              *((old, old.replace("random.rand", "self.dice.rand"))
                for old in (LENGTH, MEAN, MASKED, START))),
         ("1c-3-basic",)),
]

DOCUMENTS_AND_VOCABULARY = [
    edge("short-crash-randint-4",
         "random.randint(4, n) fails where a document has n < 4 characters.",
         edit((LENGTH, f"random.randint(4, min(len(document), {BOUND}))")), SHORT),
    edge("short-crash-one-character",
         "One character must stay unmasked, which fails for a document of one character.",
         edit((MASKED, "random.randint(1, min(2 * mean - 1, length - 1))")), SHORT),
    edge("empty-lines-crash", "Empty lines become documents, and there is nothing in them to mask.",
         edit((DOCUMENTS, 'self.data = data.split("\\n")')), SHORT),
    misconception("long-refused", "A document that is longer than the block is an error.",
         edit((TAKE, f"{TAKE}\n        assert len(document) <= self.block_size, 'document "
                     "too long'")), ("1c-0-basic", "1c-8-basic")),
    slip("vocabulary-unsorted",
         "The characters come in the order of a set, which differs from run to run.",
         edit((CHARS, CHARS.replace("sorted", "list"))), EPOCH),
    slip("vocabulary-mask-0", "MASK is 0 and PAD is 1, so that the loss ignores the wrong one.",
         edit((CHARS, CHARS.replace("self.PAD_CHAR, self.MASK_CHAR",
                                    "self.MASK_CHAR, self.PAD_CHAR"))), EPOCH),
    slip("vocabulary-itos-without-specials",
         "itos leaves out PAD and MASK, and so is two off from stoi.",
         edit((ITOS, "self.itos = dict(enumerate(chars[2:]))")), EPOCH),
    slip("vocabulary-special-accepted", "Data that contains MASK or PAD is no longer refused.",
         edit(("if special in data:", "if special == data:")), EPOCH),
    slip("dataset-len-one-less",
         "len gives the last index, so that the last document is never drawn.",
         edit((LEN, LEN.replace("len(self.data)", "len(self.data) - 1"))), EPOCH),
    misconception("worker-shares-the-documents",
         "A worker picks its own share of the documents, which the DataLoader does for it.",
         edit((TAKE, "worker = torch.utils.data.get_worker_info()\n"
                     "        share = self.data if worker is None else "
                     "self.data[worker.id::worker.num_workers]\n        document = share[idx]")),
         EPOCH),
]

MISTAKES = (NOTHING + LENGTHS + MASKED_LENGTHS + PLACES + LAYOUTS + SHIFTS + TYPES + REPEATS
            + DOCUMENTS_AND_VOCABULARY)

# Misconceptions that cost less than a quarter of the points, and why.
EXCEPTIONS = {
    "worker-shares-the-documents": "A wrong idea of a DataLoader's workers and not of span "
                                   "corruption.",
}
