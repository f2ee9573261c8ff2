"""Answers with labels: valuations and rows of the machines are those of the reference."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import numpy as np
import pytest

import cerlab
from cerlab import ComplexEvent, Query, Valuation
from cerlab.api import sessions
from cerlab.automata.labelled import LabelledSrt
from cerlab.conformance import Case, cases
from cerlab.conformance.judge import difference
from cerlab.conformance.replies import answer_json
from cerlab.engine import labels as labelling
from cerlab.engine.answers import batched_answers
from cerlab.engine.kernels.labels import SEVERAL
from cerlab.engine.labels import MOST_TAKEN, LabelMachine, Places
from cerlab.engine.reference.registers import labels_of_answer
from cerlab.engine.registers.program import mixes
from cerlab.evaluate import EvaluatorName, names_that_take
from cerlab.evaluate.labelled import labelled_valuations
from cerlab.logic.cel.semantics import valuations
from cerlab.logic.cel.syntax import defined_labels
from cerlab.logic.ceql.semantics import query_valuations
from cerlab.logic.ceql.syntax import CeqlQuery, partition_attributes, selected_formula
from cerlab.model.answer import Positions, complex_event
from cerlab.model.columns import is_arrow, values_of
from cerlab.model.stream import Stream
from cerlab.testing import (
    ATTRIBUTES,
    Shape,
    random_correlated_events,
    random_correlated_formula,
    random_events,
    random_fo_formula,
    with_limit,
)
from proofs_tests.engine.test_aggregates import usable
from proofs_tests.random_cases import random_case
from proofs_tests.srt.correlated_cases import fo_case
from proofs_tests.suite import Suite, random_suite

Row = tuple[ComplexEvent, tuple[Positions, ...]]


def rows_by_definition(ast: CeqlQuery, stream: Stream, labels: list[str]) -> set[Row]:
    """An answer and its positions by label, of each valuation."""
    every = query_valuations(ast, stream, valuations)
    return {(complex_event(V), tuple(V.labels.get(X, ()) for X in labels)) for V in every}


def rows_of_table(query: Query, stream: Stream, labels: list[str]) -> Iterator[Row]:
    """The same of a table, whose rows do not have the positions of the answer."""
    for row in query.run(stream).table(labels).to_pylist():
        positions = tuple(positions_in(row[X]) for X in labels)
        yield ComplexEvent(row["start"], row["end"], ()), positions


def positions_in(cell: object) -> Positions:
    """Return the positions in a cell: a list for a label of several events, else one or NULL."""
    if isinstance(cell, list):
        return tuple(cell)
    return () if cell is None else (int(str(cell)),)


def is_numbers(column: Any) -> bool:
    return {type(value) for value in values_of(column, "?")} <= {int, float, type(None)}


def agrees(rng: Random) -> bool:
    case = random_case(rng, rng.choice((Shape(), Shape(depth=3, events=6, family=True))))
    query, every = case.query, sorted(defined_labels(selected_formula(case.ast)))
    labels = [X for X in every if rng.random() < 0.6]
    expected = rows_by_definition(case.ast, case.stream, labels)
    columns = case.stream.columns
    keys = [columns[key] for key in partition_attributes(case.ast) if key in columns]
    if not all(is_arrow(key) or is_numbers(key) for key in keys):
        with pytest.raises(cerlab.BadData, match="several types"):
            query.run(case.stream).table(labels)
        return False
    rows = list(rows_of_table(query, case.stream, labels))
    assert sorted((m.start, m.end, positions) for m, positions in rows) == sorted(
        (m.start, m.end, positions) for m, positions in expected
    ), case.describe()
    per_answer = [(answer.start, answer.end) for answer in query.run(case.stream)]
    assert list(dict.fromkeys(per_answer)) == list(
        dict.fromkeys((m.start, m.end) for m, _ in rows)
    ), case.describe()
    return bool(expected)


def no_place_decides(_: Places, __: int) -> Any:
    return np.full((MOST_TAKEN + 1, MOST_TAKEN + 1), SEVERAL, np.int32)


def agrees_by_runs(rng: Random) -> bool:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Places, "of", no_place_decides)
        if rng.random() < 0.2:  # the runs as written
            patch.setattr(labelling, "MAX_RULES", 0)
        return agrees(rng)


def test_runs_over_answers_give_the_rows_of_the_reference(suite: Suite) -> None:
    # half of the first cases have no answers
    suite.run(lambda rng: agrees_by_runs(rng) or agrees_by_runs(rng), deep_count=4_000)


def test_a_table_has_the_rows_of_the_reference_in_the_order_of_iteration(suite: Suite) -> None:
    suite.run(lambda rng: agrees(rng) or agrees(rng), deep_count=4_000)


def test_rows_of_a_session_are_those_of_the_whole_stream(suite: Suite) -> None:
    def case(rng: Random) -> bool:
        while True:
            case = random_case(rng, rng.choice((Shape(events=9), ATTRIBUTES)))
            query, stream = case.query, case.stream
            keys = {a for a in partition_attributes(case.ast) if a in stream.columns}
            if query.machine_kind == "automaton" and keys <= set(usable(stream)):
                break
        plain = [a for a in usable(stream) if a not in partition_attributes(case.ast)]
        every = sorted(defined_labels(selected_formula(case.ast)))
        columns = [f"{X}.{a}" for X in every for a in plain] + every
        columns = [column for column in columns if rng.random() < 0.4]
        how: Any = {} if stream.time is None else {"time": stream.time.attribute}
        how |= {} if stream.time is None else {"unit": stream.time.unit}
        session = query.tabulating(columns, **how)
        rows: list[Any] = []
        offset = 0
        while offset < len(stream):
            size = 1 + rng.randrange(3)
            rows += session.push(stream[offset:][:size]).to_pylist()
            offset += size
            if rng.random() < 0.1:
                session = Query(query.ast).tabulating(columns, state=session.state())
        expected = query.run(stream).table(columns).to_pylist()
        assert sorted(map(str, rows)) == sorted(map(str, expected)), case.describe()
        return bool(expected)

    suite.run(case, deep_count=4_000)


def test_a_session_keeps_the_events_of_its_window() -> None:
    session = cerlab.parse_query("SELECT * WHERE A AS a ; B AS b WITHIN 5 [t]").tabulating(["a.t"])
    for t in range(0, 3_000, 3):
        rows = session.push([{"type": "A", "t": t}, {"type": "B", "t": t + 1}]).to_pylist()
        assert {row["a.t"] for row in rows} == {t, t - 3} - {-3}
        assert len(session._run.recent.events()) < 20


def test_a_push_without_answers_makes_no_rows_of_the_events_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session = cerlab.parse_query("SELECT * WHERE A AS a ; B WITHIN 9 [t]").tabulating(["a.v"])
    table = session.push([{"type": "A", "t": 1, "v": 0.5}, {"type": "B", "t": 2}])
    assert table.num_rows == 1
    monkeypatch.setattr(sessions, "rows_of_part", pytest.fail)
    assert session.push([{"type": "C", "t": 3}]).equals(table.slice(1))


def test_pushes_share_what_labels_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[frozenset[str] | None] = []

    class Counted(Places):
        def __init__(self, A: LabelledSrt, labels: frozenset[str] | None) -> None:
            super().__init__(A, labels)
            made.append(labels)

    monkeypatch.setattr(labelling, "Places", Counted)
    session = cerlab.parse_query("SELECT * WHERE A AS a ; A AS b").tabulating(["b.v"])
    rows = sum(session.push([{"type": "A", "v": n}]).num_rows for n in range(5))
    assert (rows, made) == (10, [frozenset("b")])


def test_patterns_of_patterns_as_events_come() -> None:
    """Rises of at least 2, and then two of them of which the second is higher."""
    first = cerlab.parse_query("SELECT * WHERE A AS a ; B AS b FILTER b[v > 2] WITHIN 1 EVENTS")
    second = cerlab.parse_query("SELECT * WHERE RISE AS x ; RISE AS y FILTER y[`b.v` > 4]")
    below, above = first.tabulating(["a.v", "b.v"]), second.open()
    events = [{"type": "AB"[n % 2], "v": n} for n in range(8)]
    rises = [m for event in events for m in above.push(below.push([event]), type="RISE")]
    assert sorted(m.positions for m in rises) == [(0, 1), (0, 2), (1, 2)]


@random_suite(4_000)
def test_valuations_where_filters_compare_labels(rng: Random) -> bool | None:
    shape = Shape(depth=3, events=6)
    phi = random_correlated_formula(rng, shape)
    stream = Stream(random_correlated_events(rng, phi, shape))
    ast = CeqlQuery(phi)
    try:
        expected = set(query_valuations(ast, stream))
    except cerlab.ResourceLimit:  # one in two hundred, which took most of the time
        return None
    query = Query(ast)
    machines: tuple[EvaluatorName, ...] = ()
    if "registers" in names_that_take(query):
        machines = ("registers", "compiled")
    for evaluator in ("auto", *machines):
        assert cerlab.valuations(query, stream, evaluator=evaluator) == expected, query
    assert len(query.run(stream).table([])) == len({complex_event(V) for V in expected})
    return bool(expected)


def correlated_answers(rng: Random) -> Iterator[tuple[Query, Stream, list[ComplexEvent]]]:
    """Queries whose filters compare labels, with streams and their answers; few have none."""
    while True:
        shape = Shape(depth=3, events=7)
        phi = random_correlated_formula(rng, shape)
        stream = Stream(random_correlated_events(rng, phi, shape))
        keys = rng.choice(((), ((sorted(stream.columns)[0],),))) if stream.columns else ()
        query = Query(CeqlQuery(phi, partition=keys))
        if "registers" in names_that_take(query) and query.machine_kind != "listed":
            answers = list(query.run(stream))
            if answers or rng.random() < 0.1:
                yield query, stream, answers


def ways_agree(rng: Random) -> bool:
    """The compiled transducer on the answers of a query, against its runs as written."""
    query, stream, answers = next(
        (query, stream, answers)
        for query, stream, answers in correlated_answers(rng)
        if not any(mixes(t.guard) for t in query.labelled_registers.Delta)  # no kernel takes it
    )
    A, plan = query.labelled_registers, query.registers
    labels = sorted({label for t in A.Delta for label in t.labels})
    selection = None if rng.random() < 0.5 else [X for X in labels if rng.random() < 0.5]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(labelling, "ROOM", rng.choice((2, labelling.ROOM)))
        if rng.random() < 0.5:
            patch.setattr(Places, "of", no_place_decides)
        labels_of = LabelMachine(A).label(plan, stream, selection)
    ways: list[tuple[ComplexEvent, list[frozenset[str]]]] = []
    for batch in batched_answers(answers, 1 + rng.randrange(5)):
        rows = labels_of(batch)
        for n, (start, end) in enumerate(zip(rows.start, rows.end, strict=True)):
            part = slice(rows.offsets[n], rows.offsets[n + 1])
            answer = ComplexEvent(int(start), int(end), tuple(rows.positions[part].tolist()))
            assert answer == list(batch)[rows.answer[n]]
            ways.append((answer, [rows.labels[mark] for mark in rows.marks[part]]))
    expected = [
        (answer, [L if selection is None else L.intersection(selection) for L in way])
        for answer in answers
        for way in labels_of_answer(A, plan, stream.events, answer)
    ]
    if selection is None:
        assert ways == expected, query
    else:
        assert len(ways) == len({(answer, tuple(way)) for answer, way in ways})
        assert {(a, tuple(way)) for a, way in ways} == {(a, tuple(way)) for a, way in expected}
    return bool(expected)


def test_the_compiled_transducer_labels_answers_as_its_runs_do(suite: Suite) -> None:
    suite.run(ways_agree, deep_count=2_000)


def test_comparisons_decide_between_labels_where_types_do_not() -> None:
    """`A+ AS a ; A+ AS b` over 1, 3, 2 can be cut two ways by type, and one way by value."""
    text = "SELECT * WHERE (A+ AS a ; A+ AS b ; B) FILTER a.v < b.v"
    events = [*({"type": "A", "v": v} for v in (1, 3, 2)), {"type": "B", "v": 9}]
    query = cerlab.parse_query(text)
    rows = query.run(events).table(["a.v", "b.v"]).to_pylist()
    whole = [
        (row["a.v"], row["b.v"]) for row in rows if sum(map(len, (row["a.v"], row["b.v"]))) > 2
    ]
    assert whole == [([1], [3, 2])]
    assert len(rows) == len(query.run(events).table([])) == 3
    assert cerlab.valuations(query, events, evaluator="registers") == cerlab.valuations(
        query, events
    )


@random_suite(4_000)
def test_limit_gives_the_same_valuations_of_each_end(rng: Random) -> bool:
    example = random_case(rng, Shape(depth=2))
    ast = with_limit(example.ast, 2)
    answers = cerlab.valuations(Query(ast), example.stream, evaluator="compiled")
    assert answers == set(query_valuations(ast, example.stream)), example.describe()
    return bool(answers)


def test_an_answer_whose_labels_can_be_given_in_several_ways_has_a_row_for_each() -> None:
    query = cerlab.parse_query("SELECT * WHERE (A AS x OR A AS y)+")
    events = [{"type": "A", "v": 1}, {"type": "A", "v": 2}]
    table = query.run(events).table(["count(x)", "count(y)"])
    both = [row for row in table.to_pylist() if row["start"] == 0 and row["end"] == 1]
    pairs = sorted((row["count(x)"], row["count(y)"]) for row in both)
    assert pairs == [(0, 2), (1, 1), (1, 1), (2, 0)]
    alone = query.run(events).table(["A.v"])
    assert alone.num_rows == query.run(events).count() == 3


def test_ways_that_lead_nowhere_are_tried_once() -> None:
    """Each event can be x or y, but only at the end is it seen that none of 2^60 ways accepts."""
    query = cerlab.parse_query(
        "SELECT * WHERE ((A AS x OR A AS y)+ ; B FILTER B[v = 1]) OR ((A AS z)+ ; B)"
    )
    events = [{"type": "A"}] * 60 + [{"type": "B", "v": 0}]
    answer = ComplexEvent(0, 60, tuple(range(61)))
    ways = _valuations_of_one(query, events, answer)
    assert [dict(V.labels)["z"] for V in ways] == [tuple(range(60))]


def _valuations_of_one(query: Query, events: Any, answer: ComplexEvent) -> list[Valuation]:
    from cerlab.engine.labels import valuations_of_rows
    from cerlab.evaluate.labelled import labelled_answers

    stream = cerlab.Stream.from_events(events)
    (rows,) = labelled_answers(query, stream, batched_answers([answer], 1))
    return list(valuations_of_rows(rows))


def test_valuations_that_are_made_some_at_a_time_are_each_made_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:

    monkeypatch.setattr(labelling, "SOME_OBJECTS", 2)
    query, events = cerlab.parse_query("SELECT * WHERE A"), [{"type": "A"}] * 5
    ways = labelled_valuations(query, cerlab.Stream.from_events(events), query.run(events))
    assert [V.labels for V in ways] == [{"A": (n,)} for n in range(5)]


def test_valuations_on_a_long_stream_are_not_listed_by_runs() -> None:
    """`A+ ; B` over 2,000 events without B: runs in progress would be 2^2000."""
    events = [{"type": "A"}] * 2_000 + [{"type": "C"}]
    assert cerlab.valuations("SELECT * WHERE A+ ; B", events, evaluator="compiled") == set()
    assert cerlab.valuations("SELECT * WHERE A+ ; B", events, evaluator="auto") == set()


@pytest.mark.parametrize("evaluator", ["tecs", "lists"])
def test_evaluators_without_labels_say_so(evaluator: EvaluatorName) -> None:
    with pytest.raises(cerlab.Unsupported, match="labels"):
        cerlab.valuations("SELECT * WHERE A", [{"type": "A"}], evaluator=evaluator)


def test_first_order_labels_are_those_of_the_reference(suite: Suite) -> None:
    """Variables under `+` hold several events; those of bare types are not told."""

    def case(rng: Random) -> bool | None:
        shape = Shape(depth=3, events=5)
        phi = random_fo_formula(rng, shape)
        stream = Stream(random_events(rng, phi, shape))
        try:
            expected = cerlab.valuations(phi, stream, logic="fo")
        except cerlab.ResourceLimit:
            return None
        if not expected and rng.random() < 0.7:
            return None
        evaluators: tuple[EvaluatorName, ...] = ("automaton", "compiled", "registers", "auto")
        for evaluator in evaluators:
            assert cerlab.valuations(phi, stream, logic="fo", evaluator=evaluator) == expected, phi
        return bool(expected)

    suite.run(lambda rng: case(rng) or case(rng), deep_count=4_000)


@random_suite(2_000)
def test_first_order_labels_where_filters_compare_variables(rng: Random) -> bool:
    example = fo_case(rng)
    query = Query(example.ast, logic="fo")
    expected = cerlab.valuations(query, example.stream)
    machines: tuple[EvaluatorName, ...] = ("compiled", "registers", "auto")
    for evaluator in machines:
        assert cerlab.valuations(query, example.stream, evaluator=evaluator) == expected, query
    return bool(expected)


@pytest.mark.parametrize("case", cases("first-order-labels"), ids=lambda case: case.id)
@pytest.mark.parametrize("evaluator", ["reference", "registers", "compiled", "auto"])
def test_variables_that_filters_compare(case: Case, evaluator: EvaluatorName) -> None:
    found = cerlab.valuations(case.query, case.stream, logic="fo", evaluator=evaluator)
    assert difference(case, {"valuations": list(map(answer_json, found))}) == ""


@pytest.mark.parametrize("evaluator", ["tecs", "lists"])
def test_evaluators_without_variables_say_so(evaluator: EvaluatorName) -> None:
    with pytest.raises(cerlab.Unsupported, match="labels"):
        cerlab.valuations("A AS x", [{"type": "A"}], logic="fo", evaluator=evaluator)
    binary, events = "A AS x ; B AS y FILTER x.v < y.v", [{"type": "A", "v": 1}]
    with pytest.raises(cerlab.Unsupported) as caught:
        cerlab.valuations(binary, events, logic="fo", evaluator="automaton")
    assert caught.value.hint == "evaluators that give its labels: reference, compiled, registers"


def test_columns_have_aliases_and_attributes_of_the_start_and_end() -> None:
    events = [{"type": kind, "t": n, "p": 2 * n} for n, kind in enumerate("ABAB")]
    matches = cerlab.parse_query("SELECT * WHERE A AS a ; B+ AS b WITHIN 2 [t]").run(events)
    rows = matches.table(["a.p AS low", "count(b) as n", "end.p", "start.t AS `first t`"])
    assert rows.to_pylist()[0] == {
        "start": 0,
        "end": 1,
        "low": 0,
        "n": 1,
        "end.p": 2,
        "first t": 0,
    }
    named = cerlab.parse_query("SELECT * WHERE A AS end ; B WITHIN 1 [t]").run(events)
    assert named.table(["end.p"]).column("end.p").to_pylist() == [0, 4]  # a label hides the place
    for columns in (["a.p AS x", "a.t AS x"], ["a.p AS end"], ["a.p AS"], ["last(end.t)"]):
        with pytest.raises(cerlab.UsageError, match=r"CER086[23]"):
            matches.table(columns)
