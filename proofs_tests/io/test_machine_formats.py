"""Machines as JSON and as HOA-like text: read back exactly, and clear about what is wrong."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from cerlab.automata.cea import AnchoredCea, IntervalCea, Mark, Transition
from cerlab.automata.ucea import Ucea
from cerlab.automata.vcea import LabelTransition, Vcea
from cerlab.errors import (
    BadData,
    CerlabError,
    DataPlace,
    IllFormed,
    QuerySyntaxError,
    ResourceLimit,
    SourcePlace,
)
from cerlab.io.machine_hoa import machine_from_hoa, machine_to_hoa
from cerlab.io.machine_json import Machine, initial_states, machine_from_json, machine_to_json
from cerlab.model.event import Timestamp, Value
from cerlab.predicates import syntax as pred
from cerlab.predicates.encoding import MAX_DEPTH, predicate_from_json, predicate_to_json
from proofs_tests.suite import Suite

VALUES: tuple[Value, ...] = (
    *(0, 1, -1, 2**53, 2**53 + 1, -(2**63), 2**63, 2**100, -(10**40)),
    *(0.0, -0.0, 1.0, -1.5, 0.1, 1e22, 5e-324, math.nan, math.inf, -math.inf),
    *(True, False, None, Timestamp(0), Timestamp(-1), Timestamp(1_600_000_000_000_000_001)),
    *(Timestamp(10**30), "", "1", "it's", '"', "\\", "two\nlines", "\u2028", "∘ é 😀", "*/ -- ]"),
)
NAMES = ("v", "w", "type", "stream", "select", "two words", "", "a`b", "nan", "NULL", "é", "x\ny")
PATTERNS = ("a", "^b|c$", r"[ab]\d", "", "it's", "\n")
LABELS = ("x", "y", "take", "t", "two words", "", "é", 'q"', "\n", "State: 0")


def rich_expression(rng: Random, depth: int) -> pred.Expression:
    match rng.randrange(6 if depth else 4):
        case 0 | 1:
            return pred.Constant(rng.choice(VALUES))
        case 2 | 3:
            return pred.Attribute(rng.choice(NAMES))
        case 4:
            return pred.Negated(rich_expression(rng, depth - 1))
        case _:
            sides = (rich_expression(rng, depth - 1) for _ in range(2))
            return pred.Computed(rng.choice(list(pred.Arithmetic)), *sides)


def rich_predicate(rng: Random, depth: int) -> pred.Predicate:
    """Every production over every value, those without any text in CEQL too."""

    def part() -> pred.Expression:
        return rich_expression(rng, depth)

    match rng.randrange(10 if depth else 7):
        case 0:
            return pred.EVERYTHING
        case 1:
            return pred.TypeIs(rng.choice(NAMES))
        case 2:
            return pred.StreamIs(rng.choice(NAMES))
        case 3:
            return pred.Comparison(rng.choice(list(pred.Operator)), part(), part())
        case 4:
            listed = tuple(pred.Constant(rng.choice(VALUES)) for _ in range(rng.randrange(3)))
            return pred.Member(part(), listed, rng.random() < 0.5)
        case 5:
            low, high = (part() if rng.random() < 0.7 else None for _ in range(2))
            return pred.Between(part(), low, high, rng.random() < 0.5)
        case 6:
            return pred.Like(part(), rng.choice(PATTERNS))
        case 7:
            return pred.Complement(rich_predicate(rng, depth - 1))
        case 8:
            return pred.Conjunction(*(rich_predicate(rng, depth - 1) for _ in range(2)))
        case _:
            return pred.Disjunction(*(rich_predicate(rng, depth - 1) for _ in range(2)))


def random_machine(rng: Random, predicate: Callable[[Random], pred.Predicate]) -> Machine:
    """A machine of any kind with up to four states, and transitions in any order."""
    states = rng.randrange(1, 5)
    kind = rng.choice((Vcea, Ucea, AnchoredCea, IntervalCea))
    q0 = rng.randrange(states)
    targets = [q for q in range(states) if kind is not IntervalCea or q != q0]
    count = rng.randrange(5) if targets else 0
    moves = [
        (rng.randrange(states), predicate(rng), rng.choice(list(Mark)), rng.choice(targets))
        for _ in range(count)
    ]
    I, F = (frozenset(q for q in range(states) if rng.random() < 0.4) for _ in range(2))
    marked = tuple(Transition(*move) for move in moves)
    if kind is IntervalCea:
        return IntervalCea(states, marked, q0, F)
    if kind is AnchoredCea:
        return AnchoredCea(states, marked, I, F)
    labelled = tuple(
        LabelTransition(p, P, frozenset(rng.sample(LABELS, rng.randrange(3))), q)
        for p, P, _, q in moves
    )
    return Vcea(states, labelled, I, F) if kind is Vcea else Ucea(states, labelled, I, F)


def exact(A: Machine) -> tuple[object, ...]:
    """All of a machine, with predicates by `repr`, which tells 0.0 from -0.0 and finds NaN."""
    Delta: tuple[Transition | LabelTransition, ...] = A.Delta
    moves = [(type(t), t.source, repr(t.predicate), t[2], t.target) for t in Delta]
    return type(A), A.states, initial_states(A), A.F, moves


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


A1 = Vcea(
    3,
    (
        LabelTransition(0, pred.TypeIs("A"), frozenset({"y", "x"}), 1),
        LabelTransition(1, pred.EVERYTHING, frozenset(), 1),
        LabelTransition(
            1,
            pred.Conjunction(
                pred.TypeIs("B"),
                pred.Disjunction(
                    pred.StreamIs("S"),
                    pred.Complement(
                        pred.Comparison(pred.Operator.GE, pred.Attribute("v"), pred.Constant(0.5))
                    ),
                ),
            ),
            frozenset({"two words"}),
            2,
        ),
    ),
    frozenset({0}),
    frozenset({2}),
)

JSON = """\
{
  "format": "cerlab-machine",
  "version": 1,
  "kind": "vcea",
  "states": 3,
  "initial": [0],
  "final": [2],
  "transitions": [
    {"source": 0, "predicate": {"kind": "type", "type": "A"}, "labels": ["x", "y"], "target": 1},
    {"source": 1, "predicate": {"kind": "everything"}, "labels": [], "target": 1},
    {"source": 1, "predicate": {"kind": "and", "left": {"kind": "type", "type": "B"}, \
"right": {"kind": "or", "left": {"kind": "stream", "stream": "S"}, \
"right": {"kind": "not", "operand": {"kind": "comparison", "operator": ">=", \
"left": {"kind": "attribute", "name": "v"}, \
"right": {"kind": "constant", "value": {"float": 0.5}}}}}}, "labels": ["two words"], "target": 2}
  ]
}
"""

HOA = """\
CERLAB: v1
kind: vcea
States: 3
Start: 0
AP: 0 type = 'A'
AP: 1 type = 'B'
AP: 2 stream = 'S'
AP: 3 v >= 0.5
--BODY--
State: 0
[0] {x, y} 1
State: 1
[t] {} 1
[1 & (2 | !3)] {"two words"} 2
State: 2 {0}
--END--
"""


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


# -- what is wrong, and where --------------------------------------------------------------------

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
    ("kind", '"vcea"', '"dfa"', BadData, "CER0753", "$.kind", "no kind of machine"),
    ("kind", '"vcea"', '"cea"', BadData, "CER0752", "$.transitions[0]", "unknown key 'labels'"),
    ("key", '"states"', '"size"', BadData, "CER0752", "$", "unknown key 'size'"),
    ("no key", '"states": 3,', "", BadData, "CER0752", "$", "'states' is missing"),
    ("key twice", '"states": 3', '"kind": ""', BadData, "CER0732", "$", "'kind' stands twice"),
    ("states", '"states": 3', '"states": 3.0', BadData, "CER0751", "$.states", "found a float"),
    ("states", '"states": 3', '"states": true', BadData, "CER0751", "$.states", "true or false"),
    ("states", '"states": 3', '"states": -3', BadData, "CER0756", "$.states", "number of states"),
    ("states", ": 3,", ": 1000001,", ResourceLimit, "CER0662", "$.states", "1,000,000 states"),
    ("initial", "[0]", "0", BadData, "CER0751", "$.initial", "expected a list"),
    ("initial", "[0]", "[0, 3]", BadData, "CER0756", "$.initial[1]", "state 3 is not in Q"),
    ("initial", "[0]", "[0, 1, 0]", BadData, "CER0732", "$.initial[2]", "0 stands twice"),
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
    with pytest.raises(BadData, match="no JSON") as caught:
        machine_from_json(text)
    place = caught.value.place
    assert caught.value.code == "CER0750"
    assert isinstance(place, SourcePlace)
    assert (place.span.line, place.span.column) == (line, column)


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "9" * 5000])
def test_numbers_that_are_no_json(number: str) -> None:
    with pytest.raises(BadData, match="no JSON") as caught:
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
    ({"kind": "attribute"}, "CER0753", "$.kind", "'attribute' is no kind of predicate"),
    ({"kind": "everything", "more": 1}, "CER0752", "$", "unknown key 'more'"),
    ({"kind": "everything", 1: 1}, "CER0752", "$", "unknown key '1'"),
    ({"kind": "type"}, "CER0752", "$", "'type' is missing"),
    ({"kind": "type", "type": None}, "CER0751", "$.type", "expected a text"),
    ({"kind": "stream", "stream": "\udc00"}, "CER0704", "$.stream", "not Unicode"),
    ({"kind": "not", "operand": V}, "CER0753", "$.operand.kind", "no kind of predicate"),
    ({"kind": "and", "left": {"kind": "everything"}}, "CER0752", "$", "'right' is missing"),
    ({"kind": "like", "operand": V, "pattern": "("}, "CER0755", "$.pattern", "RE2"),
    (
        {"kind": "comparison", "operator": "==", "left": V, "right": V},
        *("CER0753", "$.operator", "'==' is no operator"),
    ),
    (
        {"kind": "comparison", "operator": "=", "left": V, "right": {"kind": "type", "type": ""}},
        *("CER0753", "$.right.kind", "no kind of expression"),
    ),
    (
        {"kind": "member", "operand": V, "values": [{"int": 1}, {}], "negated": False},
        *("CER0752", "$.values[1]", "a number has one of the keys"),
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
    (constant({"int": "1e5"}), "CER0755", f"{IN_VALUE}.int", "no integer"),
    (constant({"int": "٣"}), "CER0755", f"{IN_VALUE}.int", "no integer"),
    (constant({"int": "9" * 5000}), "CER0755", f"{IN_VALUE}.int", "4,300 digits"),
    (constant({"timestamp": 0.5}), "CER0751", f"{IN_VALUE}.timestamp", "found a float"),
    (constant({"float": "0.5"}), "CER0753", f"{IN_VALUE}.float", "no float"),
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


NOT_HOA: list[tuple[str, str, type[CerlabError], str, int, int, str]] = [
    # old text, new text, class, code, line, column, words
    (": v1", ": v2", BadData, "CER0754", 1, 9, "version 'v2'"),
    ("CERLAB:", "HOA:", QuerySyntaxError, "CER0131", 1, 1, "'HOA'"),
    ("kind: vcea\n", "", BadData, "CER0752", 1, 9, "'kind' is missing"),
    ("States: 3\n", "", BadData, "CER0752", 1, 9, "'states' is missing"),
    (": vcea", ": vce", BadData, "CER0753", 2, 7, "no kind"),
    ("States: 3", "States: 3\nStates: 3", BadData, "CER0732", 4, 9, "stands twice"),
    ("States: 3", "States: 1000001", ResourceLimit, "CER0662", 3, 9, "1,000,000 states"),
    ("States: 3", "States: -3", QuerySyntaxError, "CER0131", 3, 9, "'-'"),
    ("States: 3", "States: 99999999999", QuerySyntaxError, "CER0131", 3, 9, "99999"),
    ("Start: 0", "Start: 3", BadData, "CER0756", 4, 8, "state 3 is not in Q"),
    ("Start: 0", "Start: 0\nStart: 0", BadData, "CER0732", 5, 8, "0 stands twice"),
    (": vcea\nStates: 3\nStart: 0", ": cea\nStates: 3", BadData, "CER0757", 10, 12, "a cea has"),
    ("AP: 1", "AP: 2", BadData, "CER0757", 6, 5, "the next proposition is 1"),
    (" v >= 0.5", "", QuerySyntaxError, "CER0131", 8, 6, "unexpected"),
    ("v >= 0.5", "v >=> 0.5", QuerySyntaxError, "CER0101", 8, 11, "unexpected '>'"),
    ("v >= 0.5", "v >= ", QuerySyntaxError, "CER0101", 8, 12, "ends too early"),
    ("v >= 0.5", "v >= 1 AND v < 2", BadData, "CER0757", 8, 7, "no atomic proposition"),
    ("v >= 0.5", "v = 1] FILTER A[v = 1", BadData, "CER0757", 8, 7, "no atomic proposition"),
    ("v >= 0.5", "v LIKE '('", IllFormed, "CER0205", 8, 14, "RE2"),
    ("v >= 0.5", '{"kind": "everything"}', BadData, "CER0757", 8, 7, "no atomic proposition"),
    ("v >= 0.5", '{"kind": "type", "type": 1}', BadData, "CER0751", 8, 7, "a text, found an int"),
    ("v >= 0.5", '{"kind": "type" "type"}', BadData, "CER0750", 8, 23, "no JSON"),
    ("State: 2", "State: 3", BadData, "CER0756", 15, 8, "state 3"),
    ("State: 2 {0}", "State: 3", BadData, "CER0756", 15, 8, "state 3"),
    ("{0}", "{1}", QuerySyntaxError, "CER0131", 15, 10, "unexpected '{'"),
    ("[0]", "[4]", BadData, "CER0753", 11, 2, "no proposition 4"),
    ("[0]", "[]", QuerySyntaxError, "CER0131", 11, 2, "unexpected ']'"),
    ("[0]", "[(0]", QuerySyntaxError, "CER0131", 11, 4, "unexpected ']'"),
    ("[0]", "[0 1]", QuerySyntaxError, "CER0131", 11, 4, "unexpected '1'"),
    ("[t]", "[f]", QuerySyntaxError, "CER0131", 13, 2, "'f'"),
    ("{x, y}", "{x, x}", BadData, "CER0732", 11, 9, "'x' stands twice"),
    ("{x, y}", "{x,}", QuerySyntaxError, "CER0131", 11, 8, "unexpected '}'"),
    ("{x, y}", "take", BadData, "CER0757", 11, 10, "labels in braces"),
    ('"two words"', r'"\ud800"', BadData, "CER0704", 14, 17, "not Unicode"),
    ('"two words"', r'"\q"', BadData, "CER0750", 14, 18, "no JSON"),
    ('words"} 2', 'words"} 3', BadData, "CER0756", 14, 30, "state 3 is not in Q"),
    ("--END--\n", "", QuerySyntaxError, "CER0131", 16, 1, "ends too early"),
    ("--END--\n", "--END--\nState: 0\n", QuerySyntaxError, "CER0131", 17, 1, "State"),
]


@pytest.mark.parametrize(
    ("old", "new", "kind", "code", "line", "column", "words"),
    NOT_HOA,
    ids=[f"{case[0].strip()} to {case[1].strip()}" for case in NOT_HOA],
)
def test_what_is_wrong_in_a_hoa_text(
    old: str, new: str, kind: type[CerlabError], code: str, line: int, column: int, words: str
) -> None:
    assert old in HOA
    with pytest.raises(CerlabError) as caught:
        machine_from_hoa(HOA.replace(old, new, 1))
    error = caught.value
    assert (type(error), error.code) == (kind, code)
    assert words in error.message
    assert isinstance(error.place, SourcePlace)
    assert (error.place.span.line, error.place.span.column) == (line, column)
    if isinstance(error, QuerySyntaxError):
        assert (error.line, error.column) == (line, column)
        assert error.expected
        assert error.caret in str(error)


def test_a_hoa_cea_that_enters_its_initial_state() -> None:
    text = "CERLAB: v1\nkind: cea\nStates: 1\nStart: 0\n--BODY--\nState: 0\n[t] skip 0\n--END--\n"
    with pytest.raises(IllFormed, match="CER0221") as caught:
        machine_from_hoa(text)
    assert isinstance(caught.value.place, SourcePlace)
    assert caught.value.place.describe() == "line 7, column 10"
    with pytest.raises(BadData, match="CER0756"):
        machine_from_hoa(text.replace("Start: 0\n", ""))


# -- deep predicates -----------------------------------------------------------------------------


def tower(depth: int) -> Vcea:
    """A machine with a predicate of this depth."""
    P: pred.Predicate = pred.TypeIs("A")
    for _ in range(depth - 1):
        P = pred.Complement(P)
    return Vcea(1, (LabelTransition(0, P, frozenset(), 0),), frozenset({0}), frozenset({0}))


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
