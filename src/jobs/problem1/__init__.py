"""Pretrain, finetune and evaluate the GPT of problem 1; the demo."""
