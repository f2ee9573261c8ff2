"""Answers as JSON objects and as Arrow; one schema everywhere (DESIGN 2.6)."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from cerlab.model.answer import ComplexEvent, Valuation, complex_event
from cerlab.model.columns import array_from
from cerlab.model.event import Event, Timestamp, Value

if TYPE_CHECKING:
    from cerlab.engine.answers import AnswerBatch

_BATCH = 65_536

Projection: TypeAlias = Callable[[ComplexEvent], Mapping[int, frozenset[str]]]
"""Of an answer, the attributes to show at those of its positions where not all are."""


def record(
    answer: ComplexEvent | Valuation,
    events: Sequence[Event] | None = None,
    projection: Projection | None = None,
) -> dict[str, Any]:
    """An answer as a JSON object; moments become ISO text, NaN and infinities become text."""
    plain = complex_event(answer) if isinstance(answer, Valuation) else answer
    fields: dict[str, Any] = {
        "start": plain.start,
        "end": plain.end,
        "positions": list(plain.positions),
    }
    if isinstance(answer, Valuation):
        fields["labels"] = {label: list(positions) for label, positions in answer.labels.items()}
    if events is not None:
        names = projection(plain) if projection else {}
        fields["events"] = [_event_record(i, events[i], names.get(i)) for i in plain.positions]
    return fields


def row_text(row: Mapping[str, Any]) -> str:
    """An event, as a dict, on one line of NDJSON."""
    return json.dumps({name: json_value(value) for name, value in row.items()}, ensure_ascii=False)


def _event_record(position: int, event: Event, names: frozenset[str] | None) -> dict[str, Any]:
    stream = {"stream": event.stream} if event.stream else {}
    values = {
        name: json_value(value)
        for name, value in event.attributes.items()
        if names is None or name in names
    }
    return {"position": position, "type": event.type, **stream, **values}


def json_value(value: Value) -> Any:
    """A value as JSON has it: moments, NaN and infinities as text."""
    if isinstance(value, Timestamp):
        return str(value)
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def arrow_schema(*, labels: bool = False) -> Any:
    """``start int64, end int64, positions list<int64>``, and labels where asked."""
    import pyarrow as pa

    positions = pa.list_(pa.int64())
    fields = [("start", pa.int64()), ("end", pa.int64()), ("positions", positions)]
    if labels:
        fields.append(("labels", pa.map_(pa.string(), positions)))
    return pa.schema(fields)


def arrow_table(answers: Iterable[ComplexEvent | Valuation], *, labels: bool = False) -> Any:
    """The answers as a pyarrow Table."""
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
    """The answers of the compiled engine as a pyarrow Table, a record batch for each of theirs.

    No answer becomes a Python object, and the integers are not copied. Raises pyarrow's error for a
    batch of 2^31 positions or more, whose offsets have no 32 bits.
    """
    import numpy as np
    import pyarrow as pa

    schema = arrow_schema()
    lists, parts = schema.field("positions").type, []
    for batch in batches:
        pa.scalar(int(batch.offsets[-1]), pa.int32())  # the greatest of them
        offsets = batch.offsets.astype(np.int32, copy=False)
        ends, flat = [None, pa.py_buffer(offsets)], array_from(batch.positions)
        positions = pa.Array.from_buffers(lists, len(batch), ends, children=[flat])
        columns = [array_from(batch.start), array_from(batch.end), positions]
        parts.append(pa.RecordBatch.from_arrays(columns, schema=schema))
    return pa.Table.from_batches(parts, schema=schema)


def parquet_encoding(schema: Any) -> dict[str, Any]:
    """The options of a ParquetWriter for answers: numbers of events are written as differences.

    That costs a sixth of what dictionaries of them do, in time and in bytes.
    """
    leaves = [path for field in schema for path in _leaves(field.name, field.type)]
    numbers = ("start", "end", "positions.list.element")
    return {
        "use_dictionary": [path for path in leaves if path not in numbers],
        "column_encoding": {p: "DELTA_BINARY_PACKED" for p in leaves if p in numbers},
    }


def _leaves(path: str, kind: Any) -> Iterator[str]:
    """The columns of Parquet for a column of Arrow."""
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
