"""Answers as JSON objects, Arrow tables and files, with one schema."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from cerlab.model.answer import ComplexEvent, Valuation, complex_event
from cerlab.model.arrays import array_from, order_of
from cerlab.model.columns import array_of
from cerlab.model.event import Duration, Timestamp, Value

if TYPE_CHECKING:
    from cerlab.engine.answers import AnswerBatch
    from cerlab.engine.labels import LabelledAnswers


_BATCH = 65_536

ROWS = 1 << 16
"""Least number of rows in a Parquet row group, except the last one."""


def record(answer: ComplexEvent | Valuation) -> dict[str, Any]:
    """Return an answer as a JSON object.

    Moments become ISO text, NaN and infinities become text.
    """
    plain = complex_event(answer) if isinstance(answer, Valuation) else answer
    fields: dict[str, Any] = {
        "start": plain.start,
        "end": plain.end,
        "positions": list(plain.positions),
    }
    if isinstance(answer, Valuation):
        fields["labels"] = {label: list(positions) for label, positions in answer.labels.items()}
    return fields


def row_text(row: Mapping[str, Any]) -> str:
    """Return an event, given as a dict, as one line of NDJSON."""
    return json.dumps({name: json_value(value) for name, value in row.items()}, ensure_ascii=False)


def json_value(value: Value) -> Any:
    """Return a value for JSON: moments, durations, NaN and infinities become text."""
    if isinstance(value, Timestamp | Duration):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def arrow_schema(*, labels: bool = False) -> Any:
    """Return ``start int64, end int64, positions list<int64>``, and `labels` if requested."""
    import pyarrow as pa

    positions = pa.list_(pa.int64())
    fields = [("start", pa.int64()), ("end", pa.int64()), ("positions", positions)]
    if labels:
        fields.append(("labels", pa.map_(pa.string(), positions)))
    return pa.schema(fields)


def arrow_table(answers: Iterable[ComplexEvent | Valuation], *, labels: bool = False) -> Any:
    """Return the answers as a pyarrow Table."""
    import pyarrow as pa

    schema = arrow_schema(labels=labels)
    iterator, parts = iter(answers), []
    while rows := [record(answer) for answer in islice(iterator, _BATCH)]:
        columns: Mapping[str, list[Any]] = {
            name: [list(row[name].items()) if name == "labels" else row[name] for row in rows]
            for name in schema.names
        }
        parts.append(pa.RecordBatch.from_pydict(columns, schema=schema))
    return pa.Table.from_batches(parts, schema=schema)


def table_of_batches(batches: Iterable[AnswerBatch]) -> Any:
    """Return answers of the compiled engine as a pyarrow Table, built batch by batch.

    No answer becomes a Python object, and the integers are not copied. Raises pyarrow's error for a
    batch of 2^31 positions or more, whose offsets exceed 32 bits.
    """
    import numpy as np
    import pyarrow as pa

    schema = arrow_schema()
    lists, parts = schema.field("positions").type, []
    for batch in batches:
        if int(batch.offsets[-1]) > np.iinfo(np.int32).max:
            raise pa.ArrowInvalid("more positions than offsets of 32 bits count")
        offsets = batch.offsets.astype(np.int32, copy=False)
        ends, flat = [None, pa.py_buffer(offsets)], array_from(batch.positions)
        positions = pa.Array.from_buffers(lists, len(batch), ends, children=[flat])
        columns = [array_from(batch.start), array_from(batch.end), positions]
        parts.append(pa.RecordBatch.from_arrays(columns, schema=schema))
    return pa.Table.from_batches(parts, schema=schema)


def parquet_encoding(schema: Any) -> dict[str, Any]:
    """Return options of a ParquetWriter for answers: positions are delta-encoded.

    That costs one sixth of the time and bytes of dictionaries.
    """
    leaves = [path for field in schema for path in _leaves(field.name, field.type)]
    numbers = ("start", "end", "positions.list.element")
    return {
        "use_dictionary": [path for path in leaves if path not in numbers],
        "column_encoding": {p: "DELTA_BINARY_PACKED" for p in leaves if p in numbers},
    }


def _leaves(path: str, kind: Any) -> Iterator[str]:
    """Yield the Parquet columns that store one Arrow column."""
    import pyarrow as pa

    if pa.types.is_map(kind):
        yield from _leaves(f"{path}.key_value.key", kind.key_type)
        yield from _leaves(f"{path}.key_value.value", kind.item_type)
    elif pa.types.is_list(kind):
        yield from _leaves(f"{path}.list.element", kind.value_type)
    elif pa.types.is_struct(kind):
        for field in kind:
            yield from _leaves(f"{path}.{field.name}", field.type)
    else:
        yield path


def line_of(start: int, end: int, positions: list[int]) -> str:
    """Return a complex event as a line of NDJSON."""
    return f'{{"start": {start}, "end": {end}, "positions": {positions}}}\n'


def table_of_rows(rows: LabelledAnswers, offset: int = 0) -> Any:
    """Return rows of labelled answers as a pyarrow Table; positions are counted from `offset`."""
    import numpy as np
    import pyarrow as pa

    lengths = np.diff(rows.offsets)
    row_of = np.repeat(np.arange(len(lengths)), lengths)
    names = sorted(frozenset[str]().union(*rows.labels))
    places, labels = [], []
    for n, name in enumerate(names):
        has_label = np.array([name in each for each in rows.labels], np.bool_)
        places.append(np.flatnonzero(has_label[rows.marks]))
        labels.append(np.full(len(places[-1]), n))
    place, label = (np.concatenate(x) if x else np.zeros(0, np.int64) for x in (places, labels))
    order = order_of(row_of[place], label, place)
    place, label = place[order], label[order]
    lists = row_of[place] * max(1, len(names)) + label  # one list for each label of a row
    entries, first = np.unique(lists, return_index=True)
    positions = rows.positions + offset
    values = pa.ListArray.from_arrays(
        array_from(np.append(first, len(place)).astype(np.int32)), array_from(positions[place])
    )
    labels_of_rows = array_of(names)
    assert labels_of_rows is not None, "names are text"
    keys = labels_of_rows.cast(pa.string()).take(array_from(label[first]))
    row_ends = np.searchsorted(entries, np.arange(len(lengths) + 1) * max(1, len(names)))
    maps = pa.MapArray.from_arrays(array_from(row_ends.astype(np.int32)), keys, values)
    offsets = array_from(rows.offsets.astype(np.int32))
    whole = pa.ListArray.from_arrays(offsets, array_from(positions))
    columns = [array_from(rows.start + offset), array_from(rows.end + offset), whole, maps]
    return pa.Table.from_arrays(columns, schema=arrow_schema(labels=True))
