"""The generators as hypothesis strategies; they need hypothesis, which loads when used.

Draws shrink towards a single ``A`` and the empty stream.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from cerlab.errors import UsageError, nearest
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.ceql.text import query_text
from cerlab.logic.sremo.syntax import Sremo
from cerlab.model.event import Event
from cerlab.predicates.syntax import Predicate
from cerlab.testing.conditions import random_predicate
from cerlab.testing.fo import random_fo_formula
from cerlab.testing.formulas import random_formula
from cerlab.testing.queries import random_query
from cerlab.testing.shape import ATTRIBUTES, Shape
from cerlab.testing.sremo import SremoKind, random_sremo, random_sremo_events
from cerlab.testing.streams import random_events

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Language: TypeAlias = Literal["cel", "family", "so", "fo", "fo-binary"]
LANGUAGES = ("cel", "family", "so", "fo", "fo-binary")

_A = cel.Atom("A")
_SO = (cel.Atom, cel.As, cel.Filter, cel.Or, cel.Seq, cel.Plus, cel.Rename, cel.Project)


def formulas(language: Language = "cel", shape: Shape = ATTRIBUTES) -> SearchStrategy[Formula]:
    """Formulas of a language.

    ``"cel"`` is what compiles to automata, ``"family"`` has AND, ALL, UNLESS, strategies and
    comparisons between labels too, ``"so"`` is SO-CEL (SOCEL Sec. 3), ``"fo"`` scoped well-formed
    unary FO-CEL, ``"fo-binary"`` compares two variables too. Raises `UsageError` for another name.
    """
    if language not in LANGUAGES:
        raise UsageError(
            "CER0806", f"unknown language '{language}'", hint=nearest(language, LANGUAGES)
        )
    return _from_random(lambda rng: _formula(rng, language, shape))


def _formula(rng: Random, language: Language, shape: Shape) -> Formula:
    match language:
        case "fo" | "fo-binary":
            return random_fo_formula(rng, shape, binary=language == "fo-binary")
        case "so":
            while True:
                phi = random_formula(rng, shape)
                if all(isinstance(psi, _SO) for psi in cel.subformulas(phi)):
                    return phi
        case "family" | "cel":
            family = language == "family" or shape.family
            return random_formula(rng, replace(shape, family=family))


def predicates(shape: Shape = ATTRIBUTES) -> SearchStrategy[Predicate]:
    """Predicates over the attributes v and w."""
    return _from_random(lambda rng: random_predicate(rng, shape))


def queries(shape: Shape = ATTRIBUTES) -> SearchStrategy[CeqlQuery]:
    """CEQL queries, every clause present or absent."""
    return _from_random(lambda rng: random_query(rng, shape))


def streams(phi: Formula = _A, shape: Shape = ATTRIBUTES) -> SearchStrategy[list[Event]]:
    """Streams, most with an answer of the formula: a word of it and noise around."""
    return _from_random(lambda rng: random_events(rng, phi, shape))


def cases(shape: Shape = ATTRIBUTES) -> SearchStrategy[tuple[str, list[dict[str, Any]]]]:
    """Pairs of a query's text and the events as dicts, for engines that share no types with us."""

    def case(rng: Random) -> tuple[str, list[dict[str, Any]]]:
        query = random_query(rng, shape)
        events = random_events(rng, query.formula, shape)
        return query_text(query), [as_dict(event) for event in events]

    return _from_random(case)


def sremos(kind: SremoKind = "all", shape: Shape = ATTRIBUTES) -> SearchStrategy[Sremo]:
    """Expressions."""
    return _from_random(lambda rng: random_sremo(rng, shape, kind))


def sremo_streams(e: Sremo, shape: Shape = ATTRIBUTES) -> SearchStrategy[list[Event]]:
    """Streams, most of which show a match of the expression."""
    return _from_random(lambda rng: random_sremo_events(rng, e, shape))


def _from_random(draw: Any) -> SearchStrategy[Any]:
    from hypothesis import strategies as st

    return st.randoms(use_true_random=False).map(draw)


def as_dict(event: Event) -> dict[str, Any]:
    """An event as `cerlab.evaluate` takes it."""
    stream = {"stream": event.stream} if event.stream else {}
    return {"type": event.type, **stream, **event.attributes}
