"""The type of a column of text: the first one that fits all of its cells.

The types are int64, double, boolean (``true`` and ``false`` in any case), timestamp (ISO 8601, with
a zone in all cells or in none) and text, in this order. An empty cell is NULL and fits every type.
Digits are ASCII, and spaces and tabs around a value do not count, but in text.

Values of Python are made Arrow by `array_of`: pyarrow's own ways import pandas, which takes longer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from cerlab.errors import BadData, DataPlace
from cerlab.io.conversion import is_double
from cerlab.io.rows import Quoted
from cerlab.model.columns import array_from, array_of, encode_text, numbers_of
from cerlab.model.event import Value

NULL, INTEGER, DOUBLE, TEXT = pa.null(), pa.int64(), pa.float64(), pa.string()
MOMENT, INSTANT = pa.timestamp("ns"), pa.timestamp("ns", "UTC")

_INTEGER = r"^[+-]?[0-9]+$"
_TRUTHS = {"true", "false"}
_FEW = 64
"""Cells that are tried first: most columns of text show themselves there."""

_NAMES = {INTEGER: "int", DOUBLE: "double", pa.bool_(): "boolean", MOMENT: "timestamp"}
_NAMES |= {INSTANT: "timestamp with a zone"}
"""Types in messages."""


class Misfit(Exception):
    """A cell does not fit the type that its column has by then."""


class ColumnTypes:
    """The types of the columns of a text, block by block.

    While blocks are read, a type may widen: from NULL to every type, from int64 to double, from all
    to text. Once `settled`, only the first two are left, and another cell raises `Misfit`.
    """

    def __init__(self) -> None:
        self.kinds: dict[str, Any] = {}
        self.settled = False
        self.read_again = False
        """Whether earlier blocks hold values of a column that is text by now."""

    def settle(self) -> None:
        """Let later cells widen a type no more, but for integers that become doubles."""
        self.settled, self.read_again = True, False

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Undo the reads inside the block after an error."""
        kinds, read_again = dict(self.kinds), self.read_again
        try:
            yield
        except BaseException:
            self.kinds, self.read_again = kinds, read_again
            raise

    def read(self, name: str, texts: Any, *, quoted: bool = False) -> Any:
        """Return the cells of a column, an Arrow array of text, as values of its type.

        Some cell is `quoted`: then the column is text.
        """
        known = self.kinds.get(name, NULL)
        if known == TEXT:
            return encode_text(texts)
        values = encode_text(texts) if quoted else typed(texts)
        kind = join(known, kind_of(values))
        if kind not in (known, kind_of(values)) or (kind == TEXT and known != NULL):
            if self.settled:
                raise Misfit(name)
            self.read_again = self.read_again or kind == TEXT
            values = encode_text(texts) if kind == TEXT else values
        self.kinds[name] = kind
        return as_kind(values, kind)

    def widened(self, columns: Mapping[str, Any]) -> dict[str, Any]:
        """Return columns of an earlier block in the types that they have now."""
        return {n: as_kind(column, self.kinds.get(n)) for n, column in columns.items()}

    def widened_values(self, values: Mapping[str, Value]) -> dict[str, Value]:
        """Return the values of an earlier event in the types that their columns have now."""
        return {
            name: float(value) if type(value) is int and self.kinds.get(name) == DOUBLE else value
            for name, value in values.items()
        }

    def first_misfit(self, columns: Mapping[str, Sequence[str | None]]) -> tuple[int, str]:
        """Return the first row with a cell that `read` refuses, and the column of that cell."""
        rows = {}
        for name, cells in columns.items():
            low, high = 0, len(cells) + 1  # the first `low` cells fit, the first `high` do not
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if self._fits(name, cells[:middle]) else (low, middle)
            rows[name] = low
        name = min(rows, key=rows.__getitem__)
        return rows[name], name

    def _fits(self, name: str, cells: Sequence[str | None]) -> bool:
        known = self.kinds.get(name, NULL)
        kind = TEXT if is_quoted(cells) else kind_of(typed(text_array(cells)))
        return known in (NULL, TEXT, kind) or {known, kind} == {INTEGER, DOUBLE} or kind == NULL

    def misfit(self, name: str, cell: str | None, place: DataPlace) -> BadData:
        """Return the error that a cell does not fit the settled type of its column."""
        kind = _NAMES[self.kinds[name]]
        return BadData(
            "CER0725",
            f"{str(cell)[:60]!r} is no {kind}, the type that the first events gave '{name}'",
            place=place,
            hint=f"declare '{name}' as string by a schema (--schema FILE), or read from a file",
        )


