"""Events, streams, answers, and the clauses of queries as values."""
