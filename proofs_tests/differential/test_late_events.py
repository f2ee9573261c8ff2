"""Sessions that take late events give the answers on the events that were not late, in order."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from random import Random
from typing import Any

import pytest

import cerlab
from proofs_tests.suite import Suite

TEXTS = [
    "SELECT * WHERE A ; B WITHIN 4 [t]",
    "SELECT * WHERE A AS a ; B AS b FILTER b.v >= a.v WITHIN 5 [t]",
    "SELECT * WHERE A AS a ; B+ AS b PARTITION BY [k] WITHIN 6 [t] CONSUME BY PARTITION",
    "SELECT MAX * WHERE A+ AS a ; B AS b WITHIN 3 EVENTS",
    "SELECT * WHERE A : B THROTTLE 3 [t]",
    "SELECT * WHERE (A AS a WAIT 2 [t]) UNLESS B PARTITION BY [k]",
    "SELECT * WHERE A ; (B WAIT 3 [t])",
]

OTHERS = ["aggregating", "tabulating"]

Event = dict[str, Any]


def arriving(rng: Random) -> list[Event]:
    """Events whose times go back at times, as integers, doubles, or large integers."""
    kind = rng.choice((int, int, float, lambda t: t + 2**70))
    times = [
        max(0, n // 2 + rng.choice((0, 0, 0, 1, -1, -3, 4))) for n in range(rng.randint(1, 24))
    ]
    return [
        {"type": rng.choice("AAABBC"), "t": kind(t), "v": rng.randint(0, 2), "k": rng.randint(0, 1)}
        for t in times
    ]


def late_by_definition(events: list[Event], d: float, promises: dict[int, Any]) -> list[bool]:
    """Return which events are late: below the time of one that was read, or below a promise.

    An event is read when one that is more than d later was taken before, or by a promise.
    """
    late: list[bool] = []
    for i, event in enumerate(events):
        taken = [events[j]["t"] for j in range(i) if not late[j]]
        promised = [u for at, u in promises.items() if at <= i]
        read = [t for t in taken if any(other - t > d for other in taken)]
        read += [t for t in taken if any(t < u for u in promised)]
        late.append(any(event["t"] < t for t in (*read, *promised)))
    return late


def opened(text: str, how: str, **more: Any) -> Any:
    query = cerlab.parse_query(text)
    openings: dict[str, Callable[[], Any]] = {
        "open": lambda: query.open(**more),
        "session": lambda: cerlab.session(text, **more),
        "aggregating": lambda: query.aggregating(sum="A.v", group_by="end", **more),
        "tabulating": lambda: query.tabulating(["A.v"], **more),
    }
    return openings[how]()


def given(session: Any, push: Any) -> list[Any]:
    try:
        result = push(session)
    except cerlab.BadData as error:
        raise AssertionError("refused") from error
    return result if isinstance(result, list) else result.to_pylist()


def last_of_each(rows: list[Any]) -> list[Any]:
    """Return the last row of each end: with waits a group comes again whenever it has grown."""
    return [{row["end"]: row for row in rows}[end] for end in sorted({row["end"] for row in rows})]


def agree_in_order(rng: Random) -> bool:
    """Compare a session that takes late events with one that gets the others in order."""
    text, d, events = rng.choice(TEXTS), rng.choice((0, 1, 2, 2.5, 5)), arriving(rng)
    promises = dict[int, Any]()
    for at in rng.sample(range(len(events)), k=min(len(events), rng.choice((0, 0, 1)))):
        promises[at] = max((e["t"] for e in events[:at]), default=0) - rng.choice((0, 1))
    late = late_by_definition(events, d, promises)
    how = rng.choice(["open", "session", *OTHERS[: 0 if "THROTTLE" in text else 2]])
    session = opened(text, how, time="t", lateness=d)
    found: list[Any] = []
    at = 0
    while at < len(events):
        if at in promises:
            found += given(session, lambda s, u=promises[at]: s.advance(u))
        sizes = (at + rng.choice((1, 2, 5, 99)), len(events))
        stop = min([*sizes, *(p for p in promises if p > at)])
        batch = events[at:stop]
        try:
            result = session.push(batch)
        except cerlab.BadData as error:
            result = error.matches
            first = next((n for n in range(at, stop) if late[n]), None)
            assert first is not None, "no event is late"
            at = first + 1
        else:
            assert not any(late[at:stop])
            at += len(batch)
        found += given(session, lambda _, result=result: result)
        assert session.late == sum(late[:at])
        if rng.random() < 0.2:
            session = opened(text, how, state=session.state())
    found += given(session, lambda s: s.advance("end"))
    plain = opened(text, how, time="t")
    in_time = [event for event, is_late in zip(events, late, strict=True) if not is_late]
    expected = given(plain, lambda s: s.push(sorted(in_time, key=lambda e: e["t"])))
    if "WAIT" in text:
        expected += given(plain, lambda s: s.advance("end"))
        # with waits, the order of ends is that of one push or promise
        arranged: Callable[[list[Any]], list[Any]] = (
            last_of_each if how == "aggregating" else partial(sorted, key=str)
        )
        found, expected = arranged(found), arranged(expected)
    assert found == expected, (text, d, events, promises)
    return bool(expected)


def test_the_answers_are_those_of_the_events_in_order(suite: Suite) -> None:
    suite.run(agree_in_order, deep_count=20_000)


def test_a_lateness_is_a_text_a_timedelta_or_a_number_in_the_unit_of_the_time() -> None:
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    of_moments = [{"type": "A", "t": begin + timedelta(seconds=n)} for n in (0, 5, 2)]
    of_numbers = [{"type": "A", "t": n} for n in (0, 5000, 2000)]
    lengths: list[tuple[Any, int]] = [("3 seconds", 1), ("0.05 minutes", 1), ("2.999s", 2)]
    for lateness, count in [*lengths, (timedelta(seconds=3), 1)]:
        assert len(cerlab.session("A", time="t", lateness=lateness).push(of_moments)) == count
    for lateness, count in [*lengths, (3000, 1), ("3000", 1), (3000.0, 1), (2999, 2)]:
        session = cerlab.session("A", time="t", unit="ms", lateness=lateness)
        assert len(session.push(of_numbers)) == count
        assert session.pushed == 3


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"lateness": "soon", "time": "t"}, "CER0882"),
        ({"lateness": -1, "time": "t"}, "CER0882"),
        ({"lateness": [], "time": "t"}, "CER0882"),
        ({"lateness": 1}, "CER0802"),
    ],
)
def test_what_is_no_lateness_is_refused(more: Any, code: str) -> None:
    with pytest.raises(cerlab.UsageError, match=code):
        cerlab.session("A", **more)


def test_a_state_has_its_lateness() -> None:
    state = cerlab.session("A", time="t", unit="s", lateness=2).state()
    assert cerlab.session("A", state=state, lateness="2 s").state() == state
    plain = cerlab.session("A").state()
    others: list[Any] = [{"state": state, "lateness": 3}]
    others.append({"state": plain, "lateness": 2, "time": "t"})
    for other in others:
        with pytest.raises(cerlab.UsageError, match="CER0777"):
            cerlab.session("A", **other)
    with pytest.raises(cerlab.BadData, match="CER0773"):
        cerlab.session("B", state=state)


def test_an_event_that_the_query_refuses_is_lost_alone() -> None:
    query = cerlab.parse_query("SELECT * WHERE A")
    totals = query.aggregating(sum="A.v", group_by="end", time="t", lateness=3)
    values = [1, "x", 2, 3]
    assert not totals.push([{"type": "A", "t": n, "v": v} for n, v in enumerate(values)]).num_rows
    with pytest.raises(cerlab.TypeMismatch) as caught:
        totals.advance("end")
    (before,) = caught.value.matches.to_pylist()  # type: ignore[attr-defined]
    assert before["sum(A.v)"] == 1
    assert [row["sum(A.v)"] for row in totals.advance("end").to_pylist()] == [2, 3]


def test_every_event_needs_a_time_and_a_promise_is_not_before_what_was_read() -> None:
    session = cerlab.session("A", time="t", lateness=1)
    with pytest.raises(cerlab.BadData, match="CER0712"):
        session.push([{"type": "A", "t": 1}, {"type": "C"}, {"type": "A", "t": 9}])
    assert session.pushed == 1
    assert len(session.push([{"type": "A", "t": 9}])) == 1
    with pytest.raises(cerlab.BadData, match="CER0726"):
        session.advance(0)
    session.advance(9)
    with pytest.raises(cerlab.BadData, match="CER0727"):
        session.push([{"type": "A", "t": 8}])
    assert session.late == 1


def test_answers_that_wait_by_another_axis_are_refused() -> None:
    with pytest.raises(cerlab.UsageError, match="CER0827"):
        cerlab.session("A WAIT 5 [n]", time="t", lateness=1)
