"""Columns as JSON or CSV text, a whole column at a time, joined to lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Any, TextIO

from cerlab.io.answers import json_value, row_text
from cerlab.model.arrays import array_from, numbers_of
from cerlab.model.columns import (
    Column,
    array_of,
    decoded,
    engine_moments,
    is_arrow,
    is_moment,
    is_text,
    values_of,
)
from cerlab.model.event import Event, Value

SOME_LINES = 1 << 15
"""Rows of one text: it fits the processor's cache, and a pipe's reader gets it soon."""


def ndjson_rows(table: Any, file: TextIO, is_first: bool = True) -> None:
    """Write one JSON object per line, with the names of the columns as keys."""
    for part in _parts(table):
        names = [json.dumps(name, ensure_ascii=False) for name in part.schema.names]
        pieces: list[Any] = []
        for n, name in enumerate(names):
            pieces += [f"{', ' if n else '{'}{name}: ", _texts(part.column(n), "json")]
        file.write(_joined([*pieces, "}\n"], part.num_rows) if pieces else "")


def csv_rows(table: Any, file: TextIO, is_first: bool = True) -> None:
    """Write a CSV line for each row, after a header if these are the first rows.

    NULL and empty text become an empty cell, a list the text of a JSON array.
    """
    if is_first:
        file.write(",".join(_quoted(_array(table.column_names)).to_pylist()) + "\n")
    for part in _parts(table):
        pieces: list[Any] = []
        for n in range(part.num_columns):
            pieces += [*([","] if n else []), _texts(part.column(n), "csv")]
        if part.num_columns == 1:  # CSV readers skip an empty line, so a single cell needs quotes
            pieces = [_filled(pieces[0])]
        file.write(_joined([*pieces, "\n"], part.num_rows))


def _parts(table: Any) -> Iterator[Any]:
    """Return the rows of a table as record batches of at most `SOME_LINES`."""
    return (part for part in table.to_batches(max_chunksize=SOME_LINES) if part.num_rows)


def _joined(pieces: list[Any], rows: int) -> str:
    """Return the texts of all rows, joined; a piece is an array, or one text for all rows."""
    import pyarrow as pa
    import pyarrow.compute as pc

    wide = [_large(each) if isinstance(each, str) else each for each in pieces]
    lines = pc.binary_join_element_wise(*wide, _large(""))
    if isinstance(lines, pa.Scalar):
        return str(lines.as_py()) * rows
    # all lines are already in one buffer; Python texts would be created one by one
    return _bytes_of(lines).decode()


def _filled(texts: Any) -> Any:
    import pyarrow.compute as pc

    return pc.if_else(pc.equal(texts, ""), '""', texts)


def cell_of(value: Value) -> str:
    """Return a value as the text of a cell."""
    return ("FALSE", "TRUE")[value] if isinstance(value, bool) else str(value)


def cells_of(column: Column, name: str) -> Any:
    """Return the values of a column as the text of cells: large_string (rows,), NULL for NULL."""
    import pyarrow as pa

    if not is_arrow(column):
        return _array(None if value is None else cell_of(value) for value in column)
    kind = column.type
    if is_text(kind):
        plain = decoded(column) if pa.types.is_dictionary(kind) else column
        return _whole(plain.cast(pa.large_string()))
    if pa.types.is_integer(kind):
        return _whole(column.cast(pa.large_string()))
    if is_moment(kind) and (moments := engine_moments(column, name)).type.unit == "ns":
        return _whole(_moments(moments))
    return _by_value(_whole(column), cell_of, None)


def _moments(moments: Any) -> Any:
    """Return the texts of moments in nanoseconds, as ``str(Timestamp)`` writes them."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    def texts_of(seconds: Any, form: str) -> Any:
        # days and seconds of a day have few values: each text is created once
        coded = array_from(seconds).dictionary_encode()
        return pc.strftime(coded.dictionary.cast(pa.timestamp("s")), form).take(coded.indices)

    seconds, nanos = np.divmod(numbers_of(_whole(moments).cast(pa.int64()).fill_null(0)), 10**9)
    days = seconds // 86_400 * 86_400
    parts = [texts_of(days, "%Y-%m-%dT"), texts_of(seconds - days, "%H:%M:%S")]
    if nanos.any():
        digits = pc.ascii_lpad(array_from(nanos).cast(pa.string()), 9, "0")
        parts += [".", pc.ascii_rtrim(digits, "0")]
    texts = pc.ascii_rtrim(pc.binary_join_element_wise(*parts, ""), ".").cast(pa.large_string())
    texts = pc.binary_join_element_wise(texts, _large("Z"), _large(""))
    return pc.if_else(moments.is_valid(), texts, None) if moments.null_count else texts


