"""The lines of a text file: in blocks of bytes, and one by one as text."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from io import SEEK_CUR, StringIO
from pathlib import Path
from typing import BinaryIO

from cerlab.errors import DataPlace
from cerlab.io.conversion import check_text, not_utf_8

BLOCK = 1 << 20
"""How many bytes are read at once."""

_MARK = b"\xef\xbb\xbf"  # of the byte order, no part of the text


class Lines(Iterator[str]):
    """A text file, whose next lines can be taken as text or be looked at as bytes.

    Lines end with ``\\n``, ``\\r\\n`` or ``\\r``, and keep their ends. If `strict` what is no
    UTF-8, or holds NUL, is `BadData` with its row; else such bytes become lone surrogates.
    """

    def __init__(self, raw: BinaryIO, file: str, *, strict: bool) -> None:
        self._raw = raw
        self._file = file
        self._strict = strict
        self._over = False
        self._pending: deque[str] = deque()
        self.block = b""
        """Some whole lines, or more of them; `at` is where the next one begins."""
        self.at = self.end = 0
        """Where the next line begins in the block, and where its last whole line ends."""
        self.number = 0
        """How many lines were taken."""
        self._fill()
        if self.block.startswith(_MARK):
            self.at = len(_MARK)

    def __next__(self) -> str:
        if not self._pending:
            if not self.more():
                raise StopIteration
            stop = self.block.find(b"\n", self.at) + 1 or self.end
            text = self._decode(self.block[self.at : stop])
            self.at = stop
            self._pending.extend(StringIO(text, newline="") if "\r" in text else (text,))
        self.number += 1
        line = self._pending.popleft()
        if self._strict and "\0" in line:
            check_text(line, DataPlace(self._file, self.number))
        return line

    def put_back(self, lines: list[str]) -> None:
        """Put back lines that were taken last."""
        self._pending.extendleft(reversed(lines))
        self.number -= len(lines)

    @property
    def begins(self) -> bool:
        """Whether the next line is the one at `at`, not one that was cut by ``\\r`` or put back."""
        return not self._pending

    def more(self) -> bool:
        """Whether there is a line, in the block from now on."""
        if self._pending:
            return True
        while self.at >= self.end and not self._over:
            self._fill()
        return self.at < self.end

    def skip(self, count: int, at: int) -> None:
        """Take the next `count` lines without reading them; `at` is where the next one begins."""
        self.number += count
        self.at = at

    def utf_8(self) -> int:
        """Where the lines of the block that are UTF-8 end, from `at` on."""
        if self.block.isascii():
            return self.end
        try:
            self.block[self.at : self.end].decode("utf-8")
        except UnicodeDecodeError as error:
            return max(self.at, self.block.rfind(b"\n", 0, self.at + error.start) + 1)
        return self.end

    def first_text(self) -> str | None:
        """The first line that is not blank, which is not taken; None if there is none."""
        block, at, lines = self.block, self.at, []
        for line in self:
            lines.append(line)
            if line.strip():
                if self.block is block and self.begins:  # as bytes, which may have a shape
                    self.at, self.number = at, self.number - len(lines)
                else:
                    self.put_back(lines)
                return line
        return None

    def _fill(self) -> None:
        rest = len(self.block) - self.at
        self._raw.seek(-rest, SEEK_CUR)  # to read it again is less than to put both together
        self.block = self._raw.read(rest + max(rest, BLOCK))
        self._over = len(self.block) <= rest
        self.at = 0
        self.end = len(self.block) if self._over else self.block.rfind(b"\n") + 1

    def _decode(self, line: bytes) -> str:
        try:
            return line.decode("utf-8", "strict" if self._strict else "surrogateescape")
        except UnicodeDecodeError as error:
            row = row_of_bad_byte(self._file, self.number + 1)
            raise not_utf_8(error.reason, DataPlace(self._file, row)) from None


def row_of_bad_byte(file: str, after: int) -> int:
    """The row of the first bytes that are no UTF-8 (text may be decoded ahead, in blocks)."""
    if not Path(file).is_file():
        return after
    with open(file, "rb") as raw:
        for row, line in enumerate(raw, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return row
    return after
