"""The algebra of predicates: cases by hand, and against the events of minterms."""

from __future__ import annotations

from random import Random

import pytest

from cerlab import Schema, budget, satisfies
from cerlab.model.event import (
    AttributeDeclaration,
    AttributeType,
    EventDeclaration,
    StreamDeclaration,
)
from cerlab.predicates.minterms import disjoint, equivalent, implies, model, satisfiable
from cerlab.predicates.syntax import And, Arithmetic, Comparison, Computed, Constant, Not, Operator
from cerlab.testing import ATTRIBUTES, random_predicate
from proofs_tests.laws.vectors import V, W, p, vectors
from proofs_tests.suite import random_suite

INF = float("inf")

TABLE: list[tuple[tuple[str, ...], dict[str, bool]]] = [
    # True of every number; of a text, of nothing and of a boolean it is false.
    (("v + 1 > v",), {"0": True, "1": True}),
    (("v + 1 > v", "v = v"), {"00": True, "01": True, "11": True}),
    (("v % 2 = 0", "v % 2 = 1"), {"00": True, "01": True, "10": True}),
    (("v % 3 < 0",), {"0": True}),
    (("v % -3 > 0",), {"0": True}),
    (("v % 0 = 0",), {"0": True}),
    (("v / 0 = v",), {"0": True}),
    (("v % 1 = 0.5",), {"0": True, "1": True}),
    (("v / w = 0.5 AND w % 3 = 1",), {"0": True, "1": True}),
    (("v * v = 4 AND v < 0",), {"0": True, "1": True}),
    (("v * v < 0",), {"0": True}),
    # z3 decides over the reals and knows the square root of 2; no event has it, so it is undecided.
    (("v * v = 2",), {"0": True, "1": False}),
    (("w = v + 1", "v LIKE ''"), {"00": True, "01": True, "10": True}),  # no text plus 1
    (
        ("v < w", "w < u", "u < v"),
        {
            "000": True,
            "001": True,
            "010": True,
            "011": True,
            "100": True,
            "101": True,
            "110": True,
        },
    ),
    (("v <= w AND w <= v AND v != w",), {"0": True}),
    (("v != v",), {"0": True}),
    (("v = v",), {"0": True, "1": True}),  # false of NULL and of NaN
    # No such integers, but z3 does not see that they cannot be reals (see the schema below).
    (("v < w AND w < v + 1 AND v % 1 = 0 AND w % 1 = 0",), {"0": True, "1": False}),
    (("v > 'a' AND v < w AND w < 'ab'",), {"0": True, "1": True}),
    (("'' < v AND v < w AND w < 'b'",), {"0": True, "1": True}),
    (("v < w AND w < ''",), {"0": True}),
    (("v < w AND v = TRUE",), {"0": True}),
    (("v < w AND v = FALSE",), {"0": True, "1": True}),
    (("v = w AND v = 1 AND w = TRUE",), {"0": True}),
    (("type = stream AND type = ''",), {"0": True}),
    (("1 + 1 = 2",), {"1": True}),
    (("1 / 0 = 1",), {"0": True}),
    # The sum is more than 64 bits, and no event makes it true; over the rationals it is true.
    (("v = 9223372036854775807 AND v + 1 > v",), {"0": True, "1": False}),
    # Only rounding makes this true of numbers, and their rounding is not looked for.
    (("v / 3 * 3 != v AND v > 0",), {"0": True}),
    (("v / 3 * 3 != v",), {"0": True, "1": True}),  # a duration of a nanosecond
]


