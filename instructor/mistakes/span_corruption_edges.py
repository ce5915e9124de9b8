"""Wrong submissions for span corruption (question 1c): what is returned and from which document.

x and y, their types, draws that repeat themselves, unusual documents, the vocabulary, workers.
"""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip
from instructor.mistakes.span_corruption import (
    BOUND,
    IDS,
    IMPORT,
    LENGTH,
    MASKED,
    MEAN,
    PADS,
    START,
    TAKE,
    XY,
    edit,
)

DOCUMENTS = 'self.data = [document for document in data.split("\\n") if document]'
CHARS = "chars = [self.PAD_CHAR, self.MASK_CHAR] + sorted(set(data))"
ITOS = "self.itos = {i: ch for i, ch in enumerate(chars)}"
VOCAB_SIZE = "self.vocab_size = len(chars)"
# The first method of CharCorruptionDataset after __init__: NameDataset has the same lines, so its
# neighbor goes with it.
LEN = "self.block_size = block_size\n\n    def __len__(self) -> int:\n        return len(self.data)"
GETITEM = 'def __getitem__(self, idx: int) -> tuple[torch.Tensor, torch.Tensor]:\n        """Return one document'
END = "### END_CODE_HERE ###\n        return x, y"

SHIFTS = [
    misconception("y-not-shifted",
          "y is the same as x, so the model learns to repeat what it has just read.",
          edit((XY, "x, y = ids[:-1], ids[:-1]")), ("1c-2-basic",)),
    misconception("y-not-shifted-clone", "y is a copy of x, and it is never shifted.",
          edit((XY, "x = ids[:-1]\n        y = x.clone()")), ("1c-2-basic",)),
    slip("y-shifted-by-two", "y is shifted by two characters.",
         edit((PADS, PADS.replace("+ 1", "+ 2")), (XY, "x, y = ids[:-2], ids[2:]")),
         ("1c-2-basic",)),
    misconception("y-shifted-back", "y is moved the other way, so that y is what comes before x.",
          edit((XY, "x = ids[:-1]\n        y = torch.cat((torch.zeros(1, dtype=torch.long), "
                    "x[:-1]))")), ("1c-2-basic",)),
    slip("y-and-x-swapped", "x and y are swapped.", edit((XY, "y, x = ids[:-1], ids[1:]")),
         ("1c-2-basic",)),
    slip("y-rolled", "y is x rolled by one, so that its last target is the first character of the "
                     "text.",
         edit((XY, "x = ids[:-1]\n        y = torch.roll(x, -1)")), ("1c-2-basic",)),
    misconception("y-pad-under-prefix",
          "The targets under the prefix are PAD, as NameDataset does it under the question.",
          edit((XY, f"{XY.replace('ids[1:]', 'ids[1:].clone()')}\n        y[:start] = 0")),
          ("1c-2-basic",)),
    misconception("y-masked-content-only",
          "Only the masked content is a target, and all else in y is PAD.",
          edit((XY, f"{XY.replace('ids[1:]', 'ids[1:].clone()')}\n"
                    "        y[:length - masked_length + 1] = 0")), ("1c-2-basic",)),
    misconception("y-original-document",
          "y is the document before the corruption, as if the model had to repair x in place.",
          edit((XY, "x = ids[:-1]\n        whole = document.ljust(self.block_size, self.PAD_CHAR)\n"
                    "        y = torch.tensor([self.stoi[ch] for ch in whole])")), ("1c-2-basic",)),
    misconception("y-target-sequence",
          "y is the masked content alone, as the target of an encoder with a decoder.",
          edit((XY, "x = ids[:-1]\n        answer = masked_content.ljust(self.block_size, "
                    "self.PAD_CHAR)\n        y = torch.tensor([self.stoi[ch] for ch in answer])")),
          ("1c-2-basic",)),
    misconception("y-ignore-index",
          "The targets of PADs are -100, which torch ignores by default but this "
                            "model does not.",
          edit((XY, f"{XY}\n        y = y.masked_fill(y == 0, -100)")), ("1c-2-basic",)),
    misconception("y-of-another-draw",
          "x and y are drawn separately, so they belong to two different corruptions.",
          edit((GETITEM, "def __getitem__(self, idx):\n"
                         "        return self.corrupt(idx)[0], self.corrupt(idx)[1]\n\n    "
                         + GETITEM.replace("__getitem__", "corrupt"))), ("1c-2-basic",)),
]

