"""Immutable automata and transducers, and the operations on them."""

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
