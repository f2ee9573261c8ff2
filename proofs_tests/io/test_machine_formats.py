"""Machines as JSON and as HOA-like text are read back exactly."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from cerlab.automata.cea import AnchoredCea, IntervalCea, Mark, Transition
from cerlab.automata.ucea import Ucea
from cerlab.automata.vcea import LabelTransition, Vcea
from cerlab.errors import (
    BadData,
    DataPlace,
    QuerySyntaxError,
    ResourceLimit,
    SourcePlace,
)
from cerlab.io.machine_hoa import machine_from_hoa, machine_to_hoa
from cerlab.io.machine_json import Machine, machine_from_json, machine_to_json
from cerlab.model.event import Value
from cerlab.predicates import syntax as pred
from cerlab.predicates.encoding import MAX_DEPTH, predicate_from_json, predicate_to_json
from proofs_tests.io.machine_cases import (
    A1,
    HOA,
    JSON,
    VALUES,
    exact,
    random_machine,
    rich_predicate,
    tower,
)
from proofs_tests.suite import Suite


def test_random_machines_are_read_back_exactly(suite: Suite) -> None:
    def case(rng: Random) -> bool:
        A = random_machine(rng, lambda rng: rich_predicate(rng, 2))
        as_json, as_hoa = machine_to_json(A), machine_to_hoa(A)
        for again in (machine_from_json(as_json), machine_from_hoa(as_hoa)):
            assert exact(again) == exact(A)
            assert machine_to_json(again) == as_json
            assert machine_to_hoa(again) == as_hoa
        json.loads(as_json, parse_constant=pytest.fail)  # strict JSON
        return bool(A.Delta)

    suite.run(case, deep_count=20_000, seconds=6)


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_every_constant_is_read_back_as_it_was(value: Value) -> None:
    P = pred.Comparison(pred.Operator.EQ, pred.Attribute("v"), pred.Constant(value))
    again = predicate_from_json(json.loads(json.dumps(predicate_to_json(P), allow_nan=False)))
    assert repr(again) == repr(P)


def test_the_two_texts_of_a_small_machine() -> None:
    assert machine_to_json(A1) == JSON
    assert machine_to_hoa(A1) == HOA
    assert machine_from_json(JSON) == A1
    assert machine_from_hoa(HOA) == A1


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


def test_a_hoa_text_written_by_hand() -> None:
    text = "\n CERLAB:v1\r\nStates: 2\n\nkind: cea\nAP: 0   price>3 \n"
    text += "AP: 1 `stream` IN {'S'}\nStart: 1\n--BODY--\n\nState: 0{ 0 }\nState: 1\n"
    text += "[!0&1|t & 0]skip 0\n  [ !!(0) ]  take  0 \n--END--"
    price = pred.Comparison(pred.Operator.GT, pred.Attribute("price"), pred.Constant(3))
    stream = pred.Member(pred.Attribute("stream"), (pred.Constant("S"),))
    first = pred.Disjunction(
        pred.Conjunction(pred.Complement(price), stream),
        pred.Conjunction(pred.EVERYTHING, price),
    )
    second = pred.Complement(pred.Complement(price))
    Delta = (Transition(1, first, Mark.SKIP, 0), Transition(1, second, Mark.TAKE, 0))
    assert machine_from_hoa(text) == IntervalCea(2, Delta, 1, frozenset({0}))


def test_the_order_of_transitions_is_kept_over_states() -> None:
    Delta = tuple(LabelTransition(q, pred.EVERYTHING, frozenset({"x"}), 0) for q in (2, 0, 2, 2))
    A = Ucea(4, Delta, frozenset(), frozenset({2, 3}))
    text = machine_to_hoa(A)
    assert machine_from_hoa(text) == A
    blocks = [line for line in text.splitlines() if line.startswith("State:")]
    assert blocks == ["State: 1", "State: 2 {0}", "State: 0", "State: 2 {0}", "State: 3 {0}"]


def test_the_set_of_a_type_and_the_comparison_with_it_are_two_predicates() -> None:
    compared = pred.Comparison(pred.Operator.EQ, pred.Attribute("type"), pred.Constant("A"))
    Delta = tuple(
        LabelTransition(0, P, frozenset(), 0) for P in (pred.TypeIs("A"), compared, pred.TypeIs(""))
    )
    A = Vcea(1, Delta, frozenset({0}), frozenset())
    text = machine_to_hoa(A)
    assert "AP: 0 type = 'A'\nAP: 1 {" in text
    assert exact(machine_from_hoa(text)) == exact(A)


def sum_of(depth: int) -> pred.Predicate:
    """A comparison of this depth, one of whose sides is a long sum."""
    total: pred.Expression = pred.Attribute("v")
    for _ in range(depth - 2):
        total = pred.Computed(pred.Arithmetic.ADD, total, pred.Constant(1))
    return pred.Comparison(pred.Operator.EQ, total, pred.Constant(0))


def test_predicates_up_to_the_stated_depth_are_read_back() -> None:
    A = tower(MAX_DEPTH)
    assert exact(machine_from_json(machine_to_json(A))) == exact(A)
    assert exact(machine_from_hoa(machine_to_hoa(A))) == exact(A)
    P = sum_of(MAX_DEPTH)
    assert repr(predicate_from_json(predicate_to_json(P))) == repr(P)


@pytest.mark.parametrize("write", [machine_to_json, machine_to_hoa])
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 100_000])
def test_deeper_predicates_are_not_written(write: Callable[[Machine], str], depth: int) -> None:
    with pytest.raises(ResourceLimit, match="CER0602"):
        write(tower(depth))
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


@pytest.mark.parametrize("guard", ["!" * 50_000 + "0", "&".join("0" * 50_000), "(" * 50_000])
def test_deeper_guards_are_not_read(guard: str) -> None:
    text = machine_to_hoa(tower(1)).replace("[0]", f"[{guard}]")
    with pytest.raises((ResourceLimit, QuerySyntaxError)) as caught:
        machine_from_hoa(text)
    assert isinstance(caught.value.place, SourcePlace)
    assert caught.value.place.span.line == text.split("[")[0].count("\n") + 1


def test_integers_too_long_and_text_that_is_none_are_not_written() -> None:
    large = pred.Member(pred.Attribute("v"), (pred.Constant(10**5000),))
    for write in (machine_to_json, machine_to_hoa):
        with pytest.raises(ResourceLimit, match="CER0661"):
            write(Vcea(1, (LabelTransition(0, large, frozenset(), 0),), frozenset(), frozenset()))
    for write in (machine_to_json, machine_to_hoa):
        label = (LabelTransition(0, pred.EVERYTHING, frozenset({"\ud83d\ude00"}), 0),)
        name = (LabelTransition(0, pred.TypeIs("\ud800"), frozenset(), 0),)
        for Delta in (label, name):
            with pytest.raises(BadData, match="CER0704"):
                write(Vcea(1, Delta, frozenset(), frozenset()))
