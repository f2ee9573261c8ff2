"""File formats; the module of each format registers how to recognise, read and write it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TextIO

if TYPE_CHECKING:
    from cerlab.io.arrow import ColumnFile
    from cerlab.io.column_types import ColumnTypes
    from cerlab.io.conversion import RowReading
    from cerlab.io.parts import Part, RowPart
    from cerlab.model.stream import Stream

COMPRESSED = {".gz": "gzip", ".zst": "zstd"}
"""Codecs of compressed text by the last suffix, as in ``trades.csv.gz``."""


CODECS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
"""Codecs of a compressed pipe by its first bytes."""


class TextReader(Protocol):
    """A reader of the blocks of a text, which are whole lines."""

    sparse: bool
    """True if all rows have all columns, and columns of other event types are empty."""

    def rows(self, data: bytes) -> RowPart:
        """Return the events of a block by columns; raises `Refused` for a block with odd lines."""

    def may_be_cut(self, data: bytes) -> bool:
        """Return whether a block may be cut at every end of a line."""

    def lines(self, lines: Iterable[str], before: int, *, last: bool, size: int) -> Iterator[Part]:
        """Yield the events of lines one by one, in parts of at most `size` events."""


class Head(NamedTuple):
    """The first lines of a text, and a way to read more of it."""

    data: bytes
    before: int
    """The number of skipped blank lines."""
    more: Callable[[], bytes | None]
    lines: Callable[[bytes], Iterator[str]]


@dataclass(frozen=True)
class Format:
    """A file format: text with a `reader`, or columns with a class of `columns`."""

    name: str
    suffixes: tuple[str, ...]
    magic: tuple[bytes, ...] = ()
    """The first bytes of column files in this format."""
    begins: Callable[[str], bool] | None = None
    """The test whether a line begins a text in this format; None for CSV, the default."""
    has_cells: bool = False
    """True if the values of a text get the types of their columns."""
    reader: Callable[[Head, RowReading, ColumnTypes], tuple[TextReader, bytes, int]] | None = None
    """A function that returns a reader, the unread lines, and the lines before them."""
    columns: type[ColumnFile] | None = None
    write: Callable[[Stream, TextIO], None] | None = None
    """A function that writes events as lines of text."""
    write_rows: Callable[[Any, TextIO, bool], None] | None = None
    """A function that writes the rows of a table as lines; True for the first rows of a file."""


FORMATS: dict[str, Format] = {}
"""The formats, by name."""


def register(format: Format) -> None:
    """Register a format."""
    FORMATS[format.name] = format


def format_by_suffix(path: Any) -> str | None:
    """Return the format for the suffix of a file; None for an unknown suffix.

    >>> format_by_suffix("trades.csv"), format_by_suffix("trades.pq"), format_by_suffix("trades")
    ('csv', 'parquet', None)
    """
    suffix = PurePath(path).suffix.lower()
    return next((name for name, each in FORMATS.items() if suffix in each.suffixes), None)


def format_by_magic(head: bytes) -> str | None:
    """Return the column format for the first bytes of a file; None for text."""
    return next((name for name, each in FORMATS.items() if head.startswith(each.magic)), None)


def looks_like(line: str) -> str:
    """Return the format of a text, by its first line that is not blank.

    >>> looks_like("BUY(price=3)"), looks_like('{"type": "BUY"}'), looks_like("type,price")
    ('core', 'ndjson', 'csv')
    """
    texts = (each for each in FORMATS.values() if each.begins is not None and each.begins(line))
    return next((each.name for each in texts), "csv")


def telling_line(lines: Iterable[str]) -> str | None:
    """Return the line that determines the format of a text; None if all are blank or comments.

    >>> telling_line(["# prices", "", "type,price"])
    'type,price'
    """
    words = ((line, line.lstrip("\ufeff \t")) for line in lines)
    some = ((line, text) for line, text in words if text.strip())
    return next((line for line, text in some if not text.startswith(("#", "--"))), None)
