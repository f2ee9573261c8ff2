"""Queries by key with up to 200,000 keys of every kind, by every verb.

The events come in rounds. A key has one event in a round at most, and its events over all rounds
are one of a few short streams, its shape. The reference answers the query without PARTITION BY on
each shape, and the answers on the whole stream are those of all keys together. On small streams the
reference also answers the query by key.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import cerlab
from cerlab import Unsupported
from cerlab.engine import totals
from cerlab.evaluate import thresholds
from cerlab.evaluate.physical import why_in_python
from cerlab.io import arrow
from cerlab.model import stream
from proofs_tests.suite import Suite, random_suite

FORMULAS = (
    "A ; B",
    "A : B",
    "A+ ; B",
    "A{2}",
    "(A ; B) UNLESS C",
    "(A OR C) ; B",
    "A ; B ; C",
    "A AS a ; B AS b FILTER a[v > 1]",
    "A AS a ; B AS b FILTER b.v >= a.v",
)
STRATEGIES = ("", "", "", "", "MAX ", "NEXT ", "LAST ", "STRICT ")
WINDOWS = ("", "", " WITHIN 2 EVENTS", " WITHIN 2 [ts]", " WITHIN 1 [ts]")

MOST_KEYS = 200_000
ROUNDS = 5
SMALL = 24
"""The most events of a stream on which the reference answers the query by key."""
IN_PYTHON = 5_000
"""The most events of a stream for queries that no kernel takes."""
PUSHED = 500
"""The most events that are pushed to sessions."""

SHARES = (1, 3, 40, totals.SHARE)
"""Events of the keys that are totalled together."""

START = datetime(2026, 1, 1)

Shape = list[tuple[str, int] | None]
Answer = tuple[int, int, tuple[int, ...]]


@dataclass(frozen=True)
class Keyed:
    """A stream of rounds, and where the events of each key are."""

    table: Any
    places: NDArray[np.int64]
    """The position of the event of each key in each round, -1 without one."""
    key_at: NDArray[np.int64]
    """The number of the key of each event, -1 for NULL and NaN."""
    shapes: list[Shape]
    shape_of: NDArray[np.int64]

    def events(self, shape: Shape) -> list[dict[str, Any]]:
        """Return the events of a shape."""
        return [{"type": e[0], "v": e[1], "ts": n} for n, e in enumerate(shape) if e is not None]


def keys_of(rng: Random, count: int) -> list[Any]:
    """Return an Arrow column for each attribute of the key: `count` keys, or fewer."""
    numbers = np.arange(count)
    match rng.randrange(8):
        case 0:
            return [pa.array(numbers + rng.choice((0, -5, 2**53, 2**62)))]
        case 1:
            return [pa.array(numbers / rng.choice((1, 2, 3)))]
        case 2:
            return [pa.array([f"käy {n}" for n in range(count)])]
        case 3:
            unit = rng.choice(("s", "ms", "us"))
            return [
                pa.array([START + timedelta(hours=n) for n in range(count)], pa.timestamp(unit))
            ]
        case 4:
            return [pa.array([Decimal(n) / 4 for n in range(count)], pa.decimal128(20, 2))]
        case 5:
            return [pa.array([False, True][:count])]
        case 6:
            return [pa.array(numbers // 7), pa.array([str(n % 7) for n in range(count)])]
        case _:
            texts = [f"key {n % 1_000:03d}-{n // 1_000}" for n in range(count)]
            return [pa.array(texts).dictionary_encode()]


def shape_drawn(rng: Random) -> Shape:
    """Return the events of a key."""
    cells = [(kind, rng.randrange(4)) for kind in rng.choices("ABC", (4, 4, 1), k=ROUNDS)]
    return [cell if rng.random() < 0.75 else None for cell in cells]


def drawn(rng: Random, most: int = MOST_KEYS) -> Keyed:
    """Return a stream of at most `most` keys."""
    count = most if rng.random() < 0.005 else int(most ** (rng.random() ** 2))
    columns = keys_of(rng, count)
    count = len(columns[0])
    numpy = np.random.default_rng(rng.randrange(2**32))
    shapes = [shape_drawn(rng) for _ in range(rng.choice((1, 3, 6)))]
    shapes[0][:2] = [("A", 2), ("B", 3)]
    shape_of = numpy.integers(0, len(shapes), count)
    has = np.array([[e is not None for e in shape] for shape in shapes])
    places, parts, total = np.full((count, ROUNDS), -1), [], 0
    for n in range(ROUNDS):
        keys = numpy.permutation(count)
        keys = keys[has[shape_of[keys], n]]
        places[keys, n] = total + np.arange(len(keys))
        outside = np.full(rng.choice((0, 0, 1, 3)), -1)
        parts.append((n, np.concatenate((keys, outside))))
        total += len(keys) + len(outside)
    key_at = np.concatenate([keys for _, keys in parts])
    ts = np.concatenate([np.full(len(keys), n) for n, keys in parts])
    cells = [[e or ("A", 2) for e in shape] for shape in shapes]
    kinds = np.array([[e[0] for e in row] for row in cells])
    v = np.array([[e[1] for e in row] for row in cells])
    shape = np.where(key_at < 0, 0, shape_of[key_at])
    nowhere = pa.array(np.where(key_at < 0, 0, key_at), mask=key_at < 0)
    named = {name: column.take(nowhere) for name, column in zip("kl", columns, strict=False)}
    if pa.types.is_float64(columns[0].type):  # NaN beside NULL
        doubles = named["k"].to_numpy(zero_copy_only=False)
        named["k"] = pa.array(doubles, mask=(key_at < 0) & (ts % 2 == 0), from_pandas=False)
    table = pa.table({"type": kinds[shape, ts], "v": v[shape, ts], "ts": ts, **named})
    return Keyed(table, places, key_at, shapes, shape_of)


def texts(rng: Random, names: list[str]) -> tuple[str, str]:
    """Return a query by key, and the query of the events of one key."""
    formula, strategy, window = map(rng.choice, (FORMULAS, STRATEGIES, WINDOWS))
    scope, alone = rng.choice((("", ""), (" CONSUME BY PARTITION", " CONSUME BY ANY")))
    before, key = f"SELECT {strategy}* WHERE {formula}", f" PARTITION BY [{', '.join(names)}]"
    return f"{before}{key}{window}{scope}", f"{before}{window}{alone}"


class Expected:
    """The answers, known from those on each shape."""

    def __init__(self, one: str, S: Keyed) -> None:
        self._S = S
        self.of_shape: list[set[Answer]] = []
        """The answers on each shape, by the rounds of their events."""
        for shape in S.shapes:
            rounds = [n for n, event in enumerate(shape) if event is not None]
            self.of_shape.append(
                {
                    (rounds[a.start], rounds[a.end], tuple(rounds[p] for p in a.positions))
                    for a in cerlab.evaluate(one, S.events(shape), evaluator="reference")
                }
            )
        self.keys = [np.flatnonzero(S.shape_of == n) for n in range(len(S.shapes))]
        pairs = [(a, k) for n, k in enumerate(self.keys) for a in sorted(self.of_shape[n])]
        nothing = [np.zeros(0, np.int64)]
        self.starts = np.concatenate(nothing + [S.places[k, a[0]] for a, k in pairs])
        self.ends = np.concatenate(nothing + [S.places[k, a[1]] for a, k in pairs])
        self.of_key = np.concatenate(nothing + [k for _, k in pairs])
        self.marks = [S.places[k][:, a[2]] for a, k in pairs]

    def __len__(self) -> int:
        return len(self.starts)

    def __contains__(self, answer: cerlab.ComplexEvent) -> bool:
        S = self._S
        keys = {int(S.key_at[p]) for p in (answer.start, answer.end, *answer.positions)}
        if len(keys) != 1 or -1 in keys:
            return False
        (key,) = keys
        rounds = {int(p): n for n, p in enumerate(S.places[key])}
        local = tuple(rounds[p] for p in answer.positions)
        found = (rounds[answer.start], rounds[answer.end], local)
        return found in self.of_shape[S.shape_of[key]]

    def rows(self) -> list[tuple[int, ...]]:
        """Return all answers as numbers: start, end and positions."""
        offsets = np.cumsum([0, *map(len, self.marks)])
        return sorted(
            (*both, *marks)
            for n, some in enumerate(self.marks)
            for both, marks in zip(
                np.stack((self.starts, self.ends), 1)[offsets[n] : offsets[n + 1]].tolist(),
                some.tolist(),
                strict=True,
            )
        )

    def sum_of_a(self) -> int | None:
        """Return the sum of v over the events of label A of all answers."""
        total, values = 0, []
        for some, keys, shape in zip(self.of_shape, self.keys, self._S.shapes, strict=True):
            for _, _, marks in some:
                cells = [shape[n] for n in marks]
                of_a = [cell[1] for cell in cells if cell is not None and cell[0] == "A"]
                values += of_a if len(keys) else []
                total += sum(of_a) * len(keys)
        return total if values else None


def rows_of(answers: list[cerlab.ComplexEvent]) -> list[tuple[int, ...]]:
    """Return answers as numbers, sorted."""
    return sorted((a.start, a.end, *a.positions) for a in answers)


def rows_of_table(table: Any) -> list[tuple[int, ...]]:
    """Return a table of answers as numbers, sorted."""
    columns = (table[name].to_pylist() for name in ("start", "end", "positions"))
    return sorted((start, end, *marks) for start, end, marks in zip(*columns, strict=True))


def check(rng: Random, query: cerlab.Query, S: Keyed, expected: Expected, events: Any) -> None:
    """Compare what every verb gives on the events of a stream."""
    names = [name for name in ("k", "l") if name in S.table.column_names]
    count, threads = len(expected), rng.choice((1, 2, 7))
    m = query.run(events, threads=threads)
    assert m.count() == count
    assert rows_of_table(query.run(events).to_arrow()) == expected.rows()
    assert query.run(events).table().num_rows == count
    whole = m.aggregate(sum="A.v").to_pylist()
    assert whole == [{"count": count, "sum(A.v)": expected.sum_of_a()}]
    for group, places in (("start", expected.starts), ("end", expected.ends)):
        table = m.aggregate(group_by=group)
        by_one = query.run(events, threads=1).aggregate(group_by=group)
        assert table.to_pylist() == by_one.to_pylist(), threads
        assert dict(zip(*table.to_pydict().values(), strict=True)) == Counter(places.tolist())
    by_key = m.aggregate(group_by="key")
    by_one = query.run(events, threads=1).aggregate(group_by="key")
    assert by_key.to_pylist() == by_one.to_pylist(), threads
    assert by_key.column_names == [*names, "count"]
    of_keys = Counter(expected.of_key.tolist())
    of_a_key = S.places.max(axis=1)[np.array([*of_keys], np.int64)]
    own = S.table.select(names).take(pa.array(of_a_key)).to_pylist()
    wanted = {tuple(row.values()): n for row, n in zip(own, of_keys.values(), strict=True)}
    assert {tuple(row.values())[:-1]: row["count"] for row in by_key.to_pylist()} == wanted
    if count:
        assert all(m[k] in expected for k in (0, count // 2, count - 1))
        assert all(answer in expected for answer in m.sample(3, seed=rng.randrange(9)))
    if S.table.num_rows <= PUSHED:
        push(rng, query, S, expected)
    if S.table.num_rows <= SMALL:
        answers = cerlab.evaluate(query, S.table, evaluator="reference")
        assert rows_of(list(answers)) == expected.rows()


def push(rng: Random, query: cerlab.Query, S: Keyed, expected: Expected) -> None:
    """Compare the answers and the groups of sessions, in batches and event by event."""
    cuts = sorted(rng.choices(range(S.table.num_rows + 1), k=rng.choice((0, 1, 5))))
    bounds = [0, *cuts, S.table.num_rows]
    batches = [S.table.slice(a, b - a) for a, b in pairwise(bounds)]
    if rng.random() < 0.5:
        batches = [pa.Table.from_pylist([row], S.table.schema) for row in S.table.to_pylist()]
    try:
        session, groups = query.open(), query.aggregating(group_by="key")
    except Unsupported:
        return
    assert rows_of([a for batch in batches for a in session.push(batch)]) == expected.rows()
    rows = [row for batch in batches for row in groups.push(batch).to_pylist()]
    last = {tuple(row.values())[:-1]: row["count"] for row in rows}
    assert sorted(last.values()) == sorted(Counter(expected.of_key.tolist()).values())


def queries_by_key(rng: Random, most: int = MOST_KEYS) -> bool | None:
    """Check a query by `most` keys or fewer, on a table, a file or files that are read by parts."""
    S = drawn(rng, most)
    rows = S.table.num_rows
    # shares of one event are many calls of kernels
    share = rng.choice(SHARES[2 * (rows > IN_PYTHON) :])
    # at most some twenty parts: each costs its own calls
    part = max(1 + rng.randrange(rows) // rng.choice((1, 4, 20)), rows // 20)
    names = [name for name in ("k", "l") if name in S.table.column_names]
    of_keys, of_one = texts(rng, names)
    query = cerlab.parse_query(of_keys)
    # minutes of Python for each verb; smaller streams have the same queries
    if rows > IN_PYTHON and why_in_python(query) is not None:
        return None
    expected, short = Expected(of_one, S), rng.choice((0, totals.SHORT))
    with (
        patch.object(totals, "SHORT", short),
        patch.object(thresholds, "SHORT", short and thresholds.SHORT),
        patch.object(totals, "SHARE", share),
        patch.object(totals, "NARROW", totals.NARROW * (part % 2)),
        patch.object(totals, "MANY", rng.choice((0, 2 * part, totals.MANY))),
        patch.object(totals, "OF_A_GROUP", part),
        patch.object(stream, "PART", part),
        patch.object(arrow, "SHORT_FILE", rng.choice((0, part))),
        TemporaryDirectory() as folder,
    ):
        events = S.table
        if rng.random() < 0.5:
            events = Path(folder)
            cuts = sorted(rng.randrange(rows + 1) for _ in range(rng.choice((0, 0, 1, 3, 9))))
            for n, (a, b) in enumerate(pairwise((0, *cuts, rows))):
                size = 1 + part // rng.choice((1, 2, 3))
                pq.write_table(
                    S.table.slice(a, b - a), events / f"{n}.parquet", row_group_size=size
                )
        check(rng, query, S, expected, events)
    return len(expected) > 0


@pytest.mark.filterwarnings("ignore:CER09")
def test_queries_by_key_of_every_kind(suite: Suite) -> None:
    """Every verb gives the answers of all keys, added up; 1, 2 and 7 threads give one table."""
    most = MOST_KEYS if suite.deep else MOST_KEYS // 20
    suite.run(partial(queries_by_key, most=most), deep_count=3_000)


MIXED: tuple[tuple[Any, ...], ...] = (
    (1, 1.0),
    (True,),
    ("1",),
    (0, 0.0, -0.0),
    (False,),
    (2**64, 2.0**64),
    (2**53 + 1,),
    (2.0**53,),
    (START,),
    (timedelta(seconds=1),),
    ("",),
)
"""Values that are one key each."""


@pytest.mark.filterwarnings("ignore:CER09")
@random_suite(3_000)
def test_keys_of_several_types_in_one_column(rng: Random) -> bool:
    """1 and 1.0 are one key, 1 and TRUE are two; NULL and NaN are none."""
    some = rng.sample(MIXED, rng.randrange(2, len(MIXED)))
    keys = [rng.choice(each) for each in some for _ in range(3)] + [None, float("nan")]
    rng.shuffle(keys)
    events = [
        {"type": rng.choice("AAB"), "k": key, "v": rng.randrange(3), "ts": n}
        for n, key in enumerate(keys)
    ]
    text, _ = texts(rng, ["k"])
    query = cerlab.parse_query(text)
    wanted = rows_of(list(cerlab.evaluate(query, events, evaluator="reference")))
    assert rows_of(list(query.run(events))) == wanted
    assert query.run(events).count() == len(wanted)
    assert rows_of_table(query.run(events).to_arrow()) == wanted
    return bool(wanted)
