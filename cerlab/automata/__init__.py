"""Immutable machines and the operations on them; no module here knows a query language."""

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