TYPES = [
    slip("type-int32", "The tokens are int32, which an embedding takes but the loss does not.",
         edit((IDS, IDS.replace("torch.long", "torch.int32"))), ("1c-0-basic",)),
    slip("type-uint8", "The tokens are uint8, since there are not more than 256 of them.",
         edit((IDS, IDS.replace("torch.long", "torch.uint8"))), ("1c-0-basic",)),
    slip("type-float", "torch.Tensor makes floats of the tokens.",
         edit((IDS, "torch.Tensor([self.stoi[ch] for ch in text])")), ("1c-0-basic",)),
    slip("type-float-y", "y is converted to float, as targets of a regression are.",
         edit((XY, f"{XY}\n        y = y.float()")), ("1c-0-basic",)),
    slip("type-list", "x and y are lists of tokens.",
         edit((IDS, "[self.stoi[ch] for ch in text]")), ("1c-0-basic",)),
    slip("type-numpy", "x and y are NumPy arrays.",
         edit((IMPORT, "import numpy as np\n" + IMPORT),
              (IDS, "np.array([self.stoi[ch] for ch in text])")), ("1c-0-basic",)),
    misconception("type-string",
          "x and y are the characters and not their tokens.", edit((IDS, "text")), ("1c-0-basic",)),
    misconception("type-code-points", "ord gives the tokens and not the dataset's vocabulary.",
          edit((IDS, "torch.tensor([ord(ch) for ch in text])")), ("1c-1-basic",)),
    misconception("type-bytes", "The bytes of UTF-8 are taken for the tokens.",
          edit((IDS, "torch.tensor(list(text.encode('utf-8'))[:self.block_size + 1])")),
          ("1c-1-basic",)),
    misconception("type-one-hot", "Every token becomes a row with a single 1.",
          edit((IDS, f"torch.nn.functional.one_hot({IDS}, self.vocab_size)")), ("1c-0-basic",)),
    slip("type-batch-axis", "x and y get a batch axis, which the DataLoader adds anyway.",
         edit((XY, "x, y = ids[None, :-1], ids[None, 1:]")), ("1c-0-basic",)),
    slip("type-column", "x and y are columns, one token a row.",
         edit((XY, "x, y = ids[:-1].unsqueeze(1), ids[1:].unsqueeze(1)")), ("1c-0-basic",)),
    slip("type-stacked", "x and y are the rows of one tensor, which a DataLoader's batches do not "
                         "keep apart.",
         edit((END, END.replace("x, y", "torch.stack((x, y))"))), ("1c-12-basic", "1c-7-hidden")),
    slip("type-three", "The masked content is returned as a third thing.",
         edit((END, END.replace("x, y", "x, y, masked_content"))), ("1c-0-basic",)),
    slip("type-dictionary", "x and y are returned in a dictionary.",
         edit((END, END.replace("x, y", "{'x': x, 'y': y}"))), ("1c-0-basic",)),
    misconception("type-x-alone", "Only x is returned, since y can be made of it.",
          edit((END, END.replace("x, y", "x"))), ("1c-0-basic",)),
    slip("type-other-names", "The results get other names, so that x and y stay None.",
         edit((XY, XY.replace("x, y", "inputs, targets"))), ("1c-0-basic",)),
    slip("type-x-one-too-long", "x keeps the last character, so that it is longer than y.",
         edit((XY, "x, y = ids, ids[1:]")), ("1c-0-basic",)),
    slip("type-y-cut-at-both-ends",
         "y loses its last character as well, so that it is shorter than x.",
         edit((XY, "x, y = ids[:-1], ids[1:-1]")), ("1c-0-basic",)),
    misconception("type-no-pads",
          "The PADs are left out, so that every example has its own length.",
          edit((PADS, "ids = ")), ("1c-0-basic",)),
    slip("type-one-pad-too-many", "x and y are one longer than the block.",
         edit((PADS, PADS.replace("+ 1", "+ 2"))), ("1c-0-basic",)),
    slip("type-two-pads-too-few", "x and y are two shorter than the block.",
         edit((PADS, PADS.replace("+ 1", "- 1"))), ("1c-0-basic",)),
    slip("type-masks-not-counted", "The number of PADs is worked out without the MASKs.",
         edit((PADS, PADS.replace("len(text)", "length"))), ("1c-0-basic",)),
    slip("type-fixed-129", "The length of 129 is written out, whatever the block size.",
         edit((PADS, PADS.replace("self.block_size + 1", "129"))), ("1c-0-basic",)),
]

