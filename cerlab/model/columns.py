"""Columns of events: conversions between Arrow arrays and Python values.

A column is a pyarrow Array or ChunkedArray of booleans, numbers, text, timestamps, durations, NULL
or a dictionary of those; or a sequence of `Value` for mixed types, such as
`cerlab.model.decimals.Decimals`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from decimal import Decimal, localcontext
from itertools import accumulate
from typing import Any, TypeAlias

from cerlab.errors import BadData
from cerlab.model.arrays import array_from, nulls_of, numbers_of
from cerlab.model.decimals import Decimals, decimals_of
from cerlab.model.event import Duration, Timestamp, Value, is_in_calendar, to_value
from cerlab.model.paths import field_places, fields_of, nested_column

Column: TypeAlias = Any
"""Column of events: a pyarrow Array or ChunkedArray, or a sequence of `Value`."""


def is_arrow(column: Column) -> bool:
    """Return whether a column is an Array or ChunkedArray of pyarrow."""
    return hasattr(column, "null_count")


def is_moment(kind: Any) -> bool:
    """Return whether an Arrow type is a timestamp or a dictionary of timestamps."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return is_moment(kind.value_type)
    return bool(types.is_timestamp(kind) or types.is_date(kind))


def is_duration(kind: Any) -> bool:
    """Return whether an Arrow type is a duration or a dictionary of durations."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return is_duration(kind.value_type)
    return bool(types.is_duration(kind))


def is_text(kind: Any) -> bool:
    """Return whether an Arrow type is text or a dictionary of texts."""
    from pyarrow import types

    if types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def without_views(column: Any) -> Any:
    """Return an Arrow column with texts in place of string views, which Arrow cannot index."""
    import pyarrow as pa

    return column.cast(pa.large_string()) if pa.types.is_string_view(column.type) else column


def nanoseconds(array: Any) -> Any | None:
    """Return timestamps (since 1970) or durations as an Arrow array of int64 nanoseconds.

    Return None if 64 bits are too few for one of them.
    """
    import pyarrow as pa

    zone = getattr(array.type, "tz", None)
    exact = pa.duration("ns") if is_duration(array.type) else pa.timestamp("ns", zone)
    try:
        return array.cast(exact).cast(pa.int64())
    except pa.ArrowInvalid:
        return None


_UNITS = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9}
"""Units of Arrow in nanoseconds, the finest first."""


def engine_moments(column: Any, name: str) -> Any:
    """Return timestamps without a time zone, in nanoseconds if 64 bits suffice.

    Raises `BadData` for timestamps outside the years 1 to 9999.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if (whole := nanoseconds(column)) is not None:
        return whole.cast(pa.timestamp("ns"))
    # a date becomes its midnight
    unit = getattr(column.type, "unit", "s" if pa.types.is_date32(column.type) else "ms")
    moments = column.cast(pa.timestamp(unit, getattr(column.type, "tz", None)))
    moments = moments.cast(pa.int64()).cast(pa.timestamp(unit))
    ends = pc.min_max(moments.cast(pa.int64()))
    for end in ("min", "max"):
        if not is_in_calendar((value := ends[end].as_py()) * _UNITS[unit]):
            message = f"a moment out of range in column '{name}': {value:,} {unit} since 1970"
            hint = "moments are in the years 1 to 9999: read the column as numbers"
            raise BadData("CER0740", message, hint=hint)
    return moments


def values_of(column: Column, name: str) -> Sequence[Value]:
    """Return a column as a sequence of Python values.

    Raises `BadData` for Arrow types that are not values of events, and as `engine_moments`.

    >>> import pyarrow as pa
    >>> values_of(pa.array(["a", None]).dictionary_encode(), "n")
    ['a', None]
    """
    if isinstance(column, Chunks):
        return [value for chunk in column.chunks for value in values_of(chunk, name)]
    if not is_arrow(column):
        items: Sequence[Value] = column
        return items
    from pyarrow import types

    kind = column.type
    if types.is_dictionary(kind):
        shared = _of_dictionary(column) if is_text(kind) else None
        return values_of(decoded(column), name) if shared is None else shared
    if is_moment(kind) or types.is_duration(kind):
        import pyarrow as pa

        of_time = Timestamp if is_moment(kind) else Duration
        whole = engine_moments(column, name) if is_moment(kind) else column
        factor = _UNITS[whole.type.unit]
        whole = whole.cast(pa.int64()).to_pylist()
        return [None if n is None else of_time(n * factor) for n in whole]
    refuse_nested(kind, name)
    if types.is_decimal(kind) and (decimals := decimals_of(column)) is not None:
        return decimals.values
    values: list[Value] = column.to_pylist()
    exact = types.is_integer(kind) or types.is_boolean(kind) or types.is_float64(kind)
    return values if exact else [to_value(value, name) for value in values]


