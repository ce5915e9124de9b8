"""Where submissions are graded: processes on this machine, or a cluster."""