@pytest.mark.parametrize(("texts", "expected"), TABLE)
def test_arithmetic_and_several_attributes_by_hand(
    texts: tuple[str, ...], expected: dict[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    # z3 is charged by its time, which on a busy machine is several times the usual
    monkeypatch.setattr(budget, "STEPS", 10 * budget.STEPS)
    assert vectors(*texts) == expected


def test_infinity_is_a_number_that_attributes_can_have() -> None:
    infinite = Comparison(Operator.EQ, V, Constant(INF))
    above = And(Comparison(Operator.GT, W, V), Comparison(Operator.GT, V, Constant(10)))
    assert satisfiable(And(infinite, Comparison(Operator.EQ, V, W))) is True
    assert satisfiable(And(infinite, above)) is False
    assert satisfiable(And(Comparison(Operator.EQ, W, Constant(INF)), above)) is True
    assert satisfiable(Comparison(Operator.LT, V, Constant(-INF))) is False
    # Arithmetic is over the rationals, so together with the infinite it is not decided.
    more = Comparison(Operator.GT, Computed(Arithmetic.ADD, V, Constant(1)), V)
    assert satisfiable(And(infinite, more)) is None


def test_nan_compares_with_nothing() -> None:
    nan = Constant(float("nan"))
    for op in Operator:
        assert satisfiable(Comparison(op, V, nan)) is False
        assert satisfiable(Comparison(op, Computed(Arithmetic.ADD, V, nan), W)) is False
    double = AttributeDeclaration("v", AttributeType.DOUBLE)
    schema = Schema((StreamDeclaration("S", (EventDeclaration("A", (double,)),)),))
    assert satisfiable(Not(p("v <= 0 OR v > 0")), schema=schema) is True
    assert satisfiable(Not(p("v * v >= 0")), schema=schema) is True


def test_integers_of_more_than_64_bits_take_no_part_in_arithmetic() -> None:
    sum_ = Computed(Arithmetic.ADD, V, Constant(2**64))
    assert satisfiable(Comparison(Operator.GT, sum_, W)) is False


def test_integers_of_a_schema_are_decided_as_integers() -> None:
    ints = tuple(AttributeDeclaration(name, AttributeType.INT) for name in "vw")
    schema = Schema((StreamDeclaration("S", (EventDeclaration("A", ints),)),))
    assert vectors("v < w AND w < v + 1", schema=schema) == {"0": True}
    assert vectors("v * 2 = w * 2 + 1", schema=schema) == {"0": True}
    assert vectors("v % -3 = 1", "v % -3 = -2", schema=schema) == {"00": True, "01": True}
    assert vectors("v / 2 = 0.5", "v / 2 = 0", schema=schema) == {
        "00": True,
        "01": True,
        "10": True,
    }


def test_a_fixed_key_decides_what_it_can() -> None:
    assert vectors("v = w", values={"v": 3, "w": 3.0}) == {"1": True}
    assert vectors("v = w", values={"v": 1, "w": True}) == {"0": True}
    assert vectors("v < w", "w < 5", values={"v": 5}) == {"00": True, "01": True, "10": True}
    assert vectors("v + w = 3", "w = 1", values={"v": 2}) == {"00": True, "11": True}
    assert vectors("v * w = 2", values={"v": None}) == {"0": True}
    assert vectors("v LIKE '^a'", "v = w", values={"v": "ab"}) == {"10": True, "11": True}


def test_questions_and_their_answers() -> None:
    assert implies(p("v > w + 1"), p("v > w")) is True
    assert implies(p("v > w"), p("v > w + 1")) is False
    assert disjoint(p("v LIKE '^a'"), p("v LIKE '^b'")) is True
    assert disjoint(p("v LIKE '^a'"), p("v LIKE 'b'")) is False
    assert equivalent(p("v + w = 3"), p("w = 3 - v")) is True
    assert equivalent(p("v != 1"), p("NOT v = 1")) is False  # a missing v tells them apart
    assert satisfiable(p("v * v = 2")) is None
    assert implies(p("v * v = 2"), p("v = 7")) is None
    assert model(p("v > w")) is not None
    assert model(p("v > w AND w > v")) is None
    nullable = AttributeDeclaration("v", AttributeType.INT, nullable=True)
    for attribute, expected in (
        (nullable, False),
        (AttributeDeclaration("v", nullable.type), True),
    ):
        schema = Schema((StreamDeclaration("S", (EventDeclaration("A", (attribute,)),)),))
        assert equivalent(p("v != 1"), p("NOT v = 1"), schema=schema) is expected


@random_suite(20_000)
def test_the_algebra_agrees_with_the_events_of_minterms(rng: Random) -> bool:
    P, Q = (random_predicate(rng, ATTRIBUTES) for _ in range(2))
    event = model(And(P, Not(Q)))
    assert implies(P, Q) is (event is None)
    assert event is None or (satisfies(event, P) and not satisfies(event, Q))
    assert equivalent(P, Q) is (implies(P, Q) and implies(Q, P))
    assert disjoint(P, Q) is (not satisfiable(And(P, Q)))
    return satisfiable(P) is True
