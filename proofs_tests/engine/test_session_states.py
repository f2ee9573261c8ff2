"""States of sessions of rows and of aggregates: which bytes are refused, and with what."""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

import cerlab
from cerlab.evaluate import thresholds
from proofs_tests.engine.hostile_states import parts_of, states_before, with_digest

TEXT = "SELECT * WHERE A AS a ; B+ AS b PARTITION BY [k] WITHIN 9 SECONDS"
EVENTS = [{"type": "AABB"[n % 4], "k": n % 3, "v": n / 2, "t": n} for n in range(12)]
TIME: dict[str, Any] = {"time": "t", "unit": "s"}
AGGREGATES: dict[str, Any] = {
    "sum": "b.v",
    "max": ["a.v", "b.k"],
    "group_by": ["end", "k"],
    "sliding": "5 SECONDS",
}

Resume = Callable[..., Any]


def totals(text: str = TEXT, **more: Any) -> Any:
    return cerlab.parse_query(text).aggregating(**{**AGGREGATES, **more})


def rows(text: str = TEXT, **more: Any) -> Any:
    return cerlab.parse_query(text).tabulating(["a.v", "b.v"], **more)


@pytest.mark.parametrize("resume", [totals, rows])
def test_a_session_goes_on_where_it_was(resume: Resume) -> None:
    at_once = resume(**TIME).push(EVENTS).to_pylist()
    rows_of_events, state = [], resume(**TIME).state()
    for event in EVENTS:
        session = resume(state=state)
        rows_of_events += session.push([event]).to_pylist()
        state = session.state()
    assert rows_of_events == at_once
    assert rows_of_events


@pytest.mark.parametrize("resume", [totals, rows])
def test_other_bytes_are_refused(resume: Resume) -> None:
    session = resume(**TIME)
    session.push(EVENTS)
    state: bytes = session.state()
    changes = [state[:n] + bytes([state[n] ^ 1]) + state[n + 1 :] for n in range(0, len(state), 41)]
    for other in (b"", b"{}", state[:-9], *changes):
        with pytest.raises(cerlab.BadData, match="CER0771"):
            resume(state=other)
    version = b'"version": 5' if resume is totals else b'"version": 4'
    assert version in state
    with pytest.raises(cerlab.BadData, match="CER0772"):
        resume(state=state.replace(version, b'"version": 9'))
    with pytest.raises(cerlab.BadData, match="CER0773"):
        resume(TEXT.replace("9 S", "8 S"), state=state)
    with pytest.raises(cerlab.UsageError, match="CER0777"):
        resume(state=state, time="u")
    with pytest.raises(cerlab.BadData, match="CER0771"):
        (rows if resume is totals else totals)(state=state)


def compared(text: str = "SELECT * WHERE A+ AS a ; B AS b FILTER b.v > a.v", **more: Any) -> Any:
    return cerlab.parse_query(text).open(**more)


def plain(text: str = "SELECT * WHERE A ; B WITHIN 9 SECONDS", **more: Any) -> Any:
    return cerlab.parse_query(text).open(**more)


def waiting(text: str = "SELECT * WHERE A ; B WAIT 3 SECONDS", **more: Any) -> Any:
    return cerlab.parse_query(text).open(**more)


def in_order(text: str = "SELECT * WHERE A ; B WITHIN 9 SECONDS", **more: Any) -> Any:
    """A session that takes late events; the lateness is that of the state, if there is one."""
    lateness: Any = {} if "state" in more else {"lateness": 2}
    return cerlab.parse_query(text).open(**lateness, **more)


def inside(
    text: str = "SELECT * WHERE A ; NEXT(B ; A) PARTITION BY [k] WITHIN 9 SECONDS", **more: Any
) -> Any:
    """A session of a strategy inside the formula, which has read events before the window too."""
    return cerlab.parse_query(text).open(**more)


KINDS = [plain, compared, waiting, rows, totals, in_order, inside]

KEPT = Path(__file__).with_name("kept_states.json")
"""A state of each kind of session after half of the events: written by ``python -m`` this file."""


