"""Small parts of the engines by hand: what their loops and tables say of a few numbers."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pyarrow as pa
import pytest

import cerlab
from cerlab.engine import answers
from cerlab.engine.answers import rows_of_streams
from cerlab.engine.kernels.windows import window_starts
from cerlab.engine.measures import limbs
from cerlab.engine.registers import rules as ambiguity
from cerlab.engine.registers.program import Literal
from cerlab.engine.symbol_tables import LearnedTables, learned_tables
from cerlab.engine.tecs_run import GeneralEvaluation
from cerlab.engine.windowed import WindowedEvaluation
from cerlab.evaluate.labelled import labelled_valuations
from cerlab.predicates.syntax import Attribute, Operator, RegisterAttribute, RegisterComparison
from cerlab.predicates.truth import RELATIONS
from cerlab.rows.value_kernels import running_best


@pytest.mark.parametrize(
    ("value", "digits"),
    [(15, [15]), (16, [0, 1]), (-16, [-16]), (-17, [15, -2]), (300, [12, 2, 1])],
)
def test_digits_of_integers(value: int, digits: list[int]) -> None:
    assert [int(each[0]) for each in limbs(np.array([value], object), 4)] == digits


@pytest.mark.parametrize(
    ("written", "room", "after"),
    [
        ((8192, 8192), 16384, 32_768),  # full, as few positions are
        ((8192, 30_000), 16384, 60_001),
        ((8192, 60_000), 8192, 60_001),  # twice as many would be too many
        ((4096, 8192), 8192, 16385),  # half full
    ],
)
def test_room_after_a_buffer_of_answers(
    written: tuple[int, int], room: int, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answers, "MANY_POSITIONS", 1 << 16)
    buffer = answers.Buffer(8192)
    registers = np.array(written)
    batch = buffer.flush(registers, 0, 1)
    assert (len(batch), len(batch.positions)) == written
    assert not registers.any()
    assert len(buffer.arrays.start) == len(buffer.arrays.end) == room
    assert (len(buffer.arrays.offsets), len(buffer.arrays.positions)) == (room + 1, after)


def test_starts_of_windows_where_events_lie_group_by_group() -> None:
    """A window reaches into no other group, and in time back by its width at most."""
    groups, times = np.array([0, 0, 0, 1, 1, 2, 2]), np.array([5, 7, 9, 7, 8, 0, 3])
    first = np.empty(7, np.int64)
    assert window_starts(groups, times, 2, 0, first) == -1
    assert first.tolist() == [0, 0, 1, 3, 3, 5, 6]
    times[2] = 6
    assert window_starts(groups, times, 2, 0, first) == 2


@pytest.mark.parametrize(
    ("values", "there", "greatest", "best"),
    [
        ([1, 3, 2, 4], "1111", True, [1, 3, 3, 4]),
        ([3, 1, 2, 0], "1111", False, [3, 1, 1, 0]),
        ([0, 5, 0, 2], "0101", True, [None, 5, 5, 5]),
        ([7, 9, 1, 2], "1b11", False, [7, 9, 1, 1]),  # b: another match begins
    ],
)
def test_the_best_value_so_far(
    values: list[int], there: str, greatest: bool, best: list[int | None]
) -> None:
    array = np.array(values)
    valid = np.array([each != "0" for each in there], np.uint8)
    begins = np.array([each == "b" for each in there], np.uint8)
    running_best(array, valid, begins, greatest)
    assert [v if is_there else None for v, is_there in zip(array, valid, strict=True)] == best


@pytest.mark.parametrize("column", [list, pa.array], ids=["values", "array"])
def test_an_event_without_a_stream_is_in_every_one(column: type) -> None:
    columns = {"stream": column(["S", "T", None, "S"])}
    rows = rows_of_streams(("S",), columns)
    assert rows is not None
    assert rows.tolist() == [0, 2, 3]
    assert rows_of_streams(("S", "T"), columns) is None
    assert rows_of_streams((), columns) is None


def test_before_the_first_event_there_is_a_program() -> None:
    tables = LearnedTables(cerlab.parse_query("SELECT * WHERE A WITHIN 2 EVENTS").machine)
    assert tables.program() is not None


def test_an_event_moves_each_run_of_a_chain() -> None:
    """Five events one step apart: runs of a chain move by up to three events."""
    events = [{"type": "A", "t": t} for t in range(5)]
    answers = cerlab.evaluate("SELECT * WHERE A ; A ; A WITHIN 3 [t]", events, evaluator="compiled")
    assert Counter(answer.end for answer in answers) == {2: 1, 3: 3, 4: 3}


def test_an_answer_that_begins_and_ends_at_once_waits_for_room() -> None:
    """The answer before fills the buffer of positions, not that of answers."""
    query = cerlab.parse_query(f"SELECT * WHERE ({'A ; ' * 15} B) OR C WITHIN 99 EVENTS")
    types = "A" * 15 + "BC"
    run = WindowedEvaluation(query.plan, learned_tables(query.machine), None, answers=2)
    batches = [*run.push_columns({"type": list(types)}, len(types)), *run.finish()]
    answers = [answer for batch in batches for answer in batch]
    assert [answer.positions for answer in answers] == [tuple(range(16)), (16,)]


def test_what_comes_late_is_put_among_those_that_start_later_and_earlier() -> None:
    """Each C of the window with one B of it or both; lists of nodes are ordered by their starts."""
    query = cerlab.parse_query("SELECT * WHERE (B ALL B ALL C) ; A WITHIN 4 [t]")
    columns = {"type": list("CBCBBCA"), "t": [2, 3, 4, 5, 6, 6, 8]}
    run = GeneralEvaluation(query.plan, query.machine, None)
    answers = [answer.positions for batch in run.push_columns(columns, 7) for answer in batch]
    expected = [(2, 3, 6), (2, 4, 6), (2, 3, 4, 6), (3, 5, 6), (4, 5, 6), (3, 4, 5, 6)]
    assert sorted(answers) == sorted(expected)


def test_more_ways_than_configurations_have_room() -> None:
    """Two ways lead to each configuration, none of which an answer takes."""
    ways = "(A AS a : B :+ : C AS c) OR (A AS a : (B AS x OR B AS y) :+ : D AS c)"
    query = cerlab.parse_query(f"SELECT * WHERE {ways} FILTER a.v = c.v")
    stream = cerlab.Stream.from_events([{"type": t, "v": 1} for t in "A" + "B" * 30 + "CD"])
    (valuation,) = labelled_valuations(query, stream, list(query.run(stream))[:1])
    assert valuation.labels.keys() == {"A", "B", "C", "a", "c"}


@pytest.mark.parametrize(("one", "other"), product(Operator, repeat=2))
def test_two_comparisons_of_the_same_values_hold_together_in_some_order_or_none(
    one: Operator, other: Operator
) -> None:
    sides = Attribute("v"), RegisterAttribute("r", "v")
    clause = frozenset(Literal(RegisterComparison(op, *sides), False) for op in (one, other))
    orders = ((0, 1), (1, 1), (1, 0))
    assert ambiguity._consistent(clause) == any(
        RELATIONS[one](*order) and RELATIONS[other](*order) for order in orders
    )
