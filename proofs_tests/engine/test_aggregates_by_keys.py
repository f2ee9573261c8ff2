"""Aggregates of long streams by groups of keys are those of the whole stream, types included."""

from __future__ import annotations

import os
import tempfile
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab.engine import totals
from cerlab.evaluate import by_keys, thresholds
from cerlab.io import arrow
from cerlab.model import stream
from cerlab.predicates.columns import grouped_rows
from proofs_tests.engine.test_measures import random_doubles
from proofs_tests.mutants.driver import kills, mutant, on_seeds
from proofs_tests.suite import Suite

pytestmark = pytest.mark.filterwarnings("ignore:CER09")  # of a key of two attributes

FORMULAS = (
    "A AS a ; B AS b",
    "A AS a : B AS b",
    "(A AS a)+ ; B AS b",
    "(A AS a ; B AS b) UNLESS C",
    "A AS a ; B AS b FILTER b[d > 0]",
)
CLAUSES = ("", " WITHIN 3 EVENTS", " WITHIN 4 [ts]", " WITHIN 4 [ts] CONSUME BY PARTITION")
KEYS = (["k"], ["s"], ["at"], ["k", "s"], ["d"])
ATTRIBUTES = ("d", "n", "s", "at", "flag", "k")
MONTH = datetime(2026, 1, 1)


def random_table(rng: Random) -> Any:
    """Draw events with NULL in each column but the time."""
    rows = rng.randrange(1, 60)
    doubles = [x for x in random_doubles(rng) if not abs(x) > 1e300] or [
        1.0
    ]  # their sums are finite
    big = rng.choice((3, 2**40, 2**62))

    def column(values: Any, kind: Any) -> Any:
        return pa.array([None if rng.random() < 0.1 else values() for _ in range(rows)], kind)

    return pa.table(
        {
            "type": [rng.choice("AABBC") for _ in range(rows)],
            "ts": sorted(rng.randrange(20) for _ in range(rows)),
            "k": column(lambda: rng.randrange(4), rng.choice((pa.int64(), pa.int16()))),
            "s": column(lambda: rng.choice(("x", "y", "é")), pa.string()),
            "at": column(
                lambda: MONTH + timedelta(days=rng.randrange(3)), pa.timestamp("us", "UTC")
            ),
            "d": column(lambda: rng.choice(doubles), pa.float64()),
            "n": column(lambda: rng.randrange(-big, big), pa.int64()),
            "flag": column(lambda: rng.random() < 0.5, pa.bool_()),
        }
    )


def random_request(rng: Random, key: list[str]) -> dict[str, Any]:
    """Draw the arguments of an aggregate: by key, of all keys, or by something else."""
    numbers = [f"{label}.{name}" for label in "ab" for name in "dn"]
    sums: dict[str, Any] = {"sum": rng.sample(numbers, 2), "avg": rng.sample(numbers, 1)}
    if rng.random() < 0.3:
        return rng.choice((sums, sums, {}))
    others = [f"{label}.{name}" for label in "ab" for name in ATTRIBUTES]
    groups = [*rng.sample([*key, *rng.choice((["start"], ["b.s"], ["b.at", "b.k"], []))], len(key))]
    if rng.random() < 0.7:
        groups += [name for name in key if name not in groups]
    else:
        groups = rng.choice(([], ["end"], ["b.s"], ["start"]))
    return sums | {
        "min": rng.sample(others, 2),
        "max": rng.sample(others, 2),
        "group_by": groups,
        "count": rng.random() < 0.8,
    }


def in_parts(rng: Random, query: cerlab.Query, events: Any, asked: dict[str, Any]) -> Any:
    """Return an aggregate by groups of keys, and their number."""
    events_of_group = rng.choice((1, 3, 10))
    with (
        patch.object(totals, "MANY", 0),
        patch.object(totals, "OF_A_GROUP", events_of_group),
        patch.object(totals, "SHORT", 0),
        patch.object(stream, "PART", 5),
        patch.object(arrow, "SHORT_FILE", 0),
        patch.object(by_keys, "_part_of", wraps=by_keys._part_of) as part_of,
    ):
        return query.run(events).aggregate(**asked), part_of.call_count


def agree(rng: Random) -> bool:
    """Compare an aggregate by groups of keys with that of the whole stream."""
    key = rng.choice(KEYS)
    formula, clauses = rng.choice(FORMULAS), rng.choice(CLAUSES)
    consume = clauses.partition(" CONSUME")
    filters = formula.partition(" FILTER")
    text = f"SELECT * WHERE {''.join(filters)} PARTITION BY [{', '.join(key)}]{''.join(consume)}"
    query, table, asked = cerlab.parse_query(text), random_table(rng), random_request(rng, key)
    with tempfile.TemporaryDirectory() as folder:
        events: Any = table
        if rng.random() < 0.7:
            events = Path(folder, "events.parquet")
            pq.write_table(table, events, row_group_size=5)
        with patch.object(totals, "SHORT", 0):
            whole = query.run(events).aggregate(**asked)
        apart, groups = in_parts(rng, query, events, asked)
    assert apart.schema == whole.schema, text
    assert apart.to_pylist() == whole.to_pylist(), text
    return bool(groups > 1 and whole.num_rows)


