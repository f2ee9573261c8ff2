"""Matches as a sequence: from the end, slices, the first rows, and what their repr shows."""

from __future__ import annotations

from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import cerlab
from proofs_tests.random_cases import random_case
from proofs_tests.suite import Suite

EVENTS = [{"type": "A" if n % 3 else "B", "v": n} for n in range(9)]


def test_numbers_and_slices_are_those_of_the_list(suite: Suite) -> None:
    def case(rng: Random) -> bool:
        example = random_case(rng)
        matches, listed = example.query.run(example.stream), list(example.query.run(example.stream))
        for _ in range(4):
            low, high = (rng.choice((None, rng.randrange(-6, 7))) for _ in range(2))
            step = rng.choice((None, 1, 2, -1, -3))
            assert matches[low:high:step] == listed[low:high:step]
        for n in range(-len(listed), len(listed)):
            assert matches[n] == listed[n]
        for n in (len(listed), -len(listed) - 1):
            with pytest.raises(IndexError):
                matches[n]
        return bool(listed)

    suite.run(case, deep_count=4_000)


def test_the_last_of_very_many_is_found_without_the_others() -> None:
    matches = cerlab.parse_query("SELECT * WHERE A+").run([{"type": "A"}] * 70)
    assert matches[-1] == matches[2**70 - 2]
    assert matches[-3:] == [matches[-3], matches[-2], matches[-1]]


@pytest.mark.parametrize("n", [0, 1, 3, 100])
def test_the_first_rows_are_those_of_the_table(n: int) -> None:
    query = cerlab.parse_query("SELECT a[v], b WHERE A AS a ; B AS b")
    matches = query.run(EVENTS)
    assert matches.head(n) == matches.table().slice(0, n)


def test_the_first_rows_need_no_further_answer() -> None:
    matches = cerlab.parse_query("SELECT * WHERE A+").run([{"type": "A"}] * 70)
    assert matches.head(3).to_pylist() == [
        {"start": start, "end": end} for start, end in ((0, 0), (1, 1), (0, 1))
    ]


PREVIEW = """\
matches on 9 events
  ComplexEvent(start=1, end=1, positions=(1,))
  ComplexEvent(start=2, end=2, positions=(2,))
  ComplexEvent(start=4, end=4, positions=(4,))
  ComplexEvent(start=5, end=5, positions=(5,))
  ComplexEvent(start=7, end=7, positions=(7,))
  .."""


def test_a_preview_stands_in_the_repr() -> None:
    query = cerlab.parse_query("SELECT * WHERE A")
    assert repr(query.run(EVENTS)) == PREVIEW
    counted = query.run(EVENTS)
    assert counted.count() == 6
    assert repr(counted).startswith("6 matches on 9 events\n")
    assert repr(query.run([])) == "matches on 0 events"
    assert repr(query.run(EVENTS * 1_000)).startswith("matches on 9,000 events\n")


def test_a_repr_says_why_there_is_no_preview() -> None:
    query = cerlab.parse_query("SELECT * WHERE A ; B WITHIN 3 SECONDS")
    assert repr(query.run(EVENTS)).startswith("matches on 9 events: CER0")


TABLE = pa.table({"type": ["A", "B"], "t": [1, 2]})


@pytest.mark.parametrize(
    "source",
    [TABLE, TABLE.to_pandas(), TABLE.to_pylist(), cerlab.Stream(TABLE.to_pylist())],
    ids=["table", "frame", "dicts", "stream"],
)
def test_a_stream_is_made_of_all_that_evaluate_takes(source: Any) -> None:
    stream = cerlab.Stream(source, time="t", unit="s")
    assert len(cerlab.evaluate("SELECT * WHERE A ; B WITHIN 1 SECONDS", stream)) == 1
    assert stream.to_arrow().column_names == ["type", "t"]
    assert isinstance(stream.to_pandas(), pd.DataFrame)


def test_a_table_without_rows_is_a_stream_without_events() -> None:
    for empty in (TABLE.slice(0, 0), TABLE.slice(0, 0).to_pandas()):
        assert len(cerlab.Stream(empty)) == cerlab.count("A", empty) == 0


def test_a_schema_is_kept() -> None:
    schema = "DECLARE STREAM S { EVENT A { t: int }, EVENT B { t: int } }"
    assert [t.type for t in cerlab.Stream(TABLE, schema=schema)] == ["A", "B"]
    with pytest.raises(cerlab.CerlabError):
        cerlab.Stream(TABLE, schema="DECLARE STREAM S { EVENT A { t: string } }")


def test_a_stream_is_made_of_a_path(tmp_path: Any) -> None:
    path = tmp_path / "events.csv"
    path.write_text("type,t\nA,1\nB,2\n")
    assert [t.type for t in cerlab.Stream(path)] == [t.type for t in cerlab.Stream(str(path))]
    with pytest.raises(cerlab.BadData):
        cerlab.Stream(tmp_path / "nowhere.csv")


def test_the_transducer_and_the_tecs_of_a_query_are_values() -> None:
    compared = cerlab.parse_query("SELECT * WHERE A AS a ; B AS b FILTER a.v < b.v")
    assert compared.srt == compared.registers.srt
    query = cerlab.parse_query("SELECT * WHERE A ; B")
    assert query.tecs(EVENTS) == cerlab.show(query, EVENTS, what="tecs")
    with pytest.raises(cerlab.UsageError, match="CER0824"):
        query.tecs([])


def test_a_path_takes_the_options_of_files(tmp_path: Any) -> None:
    path = tmp_path / "events.csv"
    path.write_text("type,t\nB,2\nA,1\n")
    sort: Any = {"sort": True, "time": "t", "unit": "s"}
    assert len(cerlab.evaluate("A ; B", path, **sort)) == cerlab.count("A ; B", path, **sort) == 1
    with pytest.raises((cerlab.UsageError, TypeError)):
        cerlab.evaluate("A ; B", TABLE, **sort)


@pytest.mark.parametrize(
    "ask",
    [
        lambda: cerlab.evaluate("A", EVENTS, tiem="t"),  # type: ignore[call-arg]
        lambda: cerlab.count("A", EVENTS, tiem="t"),  # type: ignore[call-arg]
        lambda: cerlab.parse_query("SELECT * WHERE A").run(EVENTS, tiem="t"),  # type: ignore[call-arg]
        lambda: cerlab.why_none("A", EVENTS, tiem="t"),  # type: ignore[call-overload]
        lambda: cerlab.Stream.read("e.csv", tiem="t"),
    ],
    ids=["evaluate", "count", "run", "why_none", "read"],
)
def test_a_misspelt_option_is_answered_by_name(ask: Any) -> None:
    with pytest.raises(cerlab.UsageError, match="CER0847: there is no option 'tiem'") as refused:
        ask()
    assert refused.value.hint == "did you mean 'time'?"
