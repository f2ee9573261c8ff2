"""Random queries whose filters compare labels, with streams."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import cerlab
from cerlab import Formula, parse_formula
from cerlab.compile.pattern import Logic
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.semantics import query_answers
from cerlab.logic.ceql.syntax import CeqlQuery, SelectItem
from cerlab.logic.focel.semantics import fo_valuations
from cerlab.model.stream import Stream, time_axis
from cerlab.predicates import condition as cond
from cerlab.predicates.syntax import LabelAttribute, Operator
from cerlab.testing import (
    Shape,
    random_correlated_events,
    random_correlated_formula,
    random_fo_formula,
    random_query,
)
from cerlab.testing.sremo import comparisons
from proofs_tests.random_cases import Case

SHAPE = Shape(depth=3, events=6)

FEATURED_FORMULAS = (
    "(B+ AS x) ; C AS y ; A AS z FILTER x.v <= y.v AND x.v >= z.v",
    "((A AS x)+ OR (A AS x)+ ; B AS y) FILTER x.v <= y.v",
    "(A AS x OR B AS y)+ FILTER x.v = y.v",
    "(A AS x OR B AS y)+ FILTER x.v < y.v OR x.w > y.w",
    "((A AS x)+ ; B AS y FILTER x.v >= y.v)+",
    "A AS x ; A AS x ; B AS y FILTER x.v != y.v",
    "A AS x ; (B AS y)+ FILTER x.v != y.v AND x.w != y.w",
    "(A OR B) AS x AS y ; (A AS x OR B AS y) FILTER x.v <= y.w",
    "(A+ AS x) ; B AS y FILTER y.v >= 2 - x.v",
    "(A+ AS x) ; (B+ AS y) FILTER 2 * x.v = y.v + y.w",
    "A AS x ; A AS x ; B AS y FILTER y.v - x.v >= 0",
    "A AS x ; (B+ AS y) FILTER y.v - x.v >= 0 AND x.w - y.w <= 1",
)
"""Formulas whose answers depend on the remembered values."""


def correlated_case(rng: Random, shape: Shape = SHAPE, *, computing: bool = False) -> Case:
    """A formula that compares labels and has a transducer, as a query without clauses.

    With `computing` some side of a comparison is arithmetic.
    """
    while True:
        phi = random_correlated_formula(rng, shape)
        compared = [side for each in comparisons(phi) for side in (each.left, each.right)]
        if computing and all(isinstance(side, LabelAttribute) for side in compared):
            continue
        if compared and (case := _on_stream(rng, CeqlQuery(phi))).query.machine_kind == "registers":
            return case


def directed_case(rng: Random) -> Case:
    """One of the directed formulas, with a stream for it."""
    phi = parse_formula(rng.choice(FEATURED_FORMULAS))
    return _on_stream(rng, CeqlQuery(phi), Shape(events=6))


def under_clauses(rng: Random, shape: Shape = SHAPE, *, computing: bool = False) -> Case:
    """The same under random clauses."""
    phi = correlated_case(rng, shape, computing=computing).ast.formula
    query = replace(random_query(rng, Shape(depth=0)), formula=phi)
    if query.items is not None:
        labels = sorted(cel.defined_labels(phi))
        query = replace(query, items=tuple(SelectItem(x) for x in labels if rng.random() < 0.5))
    return _on_stream(rng, query, shape)


def fo_case(rng: Random) -> Case:
    """An FO-CEL formula with filters over two variables and a transducer, mostly with answers."""
    for _ in range(10):
        case = _fo_case(rng)
        if query_answers(case.ast, case.stream, fo_valuations):
            break
    return case


def _fo_case(rng: Random) -> Case:
    while True:
        phi = _with_operators(rng, random_fo_formula(rng, Shape(rich=False), binary=True))
        if not comparisons(phi):
            continue
        case = _on_stream(rng, CeqlQuery(phi), Shape(events=5))
        try:
            by_registers(Case(case.ast, Stream(())), "fo")
        except (cerlab.Unsupported, cerlab.ResourceLimit):
            continue
        return case


def _on_stream(rng: Random, query: CeqlQuery, shape: Shape = SHAPE) -> Case:
    events = random_correlated_events(rng, query.formula, shape)
    return Case(query, Stream(events, time=time_axis("t", "s")))


def _with_operators(rng: Random, phi: Formula) -> Formula:
    """The formula with any comparison in the place of each ``=`` between variables."""
    match phi:
        case cel.Filter(body, cond.Correlation() as compared):
            op = rng.choice(list(Operator))
            return cel.Filter(_with_operators(rng, body), replace(compared, operator=op))
        case cel.Filter() | cel.Plus():
            return replace(phi, body=_with_operators(rng, phi.body))
        case cel.Seq() | cel.Or():
            left, right = (_with_operators(rng, part) for part in (phi.left, phi.right))
            return replace(phi, left=left, right=right)
        case _:
            return phi


def by_registers(case: Case, logic: Logic = "so") -> list[cerlab.ComplexEvent]:
    return cerlab.evaluate(case.query, case.stream, evaluator="registers", logic=logic)
