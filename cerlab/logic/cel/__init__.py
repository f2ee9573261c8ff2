"""CEL with intervals (CORE Sec. 2.2): formulas and the reference semantics."""

__all__ = ["semantics", "syntax", "text"]
