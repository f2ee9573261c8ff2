"""Rows of answers as an Arrow table: columns by label and attribute."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from types import NoneType
from typing import TYPE_CHECKING, Any

from cerlab.errors import BadData, UsageError, nearest
from cerlab.model.arrays import array_from
from cerlab.model.columns import (
    Column,
    array_of,
    integers_of,
    is_arrow,
    only_used,
    take_columns,
    values_of,
    without_views,
)
from cerlab.model.event import Duration, Timestamp
from cerlab.model.paths import path_name
from cerlab.model.stream import Stream
from cerlab.predicates.text import name_text

if TYPE_CHECKING:
    from cerlab.engine.kernels.arrays import Int64s
    from cerlab.engine.labels import LabelledAnswers

FUNCTIONS = ("first", "last", "count")
"""Functions that choose or count the events of a label with several events."""

_NAME = r"(?:[A-Za-z_]\w*|`(?:[^`]|``)+`)"
_COLUMN = re.compile(
    rf"\s*(?P<text>(?:(?P<f>\w+)\s*\(\s*)?(?P<x>{_NAME})\s*(?P<a>(?:\.\s*{_NAME}\s*)*)"
    rf"(?P<close>\))?)(?:\s*\b[aA][sS]\s+(?P<as>{_NAME}))?\s*"
)

PLACES = ("start", "end")
"""The columns of every row. ``end.ts`` is the attribute of the last event, unless a label has the
name
``end``."""


@dataclass(frozen=True, slots=True)
class NamedColumn:
    """``x.attr``, ``x`` (its positions), ``first(x.attr)``, ``last(x.attr)`` or ``count(x)``.

    The attribute may be a path, such as ``x.user.id``. ``AS name`` after it sets the name of the
    column. `at_place` turns ``end.attr`` into a column without a label whose function is one of
    `PLACES`.
    """

    name: str
    label: str
    attribute: str | None = None
    function: str | None = None
    text: str = field(default="", repr=False)
    """The whole text of the column, if it differs from its name."""


def read_column(text: str) -> NamedColumn:
    """Return the column that a text names; raises `UsageError` for other texts.

    >>> read_column("first(b.price)")
    NamedColumn(name='first(b.price)', label='b', attribute='price', function='first')
    """
    match = _COLUMN.fullmatch(text)
    if match is None or bool(match["f"]) != bool(match["close"]):
        hint = 'for example "b.price", "first(b.price)", "count(b)", or "b" for its positions'
        if odd := re.fullmatch(r"(\w+)\.([^`()]*[^`()\w][^`()]*)", text):
            fields = (f if re.fullmatch(_NAME, f) else f"`{f}`" for f in odd[2].split("."))
            hint = f"write {odd[1]}.{'.'.join(fields)}"
        raise UsageError("CER0862", f"expected a column of answers, got '{text}'", hint=hint)
    function = match["f"] and match["f"].lower()
    if function is not None and function not in FUNCTIONS:
        hint = f"there are {', '.join(FUNCTIONS)}; matches.aggregate has sums over all answers"
        raise UsageError("CER0862", f"unknown function of columns '{match['f']}'", hint=hint)
    attribute = path_name(_fields(match["a"])) if match["a"] else None
    label, whole = _fields(match["x"])[0], text.strip()
    named = _fields(match["as"])[0] if match["as"] else ""
    return NamedColumn(named or whole, label, attribute, function, whole if named else "")


def _fields(text: str) -> list[str]:
    """Return the names in a text without their back-quotes."""
    names = re.findall(_NAME, text)
    return [n[1:-1].replace("``", "`") if n.startswith("`") else n for n in names]


def attributes_named(texts: Iterable[str]) -> set[str]:
    """Return the attributes that the texts of columns name."""
    matches = map(_COLUMN.fullmatch, texts)
    return {path_name(_fields(match["a"])) for match in matches if match and match["a"]}


def at_place(column: NamedColumn, labels: Collection[str]) -> NamedColumn:
    """Return ``start.attr`` or ``end.attr`` as a column of this event, other columns unchanged."""
    if column.label not in PLACES or column.label in labels or column.function:
        return column
    if column.attribute is None:
        return column
    return replace(column, label="", function=column.label)


def names_label(text: str, labels: Collection[str]) -> bool:
    """Return whether a text names a column of one of the labels."""
    match = _COLUMN.fullmatch(text)
    if match is None or (match["f"] or FUNCTIONS[0]).lower() not in FUNCTIONS:
        return False
    return _fields(match["x"])[0] in labels


def refuse_twice(key: Iterable[str], names: Collection[str]) -> None:
    """Raise `UsageError` for an attribute of PARTITION BY with the name of another column."""
    for name in key:
        if name in names:
            raise UsageError(
                "CER0862",
                f"PARTITION BY [{name_text(name)}] makes a second column '{name}' of the result",
                hint="rename the attribute in the events",
            )


def refuse_same(names: Sequence[str]) -> None:
    """Raise `UsageError` for two columns with one name."""
    if len(set(names)) < len(names):
        name = next(name for name in names if names.count(name) > 1)
        message, hint = f"two columns of the rows are called '{name}'", "give another name by AS"
        raise UsageError("CER0862", message, hint=hint)


def check_columns(
    columns: Iterable[NamedColumn],
    labels: Collection[str],
    names: Collection[str] | None,
    others: Collection[str] = (),
) -> None:
    """Raise `UsageError` for a label that no answer has, or an attribute that no event has.

    `names` are those of attributes, None without events; `others` are columns without a label.
    """
    for column in columns:
        if column.label and column.label not in labels:
            raise UsageError(
                "CER0863",
                f"no answer has label '{column.label}', which column '{column.name}' names",
                hint=nearest(column.label, [*labels, *(() if column.attribute else others)]),
            )
        if names is not None and column.attribute is not None and column.attribute not in names:
            raise UsageError(
                "CER0864",
                f"no event has attribute '{column.attribute}', which column '{column.name}' names",
                hint=nearest(str(column.attribute), names),
            )


def names_in(stream: Stream) -> Collection[str] | None:
    """Return the names of the attributes of a stream, for `check_columns`."""
    return stream.columns if len(stream) else None


class AnswerColumns:
    """The columns of rows of answers, taken from the columns of a stream.

    `key` are the attributes of PARTITION BY; `repeatable` are the labels that may contain several
    events, whose columns are lists. `positions` are those of the events if `stream` is a part of a
    longer one.
    """

    def __init__(
        self,
        columns: Sequence[NamedColumn],
        stream: Stream,
        *,
        key: Sequence[str] = (),
        repeatable: Collection[str] = (),
        positions: Int64s | None = None,
    ) -> None:
        self._columns = columns
        self._stream = stream
        self._key = tuple(dict.fromkeys(key))
        self._repeatable = repeatable
        self._positions = positions
        self._sources: dict[str, Any] = {}

    def table(self, rows: LabelledAnswers) -> Any:
        """Return a pyarrow Table: ``start``, ``end``, the partition's key, the named columns."""
        import numpy as np
        import pyarrow as pa

        start, end = array_from(rows.start), array_from(rows.end)
        columns = {"start": self._place(start), "end": self._place(end)}
        for attribute in self._key:
            columns[attribute] = only_used(self._source(attribute).take(start))
        events: dict[str, _LabelEvents] = {}
        shape = _one_shape(rows)
        offsets = cache(lambda each: np.arange(len(rows.offsets)) * each)
        for column in self._columns:
            if not column.label:
                at = start if column.function == "start" else end
                columns[column.name] = self._values(column, at)
                continue
            if column.label not in events:
                events[column.label] = _label_events(rows, shape, column.label, offsets)
            columns[column.name] = self._column(column, events[column.label])
        return pa.table(columns)

    def _column(self, column: NamedColumn, events: _LabelEvents) -> Any:
        import numpy as np
        import pyarrow as pa

        several = column.function is None and column.label in self._repeatable
        if events.single and not several and column.function != "count":
            return self._values(column, array_from(events.positions))
        counts = np.diff(events.offsets)
        if column.function == "count" and column.attribute is None:
            return array_from(counts)
        if column.function == "count":
            values = self._values(column, array_from(events.positions))
            present = np.concatenate([[0], np.cumsum(np.asarray(values.is_valid()))])
            return array_from(np.diff(present[events.offsets]))
        if several:
            values = self._values(column, array_from(events.positions))
            return pa.ListArray.from_arrays(array_from(events.offsets.astype(np.int32)), values)
        at = events.offsets[1:] - 1 if column.function == "last" else events.offsets[:-1]
        missing = counts == 0
        if not missing.any():
            positions = array_from(
                events.positions if len(events.positions) == len(at) else events.positions[at]
            )
        else:
            with_zero = np.concatenate([events.positions, [0]])
            rows = np.where(missing, len(with_zero) - 1, at)
            positions = array_from(with_zero[rows], missing)
        return self._values(column, positions)

    def _values(self, column: NamedColumn, positions: Any) -> Any:
        """Return the values of a column at some positions; a NULL position gives NULL."""
        if column.attribute is None:
            return self._place(positions)
        return only_used(self._source(column.attribute).take(positions))

    def _place(self, numbers: Any) -> Any:
        """Return the positions of events that have the given numbers in the stream."""

        return numbers if self._positions is None else array_from(self._positions).take(numbers)

    def _source(self, attribute: str) -> Any:
        if attribute not in self._sources:
            array = one_array(self._stream, attribute)
            self._sources[attribute] = self._stream.columns.as_read(attribute, array, decode=False)
        return self._sources[attribute]


