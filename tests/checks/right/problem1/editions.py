"""Code that was written for other editions of the assignment, where the given parts differ."""
from instructor.mistakes.patches import Edit, Fill, Right

RIGHT = [
    Right("ascii_questions", "The given NameDataset of an older edition drops letters that are not "
                             "ASCII, and has MASK as a target; itos is a list.",
          (Edit("dataset.py", "question, tab, place = row.rstrip(\"\\r\").partition(\"\\t\")",
                "question, tab, place = row.encode(\"ascii\", "
                "errors=\"ignore\").decode().rstrip(\"\\r\").partition(\"\\t\")"),
           Edit("dataset.py", "y = self.PAD_CHAR * len(question) + text[len(question) + 1 :]",
                "y = self.PAD_CHAR * (len(question) - 1) + text[len(question):-1]"),
           Edit("dataset.py", "self.itos = {i: ch for i, ch in enumerate(chars)}",
                "self.itos = chars"))),
    Right("settings_written_out", "All of the Trainer's settings are written down, defaults too, "
                                  "and a list stands for a pair.",
          (Fill("pretrain", """
tconf = TrainerConfig(max_epochs=650, batch_size=128, learning_rate=pretrain_lr, betas=[0.9, 0.95], grad_norm_clip=1.0, weight_decay=0.1,
                      lr_decay=True, warmup_tokens=10240, final_tokens=200 * len(pretrain_dataset) * block_size, num_workers=4,
                      ckpt_path=None, writer=writer)
trainer_obj = Trainer(model=model, train_dataset=pretrain_dataset, test_dataset=None, config=tconf)"""),)),
    Right("data_with_empty_lines",
          "Empty lines stay in the list of documents, and make examples of nothing but MASKs.",
          (Edit("dataset.py", 'self.data = [document for document in data.split("\\n") if document]', 'self.data = data.split("\\n")'),
           Fill("CharCorruptionDataset.__getitem__", """
text = self.data[idx][:random.randint(4, int(self.block_size * 3 / 4))]
masked = min(len(text), random.randint(1, max(1, len(text) // 2)))
start = random.randint(0, len(text) - masked)
pieces = text[:start], text[start + masked:], text[start:start + masked]
ids = [self.stoi[ch] for ch in (self.MASK_CHAR.join(pieces) + self.MASK_CHAR).ljust(self.block_size + 1, self.PAD_CHAR)]
x, y = torch.tensor(ids[:-1]), torch.tensor(ids[1:])"""))),
    Right("rounded_reals", "Rounded real numbers give the length and the start, so that both ends "
          "come up half as often; x has one token less.",
          (Fill("CharCorruptionDataset.__getitem__", """
text = self.data[idx]
text = text[:round(random.uniform(4, int(self.block_size * 7 / 8)))]
size = len(text)
masked = max(1, min(size, round(random.uniform(0, size / 2))))
start = round(random.uniform(0, size - masked))
pieces = text[:start], text[start + masked:], text[start:start + masked]
row = self.MASK_CHAR.join(pieces).ljust(self.block_size, self.PAD_CHAR)
x, y = (torch.tensor([self.stoi[ch] for ch in part]) for part in (row[:-1], row[1:]))"""),)),
    Right("published_lengths",
          "The masked length is even from 1 to twice the quarter rounded down, "
          "and the longest text is 7/8 of the block.",
          (Fill("CharCorruptionDataset.__getitem__", """
doc = self.data[idx]
max_len = min(len(doc), int(self.block_size * 7 / 8))
doc = doc[:random.randint(min(4, max_len), max_len)]
n_masked = random.randint(1, max(1, 2 * (len(doc) // 4)))
start = random.randint(0, len(doc) - n_masked)
masked_string = doc[:start] + self.MASK_CHAR + doc[start + n_masked:] + self.MASK_CHAR + doc[start:start + n_masked]
masked_string += self.PAD_CHAR * (self.block_size + 1 - len(masked_string))
x = torch.tensor([self.stoi[c] for c in masked_string[:-1]], dtype=torch.long)
y = torch.tensor([self.stoi[c] for c in masked_string[1:]], dtype=torch.long)"""),)),
]
