"""Tuples, streams and predicates (FOUND Sec. 3)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from random import Random

import pytest

import cerlab
from cerlab import Event, parse_formula, satisfies
from cerlab.predicates.condition import predicate_named
from cerlab.predicates.syntax import And, Not, Or, Predicate, TypeIs
from cerlab.testing import ATTRIBUTES, random_events, random_predicate
from proofs_tests.suite import random_suite

SCHEMA = "CREATE STREAM S { EVENT A { v:int, w:int? }, EVENT B { u:int } }"


def stream_file(place: Path, *rows: Mapping[str, object]) -> Path:
    path = place / "events.ndjson"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_tuple_gives_every_attribute_of_its_relation_name_a_value(tmp_path: Path) -> None:
    """Only attributes declared with a question mark may be missing; the paper has none."""
    total = {"type": "A", "v": 1, "w": 2}, {"type": "B", "u": 3}
    stream = cerlab.Stream.read(stream_file(tmp_path, *total), schema=SCHEMA)
    assert [t.type for t in stream] == ["A", "B"]
    assert [stream[0].attributes[name] for name in "vw"] == [1, 2]
    cerlab.Stream.read(stream_file(tmp_path, {"type": "A", "v": 1}), schema=SCHEMA)
    for partial in ({"type": "A", "w": 2}, {"type": "A", "v": None}, {"type": "B"}):
        with pytest.raises(cerlab.BadData, match="CER0724"):
            cerlab.Stream.read(stream_file(tmp_path, partial), schema=SCHEMA)


def test_attributes_belong_to_a_relation_name(tmp_path: Path) -> None:
    """An attribute of another relation name, or an unknown one, is refused."""
    for other in ({"type": "A", "v": 1, "u": 1}, {"type": "C", "v": 1}):
        with pytest.raises(cerlab.BadData):
            cerlab.Stream.read(stream_file(tmp_path, other), schema=SCHEMA)


@random_suite(5_000, needs_answers=0.3)
def test_unary_predicates_are_closed_and_have_the_test_of_each_type(rng: Random) -> bool:
    P, Q = random_predicate(rng, ATTRIBUTES), random_predicate(rng, ATTRIBUTES)
    phi = parse_formula("(A OR B OR C)+")
    S = random_events(rng, phi, ATTRIBUTES)

    def where(R: Predicate) -> set[int]:
        return {k for k, t in enumerate(S) if satisfies(t, R)}

    p, q, every = where(P), where(Q), set(range(len(S)))
    assert where(And(P, Q)) == p & q
    assert where(Or(P, Q)) == p | q
    assert where(Not(P)) == every - p
    for R in "ABC":
        assert where(TypeIs(R)) == {k for k, t in enumerate(S) if t.type == R}
    return bool(p) and p != every


Relation = frozenset[tuple[int, int]]


def test_predicates_of_two_variables_are_any_relations_and_closed() -> None:
    """A relation is a Python predicate; filters have AND and OR, a complement is another one."""
    pairs = list(product(range(3), range(3)))
    S = [Event("A", {"v": v}) for v in range(3)] + [Event("B", {"v": v}) for v in range(3)]
    for seed in range(20):
        rng = Random(seed)
        P, Q = (frozenset(pair for pair in pairs if rng.random() < 0.5) for _ in "PQ")
        for name, relation in (("p", P), ("q", Q), ("no_p", frozenset(pairs) - P)):
            predicate_named(member_of(relation), name, each=True)
        for condition, expected in (
            ("p(x.v, y.v) AND q(x.v, y.v)", P & Q),
            ("p(x.v, y.v) OR q(x.v, y.v)", P | Q),
            ("no_p(x.v, y.v)", frozenset(pairs) - P),
        ):
            answers = cerlab.evaluate(f"A AS x ; B AS y FILTER {condition}", S, logic="fo")
            assert {(C.positions[0], C.positions[1] - 3) for C in answers} == expected


def member_of(relation: Relation) -> Callable[[int, int], bool]:
    return lambda v, w: (v, w) in relation
