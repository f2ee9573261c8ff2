"""Rows of many sequences in order, whatever the order they come in, up to a lateness.

A *sequence* is what is put in order by itself: the rows of a key, or all rows. A row is *released*,
to be read by the engine, when a row of its sequence has been seen that is more than the lateness
after it; until then it is *held back*. A row is *late* if one that belongs after it has been
released. So is it if it comes before a floor that the caller gives: a time that all sequences have
passed. What comes in one call comes at once: none of its rows is late because of another.

Tables of rows have the columns ``sequence`` (int64, numbers from 0), ``position`` (int64), ``time``
(int64 or float64) and ``a0``, the event type. The order in a sequence is that of ``time``, then of
``position``; positions increase along it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

import numpy as np

from cerlab.errors import BadData
from cerlab.spark.plan.order import Labels, first_problem

Instant: TypeAlias = int | float
"""A time in the unit of its column."""

_ORDER = [("time", "ascending"), ("position", "ascending")]


@dataclass(frozen=True, slots=True)
class Sequences:
    """What is known of the order of some sequences, by number.

    The arrays are (sequences,): whether a row has been released, and time and position of the last
    one.
    """

    has_released: Any
    time: Any
    position: Any
    pending_rows: Any
    """The rows held back, a table, by sequence and in order."""

    def __len__(self) -> int:
        return len(self.has_released)

    def with_count(self, count: int) -> Sequences:
        """With so many sequences, of which the last ones are new."""
        more = count - len(self)
        has_released, time, position = (np.pad(array, (0, more)) for array in self.arrays())
        return Sequences(has_released, time, position, self.pending_rows)

    def only(self, numbers: Any) -> Sequences:
        """These sequences, which are numbered anew; the others have no rows held back."""
        new_number = np.full(len(self), -1, np.int64)
        new_number[numbers] = np.arange(len(numbers))
        sequence = new_number[_numbers(self.pending_rows, "sequence")]
        pending = with_sequence(self.pending_rows, sequence)
        has_released, time, position = (array[numbers] for array in self.arrays())
        return Sequences(has_released, time, position, pending)

    def arrays(self) -> tuple[Any, Any, Any]:
        """Whether a row has been released, and time and position of the last one."""
        return self.has_released, self.time, self.position

    def waiting(self) -> Any:
        """Whether rows are held back, bool (sequences,)."""
        waiting = np.zeros(len(self), bool)
        waiting[_numbers(self.pending_rows, "sequence")] = True
        return waiting

    def newest(self) -> Any:
        """The latest time so far of each sequence that has had a row, (sequences,)."""
        newest = self.time.copy()
        sequence = _numbers(self.pending_rows, "sequence")
        newest[sequence] = _numbers(self.pending_rows, "time")  # the last one stays
        return newest


@dataclass(frozen=True, slots=True)
class Arrival:
    """What becomes of rows that come: each is released, or late, or held back."""

    released_rows: Any
    """By sequence, in order."""
    late: Any
    after: Sequences


def nothing(schema: Any) -> Sequences:
    """No sequence yet, of rows with a schema."""
    rows = with_sequence(schema.empty_table(), np.zeros(0, np.int64))
    times = rows.column("time").to_numpy()
    return Sequences(np.zeros(0, bool), times, np.zeros(0, np.int64), rows)


def with_sequence(rows: Any, numbers: Any) -> Any:
    """The rows with other numbers of sequences."""
    import pyarrow as pa

    if "sequence" in rows.column_names:
        rows = rows.drop_columns("sequence")
    return rows.append_column("sequence", pa.array(numbers, pa.int64()))


def arrive(
    before: Sequences, rows: Any, lateness: Instant, labels: Labels, floor: Instant | None = None
) -> Arrival:
    """Take in some more rows of known sequences, perhaps none.

    Raises `BadData` for a row without position, time or type, and for positions that do not
    increase along the times; `labels` are the names of time and position.
    """
    import pyarrow as pa

    _check_cells(before, rows, labels)
    fresh = _in_order(rows)
    _check_positions(before, fresh, labels, np.zeros(len(before), bool))
    late = _late(before, fresh, floor)
    whole = fresh if not late.any() else fresh.filter(pa.array(~late))
    if before.pending_rows.num_rows:
        whole = _in_order(pa.concat_tables([before.pending_rows, whole]))
    _check_positions(before, whole, labels, before.has_released)
    sequence, times = _numbers(whole, "sequence"), _numbers(whole, "time")
    newest = before.time.copy()
    newest[sequence] = times  # the last one of each stays
    due = _is_more(newest[sequence], times, lateness)
    if floor is not None:
        due |= times < floor
    has_released, time, position = (array.copy() for array in before.arrays())
    due_sequences = sequence[due]
    has_released[due_sequences] = True
    time[due_sequences] = times[due]
    position[due_sequences] = _numbers(whole, "position")[due]
    return Arrival(
        released_rows=whole.filter(pa.array(due)),
        late=fresh.filter(pa.array(late)),
        after=Sequences(has_released, time, position, whole.filter(pa.array(~due))),
    )


def _is_more(after: Any, before: Any, length: Instant) -> Any:
    """Whether times are more than a length after others that are not later, exactly if whole."""
    if after.dtype == np.int64:
        return after.view(np.uint64) - before.view(np.uint64) > length
    return before < after - length


def _in_order(rows: Any) -> Any:
    names = ("position", "time", "sequence")
    return rows.take(np.lexsort([_numbers(rows, name) for name in names]))


def _late(before: Sequences, rows: Any, floor: Instant | None) -> Any:
    """Which rows are late, as a mask."""
    sequence, times, positions = (_numbers(rows, n) for n in ("sequence", "time", "position"))
    time, position = before.time[sequence], before.position[sequence]
    late = (times < time) | ((times == time) & (positions <= position))
    late &= before.has_released[sequence]
    if floor is not None:
        late |= times < floor
    return late


def _check_cells(before: Sequences, rows: Any, labels: Labels) -> None:
    """Raise `BadData` for a row without position, time or type."""
    import pyarrow as pa
    import pyarrow.compute as pc

    types, times = rows.column("a0"), rows.column("time")
    wrong = pc.or_(pc.is_null(rows.column("position")), pc.is_null(types))
    wrong = pc.or_(wrong, pc.fill_null(pc.equal(types, ""), False))
    wrong = pc.or_(wrong, pc.fill_null(pc.invert(pc.is_finite(times)), True))
    if pc.any(wrong).as_py():
        row = int(wrong.combine_chunks().to_numpy(zero_copy_only=False).argmax())
        number = rows.column("sequence")[row].as_py()
        rows_of_sequence = rows.filter(pc.equal(rows.column("sequence"), pa.scalar(number)))
        _refuse(None, rows_of_sequence.sort_by(_ORDER), labels)


def _check_positions(before: Sequences, rows: Any, labels: Labels, has_released: Any) -> None:
    """Raise `BadData` where the positions of ordered rows do not increase along a sequence.

    In a sequence that `has_released` rows they come after the last of those.
    """
    import pyarrow as pa

    sequence, position = _numbers(rows, "sequence"), _numbers(rows, "position")
    same = np.diff(sequence, prepend=-1) == 0
    wrong = ~same & has_released[sequence] & (position <= before.position[sequence])
    wrong[1:] |= same[1:] & (position[1:] <= position[:-1])
    if wrong.any():
        number = int(sequence[wrong.argmax()])
        last = None
        if has_released[number]:
            place = {"position": before.position[[number]], "time": before.time[[number]]}
            last = pa.table({**place, "a0": ["?"]})
        _refuse(last, rows.filter(pa.array(sequence == number)), labels)


def _refuse(last: Any, rows: Any, labels: Labels) -> NoReturn:
    """Raise `BadData` for the first row of a sequence that is no next event after `last`."""
    problem = first_problem(None if last is None else _view(last), _view(rows), labels)
    assert problem is not None
    place = rows.column("position")[problem.row].as_py()
    raise BadData(problem.code, f"at position {place}: {problem.what}")


def _view(rows: Any) -> Any:
    """Rows as `first_problem` takes them."""
    import pyarrow as pa

    position, time = rows.column("position"), rows.column("time")
    columns = {"k0": time, "k1": position, "position": position, "time": time}
    return pa.table({**columns, "type": rows.column("a0").cast(pa.string())})


def _numbers(rows: Any, name: str) -> Any:
    return rows.column(name).to_numpy()
