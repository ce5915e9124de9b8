"""The pages' facts about this course: which checks report the accuracy of each model and the epochs
of the pretraining.
"""

# check, fact, the model's name, whether it was pretrained. All are basic checks: students may see
# what they report.
MODELS = (
    ("1e-2-basic", "vanilla.nopretrain.dev", "without pretraining", False),
    ("1f-6-basic", "vanilla.pretrain.dev", "learned positions", True),
    ("1h-8-basic", "rope.pretrain.dev", "RoPE", True),
)

EPOCHS = ("1f-0-basic", "max_epochs")
