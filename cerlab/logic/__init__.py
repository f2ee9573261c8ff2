"""The languages and their oracles: syntax, denotational semantics, checks, text; no machines."""
