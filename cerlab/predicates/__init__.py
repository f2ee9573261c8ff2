"""Predicates on events: their syntax, truth, text and minterms."""

__all__ = ["columns", "condition", "minterms", "syntax", "text", "truth"]
