"""The jobs of problem 6: plot_positions, debug_exploding, debug_repetition, debug_slow and
dashboard.
"""