def kept(resume: Resume) -> bytes:
    return b64decode(json.loads(KEPT.read_text())[resume.__name__])


@pytest.mark.parametrize("resume", KINDS)
def test_a_state_of_this_version_is_read(resume: Resume) -> None:
    """The version goes up with the layout, so that a state of before is never damaged bytes."""
    expected = resume(**TIME)
    expected.push(EVENTS[:6])
    try:
        session = resume(state=kept(resume))
    except cerlab.BadData as error:
        pytest.fail(f"{error}; after a change of version: python -m {__name__}")
    assert session.push(EVENTS[6:]) == expected.push(EVENTS[6:])


@pytest.mark.parametrize("resume", KINDS[:5])
def test_a_state_of_an_earlier_form_says_its_version(resume: Resume) -> None:
    """Archives of NumPy and lines of JSON; then a run over compared labels had no kinds at all."""
    before = states_before()[resume.__name__]
    was, now = {"plain": (3, 5), "waiting": (2, 5), "totals": (2, 5)}.get(resume.__name__, (2, 4))
    with pytest.raises(cerlab.BadData, match=f"CER0772.*version {was}, this cerlab reads {now}"):
        resume(state=before)
    other = before.replace(f'"version": {was},'.encode(), b'"version": 1,')
    with pytest.raises(cerlab.BadData, match=r"CER0772.*a state of version 1"):
        resume(state=other)


@pytest.mark.parametrize(
    "value", [True, 1, 2.5, "x", cerlab.Timestamp(3), cerlab.Duration(4), None]
)
def test_a_state_of_rows_holds_values_of_every_kind(value: Any) -> None:
    text = "SELECT * WHERE A AS a ; B AS b"
    session = rows(text)
    session.push([{"type": "A", "v": value}])
    again = rows(text, state=session.state())
    found, expected = (each.push([{"type": "B", "v": value}]) for each in (again, session))
    assert found.to_pylist() == expected.to_pylist()
    assert found.num_rows == 1


def test_a_state_is_of_the_same_aggregates() -> None:
    with pytest.raises(cerlab.BadData, match="CER0773"):
        totals(state=totals(**TIME).state(), sum="a.v")


def other_documents(value: Any) -> Iterator[Any]:
    """The same document with one part of it something else."""
    others: tuple[Any, ...] = (None, [], "x", {"hex": "zz"}, {"ratio": [1]})
    yield from others
    if isinstance(value, list):
        for n, each in enumerate(value):
            yield from ([*value[:n], part, *value[n + 1 :]] for part in other_documents(each))


def throttled(
    text: str = "SELECT * WHERE A ; B PARTITION BY [k] THROTTLE 3 SECONDS", **more: Any
) -> Any:
    return cerlab.parse_query(text).open(**more)


def looking(
    text: str = "SELECT * WHERE ((A ; B) LOOKBACK 5 SECONDS) UNLESS C PARTITION BY [k]", **more: Any
) -> Any:
    return cerlab.parse_query(text).open(**more)


TESTED = """SELECT * WHERE A+ AS a ; B FILTER SUM(a.v) >= 0
    PARTITION BY [k] WITHIN 9 SECONDS CONSUME BY PARTITION"""


def filtered(text: str = TESTED, **more: Any) -> Any:
    return cerlab.parse_query(text).open(**more)


@pytest.mark.parametrize("resume", [throttled, looking, in_order, filtered, inside])
def test_a_state_of_another_shape_is_refused_or_goes_on(resume: Resume) -> None:
    session = resume(**TIME)
    session.push(EVENTS[:7])
    _, header, arrays = parts_of(session.state())
    refusals = 0
    body = {name: value for name, value in header["values"].items() if name != "time"}
    for values in islice(other_documents([*body.values()]), 5, None):
        changed = header["values"] | dict(zip(body, values, strict=True))
        try:
            again = resume(state=with_digest({**header, "values": changed}, arrays))
            again.push(EVENTS[7:])
            again.state()
        except cerlab.BadData:
            refusals += 1
    # that of tests holds one number for each substream, that of contexts a name of a state
    least = {"filtered": 15, "inside": 30}
    assert refusals > least.get(resume.__name__, 50)


