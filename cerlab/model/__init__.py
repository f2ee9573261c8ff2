"""Events, streams, answers, and the clauses of queries as values."""

__all__ = ["answer", "clauses", "columns", "documents", "event", "stream"]
