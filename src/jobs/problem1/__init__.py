"""Pretraining, finetuning and evaluating the GPT of problem 1; the demo."""
