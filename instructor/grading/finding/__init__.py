"""Finds who handed in what in a folder of uploads."""
