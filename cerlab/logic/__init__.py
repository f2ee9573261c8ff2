"""The query languages: syntax, reference semantics, checks and texts; no machines."""
