"""What writes the tables of the command line: NDJSON, CSV, Parquet, or a table for a terminal."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from typing import Any, Protocol, TextIO

from cerlab.cli.options import output
from cerlab.display import terminal
from cerlab.errors import printable
from cerlab.io.answers import ROWS, parquet_encoding
from cerlab.io.named_columns import one_table
from cerlab.io.output import whole_columns
from cerlab.model.event import to_value

RICH_ROWS = 1_000
"""Up to this many rows a table is drawn by rich, which takes 0.1 ms a row and wraps long cells."""


class Writer(Protocol):
    """Takes tables of one schema."""

    def table(self, table: Any) -> None:
        """Take some rows."""

    def text(self, line: str) -> None:
        """Take a line of NDJSON; other formats take tables alone."""

    def flush(self) -> None:
        """Let readers see the rows so far, if the format allows it."""


Lines = Callable[[Iterable[Any], TextIO], None]


@contextmanager
def writer(
    arguments: argparse.Namespace,
    lines: Lines | None = None,
    *,
    types_grow: bool = False,
    of_positions: bool = False,
) -> Iterator[Writer]:
    """The writer of ``--format`` and ``-o``; `lines` writes NDJSON of tables.

    `types_grow`: a column may be of integers in one table and of doubles in a later one.
    `of_positions`: the rows are answers with their positions, not columns with names of users.
    """
    if arguments.format == "parquet":
        with ExitStack() as stack:
            columns = ParquetWriter(
                arguments.output, stack, types_grow=types_grow, of_positions=of_positions
            )
            yield columns
            columns.close()
        return
    with output(arguments.output) as file:
        if arguments.format == "table":
            printer = TablePrinter(of_positions=of_positions)
            yield printer
            printer.print(file)
        else:
            yield TextWriter(file, arguments.format, lines)


def write_tables(
    tables: Iterable[Any], arguments: argparse.Namespace, lines: Lines | None = None
) -> None:
    """Write Arrow tables of one schema in the format that is asked for."""
    with writer(arguments, lines) as out:
        for table in tables:
            out.table(table)


class TextWriter:
    """NDJSON or CSV, whose header comes with the first table."""

    def __init__(self, file: TextIO, form: str, lines: Lines | None) -> None:
        self._file = file
        self._lines = lines
        self._in_csv, self._is_first = form == "csv", True

    def table(self, table: Any) -> None:
        """Write the lines of a table."""
        from cerlab.io.text_writer import csv_rows, ndjson_rows

        if self._in_csv:
            csv_rows([table], self._file, header=self._is_first)
        else:
            (self._lines or ndjson_rows)([table], self._file)
        self._is_first = False

    def text(self, line: str) -> None:
        """Write a line."""
        self._file.write(line)

    def flush(self) -> None:
        """Let the lines go."""
        self._file.flush()


class ParquetWriter:
    """A Parquet file in row groups; rows that are not yet a group are in memory.

    All of them where `types_grow`, since the types of a file stand before its first group.
    """

    def __init__(
        self, path: str, stack: ExitStack, *, types_grow: bool, of_positions: bool
    ) -> None:
        """The file is there when the `stack` ends without an error."""
        self._path = path
        self._stack = stack
        self._types_grow = types_grow
        self._of_positions = of_positions
        self._writer: Any = None
        self._tables: list[Any] = []
        self._rows = 0

    def table(self, table: Any) -> None:
        """Keep rows for the next group; a file that cannot be written is refused at the first."""
        if self._writer is None and not self._types_grow:
            self._open(table)
        self._tables.append(table)
        self._rows += table.num_rows
        # A large table ends its group early, as readers hold a whole group in memory.
        is_full = self._rows >= ROWS or table.nbytes > 1 << 26
        if is_full and not self._types_grow:
            self.close()

    def text(self, line: str) -> None:
        """Never called: Parquet takes tables."""
        raise AssertionError(line)

    def flush(self) -> None:
        """No-op: half a file of Parquet cannot be read."""

    def close(self) -> None:
        """Write the last group."""
        if self._tables:
            table = one_table(self._tables)
            if self._writer is None:
                self._open(table)
            self._writer.write_table(table)
        self._tables, self._rows = [], 0

    def _open(self, table: Any) -> None:
        options = parquet_encoding(table.schema) if self._of_positions else {}
        opened = whole_columns(self._path, table.schema, **options)
        self._writer = self._stack.enter_context(opened)


class TablePrinter:
    """A table for a terminal, drawn at the end: its columns have a width then."""

    def __init__(self, *, of_positions: bool) -> None:
        self._of_positions = of_positions
        self._tables: list[Any] = []

    def table(self, table: Any) -> None:
        """Keep some rows."""
        self._tables.append(table)

    def text(self, line: str) -> None:
        """Never called: a table takes tables."""
        raise AssertionError(line)

    def flush(self) -> None:
        """No-op: nothing is shown before the end."""

    def print(self, file: TextIO) -> None:
        """Draw the rows, or the names of the columns alone."""
        if not self._tables:
            return
        result = one_table(self._tables)
        names = result.column_names
        if self._of_positions:  # which labels and events show, too
            names = ["start", "end", names[-1]]
        columns = [_cells(result.column(name)) for name in names]
        if result.num_rows <= RICH_ROWS and _has_room(names, columns, file):
            _draw_by_rich(names, columns, file)
        else:
            _draw(names, columns, file)


def _cells(column: Any) -> list[str]:
    """The values of a column as a table shows them."""
    import pyarrow as pa

    values = column.to_pylist()
    if pa.types.is_map(column.type):
        return ["  ".join(f"{label}: {_positions(D)}" for label, D in row) for row in values]
    return [_cell(value) for value in values]


def _cell(value: Any) -> str:
    """Return the text of a value, of a duration as JSON has it; a list is its values."""
    if isinstance(value, list):
        return ", ".join(map(_cell, value))
    if isinstance(value, timedelta):
        return str(to_value(value))
    return "" if value is None else printable(str(value))


def _positions(positions: Iterable[int]) -> str:
    return ", ".join(map(str, positions))


def _has_room(names: Sequence[str], columns: Sequence[list[str]], file: TextIO) -> bool:
    """Return whether a terminal has room for the longest words; elsewhere rich cuts them."""
    from rich.console import Console

    words = ([name, *" ".join(column).split()] for name, column in zip(names, columns, strict=True))
    return Console(file=file).width > sum(max(map(len, some)) + 3 for some in words)


def _draw_by_rich(names: Sequence[str], columns: Sequence[list[str]], file: TextIO) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(*map(printable, names))
    for row in zip(*columns, strict=True):
        table.add_row(*row)
    # no markup: text in brackets is text
    Console(file=terminal(file), markup=False, emoji=False).print(table)


def _draw(names: Sequence[str], columns: Sequence[list[str]], file: TextIO) -> None:
    """The same frame, with no cell cut or wrapped."""
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