def one_array(stream: Stream, attribute: str) -> Any:
    """Return an attribute of a stream as one Arrow array; raises as `arrow_column`."""
    import pyarrow as pa

    if attribute not in stream.columns:
        return pa.nulls(len(stream))
    return _in_one(arrow_column(stream.columns[attribute], attribute))


def _in_one(column: Any) -> Any:
    """Return an Arrow column as a single array."""
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    return column


def array_at(stream: Stream, attribute: str, positions: Int64s) -> Any:
    """Return the values of an attribute at some positions as one Arrow array.

    Text that is not encoded yet is encoded only at these positions. Raises as `arrow_column`.
    """
    import pyarrow as pa

    if attribute not in stream.columns:
        return pa.nulls(len(positions))
    return _in_one(arrow_column(take_columns(stream.columns, positions)[attribute], attribute))


def arrow_column(column: Column, name: str) -> Any:
    """Return a column of events as Arrow, with integers among doubles as doubles if that is exact.

    Raises `BadData` for values of several types.
    """
    import pyarrow as pa

    if is_arrow(column):
        return without_views(column)
    values: Any = values_of(column, name)
    if {type(value) for value in values} - {NoneType} in ({Timestamp}, {Duration}):
        if (array := array_of(values)) is not None:
            return array
        message = f"column '{name}' has some times too far away and some too fine"
        raise BadData("CER0740", message, hint="no Arrow unit fits all values into 64 bits")
    if all(value is None or type(value) is int for value in values):
        integers = [value for value in values if value is not None]
        if integers and min(integers) >= 0 and 1 << 63 <= max(integers) < 1 << 64:
            return pa.array(values, pa.uint64())
        if (array := integers_of(values)) is not None:
            return array
        message = f"column '{name}' holds an integer of more than 76 digits"
        raise BadData(
            "CER0747", message, hint="no Arrow column can hold the value: cast it to text"
        )
    numbers = {type(value) for value in values} <= {int, float, NoneType}
    if numbers and all(type(v) is not int or is_double(v) for v in values):
        doubles = [float(v) if isinstance(v, int | float) else None for v in values]
        return pa.array(doubles, pa.float64(), from_pandas=False)
    raise several_types(name)


