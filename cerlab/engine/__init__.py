"""Evaluators: plans and events in, answers out. They know machines, not languages."""
