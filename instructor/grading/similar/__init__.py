"""Who may have copied from whom: code that agrees, weights and predictions that are equal."""

from .command import add_parser

__all__ = ["add_parser"]
