"""CEQL (CORE Sec. 2.2): the query language around CEL, its grammar, text and semantics."""

__all__ = ["parser", "semantics", "syntax"]
