"""Columns that a query does not read are never looked at, whatever they hold."""

from __future__ import annotations

import pickle
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

import cerlab

EVALUATORS = ("reference", "automaton", "lists", "tecs", "compiled", "registers", "auto")
QUERY = "A ; B FILTER B[v > 1]"
ANSWERS = [cerlab.ComplexEvent(0, 1, (0, 1))]

NO_VALUES: dict[str, Any] = {
    "lists": pa.array([[1], None]),
    "structs": pa.array([{"x": 1}, None]),
    "bytes": pa.array([b"x", b"y"]),
    "times of day": pa.array([1, 2], pa.time64("us")),
    "moments far away": pa.array([2**53, 0], pa.timestamp("s")),
}
VALUES: dict[str, Any] = {
    "durations": pa.array([1, 2**62], pa.duration("s")),
    "long unsigned integers": pa.array([2**64 - 1, 1], pa.uint64()),
    "decimals": pa.array([Decimal("1.5"), None], pa.decimal128(5, 2)),
    "wide decimals": pa.array([Decimal(10**30), None], pa.decimal128(38, 0)),
    "half floats": pa.array(np.array([1.5, 2.5], np.float16)),
    "a dictionary with NULL": pa.DictionaryArray.from_arrays(
        pa.array([0, 1], pa.int8()), pa.array([None, "x"])
    ),
}


def table_with(column: Any) -> Any:
    return pa.table({"type": ["A", "B"], "v": [1, 2], "w": column})


@pytest.mark.parametrize("evaluator", EVALUATORS)
@pytest.mark.parametrize("name", [*NO_VALUES, *VALUES])
def test_they_change_no_answer(name: str, evaluator: Any, tmp_path: Path) -> None:
    table = table_with({**NO_VALUES, **VALUES}[name])
    path = tmp_path / "e.arrow"
    with pa.OSFile(str(path), "wb") as raw, pa.ipc.new_stream(raw, table.schema) as writer:
        writer.write_table(table, max_chunksize=1)
    for events in (table, cerlab.Stream.read([path, path])[:2], str(path)):
        try:
            answers = cerlab.evaluate(QUERY, events, evaluator=evaluator)
        except cerlab.Unsupported:
            return
        assert answers == ANSWERS


@pytest.mark.parametrize("evaluator", ["reference", "tecs", "compiled"])
@pytest.mark.parametrize("name", NO_VALUES)
def test_who_reads_them_is_told(name: str, evaluator: Any) -> None:
    with pytest.raises(cerlab.BadData, match=r"CER074[01]") as caught:
        cerlab.evaluate("A FILTER A[w = 1]", table_with(NO_VALUES[name]), evaluator=evaluator)
    assert caught.value.column == "w"


def test_events_without_them_are_pickled() -> None:
    (event, _) = cerlab.Stream.from_arrow(table_with(NO_VALUES["lists"]))
    again = pickle.loads(pickle.dumps(event))
    assert again == event
    assert (list(again.attributes), again.attributes["v"]) == (["v", "w"], 1)
    for read in (lambda: again.attributes["w"], lambda: dict(again.attributes)):
        with pytest.raises(cerlab.BadData, match="CER0741"):
            read()


def test_null_in_the_dictionaries_of_several_chunks() -> None:
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array([None, text]))
        for codes, text in (([1, 0], "x"), ([0, 1], "y"), ([1, None], "x"))
    ]
    table = pa.table({"type": ["A"] * 6, "n": pa.chunked_array(chunks)})
    for evaluator in ("tecs", "compiled"):
        assert len(cerlab.evaluate("A FILTER A[n = 'x']", table, evaluator=evaluator)) == 2


def test_a_name_that_ends_polars() -> None:
    frame = pl.DataFrame({"type": ["A"], "a\0b": [1]})
    with pytest.raises(cerlab.BadData, match="NUL"):
        cerlab.evaluate("A", frame)
