"""Guards on an event and registers, by hand (SRT Def. 10; SRT Def. 13)."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from cerlab import Event, parse_sremo, satisfies
from cerlab.logic.sremo import syntax as sre
from cerlab.model.answer import Registers
from cerlab.predicates.syntax import EVERYTHING, And, Guard, Not, Or, atoms, registers_of
from cerlab.predicates.text import predicate_text
from cerlab.testing import REGISTERS, random_sremo, random_sremo_events
from proofs_tests.suite import random_suite


def guard(text: str) -> Guard:
    e = parse_sremo(f"<{text}>")
    assert isinstance(e, sre.Terminal)
    return e.guard


def event(**attributes: Any) -> Event:
    return Event(attributes.pop("type", "A"), attributes)


T = event(v=1, name="a", flag=True)
R = Registers({"r": event(v=1, name="b", type="B"), "s": event(v=2.0)})
"""r and s are stored; e is empty."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("TRUE", True),
        ("NOT TRUE", False),
        ("type = 'A'", True),
        ("type = 'B'", False),
        ("v = 1", True),
        ("v = 1.0", True),
        ("v = TRUE", False),
        ("flag = TRUE", True),
        ("flag = 1", False),
        ("missing = 1", False),
        ("missing != 1", False),
        ("NOT missing = 1", True),
        ("v * 2 + 1 > 2", True),
        ("name LIKE '^a'", True),
        ("v IN {1, 2}", True),
        ("v NOT IN {1, 2}", False),
        ("v IN {0..1}", True),
        ("v = r.v", True),
        ("v < s.v", True),
        ("v + 1 = s.v", True),
        ("r.v < s.v", True),
        ("s.v < r.v", False),
        ("r.v = 1", True),
        ("r.v = r.v", True),
        ("r.type = 'B'", True),
        ("type = r.type", False),
        ("type != r.type", True),
        ("name = r.v", False),
        ("name != r.v", False),
        ("v = r.missing", False),
        ("v != r.missing", False),
        ("NOT v = r.missing", True),
        ("v = e.v", False),
        ("v != e.v", False),
        ("NOT v = e.v", True),
        ("NOT v != e.v", True),
        ("e.v = e.v", False),
        ("missing = e.v", False),
        ("NOT (v = e.v OR v = 2)", True),
        ("NOT (v = e.v AND v = 1)", True),
        ("v = 1 AND v = r.v", True),
        ("v = 1 AND v = s.v", False),
        ("v = 2 OR v = r.v", True),
        ("v = 2 OR v = s.v", False),
    ],
)
def test_truth(text: str, expected: bool) -> None:
    assert satisfies(T, guard(text), R) is expected
    assert satisfies(T, Not(guard(text)), R) is not expected


def test_not_binds_tighter_than_and_and_and_than_or() -> None:
    a, b, c = (guard(text) for text in ("v = 1", "v = r.v", "r.v = s.v"))
    assert guard("v = 1 OR v = r.v AND r.v = s.v") == Or(a, And(b, c))
    assert guard("NOT v = 1 AND v = r.v") == And(Not(a), b)
    assert guard("v = 1 OR v = r.v OR r.v = s.v") == Or(Or(a, b), c)
    assert predicate_text(Not(Or(a, And(b, c)))) == "NOT (v = 1 OR v = r.v AND r.v = s.v)"
    assert predicate_text(And(Or(a, b), c)) == "(v = 1 OR v = r.v) AND r.v = s.v"


def test_what_a_guard_reads() -> None:
    phi = guard("v = 1 AND (NOT v = r.v OR s.v < 3) AND TRUE")
    assert registers_of(phi) == {"r", "s"}
    assert [*map(predicate_text, atoms(phi))] == ["v = 1", "v = r.v", "s.v < 3"]
    assert registers_of(EVERYTHING) == frozenset()


@random_suite(5_000)
def test_de_morgan_and_exactly_one_minterm_even_on_empty_registers(rng: Random) -> bool:
    """So guards are two-valued: what determinisation by minterms needs (SRT Def. 13)."""
    a, b = (guard_of(rng) for _ in range(2))
    contents = random_sremo_events(rng, sre.SKIP)[:1]
    v = Registers({rng.choice(REGISTERS): t for t in contents})
    S = random_sremo_events(rng, sre.Concat(sre.Terminal(a), sre.Terminal(b)))
    for t in S:
        assert satisfies(t, Not(And(a, b)), v) == satisfies(t, Or(Not(a), Not(b)), v)
        minterms = [And(p, q) for p in (a, Not(a)) for q in (b, Not(b))]
        assert sum(satisfies(t, m, v) for m in minterms) == 1
    return bool(S) and bool(registers_of(a) | registers_of(b))


def guard_of(rng: Random) -> Guard:
    """A guard of a random expression, mostly one that reads a register."""
    with_registers: list[Guard] = []
    while not with_registers:
        every = sre.subexpressions(random_sremo(rng))
        guards = [each.guard for each in every if isinstance(each, sre.Terminal)]
        with_registers = [phi for phi in guards if registers_of(phi) or rng.random() < 0.1]
    return rng.choice(with_registers)


def test_registers_are_values_that_confuse_nothing() -> None:
    v = Registers({"r": event(v=1)})
    assert v == Registers({"r": event(v=1, w=None)})
    assert hash(v) == hash(Registers({"r": event(v=1, w=None)}))
    different: list[object] = [1.0, True, 2, "1", None]
    assert all(v != Registers({"r": event(v=value)}) for value in different)
    assert v != Registers({"r": event(v=1, type="B")})
    assert v != Registers({"s": event(v=1)})
    assert v != Registers()
    after = v.written({"r", "s"}, T)
    assert dict(after) == {"r": T, "s": T}
    assert dict(v) == {"r": event(v=1)}, "writing makes a new one"
    assert after.written((), event()) == after
