"""Grading a class: finding the submissions, grading them, keeping what came of it, and showing
it.
"""
