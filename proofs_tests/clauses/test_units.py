"""The unit of a time concerns numbers: on moments it has no effect, at every door."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab.cli import main
from cerlab.errors import on_command_line
from cerlab.model.stream import TimeUnit

QUERY = "SELECT * WHERE A AS a ; B WITHIN 10 MINUTES"
COUNT = 40
"""Answers on 20 events, one a minute: the window holds more than one of them and not all."""
NANOSECONDS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
NANOSECONDS |= {"min": 60 * 10**9, "h": 3_600 * 10**9, "d": 86_400 * 10**9}


def events(time: Callable[[int], Any]) -> list[dict[str, Any]]:
    """Return an event a minute, whose time `time` makes of its minutes."""
    return [{"type": "AB"[n % 2], "ts": time(n)} for n in range(20)]


def moment(minutes: int) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=minutes)


def number(size: int, whole: bool, minutes: int) -> int | float:
    return minutes * 60 * 10**9 // size if whole else minutes * 60e9 / size


def in_pushes(open_session: Callable[..., Any]) -> Callable[..., int]:
    def count(rows: list[dict[str, Any]], **time: Any) -> int:
        session = open_session(cerlab.parse_query(QUERY), **time)
        return sum(len(session.push([row])) for row in rows)

    return count


def in_groups(rows: list[dict[str, Any]], **time: Any) -> int:
    session = cerlab.parse_query(QUERY).aggregating(group_by="end", **time)
    return sum(sum(session.push([row]).column("count").to_pylist()) for row in rows)


DOORS: dict[str, Callable[..., int]] = {
    "count": lambda rows, **time: cerlab.count(QUERY, rows, **time),
    "count of columns": lambda rows, **time: cerlab.count(
        QUERY, pa.Table.from_pylist(rows), **time
    ),
    "evaluate": lambda rows, **time: len(cerlab.evaluate(QUERY, rows, **time)),
    "reference": lambda rows, **time: len(
        cerlab.evaluate(QUERY, rows, evaluator="reference", **time)
    ),
    "registers": lambda rows, **time: len(
        cerlab.evaluate(QUERY, rows, evaluator="registers", **time)
    ),
    "valuations": lambda rows, **time: len(cerlab.valuations(QUERY, rows, **time)),
    "table": lambda rows, **time: len(cerlab.parse_query(QUERY).run(rows, **time).table(["a.ts"])),
    "aggregate": lambda rows, **time: (
        cerlab.parse_query(QUERY).run(rows, **time).aggregate()["count"][0].as_py()
    ),
    "open": in_pushes(lambda query, **time: query.open(**time)),
    "tabulating": in_pushes(lambda query, **time: query.tabulating(["a.ts"], **time)),
    "aggregating": in_groups,
}


def warned(ask: Callable[[], int]) -> tuple[int, list[str]]:
    with warnings.catch_warnings(record=True, action="always") as caught:
        count = ask()
    return count, [str(each.message) for each in caught]


@pytest.mark.parametrize("door", DOORS)
def test_a_unit_of_moments_is_warned_of_and_changes_nothing(door: str) -> None:
    texts = events(lambda n: moment(n).isoformat())
    for rows, what in ((events(moment), "moments"), (texts, "text")):
        assert warned(partial(DOORS[door], rows, time="ts")) == (COUNT, [])
        for unit in NANOSECONDS:
            count, messages = warned(partial(DOORS[door], rows, time="ts", unit=unit))
            idle = f"CER0930: unit='{unit}' has no effect: units are for numbers, and 'ts' holds"
            assert (count, messages) == (COUNT, [f"{idle} {what}"])


@pytest.mark.parametrize("door", DOORS)
def test_numbers_are_read_in_each_unit(door: str) -> None:
    assert {u.name.lower(): u.value for u in TimeUnit} == NANOSECONDS
    for unit, size in NANOSECONDS.items():
        whole = 60 * 10**9 % size == 0
        rows = events(partial(number, size, whole))
        exact = COUNT if whole else cerlab.count(QUERY, rows, time="ts", unit=unit)
        assert warned(partial(DOORS[door], rows, time="ts", unit=unit)) == (exact, [])


@pytest.mark.parametrize("pipe", [False, True])
@pytest.mark.parametrize("time", ["ts", "ts:ms", "ts:d"])
def test_the_command_line(
    time: str,
    pipe: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "e.csv"
    lines = [f"{row['type']},{row['ts'].isoformat()}\n" for row in events(moment)]
    file.write_text("type,ts\n" + "".join(lines))
    with file.open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert main(["run", QUERY, "-" if pipe else str(file), "--time", time]) == 0
    out, err = capsys.readouterr()
    assert len([json.loads(line) for line in out.splitlines()]) == COUNT
    assert ("CER0930" in err) == (":" in time)


AT = [cerlab.Timestamp(second * 10**9) for second in (1_704_067_320, 1_704_067_260)]


@pytest.mark.parametrize("evaluator", ["reference", "automaton", "tecs", "compiled", "auto"])
@pytest.mark.parametrize(
    ("unit", "times", "shown"),
    [
        (None, AT, "2024-01-01T00:02:00Z, then 2024-01-01T00:01:00Z"),
        (None, list(map(str, AT)), "2024-01-01T00:02:00Z, then 2024-01-01T00:01:00Z"),
        ("s", [1_704_067_320, 1_704_067_260], "1704067320 s, then 1704067260 s"),
        ("min", [5, 1.5], "5 min, then 1.5 min"),
    ],
)
def test_times_that_go_backwards_are_shown_as_the_events_have_them(
    evaluator: Any, unit: str | None, times: list[Any], shown: str
) -> None:
    events = [{"type": kind, "t": t} for kind, t in zip("AB", times, strict=True)]
    query = "SELECT * WHERE A ; B WITHIN 5 SECONDS"
    with pytest.raises(cerlab.BadData, match="CER0714") as caught:
        cerlab.evaluate(query, events, time="t", unit=unit, evaluator=evaluator)
    assert caught.value.message == f"time goes backwards at position 1: {shown}"


@pytest.mark.parametrize(
    ("window", "time", "times", "shown"),
    [
        ("1 SECONDS", {"time": "t"}, AT, "2024-01-01T00:02:00Z"),
        ("1 SECONDS", {"time": "t", "unit": "ms"}, [2, 1], "2 ms"),
        ("1 [t]", {}, [2, 1], "2"),
    ],
)
def test_sessions_show_times_as_the_events_have_them(
    window: str, time: dict[str, Any], times: list[Any], shown: str
) -> None:
    events = [{"type": "A", "t": t} for t in times]
    query = cerlab.parse_query(f"SELECT * WHERE (A WAIT {window}) UNLESS B")
    with pytest.raises(cerlab.BadData, match=rf"position 1: {shown}, then "):
        query.open(**time).push(events)
    session = query.open(**time)
    session.advance(times[0])
    with pytest.raises(cerlab.BadData, match=rf"before {shown}, and it was promised"):
        session.push(events[1:])


def test_two_attributes_of_timestamps_are_named() -> None:
    events = [{"type": "A", "sent": AT[0], "read": AT[1], "v": 1}]
    for evaluator in ("reference", "automaton", "tecs", "compiled", "auto"):
        with pytest.raises(cerlab.UsageError, match="CER0802") as caught:
            cerlab.evaluate("SELECT * WHERE A WITHIN 5 SECONDS", events, evaluator=evaluator)
        assert caught.value.hint == "timestamps are in read and sent: give time='read'"
        assert on_command_line(caught.value).hint.endswith("give --time read")
    one = [{"type": "A", "sent": AT[0], "v": 1}]
    assert cerlab.count("SELECT * WHERE A WITHIN 5 SECONDS", one) == 1


def test_hints_name_a_unit_for_numbers_alone() -> None:
    window = "SELECT * WHERE A WITHIN 5 SECONDS"
    with pytest.raises(cerlab.UsageError, match="CER0802") as caught:
        cerlab.count(window, [{"type": "A"}])
    assert caught.value.hint == "give time=; numbers need unit= too"
    assert "numbers need a unit: --time COLUMN:UNIT" in on_command_line(caught.value).hint
    with pytest.raises(cerlab.UsageError, match="CER0803") as caught:
        cerlab.count(window, [{"type": "A", "sent": 1}], time="sent")
    assert caught.value.hint == "give the unit, such as unit='s' or unit='ms'"
    assert "--time sent:ms" in on_command_line(caught.value).hint
    with pytest.raises(cerlab.UsageError, match="CER0801") as caught:
        cerlab.count(window, [{"type": "A", "sent": 1}], time="sent", unit="week")
    assert caught.value.hint == "known: ns, us, ms, s, min, h, d"
