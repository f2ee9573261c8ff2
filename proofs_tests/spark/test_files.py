"""Files that tasks read themselves: any layout has the answers of the local engine, or is refused.

A stream is written to Parquet files in row groups of any size, in order or not, with statistics or
without, by random queries over every clause. What runs in tasks is the code of `cerlab.spark`;
Spark itself is in `test_files_on_spark`.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cerlab
from cerlab.automata.plan_json import plan_to_bytes
from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import EventWindow
from cerlab.spark.batch.files import refuse_input
from cerlab.spark.plan import files as plan_files
from cerlab.spark.plan import footers
from cerlab.spark.plan.files import ranges_in_files
from cerlab.spark.plan.footers import Columns, Unproved, layout
from cerlab.spark.plan.modes import Mode
from cerlab.spark.plan.order import Labels
from cerlab.spark.plan.reads import attributes_read, time_attribute
from cerlab.spark.plan.relevant_events import why_all_events
from cerlab.spark.plan.runs import in_order, runs_in
from cerlab.spark.tasks import files as task_files
from cerlab.spark.tasks.aggregates import GroupRows
from cerlab.spark.tasks.evaluation import Evaluation, Job
from cerlab.spark.tasks.files import answers_of_range
from cerlab.spark.tasks.named_rows import RowNames
from cerlab.testing import with_limit
from proofs_tests.spark.cases import TIME, Typed, _answers, _place
from proofs_tests.spark.layouts import assigned, evaluated, random_files, random_layout
from proofs_tests.spark.test_any_split import case_for, fails
from proofs_tests.suite import Suite


def write(rng: Random, table: Any, folder: Path) -> list[str]:
    """The rows in files and row groups, pieces of the stream that may lie in any order."""
    rows = table.num_rows
    order = list(range(rows))
    for _ in range(rng.choice((0, 0, 2, 20)) if rows else 0):  # rows near each other change places
        i = rng.randrange(rows)
        j = min(rows - 1, i + rng.randrange(3))
        order[i], order[j] = order[j], order[i]
    cuts = sorted(rng.randrange(rows + 1) for _ in range(rng.choice((0, 1, 3, 6))))
    pieces = [order[a:b] for a, b in zip([0, *cuts], [*cuts, rows], strict=True)]
    rng.shuffle(pieces)
    if rng.random() < 0.1 and len(pieces) > 1:
        pieces[0], pieces[1] = pieces[0][::2] + pieces[1][::2], pieces[0][1::2] + pieces[1][1::2]
    paths = []
    for n, piece in enumerate(pieces):
        path = folder / f"{n}.parquet"
        stated: Any = rng.random() > 0.02 or ["v", "k"]
        length = rng.choice((1, 2, 5, 100))
        whole = table.take(pa.array(piece, pa.int64()))
        pq.write_table(whole, path, row_group_size=length, write_statistics=stated)
        paths.append(str(path))
    return paths


def in_files(case: Typed, mode: Mode, rng: Random, folder: Path) -> list[ComplexEvent]:
    """The answers by the tasks of all ranges; raises `Unproved` where the footers do not do."""
    return sorted(_answers(batches_in_files(case, mode, rng, folder)), key=_place)


def batches_in_files(
    case: Typed, mode: Mode, rng: Random, folder: Path, names: RowNames | GroupRows | None = None
) -> list[Any]:
    """The record batches of answers, or of rows with names; raises as `in_files`."""
    plan = case.query.plan
    if plan.streams:
        raise Unproved("FROM")
    rows = case.table.num_rows
    ids = range(rows) if case.positions is None else case.positions
    table = case.table.append_column("id", pa.array(ids, pa.int64()))
    paths = write(rng, table, folder)
    attributes = attributes_read(plan, TIME)
    if names is not None:
        attributes = names.read(plan, attributes)
    time = None if plan.window is None or isinstance(plan.window, EventWindow) else "t"
    keys = rng.choice((("id",), ("t", "id")))
    columns = Columns(keys, case.positions is not None, time, attributes, None)
    lie = layout(paths, columns)
    parts = rng.choice((1, 2, 5, 40))
    labels = Labels(keys, time_attribute(plan, TIME))
    ranges = ranges_in_files(lie, columns, labels, plan, TIME, mode, parts)
    job = Job(plan_to_bytes(plan), TIME, attributes, names=names)
    return [batch for part in range(ranges.parts) for batch in answers_of_range(part, job, ranges)]


def check(rng: Random, mode: Mode, folder: Path) -> bool:
    """A case in files; of drawn ones the first that the footers prove."""
    while True:
        case = case_for(rng, mode)
        expected = case.expected()
        try:
            found = in_files(case, mode, rng, folder)
        except Unproved:
            continue
        break
    if found != expected:
        lost, more = Counter(expected) - Counter(found), Counter(found) - Counter(expected)
        pytest.fail(f"{mode}: lost {lost}, more {more}\n{case.describe()}")
    return bool(expected)


@pytest.mark.parametrize("mode", [Mode.RANGES, Mode.ONE])
def test_a_stream_in_files_has_the_answers_of_the_whole(
    suite: Suite, mode: Mode, tmp_path: Path
) -> None:
    suite.run(lambda rng: check(rng, mode, tmp_path), deep_count=3_000)


def test_limit_is_per_end(suite: Suite, tmp_path: Path) -> None:
    def case(rng: Random) -> bool:
        while True:
            drawn = case_for(rng, Mode.RANGES)
            limited = Typed(with_limit(drawn.ast, 2), drawn.table, drawn.positions)
            try:
                found = in_files(limited, Mode.RANGES, rng, tmp_path)
            except Unproved:
                continue
            break
        assert set(found) == set(limited.expected())
        assert len(found) == len(set(found))
        return bool(found)

    suite.run(case, deep_count=400)


def some_of_files(rng: Random, mode: Mode, folder: Path) -> bool:
    """Some rows of files, which Spark reads; of drawn cases the first that the footers prove."""
    while True:
        case = case_for(rng, mode)
        plan = case.query.plan
        if case.positions is None or why_all_events(plan) is not None:
            continue
        ids = pa.array(case.positions, pa.int64())
        paths = write(rng, case.table.append_column("id", ids), folder)
        time = None if plan.window is None else "t"
        columns = Columns(("id",), True, time, ("type",), None)
        try:
            lie = layout(paths, columns)
        except Unproved:
            continue
        labels = Labels(columns.keys, time_attribute(plan, TIME))
        ranges = ranges_in_files(lie, columns, labels, plan, TIME, Mode.KEYS, rng.choice((1, 3)))
        numbers = pa.table({"id": pa.array(range(ranges.parts), pa.int64())}).to_batches()
        rows = [row for b in task_files.runs_of_files(numbers, ranges) for row in b.to_pylist()]
        assert not any(row["what"] for row in rows)
        runs = in_order(runs_in(rows, 1) or [], positions=True)
        assert runs is not None
        chosen = sorted(rng.sample(range(len(ids)), rng.randrange(len(ids) + 1)))
        break
    places = tuple(case.positions[row] for row in chosen)
    some = Typed(case.ast, case.table.take(pa.array(chosen, pa.int64())), places)
    spread = random_layout(rng, random_files(rng, len(chosen), ordered=True))
    keys = {"k0": pa.array(places, pa.int64())}
    made = assigned(some, mode, runs, spread)
    assert evaluated(some, mode, keys, made, spread, rng) == some.expected()
    return bool(some.expected())


@pytest.mark.parametrize("mode", list(Mode))
def test_some_rows_of_files_have_the_answers_of_those(
    suite: Suite, mode: Mode, tmp_path: Path
) -> None:
    suite.run(lambda rng: some_of_files(rng, mode, tmp_path), deep_count=1_000, needs_answers=0.3)


QUERY = cerlab.parse_query("SELECT * WHERE A ; B WITHIN 4 [t]")


def stream(**changed: Any) -> Any:
    """Eight events, A and B in turns, a time and a number each."""
    columns = {"type": list("ABABABAB"), "t": list(range(8)), "id": list(range(8))}
    return pa.table({**columns, **changed})


COLUMNS = Columns(("id",), True, "t", ("type", "t"), None)


def answers_in(paths: list[str], columns: Columns = COLUMNS, parts: int = 3) -> int:
    """How many answers all ranges find."""
    labels = Labels(columns.keys, columns.time)
    ranges = ranges_in_files(
        layout(paths, columns), columns, labels, QUERY.plan, None, Mode.RANGES, parts
    )
    job = Job(plan_to_bytes(QUERY.plan), None, columns.attributes)  # type: ignore[arg-type]  # all there
    found = [b for part in range(ranges.parts) for b in answers_of_range(part, job, ranges)]
    return sum(batch.num_rows for batch in found)


def written(folder: Path, table: Any, **options: Any) -> list[str]:
    path = folder / "events.parquet"
    pq.write_table(table, path, row_group_size=2, **options)
    return [str(path)]


@pytest.mark.parametrize(
    ("table", "options", "reason"),
    [
        (stream(id=[*range(7), None]), {}, "NULL"),
        (stream(t=[*range(7), None]), {}, "NULL"),
        (stream(), {"write_statistics": ["t"]}, "no statistics"),
        (stream(id=[f"{n}" for n in range(8)]), {}, "no integer and no moment"),
        (stream(t=[n / 2 for n in range(8)]), {}, "no integer and no moment"),
        (stream(id=pa.array(range(8), pa.uint64())), {}, "uint64"),
        (stream(t=pa.array(range(8), pa.decimal128(9, 2))), {}, "decimal"),
        (stream(type=pa.array([b"A"] * 8, pa.binary())), {}, "binary"),
        (stream(t=[0, 1, 2, 3, 0, 1, 2, 3]), {}, "goes back"),
        (stream().drop(["t"]), {}, "no column 't'"),
    ],
)
def test_what_footers_do_not_prove(
    table: Any, options: dict[str, Any], reason: str, tmp_path: Path
) -> None:
    paths = written(tmp_path, table, **options)
    with pytest.raises(Unproved, match=reason):
        layout(paths, COLUMNS)


def test_files_of_different_columns_are_not_one_stream(tmp_path: Path) -> None:
    paths = []
    for n, kind in enumerate((pa.int64(), pa.int32())):
        paths += [str(tmp_path / f"{n}.parquet")]
        pq.write_table(stream(t=pa.array(range(8), kind)), paths[-1])
    with pytest.raises(Unproved, match="not the same columns"):
        layout(paths, COLUMNS)


@pytest.mark.parametrize(
    ("table", "code"),
    [
        (stream(id=[0, 1, 2, 3, 4, 5, 6, 6]), "CER0782"),
        (stream(t=[0, 1, 3, 2, 4, 5, 6, 7]), "CER0714"),
        (stream(type=[*"ABABABA", None]), "CER0701"),
        (stream(type=[*"ABABABA", ""]), "CER0701"),
    ],
)
def test_rows_that_are_no_stream_are_found_by_the_task(
    table: Any, code: str, tmp_path: Path
) -> None:
    with pytest.raises(cerlab.BadData, match=code):
        answers_in(written(tmp_path, table))


def test_equal_keys_across_row_groups_are_found(tmp_path: Path) -> None:
    columns = Columns(("id",), False, "t", ("type", "t"), None)
    paths = written(tmp_path, stream(id=[0, 1, 2, 3, 3, 5, 6, 7]))
    with pytest.raises(cerlab.BadData, match="CER0781: at position 4"):
        answers_in(paths, columns)


@pytest.mark.parametrize("changed", [{"id": [*range(7), 70]}, {"t": [0, 1, 2, 3, 4, 5, 6, 60]}])
def test_a_footer_that_is_not_that_of_its_rows_is_found(
    changed: dict[str, Any], tmp_path: Path
) -> None:
    """The file is another one when tasks read it than when the driver read its footer."""
    paths = written(tmp_path, stream())
    lie = layout(paths, COLUMNS)
    written(tmp_path, stream(**changed))
    labels = Labels(COLUMNS.keys, COLUMNS.time)
    ranges = ranges_in_files(lie, COLUMNS, labels, QUERY.plan, None, Mode.RANGES, 3)
    job = Job(plan_to_bytes(QUERY.plan), None, ("type", "t"))
    with pytest.raises(cerlab.BadData, match="CER0783"):
        list(answers_of_range(ranges.parts - 1, job, ranges))


def test_a_type_that_no_column_has(tmp_path: Path) -> None:
    columns = Columns(("id",), True, "t", (None, "t"), "A")
    paths = written(tmp_path, stream().drop(["type"]))
    assert answers_in(paths, columns) == 0
    assert answers_in(written(tmp_path, stream())) == 7  # 0-1 0-3 2-3 2-5 4-5 4-7 6-7


def test_the_keys_of_answers_are_text_and_no_codes(tmp_path: Path) -> None:
    query = cerlab.parse_query("SELECT * WHERE A ; B PARTITION BY [name] WITHIN 4 [t]")
    columns = Columns(("id",), True, "t", ("type", "name", "t"), None)
    paths = written(tmp_path, stream(name=list("xxyyxxyy")))
    labels = Labels(columns.keys, columns.time)
    ranges = ranges_in_files(
        layout(paths, columns), columns, labels, query.plan, None, Mode.RANGES, 2
    )
    job = Job(plan_to_bytes(query.plan), None, ("type", "name", "t"), with_partition=True)
    made = pa.Table.from_batches(
        b for part in range(ranges.parts) for b in answers_of_range(part, job, ranges)
    )
    keys = made.column("partition")
    assert keys.type == pa.struct([("name", pa.string())])
    assert sorted(key["name"] for key in keys.to_pylist()) == list("xxyy")
    numbers = pa.table({"id": pa.array(range(ranges.parts), pa.int64())}).to_batches()
    told = [*task_files.write_files(numbers, job, ranges, str(tmp_path), made.schema)]
    files = [tmp_path / name for batch in told for name in batch.column("name").to_pylist()]
    assert pa.concat_tables(map(pq.read_table, files)).equals(made)
    chunk = pq.ParquetFile(files[0]).metadata.row_group(0).column
    used = {chunk(n).path_in_schema: set(chunk(n).encodings) & _WAYS for n in range(4)}
    assert {path for path, ways in used.items() if ways == {"DELTA_BINARY_PACKED"}} == _NUMBERS
    assert "RLE_DICTIONARY" in used["partition.name"]


_WAYS = {"PLAIN", "RLE_DICTIONARY", "DELTA_BINARY_PACKED"}
_NUMBERS = {"start", "end", "positions.list.element"}


def test_answers_never_replace_the_events(tmp_path: Path) -> None:
    """Also by a link, and from a folder above them."""
    events = tmp_path / "events"
    events.mkdir()
    lie = layout(written(events, stream()), COLUMNS)
    labels = Labels(COLUMNS.keys, COLUMNS.time)
    ranges = ranges_in_files(lie, COLUMNS, labels, QUERY.plan, None, Mode.RANGES, 2)
    link = tmp_path / "link"
    link.symlink_to(events)
    for place in (events, tmp_path, link, events / "events.parquet"):
        with pytest.raises(cerlab.UsageError, match="CER0890"):
            refuse_input(place, ranges)
    refuse_input(tmp_path / "answers", ranges)


@pytest.mark.parametrize(
    ("table", "what"),
    [
        (stream(id=[0, 1, 2, 3, 4, 5, 6, 6]), "CER0782"),
        (stream(t=[0, 1, 3, 2, 4, 5, 6, 7]), "CER0714"),
        (stream(type=[*"ABABABA", None]), "CER0701"),
    ],
)
def test_files_that_are_no_stream_prove_nothing_of_their_rows(
    table: Any, what: str, tmp_path: Path
) -> None:
    paths = written(tmp_path, table)
    labels = Labels(COLUMNS.keys, COLUMNS.time)
    ranges = ranges_in_files(
        layout(paths, COLUMNS), COLUMNS, labels, QUERY.plan, None, Mode.KEYS, 2
    )
    numbers = pa.table({"id": pa.array(range(ranges.parts), pa.int64())}).to_batches()
    rows = [row for b in task_files.runs_of_files(numbers, ranges) for row in b.to_pylist()]
    assert [row["what"][:7] for row in rows if row["what"]] == [what]


def seen(folder: Path) -> bool:
    """Whether one of 80 cases fails."""
    return any(fails(lambda rng: check(rng, Mode.RANGES, folder), seed) for seed in range(80))


@pytest.mark.parametrize("begins", ["begins_in_time", "begins_in_events"])
def test_a_cluster_that_a_window_needs_is_missed(
    monkeypatch: pytest.MonkeyPatch, begins: str, tmp_path: Path
) -> None:
    right = getattr(plan_files, begins)

    def late(runs: Any, starts: Any, width: Any) -> list[int]:
        return [
            min(n + 1, start) for n, start in zip(right(runs, starts, width), starts, strict=True)
        ]

    monkeypatch.setattr(plan_files, begins, late)
    assert seen(tmp_path)


def test_rows_that_are_not_sorted_inside_a_cluster_are_seen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(task_files, "increase", lambda _: True)
    assert seen(tmp_path)


def test_answers_of_the_window_before_a_range_are_seen(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def given(self: Any, answers: Any, rows: Any, begins: int) -> Any:
        yield self._record_batch(answers, 0, rows, begins)

    monkeypatch.setattr(Evaluation, "_given", given)
    assert seen(tmp_path)


@pytest.mark.parametrize(
    ("kind", "nanoseconds"),
    [
        (pa.date32(), 24 * 3600 * 10**9),
        (pa.timestamp("ms"), 10**6),
        (pa.timestamp("us"), 1000),
        (pa.int64(), 1),
    ],
    ids=str,
)
def test_the_unit_of_a_time_column_in_nanoseconds(
    kind: Any, nanoseconds: int, tmp_path: Path
) -> None:
    pq.write_table(pa.table({"t": pa.array([], kind)}), tmp_path / "e.parquet")
    columns = Columns((), has_position=False, time="t", attributes=(), type=None)
    assert footers._unit(pq.ParquetFile(tmp_path / "e.parquet"), columns) == nanoseconds