def _of_dictionary(column: Any) -> list[Value] | None:
    """Return texts from a dictionary, one object per entry; None if the dictionary is large."""
    chunks = column.chunks if hasattr(column, "chunks") else [column]
    # a slice still has the whole dictionary, which may be larger than its rows
    if sum(len(chunk.dictionary) for chunk in chunks) > len(column):
        return None
    values: list[Value] = []
    for chunk in chunks:
        entries = chunk.dictionary.to_pylist()
        values += [None if k is None else entries[k] for k in chunk.indices.to_pylist()]
    return values


def refuse_nested(kind: Any, name: str) -> None:
    """Raise `BadData` for an Arrow type that no attribute may have, such as a list."""
    from pyarrow import types

    binary = (types.is_binary, types.is_large_binary, types.is_binary_view)
    others = (types.is_fixed_size_binary, types.is_nested, types.is_time, types.is_interval)
    if any(holds(kind) for holds in (*binary, *others)):
        has_fields = types.is_struct(kind) and kind.num_fields
        raise nested_column(name, kind, kind.field(0).name if has_fields else None)


def decoded(column: Any) -> Any:
    """Return an Arrow column without its dictionary."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        chunks = [decoded(chunk) for chunk in column.chunks]
        return pa.chunked_array(chunks, None if chunks else column.type.value_type)
    values = without_views(column.dictionary)
    return pa.DictionaryArray.from_arrays(column.indices, values).dictionary_decode()


def only_used(array: Any) -> Any:
    """Return an Arrow array whose dictionary contains only entries that occur.

    pandas creates a category, and so a group, for each entry.
    """
    import numpy as np
    import pyarrow as pa

    if not pa.types.is_dictionary(array.type):
        return array
    nulls = nulls_of(array.indices)
    codes = numbers_of(array.indices.fill_null(0)).astype(np.int64)
    used = np.zeros(len(array.dictionary), np.bool_)
    used[codes[~nulls]] = True
    if used.all():
        return array
    fresh = np.maximum(np.cumsum(used) - 1, 0).astype(np.int32)
    indices = array_from(fresh[codes] if len(fresh) else codes.astype(np.int32), nulls)
    return pa.DictionaryArray.from_arrays(indices, array.dictionary.filter(array_from(used)))


def constant_text(text: str, count: int) -> Any:
    """Return `count` copies of a text as a dictionary-encoded column."""
    import numpy as np
    import pyarrow as pa

    codes = array_from(np.zeros(count, np.int32))
    return pa.DictionaryArray.from_arrays(codes, array_of([text]))


def array_of(values: Sequence[Value]) -> Any | None:
    """Return values of one type and NULL as an Arrow array; None if Arrow cannot represent them."""
    import numpy as np
    import pyarrow as pa

    kinds = set(map(type, values)) - {type(None)}
    if not kinds:
        return pa.nulls(len(values))
    if len(kinds) > 1:
        return None
    kind = kinds.pop()
    try:
        if kind in (Timestamp, Duration):
            whole = [v.nanoseconds if isinstance(v, kind) else None for v in values]
            numbers = [n for n in whole if n is not None]
            if min(numbers) >= -(2**63) and max(numbers) < 2**63:
                return _of_time(whole, kind, "ns")
            if kind is Timestamp and not all(map(is_in_calendar, numbers)):
                return None
            # the finest unit in which 64 bits hold all values
            for unit, factor in [*_UNITS.items()][1:]:
                if (
                    not any(n % factor for n in numbers)
                    and max(map(abs, numbers)) // factor < 2**63
                ):
                    return _of_time([None if n is None else n // factor for n in whole], kind, unit)
            return None
        if kind is str:
            return _texts(values)
        exact: dict[type, Any] = {bool: np.bool_, int: np.int64, float: np.float64}
        return _array(values, exact[kind]) if kind in exact else None
    # beyond 64 bits, or with half of a surrogate pair
    except (ValueError, OverflowError, TypeError):
        return None


def _of_time(numbers: Sequence[int | None], kind: type, unit: str) -> Any:
    """Return timestamps or durations as an Arrow array, from numbers in a unit."""
    import numpy as np
    import pyarrow as pa

    return _array(numbers, np.int64).cast(
        (pa.timestamp if kind is Timestamp else pa.duration)(unit)
    )


def integers_of(values: Sequence[int | None]) -> Any | None:
    """Return integers as int64 or as decimals of up to 76 digits; None for longer ones."""
    import pyarrow as pa

    largest = max((abs(value) for value in values if value is not None), default=0)
    if largest < 1 << 63:
        return pa.array(values, pa.int64())
    if largest >= 10**76:
        return None
    kind = pa.decimal128(38) if largest < 10**38 else pa.decimal256(76)
    # the default precision of 28 digits would round
    with localcontext(prec=80):
        return pa.array([None if v is None else Decimal(v) for v in values], kind)


def _array(values: Sequence[Any], dtype: Any) -> Any:
    """Return numbers and NULL as an Arrow array, without importing pandas."""
    import numpy as np

    nulls = np.fromiter((value is None for value in values), np.bool_, len(values))
    if nulls.any():
        values = [0 if value is None else value for value in values]
    return array_from(np.array(values, dtype), nulls)


def _texts(values: Sequence[Any]) -> Any:
    """Return texts and NULL as an Arrow array, without importing pandas."""
    import numpy as np
    import pyarrow as pa

    utf8 = [None if value is None else value.encode() for value in values]
    lengths = np.fromiter((len(each or b"") for each in utf8), np.int64, len(utf8))
    ends = np.concatenate([[0], np.cumsum(lengths)])
    # too long for 32-bit offsets, so pyarrow creates several chunks
    if ends[-1] > np.iinfo(np.int32).max:
        return pa.array(values, pa.string())
    nulls = np.fromiter((each is None for each in utf8), np.bool_, len(utf8))
    validity = pa.py_buffer(np.packbits(~nulls, bitorder="little")) if nulls.any() else None
    offsets, data = (
        pa.py_buffer(ends.astype(np.int32)),
        pa.py_buffer(b"".join(filter(None, utf8))),
    )
    return pa.StringArray.from_buffers(len(utf8), offsets, data, validity)


class Chunks(Sequence[Value]):
    """A column in consecutive pieces, which may be Arrow arrays of several types, or lists."""

    def __init__(self, chunks: Sequence[Column]) -> None:
        self.chunks = chunks
        self._ends = list(accumulate(map(len, chunks)))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise TypeError("use slice(start, length) to cut a column in chunks")
        if not 0 <= index < len(self):
            raise IndexError(index)
        n = bisect_right(self._ends, index)
        at = index - self._ends[n] + len(self.chunks[n])
        return values_of(self.chunks[n][at : at + 1], "?")[0]

    def slice(self, start: int, length: int) -> Chunks:
        """Return `length` values from `start` on."""
        parts = []
        for chunk, end in zip(self.chunks, self._ends, strict=True):
            begin = end - len(chunk)
            low, high = max(start, begin), min(start + length, end)
            if low < high:
                parts.append(chunk[low - begin : high - begin])
        return Chunks(parts)


def take_rows(column: Column, positions: Any) -> Column:
    """Return the values of a column at some positions, with text dictionary-encoded."""
    if is_arrow(column):  # given NumPy positions, pyarrow imports pandas, which takes 0.3 s
        import numpy as np

        return encode_text(column.take(array_from(np.ascontiguousarray(positions, np.int64))))
    if isinstance(column, Decimals):
        return column.take(positions)
    values = values_of(column, "?")
    return [values[n] for n in positions]


def concat_columns(chunks: Sequence[Column], *, coded: bool = True) -> Column:
    """Return columns concatenated, as a ChunkedArray if their types are equal.

    Text is `coded` in one dictionary.
    """
    import pyarrow as pa

    kinds = {chunk.type if is_arrow(chunk) else None for chunk in chunks} - {pa.null()}
    if len(kinds) > 1 and None not in kinds and all(map(is_text, kinds)):
        chunks = _without_codes(chunks)
        kinds = {chunk.type for chunk in chunks} - {pa.null()}
    if None in kinds or len(kinds) > 1:
        whole = None if None in kinds else _in_one_unit(chunks, kinds)
        return Chunks(chunks) if whole is None else whole
    kind = kinds.pop() if kinds else pa.null()
    whole = [c if c.type == kind else pa.nulls(len(c), kind) for c in chunks]
    arrays = [a for c in whole for a in (c.chunks if isinstance(c, pa.ChunkedArray) else [c])]
    column = pa.chunked_array(arrays, kind)
    return encode_text(column) if coded else column


def _without_codes(chunks: Sequence[Any]) -> list[Any]:
    """Return text columns in one type, without dictionaries and string views."""
    import pyarrow as pa

    texts = [decoded(c) if pa.types.is_dictionary(c.type) else c for c in chunks]
    is_small = {text.type for text in texts} <= {pa.null(), pa.string()}
    kind = pa.string() if is_small else pa.large_string()
    return [text if pa.types.is_null(text.type) else text.cast(kind) for text in texts]


def _in_one_unit(chunks: Sequence[Any], kinds: Collection[Any]) -> Any | None:
    """Return timestamp columns in the finest of their units; None if 64 bits do not suffice."""
    import pyarrow as pa

    if not all(map(pa.types.is_timestamp, kinds)) or len({kind.tz for kind in kinds}) > 1:
        return None
    (zone,) = {kind.tz for kind in kinds}
    for unit in _UNITS:
        with suppress(pa.ArrowInvalid):
            kind = pa.timestamp(unit, zone)
            return pa.chunked_array([chunk.cast(kind) for chunk in chunks], kind)
    return None


class Columns(Mapping[str, Column]):
    """Columns of events by name, each created at its first use.

    `source` is the schema of the Arrow table that they were read from, None for other events. If
    the columns are `complete`, each event has each attribute, perhaps as NULL. A path to a field of
    a nested column is also a column, but iteration omits it.
    """

    def __init__(
        self,
        names: Iterable[str],
        make_column: Callable[[str], Column],
        source: Any = None,
        uncoded: Callable[[str], Column] | None = None,
        *,
        complete: bool = False,
        has_path: Callable[[str], bool] | None = None,
    ) -> None:
        """Create columns from names and a function that makes the column of a name.

        `uncoded` makes a column whose text need not be encoded (default: none). `has_path` tells
        which other names are paths (default: those of `names`, if they are columns).
        """
        if has_path is None and isinstance(names, Columns):
            has_path = names._has_path
        self._has_path: Callable[[str], bool] | None = has_path
        self._names = dict.fromkeys(names)
        self._make_column = make_column
        self._make_uncoded = uncoded
        self._columns: dict[str, Column] = {}
        self.source = source
        self.complete = complete or source is not None

    def as_read(self, name: str, column: Any, *, decode: bool = True) -> Any:
        """Return values of a column in the Arrow type of the source table.

        Engines use timestamps in nanoseconds without a zone, and encoded text, which stays encoded
        without `decode`.
        """
        import pyarrow as pa

        kind = self._kind_read(name)
        if kind is None:
            return column
        if pa.types.is_string_view(kind):
            kind = pa.large_string()  # Arrow cannot cast dictionaries to string views
        of_text = decode and is_text(kind) and is_text(column.type)
        of_time = not pa.types.is_dictionary(kind) and is_moment(kind) and is_moment(column.type)
        return column.cast(kind) if of_text or of_time else column

    def __getitem__(self, name: str) -> Column:
        column = self._columns.get(name)
        if column is None:
            if name not in self:
                raise KeyError(name)
            column = self._columns[name] = self._make_column(name)
        return column

    def _kind_read(self, name: str) -> Any | None:
        """Return the Arrow type of a column, or of a path, in the source table; None if unknown."""
        if self.source is None:
            return None
        fields = (name,) if name in self._names else fields_of(name) or (name,)
        at = self.source.get_field_index(fields[0])
        if at < 0 or name not in self:
            return None
        return field_places(self.source.field(at).type, fields, name)[1]

    def uncoded(self, name: str) -> Column:
        """Return a column; its text is not dictionary-encoded unless the column is cached."""
        if name not in self._columns and self._make_uncoded is not None:
            column = self._make_uncoded(name)
            if _is_uncoded(column):
                return column
        return self[name]

    def holds_moments(self, name: str) -> bool:
        """Return whether a column contains a timestamp."""
        if name in ("type", "stream"):
            return False
        kind = self._kind_read(name)
        if kind is not None and not is_moment(kind):
            return False
        try:
            column = self[name]
        except BadData:  # a type that no attribute may have
            return False
        if is_arrow(column):
            return is_moment(column.type) and column.null_count < len(column)
        return any(isinstance(value, Timestamp) for value in column)

    @property
    def made(self) -> Set[str]:
        """The names of the columns that have been created."""
        return self._columns.keys()

    def with_more(self, more: Mapping[str, Column]) -> Columns:
        """Return these columns and some others, which replace columns of equal names."""

        def column(name: str) -> Column:
            return more[name] if name in more else self[name]

        names = (*self, *more)
        source, complete = self.source, self.complete
        return Columns(names, column, source, complete=complete, has_path=self._has_path)

    def keep(self, name: str, column: Column) -> None:
        """Replace the cached column of a name by an equal one in another form."""
        self._columns[name] = column

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        if name in self._names or self._has_path is None or not isinstance(name, str):
            return name in self._names
        return "." in name and self._has_path(name)


PartsOf: TypeAlias = Callable[[int], Iterator[tuple[Columns, int]]]
"""Function that yields the columns of consecutive events, at least n each, with their number."""


def as_arrow(column: Column) -> Column:
    """Return a column as Arrow with text encoded; unchanged if its values have several types."""
    if isinstance(column, Chunks):
        return column
    if not is_arrow(column):
        array = None if isinstance(column, Decimals) else array_of(column)
        return column if array is None else encode_text(array)
    return encode_text(column)


def encode_text(column: Any) -> Any:
    """Return an Arrow column with its text dictionary-encoded in one chunk."""
    import pyarrow as pa

    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        # chunks encoded together have several dictionaries, which are slow to unify
        if isinstance(column, pa.ChunkedArray) and column.nbytes < 1 << 31:
            column = column.combine_chunks()
        column = column.dictionary_encode()
    if not pa.types.is_dictionary(column.type) or not isinstance(column, pa.ChunkedArray):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    # Arrow's unification does not support NULL entries
    if any(chunk.dictionary.null_count for chunk in column.chunks):
        column = decoded(column).dictionary_encode()
    return column.unify_dictionaries().combine_chunks()


def _is_uncoded(column: Column) -> bool:
    """Return whether a column is text without a dictionary, small enough for Arrow to index.

    For this, Arrow joins the chunks, and a chunk of text has at most 2^31 bytes.
    """
    if not is_arrow(column):
        return False
    import pyarrow as pa

    fits = bool(pa.types.is_string(column.type) and column.nbytes < 1 << 31)
    return fits or bool(pa.types.is_large_string(column.type))


def take_columns(
    columns: Mapping[str, Column], positions: Any, names: Iterable[str] | None = None
) -> Columns:
    """Return the events at some positions as columns, optionally of some attributes only.

    A column is created at its first use.
    """
    some = columns if names is None else [name for name in names if name in columns]
    uncoded = uncoded_of(columns)

    def column(name: str) -> Column:
        few = uncoded(name)
        # for most of the values, encode the column once, because others may need it
        return take_rows(columns[name] if 2 * len(positions) > len(few) else few, positions)

    return Columns(some, column, getattr(columns, "source", None))


def slice_rows(column: Column, start: int, size: int) -> Column:
    """Return `size` values of a column from index `start` on."""
    if hasattr(column, "slice"):
        return column.slice(start, size)
    return column[start : start + size]


def slice_columns(columns: Mapping[str, Any], start: int, size: int) -> Columns:
    """Return `size` events from index `start` on, as columns created at first use."""
    uncoded = uncoded_of(columns)
    return Columns(
        columns,
        lambda name: slice_rows(columns[name], start, size),
        uncoded=lambda name: slice_rows(uncoded(name), start, size),
    )


def some_columns(columns: Mapping[str, Column], names: Iterable[str]) -> Columns:
    """Return the columns of those names that exist."""
    some = [name for name in names if name in columns]
    return Columns(some, columns.__getitem__, uncoded=uncoded_of(columns))


def uncoded_of(columns: Mapping[str, Column]) -> Callable[[str], Column]:
    """Return the function that reads a column by name, without encoding its text."""
    return columns.uncoded if isinstance(columns, Columns) else columns.__getitem__
