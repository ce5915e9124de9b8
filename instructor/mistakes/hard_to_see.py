"""Mistakes that leave every single result plausible: numbers tied to each other, settings that
nobody asked to change, one mode only.
"""
from instructor.mistakes.patches import Edit, Fill, edge, misconception, slip

SPAN = """
document = self.data[idx]
length = random.randint(min(4, len(document)), min(len(document), int(self.block_size * 3 / 4)))
document = document[:length]
{choose}
text = document[:start] + self.MASK_CHAR + document[start + masked:] + self.MASK_CHAR + document[start:start + masked] + {end}
ids = torch.tensor([self.stoi[ch] for ch in text.ljust(self.block_size + 1, self.PAD_CHAR)], dtype=torch.long)
x, y = ids[:-1], ids[1:]
"""
CHOOSE = "masked = min(length, random.randint(1, max(1, length // 2)))\nstart = random.randint(0, length - masked)"


def span(choose: str = CHOOSE, end: str = "self.MASK_CHAR") -> tuple:
    """Span corruption with another choice of the span, or another end."""
    return (Fill("CharCorruptionDataset.__getitem__", SPAN.format(choose=choose, end=end)),)


MISTAKES = [
    misconception("place-tied-to-masked",
          "One random number decides both how long the span is and where it starts.",
          span("share = random.random()\nmasked = min(length, 1 + int(share * max(1, length // "
               "2)))\nstart = int(share * (length - masked + 1))"), ("1c-9-basic", "1c-4-hidden")),
    misconception("place-tied-to-length",
          "The truncated length and the start of the span come from the same random number.",
          (Fill("CharCorruptionDataset.__getitem__", SPAN.format(
              choose="masked = min(length, random.randint(1, max(1, length // 2)))\n"
                     "start = int(share * (length - masked + 1))",
              end="self.MASK_CHAR").replace(
                  "length = random.randint(min(4, len(document)), min(len(document), "
                  "int(self.block_size * 3 / 4)))",
                  "most = min(len(document), int(self.block_size * 3 / 4))\nleast = min(4, most)\n"
                  "share = random.random()\nlength = least + int(share * (most - least + 1))")),),
          ("1c-9-basic", "1c-4-hidden")),
    misconception("place-function-of-both",
          "The start is computed from the two lengths, and only looks random.",
          span(CHOOSE.replace("random.randint(0, length - masked)",
                              "(length * 7) % (length - masked + 1)")),
          ("1c-9-basic", "1c-4-hidden")),
    slip("third-mask-by-chance", "The third MASK is sometimes left out.",
         span(end='random.choice(["", self.MASK_CHAR])'), ("1c-1-basic",)),
    edge("span-in-drawn-length", "The span is chosen in the length that was drawn, although the "
                                 "document may be shorter.",
         (Fill("CharCorruptionDataset.__getitem__",
               SPAN.format(choose=CHOOSE, end="self.MASK_CHAR").replace(
                   "random.randint(min(4, len(document)), min(len(document), "
                   "int(self.block_size * 3 / 4)))",
                   "random.randint(4, int(self.block_size * 3 / 4))")),),
         ("1c-11-basic", "1c-6-hidden")),
    slip("vocabulary-special-accepted", "Data that contains MASK or PAD is no longer refused.",
         (Edit("dataset.py", "if special in data:", "if special == data:"),),
         ("1c-12-basic", "1c-7-hidden")),
    slip("vocabulary-blanks-collapsed",
         "Several blanks in a row are taken for one when the documents are read.",
         (Edit("dataset.py", '[document for document in data.split("\\n") if document]',
               '[" ".join(document.split()) for document in data.split("\\n") if document]'),),
         ("1c-12-basic", "1c-7-hidden")),
    slip("finetune-other-decay", "The weight decay is turned off, which nobody asked for.",
         (Edit("helper.py", "200 * len(pretrain_dataset) * block_size,\n        writer=writer,\n",
               "200 * len(pretrain_dataset) * block_size,\n        writer=writer,\n"
               "        weight_decay=0.0,\n"),), ("1d-1-basic",)),
    slip("pretrain-other-clipping", "Gradients are hardly clipped, which nobody asked for.",
         (Edit("helper.py", "650 * len(pretrain_dataset) * block_size,\n        writer=writer,\n"
                            "    )",
               "650 * len(pretrain_dataset) * block_size, writer=writer, grad_norm_clip=100.0)"),),
         ("1f-0-basic",)),
    misconception("rotate-in-evaluation-only",
          "Queries and keys are rotated in evaluation and not in training.",
          (Fill("CausalSelfAttention.forward", "if not self.training:\n"
              "    q, k = apply_rotary_emb(q, rope_cache), "
              "apply_rotary_emb(k, rope_cache)"),), ("1h-7-hidden", "1h-9-basic")),
    slip("rotate-remembered-table", "Cosines and sines are remembered by the length of the "
                                    "sequence, and the table passed in is ignored.",
         (Edit("attention.py", "def apply_rotary_emb(",
               "REMEMBERED = {}\n\n\ndef apply_rotary_emb("),
          Fill("apply_rotary_emb", """
T = x.size(-2)
cos, sin = REMEMBERED.setdefault(T, rope_cache[:T].unbind(dim=-1))
a, b = x[..., 0::2], x[..., 1::2]
rotated_x = torch.stack((a * cos - b * sin, a * sin + b * cos), dim=-1).flatten(-2).to(x.dtype)"""),), ("1h-5-hidden", "1h-11-basic")),
    slip("rope-set-on-the-class",
         "RoPE is switched on in the class GPTConfig, so that every model made later has it.",
         (Fill("initialize_rope_model", "GPTConfig.rope = True\nmodel = GPT(mconf)"),),
         ("1h-7-hidden", "1h-9-basic")),
    slip("rope-model-without-dropout-rates",
         "The config is made anew with the sizes alone; the dropout rates are lost.",
         (Fill("initialize_rope_model", "model = GPT(GPTConfig(mconf.vocab_size, "
             "mconf.block_size, rope=True, n_layer=mconf.n_layer,\n"
                             "                      n_head=mconf.n_head, n_embd=mconf.n_embd))"),),
         ("1h-7-hidden", "1h-9-basic")),
]
