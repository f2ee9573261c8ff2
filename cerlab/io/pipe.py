"""Standard input and FIFOs as they come: lines when they are there, a word before each wait."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Callable, Iterator
from io import StringIO
from os import PathLike
from typing import BinaryIO

CHUNK = 1 << 18
"""The most bytes that are taken at once; a pipe holds less."""


def arriving_lines(
    path: str | PathLike[str] = "-",
    before_reading: Callable[[], None] | None = None,
    *,
    errors: str = "strict",
) -> Iterator[str]:
    """The lines of standard input (``-``) or a FIFO with their ends, in UTF-8 whatever the locale.

    `before_reading` is called whenever all lines that have arrived were taken and the next one may
    have to be waited for: the time to give out what is due. Raises UnicodeDecodeError when the line
    before the bad one has been taken; `errors` may be another handler of `codecs`.
    """
    tell = before_reading or (lambda: None)
    if str(path) != "-":
        return _lines_of_fifo(path, tell, errors)
    raw = getattr(sys.stdin, "buffer", None)
    if raw is None:  # not a real file, as in a notebook
        return _announcing(sys.stdin, tell)
    return _lines(raw, tell, errors)


def _lines_of_fifo(
    path: str | PathLike[str], tell: Callable[[], None], errors: str
) -> Iterator[str]:
    with open(path, "rb") as raw:
        yield from _lines(raw, tell, errors)


def _announcing(lines: Iterator[str], tell: Callable[[], None]) -> Iterator[str]:
    tell()
    for line in lines:
        yield line
        tell()


def _lines(raw: BinaryIO, tell: Callable[[], None], errors: str) -> Iterator[str]:
    """Lines end as in text files: with ``\\n``, ``\\r\\n`` or ``\\r``."""
    partial: list[str] = []  # a line whose end has not come yet
    for text in _texts(raw, tell, errors):
        partial.append(text)
        if not text or "\n" in text or "\r" in text or partial[0].endswith("\r"):
            lines = list(StringIO("".join(partial), newline=""))
            partial = [] if not text or lines[-1].endswith("\n") else [lines.pop()]
            yield from lines


def _texts(raw: BinaryIO, tell: Callable[[], None], errors: str) -> Iterator[str]:
    """The text of each chunk, decoded, as it arrives; at the end of the input an empty text."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors)
    mark = "\ufeff"  # of the byte order, no part of the text
    while True:
        tell()
        data = raw.read1(CHUNK)  # type: ignore[attr-defined]  # BufferedReader has it
        try:
            text = decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            if error.start:
                yield error.object[: error.start].decode("utf-8").removeprefix(mark)
            raise
        if text:
            text, mark = text.removeprefix(mark), ""
        if text or not data:
            yield text
        if not data:
            return
