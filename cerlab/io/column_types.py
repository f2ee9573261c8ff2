"""The type of a column of text: the first type that fits all of its cells.

The types are int64, double, boolean (``true`` and ``false`` in any case), timestamp (ISO 8601, with
a zone in all cells or in none) and text, in this order. An empty cell is NULL and fits every type.
Digits are ASCII; surrounding spaces and tabs are ignored, except in text. A column of integers with
one beyond 64 bits is text, since doubles would make different keys equal. Integers among decimals
become doubles, and a warning counts those that are rounded.

`array_of` converts Python values to Arrow, because pyarrow's own functions import pandas, which
takes longer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from warnings import warn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from cerlab.errors import BadData, CerlabWarning, DataPlace, by_door, stacklevel_of_caller
from cerlab.io.conversion import INTEGER_CELL, is_double
from cerlab.io.parts import Quoted
from cerlab.model.arrays import array_from, numbers_of
from cerlab.model.columns import array_of, encode_text
from cerlab.model.event import Value, is_in_calendar

NULL, INTEGER, DOUBLE, TEXT = pa.null(), pa.int64(), pa.float64(), pa.string()
LARGE = pa.large_string()
"""Type of integer columns in text with a value beyond 64 bits: text, unless decimals follow."""

MOMENT, INSTANT = pa.timestamp("ns"), pa.timestamp("ns", "UTC")
FAR_MOMENT, FAR_INSTANT = pa.timestamp("us"), pa.timestamp("us", "UTC")
"""Types of columns of moments of which one is outside 64 bits of nanoseconds."""

_WIDER = {(INTEGER, DOUBLE), (MOMENT, FAR_MOMENT), (INSTANT, FAR_INSTANT)}
"""Types that widen to another type without reading the cells again."""

_INTEGER = r"^[+-]?[0-9]+$"
_DATE = r"^[ \t]*[0-9]{4}-[0-9]{2}-[0-9]{2}"
_MOMENT_CELL = re.compile(_DATE)
_TRUTHS = {"true", "false"}
_FEW = 64
"""Number of cells that are tried first: most text columns are recognised by then."""

_MANY, _DIFFERENT = 1_000, 0.8
"""A text column has few repetitions if this share of its first cells differ.

