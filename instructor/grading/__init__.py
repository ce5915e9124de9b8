"""Grading a class: find the submissions, grade them, store the results and show them."""
