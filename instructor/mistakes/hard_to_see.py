"""Mistakes that leave every single result plausible: settings that nobody asked to change, one
mode only.
"""
from instructor.mistakes.patches import Edit, Fill, misconception, slip

MISTAKES = [
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
