"""Standard streams while a command runs: closed streams, full devices, terminals.

Every command reads and writes through `sys`, so these rules hold wherever text is printed.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader, FileIO, TextIOWrapper
from typing import Any, TextIO, cast

from cerlab.errors import ESCAPE, printable


class _Stream:
    """A standard stream; on a terminal it escapes control characters in text from elsewhere.

    `terminal` is the stream itself, for text that moves the cursor (`cerlab.display.terminal`).
    """

    def __init__(self, file: TextIO) -> None:
        self.terminal = file
        self._shown = printable if file.isatty() else str

    def write(self, text: str) -> int:
        """Write a text to the stream."""
        return self.terminal.write(self._shown(text))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write some texts to the stream."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Flush the stream."""
        self.terminal.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.terminal, name)


class _Answers(_Stream):
    """Standard output, which the operating system's errors about it name."""

    def write(self, text: str) -> int:
        """Write a text to standard output."""
        with _named():
            return super().write(text)

    def flush(self) -> None:
        """Flush standard output."""
        with _named():
            super().flush()


class _Messages(_Stream):
    """Standard error: a message that nobody can receive changes no exit status."""

    def write(self, text: str) -> int:
        """Write a text to standard error, if anybody can receive it."""
        with suppress(OSError):
            return super().write(text)
        return len(text)

    def flush(self) -> None:
        """Flush standard error, if anybody can receive it."""
        with suppress(OSError):
            super().flush()


@contextmanager
def _named() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        error.filename = "standard output"
        raise


class _Closed(FileIO):
    """A closed standard input: reading it raises the operating system's error."""

    def readinto(self, _: Any) -> int:
        """Raise the error of a closed standard input."""
        raise OSError(errno.EBADF, os.strerror(errno.EBADF), "standard input")

    def readall(self) -> bytes:
        """Raise the error of a closed standard input."""
        return bytes(self.readinto(None))


@contextmanager
def standard_streams() -> Iterator[None]:
    """Run a block in which all three standard streams exist."""
    before = sys.stdin, sys.stdout, sys.stderr
    # Opened in the order of descriptors 0, 1, 2, so that no other file gets one of them.
    stdin = sys.stdin or TextIOWrapper(BufferedReader(_Closed(os.devnull)))
    # Opened for reading, so that writing answers nobody receives is an error.
    stdout = sys.stdout or os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    stderr = sys.stderr or os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    if isinstance(stdout, TextIOWrapper):
        # A character outside the encoding must not end a command in the middle of its answers.
        stdout.reconfigure(errors=ESCAPE)
    sys.stdin = stdin
    sys.stdout, sys.stderr = cast("TextIO", _Answers(stdout)), cast("TextIO", _Messages(stderr))
    try:
        yield
    finally:
        _discard_unwritten(stdout)
        _discard_unwritten(stderr)
        sys.stdin, sys.stdout, sys.stderr = before


def _discard_unwritten(file: TextIO) -> None:
    """Discard unwritable output, which Python would write again at exit, changing the status."""
    try:
        file.flush()
    except OSError:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, file.fileno())
        os.close(nothing)
