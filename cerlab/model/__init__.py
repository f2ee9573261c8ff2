"""Events, streams, answers, and the values of query clauses."""

__all__ = ["answer", "clauses", "columns", "documents", "event", "stream"]
