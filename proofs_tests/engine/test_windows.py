"""The instants of a column: exact or refused, wherever in the column the large ones are."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cerlab
from cerlab.engine.instants import (
    Doubles,
    Instants,
    count_before,
    first_after,
    first_in_group,
    first_inside,
)
from cerlab.model.stream import Instant
from proofs_tests.suite import random_suite

EVALUATORS = ("reference", "automaton", "tecs", "compiled")
IN_SECONDS = cerlab.parse_query("SELECT * WHERE A ; A WITHIN 20 SECONDS")
IN_UNITS = cerlab.parse_query("SELECT * WHERE A ; A WITHIN 20 [t]")
TIMES = (-(2**63), -(2**61), -10, 0, 5, 10, 30, 2**32, 5 + 2**55, 2**61 - 1, 2**61, 2**63 - 1)


def _outcome(evaluate: Any) -> Any:
    try:
        return evaluate()
    except cerlab.BadData as error:
        return error.code, error.message


def _table(times: list[int]) -> Any:
    return pa.table({"type": ["A"] * len(times), "t": pa.array(times, pa.int64())})


def _push(query: cerlab.Query, times: list[int], unit: str | None) -> list[cerlab.ComplexEvent]:
    """The answers of a session that is given all events at once."""
    session = query.open(time="t", unit=unit) if unit else query.open()
    return session.push(_table(times))


def _by(evaluator: Any, query: cerlab.Query, times: list[int], unit: str | None) -> Any:
    options = {"time": "t", "unit": unit} if unit else {}
    stream = cerlab.Stream.from_arrow(_table(times), **options)
    return cerlab.evaluate(query, stream, evaluator=evaluator)


@pytest.mark.parametrize("evaluator", EVALUATORS)
def test_seconds_that_no_float_of_nanoseconds_holds_are_shown(evaluator: Any) -> None:
    events = [{"type": "A", "t": t} for t in (0, 1e300, 10)]
    with pytest.raises(cerlab.BadData, match="CER0714: time goes backwards at position 2"):
        cerlab.evaluate(IN_SECONDS, events, evaluator=evaluator, time="t", unit="s")


def test_a_time_that_overflows_in_the_middle_is_not_between_the_others() -> None:
    times = [0, 5 + 2**55, 10]
    for evaluator in EVALUATORS:
        with pytest.raises(cerlab.BadData, match="CER0714"):
            _by(evaluator, IN_SECONDS, times, "s")
    with pytest.raises(cerlab.BadData, match="CER0714"):
        _push(IN_SECONDS, times, "s")


@pytest.mark.parametrize("kind", [pa.int64(), pa.int32(), pa.timestamp("s"), pa.timestamp("ns")])
def test_a_time_in_chunks_is_joined_by_the_first_run_of_its_stream(kind: Any) -> None:
    times = pa.chunked_array([pa.array(part, pa.int64()) for part in ([0, 5], [], [10, 30])])
    table = pa.table({"type": ["A"] * 4, "t": times.cast(kind)})
    options: dict[str, Any] = {} if pa.types.is_timestamp(kind) else {"unit": "s"}
    stream = cerlab.Stream.from_arrow(table, time="t", **options)
    expected = cerlab.evaluate(
        IN_SECONDS, table.to_pylist(), evaluator="reference", time="t", **options
    )
    first = cerlab.evaluate(IN_SECONDS, stream, evaluator="compiled")
    joined = stream.columns["t"]
    assert isinstance(joined, pa.Array)
    assert first == expected == cerlab.evaluate(IN_SECONDS, stream, evaluator="compiled")
    assert stream.columns["t"] is joined


@random_suite(2_000)
def test_large_times_anywhere_in_a_column(rng: Random) -> bool:
    times = [rng.choice(TIMES) for _ in range(rng.randrange(1, 6))]
    if rng.random() < 0.6:
        times.sort()
    unit = rng.choice((None, "ns", "us", "ms", "s"))
    query = IN_SECONDS if unit else IN_UNITS
    expected = _outcome(lambda: _by("tecs", query, times, unit))
    assert _outcome(lambda: _by("compiled", query, times, unit)) == expected, (times, unit)
    assert _outcome(lambda: sorted(_push(query, times, unit), key=_order)) == expected
    return isinstance(expected, list)


def _order(answer: cerlab.ComplexEvent) -> Any:
    return answer.end, answer.start, answer.positions


WIDTHS: tuple[Any, ...] = (0, 0.1, 0.3, 1 / 3, 1, 5, 2.0**-40, 1e-300, 1e16, 1e300)


def hostile_doubles(rng: Random, widths: Sequence[float]) -> list[float]:
    """Doubles in order: some a width apart, or next to such, of all sizes."""
    times = [rng.choice((0.0, -0.0, 0.1, 0.7, 1.7e9, -1e-300, 5e-324, 2.0**53, -1e300, 1e308))]
    for _ in range(rng.randrange(8)):
        apart = rng.choice(times) + rng.choice((*widths, rng.random()))
        times.append(math.nextafter(apart, rng.choice((-math.inf, apart, math.inf))))
    return sorted(t for t in times if math.isfinite(t))


@random_suite(20_000)
def test_doubles_are_shifted_and_compared_as_fractions_are(rng: Random) -> bool:
    """The bounds are doubles that all doubles compare with as with the exact sum."""
    values, factor = hostile_doubles(rng, WIDTHS), rng.choice((1, 10**6, 10**9))
    times = Doubles(np.array(values), factor)
    exact = [Fraction(v) * factor for v in values]
    assert [*times] == times.tolist() == exact
    now = rng.choice(exact) + rng.choice((0, Fraction(1, 10**400), -1))
    assert times.below(now).tolist() == [t < now for t in exact]
    width = rng.choice((1, -1)) * Fraction(rng.choice(WIDTHS)) * factor
    bounds = times.shifted(width)
    if bounds is not None:
        for least, most, t in zip(*bounds, exact, strict=True):
            for v, u in zip(values, exact, strict=True):
                assert (v >= least) == (u >= t + width), (v, t, width)
                assert (v <= most) == (u <= t + width), (v, t, width)
    return bounds is not None


def exact_of(values: Sequence[float]) -> list[Instant]:
    return [*map(Fraction, values)]


@random_suite(10_000)
def test_windows_and_waits_of_doubles_are_those_of_fractions(rng: Random) -> bool:
    width = Fraction(rng.choice(WIDTHS)) if rng.random() < 0.8 else Fraction(1, 3)
    parts = [hostile_doubles(rng, [float(width)]) for _ in range(rng.randint(1, 3))]
    groups = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
    values = [v for part in parts for v in part]
    times, exact = Doubles(np.array(values), 1), exact_of(values)
    same = [[m for m, g in enumerate(groups) if g == groups[n]] for n in range(len(values))]
    first = [next(m for m in same[n] if exact[m] >= t - width) for n, t in enumerate(exact)]
    both: tuple[Instants, Instants] = times, exact
    for some in both:
        found, back = first_in_group(groups, some, width)
        assert (found.tolist(), back) == (first, -1), (values, width)
    whole = sorted(exact)
    begin = rng.randrange(len(whole) + 1)
    sorted_times = Doubles(np.array([*map(float, whole)]), 1)
    inside = first_inside(sorted_times, width, begin)
    assert inside.tolist() == first_inside(whole, width, begin).tolist()
    after = [sum(u <= t + width for u in whole) for t in exact]
    assert first_after(sorted_times, times, width).tolist() == after, (values, width)
    assert first_after(whole, exact, width).tolist() == after, (values, width)
    now = rng.choice(exact) + rng.choice((0, Fraction(1, 3)))
    before = sum(t < now for t in whole)
    assert count_before(sorted_times, now) == count_before(whole, now) == before
    return len(values) > 1


def test_one_that_goes_back_is_found_in_its_group() -> None:
    groups, values = np.array([0, 0, 1, 1, 1]), [5.5, 6, 1, 2, 1.5]
    assert first_in_group(groups, Doubles(np.array(values), 1), 1)[1] == 4
    assert first_in_group(groups, exact_of(values), 1)[1] == 4


@pytest.mark.parametrize("unit", [None, "s"])
@random_suite(2_000)
def test_streams_of_doubles_in_any_batches(rng: Random, unit: str | None) -> bool:
    """Columns of doubles, integers and both after each other: the compiled engine and sessions."""
    options: dict[str, Any] = {"time": "t", "unit": unit} if unit else {}
    window = "0.3 SECONDS" if unit else "0.3 [t]"
    query = cerlab.parse_query(f"SELECT * WHERE A ; A WITHIN {window}")

    def table(times: list[float]) -> Any:
        whole = all(t.is_integer() for t in times)
        kind = pa.int64() if whole else pa.float64()
        return pa.table({"type": ["A"] * len(times), "t": pa.array(times).cast(kind)})

    count = rng.randint(2, 7)
    steps = [rng.choice((0.0, 0.1, 0.2, 0.3, 0.30000000000000004, 1)) for _ in range(count)]
    times = [0.1 * n + sum(steps[:n]) for n in range(count)]
    times = sorted(float(round(t)) if rng.random() < 0.3 else t for t in times)
    events = [{"type": "A", "t": t} for t in times]
    expected = cerlab.evaluate(query, events, evaluator="reference", **options)
    stream = cerlab.Stream.from_arrow(table(times), **options)
    assert cerlab.evaluate(query, stream, evaluator="compiled") == expected, times
    session, cut, answers = query.open(**options), rng.randint(1, count), list[Any]()
    for part in (times[:cut], times[cut:]):
        if part and rng.random() < 0.3:
            session = query.open(state=session.state())
        answers += session.push(table(part)) if part else []
    assert sorted(answers, key=_order) == expected, (times, cut)
    return bool(expected)
