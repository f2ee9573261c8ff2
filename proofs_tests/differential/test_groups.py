"""Conditions on groups: the evaluators, and a second reading of their values, agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

import cerlab
from cerlab import evaluate
from cerlab.api.sessions import Session
from cerlab.evaluate import answers_of, names_that_take, valuations_of
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.semantics import query_answers, query_valuations
from cerlab.model.answer import by_end
from cerlab.model.clauses import EventWindow, Strategy
from cerlab.model.event import Event
from cerlab.model.stream import Stream
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Condition, Correlation
from cerlab.testing import Shape, random_events, random_formula, random_group_condition
from cerlab.testing.choices import likely
from proofs_tests.differential.test_evaluators import require
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import Suite, random_suite

ODD = (None, float("nan"), True, "a", 2**63, 1.5, 2**53, 2.0**53, float("inf"))
"""Values of events that conditions on groups tell apart, or leave out."""


def case_of_groups(rng: Random) -> Case:
    """Return a query whose outermost filters are conditions on groups, and a stream.

    A case without answers is often drawn again.
    """
    case = _drawn(rng)
    while likely(rng, 0.5) and not query_answers(case.ast, case.stream):
        case = _drawn(rng)
    return case


def _drawn(rng: Random) -> Case:
    case = random_case(rng, Shape(depth=2, events=7))
    ast = case.ast
    if likely(rng, 0.6):
        ast = replace(ast, window=None, strategy=None)
    labels = sorted({*cel.defined_labels(ast.formula), *("xyz" if likely(rng, 0.05) else "")})
    formula: cel.Formula = ast.formula
    if not labels:
        formula, labels = cel.Plus(cel.As(cel.Atom("A"), "x")), ["A", "x"]
    if likely(rng, 0.4):
        formula = cel.As(cel.Plus(formula), "x")
        labels = [*labels, "x", "x", "x"]
    if likely(rng, 0.15):
        formula = cel.Select(rng.choice(list(Strategy)), formula)
    for _ in range(1 + likely(rng, 0.1)):
        formula = cel.Filter(formula, random_group_condition(rng, labels))
    events = [_with_odd_values(rng, event) for event in case.stream]
    return Case(replace(ast, formula=formula), Stream(events, time=case.stream.time))


def _with_odd_values(rng: Random, event: Event) -> Event:
    names = [name for name in event.attributes if name in ("v", "w") and likely(rng, 0.04)]
    odd = {name: rng.choice(ODD) for name in names}
    return Event(event.type, {**event.attributes, **odd}, event.stream)


def agree(rng: Random) -> bool | None:
    """All that take a query give the answers and the valuations of the reference."""
    case = case_of_groups(rng)
    assert "compiled" in names_that_take(case.query), case.describe()
    return _agree(case)


def _agree(case: Case) -> bool | None:
    expected = query_answers(case.ast, case.stream)
    valuations = set(query_valuations(case.ast, case.stream))
    if len(valuations) > 3_000:
        return None
    for name in names_that_take(case.query):
        if name == "reference":
            continue
        answers = list(answers_of(case.query, case.stream, name))
        require(len(answers) == len(set(answers)), f"{name} repeats", case)
        require(sorted(answers, key=by_end) == expected, name, case)
        require([A.end for A in answers] == [A.end for A in expected], f"order of {name}", case)
        if name in ("tecs", "lists"):  # which give no labels
            continue
        labels = list(valuations_of(case.query, case.stream, name))
        require(len(labels) == len(set(labels)), f"{name} repeats labels", case)
        require(set(labels) == valuations, f"labels of {name}", case)
    require(cerlab.count(case.query, case.stream) == len(expected), "count", case)
    return bool(expected)


def random_operand(rng: Random, label: str) -> pred.LabelLeaf:
    """Return x.v, FIRST, LAST or PREV of it: what registers hold, in a form that they compare."""
    name = rng.choice("vvw")
    kind = rng.choice(("plain", "first", "last", "prev"))
    if kind == "plain":
        return pred.LabelAttribute(label, name)
    if kind == "prev":
        return pred.Previous(label, name)
    return pred.OfGroup(pred.Group[kind.upper()], label, name)


def random_comparison(rng: Random, labels: list[str]) -> Correlation:
    """Return a comparison of FIRST, LAST, PREV of one label or two, at times computed."""
    x, y = rng.choice(labels), rng.choice(labels)
    left, right = random_operand(rng, x), random_operand(rng, rng.choice((x, y)))
    op = rng.choice((*pred.Operator, pred.Operator.GE, pred.Operator.LE, pred.Operator.GE))
    match rng.randrange(6):
        case 0:
            return Correlation(op, left, pred.Constant(rng.choice((0, 1, 1, 2))))
        case 1:
            step = pred.Constant(rng.choice((0, 1)))
            return Correlation(op, left, pred.Computed(pred.Arithmetic.ADD, right, step))
        case 2:
            difference = pred.Computed(pred.Arithmetic.SUB, left, right)
            return Correlation(op, difference, pred.Constant(rng.choice((0, 0, 1, -1))))
        case _:
            return Correlation(op, left, right)


AROUND = ("nothing", "plus", "seq", "before", "or", "and", "unless", "count", "project", "within")


def placed(rng: Random, phi: cel.Formula) -> cel.Formula:
    """Return a formula with a part somewhere inside."""
    other = random_formula(rng, Shape(depth=1))
    match rng.choice(AROUND):
        case "plus":
            return cel.Plus(phi)
        case "seq":
            return cel.Seq(phi, other)
        case "before":
            return cel.Seq(other, phi)
        case "or":
            return cel.Or(phi, other)
        case "and":
            return cel.And(phi, phi.body if isinstance(phi, cel.Filter) else phi)
        case "unless":
            return cel.Unless(phi, other) if likely(rng, 0.5) else cel.Unless(other, phi)
        case "count":
            return cel.Count(phi, 1, 2, gaps=True)
        case "project":
            labels = sorted(cel.defined_labels(phi))
            return cel.Project(frozenset(x for x in labels if likely(rng, 0.7)), phi)
        case "within":
            return cel.Within(phi, EventWindow(rng.randrange(1, 6)))
        case _:
            return phi


def case_of_registers(rng: Random) -> Case:
    """Return a query with comparisons of FIRST, LAST, PREV anywhere, and a stream."""
    case = _drawn_for_registers(rng)
    while likely(rng, 0.7) and not query_answers(case.ast, case.stream):
        case = _drawn_for_registers(rng)
    return case


def _drawn_for_registers(rng: Random) -> Case:
    case = random_case(rng, Shape(depth=1, events=8))
    parts = [cel.As(cel.Plus(random_formula(rng, Shape(depth=1))), label) for label in "xy"]
    # the iterations of both in any order are too many valuations
    together = cel.All(parts[0], cel.As(random_formula(rng, Shape(depth=0)), "y"))
    body: cel.Formula = rng.choice((cel.Seq(*parts), cel.Or(*parts), together, parts[0]))
    condition: Condition = random_comparison(rng, ["x", "x", "y"])
    if likely(rng, 0.3):
        both = rng.choice((pred.And, pred.Or))
        condition = both(condition, random_comparison(rng, ["x", "y"]))
    formula = placed(rng, cel.Filter(body, condition))
    events = random_events(rng, formula, Shape(events=8))
    odd = [_with_odd_values(rng, event) for event in events]
    ast = replace(case.ast, formula=formula, items=None)
    return Case(ast, Stream(odd, time=case.stream.time))


def registers_agree(rng: Random) -> bool | None:
    """All that take a query of FIRST, LAST and PREV anywhere agree with the reference."""
    case = case_of_registers(rng)
    taken = sum(name != "reference" for name in names_that_take(case.query))
    return _agree(case) if taken else None


def test_first_last_and_previous_are_taken_anywhere(suite: Suite) -> None:
    suite.run(registers_agree, deep_count=20_000)


@pytest.mark.parametrize(
    ("condition", "kind"),
    [
        ("FIRST(x.v) >= 1", "automaton"),
        ("LAST(x.v) = LAST(x.w)", "automaton"),
        ("PREV(x.v) > 1", "automaton"),
        ("LAST(x.v) > FIRST(x.v)", "registers"),
        ("x.v >= FIRST(x.v)", "registers"),
        ("x.v != LAST(y.v)", "listed"),
        ("y.v != FIRST(x.v)", "registers"),
        ("PREV(x.v) < PREV(y.v)", "registers"),
        ("x.v > PREV(x.v) AND y.v > PREV(y.v)", "registers"),
        ("x.v <= PREV(y.v) + 1", "registers"),
        ("PREV(x.v) != y.v", "listed"),
        ("LAST(x.v) - FIRST(x.v) > y.v", "listed"),
    ],
)
def test_registers_take_what_a_bounded_number_of_them_holds(condition: str, kind: str) -> None:
    query = cerlab.parse_query(f"SELECT * WHERE A+ AS x ; B+ AS y FILTER {condition}")
    assert query.machine_kind == kind


def test_all_that_take_a_query_agree_with_the_reference(suite: Suite) -> None:
    suite.run(agree, deep_count=20_000)


@pytest.mark.parametrize("draw", [case_of_groups, case_of_registers])
@random_suite(4_000)
def test_sessions_give_the_same_however_events_are_pushed(
    rng: Random, draw: Callable[[Random], Case]
) -> bool | None:
    sample = draw(rng)
    query, stream = sample.query, sample.stream
    expected = evaluate(query, stream, evaluator="reference")
    try:
        session = Session(query, stream.time, None)
    except cerlab.Unsupported:
        return None
    answers: list[cerlab.ComplexEvent] = []
    at = 0
    while at < len(stream):
        batch = stream[at : at + rng.choice((1, 1, 2, 3, 99))]
        answers += session.push(batch)
        at += len(batch)
        if likely(rng, 0.3):
            session = Session(query, stream.time, session.state())
    require(sorted(answers, key=by_end) == expected, "session", sample)
    return bool(expected)
