"""The hidden checks, one module per question. They share probes and references with the basic
checks in src/checks.
"""