@pytest.mark.parametrize("resume", [filtered, inside])
def test_a_session_of_tests_or_contexts_goes_on_where_it_was(resume: Resume) -> None:
    expected = resume(**TIME).push(EVENTS)
    answers, state = [], resume(**TIME).state()
    for event in EVENTS:
        session = resume(state=state)
        answers += session.push([event])
        state = session.state()
    assert answers == expected
    assert answers


@pytest.mark.parametrize("resume", [totals, rows])
def test_a_body_of_another_shape_is_refused_or_read(resume: Resume) -> None:
    session = resume(**TIME)
    session.push(EVENTS[:3])
    _, header, arrays = parts_of(session.state())
    body = {name: value for name, value in header["values"].items() if name != "time"}
    refusals = 0
    for values in islice(other_documents([*body.values()]), 5, None, 3):
        changed = dict(zip(body, values, strict=True))
        try:
            resume(state=with_digest({**header, "values": header["values"] | changed}, arrays))
        except cerlab.BadData:
            refusals += 1
    assert refusals > 15


def totals_of(value: Any) -> Iterator[list[Any]]:
    """Yield the totals in a document: lists that end with a number of runs, sums and extremes."""
    if isinstance(value, list):
        match value:
            case [*_, int() | {"hex": _}, [*sums], [*extremes]] if (
                len(sums) == 3 and len(extremes) == 2
            ):
                yield value
        for each in value:
            yield from totals_of(each)


NO_SUM = [0] * 3
PARTS_OF_TOTALS: list[tuple[int, Any]] = [
    # a part of a total from the end (number of runs, sums, extremes), and what it never is
    *[(-3, wrong) for wrong in (0, -1, 1.0, True, None)],
    *[(-2, wrong) for wrong in ([], NO_SUM[:2], NO_SUM * 2, [-1, *NO_SUM[1:]])],
    *[(-2, [*NO_SUM[:2], wrong]) for wrong in (1.0, True, None)],
    *[(-1, wrong) for wrong in ([], [None], [None] * 3, [1, None], [None, 1.0])],
    *[(-1, [None, {"greatest": wrong}]) for wrong in ("x", True, None)],
]


@pytest.mark.parametrize("more", [{}, {"sliding": None, "group_by": "k"}], ids=["sliding", "whole"])
@pytest.mark.parametrize(("part", "wrong"), PARTS_OF_TOTALS)
def test_a_total_that_no_session_writes_is_refused(
    part: int, wrong: Any, more: dict[str, Any]
) -> None:
    session = totals(**TIME, **more)
    session.push(EVENTS)
    _, header, arrays = parts_of(session.state())
    body = header["values"]["body"]
    first_totals = [each[0] for value in body if (each := [*totals_of(value)])]
    assert len(first_totals) == 2, "of runs that are open, and of answers"
    for total in first_totals:
        before, total[part] = total[part], wrong
        with pytest.raises(cerlab.BadData, match="CER0771"):
            totals(state=with_digest(header, arrays), **more)
        total[part] = before
    totals(state=with_digest(header, arrays), **more)


def stored_events(value: Any) -> Iterator[list[Any]]:
    """Yield the events that registers of a document hold: a register, type, stream, attributes."""
    if isinstance(value, list):
        match value:
            case ["a", str(), None | str(), [*_]]:
                yield value
        for each in value:
            yield from stored_events(each)


NOT_TEXTS: tuple[Any, ...] = (1, 0.5, True, [])


