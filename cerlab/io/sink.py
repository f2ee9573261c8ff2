"""Sinks of answers: each answer is written as soon as there is one, and forgotten."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol, TextIO

from cerlab.io.output import whole_columns
from cerlab.io.write import (
    Projection,
    arrow_schema,
    arrow_table,
    parquet_encoding,
    record,
    table_of_batches,
)
from cerlab.model.answer import ComplexEvent, Valuation, complex_event
from cerlab.model.event import Event

if TYPE_CHECKING:
    from cerlab.engine.answers import AnswerBatch

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
