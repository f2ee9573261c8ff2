"""The instants of a column: exact or refused, wherever in the column the large ones are."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from proofs_tests.suite import Suite

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


def test_large_times_anywhere_in_a_column(suite: Suite) -> None:
    def case(rng: Random) -> bool:
        times = [rng.choice(TIMES) for _ in range(rng.randrange(1, 6))]
        if rng.random() < 0.6:
            times.sort()
        unit = rng.choice((None, "ns", "us", "ms", "s"))
        query = IN_SECONDS if unit else IN_UNITS
        expected = _outcome(lambda: _by("tecs", query, times, unit))
        assert _outcome(lambda: _by("compiled", query, times, unit)) == expected, (times, unit)
        assert _outcome(lambda: sorted(_push(query, times, unit), key=_order)) == expected
        return isinstance(expected, list)

    suite.run(case, deep_count=2_000)


def _order(answer: cerlab.ComplexEvent) -> Any:
    return answer.end, answer.start, answer.positions
