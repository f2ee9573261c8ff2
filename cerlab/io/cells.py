"""Readers of formats whose cells are text until their columns have types: CSV and CORE's form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from cerlab.errors import BadData
from cerlab.io.conversion import Place, RowReading, convert, typed_event
from cerlab.io.declared import declared_types
from cerlab.io.parts import Part, Quoted, Refused, RowPart, TextRow, batched
from cerlab.model.columns import encode_text, is_text, values_of
from cerlab.model.event import AttributeType, Event, Value

if TYPE_CHECKING:
    from cerlab.io.column_types import ColumnTypes


class CellReader(ABC):
    """A format whose cells are text until their columns have types."""

    sparse: bool
    """True if all rows have all columns, and columns of other event types are empty."""

    def __init__(self, reading: RowReading, types: ColumnTypes) -> None:
        self._reading = reading
        self._types = types
        self._declared = None if reading.schema is None else declared_types(reading.schema)

    def lines(self, lines: Iterable[str], before: int, *, last: bool, size: int) -> Iterator[Part]:
        """Yield the events of lines, with typed cells, in parts of at most `size` events."""
        rows = self._text_rows(lines, before, last=last)
        if self._reading.schema is not None:
            yield from batched(self._events(rows), size)
            return
        for some in batched(rows, size):
            yield from self._of_cells(some)

    @abstractmethod
    def _text_rows(self, lines: Iterable[str], before: int, *, last: bool) -> Iterator[TextRow]:
        """Yield the rows of lines as text."""

    def _events(self, rows: Iterable[TextRow]) -> Iterator[Event]:
        """Yield rows as events with the types that the schema declares."""
        column = "type" if self.sparse else None
        for row in rows:
            try:
                yield typed_event(
                    row.type,
                    row.stream,
                    row.cells,
                    _value_of,
                    self._reading,
                    row.number,
                    column=column,
                    sparse=self.sparse,
                )
            except BadData as error:
                self._reading.reject(row.text, error)

    def _of_cells(self, rows: Sequence[TextRow]) -> Iterator[Part]:
        """Yield rows by columns; a row that does not fit the settled column types is a bad row."""
        from cerlab.io.column_types import Misfit, is_quoted, text_array

        while rows:
            names = dict.fromkeys(chain.from_iterable(row.cells for row in rows))
            cells = {name: [row.cells.get(name) for row in rows] for name in names}
            try:
                with self._types.attempt():
                    columns = {
                        name: self._types.read(name, text_array(c), quoted=is_quoted(c))
                        for name, c in cells.items()
                    }
            except Misfit:
                at, name = self._types.first_misfit(cells)
                yield from self._of_cells(rows[:at])
                row = rows[at]
                place = self._reading.place(row.number, name)
                self._reading.reject(row.text, self._types.misfit(name, row.cells[name], place))
                rows = rows[at + 1 :]
                continue
            # in CORE's text form, `type` and `stream` may be ordinary attributes
            if {"type", "stream"} & set(names):
                yield _events_with(columns, rows)
                return
            columns["type"] = encode_text(text_array([row.type for row in rows]))
            if any(row.stream is not None for row in rows):
                columns["stream"] = encode_text(text_array([row.stream for row in rows]))
            yield RowPart(columns, len(rows), *_shapes(rows))
            return

    def with_types(self, columns: dict[str, Any], quoted: set[str]) -> dict[str, Any]:
        """Return text columns converted to types; raises `Refused` for cells that do not fit."""
        from cerlab.io.column_types import Misfit, typed

        if self._reading.schema is None:
            try:
                return {
                    name: self._types.read(name, column, quoted=name in quoted)
                    if is_text(column.type)
                    else self._types.noted(name, column)
                    for name, column in columns.items()
                }
            except Misfit:
                raise Refused from None
        if self._declared is None:  # event types declare one attribute differently
            raise Refused
        texts = {n for n, kind in self._declared.items() if kind is AttributeType.STRING}
        if quoted - texts:
            raise Refused
        return {n: encode_text(c) if n in texts else typed(c) for n, c in columns.items()}


def _events_with(columns: dict[str, Any], rows: Sequence[TextRow]) -> list[Event]:
    """Yield rows as events, with the values of their columns."""
    values = {name: values_of(column, name) for name, column in columns.items()}
    return [
        Event(row.type, {name: values[name][n] for name in row.cells}, row.stream)
        for n, row in enumerate(rows)
    ]


def _shapes(rows: Sequence[TextRow]) -> tuple[tuple[tuple[str, ...], ...], Any]:
    """Return the attribute names of each shape of rows, and each row's shape (None for one)."""
    import numpy as np

    shapes: dict[tuple[str, ...], int] = {}
    numbers = [shapes.setdefault(tuple(row.cells), len(shapes)) for row in rows]
    return tuple(shapes), np.array(numbers) if len(shapes) > 1 else None


def _value_of(cell: str | None, kind: AttributeType, place: Place) -> Value:
    if cell is None:
        return None
    as_is = type(cell) is Quoted or kind is AttributeType.STRING
    return convert(str(cell) if as_is else cell.strip(), kind, place)
