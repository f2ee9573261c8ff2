"""Checks of rows in tables: required cells, and the order of consecutive rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from cerlab.model.event import Timestamp
from cerlab.model.stream import far_time


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """The column names of positions, keys and time, as the user wrote them."""

    keys: tuple[str, ...]
    time: str | None = None
    units: tuple[tuple[str, int], ...] = ()
    """The columns of moments, which are integers in a unit of that many nanoseconds."""

    @property
    def moments(self) -> bool:
        """True if the times are timestamps."""
        return any(name == self.time for name, _ in self.units)

    def text(self, name: str | None, value: Any) -> str:
        """Return a value as text for an error; integers that are moments are shown as moments."""
        unit = dict(self.units).get(name or "")
        return repr(value) if unit is None or value is None else str(Timestamp(value * unit))


@dataclass(frozen=True, slots=True)
class Problem:
    """An invalid row of a table, with an error code and a text."""

    row: int
    code: str
    text: str


def first_problem(before: Any | None, rows: Any, labels: ColumnNames) -> Problem | None:
    """Return the first row that is invalid or out of order, or None.

    `before` precedes the table.
    """
    problems = [
        Problem(int(wrong.argmax()), code, message(int(wrong.argmax())))
        for wrong, code, message in _checks(before, rows, labels)
        if wrong.any()
    ]
    return min(problems, key=lambda problem: problem.row, default=None)


def is_stream(keys: Sequence[Any], times: Any | None, *, positions: bool) -> bool:
    """Return whether rows are in the order of their keys, and times do not go back.

    With `positions`, the last key is a position. No value is missing and no key is NaN.
    """
    if not increase(keys) or (positions and not increase(keys[-1:])):
        return False
    return times is None or not (times[1:] < times[:-1]).any()


def increase(keys: Sequence[Any]) -> bool:
    """Return whether each row is greater than the one before, comparing keys lexicographically."""
    after = keys[-1][1:] > keys[-1][:-1]
    for key in keys[-2::-1]:
        # from the last key to the first, since the first key that differs decides
        after = (key[1:] > key[:-1]) | ((key[1:] == key[:-1]) & after)
    return bool(after.all())


def indices_in_from(rows: Any) -> Any:
    """Return the indices of the rows whose stream is in FROM: int64."""
    if "kept" not in rows.column_names:
        return np.arange(rows.num_rows)
    return np.flatnonzero(mask(rows.column("kept")))


class _Check(NamedTuple):
    """A rule that some rows violate: their mask, an error code, and a function for the message."""

    wrong: Any
    code: str
    message: Callable[[int], str]


def _checks(before: Any | None, rows: Any, labels: ColumnNames) -> Iterator[_Check]:
    for number, label in enumerate(labels.keys):
        yield _missing_key(rows, f"k{number}", label)
    yield _out_of_place(before, rows, labels)
    yield _nameless(rows)
    if labels.time is not None:
        times = rows.column("time").take(indices_in_from(rows)).combine_chunks()
        yield _missing_time(rows, times, labels.time)
        if labels.moments:
            yield _far_time(rows, times, labels.time)
        yield _goes_back(rows, times, labels)


def _missing_key(rows: Any, key: str, label: str) -> _Check:
    import pyarrow.compute as pc

    missing = mask(pc.is_null(rows.column(key), nan_is_null=True))
    return _Check(missing, "CER0780", lambda _: f"'{label}' is NULL or NaN")


def _nameless(rows: Any) -> _Check:
    import pyarrow.compute as pc

    types = rows.column("type")
    nameless = mask(pc.or_(pc.is_null(types), pc.fill_null(pc.equal(types, ""), True)))
    text = "an event type is a text, not"
    return _Check(nameless, "CER0701", lambda row: f"{text} {_cell(rows, 'type', row)!r}")


def _out_of_place(before: Any | None, rows: Any, labels: ColumnNames) -> _Check:
    """Return the rows whose position or keys do not follow the row before."""
    import pyarrow as pa
    import pyarrow.compute as pc

    both = rows if before is None else pa.concat_tables([before, rows])
    count = both.num_rows - 1

    def beside(name: str, compare: Callable[..., Any]) -> Any:
        column = both.column(name).combine_chunks()
        flags = mask(compare(column.slice(1), column.slice(0, count)))
        return flags if before is not None else np.concatenate(([False], flags))

    def place(row: int) -> str:
        values = ((name, _cell(rows, f"k{n}", row)) for n, name in enumerate(labels.keys))
        return ", ".join(f"{name} = {labels.text(name, value)}" for name, value in values)

    if "position" in rows.column_names:
        not_more = beside("position", pc.less_equal)
        text = f"'{labels.keys[-1]}' does not increase along the stream"
        return _Check(not_more, "CER0782", lambda row: f"{text}: {place(row)}")
    same = np.logical_and.reduce([beside(f"k{n}", pc.equal) for n in range(len(labels.keys))])
    return _Check(same, "CER0781", lambda row: f"two events have one place: {place(row)}")


def _missing_time(rows: Any, times: Any, label: str) -> _Check:
    import pyarrow.compute as pc

    missing = np.zeros(rows.num_rows, bool)
    missing[indices_in_from(rows)] = mask(pc.invert(pc.fill_null(pc.is_finite(times), False)))
    text = f"the event has no time: '{label}' is"
    return _Check(missing, "CER0712", lambda row: f"{text} {_cell(rows, 'time', row)!r}")


def _far_time(rows: Any, times: Any, label: str) -> _Check:
    far = np.zeros(rows.num_rows, bool)
    far[indices_in_from(rows)] = mask(are_far(times))

    def text(row: int) -> str:
        moment = Timestamp(_cell(rows, "time", row) * MICROSECOND)
        return far_time("the event", label, moment).message

    return _Check(far, "CER0740", text)


def are_far(times: Any) -> Any:
    """Return whether 64 bits of nanoseconds cannot hold each moment."""
    import pyarrow.compute as pc

    return pc.or_(pc.less(times, -LAST_MOMENT), pc.greater(times, LAST_MOMENT))


def _goes_back(rows: Any, times: Any, labels: ColumnNames) -> _Check:
    """Return the rows in FROM whose time is before that of the previous row in FROM."""
    import pyarrow.compute as pc

    in_from = indices_in_from(rows)
    later = times.slice(1)
    back = np.zeros(rows.num_rows, bool)
    back[in_from[1:]] = mask(pc.less(later, times.slice(0, len(later))))

    def steps(row: int) -> str:
        at = int(np.searchsorted(in_from, row))
        return backwards(times[at - 1].as_py(), times[at].as_py(), labels)

    return _Check(back, "CER0714", steps)


def backwards(before: object, now: object, labels: ColumnNames) -> str:
    """Return the error text for a time that goes backwards."""
    both = (labels.text(labels.time, time) for time in (before, now))
    return f"time goes backwards: {', then '.join(both)}"


def mask(column: Any) -> Any:
    """Return an Arrow array of Booleans as NumPy, with NULL as False."""
    whole = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    return whole.fill_null(False).to_numpy(zero_copy_only=False).astype(bool)


def _cell(rows: Any, name: str, row: int) -> Any:
    return rows.column(name)[row].as_py()


MICROSECOND = 1_000
"""The unit of the moments that Spark transfers, in nanoseconds."""

LAST_MOMENT = (2**63 - 1) // MICROSECOND
"""The last moment of a time axis, in microseconds; the first is its negative."""