REPEATS = [
    misconception("repeat-cache",
          "An example is drawn once and kept, so that every epoch shows the same corruption.",
          (Edit("dataset.py", "import argparse\n", "import argparse\nimport functools\n"),
           *edit((GETITEM, f"@functools.lru_cache(maxsize=None)\n    {GETITEM}"))),
          ("1c-3-basic", "1c-4-hidden")),
    misconception("repeat-drawn-in-init", "All examples are made in __init__.",
          edit((f"{LEN}\n\n    {GETITEM}",
                "self.block_size = block_size\n"
                "        self.examples = [self.corrupt(idx) for idx in range(len(self.data))]\n\n"
                "    def __len__(self):\n        return len(self.examples)\n\n"
                "    def __getitem__(self, idx):\n        return self.examples[idx]\n\n    "
                + GETITEM.replace("__getitem__", "corrupt"))), ("1c-3-basic", "1c-4-hidden")),
    misconception("repeat-seed-index",
          "random is seeded with the index, so that a document is always "
                               "corrupted in the same way.",
          edit((TAKE, f"random.seed(idx)\n        {TAKE}")), ("1c-3-basic", "1c-4-hidden")),
    misconception("repeat-seed-constant",
          "random is seeded with a constant in every call, to make runs repeatable.",
          edit((TAKE, f"random.seed(224)\n        {TAKE}")), ("1c-3-basic", "1c-4-hidden")),
    misconception("repeat-generator-of-document",
          "The randomness is made of the document's text alone.",
          (Fill("CharCorruptionDataset.__getitem__", """
document = self.data[idx]
rng = random.Random(document)
n = rng.randint(min(4, len(document)), min(len(document), int(self.block_size * 3 / 4)))
k = rng.randint(1, max(1, n // 2 - 1))
i = rng.randint(0, n - k)
parts = [document[:i], document[i + k:n], document[i:i + k]]
ids = [self.stoi[ch] for ch in self.MASK_CHAR.join(parts + [""]).ljust(self.block_size + 1, self.PAD_CHAR)]
x, y = torch.tensor(ids[:-1]), torch.tensor(ids[1:])"""),), ("1c-3-basic", "1c-4-hidden")),
    slip("repeat-private-generator",
         "A generator of one's own gets a fixed seed, so that every run draws the same.",
         edit((TAKE, "if not hasattr(self, 'dice'):\n            self.dice = random.Random(224)\n"
                     f"        {TAKE}"),
              (LENGTH, LENGTH.replace("random.randint", "self.dice.randint")),
              (MEAN, MEAN.replace("random.random", "self.dice.random")),
              (MASKED, MASKED.replace("random.randint", "self.dice.randint")),
              (START, START.replace("random.randint", "self.dice.randint"))), ("1c-3-basic",)),
    slip("repeat-seed-on-import",
         "random is seeded where the file is imported, so that every run draws the same.",
         edit((IMPORT, IMPORT.replace("import torch", "import torch\n\nrandom.seed(224)"))),
         ("1c-3-basic",)),
    misconception("index-ignored", "Any document is corrupted and not the one that was asked for.",
          edit((TAKE, "document = random.choice(self.data)")), ("1c-1-basic",)),
    slip("index-one-less", "Documents are counted from 1.",
         edit((TAKE, "document = self.data[idx - 1]")), ("1c-1-basic",)),
    slip("index-one-more", "The document after the right one is taken.",
         edit((TAKE, "document = self.data[(idx + 1) % len(self.data)]")), ("1c-1-basic",)),
    misconception("index-iterator",
          "The documents come from an iterator in their order, and it has an end.",
          edit((VOCAB_SIZE, f"{VOCAB_SIZE}\n        self.documents = iter(self.data)"),
               (TAKE, "document = next(self.documents)")), ("1c-1-basic",)),
]

