"""Reads worlds.toml, and draws names from its syllables."""

import random
import tomllib
from pathlib import Path

WORLDS = tomllib.loads((Path(__file__).parent / "worlds.toml").read_text(encoding="utf-8"))
ONSETS = WORLDS["onsets"].split()


def draw_word(rng: random.Random, syllables: int) -> str:
    """Draw a word of so many syllables, with a capital letter."""
    word = "".join(rng.choice(ONSETS) + rng.choice(WORLDS["vowels"]) for _ in range(syllables))
    return (word + rng.choice(WORLDS["codas"])).capitalize()
