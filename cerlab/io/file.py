"""A file, a pipe or a device, opened only once."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from io import BytesIO
from os.path import exists, isdir, isfile
from pathlib import Path
from typing import Any, BinaryIO

from cerlab.budget import poll
from cerlab.computed import cached_property
from cerlab.errors import BadData, DataPlace
from cerlab.io import arrow, arrow_ipc, orc, parquet  # noqa: F401  (importing registers their formats)
from cerlab.io.formats import (
    CODECS,
    COMPRESSED,
    FORMATS,
    format_by_magic,
    format_by_suffix,
    looks_like,
    telling_line,
)
from cerlab.io.names import AnyPath
from cerlab.io.options import empty

CHUNK = 1 << 20
"""Most bytes read from a pipe in one call, and the size of the pipe if the system allows it.

Each read makes a batch: with the default pipe size of 64 KB, 1 M events of NDJSON took six times as
long as from a file.
"""

_SAMPLE = 1 << 16
"""Bytes of a text that are read to recognise its format and estimate the length of its lines."""


def format_holds_columns(format: str | None) -> bool:
    """Return whether files of a format have typed columns."""
    return format in FORMATS and FORMATS[format].columns is not None


class File:
    """A file, standard input (``-``), a FIFO or a device, opened only once."""

    def __init__(
        self,
        path: AnyPath,
        format: str | None = None,
        content: bytes | None = None,
        keys: Mapping[str, str | None] | None = None,
        records: str | None = None,
    ) -> None:
        """Wrap a path, or `content` named `path`; `keys` are the keys of its folders.

        `records` is the path of the list that contains the rows inside a JSON object.
        """
        self.records = records
        self.path = path
        self.keys = keys or {}
        self.name = "standard input" if str(path) == "-" else str(path)
        self._format = format
        self._content = content
        self._raw: BinaryIO | None = None
        other = exists(path) and not isfile(path) and not isdir(path)
        self.is_pipe = content is None and (other or str(path) == "-")
        """True if the bytes are read as they arrive, and only once."""
        self._has_suffix = content is None and not self.is_pipe

    def __del__(self) -> None:
        if (raw := getattr(self, "_raw", None)) is not None:
            raw.close()

    @cached_property
    def _place(self) -> Path:
        """The path of an existing, non-empty file; raises `BadData` otherwise."""
        file = Path(self.path)
        if not isfile(file):
            raise BadData(
                "CER0743",
                "there is no such file",
                place=DataPlace(str(file)),
                hint="check the path",
            )
        if file.stat().st_size == 0:
            raise empty(str(file))
        return file

    @cached_property
    def stated_format(self) -> str | None:
        """The format stated by the option, the suffix or the first bytes.

        None if only the first line of a text can tell.

        Raises `BadData` for columns in a compressed file.
        """
        if not self._has_suffix:
            return self._format
        file = self._place
        if file.suffix.lower() not in COMPRESSED:
            return self._format or format_by_suffix(file) or format_by_magic(self._head)
        kind = self._format or format_by_suffix(file.with_suffix(""))
        if format_holds_columns(kind):
            raise BadData(
                "CER0742",
                f"cannot read a {kind} file inside {file.suffix}",
                place=DataPlace(str(file)),
                hint="decompress the file: the format compresses its columns",
            )
        return kind

    @cached_property
    def format(self) -> str:
        """The format of the file; raises as `stated_format`."""
        return self.stated_format or format_of_text(self._head)

    @property
    def holds_columns(self) -> bool:
        """True if the file has typed columns rather than text; raises as `stated_format`."""
        return format_holds_columns(self.stated_format)

    @property
    def holds_cells(self) -> bool:
        """True if the format is text in which each column has one type, such as CSV."""
        return self.format in FORMATS and FORMATS[self.format].has_cells

    @cached_property
    def columns(self) -> arrow.ColumnFile:
        """The opened file of columns; raises `BadData` if it cannot be read."""
        assert self.stated_format is not None
        file = self._place
        kind = FORMATS[self.stated_format].columns
        assert kind is not None
        if self._content is not None:
            return kind(lambda pa: pa.BufferReader(self._content), str(file))
        if self._raw is not None:
            return kind(lambda pa: pa.PythonFile(self._raw, "r"), str(file))
        return kind(lambda pa: pa.OSFile(str(file)), str(file))

    @cached_property
    def length(self) -> int | None:
        """The number of events that the file states; None for text, which would have to be read."""
        return self.columns.length if self.holds_columns else None

    @property
    def estimated_length(self) -> int:
        """The estimated number of events of the file, from its first lines."""
        if self.length is not None:
            return self.length
        head = self._head
        return self._place.stat().st_size * (head.count(b"\n") + 1) // (len(head) + 1)

    @property
    def size(self) -> float:
        """The size of a text in bytes, infinite if the text is compressed."""
        if self._content is not None and not self._is_compressed:
            return len(self._content)
        return math.inf if self._is_compressed else self._place.stat().st_size

    @cached_property
    def _is_compressed(self) -> bool:
        return self._has_suffix and Path(self.path).suffix.lower() in COMPRESSED

    @cached_property
    def _head(self) -> bytes:
        """The first bytes of a text, kept so that a short text is read only once."""
        head = b""
        with self.text() as read:
            while len(head) < _SAMPLE and (more := read(_SAMPLE - len(head))):
                head += more
        if self._content is None and len(head) < _SAMPLE:
            self._content = head
            if self._raw is not None:
                self._raw.close()
                self._raw = None
        return head

    def gather(self) -> None:
        """Read a pipe to its end, once, and keep the bytes."""
        if self._content is not None:
            return
        chunks: list[bytes] = []
        with self.arriving(lambda: poll()) as read:
            while chunk := read(CHUNK):
                chunks.append(chunk)
        self._content = b"".join(chunks)

    @contextmanager
    def text(self) -> Iterator[Callable[[int], bytes]]:
        """Yield a function that reads the text from its beginning, decompressed if needed.

        Raises `BadData` if it cannot be decompressed.
        """
        if self._content is not None:
            yield BytesIO(self._content).read
            return
        if self._raw is None:
            # without a buffer, nothing is read ahead before the file is read again from the start
            self._raw = open(self._place, "rb", buffering=0)  # noqa: SIM115  (stays open)
        self._raw.seek(0)
        if not self._is_compressed:
            yield self._raw.read
            return
        import pyarrow as pa

        codec = COMPRESSED[self._place.suffix.lower()]
        # a second descriptor, since pyarrow closes the one it receives
        with (
            open(os.dup(self._raw.fileno()), "rb") as own,
            pa.CompressedInputStream(own, codec) as raw,
        ):

            def read(size: int) -> bytes:
                try:
                    data: bytes = raw.read(size)
                except OSError as error:
                    raise arrow.unreadable(str(self.path), "compressed", error) from None
                return data

            yield read

    @contextmanager
    def arriving(self, before_reading: Callable[[], None]) -> Iterator[Callable[[int], bytes]]:
        """Yield a function that waits for bytes of a pipe and returns the arrived bytes."""

        def read(size: int) -> bytes:
            before_reading()
            if raw is None:  # standard input may not be a real file, for example in a notebook
                return sys.stdin.readline().encode("utf-8", "surrogatepass")
            # returns the bytes that have arrived; `read` would wait for the full size
            data: bytes = raw.read1(min(size, CHUNK))
            return data

        with nullcontext() if str(self.path) == "-" else open(self.path, "rb") as file:
            raw = getattr(sys.stdin, "buffer", None) if file is None else file
            _widen(raw)
            yield _decompressed(read, self.name)


class _Arriving:
    """A compressed pipe as a file whose first bytes were already read."""

    closed = False

    def __init__(self, first: bytes, read: Callable[[int], bytes]) -> None:
        self._first, self._read = first, read

    def read(self, size: int) -> bytes:
        """Return at most `size` bytes, or no bytes at the end."""
        if not self._first:
            return self._read(size)
        some, self._first = self._first[:size], self._first[size:]
        return some

    def close(self) -> None:
        """Do nothing: the pipe stays open for other readers."""


def _decompressed(read: Callable[[int], bytes], name: str) -> Callable[[int], bytes]:
    """Return a function that reads a pipe, decompressed if its first bytes show a codec."""
    text: Callable[[int], bytes] | None = None

    def some(size: int) -> bytes:
        nonlocal text
        if text is not None:
            return text(size)
        first = read(size)
        codec = next((c for magic, c in CODECS.items() if first.startswith(magic)), None)
        text = read if codec is None else _plain(_Arriving(first, read), codec, name)
        return first if codec is None else text(size)

    return some


def _plain(raw: Any, codec: str, name: str) -> Callable[[int], bytes]:
    """Return a function that reads a compressed file; raises `BadData` if that fails."""
    import pyarrow as pa

    stream = pa.CompressedInputStream(pa.PythonFile(raw, "r"), codec)

    def read(size: int) -> bytes:
        try:
            data: bytes = stream.read(size)
        except OSError as error:
            raise arrow.unreadable(name, "compressed", error) from None
        return data

    return read


def _widen(pipe: Any) -> None:
    """Let a pipe hold `CHUNK` bytes, if possible: not on macOS, not beyond a quota."""
    with suppress(ImportError, AttributeError, OSError, ValueError):
        import fcntl

        fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, CHUNK)


def format_of_text(data: bytes) -> str:
    """Return the format of a text, guessed from its first lines."""
    lines = data.decode("utf-8", "replace").splitlines()
    return looks_like(telling_line(lines) or next(filter(str.strip, lines), ""))
