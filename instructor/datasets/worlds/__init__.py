"""Builds data/: invented worlds of people whose birth places a model has to read about."""
