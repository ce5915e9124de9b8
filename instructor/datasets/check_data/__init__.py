"""`python -m instructor check-data FOLDER`: whether a folder of data suits the assignment."""
