"""Evaluators written for reading: explicit runs, and the algorithms of the papers."""
