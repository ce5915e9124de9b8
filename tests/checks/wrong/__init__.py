"""Wrong submissions, by question: each must lose points on the checks that it names."""
