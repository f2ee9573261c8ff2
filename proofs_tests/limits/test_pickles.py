"""Errors and queries in other processes: pickled and copied they say the same."""

from __future__ import annotations

import copy
import inspect
import pickle
import subprocess
import sys
from collections.abc import Callable
from multiprocessing import get_context
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab import errors
from proofs_tests.suite import random_suite

CALLS: list[tuple[str, Any]] = [
    ("SELECT * WHERE A ;; B", [{"type": "A"}]),
    ("SELECT * WHERE A FILTER A[v <", [{"type": "A"}]),
    ("SELECT b WHERE A AS a ; b+ WITHIN 3 [", [{"type": "A"}]),
    ("SELECT * WHERE A WITHIN 3 [t]", [{"type": "A", "t": 2}, {"type": "A", "t": 1}]),
    ("SELECT * WHERE A", [{"v": 1}]),
    ("SELECT * WHERE A", 3),
]


def error_of(call: tuple[str, Any]) -> cerlab.CerlabError:
    with pytest.raises(cerlab.CerlabError) as caught:
        cerlab.evaluate(*call)
    return caught.value


@pytest.mark.parametrize("call", CALLS)
def test_an_error_is_the_same_elsewhere(call: tuple[str, Any]) -> None:
    error = error_of(call)
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(other) is type(error)
        assert str(other) == str(error)
        assert other.args == error.args
        assert vars(other) == vars(error)


def test_every_class_of_errors_is_pickled() -> None:
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    for kind in kinds:
        if issubclass(kind, cerlab.CerlabError):
            error = kind.__new__(kind, "CER0000", "a message")
            vars(error).update(code="CER0000", message="a message", place=None, hint="a hint")
            assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_worker_gives_its_error_back() -> None:
    with get_context("spawn").Pool(1) as pool, pytest.raises(cerlab.QuerySyntaxError):
        pool.apply_async(cerlab.evaluate, CALLS[0]).get(timeout=60)


def test_a_used_query_is_pickled_and_copied() -> None:
    query = cerlab.parse_query("SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v")
    events = [{"type": "A", "v": 1}, {"type": "B", "v": 2}]
    answers = list(query.run(events))
    assert len(query.open().push(events)) == 1
    for other in (pickle.loads(pickle.dumps(query)), copy.copy(query), copy.deepcopy(query)):
        assert other.text == query.text
        assert list(other.run(events)) == answers


TEXTS = (
    "SELECT * WHERE A AS a ; B+ AS b ; C AS c WITHIN 8 EVENTS",
    "SELECT * WHERE A AS a ; B AS b PARTITION BY [k] WITHIN 9 [t] LIMIT 2",
    "SELECT MAX * WHERE A AS a ; B+ AS b WITHIN 6 SECONDS",
    "SELECT * WHERE A AS a ; B AS b FILTER a.v <= b.v WITHIN 9 EVENTS",
)
SCHEMA = "CREATE STREAM S { EVENT A { v:double }, EVENT B { v:double }, EVENT C { v:double } }"
COPIES: list[Callable[[Any], Any]] = [
    lambda value: pickle.loads(pickle.dumps(value)),
    copy.copy,
    copy.deepcopy,
]


def random_events(rng: Random, length: int) -> list[dict[str, Any]]:
    return [
        {"type": rng.choice("AABBC"), "t": n, "k": rng.randrange(2), "v": rng.randrange(9) / 2}
        for n in range(length)
    ]


def test_queries_that_say_the_same_are_equal() -> None:
    for text in TEXTS:
        query = cerlab.parse_query(text)
        for other in (cerlab.parse_query(text.lower().replace("select", "Select  ")), text):
            assert (query == other) is (
                isinstance(other, cerlab.Query) and query.text == other.text
            )
        for make in COPIES:
            assert make(query) == query
            assert len({make(query), query}) == 1
    assert len({cerlab.parse_query(text) for text in TEXTS * 2}) == len(TEXTS)
    numbers = [cerlab.parse_query(f"SELECT * WHERE A FILTER A[v < {n}]") for n in ("1", "1.0")]
    assert (numbers[0] == numbers[1]) is (numbers[0].text == numbers[1].text)
    with_schema = cerlab.parse_query(TEXTS[0], SCHEMA)
    assert with_schema != cerlab.parse_query(TEXTS[0])


