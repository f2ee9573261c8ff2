"""Answers as JSON objects, Arrow tables and files; one schema everywhere."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, TextIO, TypeAlias

from cerlab.io.output import whole_columns
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


ROWS = 1 << 16
"""A row group of Parquet has at least so many answers, but for the last one."""


POSITIONS = 1 << 22
"""Or so many positions in all of its answers."""


class Sink(Protocol):
    """Takes answers by end, one by one or many at once."""

    def one(self, answer: ComplexEvent | Valuation) -> None:
        """Take an answer."""

    def batch(self, answers: AnswerBatch) -> None:
        """Take some answers of the compiled engine."""

    def flush(self) -> None:
        """Let readers see the answers so far, if the format allows it."""


class NdjsonSink:
    """A JSON object for each answer, one a line.

    A complex event is ``{"start": .., "end": .., "positions": [..]}``; a valuation has
    ``"labels"`` besides. With `events`, the whole stream or a list that still grows, each line
    carries its events, with all attributes or, at positions that `projection` gives for the answer,
    with those only.
    """

    def __init__(
        self,
        file: TextIO,
        events: Sequence[Event] | None = None,
        projection: Projection | None = None,
    ) -> None:
        self._file = file
        self._events = events
        self._projection = projection

    def one(self, answer: ComplexEvent | Valuation) -> None:
        """Write a line."""
        if self._events is None and isinstance(answer, ComplexEvent):
            self._file.write(_line(answer.start, answer.end, list(answer.positions)))
            return
        fields = record(answer, self._events, self._projection)
        self._file.write(json.dumps(fields, ensure_ascii=False) + "\n")

    def batch(self, answers: AnswerBatch) -> None:
        """Write the lines of a batch."""
        if self._events is not None:
            for answer in answers:
                self.one(answer)
            return
        from cerlab.io.answer_lines import answer_lines

        self._file.writelines(answer_lines(answers))

    def flush(self) -> None:
        """Let the lines go."""
        self._file.flush()


def _line(start: int, end: int, positions: list[int]) -> str:
    return f'{{"start": {start}, "end": {end}, "positions": {positions}}}\n'


class ParquetSink:
    """A Parquet file in row groups; what is not yet a group is in memory. `parquet_sink` opens."""

    def __init__(self, writer: Any, *, labels: bool = False) -> None:
        self._writer = writer
        self._labels = labels
        self._tables: list[Any] = []
        self._single: list[ComplexEvent | Valuation] = []
        self._rows = self._positions = 0

    def one(self, answer: ComplexEvent | Valuation) -> None:
        """Keep an answer for the next group."""
        self._single.append(answer)
        plain = answer if isinstance(answer, ComplexEvent) else complex_event(answer)
        self._count(1, len(plain.positions))

    def batch(self, answers: AnswerBatch) -> None:
        """Keep a batch for the next group."""
        self._gather()
        self._tables.append(table_of_batches([answers]))
        self._count(len(answers), len(answers.positions))

    def flush(self) -> None:
        """Nothing: half a file of Parquet cannot be read."""

    def close(self) -> None:
        """Write the last group."""
        import pyarrow as pa

        self._gather()
        if self._tables:
            self._writer.write_table(pa.concat_tables(self._tables))
        self._tables, self._rows, self._positions = [], 0, 0

    def _count(self, rows: int, positions: int) -> None:
        self._rows += rows
        self._positions += positions
        if self._rows >= ROWS or self._positions >= POSITIONS:
            self.close()

    def _gather(self) -> None:
        if self._single:
            self._tables.append(arrow_table(self._single, labels=self._labels))
            self._single = []


@contextmanager
def parquet_sink(path: str | PathLike[str], *, labels: bool = False) -> Iterator[ParquetSink]:
    """A sink into a new Parquet file, which is there when the context ends without an error.

    With `labels` it takes valuations, one by one.
    """
    schema = arrow_schema(labels=labels)
    with whole_columns(path, schema, **parquet_encoding(schema)) as writer:
        sink = ParquetSink(writer, labels=labels)
        yield sink
        sink.close()
