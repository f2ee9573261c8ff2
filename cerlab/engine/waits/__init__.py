"""Waits: how ends of answers are carried to later events, and what reads the events."""