def several_types(name: str) -> BadData:
    """Return the error for a column of several types, which no Arrow column can hold."""
    return BadData(
        "CER0747",
        f"column '{name}' has values of several types, which Arrow does not support",
        hint="omit the column, or cast it when the events are read",
    )


def one_table(tables: Sequence[Any]) -> Any:
    """Return tables concatenated by rows; integers and doubles in one column become doubles.

    Missing columns of a table are NULL. Raises `BadData` for a column of several other types.
    """
    import pyarrow as pa

    if all(table.schema == tables[0].schema for table in tables):
        return pa.concat_tables(tables)
    columns = {}
    for name in dict.fromkeys(name for table in tables for name in table.column_names):
        some = [
            _without_codes(table.column(name))
            if name in table.column_names
            else pa.nulls(table.num_rows)
            for table in tables
        ]
        parts = [pa.table({name: column}) for column in _in_one_zone(some)]
        try:
            whole = pa.concat_tables(parts, promote_options="permissive")
        except (pa.ArrowTypeError, pa.ArrowInvalid):  # numbers may fit no common type
            raise several_types(name) from None
        columns[name] = whole.column(name)
    return pa.table(columns)


def _in_one_zone(columns: Sequence[Any]) -> Sequence[Any]:
    """Return moments of several zones in UTC, also the zone of moments without one."""
    import pyarrow as pa

    def has_zone(column: Any) -> bool:
        return bool(pa.types.is_timestamp(column.type))

    if len({column.type.tz for column in filter(has_zone, columns)}) < 2:
        return columns
    return [
        column.cast(pa.timestamp(column.type.unit, "UTC")) if has_zone(column) else column
        for column in columns
    ]


