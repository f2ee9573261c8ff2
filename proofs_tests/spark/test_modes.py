"""The table of modes: what each refuses, by name; and that it has to."""

from __future__ import annotations

import pyarrow as pa
import pytest

import cerlab
from cerlab import ComplexEvent
from cerlab.logic.ceql.parser import parse_ceql
from cerlab.spark.plan import Mode, choose_mode, why_not
from proofs_tests.spark.cases import SparkCase
from proofs_tests.spark.layouts import cut_at

KEYS, RANGES, ONE = Mode.KEYS, Mode.RANGES, Mode.ONE

TABLE = {
    "SELECT * WHERE A ; B": {ONE},
    "SELECT * WHERE A ; B WITHIN 3 [t]": {RANGES, ONE},
    "SELECT * WHERE A ; B WITHIN 3 SECONDS": {RANGES, ONE},
    "SELECT * WHERE A ; B WITHIN 3 EVENTS": {RANGES, ONE},
    "SELECT STRICT * WHERE A ; B WITHIN 3 EVENTS": {RANGES, ONE},
    "SELECT NEXT * WHERE A ; B WITHIN 3 EVENTS": {ONE},
    "SELECT LAST * WHERE A ; B WITHIN 3 EVENTS": {ONE},
    "SELECT MAX * WHERE A ; B WITHIN 3 EVENTS": {ONE},
    "SELECT * WHERE A ; B WITHIN 3 EVENTS CONSUME BY ANY": {ONE},
    "SELECT * WHERE A ; B WITHIN 3 EVENTS CONSUME BY PARTITION": {ONE},
    "SELECT * FROM S WHERE A ; B WITHIN 3 [t] LIMIT 2": {RANGES, ONE},
    "SELECT * WHERE A ; B PARTITION BY [k]": {KEYS, ONE},
    "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 3 [t]": {KEYS, RANGES, ONE},
    "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 3 EVENTS": {KEYS, ONE},
    "SELECT MAX * WHERE A ; B PARTITION BY [k] WITHIN 3 [t]": {KEYS, ONE},
    "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 3 [t] CONSUME BY PARTITION": {KEYS, ONE},
    "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 3 [t] CONSUME BY ANY": {ONE},
}


@pytest.mark.parametrize("text", TABLE)
def test_the_table(text: str) -> None:
    plan = cerlab.parse_query(text).plan
    exact = {mode for mode in Mode if why_not(plan, mode) is None}
    assert exact == TABLE[text]
    first = choose_mode(plan)
    assert first.mode is next(mode for mode in Mode if mode in exact)
    assert first.is_default
    for mode in exact:
        choice = choose_mode(plan, mode.value)
        assert (choice.mode, choice.is_default) == (mode, False)
    assert set(first.reasons) == set(list(Mode)[: list(Mode).index(first.mode)])
    for mode in set(Mode) - exact:
        with pytest.raises(cerlab.Unsupported, match=f"mode '{mode.value}'.*: ") as caught:
            choose_mode(plan, mode.value)
        assert caught.value.code == "CER0490"
        assert caught.value.hint == f"exact modes: {', '.join(m.value for m in Mode if m in exact)}"


def test_a_mode_that_there_is_not() -> None:
    with pytest.raises(cerlab.UsageError, match="CER0870") as caught:
        choose_mode(cerlab.parse_query("SELECT * WHERE A").plan, "key")
    assert "keys" in caught.value.hint


NECESSARY = [
    # a strategy compares with what began before the window: here (0, 1) ends with (1) and is larger
    (
        RANGES,
        "SELECT MAX * WHERE A+ ; B WITHIN 1 EVENTS",
        ["A", "A", "B"],
        [0, 0, 0],
        (2,),
        [],
        [(1, 2)],
    ),
    # the answer at 2 consumes, and began before the window of the range
    (
        RANGES,
        "SELECT * WHERE (A ; C) OR (B ; D) WITHIN 2 EVENTS CONSUME BY ANY",
        ["A", "B", "C", "D"],
        [0, 0, 0, 0],
        (3,),
        [(0, 2)],
        [(0, 2), (1, 3)],
    ),
    # the other key's answer at 2 ends what key 1 has begun
    (
        KEYS,
        "SELECT * WHERE A ; B PARTITION BY [k] CONSUME BY ANY",
        ["A", "A", "B", "B"],
        [1, 0, 0, 1],
        (),
        [(1, 2)],
        [(0, 3), (1, 2)],
    ),
    # events of the key are far apart, and the window counts only those
    (
        RANGES,
        "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 1 EVENTS",
        ["A", "C", "C", "B"],
        [1, 0, 0, 1],
        (3,),
        [(0, 3)],
        [],
    ),
]


@pytest.mark.parametrize(("mode", "text", "types", "keys", "cut", "right", "wrong"), NECESSARY)
def test_what_is_refused_would_be_wrong(
    mode: Mode,
    text: str,
    types: list[str],
    keys: list[int],
    cut: tuple[int, ...],
    right: list[tuple[int, ...]],
    wrong: list[tuple[int, ...]],
) -> None:
    """The answers by hand, those of the local engine, and those the mode would give."""
    count = len(types)
    columns = {"type": types, "stream": pa.nulls(count, pa.string()), "k": keys}
    table = pa.table({**columns, "t": range(count)})
    case = SparkCase(parse_ceql(text)[0], table, None)
    assert why_not(case.query.plan, mode) is not None
    assert [answer.positions for answer in case.expected()] == right
    answers = cut_at(case, mode, cut)
    assert sorted(answer.positions for answer in answers) == wrong


def test_a_window_in_time_reads_ties_on_both_sides_of_a_cut() -> None:
    """Four events at one time, cut in the middle: by hand."""
    types = ["A", "A", "B", "B"]
    table = pa.table({"type": types, "stream": pa.nulls(4, pa.string()), "t": [5, 5, 5, 5]})
    case = SparkCase(parse_ceql("SELECT * WHERE A ; B WITHIN 0 [t]")[0], table, None)
    for cut in ((1,), (2,), (3,), (1, 2, 3)):
        answers = cut_at(case, Mode.RANGES, cut)
        pairs = [(0, 2), (1, 2), (0, 3), (1, 3)]
        assert answers == [ComplexEvent(p[0], p[1], p) for p in pairs]
