"""The upload autograder for Gradescope: build.py makes its zip, harness.py runs in Gradescope's
container.
"""
