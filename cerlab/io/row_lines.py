"""Rows of Arrow tables as lines of text: CSV and NDJSON."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, TextIO

from cerlab.io.write import json_value, row_text
from cerlab.model.columns import values_of


def csv_rows(tables: Iterable[Any], file: TextIO, *, header: bool = True) -> None:
    """A header, if there is to be one, and a line for each row.

    NULL and empty text are an empty cell, a list is the text of a JSON array.
    """
    writer = csv.writer(file, lineterminator="\n")
    for n, table in enumerate(tables):
        if n == 0 and header:
            writer.writerow(table.column_names)
        columns = [_cells(table.column(name), name) for name in table.column_names]
        writer.writerows([_cell(value) for value in row] for row in zip(*columns, strict=True))


def ndjson_rows(tables: Iterable[Any], file: TextIO) -> None:
    """A JSON object a line, by the names of the columns."""
    for table in tables:
        names = table.column_names
        columns = [_cells(table.column(name), name) for name in names]
        for row in zip(*columns, strict=True):
            file.write(row_text(dict(zip(names, row, strict=True))) + "\n")


def _cells(column: Any, name: str) -> Sequence[Any]:
    """The values of a column, those of lists as lists; moments as text."""
    import pyarrow as pa

    if not pa.types.is_list(column.type):
        return [json_value(value) for value in values_of(column, name)]
    lists: list[list[Any]] = []
    for chunk in column.chunks:
        values = [json_value(value) for value in values_of(chunk.flatten(), name)]
        ends = chunk.offsets.to_pylist()
        first = ends[0]
        lists += [values[a - first : b - first] for a, b in pairwise(ends)]
    return lists


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, list) else value
