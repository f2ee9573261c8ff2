"""Minterms: every vector that events have is listed, and every example has its vector."""

from __future__ import annotations

from itertools import product
from random import Random

import pytest

from cerlab import Duration, Event, ResourceLimit, Schema, Timestamp, satisfies
from cerlab.automata.deterministic import DeterministicCea
from cerlab.compile.pattern import as_pattern
from cerlab.model.event import (
    AttributeDeclaration,
    AttributeType,
    EventDeclaration,
    StreamDeclaration,
    Value,
    value_of,
)
from cerlab.predicates import syntax as pred
from cerlab.predicates.domains import event_of
from cerlab.predicates.minterms import minterms
from cerlab.testing import ATTRIBUTES, TYPES, random_predicate
from cerlab.viz.deterministic import explore
from proofs_tests.suite import random_suite

NAN = float("nan")
CONSTANTS: tuple[Value, ...] = (0, 1, 1.5, -2, 2**53, "a", "b", "ab", "", True, False)

IS_NUMBER = pred.Between(pred.Attribute("v"), pred.Constant(float("-inf")), None)
HALVES = pred.And(
    pred.Comparison(pred.Operator.GT, pred.Attribute("v"), pred.Constant(0)),
    pred.Comparison(pred.Operator.LT, pred.Attribute("v"), pred.Constant(1)),
)
TWICE_IS_ONE = pred.Comparison(
    pred.Operator.EQ,
    pred.Computed(pred.Arithmetic.MUL, pred.Attribute("v"), pred.Constant(2)),
    pred.Constant(1),
)


def random_unary(rng: Random) -> pred.Predicate:
    """A predicate whose atoms compare one attribute with constants."""
    attribute = pred.Attribute(rng.choice("vw"))
    match rng.randrange(8):
        case 0:
            return pred.TypeIs(rng.choice(TYPES))
        case 1:
            return pred.StreamIs("S")
        case 2:
            return pred.Member(
                attribute, (pred.Constant(rng.choice(CONSTANTS)),), rng.random() < 0.5
            )
        case 3:
            low, high = (pred.Constant(rng.choice(CONSTANTS)) for _ in range(2))
            return pred.Between(
                attribute, low, high if rng.random() < 0.7 else None, rng.random() < 0.5
            )
        case 4:
            return pred.Not(random_unary(rng))
        case 5:
            return pred.And(random_unary(rng), random_unary(rng))
        case 6:
            return pred.Or(random_unary(rng), random_unary(rng))
        case _:
            operator = rng.choice(list(pred.Operator))
            return pred.Comparison(operator, attribute, pred.Constant(rng.choice(CONSTANTS)))


def symbol(event: Event, predicates: list[pred.Predicate]) -> int:
    return sum(1 << k for k, P in enumerate(predicates) if satisfies(event, P))


@random_suite(20_000)
def test_minterms_are_exactly_what_events_have(rng: Random) -> bool:
    values: tuple[Value, ...] = (*CONSTANTS, 0.5, 3, -5, 2**53 + 1, "aa", "zz", None)
    predicates = [random_unary(rng) for _ in range(rng.randrange(1, 4))]
    all_minterms = minterms(predicates)
    for minterm in all_minterms:
        assert minterm.example is not None
        assert symbol(minterm.example, predicates) == minterm.symbol
    symbols = {minterm.symbol for minterm in all_minterms}
    for _ in range(30):
        attributes = {name: rng.choice(values) for name in "vw" if rng.random() < 0.8}
        event = Event(rng.choice((*TYPES, "Z")), attributes, rng.choice((None, "S", "T")))
        assert symbol(event, predicates) in symbols, (predicates, event)
    return len(symbols) > 1


