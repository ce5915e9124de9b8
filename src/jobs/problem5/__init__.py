"""The jobs of problem 5: encoder_scaling, encoder_copy and encoder_report."""
