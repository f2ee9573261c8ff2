"""Matches as a sequence: from the end, slices, the first rows, and what their repr shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import cerlab
from cerlab import Event, io
from cerlab.evaluate.physical import BySize
from proofs_tests.random_cases import random_case
from proofs_tests.suite import random_suite

EVENTS = [{"type": "A" if n % 3 else "B", "v": n} for n in range(9)]


@random_suite(4_000)
def test_numbers_and_slices_are_those_of_the_list(rng: Random) -> bool:
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


@random_suite(4_000)
def test_it_is_a_sequence_of_the_answers(rng: Random) -> bool:
    example = random_case(rng)
    query, stream = example.query, example.stream
    matches, listed = query.run(stream), cerlab.evaluate(query, stream)
    assert len(listed) == matches.count() == len(list(matches))
    assert bool(matches) == bool(listed)
    assert matches == listed == matches
    assert matches == query.run(stream)
    again = cerlab.Stream(list(stream), time=stream.time, until=stream.until)
    assert matches == query.run(again)
    assert all(answer in matches for answer in listed)
    fewer = listed[:-1]
    assert (matches == fewer) == (not listed)
    for answer in listed[:3]:
        moved = cerlab.ComplexEvent(answer.start, answer.end + 1, answer.positions)
        assert (moved in matches) == (moved in listed)
    return bool(listed)


def test_a_sequence_is_not_another() -> None:
    query = cerlab.parse_query("SELECT * WHERE A ; B")
    matches = query.run(EVENTS)
    assert matches != query.run(EVENTS[:4])
    assert matches != cerlab.parse_query("SELECT * WHERE A : B").run(EVENTS)
    assert matches != [(0, 1)]
    assert matches != "matches"
    assert (0, 1) not in matches
    with pytest.raises(TypeError, match="unhashable"):
        hash(matches)


def test_a_list_of_the_answers_does_not_count_them_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def count(*_: object) -> int:
        raise AssertionError("the answers are counted")

    monkeypatch.setattr(BySize, "count", count)
    assert len(list(cerlab.parse_query("SELECT * WHERE A").run(EVENTS))) == 6


def test_an_answer_is_found_before_those_that_end_later() -> None:
    events = [{"type": "A"}] * 5 + [{"type": "A"}] * 65
    matches = cerlab.parse_query("SELECT * WHERE A+").run(events)
    assert cerlab.ComplexEvent(0, 3, (0, 2, 3)) in matches
    assert cerlab.ComplexEvent(0, 3, (0, 2)) not in matches


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


def test_a_look_at_a_table_makes_the_events_that_it_shows() -> None:
    table = pa.table({"type": ["A", "B"] * 5_000, "v": range(10_000)})
    stream = io.as_stream(table)
    made = 0

    def counted() -> Iterator[Event]:
        nonlocal made
        for event in stream.head(len(stream)):
            made += 1
            yield event

    columns = {name: stream.columns[name] for name in stream.columns}
    looked_at = cerlab.Stream.from_columns(columns, len(stream), counted)
    matches = cerlab.parse_query("SELECT * WHERE A ; B WITHIN 9 EVENTS").run(looked_at)
    looks: list[Callable[[], Any]]
    looks = [lambda: repr(matches), lambda: matches.head(), lambda: matches[4_000]]
    for look in looks:
        look()
        assert made <= 100


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


@pytest.mark.parametrize(
    "holder", [list, pd.DataFrame, pa.Table.from_pylist, cerlab.Stream, iter], ids=str
)
def test_events_of_every_kind_are_sorted_by_time(holder: Any) -> None:
    rows = [{"type": kind, "t": t} for kind, t in (("B", 2), ("A", 1), ("C", 2))]
    query = cerlab.parse_query("SELECT * WHERE A ; B WITHIN 1 SECOND")
    how: Any = {"sort": True, "time": "t", "unit": "s"}
    assert cerlab.evaluate(query, holder(rows), **how) == [cerlab.ComplexEvent(0, 1, (0, 1))]
    assert query.run(holder(rows), **how).count() == cerlab.count(query, holder(rows), **how) == 1
    assert [event.type for event in cerlab.Stream(holder(rows), **how)] == ["A", "B", "C"]
    with pytest.raises(cerlab.UsageError, match="CER0810"):
        cerlab.evaluate(query, holder(rows), sort=True)


def test_a_push_is_not_sorted() -> None:
    with pytest.raises(cerlab.UsageError, match="a push has no option 'sort'"):
        cerlab.parse_query("SELECT * WHERE A").open().push(EVENTS, sort=True)


def test_options_of_files_are_refused_for_other_events() -> None:
    how: Any = {"quarantine": "q.ndjson"}
    with pytest.raises(cerlab.UsageError, match="there is no option 'quarantine'"):
        cerlab.evaluate("A", EVENTS, **how)


def test_a_query_offers_the_names_of_users() -> None:
    query = cerlab.parse_query("SELECT * WHERE A")
    names = [name for name in dir(query) if not name.startswith("_")]
    assert names == sorted(
        [
            "aggregating",
            "cea",
            "det",
            "explain",
            "formula",
            "machine",
            "open",
            "plan",
            "run",
            "schema",
            "srt",
            "table",
            "tabulating",
            "tecs",
            "text",
            "to_graphviz",
            "to_networkx",
            "vcea",
            "why_none",
            "why_not",
        ]
    )


def test_reprs_are_short() -> None:
    query, events = cerlab.parse_query("SELECT * WHERE A ; B"), EVENTS
    assert [repr(each) for each in (query.cea, query.srt, query.table, query.tecs(events))] == [
        "<IntervalCea, 3 states, 3 transitions>",
        "<Srt, 3 states, 3 transitions>",
        "<MintermTable, 3 states, 3 minterms>",
        "<TecsSnapshot, 20 nodes after event 8>",
    ]
    assert repr(cerlab.step(query, events)) == "<Steps, 9 of 9 events>"
    assert repr(cerlab.why(query, events, [1, 3])) == "<Why, a match: {1, 3} in [1, 3]>"
    explanation = cerlab.why(query, events, [0, 3])
    assert repr(explanation) == "<Why, no match: {0, 3}>"
    failure = explanation.failure
    assert failure is not None
    assert repr(failure) == f"<Failure, {failure.kind.value}: {failure}>"
    assert repr(cerlab.why_none(query, events[:2])) == "<WhyNone, no answer on 2 events>"
    rows = "MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A) DEFINE A AS v > 0)"
    assert repr(cerlab.why(rows, events, [1])) == "<WhyRows, a match: rows 1>"
    clause = "MATCH_RECOGNIZE ( MEASURES 1 AS m PATTERN (A) DEFINE A AS v > 0 )"
    assert repr(cerlab.parse_rows(rows)) == f"<RowPattern: {clause}>"
    machines = "vcea=<Vcea, 3 states, 3 transitions>, cea=<IntervalCea, 3 states, 3 transitions>"
    assert repr(query.plan) == f"Plan({machines})"
    minterms = cerlab.show(query, what="minterms")
    assert repr(minterms) == "<MintermList, 3 minterms of 2 predicates>"


def test_the_repr_of_a_long_text_is_cut() -> None:
    """Of every public value that has a text; nodes of formulas show how they are built."""
    types = ", ".join(f"EVENT T{n} {{ v:int }}" for n in range(100))
    pattern = cerlab.flink.begin("a", "A")
    for n in range(100):
        pattern = pattern.next(f"b{n}", "B")
    rows = f"MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN ({'A ' * 200}) DEFINE A AS v > 0)"
    atoms = ", ".join(f"r(x, t{n})" for n in range(100))
    values = [
        cerlab.parse_schema(f"CREATE STREAM S {{ {types} }}"),
        cerlab.parse_rows(rows),
        cerlab.parse_query("SELECT * WHERE " + " ; ".join("A" * 100)).ast,
        cerlab.parse_gcq(f"x, t0 <- {atoms}"),
        pattern,
    ]
    for value in values:
        assert len(str(value)) > 300 > len(repr(value))
        assert repr(value).startswith(f"<{type(value).__name__}: ")


def test_a_misspelt_aggregate_is_answered_by_name() -> None:
    how: Any = {"smu": "A.v"}
    with pytest.raises(cerlab.UsageError, match="there is no option 'smu'") as refused:
        cerlab.parse_query("SELECT * WHERE A").run(EVENTS).aggregate(**how)
    assert refused.value.hint == "did you mean 'sum'?"


def test_a_path_takes_the_options_of_files(tmp_path: Any) -> None:
    path = tmp_path / "events.csv"
    path.write_text("type,t\nB,2\nA,1\n")
    sort: Any = {"sort": True, "time": "t", "unit": "s"}
    assert len(cerlab.evaluate("A ; B", path, **sort)) == cerlab.count("A ; B", path, **sort) == 1


@pytest.mark.parametrize(
    "ask",
    [
        lambda: cerlab.evaluate("A", EVENTS, tiem="t"),  # type: ignore[call-arg]
        lambda: cerlab.count("A", EVENTS, tiem="t"),  # type: ignore[call-arg]
        lambda: cerlab.parse_query("SELECT * WHERE A").run(EVENTS, tiem="t"),  # type: ignore[call-arg]
        lambda: cerlab.why_none("A", EVENTS, tiem="t"),  # type: ignore[call-overload]
        lambda: cerlab.Stream.read("e.csv", tiem="t"),
        lambda: cerlab.Stream.from_arrow(TABLE, tiem="t"),
    ],
    ids=["evaluate", "count", "run", "why_none", "read", "from_arrow"],
)
def test_a_misspelt_option_is_answered_by_name(ask: Any) -> None:
    with pytest.raises(cerlab.UsageError, match="CER0847: there is no option 'tiem'") as refused:
        ask()
    assert refused.value.hint == "did you mean 'time'?"