@random_suite(20_000)
def test_rich_predicates_have_every_vector_listed_and_every_example_has_its_vector(
    rng: Random,
) -> bool:
    values: tuple[Value, ...] = (0, 1, 2, -1, 0.5, 1.0, "a", "b", "ba", "", True, False, NAN, None)
    predicates = [random_predicate(rng, ATTRIBUTES) for _ in range(rng.randrange(1, 5))]
    all_minterms = minterms(predicates)
    for minterm in all_minterms:
        assert minterm.example is not None, "these predicates are all decided"
        assert symbol(minterm.example, predicates) == minterm.symbol
    symbols = {minterm.symbol for minterm in all_minterms}
    for v, w in product(values, repeat=2):
        event = Event("A", {"v": v, "w": w})
        assert symbol(event, predicates) in symbols, (predicates, event)
    return len(symbols) > 1


SCHEMA_VALUES: dict[AttributeType, tuple[Value, ...]] = {
    AttributeType.INT: (-1, 0, 1, 2, 3),
    AttributeType.DOUBLE: (-1.0, 0.0, 0.5, 1.0, 2.0, NAN),
    AttributeType.STRING: ("", "a", "b", "ab", "other"),
    AttributeType.BOOLEAN: (True, False),
    AttributeType.TIMESTAMP: (Timestamp(0), Timestamp(5)),
    AttributeType.DURATION: (Duration(0), Duration(-5)),
}


def random_schema(rng: Random) -> Schema:
    def event(name: str) -> EventDeclaration:
        kinds = list(AttributeType)
        attributes = (
            AttributeDeclaration(attribute, rng.choice(kinds), rng.random() < 0.4)
            for attribute in "vwu"
            if rng.random() < 0.8
        )
        return EventDeclaration(name, tuple(attributes))

    names = ("S", "T")[: rng.randrange(1, 3)]
    return Schema(
        tuple(
            StreamDeclaration(name, tuple(event(R) for R in "AB" if rng.random() < 0.8))
            for name in names
        )
    )


def random_declared(rng: Random, schema: Schema) -> Event | None:
    """An event that the schema declares, None if this draw found none."""
    stream = rng.choice((None, *(of_schema.name for of_schema in schema.streams)))
    declaration = schema.event(rng.choice("AB"), stream)
    if declaration is None:
        return None
    attributes = {
        each.name: None
        if each.nullable and rng.random() < 0.3
        else rng.choice(SCHEMA_VALUES[each.type])
        for each in declaration.attributes
    }
    return Event(declaration.name, attributes, stream)


def is_declared(event: Event, schema: Schema) -> bool:
    """Whether an event is exactly as one of the declarations says."""
    declaration = schema.event(event.type, event.stream)
    if declaration is None or set(event.attributes) != {a.name for a in declaration.attributes}:
        return False
    python = {
        AttributeType.INT: int,
        AttributeType.DOUBLE: float,
        AttributeType.STRING: str,
        AttributeType.BOOLEAN: bool,
        AttributeType.TIMESTAMP: Timestamp,
        AttributeType.DURATION: Duration,
    }
    return all(
        each.nullable
        if (value := event.attributes[each.name]) is None
        else type(value) is python[each.type]
        for each in declaration.attributes
    )


@random_suite(20_000, needs_answers=0.4)
def test_with_a_schema_events_are_exactly_those_declared(rng: Random) -> bool:
    schema = random_schema(rng)
    draw = random_unary if rng.random() < 0.5 else lambda r: random_predicate(r, ATTRIBUTES)
    predicates = [draw(rng) for _ in range(rng.randrange(1, 4))]
    if rng.random() < 0.3:
        predicates.append(pred.StreamIs(rng.choice("ST")))
    all_minterms = minterms(predicates, schema=schema)
    for minterm in all_minterms:
        assert minterm.example is not None
        assert is_declared(minterm.example, schema), minterm
        assert symbol(minterm.example, predicates) == minterm.symbol
    symbols = {minterm.symbol for minterm in all_minterms}
    for _ in range(30):
        event = random_declared(rng, schema)
        assert event is None or symbol(event, predicates) in symbols, (predicates, event)
    return len(symbols) > 1


