"""Hostile inputs: what anybody may send, mutated, under limits of CPU time and memory."""
