"""Errors in a machine or a predicate as JSON, with their places."""

from __future__ import annotations

import math
from typing import Any

import pytest

from cerlab import BadData, CerlabError, IllFormed, ResourceLimit
from cerlab.automata.encoding import predicate_from_json
from cerlab.errors import DataPlace, SourcePlace
from cerlab.io.machines import machine_from_json
from proofs_tests.io.machine_cases import (
    JSON,
)

NOT_JSON_PLACES: list[tuple[str, str, str, type[CerlabError], str, str, str]] = [
    # name, old text, new text, class, code, path, words
    ("format", "cerlab-machine", "cerlab-query", BadData, "CER0754", "$.format", "no machine"),
    (
        "no format",
        '"format": "cerlab-machine",',
        "",
        BadData,
        "CER0752",
        "$",
        "'format' is missing",
    ),
    ("version", '"version": 1', '"version": 2', BadData, "CER0754", "$.version", "version 2"),
    ("version", '"version": 1', '"version": "1"', BadData, "CER0751", "$.version", "found a text"),
    ("kind", '"vcea"', '"dfa"', BadData, "CER0753", "$.kind", "unknown kind of machine"),
    ("kind", '"vcea"', '"cea"', BadData, "CER0752", "$.transitions[0]", "unknown key 'labels'"),
    ("key", '"states"', '"size"', BadData, "CER0752", "$", "unknown key 'size'"),
    ("no key", '"states": 3,', "", BadData, "CER0752", "$", "'states' is missing"),
    ("key twice", '"states": 3', '"kind": ""', BadData, "CER0732", "$", "'kind' occurs twice"),
    ("states", '"states": 3', '"states": 3.0', BadData, "CER0751", "$.states", "found a float"),
    ("states", '"states": 3', '"states": true', BadData, "CER0751", "$.states", "true or false"),
    ("states", '"states": 3', '"states": -3', BadData, "CER0756", "$.states", "number of states"),
    ("states", ": 3,", ": 1000001,", ResourceLimit, "CER0662", "$.states", "1,000,000 states"),
    ("initial", "[0]", "0", BadData, "CER0751", "$.initial", "expected a list"),
    ("initial", "[0]", "[0, 3]", BadData, "CER0756", "$.initial[1]", "state 3 is not in Q"),
    ("initial", "[0]", "[0, 1, 0]", BadData, "CER0732", "$.initial[2]", "0 occurs twice"),
    ("final", "[2]", "[-1]", BadData, "CER0756", "$.final[0]", "state -1"),
    ("source", '"source": 0', '"source": 9', BadData, "CER0756", "$.transitions[0].source", "9"),
    ("target", '"target": 2', '"target": 3', BadData, "CER0756", "$.transitions[2].target", "3"),
    ("labels", '["x", "y"]', '"x"', BadData, "CER0751", "$.transitions[0].labels", "a list"),
    ("labels", '["x", "y"]', "[1]", BadData, "CER0751", "$.transitions[0].labels[0]", "a text"),
    ("labels", '["x", "y"]', '["x", "x"]', BadData, "CER0732", "$.transitions[0].labels[1]", "x"),
    ("label", '"x"', '"\\ud800"', BadData, "CER0704", "$.transitions[0].labels[0]", "not Unicode"),
    ("transition", '"source": 0, ', "", BadData, "CER0752", "$.transitions[0]", "missing"),
]


@pytest.mark.parametrize(
    ("old", "new", "kind", "code", "path", "words"),
    [case[1:] for case in NOT_JSON_PLACES],
    ids=[case[0] for case in NOT_JSON_PLACES],
)
def test_what_is_wrong_in_a_json_machine(
    old: str, new: str, kind: type[CerlabError], code: str, path: str, words: str
) -> None:
    assert old in JSON
    with pytest.raises(CerlabError) as caught:
        machine_from_json(JSON.replace(old, new, 1))
    error = caught.value
    assert (type(error), error.code, error.place) == (kind, code, DataPlace(path))
    assert words in error.message


CEA = """{"format": "cerlab-machine", "version": 1, "kind": "cea", "states": 2, "initial": [0],
"final": [], "transitions": [{"source": 0, "predicate": {"kind": "everything"}, "mark": "take",
"target": 1}]}"""


def test_what_is_wrong_in_a_cea() -> None:
    def wrong(old: str, new: str) -> CerlabError:
        with pytest.raises(CerlabError) as caught:
            machine_from_json(CEA.replace(old, new))
        return caught.value

    entering = wrong('"target": 1', '"target": 0')
    assert isinstance(entering, IllFormed)
    assert (entering.code, entering.place) == ("CER0221", DataPlace("$.transitions[0].target"))
    two = wrong('"initial": [0]', '"initial": [0, 1]')
    assert (two.code, two.place) == ("CER0756", DataPlace("$.initial"))
    mark = wrong('"take"', '"tak"')
    assert (mark.code, mark.place) == ("CER0753", DataPlace("$.transitions[0].mark"))
    assert mark.hint == "did you mean 'take'?"


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [("", 1, 1), ("{", 1, 2), ('{\n "a": }', 2, 7), ("{} x", 1, 4), ("'a'", 1, 1)],
)
def test_what_is_no_json_shows_where(text: str, line: int, column: int) -> None:
    with pytest.raises(BadData, match="not JSON") as caught:
        machine_from_json(text)
    place = caught.value.place
    assert caught.value.code == "CER0750"
    assert isinstance(place, SourcePlace)
    assert (place.span.line, place.span.column) == (line, column)


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "9" * 5000])
def test_numbers_that_are_no_json(number: str) -> None:
    with pytest.raises(BadData, match="not JSON") as caught:
        machine_from_json(JSON.replace("0.5", number))
    assert (caught.value.code, caught.value.place) == ("CER0750", DataPlace("$"))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
