"""Machines as immutable values, and what can be done with them. No languages."""
