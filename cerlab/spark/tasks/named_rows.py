"""Rows with names of the answers of a run: the events that they name are in the task that has them.

They are the table of `cerlab.api.answers.Matches.table`, batch by batch.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from cerlab.automata.plan import Plan
from cerlab.engine.answers import AnswerBatch
from cerlab.engine.labelling import Labelling
from cerlab.io.named_columns import AnswerColumns, NamedColumn
from cerlab.model.columns import decoded
from cerlab.model.stream import Stream
from cerlab.spark.plan.reads import attributes_labelled, engine_column


@dataclass(frozen=True, slots=True)
class RowNames:
    """The columns of rows with names: all of it plain values, for tasks."""

    columns: tuple[NamedColumn, ...]
    key: tuple[str, ...]
    """The attributes of PARTITION BY."""
    list_labels: frozenset[str]
    """The labels that may hold several events."""
    schema: Any = None
    """The Arrow types that Spark expects of the columns; None for those of the events."""

    @property
    def attributes(self) -> tuple[str, ...]:
        """The attributes of events that the columns are taken from."""
        names = (column.attribute for column in self.columns)
        return tuple(dict.fromkeys((*self.key, *(name for name in names if name is not None))))

    @property
    def lists(self) -> frozenset[NamedColumn]:
        """The columns that are lists."""
        return frozenset(c for c in self.columns if not c.function and c.label in self.list_labels)


class EventBuffer:
    """The events of a run that answers to come can name, as tables of columns ``a0 a1 ..``."""

    def __init__(self) -> None:
        self._tables: deque[Any] = deque()
        self._first = 0
        self._end = 0

    def append(self, rows: Any) -> None:
        """Add the next events of the run."""
        self._tables.append(rows)
        self._end += rows.num_rows

    def forget(self, before: int) -> None:
        """Give up tables all of whose events have a number below this."""
        while self._tables and self._first + self._tables[0].num_rows <= before:
            self._first += self._tables.popleft().num_rows

    def of(self, begin: int, end: int) -> Any:
        """The events from one number to before another, as one table."""
        import pyarrow as pa

        return pa.concat_tables(self._tables).slice(begin - self._first, end - begin)


class RowTables:
    """Tables of rows with names, for answers that number the events of one table.

    `events` has columns by the names of attributes, `positions` are those of its rows in the
    stream.
    """

    def __init__(self, plan: Plan, names: RowNames, events: Any, positions: Any) -> None:
        labels = {column.label for column in names.columns}
        read = {
            name: engine_column(events.column(name), name) for name in attributes_labelled(plan)
        }
        self._labelling = Labelling(plan.vcea, plan, _stream(read, events.num_rows), labels)
        self._columns = AnswerColumns(
            names.columns,
            _stream({name: events.column(name) for name in names.attributes}, events.num_rows),
            key=names.key,
            repeatable=names.list_labels,
            positions=positions,
        )
        self._schema = names.schema

    def of(self, answers: AnswerBatch) -> Any:
        """A row for each way to give an answer its labels, as a pyarrow Table."""
        return in_types(self._columns.table(self._labelling.of(answers)), self._schema)


def _stream(columns: dict[str, Any], rows: int) -> Stream:
    return Stream.from_columns(columns, rows, tuple)


def in_types(table: Any, schema: Any) -> Any:
    """The same rows without codes of text, in the types of a schema if there is one."""
    import pyarrow as pa

    plain = pa.table({name: _plain(table.column(name)) for name in table.column_names})
    return plain if schema is None else plain.cast(schema)


def _plain(column: Any) -> Any:
    """A column of values, or of lists of them, without a dictionary."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_dictionary(kind):
        return decoded(column)
    if pa.types.is_list(kind) and pa.types.is_dictionary(kind.value_type):
        (lists,) = column.combine_chunks().chunks if column.num_chunks != 1 else column.chunks
        return pa.ListArray.from_arrays(lists.offsets, decoded(lists.values))
    return column
