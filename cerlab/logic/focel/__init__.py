"""FO-CEL, the logic of "Foundations of CEP", in which a variable is one position (FOUND Sec. 3)."""

__all__ = ["rewrite", "semantics", "translate"]
