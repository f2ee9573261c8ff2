"""The errors of row patterns by their names in the specification (rows.md 10)."""

from __future__ import annotations

from cerlab.errors import IllFormed, SourcePlace, TypeMismatch, Unsupported

CODES = {
    "quantifier": "CER0250",
    "unknown-variable": "CER0251",
    "duplicate-variable": "CER0252",
    "unknown-column": "CER0253",
    "ambiguous-column": "CER0254",
    "mixed-variables": "CER0255",
    "nesting": "CER0256",
    "offset": "CER0257",
    "arguments": "CER0258",
    "running-final": "CER0259",
    "final-in-define": "CER0266",
    "exclusion-unmatched": "CER0267",
    "duplicate-column": "CER0268",
    "no-columns": "CER0269",
    "within-order": "CER0270",
    "type": "CER0350",
    "skip-absent": "CER0788",
    "skip-first": "CER0789",
}
"""The code of each; `syntax` is CER0101, as in every language."""


def ill_formed(
    name: str, message: str, place: SourcePlace | None = None, hint: str = ""
) -> IllFormed:
    """A query error that is found before any data is read."""
    return IllFormed(CODES[name], f"{name}: {message}", place=place, hint=hint)


def mismatch(message: str, place: SourcePlace | None = None, hint: str = "") -> TypeMismatch:
    """The error `type`."""
    return TypeMismatch(CODES["type"], f"type: {message}", place=place, hint=hint)


def unsupported(what: str, place: SourcePlace | None = None, hint: str = "") -> Unsupported:
    """The refusal of a construct by its name (rows.md 10.3)."""
    error = Unsupported("CER0450", f"{what} is not supported in row patterns", hint=hint)
    error.place = place
    return error
