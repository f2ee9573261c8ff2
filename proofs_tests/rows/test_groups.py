"""Row patterns on files that are evaluated by groups of keys: the result of the table."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, get_args
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab import BadData
from cerlab.io import arrow
from cerlab.predicates.columns import grouped_rows
from cerlab.predicates.columns.key_codes import rows_by_code
from cerlab.rows import expressions as ex
from cerlab.rows import groups, recognise
from cerlab.rows.recognise import RowEvaluator
from cerlab.testing import random_row_pattern, random_row_table
from cerlab.testing.rows import Reach
from proofs_tests.mutants.driver import kills, mutant, on_seeds
from proofs_tests.rows.tables import typed_table
from proofs_tests.rows.test_search import outcome
from proofs_tests.rows.test_walk import NOT_TAKEN
from proofs_tests.suite import Suite

OF_FILES: tuple[RowEvaluator, ...] = ("search", "compiled", "auto")
KEYS: dict[str, Callable[[int], Any]] = {
    "integers": int,
    "texts": "k{}".format,
    "moments": lambda n: datetime(2026, 1, 1) + timedelta(days=n),
    "truths": bool,
}


def drawn_table(rng: Random) -> Any:
    """Return a table of many keys of some kind, NULL among them."""
    keys, value = rng.choice((3, 5, 12)), KEYS[rng.choice([*KEYS])]
    rows = random_row_table(rng, rows=rng.choice((12, 20, 40)))
    table = typed_table(rows)
    own = [rng.randrange(-1, keys) for _ in rows]
    column = pa.array([None if n < 0 else value(n) for n in own])
    return table.set_column(0, "g", column if column.null_count < len(own) else table["g"])


def agree(rng: Random) -> bool:
    """Check a clause on a file with small groups; return whether groups had rows of a result."""
    query = random_row_pattern(rng, rng.choice(get_args(Reach)), temporal=rng.random() < 0.2)
    keys = rng.choice((("g",), ("g",), ("g", "s"), ("x", "g")))
    query, table = replace(query, partition_by=tuple(map(ex.Column, keys))), drawn_table(rng)
    size, evaluator = rng.choice((1, 3, 6)), rng.choice(OF_FILES)
    groups_seen = list[int]()

    def counted(*arguments: Any) -> Any:
        groups_seen.append(1)
        return _RESULTS(*arguments)

    with (
        TemporaryDirectory() as folder,
        patch.object(groups, "PART", size),
        patch.object(groups, "ROWS", rng.choice((1, 4, 10))),
        patch.object(recognise, "SHORT", rng.choice((0, 5))),
        patch.object(groups, "_results", counted),
    ):
        path = Path(folder, "rows.parquet")
        pq.write_table(table, path, row_group_size=rng.choice((1, size)))
        ours = outcome(query, path, evaluator)
    expected = outcome(query, table, evaluator)
    if NOT_TAKEN in (ours[0], expected[0]):
        return False
    assert ours == expected, f"{evaluator} {query}\n{table.to_pylist()}"
    return bool(groups_seen) and expected[1] != "[]" and not isinstance(expected[0], str)


_RESULTS = groups._results


def test_files_by_groups_agree_with_tables(suite: Suite) -> None:
    suite.run(agree, deep_count=5_000, needs_answers=0.4)


ROWS, PART, ROW_GROUP = 4_000, 500, 300


@pytest.fixture
def small_groups() -> Iterator[None]:
    with patch.object(groups, "PART", PART), patch.object(groups, "ROWS", 2 * PART):
        yield


def rows_of(**changes: dict[int, Any]) -> Any:
    """Return rows of 100 users in turn, with other values at some rows."""
    columns: dict[str, list[Any]] = {
        "user": [f"u{n % 100}" for n in range(ROWS)],
        "n": [*range(ROWS)],
        "at": [datetime(2026, 1, 1) + timedelta(seconds=n) for n in range(ROWS)],
        "unread": ["text"] * ROWS,
    }
    for name, cells in changes.items():
        for row, value in cells.items():
            columns[name][row] = value
    return pa.table(
        columns,
        pa.schema({"user": "string", "n": "int64", "at": pa.timestamp("us"), "unread": "string"}),
    )


def file_of(table: Any, folder: Path) -> Path:
    pq.write_table(table, folder / "rows.parquet", row_group_size=ROW_GROUP)
    return folder / "rows.parquet"


CLAUSES = {
    "no row to skip to": """MEASURES COUNT(*) AS c AFTER MATCH SKIP TO B
        PATTERN (A B?) DEFINE A AS n < 2, B AS n = 1""",
    "far moments": """ORDER BY at MEASURES COUNT(*) AS c
        PATTERN (A+) WITHIN INTERVAL '1' HOUR""",
    "integers beyond 64 bits": """MEASURES LAST(n) * 4611686018427387904 AS a,
        FIRST(n) * 4611686018427387904 * 9 AS b PATTERN (A+)""",
}


@pytest.mark.parametrize("kind", CLAUSES)
@pytest.mark.parametrize("row", [0, 1, 777, ROWS - 1])
@pytest.mark.usefixtures("small_groups")
def test_errors_are_those_of_the_table(kind: str, row: int, tmp_path: Path) -> None:
    clause = f"MATCH_RECOGNIZE (PARTITION BY user {CLAUSES[kind]})"
    rows = rows_of(n={row: 0}, at={row: datetime(2500, 1, 1)})
    errors = []
    for source in (rows, file_of(rows, tmp_path)):
        with pytest.raises(BadData) as caught:
            cerlab.match_recognize(clause, source)
        errors.append((caught.value.code, caught.value.row, caught.value.column, str(caught.value)))
    assert errors[0] == errors[1]


SESSIONS = """MATCH_RECOGNIZE (PARTITION BY user ORDER BY n MEASURES COUNT(*) AS c
    PATTERN (A B*) DEFINE B AS n <= PREV(n) + 100)"""


@pytest.mark.usefixtures("small_groups")
def test_a_group_and_a_part_are_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a column of the file nor a table of the search has more rows; some are not read."""
    read, names, searched = list[int](), set[str](), list[int]()
    whole, scan = arrow.ColumnFile.table, recognise._compiled_result

    def table_of(self: Any, some: Any = None, **how: Any) -> Any:
        table = whole(self, some, **how)
        names.update(table.column_names)
        read.append(table.num_rows)
        return table

    def searching(M: Any, binding: Any, rows: Any, **how: Any) -> Any:
        searched.append(rows.num_rows)
        assert not any((tmp_path / "parts").iterdir()), "files without a name end with the process"
        return scan(M, binding, rows, **how)

    (tmp_path / "parts").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(tmp_path / "parts"))
    monkeypatch.setattr(arrow.ColumnFile, "table", table_of)
    monkeypatch.setattr(recognise, "_compiled_result", searching)
    path = file_of(rows_of(), tmp_path)
    result = cerlab.match_recognize(SESSIONS, path, evaluator="compiled")
    assert result.num_rows == 100
    assert max(read) < PART + ROW_GROUP
    assert names == {"user", "n"}
    assert len(searched) == ROWS // (2 * PART)
    assert max(searched) == 2 * PART


