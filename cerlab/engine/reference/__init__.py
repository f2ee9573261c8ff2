"""Evaluators written to be read: run enumeration, and the algorithms of the papers."""
