"""The deciders against exhaustive search: small formulas, all pairs, all streams up to length 5."""

from __future__ import annotations

from functools import cache
from itertools import product

import pytest

import cerlab
from cerlab import ComplexEvent, Event
from cerlab.automata.decide import Side
from cerlab.decisions import contained, equivalent, satisfiable
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.semantics import valuations
from cerlab.model.answer import complex_event
from cerlab.model.clauses import Strategy
from proofs_tests.suite import Suite

TYPES = ("A", "B")
STREAMS = [
    tuple(Event(t) for t in word)
    for length in range(1, 6)
    for word in product((*TYPES, "other"), repeat=length)
]


def formulas() -> list[cel.Formula]:
    """All formulas up to size 3 over A and B: atoms, +, :+, NOT, the binary operators."""
    atoms: list[cel.Formula] = [cel.Atom(t) for t in TYPES]
    unary = (cel.Plus, cel.ConcatPlus, _project, _strict)
    binary = (cel.Seq, cel.Concat, cel.Or, cel.And, cel.All, cel.Unless)
    negations: list[cel.Formula] = [cel.Not(atom) for atom in atoms]
    second: list[cel.Formula] = [op(phi) for op in unary for phi in atoms]
    third: list[cel.Formula] = [op(phi) for op in unary for phi in (*second, *negations)]
    third += [op(left, right) for op in binary for left in atoms for right in atoms]
    return [*atoms, *negations, *second, *third]


def _project(phi: cel.Formula) -> cel.Formula:
    return cel.Project(frozenset(), phi)


def _strict(phi: cel.Formula) -> cel.Formula:
    return cel.Select(Strategy.STRICT, phi)


FORMULAS = formulas()


@cache
def answers(phi: cel.Formula) -> dict[tuple[Event, ...], frozenset[ComplexEvent]]:
    return {S: frozenset(map(complex_event, valuations(phi, S))) for S in STREAMS}


def shortest(left: cel.Formula, right: cel.Formula, *sides: Side) -> int | None:
    """The length of a shortest stream on which one of the sides has more, by looking at all."""
    ours, theirs = answers(left), answers(right)
    return next(
        (
            len(S)
            for S in STREAMS
            if (Side.LEFT in sides and ours[S] - theirs[S])
            or (Side.RIGHT in sides and theirs[S] - ours[S])
        ),
        None,
    )


def test_there_are_enough_formulas() -> None:
    assert len(FORMULAS) == len(set(FORMULAS)) > 60


@pytest.mark.parametrize("left", FORMULAS, ids=str)
def test_equivalent_and_contained_on_all_pairs(left: cel.Formula, suite: Suite) -> None:
    # a third of the pairs, another one for each formula; all of them in the deep profile
    rights = FORMULAS if suite.deep else FORMULAS[FORMULAS.index(left) % 3 :: 3]
    for right in rights:
        for decide, sides in ((equivalent, tuple(Side)), (contained, (Side.LEFT,))):
            verdict = decide(left, right)
            expected = shortest(left, right, *sides)
            assert verdict.holds is (expected is None), (str(left), str(right), verdict)
            if verdict.witness is not None:
                assert len(verdict.witness.events) == expected, (str(left), str(right))
                check(verdict.witness, left, right)


def check(witness: cerlab.Witness, left: cel.Formula, right: cel.Formula) -> None:
    here, there = (
        witness.complex_event in cerlab.evaluate(phi, witness.events, evaluator="reference")
        for phi in (left, right)
    )
    assert (here, there) == (witness.side == "left", witness.side == "right")


def test_satisfiable_on_all() -> None:
    for phi in FORMULAS:
        lengths = [len(S) for S in STREAMS if answers(phi)[S]]
        verdict = satisfiable(phi)
        assert verdict.holds is bool(lengths), str(phi)
        if verdict.witness is not None:
            assert len(verdict.witness.events) == min(lengths)
            assert verdict.witness.side is None
            answer = verdict.witness.complex_event
            assert answer in cerlab.evaluate(phi, verdict.witness.events)


KINDS_OF_KEYS = [
    ("A AS z FILTER z[v < 2]", "A AS z ; A"),
    ("A AS z FILTER z[v > 2]", "A AS z ; A"),
    ("A AS z FILTER z[v = 2]", "A AS z ; A ; A"),
    ("A AS z FILTER z[v < 1] OR z[v > 2]", "A AS z ; A FILTER z[v < 1]"),
    ("A AS z ; A", "A AS z ; A FILTER z[v = 1]"),
]


@pytest.mark.parametrize(("left", "right"), KINDS_OF_KEYS)
def test_the_witness_is_shortest_over_all_kinds_of_keys(left: str, right: str) -> None:
    queries = [f"SELECT z WHERE {text} PARTITION BY [v]" for text in (left, right)]
    witness = cerlab.equivalent(*queries).witness
    assert witness is not None
    for length in range(1, len(witness.events)):
        for values in product(range(5), repeat=length):
            events = [{"type": "A", "v": v} for v in values]
            one, other = (cerlab.evaluate(query, events) for query in queries)
            assert one == other
