"""FROM, SELECT, PARTITION BY, WITHIN, CONSUME BY, LIMIT (CORE Sec. 2.2), by hand."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest

import cerlab
from cerlab import BadData, ComplexEvent, Stream, UsageError
from proofs_tests.clauses.tables import EVALUATORS, answer_rows, c, check_answers, word

AT = [0, 1, 3, 3, 6]
EVENTS = [{"type": t, "t": AT[i]} for i, t in enumerate("ABABB")]
STREAMS = [
    {"type": "A", "stream": "S"},
    {"type": "B", "stream": "T"},
    {"type": "B"},
    {"type": "B", "stream": "S"},
]
NAN = float("nan")


def with_keys(types: str, keys: list[Any]) -> list[dict[str, Any]]:
    return [{"type": t, "k": k} for t, k in zip(types, keys, strict=True)]


IN_ORDER = [
    {"type": t, "stream": stream, "k": k}
    for t, stream, k in (("A", "S", 1), ("A", "T", 1), ("A", "S", 2), ("A", "S", 1), ("B", "S", 1))
]

CASES = [
    *answer_rows("""
select-everything | SELECT * WHERE A ; B | AB | 0-1 0,1
select-one | SELECT B WHERE A ; B | AAB | 0-2 2; 1-2 2
select-nothing | SELECT NONE WHERE A ; B | AAB | 0-2; 1-2
select-two | SELECT x, B[v] WHERE A AS x ; B ; C | ABC | 0-2 0,1
equal-after-projection-is-once | SELECT C WHERE A ; B ; C | ABBC | 0-3 3
partition-keeps-the-positions-of-the-whole | SELECT * WHERE A ; B PARTITION BY [k] | AABB k=1221 |
    1-2 1,2; 0-3 0,3
contiguous-inside-the-partition | SELECT * WHERE A : B PARTITION BY [k] | AXB k=121 | 0-2 0,2
the-key-is-all-attributes | SELECT * WHERE A ; B PARTITION BY [k], [type] | AB k=11 |
three-events-span-up-to-four | SELECT * WHERE A ; B WITHIN 3 EVENTS | AXXXBA |
events-inclusive | SELECT * WHERE A ; B WITHIN 3 EVENTS | AXXB | 0-3 0,3
0 | SELECT * WHERE A+ WITHIN 0 EVENTS | AA | 0-0 0; 1-1 1
the-interval-counts-not-the-marks | SELECT B WHERE A ; B WITHIN 1 EVENTS | AXB |
attribute-inclusive-ties-in-stream-order | SELECT * WHERE A ; B WITHIN 3 [t] | ABABB t=01336 |
    0-1 0,1; 0-3 0,3; 2-3 2,3; 2-4 2,4
fraction | SELECT * WHERE A ; B WITHIN 2.5 [t] | ABABB t=01336 | 0-1 0,1; 2-3 2,3
any-goes-on-as-on-the-suffix | SELECT * WHERE A ; B CONSUME BY ANY | AABAB | 0-2 0,2; 1-2 1,2;
    3-4 3,4
