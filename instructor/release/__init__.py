"""What students get, and the proof that it gives nothing away: the starter, the released cases, the
handout, the zip.
"""
