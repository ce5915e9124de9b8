"""Helpers for every part of src/: files, pages, command lines, and the number of usable cores."""
