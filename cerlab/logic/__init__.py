"""Languages and their oracles: syntax, denotational semantics, checks, text. No machines."""
