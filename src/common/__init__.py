"""Helpers for every part of src/: files, charts, command lines, and the number of usable cores."""
