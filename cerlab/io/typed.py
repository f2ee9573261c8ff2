"""Cells of lines as typed columns, each value what the readers of single lines read there."""

from __future__ import annotations

import math
from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from cerlab.engine.kernels.arrays import Bytes, Int32s
from cerlab.errors import BadData, DataPlace
from cerlab.io import kernels as k
from cerlab.io.conversion import infer
from cerlab.io.rows import Rows, UndecidedCells
from cerlab.io.shapes import Shape
from cerlab.io.text_codes import TextNumbers
from cerlab.io.text_kernels import text_ends, texts
from cerlab.model.columns import array_from, room


@dataclass(frozen=True)
class Layout:
    """The columns that lines of some shapes have together, and the shapes as kernels read them."""

    names: tuple[str, ...]
    shapes: tuple[Shape, ...]
    arrays: k.Shapes
    shortest: int
    """The fewest bytes of a line, its end included."""

    def room(self, lines: int) -> k.Cells:
        """Room for the cells of so many lines."""
        size = len(self.names), lines
        values = np.empty(size, np.int64)
        return k.Cells(
            np.empty(size, np.int32),
            np.empty(size, np.int32),
            np.empty(size, np.uint8),
            values,
            values.view(np.float64),
            np.empty(lines, np.uint8),
        )


def layout(shapes: Sequence[Shape]) -> Layout:
    """The layout of lines that have any of these shapes."""
    names = tuple(dict.fromkeys(name for shape in shapes for name in shape.names))
    literals = [literal.encode() for shape in shapes for literal in shape.literals]
    columns = [[*map(names.index, shape.names), -1] for shape in shapes]
    rules = [[*shape.rules, 0] for shape in shapes]
    return Layout(
        names,
        tuple(shapes),
        k.Shapes(
            np.frombuffer(b"".join(literals), np.uint8),
            np.cumsum([0, *map(len, literals)]).astype(np.int32),
            np.cumsum([0, *(len(shape.literals) for shape in shapes)]).astype(np.int32),
            np.array([c for row in columns for c in row], np.int32),
            np.array([r for row in rules for r in row], np.uint8),
        ),
        1 + min(len("".join(shape.literals).encode()) for shape in shapes),
    )


def typed_rows(
    data: Bytes,
    cells: k.Cells,
    count: int,
    layout: Layout,
    type_name: str | None,
    *,
    lenient: bool,
    doubles: Container[str] = (),
) -> Rows:
    """The first `count` lines as rows of typed columns, all numbers of `doubles` as such.

    A line without a type has `type_name`, if the format is `lenient` about it. Raises
    `UndecidedCells` for a cell that is not for certain what it looks like, and for a missing type.
    """
    columns = {
        name: _column(data, cells, n, count, as_double=name in doubles)
        for n, name in enumerate(layout.names)
    }
    columns["type"] = _types(columns.get("type"), count, type_name, lenient=lenient)
    streams = columns.get("stream")
    if streams is not None and not _is_coded_or_null(streams):
        raise UndecidedCells
    if streams is not None and lenient and not pa.types.is_null(streams.type):
        columns["stream"] = _without(streams, "")
    names = [tuple(n for n in s.names if n not in ("type", "stream")) for s in layout.shapes]
    shape = cells.shape[:count].copy() if len(layout.shapes) > 1 else None
    return Rows(columns, count, tuple(names), shape)


def refuse_null_words(data: Bytes, cells: k.Cells, count: int) -> None:
    """Raise `UndecidedCells` for the word NULL, which is a text in a CSV with a schema."""
    nothing = cells.stop[:, :count] < 0
    first = data[np.minimum(cells.start[:, :count][nothing], len(data) - 1)]
    if (first & 0xDF == ord("N")).any():
        raise UndecidedCells


def _types(types: Any, count: int, type_name: str | None, *, lenient: bool) -> Any:
    """The column of types: texts that are not empty."""
    if isinstance(types, list):  # of several types
        raise UndecidedCells
    if types is None and type_name is not None:
        return pa.repeat(type_name, count).dictionary_encode()
    if types is not None and lenient and type_name is not None:
        types = types.cast(pa.string()).fill_null(type_name).dictionary_encode()
    if types is None or not pa.types.is_dictionary(types.type) or types.null_count:
        raise UndecidedCells
    if "" in types.dictionary.to_pylist():
        raise UndecidedCells
    return types


