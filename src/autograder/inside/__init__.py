"""What runs in the student's process: main.py, and wire.py, the format in which data cross. The judge imports wire only."""