any-ends-partial-matches | SELECT * WHERE A ; B CONSUME BY ANY | ABB | 0-1 0,1
none-has-no-effect | SELECT * WHERE A ; B CONSUME BY NONE | ABB | 0-1 0,1; 0-2 0,2
an-answer-consumes-a-longer-one | SELECT * WHERE A OR (A ; B) CONSUME BY ANY | AB | 0-0 0
"""),
    pytest.param(
        "SELECT * FROM S WHERE A ; B",
        STREAMS,
        [c(0, 2, 0, 2), c(0, 3, 0, 3)],
        id="from-removes-other-streams",
    ),
    pytest.param(
        "SELECT * FROM S WHERE A : B",
        STREAMS,
        [c(0, 2, 0, 2)],  # the event of T is not there, so 2 is next to 0
        id="contiguity-counts-inside-the-streams",
    ),
    pytest.param(
        "SELECT * FROM S, T WHERE A ; B",
        STREAMS,
        [c(0, 1, 0, 1), c(0, 2, 0, 2), c(0, 3, 0, 3)],
        id="from-several",
    ),
    pytest.param("SELECT * FROM U WHERE B", STREAMS, [c(2, 2, 2)], id="no-stream-is-in-every"),
    pytest.param(
        "SELECT * WHERE A PARTITION BY [k]",
        [*with_keys("AAA", [None, NAN, 0]), {"type": "A"}],
        [c(2, 2, 2)],
        id="null-nan-and-missing-keys-are-in-no-partition",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k]",
        with_keys("ABBB", [1, 1.0, True, "1"]),
        [c(0, 1, 0, 1)],
        id="keys-are-equal-as-values-are",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 1 EVENTS",
        with_keys("AXXB", [1, 2, 2, 1]),
        [c(0, 3, 0, 3)],
        id="events-count-inside-the-partition",
    ),
    pytest.param(
        "SELECT NEXT * FROM S WHERE A ; B PARTITION BY [k] WITHIN 2 EVENTS",
        IN_ORDER,
        [c(0, 4, 0, 4)],  # two events further in its partition of S, four in the stream
        id="from-then-partition-then-within",
    ),
    pytest.param(
        "SELECT NEXT * FROM S WHERE A ; B PARTITION BY [k] WITHIN 1 EVENTS",
        IN_ORDER,
        [],  # {3, 4} fits, but {0, 4} was selected
        id="select-then-within",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k] CONSUME BY ANY",
        with_keys("AABB", [1, 2, 1, 2]),
        [c(0, 2, 0, 2)],
        id="any-ends-those-of-every-partition",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k] CONSUME BY PARTITION",
        with_keys("AABBB", [1, 2, 1, 2, 1]),
        [c(0, 2, 0, 2), c(1, 3, 1, 3)],
        id="partition-ends-its-own",
    ),
    pytest.param(
        "SELECT * WHERE A ; B WITHIN 1 EVENTS CONSUME BY ANY",
        word("AXBAB"),
        [c(3, 4, 3, 4)],
        id="what-the-window-rejects-consumes-nothing",
    ),
]


@pytest.mark.parametrize(("query", "events", "expected"), CASES)
def test_clause(query: str, events: list[dict[str, Any]], expected: list[ComplexEvent]) -> None:
    check_answers(query, events, expected)


@pytest.mark.parametrize(
    ("window", "expected"),
    [
        ("1 SECONDS", [c(0, 1, 0, 1)]),
        ("1 second", [c(0, 1, 0, 1)]),
        ("0.999 SECONDS", []),
        ("1 MINUTE", [c(0, 1, 0, 1), c(0, 2, 0, 2)]),
        ("59.999 SECONDS", [c(0, 1, 0, 1)]),
        ("1 HOUR 1 MINUTE", [c(0, 1, 0, 1), c(0, 2, 0, 2), c(0, 3, 0, 3)]),
    ],
)
def test_time_windows_use_the_time_of_the_stream(window: str, expected: list[ComplexEvent]) -> None:
    seconds = [0, 1, 60, 3660]
    rows = list(zip("ABBB", seconds, strict=True))
    millis = Stream.from_events([{"type": t, "t": s * 1000} for t, s in rows], time="t", unit="ms")
    floats = Stream.from_events([{"type": t, "t": float(s)} for t, s in rows], time="t", unit="s")
    noon = datetime(2020, 1, 1, 12)
    moments = [{"type": t, "t": noon + timedelta(seconds=s)} for t, s in rows]
    for events in (millis, floats, moments):
        check_answers(f"SELECT * WHERE A ; B WITHIN {window}", events, expected)


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize(
    ("times", "code"),
    [([3, 2], "CER0714"), ([1, None], "CER0712"), ([1, NAN], "CER0712"), ([1, "2"], "CER0712")],
)
def test_bad_times_are_errors(evaluator: str, times: list[Any], code: str) -> None:
    events = [{"type": "A", "t": t} for t in times]
    with pytest.raises(BadData) as caught:
        cerlab.evaluate("SELECT * WHERE A WITHIN 3 [t]", events, evaluator=evaluator)  # type: ignore[arg-type]  # literals
    assert caught.value.code == code


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_a_time_may_be_an_integer_beyond_doubles(evaluator: str) -> None:
    events = [{"type": "A", "t": 10**400}, {"type": "B", "t": 10**400 + 3}]
    found = cerlab.evaluate("SELECT * WHERE A ; B WITHIN 3 [t]", events, evaluator=evaluator)  # type: ignore[arg-type]  # literals
    assert [m.positions for m in found] == [(0, 1)]


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_a_time_window_without_a_time_is_an_error(evaluator: str) -> None:
    with pytest.raises(UsageError, match="time attribute"):
        cerlab.evaluate("SELECT * WHERE A WITHIN 3 SECONDS", word("A"), evaluator=evaluator)  # type: ignore[arg-type]  # literals


def test_the_only_timestamp_column_is_that_of_the_whole_stream() -> None:
    noon = datetime(2020, 1, 1, 12)
    events = [
        {"type": "A", "stream": "S", "t": noon},
        {"type": "X", "stream": "T", "u": noon},
        {"type": "B", "stream": "S", "t": noon},
    ]
    for evaluator in EVALUATORS:
        with pytest.raises(UsageError, match="time attribute"):
            cerlab.evaluate("SELECT * FROM S WHERE A WITHIN 1 HOUR", events, evaluator=evaluator)  # type: ignore[arg-type]  # literals


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_times_of_events_outside_from_do_not_count(evaluator: str) -> None:
    events = [
        {"type": "A", "t": 5, "stream": "S"},
        {"type": "A", "t": 1, "stream": "T"},
        {"type": "B", "t": 6, "stream": "S"},
    ]
    query = "SELECT * FROM S WHERE A ; B WITHIN 3 [t]"
    assert cerlab.evaluate(query, events, evaluator=evaluator) == [c(0, 2, 0, 2)]  # type: ignore[arg-type]  # literals


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize(("limit", "counts"), [(1, [1, 1, 1]), (2, [1, 2, 2]), (9, [1, 2, 4])])
def test_limit_is_for_each_end(evaluator: str, limit: int, counts: list[int]) -> None:
    """On AAA, A+ has 1, 2 and 4 answers that end at 0, 1 and 2."""
    answers = cerlab.evaluate(f"SELECT * WHERE A+ LIMIT {limit}", word("AAA"), evaluator=evaluator)  # type: ignore[arg-type]  # literals
    assert [sum(answer.end == end for answer in answers) for end in range(3)] == counts
    assert set(answers) <= set(cerlab.evaluate("A+", word("AAA")))


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_limit_caps_what_is_given_not_what_is_consumed(evaluator: str) -> None:
    query = "SELECT * WHERE A ; B CONSUME BY ANY LIMIT 1"
    answers = cerlab.evaluate(query, word("AABAB"), evaluator=evaluator)  # type: ignore[arg-type]  # literals
    assert [answer.end for answer in answers] == [2, 4]
