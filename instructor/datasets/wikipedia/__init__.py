"""Builds the corpus and the questions from a dump of Wikipedia: `python -m instructor
wikipedia`.
"""
