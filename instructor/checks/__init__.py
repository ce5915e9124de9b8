"""The hidden checks, one file a question. They share probes and references with the basic ones in
src/checks.
"""
