"""Predicates on events: their syntax, truth, text and minterms."""
