"""Strategies for hypothesis: cases have answers, and engines with one fault are caught."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st

from cerlab import CerlabError, CerlabWarning, ComplexEvent, UsageError
from cerlab.compile.pattern import as_pattern
from cerlab.logic.cel import semantics
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.parser import parse_ceql
from cerlab.logic.ceql.syntax import CeqlQuery, query_text
from cerlab.model.answer import Valuation
from cerlab.model.clauses import AttributeWindow, EventWindow, Limit, TimeWindow
from cerlab.predicates import condition as cond
from cerlab.predicates import syntax as pred
from cerlab.predicates.truth import satisfies
from cerlab.testing import ATTRIBUTES, SMALL, Case, Shape, cases
from cerlab.testing.features import FEATURES, features
from proofs_tests.suite import Suite

EXAMPLES = 100
"""Examples of a test of hypothesis, unless it says otherwise."""

FAMILY = Shape(family=True)

Engine = Callable[[Case], list[ComplexEvent]]


def drawn(strategy: st.SearchStrategy[Case], seed: int, examples: int = EXAMPLES) -> list[Case]:
    """Return the cases that a test with a seed draws."""
    drawn_cases: list[Case] = []

    @with_seed(seed)
    @settings(max_examples=examples, database=None, phases=[Phase.generate])
    @given(strategy)
    def test(case: Case) -> None:
        drawn_cases.append(case)

    test()
    return drawn_cases


SHAPES = {
    "default": cases(),
    "SMALL": cases(SMALL),
    "family": cases(FAMILY),
    "timed": cases(Shape(timed=True), times=True),
    "typed": cases(Shape(typed=True)),
    "few features": cases(with_=";, +, OR, EVENTS"),
}


@pytest.mark.parametrize("name", SHAPES)
def test_most_cases_have_answers_and_nearly_all_have_events(name: str, suite: Suite) -> None:
    drawn_cases = [c for seed in range(10 if suite.deep else 3) for c in drawn(SHAPES[name], seed)]
    answered = sum(bool(case.answers) for case in drawn_cases)
    empty = sum(not case.events for case in drawn_cases)
    assert answered >= 0.7 * len(drawn_cases)
    assert empty < 0.05 * len(drawn_cases)
    assert answered < len(drawn_cases), "no case shows answers that are too many"
    assert len(set(drawn_cases)) > 0.9 * len(drawn_cases)


def reading(change: Callable[[CeqlQuery], CeqlQuery]) -> Engine:
    """Return an engine that reads a query as another one."""
    return lambda case: Case(query_text(change(as_pattern(case.query).ast)), case.events).answers


def parts(change: Callable[[cel.Formula], cel.Formula]) -> Engine:
    """Return an engine that reads each part of a formula as another one."""

    def changed(phi: cel.Formula) -> cel.Formula:
        return change(cel.map_children(changed, phi))

    return reading(lambda query: replace(query, formula=changed(query.formula)))


def with_meaning(name: str, function: Callable[..., Any]) -> Engine:
    """Return an engine with a function of the reference replaced."""

    def answers(case: Case) -> list[ComplexEvent]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(semantics, name, function)
            return Case(case.query, case.events).answers

    return answers


HOLDS = semantics.holds


def holds_for_any(condition: cond.Condition, V: Valuation, S: Any) -> bool:
    match condition:
        case cond.On(X, P):
            positions = V.labels.get(X, ())
            return not positions or any(satisfies(S[i], P) for i in positions)
        case pred.And(left, right):
            return holds_for_any(left, V, S) and holds_for_any(right, V, S)
        case pred.Or(left, right):
            return holds_for_any(left, V, S) or holds_for_any(right, V, S)
        case _:
            return HOLDS(condition, V, S)


def null_is_a_key(case: Case) -> list[ComplexEvent]:
    zero_for_null = [
        {**event, "k": 0 if event.get("k") is None else event["k"]} for event in case.events
    ]
    return Case(case.query, zero_for_null).answers


def keys_in_any_order(case: Case) -> list[ComplexEvent]:
    query = as_pattern(case.query).ast
    names = [name for bracket in query.partition for name in bracket]
    keys = [f"key{n}" for n in range(len(names))]
    events = [
        {**event, **dict(zip(keys, sorted(map(event.get, names), key=str), strict=True))}
        for event in case.events
    ]
    query = replace(query, partition=tuple((key,) for key in keys))
    return Case(query_text(query), events).answers


def first_key_only(query: CeqlQuery) -> CeqlQuery:
    return replace(query, partition=tuple((bracket[0],) for bracket in query.partition[:1]))


def one_more(query: CeqlQuery) -> CeqlQuery:
    limit = query.limit and Limit(query.limit.per_end + 1)
    return replace(query, limit=limit)


def exclusive(query: CeqlQuery) -> CeqlQuery:
    match query.window:
        case EventWindow(width) if width:
            return replace(query, window=EventWindow(width - 1))
        case TimeWindow(width) if width:
            return replace(query, window=TimeWindow(width - 1))
        case AttributeWindow(width, name) if width:
            return replace(query, window=AttributeWindow(width - 0.25, name))
        case _:
            return query


def at_most_twice(phi: cel.Formula) -> cel.Formula:
    return cel.Count(phi.body, 1, 2, gaps=True) if isinstance(phi, cel.Plus) else phi


def strict_comparison(phi: cel.Formula) -> cel.Formula:
    match phi:
        case cel.Filter(body, cond.On(X, pred.Comparison(pred.Operator.GE, left, right))):
            return cel.Filter(body, cond.On(X, pred.Comparison(pred.Operator.GT, left, right)))
        case _:
            return phi


def without(clause: str) -> Engine:
    """Return an engine that ignores a clause."""
    default = getattr(CeqlQuery(cel.Atom("A")), clause)
    return reading(lambda query: replace(query, **{clause: default}))


CLAUSES = ("items", "streams", "partition", "consume", "strategy", "throttle")


FAULTS: dict[str, tuple[Shape, Engine]] = {
    "FILTER any for all": (ATTRIBUTES, with_meaning("holds", holds_for_any)),
    "NULL is a key": (ATTRIBUTES, null_is_a_key),
    "WITHIN is exclusive": (ATTRIBUTES, reading(exclusive)),
    "; overlaps": (ATTRIBUTES, with_meaning("_before", lambda V, W: V.end < W.end)),
    "+ at most twice": (ATTRIBUTES, parts(at_most_twice)),
    "AND is its left side": (FAMILY, parts(lambda p: p.left if isinstance(p, cel.And) else p)),
    "OR is its left side": (ATTRIBUTES, parts(lambda p: p.left if isinstance(p, cel.Or) else p)),
    "; is contiguous": (
        ATTRIBUTES,
        parts(lambda p: cel.Concat(p.left, p.right) if isinstance(p, cel.Seq) else p),
    ),
    ">= is >": (ATTRIBUTES, parts(strict_comparison)),
    "UNLESS is its left side": (
        FAMILY,
        parts(lambda p: p.left if isinstance(p, cel.Unless) else p),
    ),
    **{f"no {name}": (ATTRIBUTES, without(name)) for name in CLAUSES},
    "first key only": (ATTRIBUTES, reading(first_key_only)),
    "keys in any order": (ATTRIBUTES, keys_in_any_order),
    "LIMIT is one more": (ATTRIBUTES, reading(one_more)),
    "each answer twice": (ATTRIBUTES, lambda case: case.answers * 2),
}
"""Engines with one fault each, and the shape of cases that reach it."""


def is_caught(engine: Engine, drawn_cases: list[Case]) -> bool:
    """Return whether a case shows that the engine is wrong; refusals show nothing."""
    for case in drawn_cases:
        try:
            if engine(case) != case.answers:
                return True
        except CerlabError:
            continue
    return False


def caught(seeds: range) -> dict[str, int]:
    """Return in how many tests of 100 examples each fault is caught."""
    counts = dict.fromkeys(FAULTS, 0)
    with warnings.catch_warnings(action="ignore", category=CerlabWarning):
        for seed in seeds:
            of_shape = {shape: drawn(cases(shape), seed) for shape in (ATTRIBUTES, FAMILY)}
            for name, (shape, engine) in FAULTS.items():
                counts[name] += is_caught(engine, of_shape[shape])
    return counts


def test_one_test_of_100_examples_catches_four_of_five_faults() -> None:
    assert sum(caught(range(1)).values()) >= 0.8 * len(FAULTS)


def test_each_fault_is_caught_in_four_of_five_tests(suite: Suite) -> None:
    if not suite.deep:
        pytest.skip("with --profile deep only: it takes a minute; the test before has one seed")
    counts = caught(range(20))
    assert all(count >= 16 for count in counts.values()), counts


def test_answers_are_computed_while_a_case_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test that compares an engine has no call of the reference, so none of its deadline."""
    calls = 0

    def counted(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        return valuations(*arguments)

    valuations = semantics._clause
    monkeypatch.setattr(semantics, "_clause", counted)

    @settings(max_examples=30, database=None)
    @given(cases())
    def test(case: Case) -> None:
        before = calls
        assert case.answers is not None
        assert calls == before

    test()
    assert calls


def test_a_case_is_hashable_and_has_a_strategy_by_its_type() -> None:
    case = Case("SELECT * WHERE A", [{"type": "A", "k": 1}])
    same = Case("SELECT * WHERE A", [{"type": "A", "k": 1.0}])
    assert len({case, same, Case("SELECT * WHERE B", case.events)}) == 2
    assert all(isinstance(each, Case) for each in drawn(st.from_type(Case), 0, 10))


def test_cases_have_the_features_that_are_asked_for() -> None:
    taken = {";", "+", "OR", "EVENTS", "PARTITION BY"}
    used: set[str] = set()
    for case in drawn(cases(with_=taken, without="PARTITION BY"), 0):
        used |= features(parse_ceql(case.query)[0])
    assert used == taken - {"PARTITION BY"}
    for name in FEATURES:
        needs = {";", "AS", "FILTER"} if name in ("x.v=y.v", "x.v+y.v") else set()
        times = name == "SECONDS"
        several = drawn(cases(Shape(depth=2), with_={name, *needs}, times=times), 0, 60)
        used = set().union(*(features(parse_ceql(case.query)[0]) for case in several))
        assert name in used <= {name, *needs}
    with pytest.raises(UsageError, match="no feature 'ORR'"):
        cases(with_="ORR")


def test_typed_events_have_one_schema() -> None:
    for case in drawn(cases(Shape(typed=True), times=True), 0):
        for event in case.events:
            assert event.keys() == {"type", "stream", "v", "w", "k", "t"}
            assert all(type(event[name]) in (int, type(None)) for name in "vwk")
