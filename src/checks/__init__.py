"""The basic checks, one module per question, and the code they share with the hidden ones. The
engine is in autograder/.
"""