def _whole(column: Any) -> Any:
    return column.combine_chunks() if hasattr(column, "chunks") else column


def _texts(column: Any, form: str) -> Any:
    """Return the values of an Arrow array as text, none of them NULL: large_string (rows,)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    types, kind = pa.types, column.type
    null = "null" if form == "json" else ""
    if types.is_large_binary(kind):
        return column.cast(pa.large_string())
    if types.is_map(kind):
        pairs = pc.binary_join_element_wise(
            _texts(column.keys, "json"), _texts(column.items, "json"), _large(": ")
        )
        return _around("{", _lists(column, pairs), "}")
    if types.is_list(kind) or types.is_large_list(kind):
        texts = _around("[", _lists(column, _texts(column.values, "json")), "]")
        texts = pc.if_else(column.is_valid(), texts, _large(null))
    elif form == "csv" or types.is_integer(kind):
        texts = cells_of(column, "?")
    elif is_text(kind) or is_moment(kind):
        texts = _json_strings(cells_of(column, "?"))
    else:
        texts = _by_value(column, _json_text, null)
    texts = _quoted(texts) if form == "csv" else texts
    return texts.fill_null(_large(null)) if texts.null_count else texts


def _quoted(texts: Any) -> Any:
    """Return CSV cells, quoted if needed; Python's writer does not quote a lone ``\\r``."""
    import pyarrow.compute as pc

    data = _bytes_of(texts)
    if not any(each in data for each in (b'"', b",", b"\r", b"\n")):
        return texts
    needs = pc.match_substring_regex(texts, '[",\r\n]')
    return pc.if_else(needs, _around('"', pc.replace_substring(texts, '"', '""'), '"'), texts)


def _json_strings(texts: Any) -> Any:
    """Return texts as JSON strings, in quotes."""
    import pyarrow.compute as pc

    if pc.any(pc.match_substring_regex(texts, r'["\\\x00-\x1f]')).as_py():
        return _by_value(texts, _json_text, None)
    return _around('"', texts, '"')


def _bytes_of(texts: Any) -> bytes:
    """Return the bytes of all texts in a large_string array, concatenated."""
    offsets = memoryview(texts.buffers()[1]).cast("q")
    first, last = offsets[texts.offset], offsets[texts.offset + len(texts)]
    return memoryview(texts.buffers()[2] or b"")[first:last].tobytes()


_OWN = ("type", "stream")


def event_lines(
    events: Sequence[Event],
    rows: Sequence[int],
    offset: int,
    shown: Sequence[frozenset[str] | None] | None,
) -> Any:
    """Return events as JSON objects with their positions; `shown` names each event's attributes.

    The result is an array of large_binary, which `ndjson_rows` writes as JSON.
    """
    import pyarrow as pa

    texts = []
    for n, row in enumerate(rows):
        event, names = events[row], None if shown is None else shown[n]
        stream = {"stream": event.stream} if event.stream else {}
        listed = [n for n in event.attributes if names is None or n in names]
        paths = sorted(n for n in (names or ()) if n not in listed and n in event.attributes)
        values = {name: event.attributes[name] for name in (*listed, *paths)}
        texts.append(row_text({"position": row + offset, "type": event.type, **stream, **values}))
    return _array(texts).cast(pa.large_binary())


