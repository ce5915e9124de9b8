"""The jobs of problem 6: plot_positions, measure_sparse, debug_exploding, debug_repetition,
debug_slow, practice_monitor and dashboard.
"""
