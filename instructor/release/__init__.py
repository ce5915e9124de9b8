"""Makes what students get (starter, released cases, handout, zip) and checks that it gives nothing
away.
"""
