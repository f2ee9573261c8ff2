"""Displays of values in a notebook, and the frames of a query at work."""
