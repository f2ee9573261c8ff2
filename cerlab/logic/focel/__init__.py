"""FO-CEL, the logic of "Foundations of CEP": one position per variable (FOUND Sec. 3)."""

__all__ = ["rewrite", "semantics", "translate"]
