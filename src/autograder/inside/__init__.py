"""The code that runs in the student's process: main.py and what it uses. The judge shares wire.py,
the message format.
"""