@pytest.mark.usefixtures("small_groups")
def test_a_full_disk_names_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", os.fspath(tmp_path))
    with open("/dev/full", "r+b", buffering=0) as full:
        monkeypatch.setattr(grouped_rows, "TemporaryFile", lambda: full)
        with pytest.raises(OSError, match="No space left") as caught:
            cerlab.match_recognize(SESSIONS, file_of(rows_of(), tmp_path))
    assert caught.value.filename == os.fspath(tmp_path)


@pytest.mark.usefixtures("small_groups")
def test_keys_are_shown_with_their_values(tmp_path: Path) -> None:
    """Keys that conditions read, keys that nothing else reads, and both."""
    rows = rows_of(user=dict.fromkeys(range(0, ROWS, 7)))
    rows = rows.append_column("big", pa.array([n % 3 for n in range(ROWS)], pa.uint8()))
    path = file_of(rows, tmp_path)
    for key in ("user", "big, user", "user, big, unread"):
        for mode in ("ONE ROW PER MATCH", "ALL ROWS PER MATCH"):
            for define in ("big = 1", "user > 'u5' OR n < 50"):
                clause = f"""MATCH_RECOGNIZE (PARTITION BY {key} MEASURES COUNT(*) AS c
                    {mode} PATTERN (A+ B) DEFINE A AS {define})"""
                expected = cerlab.match_recognize(clause, rows)
                assert cerlab.match_recognize(clause, path).equals(expected), clause


@pytest.mark.usefixtures("small_groups")
@pytest.mark.parametrize("kind", [pa.float64(), pa.dictionary(pa.int32(), pa.string())])
def test_keys_that_arrow_tells_apart_are_read_whole(kind: Any, tmp_path: Path) -> None:
    """Zeros of doubles are equal and differ in Arrow; dictionaries of parts are several."""
    column = pa.array(["0.0", "1.0"] * (ROWS // 2)).cast(kind)
    rows = rows_of().set_column(0, "user", column)
    seen = list[int]()
    with patch.object(groups, "_groups_of_keys", lambda *_: seen.append(1)):
        cerlab.match_recognize(SESSIONS, file_of(rows, tmp_path))
    assert not seen


def null_is_no_key(self: groups._Numbers, column: Any) -> Any:
    """Rows without a key are of the first key."""
    return _NUMBERS(
        self, column.fill_null(column.drop_null()[0]) if len(column.drop_null()) else column
    )


def keys_in_turn(*arguments: Any) -> Any:
    """Keys go to the groups in turn, so groups have no consecutive numbers."""
    found = _GROUPS(*arguments)
    if found is None:
        return None
    keys = np.arange(-len(found.of_key), 0)
    return found._replace(of_key=keys % found.number)


def keys_in_two_groups(self: groups._Groups, rows: int) -> Any:
    """A row of each part is of the first key."""
    found = _NEXT(self, rows)
    found[:1] = 0
    return found


def values_of_other_keys(self: groups._Keys) -> Any:
    """The last key has the values of the first, and so on."""
    return {name: values[::-1] for name, values in _VALUES(self).items()}


def row_of_the_group(self: groups._Groups, group: int, row: int) -> int:
    """An error has the row in its group."""
    return row


def parts_in_reverse(groups_of_rows: Any, count: int) -> Any:
    """Rows of a part come in the opposite order."""
    order = _BY_CODE(groups_of_rows, count)
    return order[::-1][groups_of_rows[order[::-1]].argsort(kind="stable")]


_NUMBERS, _GROUPS = groups._Numbers.of, groups._groups_of_keys
_NEXT, _BY_CODE = groups._Groups.next_codes, rows_by_code
_VALUES = groups._Keys.values
AGREEMENT = on_seeds(agree, 1_000)

MUTANTS = [
    mutant(AGREEMENT, groups._Numbers, "of", null_is_no_key),
    mutant(AGREEMENT, groups, "_groups_of_keys", keys_in_turn),
    mutant(AGREEMENT, groups._Groups, "next_codes", keys_in_two_groups),
    mutant(AGREEMENT, groups._Groups, "row", row_of_the_group),
    mutant(AGREEMENT, groups._Keys, "values", values_of_other_keys),
    mutant(AGREEMENT, grouped_rows, "rows_by_code", parts_in_reverse),
]

test_the_mutant_is_killed = kills(MUTANTS)