@random_suite(20_000)
def test_fixed_attributes_have_exactly_their_values(rng: Random) -> bool:
    values: tuple[Value, ...] = (0, 1, 1.0, True, "a", 0.5, NAN, None)
    values_by_name = {name: rng.choice(values) for name in "vw" if rng.random() < 0.6}
    if rng.random() < 0.3:
        values_by_name["type"] = rng.choice(TYPES)
    if rng.random() < 0.3:
        values_by_name["stream"] = rng.choice(("S", None))
    draws = (random_unary, lambda r: random_predicate(r, ATTRIBUTES))
    predicates = [rng.choice(draws)(rng) for _ in range(rng.randrange(1, 4))]
    all_minterms = minterms(predicates, values=values_by_name)
    for minterm in all_minterms:
        assert minterm.example is not None
        assert symbol(minterm.example, predicates) == minterm.symbol
        for name, value in values_by_name.items():
            own_value = value_of(minterm.example, name)
            assert (type(own_value), repr(own_value)) == (type(value), repr(value))
    symbols = {minterm.symbol for minterm in all_minterms}
    for v, w in product(values, repeat=2):
        kind_and_stream = {"type": rng.choice(TYPES), "stream": rng.choice((None, "S", "T"))}
        event = event_of({**kind_and_stream, "v": v, "w": w, **values_by_name})
        assert symbol(event, predicates) in symbols, (predicates, event)
    return len(values_by_name) > 0


def test_the_explored_automaton_has_only_moves_that_events_make() -> None:
    det = DeterministicCea(as_pattern("A ; B FILTER A[v > 1] AND A[v < 1]").cea)
    machine = explore(det)
    assert machine.exact
    assert len(machine.states) == 1, "v > 1 and v < 1 cannot both hold"


def test_like_and_arithmetic_are_decided_in_the_explored_automaton() -> None:
    det = DeterministicCea(as_pattern("A ; B FILTER A[n LIKE '^x'] AND A[n LIKE '^y']").cea)
    assert explore(det).exact
    assert len(explore(det).states) == 1, "a text does not begin with x and with y"
    assert explore(DeterministicCea(as_pattern("A FILTER A[v + w = 3]").cea)).exact


def test_what_is_not_decided_is_said() -> None:
    machine = explore(DeterministicCea(as_pattern("A FILTER A[n LIKE 'a{2}' AND n LIKE 'a']").cea))
    assert not machine.exact


def test_constants_that_a_float_cannot_tell_apart_have_a_gap_where_there_is_an_integer() -> None:
    v = pred.Attribute("v")
    inside = pred.And(
        pred.Comparison(pred.Operator.GT, v, pred.Constant(2**53)),
        pred.Comparison(pred.Operator.LT, v, pred.Constant(2**53 + 2)),
    )
    assert [minterm.example for minterm in minterms([inside]) if minterm.symbol] == [
        Event("other", {"v": 2**53 + 1})
    ]
    huge = pred.Comparison(pred.Operator.GT, v, pred.Constant(10**400))
    assert {minterm.symbol for minterm in minterms([huge, pred.Not(huge)])} == {1, 2}
    assert {
        minterm.symbol for minterm in minterms([huge], schema=schema_of(AttributeType.INT))
    } == {0}


def test_types_are_compared_as_texts_and_are_not_empty() -> None:
    small = pred.Comparison(pred.Operator.LT, pred.Attribute("type"), pred.Constant("A"))
    empty = pred.Comparison(pred.Operator.EQ, pred.Attribute("type"), pred.Constant(""))
    all_minterms = minterms([small, empty])
    assert {minterm.symbol for minterm in all_minterms} == {0, 1}
    assert all(minterm.example is not None for minterm in all_minterms)


def test_timestamps_have_representatives() -> None:
    late = pred.Comparison(pred.Operator.GT, pred.Attribute("t"), pred.Constant(Timestamp(5)))
    assert {minterm.symbol for minterm in minterms([late])} == {0, 1}


