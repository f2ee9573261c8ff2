"""Random formulas, queries and streams, for fuzzing an engine against the reference.

Everything is a function of a ``random.Random``; `strategies` has the same for hypothesis:

    from cerlab.testing import cases

    @given(cases())
    def test_my_engine(case):
        query, events = case
        assert my_engine(query, events) == cerlab.evaluate(query, events, evaluator="reference")

An engine for one language only takes `formulas` of that language and `streams` for each of them:

    @given(st.data())
    def test_my_sequences(data):
        phi = data.draw(formulas("so", SMALL))
        S = data.draw(streams(phi, SMALL))

The alphabet is small on purpose (types A, B, C; `SMALL` has one attribute v in 0, 1, `ATTRIBUTES`
values of every kind): what distinguishes two engines is nearly always tiny. Streams are biased
towards answers: a word of the formula's language is planted, and noise put between. Failing cases
shrink towards a single ``A`` and the empty stream.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from cerlab.errors import UsageError, nearest
from cerlab.logic.cel import syntax
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.ceql.syntax import CeqlQuery, query_text
from cerlab.logic.sremo.syntax import Sremo
from cerlab.model.event import Event
from cerlab.predicates.syntax import Predicate
from cerlab.testing.cel import (
    ATTRIBUTES,
    LABELS,
    SMALL,
    STREAMS,
    TYPES,
    Shape,
    any_fo_formula,
    random_condition,
    random_events,
    random_fo_formula,
    random_formula,
    random_predicate,
    random_query,
    with_limit,
)
from cerlab.testing.correlated import random_correlated_events, random_correlated_formula
from cerlab.testing.rows import random_row_pattern, random_row_table
from cerlab.testing.smaller import smallest
from cerlab.testing.sremo import REGISTERS, SremoKind, random_sremo, random_sremo_events

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

__all__ = [
    "ATTRIBUTES",
    "LABELS",
    "REGISTERS",
    "SMALL",
    "STREAMS",
    "TYPES",
    "Shape",
    "SremoKind",
    "any_fo_formula",
    "as_dict",
    "cases",
    "formulas",
    "predicates",
    "queries",
    "random_condition",
    "random_correlated_events",
    "random_correlated_formula",
    "random_events",
    "random_fo_formula",
    "random_formula",
    "random_predicate",
    "random_query",
    "random_row_pattern",
    "random_row_table",
    "random_sremo",
    "random_sremo_events",
    "smallest",
    "sremo_streams",
    "sremos",
    "streams",
    "with_limit",
]


Language: TypeAlias = Literal["cel", "family", "so", "fo", "fo-binary"]


LANGUAGES = ("cel", "family", "so", "fo", "fo-binary")


_A = syntax.Atom("A")


_SO = (
    syntax.Atom,
    syntax.As,
    syntax.Filter,
    syntax.Or,
    syntax.Seq,
    syntax.Plus,
    syntax.Rename,
    syntax.Project,
)


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
                if all(isinstance(psi, _SO) for psi in syntax.subformulas(phi)):
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
