"""Tables of tests of row patterns, and the rows of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from cerlab import match_recognize
from cerlab.rows.recognise import RowEvaluator

EVALUATORS: tuple[RowEvaluator, ...] = ("reference", "search", "auto")
"""In these tests ``"auto"`` is a compiled evaluator wherever one accepts the query."""

Row = tuple[Any, ...]
Dict = dict[str, Any]


def letters(text: str) -> list[Dict]:
    """``letters("a ab .")``: rows numbered by i, with a truth value for each of a, b, c, d.

    A letter stands where the row has that truth value TRUE, ``.`` for a row without any, and a
    letter after ``~`` where it is NULL.
    """
    rows = []
    for i, word in enumerate(text.split()):
        null = word.partition("~")[2]
        holds = word.partition("~")[0]
        rows.append({"i": i, **{c: None if c in null else c in holds for c in "abcd"}})
    return rows


def rows_of(query: str, table: Any, evaluator: RowEvaluator = "reference") -> list[Row]:
    """The rows of a result, as tuples in the order of its columns."""
    result = match_recognize(query, table, evaluator=evaluator)
    return [tuple(row.values()) for row in result.to_pylist()]


def typed_table(rows: Sequence[Dict]) -> Any:
    """The rows of `random_row_table` as a Table; columns have their types where all is NULL."""
    schema = pa.schema({"g": pa.int64(), "t": pa.int64(), "x": pa.int64(), "s": pa.string()})
    return pa.Table.from_pylist(list(rows), schema=schema)