def test_groups_of_keys_have_the_totals_of_the_stream(suite: Suite) -> None:
    suite.run(agree, deep_count=5_000, needs_answers=0.3)


QUERY = "SELECT * WHERE A AS a ; B AS b PARTITION BY [k] WITHIN 9 [ts]"


def rows_of(**changes: dict[int, Any]) -> Any:
    """Return A and B of 10 keys in turn, and C, with other values at some rows."""
    columns: dict[str, list[Any]] = {
        "type": ["A", "B", "C"] * 40,
        "k": [n // 3 % 10 for n in range(120)],
        "ts": [n // 3 for n in range(120)],
        "d": [n / 4 for n in range(120)],
    }
    for name, values in changes.items():
        for row, value in values.items():
            columns[name][row] = value
    return pa.table(columns)


@pytest.mark.parametrize(
    "changes",
    [{"d": {5: float("inf")}}, {"ts": {8: -1}}, {"ts": {62: None}}],
    ids=["infinity", "earlier", "missing"],
)
def test_errors_are_those_of_the_whole_stream(changes: dict[str, dict[int, Any]]) -> None:
    """Events of type C are in no answer, and their values are checked all the same."""
    query, events = cerlab.parse_query(QUERY), rows_of(**changes)
    with pytest.raises(cerlab.BadData) as whole:
        query.run(events).aggregate(sum="b.d", group_by="key")
    with pytest.raises(cerlab.BadData) as apart:
        in_parts(Random(1), query, events, {"sum": "b.d", "group_by": "key"})
    assert str(apart.value) == str(whole.value)


def test_counts_by_groups_of_keys() -> None:
    query, events = cerlab.parse_query(QUERY), rows_of()
    answers = cerlab.evaluate(query, events, evaluator="tecs")
    with (
        patch.object(totals, "MANY", 0),
        patch.object(totals, "OF_A_GROUP", 7),
        patch.object(thresholds, "SHORT", 0),
        patch.object(totals, "counts", wraps=totals.counts) as of_groups,
    ):
        assert query.run(events).count() == len(answers) > 0
    assert of_groups.call_count == 10  # one key fills a group


def test_a_full_disk_names_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no /dev/full")
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(tmp_path))
    with open("/dev/full", "r+b", buffering=0) as full:
        monkeypatch.setattr(grouped_rows, "TemporaryFile", lambda: full)
        with pytest.raises(OSError, match="No space left") as caught:
            in_parts(Random(1), cerlab.parse_query(QUERY), rows_of(), {"group_by": "key"})
    assert caught.value.filename == os.fspath(tmp_path)


def sums_of_other_units(self: by_keys.JoinedTotals, place: tuple[str, str]) -> Any:
    """Sums of groups of keys are added as if all were multiples of the unit of the first group."""
    pairs = [pair for part in self._parts for pair in part.sums[place][0]]
    of = self._parts[0].sums[place][1]
    if self._request.groups:
        return [pairs[n] for n in self._order], of
    return [(sum(x for x, _ in pairs), sum(n for _, n in pairs))], of


def in_the_order_of_groups(self: by_keys.JoinedTotals, arrays: Any) -> Any:
    """Rows of groups of keys come one group after the other."""
    return pa.chunked_array(arrays).unify_dictionaries().combine_chunks()


def with_places_in_the_group(part: Any, request: Any, positions: Any) -> Any:
    """The first ends are numbers of events of the group."""
    return _PART_OF(part, request, np.arange(len(positions)))


def all_groups_are_apart(request: Any, plan: Any, events: Any) -> bool:
    """Groups of every request have the answers of one key."""
    return bool(request.groups) or _ARE_APART(request, plan, events)


_ARE_APART, _PART_OF = by_keys._are_apart, by_keys._part_of
AGREEMENT = on_seeds(agree, 1_000)

test_the_mutant_is_killed = kills(
    [
        mutant(AGREEMENT, by_keys.JoinedTotals, "sums", sums_of_other_units),
        mutant(AGREEMENT, by_keys.JoinedTotals, "_in_order", in_the_order_of_groups),
        mutant(AGREEMENT, by_keys, "_part_of", with_places_in_the_group),
        mutant(AGREEMENT, by_keys, "_are_apart", all_groups_are_apart),
    ]
)
