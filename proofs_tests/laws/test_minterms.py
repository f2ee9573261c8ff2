"""Minterms: every vector that events have is listed, and every example has its vector."""

from __future__ import annotations

from random import Random

from cerlab.automata.determinise import DeterministicCea
from cerlab.model.event import Event, Value
from cerlab.predicates.minterms import minterms
from cerlab.predicates.syntax import (
    Attribute,
    Between,
    Comparison,
    Complement,
    Conjunction,
    Constant,
    Disjunction,
    Member,
    Operator,
    Predicate,
    StreamIs,
    TypeIs,
)
from cerlab.predicates.truth import satisfies
from cerlab.testing import TYPES
from cerlab.viz.macro import explored
from cerlab.workbench import as_query
from proofs_tests.suite import Suite

CONSTANTS: tuple[Value, ...] = (0, 1, 1.5, -2, 2**53, "a", "b", "ab", "", True, False)


def random_unary(rng: Random) -> Predicate:
    """A predicate whose atoms compare one attribute with constants."""
    attribute = Attribute(rng.choice("vw"))
    match rng.randrange(8):
        case 0:
            return TypeIs(rng.choice(TYPES))
        case 1:
            return StreamIs("S")
        case 2:
            return Member(attribute, (Constant(rng.choice(CONSTANTS)),), rng.random() < 0.5)
        case 3:
            low, high = (Constant(rng.choice(CONSTANTS)) for _ in range(2))
            return Between(attribute, low, high if rng.random() < 0.7 else None, rng.random() < 0.5)
        case 4:
            return Complement(random_unary(rng))
        case 5:
            return Conjunction(random_unary(rng), random_unary(rng))
        case 6:
            return Disjunction(random_unary(rng), random_unary(rng))
        case _:
            operator = rng.choice(list(Operator))
            return Comparison(operator, attribute, Constant(rng.choice(CONSTANTS)))


def symbol(event: Event, predicates: list[Predicate]) -> int:
    return sum(1 << k for k, P in enumerate(predicates) if satisfies(event, P))


def test_minterms_are_exactly_what_events_have(suite: Suite) -> None:
    values: tuple[Value, ...] = (*CONSTANTS, 0.5, 3, -5, 2**53 + 1, "aa", "zz", None)

    def case(rng: Random) -> bool:
        predicates = [random_unary(rng) for _ in range(rng.randrange(1, 4))]
        listed = minterms(predicates)
        for minterm in listed:
            assert minterm.example is not None
            assert symbol(minterm.example, predicates) == minterm.symbol
        known = {minterm.symbol for minterm in listed}
        for _ in range(30):
            attributes = {name: rng.choice(values) for name in "vw" if rng.random() < 0.8}
            event = Event(rng.choice((*TYPES, "Z")), attributes, rng.choice((None, "S", "T")))
            assert symbol(event, predicates) in known, (predicates, event)
        return len(known) > 1

    suite.run(case, deep_count=2_000, seconds=8)


def test_the_explored_automaton_has_only_moves_that_events_make() -> None:
    det = DeterministicCea(as_query("A ; B FILTER A[v > 1] AND A[v < 1]").cea)
    machine = explored(det)
    assert machine.exact
    assert len(machine.macro_states) == 1, "v > 1 and v < 1 cannot both hold"


def test_opaque_atoms_are_said_to_be_taken_as_free() -> None:
    machine = explored(DeterministicCea(as_query("A FILTER A[n LIKE 'x']").cea))
    assert not machine.exact