def test_json_that_nests_too_deep(text: str) -> None:
    with pytest.raises(ResourceLimit, match="CER0602"):
        machine_from_json(text)


V = {"kind": "attribute", "name": "v"}


def constant(value: object) -> dict[str, object]:
    return {"kind": "like", "operand": {"kind": "constant", "value": value}, "pattern": "a"}


IN_VALUE = "$.operand.value"
NO_PREDICATES: list[tuple[Any, str, str, str]] = [
    # JSON value, code, path, words
    (None, "CER0751", "$", "found null"),
    ([], "CER0751", "$", "found a list"),
    ({}, "CER0752", "$", "'kind' is missing"),
    ({"kind": 1}, "CER0751", "$.kind", "found an integer"),
    ({"kind": "attribute"}, "CER0753", "$.kind", "unknown kind of predicate 'attribute'"),
    ({"kind": "everything", "more": 1}, "CER0752", "$", "unknown key 'more'"),
    ({"kind": "everything", 1: 1}, "CER0752", "$", "unknown key '1'"),
    ({"kind": "type"}, "CER0752", "$", "'type' is missing"),
    ({"kind": "type", "type": None}, "CER0751", "$.type", "expected a text"),
    ({"kind": "stream", "stream": "\udc00"}, "CER0704", "$.stream", "not Unicode"),
    ({"kind": "not", "operand": V}, "CER0753", "$.operand.kind", "unknown kind of predicate"),
    ({"kind": "and", "left": {"kind": "everything"}}, "CER0752", "$", "'right' is missing"),
    ({"kind": "like", "operand": V, "pattern": "("}, "CER0755", "$.pattern", "RE2"),
    (
        {"kind": "comparison", "operator": "==", "left": V, "right": V},
        *("CER0753", "$.operator", "unknown operator '=='"),
    ),
    (
        {"kind": "comparison", "operator": "=", "left": V, "right": {"kind": "type", "type": ""}},
        *("CER0753", "$.right.kind", "unknown kind of expression"),
    ),
    (
        {"kind": "member", "operand": V, "values": [{"int": 1}, {}], "negated": False},
        *("CER0752", "$.values[1]", "a number with one of the keys"),
    ),
    (
        {"kind": "member", "operand": V, "values": [], "negated": 0},
        *("CER0751", "$.negated", "expected true or false"),
    ),
    (
        {"kind": "between", "operand": V, "low": {"int": 1}, "high": None, "negated": False},
        *("CER0752", "$.low", "'kind' is missing"),
    ),
    (constant(1), "CER0751", IN_VALUE, "found an integer"),
    (constant({"int": 1, "float": 1}), "CER0752", IN_VALUE, "one of the keys"),
    (constant({"text": "a"}), "CER0752", IN_VALUE, "one of the keys"),
    (constant({"int": True}), "CER0751", f"{IN_VALUE}.int", "true or false"),
    (constant({"int": 1.0}), "CER0751", f"{IN_VALUE}.int", "found a float"),
    (constant({"int": "1e5"}), "CER0755", f"{IN_VALUE}.int", "not an integer"),
    (constant({"int": "٣"}), "CER0755", f"{IN_VALUE}.int", "not an integer"),
    (constant({"int": "9" * 5000}), "CER0755", f"{IN_VALUE}.int", "4,300 digits"),
    (constant({"timestamp": 0.5}), "CER0751", f"{IN_VALUE}.timestamp", "found a float"),
    (constant({"float": "0.5"}), "CER0753", f"{IN_VALUE}.float", "unknown float"),
    (constant({"float": None}), "CER0751", f"{IN_VALUE}.float", "expected a float"),
    (constant({"float": math.inf}), "CER0755", f"{IN_VALUE}.float", "64 bits"),
    (constant({"float": 10**400}), "CER0755", f"{IN_VALUE}.float", "64 bits"),
]


@pytest.mark.parametrize(("value", "code", "path", "words"), NO_PREDICATES)
def test_what_is_no_predicate(value: Any, code: str, path: str, words: str) -> None:
    with pytest.raises(BadData) as caught:
        predicate_from_json(value)
    assert (caught.value.code, caught.value.place) == (code, DataPlace(path))
    assert words in caught.value.message


def test_the_path_of_a_predicate_leads_through_its_machine() -> None:
    with pytest.raises(BadData) as caught:
        machine_from_json(JSON.replace('"attribute"', '"atribute"'))
    place = DataPlace("$.transitions[2].predicate.right.right.operand.left.kind")
    assert (caught.value.code, caught.value.place) == ("CER0753", place)
    assert caught.value.hint == "did you mean 'attribute'?"
