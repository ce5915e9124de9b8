"""The basic checks, one file a question, and what they and the hidden ones share. The engine is in
autograder/.
"""
