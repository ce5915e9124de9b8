"""Submissions that attack the grader, and the proof that it holds: attack.py says what one is,
harness.py what must not be seen.
"""