@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        *[(1, wrong) for wrong in (*NOT_TEXTS, None)],
        *[(2, wrong) for wrong in NOT_TEXTS],
        *[(3, [[wrong, 0.5]]) for wrong in (*NOT_TEXTS[:3], None)],
        *[(3, [["v", wrong]]) for wrong in ([], [None])],
    ],
)
def test_an_event_of_a_register_that_no_session_writes_is_refused(part: int, wrong: Any) -> None:
    text = "SELECT * WHERE (A AS a ; B AS b FILTER a.v < b.v) WAIT 9 [t]"
    session = compared(text)
    session.push(EVENTS)  # runs have read the events whose wait is over
    _, header, arrays = parts_of(session.state())
    event = next(stored_events(header["values"]["bodies"]))
    compared(text, state=with_digest(header, arrays))
    event[part] = wrong
    with pytest.raises(cerlab.BadData, match="CER0771"):
        compared(text, state=with_digest(header, arrays))


def test_a_context_of_another_number_or_query_is_refused() -> None:
    session = inside(**TIME)
    session.push(EVENTS)
    _, header, arrays = parts_of(session.state())
    assert header["sizes"]["contexts"] == 1
    ((*known,),) = header["values"]["names"]
    wrong: list[Any] = [[[]], [known, []], [[[[99], [], []]] * len(known)]]
    for names in wrong:
        changed = {**header, "values": {**header["values"], "names": names}}
        with pytest.raises(cerlab.BadData, match="CER0771"):
            inside(state=with_digest(changed, arrays))
    other = "SELECT * WHERE A ; NEXT(B ; C) PARTITION BY [k] WITHIN 9 SECONDS"
    with pytest.raises(cerlab.BadData, match="CER0773"):
        inside(other, state=session.state())


def test_an_end_that_waits_comes_after_all_that_its_body_has_read() -> None:
    session = waiting(**TIME)
    session.push(EVENTS[:9])
    _, header, arrays = parts_of(session.state())
    ((((_, _, ends, *_),),), *_) = header["values"]["stage"]
    assert ends[0] > 1
    ends[0] = 0
    with pytest.raises(cerlab.BadData, match=r"CER0771.*the order of the ends"):
        waiting(state=with_digest(header, arrays))


TIMED = {
    "windowed": "SELECT * WHERE A ; B WITHIN 9 SECONDS",
    "general": "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 9 SECONDS",
    "sorting": "SELECT LAST * WHERE A ; B+ PARTITION BY [k] WITHIN 9 SECONDS",
    "attribute": "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 9 [t]",
    "registers": "SELECT * WHERE (A AS a ; B AS b) FILTER a.v < b.v WITHIN 9 SECONDS",
}


DOORS = [(kind, door) for kind in TIMED for door in ("open", "aggregating", "tabulating")]
DOORS.remove(("registers", "aggregating"))  # sums of answers need an automaton


@pytest.mark.parametrize("few", [1, 1000], ids=["columns", "events"])
@pytest.mark.parametrize(("kind", "door"), DOORS)
def test_after_a_resume_time_goes_on_from_the_last_event(
    kind: str, door: str, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A time between the first and the last event of the window goes back, and is refused."""
    monkeypatch.setattr(thresholds, "FEWEST", few)
    by_door: dict[str, Any] = {"aggregating": {"count": True}, "tabulating": {"columns": ["A.v"]}}
    arguments = by_door.get(door, {})
    axis = {} if "[t]" in TIMED[kind] else TIME

    def session(**state: bytes) -> Any:
        given = {} if "state" in state else axis
        return getattr(cerlab.parse_query(TIMED[kind]), door)(**arguments, **given, **state)

    first = session()
    first.push([{"type": "A", "k": 1, "v": 1, "t": 2}, {"type": "B", "k": 2, "v": 3, "t": 6}])
    state = first.state()
    for again in (first, session(state=state)):
        with pytest.raises(cerlab.BadData, match="CER07") as refused:
            again.push([{"type": "B", "k": 1, "v": 2, "t": 4}])
        assert "4" in str(refused.value)
    late = {"type": "B", "k": 1, "v": 2, "t": 6}
    assert len(session(state=state).push([late])) == 1


def write_kept() -> None:
    """Write the states of this version."""
    states = {}
    for resume in KINDS:
        session = resume(**TIME)
        session.push(EVENTS[:6])
        states[resume.__name__] = b64encode(session.state()).decode()
    KEPT.write_text(json.dumps(states, indent=0) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_kept()
