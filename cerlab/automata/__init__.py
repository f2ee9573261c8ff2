"""Machines as immutable values, and what can be done with them. No languages."""

__all__ = [
    "automaton",
    "compose",
    "deterministic",
    "epsilon",
    "explore",
    "labelled",
    "plan",
    "registers",
    "strategy",
]
