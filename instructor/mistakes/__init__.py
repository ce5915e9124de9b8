"""Known mistakes: patches of the solution, a sentence for each."""