def _without_codes(column: Any) -> Any:
    """Return a column of text, or of lists of text, without dictionary and string views."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_list(kind) and pa.types.is_dictionary(kind.value_type):
        return column.cast(pa.list_(kind.value_type.value_type))
    return without_views(column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column)


@dataclass(frozen=True, slots=True)
class _LabelEvents:
    """The events of a label in each row: row n has ``positions[offsets[n] : offsets[n + 1]]``."""

    offsets: Int64s  # (rows + 1,)
    positions: Int64s
    single: bool = False
    """True if each row is known to have exactly one event for the label."""


def _one_shape(rows: LabelledAnswers) -> list[int] | None:
    """Return the marks that all rows share, or None if rows differ."""
    import numpy as np

    lengths = np.diff(rows.offsets)
    if not len(lengths) or not lengths[0] or (lengths != lengths[0]).any():
        return None
    length = int(lengths[0])
    marks = rows.marks.reshape(-1, length)
    first: list[int] = marks[0].tolist()
    return first if all((marks[:, k] == mark).all() for k, mark in enumerate(first)) else None


def _label_events(
    rows: LabelledAnswers, shape: list[int] | None, label: str, offsets_of: Callable[[int], Int64s]
) -> _LabelEvents:
    """Return the events of a label in each row; rows of one `shape` have equally many."""
    import numpy as np

    from cerlab.engine.kernels.labels import hold

    inside = np.array([label in labels for labels in rows.labels], np.uint8)
    if shape is not None:
        places = [k for k, mark in enumerate(shape) if inside[mark]]
        positions = rows.positions.reshape(-1, len(shape))[:, places].ravel()
        return _LabelEvents(offsets_of(len(places)), positions, single=len(places) == 1)
    if inside.all():
        return _LabelEvents(rows.offsets, rows.positions)
    offsets, positions = np.zeros_like(rows.offsets), np.empty_like(rows.positions)
    count = hold(inside, rows.marks, rows.offsets, rows.positions, offsets, positions)
    return _LabelEvents(offsets, positions[:count])


def is_double(value: int) -> bool:
    """Return whether an integer equals a double exactly."""
    return abs(value) <= 1 << 53 or (value.bit_length() <= 1023 and int(float(value)) == value)
