"""CEL with intervals (CORE Sec. 2.2): formulas and their reference semantics."""

__all__ = ["semantics", "syntax", "text"]
