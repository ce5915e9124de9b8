"""Wrong span corruption (question 1c): no-ops, starts that are not uniform, short texts."""
from instructor.mistakes.patches import Fill, edge, misconception
from instructor.mistakes.span_corruption import MASKED, START, TAKE, TRUNCATE, edit

FILL = "CharCorruptionDataset.__getitem__"
ROOM = "length - masked_length"
NOOPS = [
    misconception("noop-identity", "The document is padded and returned as it is.",
        (Fill(FILL, "text = self.data[idx][:self.block_size + 1].ljust(self.block_size + 1, self.PAD_CHAR)\n"
                    "ids = torch.tensor([self.stoi[ch] for ch in text])\nx, y = ids[:-1], ids[1:]"),),
        ("1c-0-basic", "1c-2-basic")),
    misconception("noop-truncated", "The document is truncated and padded, and nothing else.",
        (Fill(FILL, "text = self.data[idx][:random.randint(4, int(self.block_size * 3 / 4))].ljust(self.block_size + 1, self.PAD_CHAR)\n"
                    "ids = torch.tensor([self.stoi[ch] for ch in text])\nx, y = ids[:-1], ids[1:]"),),
        ("1c-0-basic", "1c-2-basic")),
    misconception("noop-zeros", "x and y are zeros.",
        (Fill(FILL, "x = y = torch.zeros(self.block_size, dtype=torch.long)"),), ("1c-0-basic", "1c-2-basic")),
    misconception("noop-constant", "x and y are MASKs alone.",
        (Fill(FILL, "x = y = torch.ones(self.block_size, dtype=torch.long)"),), ("1c-0-basic", "1c-2-basic")),
    misconception("noop-constant5", "x and y are five alone.",
        (Fill(FILL, "x = y = torch.full((self.block_size,), 5)"),), ("1c-0-basic", "1c-2-basic")),
    misconception("noop-noise", "x and y are random tokens.",
        (Fill(FILL, "ids = torch.randint(self.vocab_size, (self.block_size + 1,))\nx, y = ids[:-1], ids[1:]"),),
        ("1c-0-basic", "1c-2-basic")),
    misconception("noop-raises", "An error is raised.",
        (Fill(FILL, "raise ValueError('to do')"),), ("1c-0-basic", "1c-2-basic")),
]
STARTS = [
    misconception("place-clipped-to-last", "The start is drawn over the whole text, and clipped to the last possible one.",
        edit((START, f"min(random.randrange(length), {ROOM})")), ("1c-9-basic", "1c-4-hidden")),
    misconception("place-wrapped-to-first", "The start is drawn over the whole text, and 0 where the span does not fit.",
        edit((START, f"random.randrange(length)\n        start = start if start <= {ROOM} else 0")), ("1c-9-basic", "1c-4-hidden")),
    misconception("place-modulo", "The start is drawn over the whole text, modulo the number of possible ones.",
        edit((START, f"random.randrange(length) % ({ROOM} + 1)")), ("1c-9-basic", "1c-4-hidden")),
    misconception("place-every-second", "The span starts at every second character only.",
        edit((START, f"2 * random.randint(0, ({ROOM}) // 2)")), ("1c-9-basic", "1c-4-hidden")),
    misconception("place-every-fourth", "The span starts at every fourth character only.",
        edit((START, f"4 * random.randint(0, ({ROOM}) // 4)")), ("1c-9-basic", "1c-4-hidden")),
    misconception("place-at-words", "The span starts where a word starts.",
        edit((START, f"random.choice([i for i in range({ROOM} + 1) if i == 0 or document[i - 1] == ' '])")), ("1c-9-basic", "1c-4-hidden")),
]
SHORT = [
    edge("spaces-stripped-from-documents", "Spaces at the end of a document are stripped.",
        edit((TAKE, f"{TAKE}.rstrip()")), ("1c-11-basic", "1c-6-hidden")),
    edge("spaces-stripped-from-texts", "Spaces at the end of the truncated text are stripped.",
        edit((TRUNCATE, f"{TRUNCATE}.rstrip()\n        length = len(document)")), ("1c-11-basic", "1c-6-hidden")),
    edge("spaces-stripped", "Spaces at both ends of the truncated text are stripped.",
        edit((TRUNCATE, f"{TRUNCATE}.strip()\n        length = len(document)")), ("1c-11-basic", "1c-6-hidden")),
    edge("short-mean-2", "In texts of 5 to 12 characters, 2 are masked on average, whatever the length.",
        edit((MASKED, f"random.randint(1, 3) if 5 <= length <= 12 else {MASKED}")), ("1c-11-basic", "1c-6-hidden")),
    edge("short-mean-turned", "The mean of short texts falls with their length.",
        edit((MASKED, f"max(1, random.randint(1, 2 * round((16 - length) / 4) - 1)) if 5 <= length <= 12 else {MASKED}")), ("1c-11-basic", "1c-6-hidden")),
]
MISTAKES = NOOPS + STARTS + SHORT
