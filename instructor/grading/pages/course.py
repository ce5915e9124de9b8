"""What the pages know of this course: which checks note the accuracy of which model, and the epochs
of the pretraining.
"""

# check, fact, the model's name, whether it was pretrained. All are basic checks: what they know, a
# student may know.
MODELS = (
    ("1e-2-basic", "vanilla.nopretrain.dev", "without pretraining", False),
    ("1f-6-basic", "vanilla.pretrain.dev", "learned positions", True),
    ("1h-8-basic", "rope.pretrain.dev", "RoPE", True),
)

EPOCHS = ("1f-0-basic", "max_epochs")
