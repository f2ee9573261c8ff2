"""Constructions of the papers that tests, notebooks and figures show, and that nothing runs."""
