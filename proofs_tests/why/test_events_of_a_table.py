"""Questions about a few rows of a large table make events of a few rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab.io import arrow

ROWS = 100_000
TABLE = pa.table(
    {
        "type": pa.array(["A", "B", "C", "D"] * (ROWS // 4)),
        "k": pa.array([n // 4 % 50 for n in range(ROWS)]),
        "v": pa.array([n % 7 for n in range(ROWS)]),
        "ts": pa.array(range(ROWS)),
        "at": pa.array(range(ROWS), pa.timestamp("ms")),
    }
)
QUERIES = (
    "SELECT * WHERE A AS a ; B AS b WITHIN 50 [ts]",
    "SELECT * WHERE A AS a ; B AS b FILTER a[v > 1] WITHIN 50 EVENTS",
    "SELECT * WHERE A AS a ; B AS b FILTER b.v > a.v WITHIN 50 [ts]",
    "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 500 [ts]",
    "SELECT * WHERE A ; B WITHIN 50 MILLISECONDS",
    "SELECT * WHERE (A ; B WITHIN 20 [ts]) UNLESS C WITHIN 50 [ts]",
    "SELECT * FROM S WHERE S>A ; B WITHIN 50 [ts]",
)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the rows of which events are made, one after the other."""
    rows: list[int] = []
    make = arrow._event

    def counted(*arguments: Any) -> cerlab.Event:
        rows.append(arguments[-1])
        return make(*arguments)

    monkeypatch.setattr(arrow, "_event", counted)
    return rows


@pytest.mark.parametrize("text", QUERIES)
def test_why_makes_the_events_near_the_positions(text: str, made: list[int]) -> None:
    query = cerlab.parse_query(text)
    near = ROWS // 2
    query.why_not(TABLE, [near, near + 1])
    query.why_not(TABLE, [near, near + 3])
    assert 0 < len(made) < ROWS // 10


def test_why_explains_an_answer_far_into_a_table(made: list[int]) -> None:
    matches = cerlab.parse_query(QUERIES[0]).run(TABLE)
    answer = matches[matches.count() - 1]
    assert matches.why(answer).holds
    assert min(answer.positions) > ROWS - 100
    assert 0 < len(made) < ROWS // 10


def test_a_sremo_makes_the_events_near_the_positions(made: list[int]) -> None:
    sremo = "<type = 'A'>^ -> r . <TRUE>* . <v > r.v>^"
    assert cerlab.why(sremo, TABLE, [ROWS // 2 + 4, ROWS // 2 + 6]).holds
    assert 0 < len(made) < ROWS // 10


@pytest.mark.parametrize(
    "look",
    [
        repr,
        lambda matches: cerlab.timeline(matches, TABLE),
        lambda matches: cerlab.why_none(matches.query, TABLE),
        lambda matches: cerlab.why_none("SELECT * WHERE A ; E WITHIN 50 [ts]", TABLE),
    ],
)
def test_looks_make_the_events_that_they_show(
    look: Callable[[cerlab.Matches], object], made: list[int]
) -> None:
    look(cerlab.parse_query(QUERIES[0]).run(TABLE))
    assert len(made) < ROWS // 10


def test_blocks_of_events_are_those_of_the_whole_table(made: list[int]) -> None:
    whole = list(cerlab.Stream.from_arrow(TABLE))
    stream = cerlab.Stream.from_arrow(TABLE)
    made.clear()
    for n in (0, 255, 256, 70_000, ROWS - 1, -1):
        assert stream[n] == whole[n]
    assert len(made) < 2_000
    assert stream.events_between(65_530, 65_540) == tuple(whole[65_530:65_540])
    assert stream.events_between(-3, ROWS + 5) == tuple(whole[-3:])
    assert stream.events_between(7, 3) == ()
    with pytest.raises(IndexError):
        stream[ROWS]
