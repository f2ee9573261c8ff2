"""Evaluation of a query on a stream of events, by Structured Streaming."""
