"""Makes the traces that 6f is graded with: some drawn, others recorded from small trainings."""
