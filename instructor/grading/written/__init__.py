"""Marking of written parts: everybody's answers to one question in one PDF, without names."""

from .cut import add_parser, cut

__all__ = ["add_parser", "cut"]
