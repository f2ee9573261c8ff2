"""Waits: the events to which ends of answers are carried, and the readers of events."""