def schema_of(kind: AttributeType, nullable: bool = False) -> Schema:
    attribute = AttributeDeclaration("v", kind, nullable)
    return Schema((StreamDeclaration("S", (EventDeclaration("A", (attribute,)),)),))


@pytest.mark.parametrize(
    ("predicate", "kind", "nullable", "symbols"),
    [
        (IS_NUMBER, AttributeType.INT, False, {1}),
        (IS_NUMBER, AttributeType.INT, True, {0, 1}),
        (IS_NUMBER, AttributeType.DOUBLE, False, {0, 1}),  # NaN is a double
        (IS_NUMBER, AttributeType.STRING, True, {0}),
        (HALVES, AttributeType.INT, False, {0}),
        (HALVES, AttributeType.DOUBLE, False, {0, 1}),
        (TWICE_IS_ONE, AttributeType.INT, False, {0}),
        (TWICE_IS_ONE, AttributeType.DOUBLE, False, {0, 1}),
        (pred.Like(pred.Attribute("v"), ""), AttributeType.STRING, False, {1}),
        (pred.Like(pred.Attribute("v"), ""), AttributeType.STRING, True, {0, 1}),
        (
            pred.Comparison(pred.Operator.EQ, pred.Attribute("u"), pred.Attribute("u")),
            AttributeType.INT,
            True,
            {0},
        ),
        (pred.StreamIs("S"), AttributeType.INT, False, {1}),
        (pred.StreamIs("T"), AttributeType.INT, False, {0, 1}),  # the stream may be not known
        (pred.TypeIs("B"), AttributeType.INT, False, {0}),
    ],
)
def test_a_schema_by_hand(
    predicate: pred.Predicate, kind: AttributeType, nullable: bool, symbols: set[int]
) -> None:
    all_minterms = minterms([predicate], schema=schema_of(kind, nullable))
    assert {minterm.symbol for minterm in all_minterms} == symbols
    assert all(minterm.example is not None for minterm in all_minterms)


def test_a_fixed_value_that_the_schema_forbids_leaves_no_event() -> None:
    schema = schema_of(AttributeType.INT)
    for values in ({"v": None}, {"v": 0.5}, {"v": "a"}, {"v": True}, {"type": "B"}, {"u": 1}):
        assert minterms([IS_NUMBER], schema=schema, values=values) == ()
    assert len(minterms([IS_NUMBER], schema=schema, values={"v": 1, "type": "A", "u": None})) == 1
    assert minterms([IS_NUMBER], values={"type": ""}) == ()


def test_too_many_minterms_are_refused() -> None:
    many = [
        pred.Comparison(pred.Operator.GT, pred.Attribute(f"v{n}"), pred.Constant(0))
        for n in range(17)
    ]
    with pytest.raises(ResourceLimit, match="CER0605"):
        minterms(many)


@pytest.mark.parametrize(
    ("values", "symbols"),
    [
        ({"v": 5}, {1, 3}),
        ({"v": 0, "w": 1}, {2}),
        ({"u": None}, {0, 1, 2, 3}),
        ({"u": 1}, set()),
    ],
)
def test_fixed_values_are_those_of_all_events(values: dict[str, Value], symbols: set[int]) -> None:
    """Tests ``v > 3`` and ``w = 1``; u is not declared, so it is NULL."""
    kinds = tuple(AttributeDeclaration(name, AttributeType.INT) for name in "vw")
    schema = Schema((StreamDeclaration("S", (EventDeclaration("A", kinds),)),))
    predicates = [
        pred.Comparison(pred.Operator.GT, pred.Attribute("v"), pred.Constant(3)),
        pred.Comparison(pred.Operator.EQ, pred.Attribute("w"), pred.Constant(1)),
    ]
    all_minterms = minterms(predicates, schema=schema, values=values)
    assert {minterm.symbol for minterm in all_minterms} == symbols
    for minterm in all_minterms:
        assert minterm.example is not None
        assert all(value_of(minterm.example, name) == value for name, value in values.items())
