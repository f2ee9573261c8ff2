"""Machines as JSON are read back exactly."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from cerlab import BadData, ResourceLimit
from cerlab.automata.automaton import AnchoredCea, LabelTransition, Mark, Transition, Vcea
from cerlab.automata.encoding import MAX_DEPTH, predicate_from_json, predicate_to_json
from cerlab.errors import DataPlace
from cerlab.io.machines import machine_from_json, machine_to_json, machine_to_mata
from cerlab.model.event import Value
from cerlab.predicates import syntax as pred
from proofs_tests.io.machine_cases import (
    A1,
    JSON,
    VALUES,
    exact,
    random_machine,
    rich_predicate,
    tower,
)
from proofs_tests.suite import random_suite


@random_suite(20_000)
def test_random_machines_are_read_back_exactly(rng: Random) -> bool:
    A = random_machine(rng, lambda rng: rich_predicate(rng, 2))
    as_json = machine_to_json(A)
    again = machine_from_json(as_json)
    assert exact(again) == exact(A)
    assert machine_to_json(again) == as_json
    json.loads(as_json, parse_constant=pytest.fail)  # strict JSON
    return bool(A.Delta)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_every_constant_is_read_back_as_it_was(value: Value) -> None:
    P = pred.Comparison(pred.Operator.EQ, pred.Attribute("v"), pred.Constant(value))
    again = predicate_from_json(json.loads(json.dumps(predicate_to_json(P), allow_nan=False)))
    assert repr(again) == repr(P)


def test_the_text_of_a_small_machine() -> None:
    assert machine_to_json(A1) == JSON
    assert machine_from_json(JSON) == A1
    nothing = Vcea(0, (), frozenset(), frozenset())
    assert machine_from_json(machine_to_json(nothing)) == nothing


def test_a_json_document_written_by_hand() -> None:
    text = """{"kind": "anchored-cea", "version": 1, "format": "cerlab-machine", "transitions": [
        {"mark": "skip", "target": 0, "source": 1, "predicate": {"low": null, "kind": "between",
         "operand": {"name": "v", "kind": "attribute"}, "negated": true,
         "high": {"kind": "constant", "value": {"float": 1}}}}],
        "states": 2, "final": [], "initial": [1, 0]}"""
    P = pred.Between(pred.Attribute("v"), None, pred.Constant(1.0), negated=True)
    Delta = (Transition(1, P, Mark.SKIP, 0),)
    assert exact(machine_from_json(text)) == exact(
        AnchoredCea(2, Delta, frozenset({0, 1}), frozenset())
    )


def sum_of(depth: int) -> pred.Predicate:
    """A comparison of this depth, one of whose sides is a long sum."""
    total: pred.Expression = pred.Attribute("v")
    for _ in range(depth - 2):
        total = pred.Computed(pred.Arithmetic.ADD, total, pred.Constant(1))
    return pred.Comparison(pred.Operator.EQ, total, pred.Constant(0))


def test_predicates_up_to_the_stated_depth_are_read_back() -> None:
    A = tower(MAX_DEPTH)
    assert exact(machine_from_json(machine_to_json(A))) == exact(A)
    P = sum_of(MAX_DEPTH)
    assert repr(predicate_from_json(predicate_to_json(P))) == repr(P)


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 100_000])
def test_deeper_predicates_are_not_written(depth: int) -> None:
    with pytest.raises(ResourceLimit, match="CER0602"):
        machine_to_json(tower(depth))
    with pytest.raises(ResourceLimit, match="CER0602"):
        predicate_to_json(sum_of(depth))


def test_deeper_predicates_are_not_read() -> None:
    value: Any = {"kind": "everything"}
    for _ in range(100_000):
        value = {"kind": "not", "operand": value}
    with pytest.raises(ResourceLimit, match="CER0602") as caught:
        predicate_from_json(value)
    assert isinstance(caught.value.place, DataPlace)
    assert caught.value.place.file.startswith("$.operand.operand")
    assert caught.value.place.file.endswith("..")


def test_integers_too_long_and_text_that_is_none_are_not_written() -> None:
    large = pred.Member(pred.Attribute("v"), (pred.Constant(10**5000),))
    for write in (machine_to_json, machine_to_mata):
        with pytest.raises(ResourceLimit, match="CER0661"):
            write(Vcea(1, (LabelTransition(0, large, frozenset(), 0),), frozenset(), frozenset()))
    label = (LabelTransition(0, pred.EVERYTHING, frozenset({"\ud83d\ude00"}), 0),)
    name = (LabelTransition(0, pred.TypeIs("\ud800"), frozenset(), 0),)
    for Delta in (label, name):
        with pytest.raises(BadData, match="CER0704"):
            machine_to_json(Vcea(1, Delta, frozenset(), frozenset()))
