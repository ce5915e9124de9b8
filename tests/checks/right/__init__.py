"""Right submissions that look different from the reference; each file has a list RIGHT."""
