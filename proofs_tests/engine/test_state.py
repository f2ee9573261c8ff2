"""The state of a run as bytes: resumed anywhere, it answers as a run that never stopped does."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import ComplexEvent, Query
from cerlab.api import as_query
from cerlab.automata.deterministic import DeterministicCea
from cerlab.automata.plan import plan_digest
from cerlab.automata.strategy import StrategyCea, idle_of_name, state_of_name
from cerlab.engine.state import ENGINE
from cerlab.engine.tecs_run import GeneralEvaluation
from cerlab.logic.ceql.semantics import query_answers
from proofs_tests.engine.hostile_states import parts_of, with_digest
from proofs_tests.engine.test_compiled import compilable
from proofs_tests.random_cases import Case
from proofs_tests.suite import Suite, random_suite


def fresh_machine(query: Query) -> DeterministicCea | StrategyCea:
    """A machine of another process: it numbers its states anew."""
    strategy = query.plan.strategy
    return DeterministicCea(query.cea) if strategy is None else StrategyCea(query.cea, strategy)


def with_stops(case: Case, cuts: list[int]) -> list[ComplexEvent]:
    """Each batch by a new run, resumed from the bytes of the run before."""
    query, columns = case.query, case.stream.columns
    state: bytes | None = None
    answers: list[ComplexEvent] = []
    for start, end in zip([0, *cuts], [*cuts, len(case.stream)], strict=True):
        machine = fresh_machine(query)
        run = GeneralEvaluation(
            query.plan, machine, case.stream.time, arena=32, answers=2, state=state
        )
        part = {name: column[start:end] for name, column in columns.items()}
        by_event = (start + len(cuts)) % 2
        events = case.stream.events[start:end]
        for batch in run.push_events(events) if by_event else run.push_columns(part, end - start):
            answers += batch
        state = run.state()
    return answers


@random_suite(20_000)
def test_stopping_and_going_on_changes_nothing(rng: Random) -> bool | None:
    example = compilable(rng)
    try:
        expected = query_answers(example.ast, example.stream)
    except cerlab.ResourceLimit:  # one query in ten thousand is too large for the oracle
        return None
    cuts = sorted(rng.randrange(len(example.stream) + 1) for _ in range(rng.randrange(1, 4)))
    answers = with_stops(example, cuts)
    assert len(answers) == len(set(answers)), example.describe()
    assert set(answers) == set(expected), (example.describe(), cuts)
    return bool(expected)


def test_a_session_goes_on_from_its_state() -> None:
    query = cerlab.parse_query("SELECT * WHERE A ; B PARTITION BY [k] WITHIN 2 [t]")
    first = query.open()
    assert first.push([{"type": "A", "k": "x", "t": 0}, {"type": "A", "k": "y", "t": 1}]) == []
    again = cerlab.parse_query(query.text).open(state=first.state())
    answers = again.push([{"type": "B", "k": "y", "t": 2}, {"type": "B", "k": "x", "t": 3}])
    assert answers == [ComplexEvent(1, 2, (1, 2))], "x began more than 2 before"


@pytest.mark.parametrize("window", ["2 [t]", "2 SECONDS"])
@pytest.mark.parametrize("kind", ["A", "other"])
def test_time_that_goes_back_after_a_state_is_seen(window: str, kind: str) -> None:
    """Also where no run has begun before the state."""
    query = cerlab.parse_query(f"SELECT * WHERE A ; B WITHIN {window}")
    first = query.open(time="t", unit="s")
    first.push([{"type": kind, "t": 5}, {"type": "other", "t": 9}])
    later = query.open(state=first.state())
    with pytest.raises(cerlab.BadData, match="CER0714"):
        later.push([{"type": "B", "t": 8}])


def test_a_schema_with_one_timestamp_tells_the_time_of_a_session() -> None:
    schema = "CREATE STREAM S { EVENT A { t:timestamp }, EVENT B { t:timestamp } }"
    query = cerlab.parse_query("SELECT * WHERE A ; B WITHIN 3 SECONDS", schema)
    session = query.open()
    for second, expected in ((0, 0), (3, 1), (4, 0)):
        kind = "AB"[second > 0]
        row = {"type": kind, "t": cerlab.Timestamp(second * 10**9)}
        assert len(session.push([row])) == expected
    with pytest.raises(cerlab.UsageError, match="CER0802"):
        as_query("SELECT * WHERE A ; B WITHIN 3 SECONDS").open()


def test_a_state_knows_what_time_was_measured_on() -> None:
    query = as_query("SELECT * WHERE A ; B WITHIN 3 SECONDS")
    first = query.open(time="t", unit="ms")
    first.push([{"type": "A", "t": 0, "u": 0}])
    state = first.state()
    for again in (query.open(state=state), query.open(state=state, time="t", unit="ms")):
        assert again.push([{"type": "B", "t": 3_000, "u": 9}]) == [ComplexEvent(0, 1, (0, 1))]
    for time, unit in (("t", "s"), ("t", None), ("u", "ms")):
        with pytest.raises(cerlab.UsageError, match=r"CER0777: .* on 't' in ms"):
            query.open(state=state, time=time, unit=unit)
    other = as_query("SELECT * WHERE A ; B WITHIN 3 [t]").open(time="u", unit="s")
    other.push([{"type": "A", "t": 0}])
    as_query("SELECT * WHERE A ; B WITHIN 3 [t]").open(time="t", state=other.state())


def test_states_outside_the_window_are_not_kept() -> None:
    query = as_query("SELECT * WHERE A ; B WITHIN 10 EVENTS")
    session = query.open()
    sizes = []
    for _ in range(6):
        session.push([{"type": "A"}] * 500)
        sizes.append(len(session.state()))
    assert max(sizes[1:]) - min(sizes[1:]) < 64, "it does not grow with the stream"


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        (lambda state: b"", "CER0771"),
        (lambda state: b"no state", "CER0771"),
        (lambda state: state[: len(state) // 2], "CER0771"),
        (lambda state: state.replace(b'"version": 5', b'"version": 9'), "CER0772"),
    ],
)
def test_other_bytes_are_refused(damage: object, code: str) -> None:
    query = as_query("A ; B")
    session = query.open()
    session.push([{"type": "A"}])
    assert callable(damage)
    damaged_state = damage(session.state())
    with pytest.raises(cerlab.BadData) as caught:
        query.open(state=damaged_state)
    assert caught.value.code in (code, "CER0771"), "a changed byte also breaks the checksum"


def test_a_changed_byte_is_refused_or_changes_nothing() -> None:
    query = as_query("SELECT * WHERE A+ ; B WITHIN 8 EVENTS")
    events = [{"type": "AB"[i % 3 == 2]} for i in range(12)]
    session = query.open()
    session.push(events[:5])
    state = session.state()
    expected = query.open(state=state).push(events[5:])
    refusals = 0
    for at in range(len(state)):
        content = bytearray(state)
        content[at] ^= 0x41
        try:
            session_again = query.open(state=bytes(content))
        except cerlab.BadData:
            refusals += 1
            continue
        assert session_again.push(events[5:]) == expected, at
    assert refusals > len(state) // 2


def test_the_state_of_another_query_is_refused() -> None:
    session = as_query("A ; B").open()
    with pytest.raises(cerlab.BadData, match="another query"):
        as_query("A ; C").open(state=session.state())


@pytest.mark.parametrize("name", ["0", ["0"], [0.5], [True], [None], 0, None, {"0": 0}])
def test_what_is_no_list_of_states_names_none(name: object) -> None:
    plain, last = as_query("A ; B"), as_query("SELECT LAST * WHERE A ; B")
    with pytest.raises(cerlab.BadData, match="this is not a state of the machine"):
        state_of_name(plain.machine, name)
    with pytest.raises(cerlab.BadData, match="this is not a state of the machine"):
        state_of_name(last.machine, [name, [[], [], []], 0])
    with pytest.raises(cerlab.BadData, match="this is not an idle state"):
        idle_of_name(last.machine, [[0], name, []])


def test_the_format_is_what_is_documented() -> None:
    session = as_query("A ; B").open()
    session.push([{"type": "A"}])
    _, header, arrays = parts_of(session.state())
    assert list(header) == ["format", "version", "of", "sizes", "values"]
    assert (header["format"], header["version"]) == (ENGINE.format, ENGINE.version)
    assert header["of"] == plan_digest(as_query("A ; B").plan)
    assert header["sizes"] == {"nodes": 2, "partitions": 1, "pool": 3}
    assert header["values"]["read"] == 1
    assert header["values"]["states"] == [[1]]
    assert arrays["pool"].tolist() == [0, 1, arrays["pool"][2]]


def test_edited_states_are_refused_or_do_no_harm(
    request: pytest.FixtureRequest, suite: Suite
) -> None:
    """Edit states and make their digests again, with every index checked.

    Few edits run without compilation, which takes longer than they do; Python checks indices too.
    """
    seeds, checked = (1_000, "NUMBA_BOUNDSCHECK") if suite.deep else (20, "NUMBA_DISABLE_JIT")
    done = subprocess.run(
        [sys.executable, "-m", "proofs_tests.engine.hostile_states", str(seeds)],
        env={**os.environ, checked: "1"},
        cwd=request.config.rootpath,
        capture_output=True,
        text=True,
        check=False,
        timeout=3600,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    runs, sessions = json.loads(done.stdout)
    for counts in (runs, sessions):
        assert counts["refused"] > 5 * seeds
        assert counts["answers"] > seeds // 2, "some edits are of no harm, and are not refused"


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("format", "another", "another format"),
        ("sizes", {"nodes": 1 << 50, "partitions": 1, "pool": 3}, "the sizes"),
        ("sizes", {"nodes": 1, "partitions": 1, "pool": 3}, "the sizes of its arrays"),
        ("sizes", {"nodes": -1, "partitions": 1, "pool": 3}, "the sizes"),
        ("sizes", {"nodes": 2.0, "partitions": 1, "pool": 3}, "the sizes"),
        ("read", 1 << 61, "the number 'read'"),
        ("read", -1, "the number 'read'"),
        ("read", True, "the number 'read'"),
        ("read", None, "the type of 'read'"),
        ("keys", None, "the type of 'keys'"),
        ("keys", [["x"]], "a key of another length"),
        ("time", ["t", None], "the type of 'time'"),
        ("time", {"axis": ["t", None]}, "what time is measured on"),
        ("another", 1, "the names of its values"),
    ],
)
def test_a_header_that_says_something_else_is_refused(name: str, value: Any, message: str) -> None:
    query = as_query("A ; B")
    session = query.open()
    session.push([{"type": "A"}])
    state = session.state()
    _, header, arrays = parts_of(state)
    assert with_digest(header, arrays) == state
    inside = header if name in header else header["values"]
    inside[name] = value
    with pytest.raises(cerlab.BadData, match=f"CER0771.*{message}"):
        query.open(state=with_digest(header, arrays))


def test_an_edit_without_a_new_digest_is_refused() -> None:
    query = as_query("SELECT * WHERE A ; B WITHIN 9 EVENTS")
    session = query.open()
    session.push([{"type": "A"}, {"type": "A"}])
    state = session.state()
    assert query.open(state=state).push([{"type": "B"}])
    edited = state.replace(b'"read": 2', b'"read": 3')
    assert edited != state
    with pytest.raises(cerlab.BadData, match="digest"):
        query.open(state=edited)
