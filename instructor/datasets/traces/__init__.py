"""Makes the recorded traces that 6f is graded with: of small trainings, some of which go wrong, and
drawn ones.
"""
