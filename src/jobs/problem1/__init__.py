"""Pretrain, finetune and evaluate the GPT of problem 1; the demo; pages of what it learned."""
