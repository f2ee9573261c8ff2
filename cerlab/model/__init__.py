"""What happens and what we answer: events, streams, complex events, the clauses as values."""
