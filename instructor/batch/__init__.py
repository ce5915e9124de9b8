"""Grading a class: finding the submissions, grading them on one machine or many, and keeping what came of it."""
from .klass import class_of, load_class, load_sources

__all__ = ["class_of", "load_class", "load_sources"]
