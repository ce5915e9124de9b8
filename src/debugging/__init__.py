"""The three broken set-ups of question 6e: debug_exploding, debug_repetition and debug_slow.

Each says what of the student's fixes.py is still missing, shows its symptom, and what becomes of that with what is there.
"""
from . import exploding, repetition, slow

# Each takes fixes.py, as a module, and a seed.
CASES = {"debug_exploding": exploding.run, "debug_repetition": repetition.run, "debug_slow": slow.run}
