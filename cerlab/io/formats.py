"""Formats of files. The module of each registers it: how to recognise, to read and to write it."""

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
"""The codecs of compressed text by its suffix, after the one of its format."""


CODECS = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
"""The codecs of a pipe by its first bytes."""


class TextReader(Protocol):
    """A reader of the blocks of a text, which are some whole lines."""

    sparse: bool
    """Whether all rows have all columns, and those of other event types are empty."""

    def rows(self, data: bytes) -> RowPart:
        """Return the events of a block by columns; raises `Refused` for one with odd lines."""

    def may_be_cut(self, data: bytes) -> bool:
        """Return whether a block may be cut at each end of a line."""

    def lines(self, lines: Iterable[str], before: int, *, last: bool, size: int) -> Iterator[Part]:
        """Yield the events of lines one by one, in parts of at most `size`."""


class Head(NamedTuple):
    """The first lines of a text, and a way to read more of it."""

    data: bytes
    before: int
    """The blank lines that were skipped."""
    more: Callable[[], bytes | None]
    lines: Callable[[bytes], Iterator[str]]


@dataclass(frozen=True)
class Format:
    """A format: text by a `reader`, or columns by a class of `columns`."""

    name: str
    suffixes: tuple[str, ...]
    magic: tuple[bytes, ...] = ()
    """The first bytes of files of columns."""
    begins: Callable[[str], bool] | None = None
    """Whether a line is the first one of such a text; None for CSV, which other texts are."""
    has_cells: bool = False
    """Whether the values of a text have the types of their columns."""
    reader: Callable[[Head, RowReading, ColumnTypes], tuple[TextReader, bytes, int]] | None = None
    """Returns a reader, the lines that are left to read, and the lines before them."""
    columns: type[ColumnFile] | None = None
    write: Callable[[Stream, TextIO], None] | None = None
    """Writes events as lines of text."""
    write_rows: Callable[[Any, TextIO, bool], None] | None = None
    """Writes the rows of a table as lines; True if they are the first of a file."""


FORMATS: dict[str, Format] = {}
"""The formats, by name."""


def register(format: Format) -> None:
    """Add a format."""
    FORMATS[format.name] = format


def format_by_suffix(path: Any) -> str | None:
    """Return the format that the suffix of a file tells; None for another suffix.

    >>> format_by_suffix("trades.csv"), format_by_suffix("trades.pq"), format_by_suffix("trades")
    ('csv', 'parquet', None)
    """
    suffix = PurePath(path).suffix.lower()
    return next((name for name, each in FORMATS.items() if suffix in each.suffixes), None)


def format_by_magic(head: bytes) -> str | None:
    """Return the format of columns that the first bytes of a file tell; None for text."""
    return next((name for name, each in FORMATS.items() if head.startswith(each.magic)), None)


def looks_like(line: str) -> str:
    """The format of a text, by its first line that is not blank.

    >>> looks_like("BUY(price=3)"), looks_like('{"type": "BUY"}'), looks_like("type,price")
    ('core', 'ndjson', 'csv')
    """
    texts = (each for each in FORMATS.values() if each.begins is not None and each.begins(line))
    return next((each.name for each in texts), "csv")


def telling_line(lines: Iterable[str]) -> str | None:
    """Return the line that tells the format of a text; None for blank lines and comments alone.

    >>> telling_line(["# prices", "", "type,price"])
    'type,price'
    """
    words = ((line, line.lstrip("\ufeff \t")) for line in lines)
    some = ((line, text) for line, text in words if text.strip())
    return next((line for line, text in some if not text.startswith(("#", "--"))), None)
