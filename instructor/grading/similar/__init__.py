"""Finds possible copies: similar code, equal weights and predictions."""

from .command import add_parser

__all__ = ["add_parser"]
