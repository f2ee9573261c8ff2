"""Predicates from texts, and the truth vectors that are listed for them."""

from __future__ import annotations

from typing import Any

from cerlab.logic.cel.syntax import Filter
from cerlab.logic.ceql.parser import parse_cel
from cerlab.predicates.condition import On
from cerlab.predicates.minterms import minterms
from cerlab.predicates.syntax import Attribute, Predicate

V, W = Attribute("v"), Attribute("w")


def p(text: str) -> Predicate:
    phi, _ = parse_cel(f"E FILTER E[{text}]")
    assert isinstance(phi, Filter)
    assert isinstance(phi.condition, On)
    return phi.condition.predicate


def vectors(*texts: str, **options: Any) -> dict[str, bool]:
    """Each listed vector, bit k from the left for the kth text, and whether it has an example."""
    every = minterms([p(text) for text in texts], **options)
    width = len(texts)
    return {format(m.symbol, f"0{width}b")[::-1]: m.example is not None for m in every}