def text_array(cells: Sequence[str | None]) -> Any:
    """Return cells as an Arrow array of text."""
    array = array_of([None if cell is None else str(cell) for cell in cells])
    return pa.nulls(len(cells), TEXT) if array is None else array.cast(TEXT)


def is_quoted(cells: Sequence[str | None]) -> bool:
    """Whether quotes make one of these cells text."""
    return any(type(cell) is Quoted for cell in cells)


def kind_of(values: Any) -> Any:
    """Return the type of a column that `typed` gave."""
    return TEXT if pa.types.is_dictionary(values.type) else values.type


def as_kind(values: Any, kind: Any) -> Any:
    """Return integers as doubles, to the nearest, where that is the type; others as they are."""
    if kind == DOUBLE and values.type == INTEGER:
        return values.cast(DOUBLE, safe=False)
    return values


def join(one: Any, other: Any) -> Any:
    """Return the first type that fits the cells of two."""
    if one == other or other == NULL:
        return one
    if one == NULL:
        return other
    return DOUBLE if {one, other} == {INTEGER, DOUBLE} else TEXT


def typed(texts: Any) -> Any:
    """Return the cells of a column, an Arrow array of text, as values of the first type that fits.

    Text is coded in a dictionary.

    >>> typed(pa.array(["007", "1", None])).to_pylist(), typed(pa.array(["007", "NA"])).to_pylist()
    ([7, 1, None], ['007', 'NA'])
    """
    if texts.null_count == len(texts):
        return pa.nulls(len(texts))
    if (numbers := _numbers(texts)) is not None:
        return numbers
    coded = encode_text(texts)
    # each distinct cell once: columns of text repeat themselves
    words = pc.utf8_trim(coded.dictionary, " \t")
    for read in (_numbers, _truths, _moments):
        if (values := read(words)) is not None:
            return values.take(coded.indices)
    return coded


def _numbers(texts: Any) -> Any | None:
    """Return cells as integers, else as doubles; None if one is not a number."""
    if (integers := _cast(texts, INTEGER)) is not None and not _hold(texts, b"xX"):
        return integers
    if (doubles := _cast(texts, DOUBLE)) is None:  # as of hexadecimals, which integers may be
        return None
    if _hold(texts, b"+") and _all_match(texts, _INTEGER):
        unsigned = pc.replace_substring(texts, "+", "")
        if (integers := _cast(unsigned, INTEGER)) is not None:
            return integers
    large = np.abs(numbers_of(doubles)) >= 2.0**63
    if large.any() and not all(map(is_double, texts.filter(array_from(large)).to_pylist())):
        return None
    return doubles


def _truths(words: Any) -> Any | None:
    # the first other word of a column of text ends this, and there are few spellings of both
    if not all(word.as_py().lower() in _TRUTHS for word in words):
        return None
    return array_of([word.lower() == "true" for word in words.to_pylist()])


def _moments(words: Any) -> Any | None:
    without_zone = _cast(words, MOMENT)
    return _cast(words, INSTANT) if without_zone is None else without_zone


def _cast(texts: Any, kind: Any) -> Any | None:
    try:
        if len(texts) > _FEW:  # Arrow goes on after the first cell that does not fit, slowly
            texts[:_FEW].cast(kind)
        return texts.cast(kind)
    except pa.ArrowInvalid:
        return None


def _hold(texts: Any, characters: bytes) -> bool:
    """Whether a cell holds one of these characters of ASCII."""
    data = bytes(texts.buffers()[2] or b"")  # that of cells beside these too, if it is a slice
    return any(c in data for c in characters) and bool(
        pc.any(pc.match_substring_regex(texts, f"[{characters.decode()}]")).as_py()
    )


def _all_match(texts: Any, pattern: str) -> bool:
    return bool(pc.all(pc.match_substring_regex(texts, pattern)).as_py())


def typed_table(data: bytes) -> Any:
    r"""Return a CSV with a header as an Arrow table; raises pyarrow's errors.

    >>> typed_table(b"v,w\n007,NA\n1,2\n").to_pylist()
    [{'v': 7, 'w': 'NA'}, {'v': 1, 'w': '2'}]
    """
    names = csv.open_csv(pa.py_buffer(data)).schema.names
    options = csv.ConvertOptions(
        column_types=dict.fromkeys(names, TEXT), null_values=[""], strings_can_be_null=True
    )
    texts = csv.read_csv(pa.py_buffer(data), convert_options=options)
    columns = [typed(column.combine_chunks()) for column in texts.columns]
    return pa.Table.from_arrays(columns, names=names)
