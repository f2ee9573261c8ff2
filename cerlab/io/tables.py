"""Tables in and out: anything that holds rows to Arrow, Arrow to rows of values, and back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import Any

from cerlab.errors import BadData, DataPlace, UsageError
from cerlab.io import arrow
from cerlab.io.conversion import duplicate_column, not_utf_8
from cerlab.io.formats import COLUMNAR, existing, format_of, is_pipe, looks_like, name_of
from cerlab.io.lines import row_of_bad_byte
from cerlab.io.pipe import arriving_lines
from cerlab.logic.rows.errors import mismatch
from cerlab.logic.rows.types import Binding, InputColumn, Kind, MeasureColumn, StaticType
from cerlab.model.columns import is_moment, is_text, values_of, without_views
from cerlab.model.event import Event, Timestamp, Value, to_value
from cerlab.model.stream import Stream

Row = Mapping[str, Value]


def as_table(rows: Any) -> Any:
    """The rows of anything that holds events or rows, as a pyarrow Table (rows.md 12.2).

    A Table, a pandas or polars data frame, dicts, a `Stream` or its events, a path; of dicts the
    columns are in order of first appearance. Raises `BadData`, `TypeMismatch` for a column of
    values that do not compare, and `UsageError`.
    """
    if isinstance(rows, str | PathLike):
        return _read(rows)
    table = arrow.as_table(rows)
    if table is not None:
        return _distinct(table)
    if hasattr(rows, "to_dict") and hasattr(rows, "columns"):
        rows = rows.to_dict(orient="records")
    if isinstance(rows, Stream):
        rows = rows.events
    if isinstance(rows, bytes | Mapping) or not isinstance(rows, Iterable):
        hint = "a table, a data frame, a list of dicts or a path does"
        raise UsageError("CER0812", f"{type(rows).__name__} holds no rows", hint=hint)
    return _of_dicts([_as_dict(row, i) for i, row in enumerate(rows, 1)])


def _distinct(table: Any) -> Any:
    if len(set(table.column_names)) < len(table.column_names):
        raise duplicate_column(table.column_names, "the table")
    return table


def _as_dict(row: Any, i: int) -> Mapping[str, Any]:
    if isinstance(row, Event):
        stream = {} if row.stream is None else {"stream": row.stream}
        return {"type": row.type, **stream, **row.attributes}
    if not isinstance(row, Mapping):
        message = f"a row is a dict, not {type(row).__name__}"
        hint = 'for example {"symbol": "INTC", "price": 27.85}'
        raise BadData("CER0705", message, place=DataPlace("the table", i), hint=hint)
    return row


def _of_dicts(rows: Sequence[Mapping[str, Any]]) -> Any:
    import pyarrow as pa

    names = dict.fromkeys(name for row in rows for name in row)
    columns = {
        name: _column(name, [to_value(row.get(name), name) for row in rows]) for name in names
    }
    return pa.table(columns)


def _column(name: str, values: list[Value]) -> Any:
    import pyarrow as pa

    try:
        if any(isinstance(value, Timestamp) for value in values):
            moments = [
                value.nanoseconds if isinstance(value, Timestamp) else value for value in values
            ]
            if not all(isinstance(value, Timestamp | NoneType) for value in values):
                raise mismatch(f"column '{name}' mixes moments with other values")
            return pa.array(moments, pa.timestamp("ns"))
        if any(isinstance(value, float) for value in values):
            return pa.array([_float(value) for value in values])
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        hint = "a column holds numbers, or texts, or booleans, or moments"
        raise mismatch(f"column '{name}': {error}", hint=hint) from None


def _float(value: Value) -> Value:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _read(path: str | PathLike[str]) -> Any:
    """The table of a file of any format, or of standard input as ``-``."""
    name, kind = name_of(path), None
    try:
        if is_pipe(path):
            return _of_text("".join(arriving_lines(path)), name, kind)
        file = existing(path)
        if (kind := format_of(file)) in COLUMNAR:
            return _distinct(arrow.read_file(file, kind))
        return _of_text(file.read_text(encoding="utf-8-sig"), name, kind)
    except UnicodeDecodeError as error:
        raise not_utf_8(error.reason, DataPlace(name, row_of_bad_byte(name, 1))) from None


def _of_text(text: str, file: str, kind: str | None) -> Any:
    first = next((line for line in text.splitlines() if line.strip()), "")
    match kind or looks_like(first):
        case "ndjson":
            return _of_dicts([_line(line, file, i) for i, line in enumerate(text.splitlines(), 1)])
        case "csv":
            import pyarrow as pa
            from pyarrow import csv

            with arrow.reading(Path(file), "csv"):
                table = csv.read_csv(pa.py_buffer(text.encode()))
            return _distinct(table)
        case other:
            hint = "CSV, NDJSON, Parquet and Arrow do"
            raise UsageError("CER0812", f"a file of format {other} holds no rows", hint=hint)


def _line(line: str, file: str, i: int) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        place, hint = DataPlace(file, i), "a file of rows has one JSON object on each line"
        raise BadData("CER0733", f"no JSON: {error}", place=place, hint=hint) from None
    return _as_dict(row, i)


def column_kinds(table: Any) -> dict[str, Kind]:
    """The kind of each column of a table, in order."""
    return {field.name: _kind(field.type) for field in table.schema}


def _kind(arrow_type: Any) -> Kind:
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        return _kind(arrow_type.value_type)
    if types.is_decimal(arrow_type):
        return Kind.INTEGER if arrow_type.scale <= 0 else Kind.DOUBLE
    for kind, tests in {
        Kind.NULL: (types.is_null,),
        Kind.BOOLEAN: (types.is_boolean,),
        Kind.INTEGER: (types.is_integer,),
        Kind.DOUBLE: (types.is_floating,),
        Kind.TEXT: (is_text,),
        Kind.MOMENT: (is_moment,),
    }.items():
        if any(test(arrow_type) for test in tests):
            return kind
    return Kind.OTHER


def value_columns(table: Any, names: Iterable[str]) -> dict[str, Sequence[Value]]:
    """The values of these columns of a table."""
    return {name: values_of(table.column(name), name) for name in dict.fromkeys(names)}


def value_rows(table: Any, names: Iterable[str]) -> list[Row]:
    """The rows of a table, with the values of these columns."""
    columns = value_columns(table, names)
    return [{name: column[i] for name, column in columns.items()} for i in range(table.num_rows)]


def result_table(table: Any, binding: Binding, rows: Any, measures: Sequence[Any]) -> Any:
    """The result: columns of the table at `rows`, and the measures, a sequence or array each.

    Raises `BadData` for an integer beyond 64 bits.
    """
    import pyarrow as pa

    indices = pa.array(rows, pa.int64())
    columns, names = [], []
    for column in binding.output:
        names.append(column.name)
        match column:
            case InputColumn(_, source):
                columns.append(without_views(table.column(source)).take(indices))
            case MeasureColumn(name, index, measure_type):
                columns.append(_measure_array(measures[index], name, measure_type, table.schema))
    if not columns:
        return pa.table({})
    return pa.Table.from_arrays(columns, names=names)


def _measure_array(values: Any, name: str, measure_type: StaticType, schema: Any) -> Any:
    import pyarrow as pa

    arrow_type = _arrow_type(measure_type, schema)
    if isinstance(values, pa.Array) and not pa.types.is_dictionary(arrow_type):
        if measure_type.kind is Kind.MOMENT:  # nanoseconds
            values = values.cast(pa.timestamp("ns", getattr(arrow_type, "tz", None)))
        return values.cast(arrow_type)
    if isinstance(values, pa.Array):
        return pa.array(values.to_pylist(), arrow_type)
    if measure_type.kind is Kind.MOMENT:
        moments = [v.nanoseconds if isinstance(v, Timestamp) else None for v in values]
        zone = getattr(arrow_type, "tz", None)
        return pa.array(moments, pa.timestamp("ns", zone)).cast(arrow_type)
    if measure_type.kind is Kind.DOUBLE:
        values = [_float(value) for value in values]
    try:
        return pa.array(values, arrow_type)
    except (pa.ArrowInvalid, OverflowError) as error:
        raise BadData(
            "CER0787",
            f"measure '{name}': {error}",
            place=DataPlace("the result", None, name),
            hint="integers of the result have 64 bits; multiply by 1.0 for doubles",
        ) from None


def _arrow_type(measure_type: StaticType, schema: Any) -> Any:
    import pyarrow as pa
    from pyarrow import types

    if measure_type.column is not None:
        own = schema.field(measure_type.column).type
        if not types.is_decimal(own) and not types.is_string_view(own):
            return own
    return {
        Kind.BOOLEAN: pa.bool_(),
        Kind.INTEGER: pa.int64(),
        Kind.DOUBLE: pa.float64(),
        Kind.TEXT: pa.string(),
        Kind.MOMENT: pa.timestamp("ns"),
        Kind.NULL: pa.null(),
    }[measure_type.kind]
