"""Where submissions are graded: processes on this machine, or a cluster.

An engine turns an iterator of tasks into an iterator of results, and reports the isolation level
that it grades with.
"""
