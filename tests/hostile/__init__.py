"""Hostile submissions, and tests that the grader contains them: attack.py defines one, harness.py
checks for harm.
"""