def event_columns(
    columns: Mapping[str, Any],
    attributes: Sequence[str],
    rows: Any,
    offset: int,
    shown: Sequence[frozenset[str] | None] | None,
) -> Any:
    """Return the lines of `event_lines`, computed from columns, for events of equal attributes."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def texts_of(name: str) -> Any:
        column = columns[name]
        if not is_arrow(column):
            values = values_of(column, name)
            return _array(_json_text(values[n]) for n in rows.tolist())
        some = column.take(array_from(rows))
        return _texts(some.combine_chunks() if hasattr(some, "chunks") else some, "json")

    position = array_from(rows + offset).cast(pa.large_string())
    pieces: list[Any] = [_large('{"position": '), position, _large(', "type": '), texts_of("type")]
    if "stream" in columns:
        texts = texts_of("stream")
        present = pc.and_(pc.not_equal(texts, _large("null")), pc.not_equal(texts, _large('""')))
        pieces.append(pc.if_else(present, _around(', "stream": ', texts, ""), _large("")))
    if shown is not None and None not in shown:
        named = frozenset[str]().union(*(names or () for names in shown))
        paths = sorted(n for n in named if n not in (*attributes, *_OWN) and n in columns)
        attributes = [*(name for name in attributes if name in named), *paths]
    for name in attributes:
        text = _around(f", {json.dumps(name, ensure_ascii=False)}: ", texts_of(name), "")
        if shown is not None:
            is_shown = array_of([names is None or name in names for names in shown])
            text = pc.if_else(is_shown, text, _large(""))
        pieces.append(text)
    joined = pc.binary_join_element_wise(*pieces, _large("}"), _large(""))
    return joined.cast(pa.large_binary())


def _large(text: str) -> Any:
    return _array([text])[0]


def _array(texts: Iterable[str | None]) -> Any:
    """Return texts as an Arrow array; ``pa.array`` would load pandas, which takes 0.3 s."""
    import pyarrow as pa

    values = list(texts)
    array = array_of(values)
    return (
        pa.nulls(len(values), pa.large_string()) if array is None else array.cast(pa.large_string())
    )


def _lists(column: Any, texts: Any) -> Any:
    """Return the texts of the elements of each list, separated by commas."""
    import pyarrow as pa
    import pyarrow.compute as pc

    offsets = column.offsets.cast(pa.int64())
    return pc.binary_join(pa.LargeListArray.from_arrays(offsets, texts), _large(", "))


def _around(before: str, texts: Any, after: str) -> Any:
    import pyarrow.compute as pc

    return pc.binary_join_element_wise(_large(before), texts, _large(after), _large(""))


def _by_value(column: Any, text_of: Callable[[Any], str], none: str | None) -> Any:
    """Return the texts of a column's values, each created once; `none` is the text of NULL."""
    import pyarrow as pa

    kind = column.type
    if not pa.types.is_dictionary(kind):
        if pa.types.is_decimal(kind) or pa.types.is_null(kind) or pa.types.is_nested(kind):
            values = values_of(column, "?")
            return _array(none if value is None else text_of(value) for value in values)
        column = column.dictionary_encode()
    values = values_of(column.dictionary, "?")
    texts = _array([*(none if value is None else text_of(value) for value in values), none])
    indices = column.indices.cast(pa.int64())
    if indices.null_count:
        past = _array([str(len(values))]).cast(pa.int64())
        indices = indices.fill_null(past[0])
    return texts.take(indices)


def _json_text(value: Any) -> str:
    # same digits as Python's JSON writer, which takes five times as long for a number
    is_number = type(value) is float and isfinite(value)
    return repr(value) if is_number else json.dumps(json_value(value), ensure_ascii=False)