@random_suite(400)
def test_matches_answer_the_same_elsewhere(rng: Random) -> bool:
    events = random_events(rng, 20)
    stream = cerlab.Stream(events, time="t", unit="s")
    if rng.random() < 0.5:
        stream = cerlab.Stream.from_arrow(pa.Table.from_pylist(events), time="t", unit="s")
    matches = cerlab.parse_query(rng.choice(TEXTS)).run(stream)
    answers = list(matches)
    if answers and rng.random() < 0.5:
        assert matches[0] == answers[0]
    table = matches.table(["a.v", "b.k"])
    for make in COPIES:
        other = make(matches)
        assert list(other) == answers
        assert other.count() == len(answers)
        assert [other[k] for k in range(len(answers))] == answers
        assert other.table(["a.v", "b.k"]).equals(table)
        assert other.stream.to_arrow().equals(stream.to_arrow())
        assert list(other.stream) == list(stream)
    return bool(answers)


SESSIONS: dict[str, Callable[[str], Any]] = {
    "answers": lambda text: cerlab.parse_query(text).open(time="t", unit="s"),
    "rows": lambda text: cerlab.parse_query(text).tabulating(["a.v"], time="t", unit="s"),
    "totals": lambda text: cerlab.parse_query(text.replace("LIMIT 2", "")).aggregating(
        time="t", unit="s", sum="a.v", group_by=["end"], sliding="5 SECONDS"
    ),
    "SREMO": lambda _: cerlab.session("#(<type = 'A'>^, <type = 'B'>^)"),
}


def listed(result: Any) -> list[Any]:
    return result if isinstance(result, list) else result.to_pylist()


@pytest.mark.parametrize("kind", SESSIONS)
@random_suite(400)
def test_a_session_goes_on_elsewhere(kind: str, rng: Random) -> bool:
    text = rng.choice([each for each in TEXTS if kind != "totals" or "<=" not in each])
    events, cut = random_events(rng, 30), rng.randrange(31)
    session = SESSIONS[kind](text)
    session.push(events[:cut])
    others = [make(session) for make in COPIES]
    described = repr(session)
    expected = listed(session.push(events[cut:]))
    for other in others:
        assert repr(other) == described
        assert listed(other.push(events[cut:])) == expected
        assert other.pushed == session.pushed
    return bool(expected)


def test_a_spawned_process_takes_and_gives_values() -> None:
    query = cerlab.parse_query(TEXTS[0])
    events = random_events(Random(1), 30)
    session = query.open()
    before = session.push(events[:15])
    with get_context("spawn").Pool(1) as pool:
        matches = pool.apply_async(cerlab.Query.run, (query, events)).get(timeout=60)
        assert pool.apply_async(list, (matches,)).get(timeout=60) == list(query.run(events))
        rest = pool.apply_async(type(session).push, (session, events[15:])).get(timeout=60)
        assert pool.apply_async(cerlab.parse_query, (TEXTS[0],)).get(timeout=60) == query
    assert matches.query == query
    assert before + rest == list(query.open().push(events))


def test_the_package_is_pickled_as_an_import() -> None:
    """Functions that Spark sends to its workers name what a script imports at its top."""
    assert pickle.loads(pickle.dumps(cerlab)) is cerlab
    cloudpickle = pytest.importorskip("pyspark.cloudpickle", reason="PySpark is in the extra")
    assert cloudpickle.loads(cloudpickle.dumps(cerlab)) is cerlab
    names = {"cerlab": cerlab, "__name__": "__main__"}
    exec("def count(events): return cerlab.count('A ; B', events)", names)
    sent = cloudpickle.dumps(names["count"])
    alone = "import pickle, sys; print(pickle.load(sys.stdin.buffer)([{'type': k} for k in 'AAB']))"
    done = subprocess.run(
        [sys.executable, "-c", alone], input=sent, capture_output=True, check=True
    )
    assert done.stdout.split() == [b"2"]
