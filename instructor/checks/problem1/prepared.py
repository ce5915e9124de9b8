"""Draws tasks for finetune and pretrain, for the checks of questions 1d and 1f."""

from checks.problem1.random_texts import LETTERS

ON_GPU = ", with weights that were saved on a GPU"


def draw_name(rng, letters: int = 52) -> str:
    """Draw a word from the first `letters` of LETTERS, of which 52 are ASCII."""
    return "".join(rng.choice(LETTERS[:letters], size=int(rng.integers(4, 9))))


def draw_task(rng, task: str, passed: bool = False, pretrained: bool = False, **more) -> dict:
    """Draw the inputs of `checks.problem1.prepared.prepare`: a small corpus, and more rows of
    questions and places than it has documents, in characters that it has.

    Args:
        passed: whether a learning rate is passed in.
        pretrained: whether there is a file of pretrained weights, with an uninformative name.
        more: other inputs.
    """
    # The first rows are judged and are ASCII: other editions' NameDataset drops the rest. The
    # others reveal a file read in a wrong encoding.
    rows = [
        f"Where was {draw_name(rng, letters)} born?\t{draw_name(rng, letters)}\n"
        for letters in [52] * 5 + [62] * int(rng.integers(9, 15))
    ]
    documents = [f"{draw_name(rng)} {draw_name(rng)}" for _ in range(int(rng.integers(5, 10)))]
    block_size = int(rng.integers(46, 70))
    return {
        "task": task,
        "corpus": "\n".join([*documents, "Where was born? " + "".join(LETTERS)]),
        "rows": "".join(rows),
        "block_size": block_size,
        "read_block_size": block_size - int(rng.integers(1, 6)),
        "fresh": int(rng.integers(2**31)),
        "pretrained": int(rng.integers(2**31)) if pretrained else None,
        "path": f"{draw_name(rng)}.params" if pretrained else None,
        "rate": float(rng.uniform(1e-4, 1e-2)) if passed else None,
        **more,
    }