DOCUMENTS_CHANGED = [
    misconception("document-lower-case",
          "Capitals are made small.", edit((TAKE, f"{TAKE}.lower()")), ("1c-1-basic",)),
    misconception("document-ascii-only", "Characters beyond ASCII are dropped.",
          edit((TAKE, f"{TAKE}.encode('ascii', 'ignore').decode()")), ("1c-1-basic",)),
    misconception("document-letters-only", "Blanks and punctuation are dropped.",
          edit((TAKE, "document = ''.join(ch for ch in self.data[idx] if ch.isalnum())")),
          ("1c-1-basic",)),
    misconception("document-words",
          "The document is a list of words, which are masked and joined without blanks.",
          edit((TAKE, "document = self.data[idx].split()"),
               ("prefix, masked_content, suffix = document[:start], document[start:end], "
                "document[end:]",
                "prefix, masked_content, suffix = (''.join(part) for part in "
                "(document[:start], document[start:end], document[end:]))")), ("1c-1-basic",)),
    slip("document-overwritten", "The corrupted text is written over the document in the dataset.",
         edit((PADS, "text += self.PAD_CHAR * (self.block_size + 1 - len(text))\n"
                     "        self.data[idx] = text\n        ids = ")),
         ("1c-1-basic", "1c-7-hidden")),
    misconception("document-text-not-split",
          "The text is not split into documents, so that a document is a single character.",
          edit((DOCUMENTS, "self.data = data")), ("1c-8-basic", "1c-4-hidden")),
    edge("short-crash-randint-4",
         "random.randint(4, n) fails where a document has n < 4 characters.",
         edit((LENGTH, f"random.randint(4, min(len(document), {BOUND}))")),
         ("1c-11-basic", "1c-6-hidden")),
    edge("short-crash-masked-randrange",
         "random.randrange(1, n // 2) fails where the text has n < 4 characters.",
         edit((MASKED, "random.randrange(1, length // 2)")), ("1c-11-basic", "1c-6-hidden")),
    edge("short-crash-one-character",
         "One character must stay unmasked, which fails for a document of one character.",
         edit((MASKED, "random.randint(1, min(2 * mean - 1, length - 1))")),
         ("1c-11-basic", "1c-6-hidden")),
    edge("short-dropped", "Documents of under 4 characters are left out of the dataset.",
         edit((DOCUMENTS, DOCUMENTS.replace("if document", "if len(document) >= 4"))),
         ("1c-11-basic", "1c-6-hidden")),
    edge("short-filled-with-blanks", "Documents of under 4 characters are filled up with blanks.",
         edit((TAKE, f"{TAKE}.ljust(4)")), ("1c-11-basic", "1c-6-hidden")),
    edge("short-only-pads", "A document of under 4 characters gives PADs alone.",
         edit((TAKE, f"{TAKE}\n        if len(document) < 4:\n"
                     "            return (torch.zeros(self.block_size, dtype=torch.long),) * 2")),
         ("1c-11-basic", "1c-6-hidden")),
    edge("short-other-document",
         "In place of a document of under 4 characters a random longer one is taken.",
         edit((TAKE, f"{TAKE}\n        if len(document) < 4:\n"
                     "            document = random.choice([other for other in self.data if "
                     "len(other) >= 4])")), ("1c-11-basic", "1c-6-hidden")),
    edge("short-repeated", "A document of under 4 characters is repeated until it has 4.",
         edit((TAKE, f"{TAKE}\n        while len(document) < 4:\n            document += document")),
         ("1c-11-basic", "1c-6-hidden")),
    edge("short-refused", "A document of under 4 characters is an error.",
         edit((TAKE, f"{TAKE}\n        if len(document) < 4:\n"
                     "            raise ValueError('document too short')")),
         ("1c-11-basic", "1c-6-hidden")),
    edge("short-nothing-masked", "In a document of under 4 characters nothing is masked.",
         edit((MASKED, f"{MASKED} if length > 3 else 0")), ("1c-11-basic", "1c-6-hidden")),
    edge("short-quarter",
         "In texts of under 12 characters the masked length is a quarter, not random.",
         edit((MASKED, f"{MASKED} if length >= 12 else max(1, length // 4)")),
         ("1c-11-basic", "1c-6-hidden")),
    edge("short-narrow-normal", "In texts of under 12 characters a rounded normal number hardly "
                                "ever leaves the mean.",
         edit((MASKED, f"{MASKED} if length >= 12 else max(1, round(random.gauss(length / 4, "
                       "length / 32)))")), ("1c-11-basic", "1c-6-hidden")),
    edge("short-one-character", "In texts of under 12 characters a single one is masked.",
         edit((MASKED, f"{MASKED} if length >= 12 else 1")), ("1c-11-basic", "1c-6-hidden")),
    edge("empty-lines-crash",
         "Empty lines become documents, and there is nothing in them to mask.",
         edit((DOCUMENTS, 'self.data = data.split("\\n")')), ("1c-11-basic", "1c-6-hidden")),
    misconception("long-overflow",
          "A document may be kept whole, so that a long one does not fit into the "
                           "block with its MASKs.",
          edit((LENGTH, "random.randint(min(4, len(document)), len(document))")),
          ("1c-8-basic", "1c-4-hidden")),
    misconception("long-refused", "A document that is longer than the block is an error.",
          edit((TAKE, f"{TAKE}\n        assert len(document) <= self.block_size, 'document too "
                      "long'")), ("1c-0-basic", "1c-8-basic")),
    misconception("long-in-pieces",
          "A document that is longer than the block becomes several documents.",
          edit((DOCUMENTS, f"{DOCUMENTS}\n        self.data = [document[i:i + block_size] for "
                           "document in self.data for i in range(0, len(document), block_size)]")),
          ("1c-1-basic", "1c-8-basic")),
]

