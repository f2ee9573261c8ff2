"""CEQL (CORE Sec. 2.2): the query language around CEL, with grammar, texts and semantics."""

__all__ = ["parser", "semantics", "syntax"]