Encoding 500,000 texts of 300,000 users block by block takes 0.10 s, and the dictionaries must be
merged; encoding them together takes 0.05 s.
"""

_NAMES = {INTEGER: "int", DOUBLE: "double", pa.bool_(): "boolean", MOMENT: "timestamp"}
_NAMES |= {FAR_MOMENT: "timestamp"}
_NAMES |= dict.fromkeys((INSTANT, FAR_INSTANT), "timestamp with a zone")
"""Types in messages."""


class Misfit(Exception):
    """The error for a cell that does not fit the settled type of its column."""


class ColumnTypes:
    """The types of the columns of a text, updated block by block.

    While blocks are read, a type may widen: from NULL to every type, from int64 to double, from all
    types to text. Once the types are `settled`, a cell of another type raises `Misfit`, except that
    integers become doubles, and far moments follow others.
    """

    def __init__(self) -> None:
        self.kinds: dict[str, Any] = {}
        self.header: dict[str, None] = {}
        """The columns of CSV headers, in order."""
        self.settled = False
        self.read_again = False
        """True if earlier blocks have typed values of a column that has become text."""
        self.differing: frozenset[str] = frozenset()
        """The text columns with few repetitions: they are encoded when they are used."""
        self._rounded: dict[str, int] = {}
        self._fine: frozenset[str] = frozenset()
        """The columns of moments that need more than microseconds."""
        self._odd_dates: dict[str, str | None] = {}
        """The cell that turned a column of dates into text; None for other columns of text."""

    def settle(self) -> None:
        """Fix the column types: later cells widen a type only as `_WIDER` allows."""
        self.kinds = {n: TEXT if kind == LARGE else kind for n, kind in self.kinds.items()}
        self.settled, self.read_again = True, False

    def begin_again(self) -> None:
        """Settle the column types before all blocks are read a second time."""
        self.settle()
        self._rounded.clear()

    def warn(self) -> None:
        """Warn about rounded integers, and about columns that one cell turned into text."""
        for name, count in self._rounded.items():
            message = f"CER0920: {count:,} integers of column '{name}' were rounded to doubles"
            hint = (
                f"{message}, which the column holds as well; declare '{name}' as int or string by"
            )
            _warn(by_door(f"{hint} schema=", f"{hint} --schema FILE"))
        for name, cell in self._odd_dates.items():
            if cell is not None and self.kinds[name] == TEXT:
                message = f"CER0921: column '{name}' of dates is text because of {cell[:60]!r}"
                hint = f"{message}; correct the cell, or declare '{name}' as string by"
                _warn(by_door(f"{hint} schema=", f"{hint} --schema FILE"))
        self._rounded.clear()
        self._odd_dates.clear()

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Undo the reads of this block if it raises an error."""
        before = self._copy()
        try:
            yield
        except BaseException:
            vars(self).update(vars(before))
            raise

    def _copy(self) -> ColumnTypes:
        other = ColumnTypes()
        for name, value in vars(self).items():
            setattr(other, name, dict(value) if isinstance(value, dict) else value)
        return other

    def read(self, name: str, texts: Any, *, quoted: bool = False) -> Any:
        """Return the cells of a column, an Arrow array of text, as values of its type.

        If some cell is `quoted`, the column is text.
        """
        known = self.kinds.get(name, NULL)
        if known == TEXT:
            return texts if name in self.differing else encode_text(texts)
        values = encode_text(texts) if quoted else typed(texts)
        kind = self._joined(name, known, values)
        if kind != known:
            if self.settled and known != NULL and (known, kind) not in _WIDER:
                raise Misfit(name)
            if self.settled and kind == LARGE:
                kind = TEXT
            was_read = known != NULL and (known, kind) not in _WIDER and known != LARGE
            self.read_again = self.read_again or (was_read and not self.settled)
        self._note_dates(name, texts, known, kind, quoted=quoted)
        self.kinds[name] = kind
        if kind == TEXT:
            coded = values if pa.types.is_dictionary(values.type) else encode_text(texts)
            if len(texts) >= _MANY and len(coded.dictionary) > _DIFFERENT * len(texts):
                self.differing |= {name}
            return coded
        if kind == LARGE:
            return texts.cast(LARGE)
        if values.type == DOUBLE:
            self._count(name, _rounded(texts, values))
        return self._as_kind(name, values, kind)

    def _joined(self, name: str, known: Any, values: Any) -> Any:
        """Return the common type of a column's earlier values and of further values."""
        kind = join(known, kind_of(self.noted(name, values)))
        # no unit in 64 bits holds both far moments and nanoseconds
        return TEXT if kind in (FAR_MOMENT, FAR_INSTANT) and name in self._fine else kind

    def noted(self, name: str, values: Any) -> Any:
        """Return values of a column, recording moments that need more than microseconds."""
        is_moment = kind_of(values) in (MOMENT, INSTANT) and name not in self._fine
        if is_moment and (numbers_of(values.cast(pa.int64())) % 1000).any():
            self._fine |= {name}
        return values

    def _note_dates(self, name: str, texts: Any, known: Any, kind: Any, *, quoted: bool) -> None:
        """Record the first cell among dates that turns their column into text."""
        dates = (MOMENT, INSTANT, FAR_MOMENT, FAR_INSTANT)
        if kind in (known, NULL, *dates):
            return
        if kind != TEXT or quoted or known not in (NULL, *dates) or not _all_match(texts, _DATE):
            self._odd_dates[name] = None
        elif name not in self._odd_dates:
            self._odd_dates[name] = _odd_date(texts, known)

    def widened(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return columns of an earlier block converted to their current types."""
        return {n: self._as_kind(n, column, self.kinds.get(n)) for n, column in columns.items()}

    def widened_values(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """Return values of an earlier event converted to the current types of their columns."""
        widened: dict[str, Value] = {}
        for name, value in values.items():
            if type(value) in (int, str) and self.kinds.get(name) == DOUBLE:
                number = float(value)  # type: ignore[arg-type]  # an integer, maybe as text
                self._count(name, int(int(value) != number))  # type: ignore[arg-type]  # as above
                value = number
            widened[name] = value
        return widened

    def _as_kind(self, name: str, values: Any, kind: Any) -> Any:
        """Return values of a block in the type of their column, integers as the nearest double."""
        if kind == DOUBLE and values.type in (INTEGER, LARGE):
            texts = values if values.type == INTEGER else pc.utf8_trim(values.cast(TEXT), " \t")
            doubles = texts.cast(DOUBLE, safe=False)
            self._count(name, _rounded(texts, doubles))
            return doubles
        if kind == TEXT and values.type == LARGE:
            return encode_text(values.cast(TEXT))
        is_far = kind in (FAR_MOMENT, FAR_INSTANT) and values.type != kind
        return values.cast(kind) if is_far else values

    def _count(self, name: str, rounded: int) -> None:
        if rounded:
            self._rounded[name] = self._rounded.get(name, 0) + rounded

    def first_misfit(self, columns: Mapping[str, Sequence[str | None]]) -> tuple[int, str]:
        """Return the first row with a cell that `read` refuses, and the column of this cell."""
        rows = {}
        for name, cells in columns.items():
            # invariant: the first `low` cells fit, the first `high` do not
            low, high = 0, len(cells) + 1
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if self._fits(name, cells[:middle]) else (low, middle)
            rows[name] = low
        name = min(rows, key=rows.__getitem__)
        return rows[name], name

    def _fits(self, name: str, cells: Sequence[str | None]) -> bool:
        try:
            self._copy().read(name, text_array(cells), quoted=is_quoted(cells))
        except Misfit:
            return False
        return True

    def misfit(self, name: str, cell: str | None, place: DataPlace) -> BadData:
        """Return the error for a cell that does not fit the settled type of its column."""
        kind = _NAMES[self.kinds[name]]
        return BadData(
            "CER0725",
            f"{str(cell)[:60]!r} is no {kind}, the type that the first events gave '{name}'",
            place=place,
            hint=by_door(
                f"declare '{name}' as string by schema=, or read from a file",
                f"declare '{name}' as string by --schema FILE, or read from a file",
            ),
        )


def text_array(cells: Sequence[str | None]) -> Any:
    """Return cells as an Arrow array of text."""
    array = array_of([None if cell is None else str(cell) for cell in cells])
    return pa.nulls(len(cells), TEXT) if array is None else array.cast(TEXT)


def is_quoted(cells: Sequence[str | None]) -> bool:
    """Return whether some of these cells are text because they are quoted."""
    return any(type(cell) is Quoted for cell in cells)


def kind_of(values: Any) -> Any:
    """Return the type of a column that `typed` returned."""
    return TEXT if pa.types.is_dictionary(values.type) else values.type


def join(one: Any, other: Any) -> Any:
    """Return the first type that fits the cells of both types."""
    if one == other or other == NULL:
        return one
    if one == NULL:
        return other
    for narrow, wide in (*_WIDER, (INTEGER, LARGE), (LARGE, DOUBLE)):
        if {one, other} == {narrow, wide}:
            return wide
    return TEXT


def _rounded(integers: Any, doubles: Any) -> int:
    """Return how many integers a double rounds, given as numbers or as text among decimals."""
    some = array_from(np.abs(numbers_of(doubles)) >= 2.0**53)
    if not pc.any(some).as_py():
        return 0
    cells = [str(cell).strip(" \t") for cell in integers.filter(some)]
    return sum(
        INTEGER_CELL.fullmatch(cell) is not None and int(cell) != number
        for cell, number in zip(cells, doubles.filter(some).to_pylist(), strict=True)
    )


def _odd_date(texts: Any, known: Any) -> str | None:
    """Return the first cell that breaks a column of moments, or None."""
    for cell in encode_text(texts).dictionary:
        kind = kind_of(typed(text_array([str(cell)])))
        if join(known, kind) == TEXT:
            return str(cell)
        known = join(known, kind)
    return None  # far moments and nanoseconds together exceed 64 bits


def _warn(message: str) -> None:
    warn(CerlabWarning(message), stacklevel=stacklevel_of_caller())


def typed(texts: Any) -> Any:
    """Return the cells of a column, an Arrow array of text, as values of the first type that fits.

    Text is dictionary-encoded.

    >>> typed(pa.array(["007", "1", None])).to_pylist(), typed(pa.array(["007", "NA"])).to_pylist()
    ([7, 1, None], ['007', 'NA'])
    """
    if texts.null_count == len(texts):
        return pa.nulls(len(texts))
    if (numbers := _numbers(texts)) is not None:
        return numbers
    if _MOMENT_CELL.match(str(texts.drop_null()[0])) and (moments := _moments(texts)) is not None:
        return moments  # most moments differ, so encoding them would be expensive
    coded = encode_text(texts)
    # each distinct cell only once: columns of text have many repetitions
    words = pc.utf8_trim(coded.dictionary, " \t")
    for read in (_numbers, _truths, _moments):
        if (values := read(words)) is not None:
            return texts.cast(LARGE) if values.type == LARGE else values.take(coded.indices)
    return coded


def _numbers(texts: Any) -> Any | None:
    """Return cells as integers, `LARGE` or doubles; None if a cell is not a number."""
    if (integers := _cast(texts, INTEGER)) is not None and not _hold(texts, b"xX"):
        return integers
    if (doubles := _cast(texts, DOUBLE)) is None:  # hexadecimals are integers but not doubles
        return None
    if _hold(texts, b"+") and _all_match(texts, _INTEGER):
        unsigned = pc.replace_substring(texts, "+", "")
        if (integers := _cast(unsigned, INTEGER)) is not None:
            return integers
    large = np.abs(numbers_of(doubles)) >= 2.0**63
    if large.any() and not all(map(is_double, texts.filter(array_from(large)).to_pylist())):
        return None
    return texts.cast(LARGE) if large.any() and _all_match(texts, _INTEGER) else doubles


def _truths(words: Any) -> Any | None:
    # fast: the first word that is not a truth value ends the loop
    if not all(word.as_py().lower() in _TRUTHS for word in words):
        return None
    return array_of([word.lower() == "true" for word in words.to_pylist()])


def _moments(words: Any) -> Any | None:
    for kind in (MOMENT, FAR_MOMENT, INSTANT, FAR_INSTANT):
        if (moments := _cast(words, kind)) is not None:
            whole = numbers_of(moments.cast(pa.int64()).drop_null())
            ends = (int(whole.min()) * 1000, int(whole.max()) * 1000) if kind.unit == "us" else ()
            return moments if all(map(is_in_calendar, ends)) else None
    return None


def _cast(texts: Any, kind: Any) -> Any | None:
    try:
        if len(texts) > _FEW:  # Arrow would continue after the first misfit, slowly
            texts[:_FEW].cast(kind)
        return texts.cast(kind)
    except pa.ArrowInvalid:
        return None


def _hold(texts: Any, characters: bytes) -> bool:
    """Return whether a cell contains one of these ASCII characters."""
    data = bytes(texts.buffers()[2] or b"")  # the buffer includes cells outside a slice
    return any(c in data for c in characters) and bool(
        pc.any(pc.match_substring_regex(texts, f"[{characters.decode()}]")).as_py()
    )


def _all_match(texts: Any, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def typed_rows(texts: Any) -> Any:
    """Return a whole column of text as values of the first type that fits, not encoded."""
    values = typed(texts)
    return texts if kind_of(values) in (TEXT, LARGE) else values


def typed_keys(folders: Sequence[Mapping[str, str | None]]) -> dict[str, Any]:
    """Return the value of each key for all files, NULL for files outside folders with this key."""
    return {
        name: typed_rows(text_array([keys.get(name) for keys in folders]))
        for name in dict.fromkeys(name for keys in folders for name in keys)
    }
