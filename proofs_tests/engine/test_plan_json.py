"""Plans as JSON: read back exactly, refused with a place where they are not what they should be."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import BadData, CerlabError, ComplexEvent, ResourceLimit
from cerlab.automata.plan import (
    Plan,
    plan_digest,
    plan_from_bytes,
    plan_from_json,
    plan_to_bytes,
    plan_to_json,
)
from cerlab.automata.strategy import machine_of
from cerlab.compile.pattern import as_pattern
from cerlab.engine.reference import driver
from cerlab.engine.reference.tecs import TecsEvaluation
from cerlab.errors import DataPlace
from cerlab.model.clauses import AttributeWindow, EventWindow, Limit, TimeWindow, Window
from cerlab.model.stream import Stream
from cerlab.testing import Shape
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import Suite, random_suite

SHAPE = Shape(depth=3, events=8, family=True, rich=True)


def random_plan(rng: Random) -> tuple[Case, Plan]:
    """A query with an automaton, sometimes with LIMIT, and its plan."""
    while (case := random_case(rng, SHAPE)).query.machine_kind != "automaton":
        pass
    limit = Limit(rng.choice((1, 2, 100))) if rng.random() < 0.3 else None
    return case, replace(case.query.plan, limit=limit)


def answers(plan: Plan, stream: Stream) -> list[ComplexEvent]:
    machine = machine_of(plan)
    return list(driver.run(plan, lambda: TecsEvaluation(machine), stream, stream.time))


def exact(plan: Plan) -> tuple[object, ...]:
    """All of a plan, with constants by `repr`: it tells 1 from 1.0 from TRUE, and NaN is NaN."""
    vcea, cea = plan.vcea, plan.cea
    moves = [(t.source, repr(t.predicate), t.labels, t.target) for t in vcea.Delta]
    transitions = [(t.source, repr(t.predicate), t.mark, t.target) for t in cea.Delta]
    clauses = (plan.streams, plan.partition, repr(plan.window), plan.consume, plan.limit)
    states = (vcea.states, vcea.I, vcea.F, cea.states, cea.q0, cea.F)
    return moves, transitions, states, clauses, plan.strategy


@random_suite(10_000)
def test_a_plan_is_read_back_with_its_digest_and_its_answers(rng: Random) -> bool:
    example, plan = random_plan(rng)
    content = plan_to_bytes(plan)
    again = plan_from_bytes(content)
    assert exact(again) == exact(plan), example.describe()
    assert plan_to_bytes(again) == content
    assert plan_digest(again) == plan_digest(plan)
    matches = answers(again, example.stream)
    assert matches == answers(plan, example.stream), example.describe()
    return bool(matches)


@pytest.mark.parametrize(
    "window",
    [
        None,
        EventWindow(0),
        EventWindow(2**63),
        TimeWindow(3_600 * 10**9 + 1),
        TimeWindow(10**30),
        AttributeWindow(3, "t"),
        AttributeWindow(3.0, "t"),
        AttributeWindow(0.1, "two words"),
        AttributeWindow(2**53 + 1, "é"),
        AttributeWindow(1e300, "t"),
    ],
    ids=repr,
)
def test_windows_stay_exact(window: Window | None) -> None:
    plan = replace(as_pattern("A ; B").plan, window=window)
    assert repr(plan_from_bytes(plan_to_bytes(plan)).window) == repr(window)


def test_every_clause_is_in_the_digest() -> None:
    texts = (
        "SELECT * WHERE A ; B",
        "SELECT * WHERE A ; B FILTER A[v = 1]",
        "SELECT * WHERE A ; B FILTER A[v = 1.0]",
        "SELECT * WHERE A ; B FILTER A[v = TRUE]",
        "SELECT A WHERE A ; B",
        "SELECT LAST * WHERE A ; B",
        "SELECT MAX * WHERE A ; B",
        "SELECT * FROM S WHERE A ; B",
        "SELECT * WHERE A ; B PARTITION BY [k]",
        "SELECT * WHERE A ; B WITHIN 3 EVENTS",
        "SELECT * WHERE A ; B WITHIN 3 [t]",
        "SELECT * WHERE A ; B WITHIN 3.0 [t]",
        "SELECT * WHERE A ; B WITHIN 3 SECONDS",
        "SELECT * WHERE A ; B CONSUME BY ANY",
        "SELECT * WHERE A ; B LIMIT 1",
        "SELECT * WHERE A AS x ; B",
    )
    digests = [plan_digest(cerlab.parse_query(text).plan) for text in texts]
    assert len(set(digests)) == len(texts)
    assert digests == [plan_digest(cerlab.parse_query(text).plan) for text in texts]


def test_the_document_is_the_documented_one() -> None:
    query = "SELECT NEXT * FROM S WHERE A PARTITION BY [k] WITHIN 2.5 [t] CONSUME BY ANY LIMIT 7"
    query += " THROTTLE 3 [t]"
    plan = cerlab.parse_query(query).plan
    document = plan_to_json(plan)
    assert document.pop("digest") == plan_digest(plan)
    assert {kind: document.pop(kind)["kind"] for kind in ("vcea", "cea")} == {
        "vcea": "vcea",
        "cea": "cea",
    }
    assert document == {
        "format": "cerlab-plan",
        "version": 2,
        "streams": ["S"],
        "partition": ["k"],
        "window": {"kind": "attribute", "width": {"float": 2.5}, "attribute": "t"},
        "consume": "ANY",
        "limit": 7,
        "throttle": {"kind": "attribute", "width": {"int": 3}, "attribute": "t"},
        "strategy": "NEXT",
    }


def test_another_process_writes_the_same_bytes() -> None:
    formula = "((A AS a AS b AS c OR B AS d AS e AS f)+ ; C AS x AS y AS z) FILTER z[v IN {1, 2}]"
    text = f"SELECT * WHERE {formula} LIMIT 3"
    script = (
        "import sys, cerlab; from cerlab.automata.plan import plan_to_bytes; "
        "sys.stdout.buffer.write(plan_to_bytes(cerlab.parse_query(sys.argv[1]).plan))"
    )
    documents = {
        subprocess.run(
            [sys.executable, "-c", script, text],
            capture_output=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert documents == {plan_to_bytes(cerlab.parse_query(text).plan)}


# -- what is refused ---------------------------------------------------------------------------


def with_digest(document: Any) -> Any:
    """The document with the digest of what it says now."""
    body = {k: v for k, v in document.items() if k not in ("format", "version", "digest")}
    if body.get("throttle", 0) is None:
        del body["throttle"]
    text = json.dumps(body, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return {**document, "digest": hashlib.sha256(text.encode()).hexdigest()}


def small_document() -> dict[str, Any]:
    query = "SELECT * WHERE A ; B FILTER B[v > 1] PARTITION BY [k] WITHIN 3 EVENTS LIMIT 2"
    return plan_to_json(cerlab.parse_query(query).plan)


def edit(path: tuple[str | int, ...], value: Any) -> Callable[[], dict[str, Any]]:
    def make() -> dict[str, Any]:
        document = small_document()
        inside: Any = document
        for step in path[:-1]:
            inside = inside[step]
        inside[path[-1]] = value
        return document

    return make


def without(key: str) -> Callable[[], dict[str, Any]]:
    return lambda: {name: value for name, value in small_document().items() if name != key}


@pytest.mark.parametrize(
    ("make", "code", "place"),
    [
        (list, "CER0751", "$"),
        (dict, "CER0752", "$"),
        (edit(("format",), "cerlab-machine"), "CER0754", "$.format"),
        (edit(("version",), 1), "CER0754", "$.version"),
        (edit(("version",), True), "CER0751", "$.version"),
        (edit(("version",), "1"), "CER0751", "$.version"),
        (edit(("digest",), "0" * 64), "CER0758", "$.digest"),
        (edit(("digest",), None), "CER0751", "$.digest"),
        (without("digest"), "CER0752", "$"),
        (without("limit"), "CER0752", "$"),
        (edit(("more",), 1), "CER0752", "$"),
        (edit(("limit",), 3), "CER0758", "$.digest"),
        (edit(("limit",), -1), "CER0755", "$.limit"),
        (edit(("limit",), 2.0), "CER0751", "$.limit"),
        (edit(("strategy",), "FIRST"), "CER0753", "$.strategy"),
        (edit(("consume",), None), "CER0751", "$.consume"),
        (edit(("streams",), "S"), "CER0751", "$.streams"),
        (edit(("partition",), ["k", 1]), "CER0751", "$.partition[1]"),
        (edit(("partition",), ["\ud800"]), "CER0704", "$.partition[0]"),
        (edit(("window", "width"), -1), "CER0755", "$.window.width"),
        (edit(("window", "kind"), "moons"), "CER0753", "$.window.kind"),
        (edit(("window", "attribute"), "t"), "CER0752", "$.window"),
        (
            edit(("window",), {"kind": "attribute", "width": 3, "attribute": "t"}),
            "CER0751",
            "$.window.width",
        ),
        (
            edit(("window",), {"kind": "attribute", "width": {"float": "nan"}, "attribute": ""}),
            "CER0755",
            "$.window.width",
        ),
        (
            edit(("window",), {"kind": "attribute", "width": True, "attribute": "t"}),
            "CER0755",
            "$.window.width",
        ),
        (edit(("vcea", "states"), 10**9), "CER0662", "$.vcea.states"),
        (edit(("cea", "final"), [99]), "CER0756", "$.cea.final[0]"),
        (edit(("cea", "kind"), "anchored-cea"), "CER0756", "$.cea.kind"),
        (
            lambda: edit(("cea",), small_document()["vcea"])(),
            "CER0756",
            "$.cea.kind",
        ),
        (
            edit(("cea", "transitions", 0, "target"), 0),
            "CER0756",
            "$.cea.transitions[0].target",
        ),
        (
            edit(("cea", "transitions", 0, "predicate"), {"kind": "code"}),
            "CER0753",
            "$.cea.transitions[0].predicate.kind",
        ),
    ],
)
def test_what_is_malformed_is_refused_at_its_place(
    make: Callable[[], Any], code: str, place: str
) -> None:
    with pytest.raises(CerlabError) as caught:
        plan_from_json(make())
    assert type(caught.value) in (BadData, ResourceLimit)
    assert caught.value.code == code
    assert isinstance(caught.value.place, DataPlace)
    assert caught.value.place.file == place


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "CER0750"),
        (b"\xff", "CER0750"),
        (b"{", "CER0750"),
        (b"NaN", "CER0750"),
        (b"1" * 5_000, "CER0750"),
        (b"[" * 200_000, "CER0602"),
        (b'{"format": 1, "format": 2}', "CER0732"),
        (b'\xef\xbb\xbf{"format": "cerlab-plan"}', "CER0750"),
        (b"cposix\nsystem\n(S'false'\ntR.", "CER0750"),
    ],
    ids=range(9),
)
def test_bytes_that_are_no_plan(content: bytes, code: str) -> None:
    with pytest.raises(CerlabError) as caught:
        plan_from_bytes(content)
    assert caught.value.code == code


WRONG: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1,
    10**20,
    1.5,
    "",
    "A",
    "\ud800",
    [],
    [0],
    {},
    {"a": 1},
)


def mutate(rng: Random, document: Any) -> None:
    """Change one place of a document, anywhere in its depth."""
    places: list[tuple[Any, Any]] = []
    level: list[Any] = [document]
    while level:
        node = level.pop()
        keys = list(node) if isinstance(node, dict) else range(len(node))
        places += [(node, key) for key in keys]
        level += [node[key] for key in keys if isinstance(node[key], dict | list)]
    node, key = rng.choice(places)
    match rng.randrange(4):
        case 0:
            del node[key]
        case 1:
            other, other_key = rng.choice(places)
            node[key] = deepcopy(other[other_key])
        case 2 if isinstance(node, dict):
            node[rng.choice(("kind", "value", "more"))] = rng.choice(WRONG)
        case 2:
            node.append(deepcopy(node[key]))
        case _:
            node[key] = deepcopy(rng.choice(WRONG))


def test_a_changed_document_is_refused_or_is_another_plan(suite: Suite) -> None:
    """Nothing but our own errors, also where the digest was made to fit."""
    refusals = 0

    def case(rng: Random) -> bool:
        nonlocal refusals
        _, plan = random_plan(rng)
        document = plan_to_json(plan)
        for _ in range(rng.choice((1, 1, 1, 3))):
            mutate(rng, document)
        has_digest = rng.random() < 0.7
        try:
            content = json.dumps(with_digest(document) if has_digest else document).encode()
        except UnicodeEncodeError:  # half of a surrogate pair has no digest
            content = json.dumps(document).encode()
        try:
            again = plan_from_bytes(content)
        except (BadData, ResourceLimit):
            refusals += 1
            return True
        assert plan_from_bytes(plan_to_bytes(again)) is not None
        return True

    ran = suite.run(case, deep_count=10_000)
    assert refusals > ran // 2


def test_changed_bytes_are_refused(suite: Suite) -> None:
    content = json.dumps(small_document(), ensure_ascii=False).encode()

    def case(rng: Random) -> bool:
        copy = bytearray(content)
        at = rng.randrange(len(copy))
        match rng.randrange(3):
            case 0:
                del copy[at:]
            case 1:
                copy[at] ^= 1 << rng.randrange(8)
            case _:
                del copy[at]
        try:
            again = plan_from_bytes(bytes(copy))
        except (BadData, ResourceLimit):
            return True
        assert plan_to_json(again) == small_document(), "white space or the case of an escape"
        return True

    suite.run(case, deep_count=10_000)


def test_the_digest_of_a_plan_is_the_same_in_every_version() -> None:
    """Kept states name their plan by it."""
    query = "SELECT LAST * WHERE A ; B FILTER B[name = 'é'] PARTITION BY [k] WITHIN 3 EVENTS"
    assert plan_digest(as_pattern(query).plan)[:12] == "273717aeb094"
