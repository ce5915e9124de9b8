"""The jobs of problem 6; contents.py lists them."""