def _is_coded_or_null(column: Any) -> bool:
    return hasattr(column, "type") and (
        pa.types.is_dictionary(column.type) or pa.types.is_null(column.type)
    )


def _column(data: Bytes, cells: k.Cells, n: int, count: int, *, as_double: bool) -> Any:
    """The values of the n-th column: Arrow, or a list where they are of several types."""
    start, stop, kind = cells.start[n, :count], cells.stop[n, :count], cells.kind[n, :count]
    whole, real = cells.whole[n, :count], cells.real[n, :count]
    kinds = int(np.bitwise_or.reduce(kind, initial=0))
    nulls = stop < 0
    if kinds & k.HARD:
        _decide(data, start, stop, kind, real)
        kinds = kinds & ~k.HARD | k.DECIMAL
    if kinds == k.NOTHING:
        return pa.nulls(len(nulls))
    if as_double and kinds == k.INTEGER | k.DECIMAL:
        return array_from(np.where(nulls, np.nan, np.where(kind == k.INTEGER, whole, real)), nulls)
    if kinds == k.INTEGER:
        return array_from(np.where(nulls, 0, whole), nulls)
    if kinds == k.DECIMAL:
        return array_from(np.where(nulls, np.nan, real), nulls)
    if kinds == k.BOOLEAN:
        return array_from(_truths(data, start, nulls), nulls)
    if not kinds & ~(k.TEXT | k.UNSURE):
        return _texts(data, start, stop, unsure=bool(kinds & k.UNSURE))
    values = np.full(len(nulls), None, object)
    for one, part in ((k.INTEGER, whole), (k.DECIMAL, real)):
        where = kind == one
        values[where] = part[where].astype(object)
    where = kind == k.BOOLEAN
    values[where] = _truths(data, start, nulls)[where].astype(object)
    texts = kind >= k.TEXT
    if texts.any():
        some = _texts(data, start[texts], stop[texts], unsure=bool(kinds & k.UNSURE))
        values[texts] = some.to_pylist()
    return values.tolist()


def _decide(
    data: Bytes, start: Int32s, stop: Int32s, kind: Bytes, real: NDArray[np.float64]
) -> None:
    """Read decimals whose value is not known; raises `UndecidedCells` for one beyond 64 bits."""
    for n in np.flatnonzero(kind == k.HARD).tolist():
        real[n] = float(data[start[n] : stop[n]].tobytes())
        kind[n] = k.DECIMAL
        if math.isinf(real[n]):
            raise UndecidedCells


def _truths(data: Bytes, start: Int32s, nulls: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether cells are TRUE, without regard to others."""
    truths: NDArray[np.bool_] = data[np.where(nulls, 0, start)] & 0xDF == ord("T")
    return truths


def _texts(data: Bytes, start: Int32s, stop: Int32s, *, unsure: bool) -> Any:
    """Texts in a dictionary; raises `UndecidedCells` if one that is unsure is none."""
    numbers, number = TextNumbers(), room(len(start), np.int32)
    if numbers.read(data, start, stop, number):
        codes = array_from(number, stop < 0)
        column = pa.DictionaryArray.from_arrays(codes, numbers.texts(), safe=False)
    else:
        column = _strings(data, start, stop).dictionary_encode()
    if unsure and not all(map(_is_text, column.dictionary.to_pylist())):
        raise UndecidedCells
    return column


def _strings(data: Bytes, start: Int32s, stop: Int32s) -> Any:
    offsets = np.empty(len(start) + 1, np.int32)
    text_ends(start, stop, offsets)
    text = np.empty(int(offsets[-1]), np.uint8)
    texts(data, start, stop, text)
    nulls = stop < 0
    validity = pa.py_buffer(np.packbits(~nulls, bitorder="little")) if nulls.any() else None
    buffers = pa.py_buffer(offsets), pa.py_buffer(text)
    return pa.StringArray.from_buffers(len(start), *buffers, validity)


def _is_text(raw: str) -> bool:
    """Whether a cell without a declared type is text, and begins and ends where it seems to."""
    if raw.isascii():
        return True
    try:
        return raw.strip() == raw and infer(raw, lambda: DataPlace("?")) is raw
    except BadData:
        return False


def _without(column: Any, text: str) -> Any:
    """A coded column with NULL for a text."""
    import pyarrow.compute as pc

    plain = column.cast(pa.string())
    nothing = pa.scalar(None, pa.string())
    return pc.if_else(pc.equal(plain, text), nothing, plain).dictionary_encode()
