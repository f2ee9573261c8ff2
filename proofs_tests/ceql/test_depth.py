"""Formulas that were built, not read, are refused at once where they nest too deep."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext

import pytest

import cerlab
from cerlab import Formula
from cerlab.logic.cel.syntax import MAX_DEPTH, Atom, Filter, Seq, refuse_deep
from cerlab.predicates.condition import On
from cerlab.predicates.syntax import Not, Predicate, TypeIs


def chain(atoms: int) -> Formula:
    phi: Formula = Atom("A")
    for _ in range(atoms - 1):
        phi = Seq(phi, Atom("A"))
    return phi


def negations(times: int) -> Formula:
    predicate: Predicate = TypeIs("A")
    for _ in range(times):
        predicate = Not(predicate)
    return Filter(Atom("A"), On("A", predicate))


ASKS: list[Callable[[Formula], object]] = [
    cerlab.satisfiable,
    lambda phi: cerlab.equivalent("A", phi),
    lambda phi: cerlab.evaluate(phi, []),
    lambda phi: cerlab.count(phi, []),
    lambda phi: cerlab.valuations(phi, []),
]


@pytest.mark.parametrize("make", [chain, negations])
@pytest.mark.parametrize("ask", ASKS)
def test_deep_formulas_are_refused(
    make: Callable[[int], Formula], ask: Callable[[Formula], object]
) -> None:
    with pytest.raises(cerlab.ResourceLimit, match="CER0602"):
        ask(make(5_000))


@pytest.mark.parametrize(
    ("make", "size"), [(chain, MAX_DEPTH + 1), (negations, MAX_DEPTH - 1)], ids=["chain", "negated"]
)
def test_the_deepest_is_taken(make: Callable[[int], Formula], size: int) -> None:
    """A chain counts its atoms; a predicate its negations, what they negate, and its name."""
    refuse_deep(make(size))
    with pytest.raises(cerlab.ResourceLimit):
        refuse_deep(make(size + 1))


@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("[", "]"), ("{", "}")])
def test_as_many_brackets_as_said_are_looked_into(opening: str, closing: str) -> None:
    """The largest allowed nesting is a syntax error; one level more is refused before parsing."""
    texts = [opening * n + "A" + closing * n for n in (MAX_DEPTH, MAX_DEPTH + 1)]
    with pytest.raises(cerlab.QuerySyntaxError) if opening != "(" else nullcontext():
        cerlab.parse_formula(texts[0])
    with pytest.raises(cerlab.ResourceLimit, match="CER0602"):
        cerlab.parse_formula(texts[1])


@pytest.mark.parametrize("text", [" ; ".join(["A"] * n) for n in (2, MAX_DEPTH)])
def test_what_can_be_read_can_be_evaluated_as_a_value(text: str) -> None:
    events = [{"type": "A"}] * 2
    assert cerlab.evaluate(cerlab.parse_formula(text), events) == cerlab.evaluate(text, events)
