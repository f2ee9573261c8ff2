"""Writers: tables of answers, or the events of a stream, to a file in a format."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import timedelta
from typing import Any, BinaryIO, TextIO

from cerlab.display import terminal
from cerlab.errors import UsageError, printable
from cerlab.io.answers import ROWS, parquet_encoding
from cerlab.io.formats import FORMATS
from cerlab.io.named_columns import one_table
from cerlab.io.output import AnyPath, whole_file, whole_text
from cerlab.io.read import events_table
from cerlab.model.event import to_value
from cerlab.model.stream import Stream

RICH_ROWS = 1_000
"""Up to this many rows a table is drawn by rich, which takes 0.1 ms a row and wraps long cells."""

_WIDE = 1 << 26
"""Bytes of a table above which its row group ends early: readers hold a whole group in memory."""

Lines = Callable[[Any, TextIO, bool], None]


class Sink:
    """Writer of tables with one schema; each subclass writes one format."""

    def table(self, table: Any) -> None:
        """Write the rows of a table."""
        raise AssertionError(type(self))

    def events(self, stream: Stream) -> None:
        """Write a whole stream; raise `BadData` for an event that the format cannot represent."""
        self.table(events_table(stream))

    def text(self, line: str) -> None:
        """Write a line of NDJSON; other formats accept only tables."""
        raise AssertionError(line)

    def flush(self) -> None:
        """Flush the rows so far, if the format allows flushing."""

    def finish(self) -> None:
        """Write the rows that the writer still holds."""


@contextmanager
def open_sink(
    path: AnyPath | None,
    form: str,
    *,
    lines: Lines | None = None,
    types_grow: bool = False,
    of_positions: bool = False,
) -> Iterator[Sink]:
    """Yield a writer to a file, which gets its name only after success; None is standard output.

    Args:
        path: the file.
        form: ``csv``, ``ndjson``, ``core`` (events only), ``parquet``, ``arrow``, or ``table`` for
            terminals.
        lines: the function that writes NDJSON of tables.
        types_grow: a column may have integers in one table and doubles in a later one.
        of_positions: the rows are answers with their positions, not named columns.
    """
    if form == "table" or FORMATS[form].columns is None:
        with whole_text(path) as file:
            sink = _Drawn(file, of_positions) if form == "table" else _Text(file, form, lines)
            yield sink
            sink.finish()
        return
    if path is None:
        hint = "csv, ndjson and core are text; parquet and arrow need a file"
        raise UsageError("CER0867", f"cannot write events as {form} here", hint=hint)
    with (
        whole_file(path, at_once=True) as raw,
        closing(_Columns(raw, form, types_grow, of_positions)) as columns,
    ):
        yield columns
        columns.finish()


class _Text(Sink):
    """A writer of lines of text; the first table writes the header of CSV."""

    def __init__(self, file: TextIO, form: str, lines: Lines | None) -> None:
        self._file, self._format = file, FORMATS[form]
        self._rows = lines if lines and form == "ndjson" else self._format.write_rows
        self._is_first = True

    def table(self, table: Any) -> None:
        assert self._rows is not None, "only events are written as CORE's text"
        self._rows(table, self._file, self._is_first)
        self._is_first = False

    def events(self, stream: Stream) -> None:
        assert self._format.write is not None
        self._format.write(stream, self._file)

    def text(self, line: str) -> None:
        self._file.write(line)

    def flush(self) -> None:
        self._file.flush()


class _Columns(Sink):
    """A writer of row groups; the rows of an unfinished group stay in memory.

    If types grow, all rows are in memory, since the types precede the first group of a file.
    """

    def __init__(self, file: BinaryIO, form: str, types_grow: bool, of_positions: bool) -> None:
        self._file, self._form = file, form
        self._types_grow, self._of_positions = types_grow, of_positions
        self._writer: Any = None
        self._tables: list[Any] = []
        self._rows = 0

    def table(self, table: Any) -> None:
        self._tables.append(table)
        self._rows += table.num_rows
        if not self._types_grow and (self._rows >= ROWS or table.nbytes > _WIDE):
            self.finish()

    def finish(self) -> None:
        if not self._tables:
            return
        import pyarrow as pa
        from pyarrow import parquet

        table = one_table(self._tables)
        if self._writer is None:
            opened = parquet.ParquetWriter if self._form == "parquet" else pa.ipc.new_file
            options = parquet_encoding(table.schema) if self._of_positions else {}
            self._writer = opened(self._file, table.schema, **options)
        self._writer.write_table(table)
        self._tables, self._rows = [], 0

    def close(self) -> None:
        """Write the end of the file."""
        if self._writer is not None:
            self._writer.close()


class _Drawn(Sink):
    """A writer that draws a table at the end, when the widths of the columns are known."""

    def __init__(self, file: TextIO, of_positions: bool) -> None:
        self._file, self._of_positions = file, of_positions
        self._tables: list[Any] = []

    def table(self, table: Any) -> None:
        self._tables.append(table)

    def finish(self) -> None:
        """Draw the rows, or only the names of the columns."""
        if not self._tables:
            return
        result = one_table(self._tables)
        names = result.column_names
        if self._of_positions:  # tables with labels or events also contain the positions
            names = ["start", "end", names[-1]]
        columns = [_cells(result.column(name)) for name in names]
        has_room = result.num_rows <= RICH_ROWS and _has_room(names, columns, self._file)
        (_draw_by_rich if has_room else _draw)(names, columns, self._file)


def _cells(column: Any) -> list[str]:
    """Return the values of a column as texts of a drawn table."""
    import pyarrow as pa

    values = column.to_pylist()
    if pa.types.is_map(column.type):
        return ["  ".join(f"{label}: {_positions(D)}" for label, D in row) for row in values]
    return [_cell(value) for value in values]


def _cell(value: Any) -> str:
    """Return a value as text: durations as in JSON, lists by their elements."""
    if isinstance(value, list):
        return ", ".join(map(_cell, value))
    if isinstance(value, timedelta):
        return str(to_value(value))
    return "" if value is None else printable(str(value))


def _positions(positions: Iterable[int]) -> str:
    return ", ".join(map(str, positions))


def _has_room(names: Sequence[str], columns: Sequence[list[str]], file: TextIO) -> bool:
    """Return whether a terminal has room for the longest words, which rich would otherwise cut."""
    from rich.console import Console

    words = ([name, *" ".join(column).split()] for name, column in zip(names, columns, strict=True))
    return Console(file=file).width > sum(max(map(len, some)) + 3 for some in words)


def _draw_by_rich(names: Sequence[str], columns: Sequence[list[str]], file: TextIO) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(*map(printable, names))
    for row in zip(*columns, strict=True):
        table.add_row(*row)
    # markup off: text in brackets stays text
    Console(file=terminal(file), markup=False, emoji=False).print(table)


def _draw(names: Sequence[str], columns: Sequence[list[str]], file: TextIO) -> None:
    """Draw the table in rich's frame, without cutting or wrapping cells."""
    cells = [[printable(name), *column] for name, column in zip(names, columns, strict=True)]
    widths = [max(map(len, column)) for column in cells]
    rules = [("┏", "━", "┳", "┓"), ("┡", "━", "╇", "┩"), ("└", "─", "┴", "┘")]
    top, below, end = (
        left + middle.join(line * (width + 2) for width in widths) + right + "\n"
        for left, line, middle, right in rules
    )
    padded = [[cell.ljust(width) for cell in c] for c, width in zip(cells, widths, strict=True)]
    head, *rows = zip(*padded, strict=True)
    file.write(top + "┃ " + " ┃ ".join(head) + " ┃\n" + below)
    file.writelines("│ " + " │ ".join(row) + " │\n" for row in rows)
    file.write(end)