VOCABULARY_AND_WORKERS = [
    slip("vocabulary-unsorted",
         "The characters come in the order of a set, which differs from run to run.",
         edit((CHARS, CHARS.replace("sorted", "list"))), ("1c-12-basic", "1c-7-hidden")),
    slip("vocabulary-by-appearance",
         "The characters come in the order in which the text has them first.",
         edit((CHARS, CHARS.replace("sorted(set(data))", "list(dict.fromkeys(data))"))),
         ("1c-12-basic", "1c-7-hidden")),
    slip("vocabulary-mask-0", "MASK is 0 and PAD is 1, so that the loss ignores the wrong one.",
         edit((CHARS, CHARS.replace("self.PAD_CHAR, self.MASK_CHAR",
                                    "self.MASK_CHAR, self.PAD_CHAR"))),
         ("1c-12-basic", "1c-7-hidden")),
    slip("vocabulary-specials-last", "PAD and MASK come after all other characters.",
         edit((CHARS, "chars = sorted(set(data)) + [self.PAD_CHAR, self.MASK_CHAR]")),
         ("1c-12-basic", "1c-7-hidden")),
    slip("vocabulary-specials-sorted-in", "PAD and MASK are sorted in with the other characters.",
         edit((CHARS, "chars = sorted({self.PAD_CHAR, self.MASK_CHAR, *data})")),
         ("1c-12-basic", "1c-7-hidden")),
    slip("vocabulary-no-newline", "The newline is left out of the vocabulary.",
         edit((CHARS, CHARS.replace("set(data)", "set(data) - {chr(10)}"))),
         ("1c-12-basic", "1c-7-hidden")),
    slip("vocabulary-size-without-specials", "PAD and MASK are not counted in vocab_size.",
         edit((VOCAB_SIZE, f"{VOCAB_SIZE} - 2")), ("1c-12-basic", "1c-7-hidden")),
    slip("vocabulary-itos-without-specials",
         "itos leaves out PAD and MASK, and so is two off from stoi.",
         edit((ITOS, "self.itos = dict(enumerate(chars[2:]))")), ("1c-12-basic", "1c-7-hidden")),
    slip("dataset-len-in-characters", "len gives the number of characters and not of documents.",
         edit((LEN, LEN.replace("len(self.data)", "sum(map(len, self.data))"))),
         ("1c-12-basic", "1c-7-hidden")),
    slip("dataset-len-one-less",
         "len gives the last index, so that the last document is never drawn.",
         edit((LEN, LEN.replace("len(self.data)", "len(self.data) - 1"))),
         ("1c-12-basic", "1c-7-hidden")),
    slip("worker-refused", "Examples may be drawn in the main process only.",
         edit((TAKE, f"assert torch.utils.data.get_worker_info() is None\n        {TAKE}")),
         ("1c-12-basic", "1c-7-hidden")),
    misconception("worker-other-process",
          "The dataset belongs to the process that made it, and in another "
                                  "one it gives nothing.",
          (Edit("dataset.py", "import math\n", "import math\nimport os\n"),
           *edit((VOCAB_SIZE, f"{VOCAB_SIZE}\n        self.process = os.getpid()"),
                 (END, "### END_CODE_HERE ###\n        if os.getpid() != self.process:\n"
                       "            x = y = None\n        return x, y"))),
          ("1c-12-basic", "1c-7-hidden")),
    misconception("worker-shares-the-documents",
          "A worker picks its own share of the documents, which the DataLoader does for it.",
          edit((TAKE, "worker = torch.utils.data.get_worker_info()\n"
                      "        share = self.data if worker is None else "
                      "self.data[worker.id::worker.num_workers]\n        document = share[idx]")),
          ("1c-12-basic", "1c-7-hidden")),
]

MISTAKES = SHIFTS + TYPES + REPEATS + DOCUMENTS_CHANGED + VOCABULARY_AND_WORKERS

# Misconceptions that cost less than a quarter of the points, and why.
EXCEPTIONS = {
    "worker-other-process": "A wrong idea of a DataLoader's workers and not of span corruption.",
    "worker-shares-the-documents": "A wrong idea of a DataLoader's workers and not of span "
                                   "corruption.",
}
