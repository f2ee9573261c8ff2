"""Queries with WAIT or look-backs: answers move from their last event to a later one."""
