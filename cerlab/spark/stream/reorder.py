"""The rows of a key in order, whatever the order they come in, up to a lateness.

A row is *released*, to be read by the engine, when a row of its key has been seen that is more than
the lateness after it; until then it is *held back*. A row is *late* if one that belongs after it
has been released. So is it if it comes before a floor that the caller gives: a time that all keys
have passed. What comes in one call comes at once: none of its rows is late because of another.

Tables of rows have the columns ``position`` (int64), ``time`` (int64 or float64) and ``a0``, the
event type. The order is that of ``time``, then of ``position``; positions increase along it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from cerlab.errors import BadData
from cerlab.spark.plan.order import Labels, first_problem

Instant: TypeAlias = int | float
"""A time in the unit of its column."""

_ORDER = [("time", "ascending"), ("position", "ascending")]


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of the rows of a key, in order: the last one released, and those held back."""

    rows: Any
    released: bool
    """Whether the first row is one that has been released."""

    @property
    def held(self) -> int:
        """How many rows are held back."""
        return int(self.rows.num_rows) - self.released

    @property
    def newest(self) -> Instant:
        """The latest time of all rows so far; it is always that of the last row kept."""
        last: Instant = self.rows.column("time")[-1].as_py()
        return last


@dataclass(frozen=True, slots=True)
class Arrival:
    """What becomes of rows that come: each is released, or late, or kept."""

    released: Any
    late: Any
    kept: Kept


def arrive(
    kept: Kept, rows: Any, lateness: Instant, labels: Labels, floor: Instant | None = None
) -> Arrival:
    """Take in some more rows of a key, perhaps none.

    Raises `BadData` for a row without position, time or type, and for positions that do not
    increase along the times; `labels` are the names of time and position.
    """
    fresh = rows.sort_by(_ORDER)
    _check(fresh, labels)
    late = _late(kept, fresh, floor)
    whole = fresh.filter(_arrow(~late))
    if kept.rows.num_rows:
        import pyarrow as pa

        whole = pa.concat_tables([kept.rows, whole]).sort_by(_ORDER)
        _check(whole, labels)
    times = _numbers(whole, "time")
    over = int(kept.released)
    if len(times):
        over = max(over, _before(times, times[-1].item() - lateness))
    if floor is not None:
        over = max(over, _before(times, floor))
    return Arrival(
        released=whole.slice(int(kept.released), over - kept.released),
        late=fresh.filter(_arrow(late)),
        kept=Kept(whole.slice(max(0, over - 1)), over > 0),
    )


def _late(kept: Kept, rows: Any, floor: Instant | None) -> Any:
    """Which rows are late, as a mask."""
    times, positions = _numbers(rows, "time"), _numbers(rows, "position")
    late = np.zeros(len(times), bool)
    if floor is not None:
        late |= times < floor
    if kept.released:
        time, position = (kept.rows.column(name)[0].as_py() for name in ("time", "position"))
        late |= (times < time) | ((times == time) & (positions <= position))
    return late


def _before(times: Any, bound: Instant) -> int:
    """How many of some ordered times are before a bound."""
    if isinstance(bound, int):
        bound = max(bound, -(2**63))
    return int(np.searchsorted(times, bound, side="left"))


def _check(rows: Any, labels: Labels) -> None:
    """Raise `BadData` for the first row that is no next event of its key."""
    if not rows.num_rows:
        return
    import pyarrow as pa

    position, time = rows.column("position"), rows.column("time")
    viewed = {"k0": time, "k1": position, "position": position, "time": time}
    problem = first_problem(None, pa.table({**viewed, "type": rows.column("a0")}), labels)
    if problem is not None:
        place = position[problem.row].as_py()
        raise BadData(problem.code, f"at position {place}: {problem.what}")


def _numbers(rows: Any, name: str) -> Any:
    return rows.column(name).combine_chunks().to_numpy(zero_copy_only=False)


def _arrow(mask: Any) -> Any:
    import pyarrow as pa

    return pa.array(mask)
