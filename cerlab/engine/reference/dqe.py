"""A window query in a constant number of operations per tuple (DQE Alg. 1).

The query is ``y, ts3 <- r(x, ts1), s(x, y, ts2), t(y, ts3) | ts1 < ts2, ts2 < ts3, ts3 - ts1 < 5``.
Two assumptions of complex event recognition make it easy: tuples are never deleted, and the
timestamps increase along the stream. A stream that breaks one of them raises an error.

The data structure, after the first i elements (DQE Sec. 4):

* ``H_R[x]``: the last ts1 with r(x, ts1);
* ``H_S[y]``: the largest ts1 with r(x, ts1), s(x, y, ts2) and ts1 < ts2, for any x;
* ``T``: the answers (y, ts3).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from cerlab.errors import BadData, Unsupported, UsageError, nearest
from cerlab.model.event import Value
from cerlab.predicates.truth import kind_of

Row: TypeAlias = tuple[Value, ...]

_INT64 = range(-(2**63), 2**63)


@dataclass(frozen=True, slots=True)
class WindowQuery:
    """``y, ts3 <- r(x, ts1), s(x, y, ts2), t(y, ts3) | ts1 < ts2 < ts3, ts3 - ts1 < window``.

    `r`, `s`, `t` are the names of the relations. With `window` None, the last predicate is dropped
    (DQE Sec. 4). Raises `UsageError` unless the three names differ.
    """

    r: str = "r"
    s: str = "s"
    t: str = "t"
    window: int | None = 5

    def __post_init__(self) -> None:
        if len({self.r, self.s, self.t}) != 3:
            raise UsageError(
                "CER0861", "the window query joins three different relations", hint="name three"
            )


class HashMap:
    """A map from values to timestamps; an access is one operation of the RAM model (DQE Sec. 2)."""

    def __init__(self) -> None:
        self._entries: dict[Value, int] = {}
        self.operations = 0

    def get(self, key: Value) -> int | None:
        """Return the entry of a key, or None."""
        self.operations += 1
        return self._entries.get(key)

    def put(self, key: Value, timestamp: int) -> None:
        """Create or overwrite the entry of a key."""
        self.operations += 1
        self._entries[key] = timestamp

    def entries(self) -> dict[Value, int]:
        """Return a copy of all entries, without counting an operation."""
        return dict(self._entries)


class Relation:
    """A set of rows, enumerable with constant delay; inserting is one operation (DQE Sec. 2)."""

    def __init__(self) -> None:
        self._rows: dict[Row, None] = {}
        self.operations = 0

    def insert(self, row: Row) -> None:
        """Add a row, unless it is present."""
        self.operations += 1
        self._rows[row] = None

    def __iter__(self) -> Iterator[Row]:
        """Yield each row once, in insertion order, one operation before each and at the end."""
        for row in self._rows:
            self.operations += 1
            yield row
        self.operations += 1


class WindowEvaluation:
    """Evaluation of a window query: the data structure and the routines of DQE Alg. 1.

    >>> evaluation = WindowEvaluation()
    >>> for relation, row in [("r", (1, 1)), ("s", (1, "a", 3)), ("t", ("a", 5)), ("t", ("a", 6))]:
    ...     evaluation.process(relation, row)
    >>> list(evaluation.enumerate())
    [('a', 5)]
    """

    def __init__(self, query: WindowQuery | None = None) -> None:
        self.query = query or WindowQuery()
        self.H_R = HashMap()
        self.H_S = HashMap()
        self.T = Relation()
        self._now: int | None = None
        Q = self.query
        self._update = {Q.r: (2, self._r), Q.s: (3, self._s), Q.t: (2, self._t)}

    @property
    def operations(self) -> int:
        """The number of accesses to the hash maps and to T: at most three per tuple."""
        return self.H_R.operations + self.H_S.operations + self.T.operations

    def process(self, relation: str, row: Row, *, insertion: bool = True) -> None:
        """Read the next element of the stream; the timestamp is the last column (DQE Alg. 1).

        Values are numbers (not NaN), texts and moments; timestamps are 64-bit integers. Raises
        `Unsupported` for a deletion, and `BadData` for a timestamp that is not greater than the one
        before, for a relation outside the query, and for a row that does not fit. An element that
        raises an error changes nothing.
        """
        if not insertion:
            raise Unsupported(
                "CER0460",
                f"Algorithm 1 assumes no deletions, got one of {relation}{row}",
                hint="the reference of generalised conjunctive queries supports deletions",
            )
        if relation not in self._update:
            raise BadData(
                "CER0763",
                f"'{relation}' is not a relation of the query",
                hint=nearest(relation, self._update),
            )
        columns, update = self._update[relation]
        timestamp = _timestamp_of(relation, row, columns)
        if self._now is not None and timestamp <= self._now:
            raise BadData(
                "CER0764",
                f"Algorithm 1 assumes that timestamps increase, but {timestamp} in "
                f"{relation}{row} comes after {self._now}",
                hint="the reference of generalised conjunctive queries supports any timestamps",
            )
        self._now = timestamp
        update(row, timestamp)

    def _r(self, row: Row, ts1: int) -> None:
        """Store the timestamp of x, which is its latest so far (line 3)."""
        x = row[0]
        self.H_R.put(x, ts1)

    def _s(self, row: Row, ts2: int) -> None:
        """Store the latest timestamp of an r tuple joined with y (lines 5 and 6, erratum E15)."""
        x, y = row[0], row[1]
        ts1 = self.H_R.get(x)
        if ts1 is not None:
            latest = self.H_S.get(y)
            self.H_S.put(y, ts1 if latest is None else max(latest, ts1))

    def _t(self, row: Row, ts3: int) -> None:
        """Add an answer if the latest r tuple joined with y is in the window (lines 8 and 9)."""
        y = row[0]
        ts1 = self.H_S.get(y)
        window = self.query.window
        if ts1 is not None and (window is None or ts3 - ts1 < window):
            self.T.insert((y, ts3))

    def enumerate(self) -> Iterator[Row]:
        """Yield ``Q(S[1..i])``, each answer once, one operation before each (DQE Def. 2)."""
        yield from self.T


def _timestamp_of(relation: str, row: Row, columns: int) -> int:
    """Return the timestamp of a row after checking its columns."""
    if len(row) != columns:
        raise BadData(
            "CER0761",
            f"{row} has {len(row)} columns, '{relation}' has {columns}",
            hint="the last column is the timestamp",
        )
    for value in row:
        if kind_of(value) not in ("number", "text", "timestamp"):
            raise BadData(
                "CER0760",
                f"{row} of '{relation}' holds {value!r}, which is not a value of a relation",
                hint="use numbers, text or timestamps",
            )
    timestamp = row[-1]
    if not isinstance(timestamp, int) or timestamp not in _INT64:
        raise BadData(
            "CER0765",
            f"the timestamp of {relation}{row} is not an integer of 64 bits or fewer",
            hint="the last column is the timestamp",
        )
    return timestamp
