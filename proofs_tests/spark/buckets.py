"""Buckets of keys through many micro-batches, with the work of Spark done by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pyarrow as pa

import cerlab
from cerlab import ComplexEvent, Stream
from cerlab.automata.plan import Plan, PlanClauses, plan_to_bytes
from cerlab.engine.row_order import ColumnNames
from cerlab.logic.ceql.syntax import query_text
from cerlab.model.clauses import TimeWindow
from cerlab.model.stream import Until
from cerlab.predicates.truth import partition_key
from cerlab.spark.plan import Mode, why_not
from cerlab.spark.stream.request import attributes_of_stream
from cerlab.spark.stream.state import BucketState, state_from_bytes
from cerlab.spark.stream.step import BucketStep, StreamJob, digest, empty_state, machine_of
from cerlab.spark.stream.waits import clauses_of
from cerlab.spark.task_outputs import RowNames
from proofs_tests.spark.cases import TIME, SparkCase

LABELS = ColumnNames(("t", "id"), "t")


def positions_of(rows: Any) -> list[int]:
    positions: list[int] = rows.column("position").to_pylist()
    return positions


@dataclass(frozen=True)
class BucketResults:
    """The results of all buckets: answers, or rows with names or of a row pattern."""

    answers: list[ComplexEvent]
    rows: list[dict[str, Any]]
    late: list[int]
    waiting: set[int]
    """The positions of rows that are held back."""
    states: dict[int, bytes]
    bad: list[tuple[int | None, str]]
    """The positions of rows in quarantine, each with its reason."""


def plan_of(case: SparkCase) -> PlanClauses:
    """The plan of a query with an automaton, or the clauses of another one."""
    return case.query.plan if case.query.machine_kind == "automaton" else clauses_of(case.query)


def job_of(
    case: SparkCase,
    plan: PlanClauses,
    lateness: int,
    lag: int | None,
    tick: int,
    row_names: RowNames | None = None,
    *,
    quarantine: bool = False,
) -> StreamJob:
    lengths = (plan.window, plan.throttle)
    time = TIME if any(isinstance(each, TimeWindow) for each in lengths) else None
    names = attributes_of_stream(case.query, plan, time, row_names)
    whole = query_text(replace(case.ast, streams=()))
    kinds = tuple(
        str(case.table.schema.field(n).type) if n in case.table.column_names else "string"
        for n in names
    )
    kind = str(case.table.schema.field("t").type)
    ticks = (None, None) if lag is None else (tick, -(-lag // tick) * tick)
    return StreamJob(
        plan_to_bytes(replace(plan, streams=())) if isinstance(plan, Plan) else b"",
        time,
        names,
        kinds,
        kind,
        LABELS,
        lateness,
        keys=tuple(names.index(name) for name in dict.fromkeys(plan.partition)),
        by_key=why_not(plan, Mode.KEYS) is None,
        with_partition=False,
        names=row_names,
        tick=ticks[0],
        lag=ticks[1],
        quarantine=quarantine,
        query="" if isinstance(plan, Plan) else whole,
        waits=case.query.machine_kind == "waits",
    )


def buckets_of(
    case: SparkCase, plan: PlanClauses, job: StreamJob, buckets: int = 1
) -> dict[int, Any]:
    """The rows of so many buckets, as tasks get them; of all where that is the only exact way."""
    table, count = case.table, case.table.num_rows
    columns = {"position": pa.array(case.positions or range(count), pa.int64())}
    columns["time"] = table.column("t").combine_chunks()
    for n, name in enumerate(job.attributes):
        has_column = name in table.column_names
        columns[f"a{n}"] = (
            table.column(name).combine_chunks() if has_column else pa.nulls(count, "string")
        )
    whole = pa.table(columns)
    streams = table.column("stream").to_pylist()
    groups: dict[int, list[int]] = {}
    numbers: dict[Any, int] = {}
    for row, event in enumerate(case.stream.events):
        if plan.streams and streams[row] is not None and streams[row] not in plan.streams:
            continue
        key = partition_key(event, plan.partition) if job.by_key else ()
        if key is not None:
            bucket = numbers.setdefault(key, len(numbers)) % buckets
            groups.setdefault(bucket, []).append(row)
    return {bucket: whole.take(rows) for bucket, rows in groups.items()}


def feed(
    rng: Random, job: StreamJob, groups: dict[int, Any], slack: int, lag: int | None
) -> BucketResults:
    """All buckets through micro-batches that Spark could have made; then, with a lag, the end."""
    answers: list[ComplexEvent] = []
    named_rows: list[dict[str, Any]] = []
    late: list[int] = []
    bad: list[tuple[int | None, str]] = []
    states: dict[int, bytes] = {}
    queue = [(key, row) for key, table in groups.items() for row in range(table.num_rows)]
    times = {key: table.column("time").to_pylist() for key, table in groups.items()}
    behind = [rng.choice((0, rng.random(), 1)) * slack for _ in queue]
    order = [times[key][row] + late for (key, row), late in zip(queue, behind, strict=True)]
    queue = [queue[n] for n in sorted(range(len(queue)), key=lambda n: (order[n], rng.random()))]
    watermark, newest = None, 0
    while queue:
        size = rng.choice((1, 3, 10, 40))
        batch, queue = queue[:size], queue[size:]
        keys = {key for key, _ in batch} | (set(states) if watermark else set())
        for key in sorted(keys):
            mine = [row for each, row in batch if each == key]
            rng.shuffle(mine)
            rows = groups[key].take(pa.array(mine, pa.int64()))
            step = BucketStep(job, states.pop(key, None), rows, watermark)
            bad += zip(positions_of(step.bad), step.bad.column("why").to_pylist(), strict=True)
            take(step, key, named_rows if has_rows(job) else answers, late, states)
        if lag is not None and job.tick is not None:
            newest = max(newest, *(times[key][row] for key, row in batch))
            watermark = max(0, int(newest // job.tick) - -(-lag // job.tick)) or None
    if job.tick is not None:
        for key in list(states):
            step = BucketStep(job, states.pop(key), groups[key].slice(0, 0), 10**12)
            take(step, key, named_rows if has_rows(job) else answers, late, states)
    waiting = set()
    for state in states.values():
        waiting |= set(positions_of(read_state(job, state).sequences.pending_rows))
    return BucketResults(answers, named_rows, late, waiting, states, bad)


def has_rows(job: StreamJob) -> bool:
    """Return whether a job gives rows with names, or those of a row pattern."""
    return job.names is not None or job.result is not None


def take(
    step: BucketStep,
    key: int,
    rows_or_answers: list[Any],
    late: list[int],
    states: dict[int, bytes],
) -> None:
    if has_rows(step.job):
        rows_or_answers += [row for rows in step.rows() for row in rows.to_pylist()]
    else:
        for batch, ends in step.answers():
            assert positions_of(step.rows_of_ends.take(ends)) == batch.end.tolist()
            rows_or_answers.extend(batch)
    late += positions_of(step.late)
    state, _ = step.state()
    if state is not None:
        states[key] = state


def read_state(job: StreamJob, state: bytes) -> BucketState:
    return state_from_bytes(
        state, machine_of(job), digest(job), empty_state(job), by_key=job.by_key
    )


def without(case: SparkCase, positions: set[int], until: Until | None = None) -> list[ComplexEvent]:
    """The answers of the local engine if rows at these positions had never been."""
    at = case.positions or tuple(range(case.table.num_rows))
    rows = [row for row, position in enumerate(at) if position not in positions]
    stream = Stream.from_arrow(case.table.take(pa.array(rows, pa.int64())), time="t", unit="s")
    places = [at[row] for row in rows]
    return [
        ComplexEvent(places[a.start], places[a.end], tuple(places[p] for p in a.positions))
        for a in cerlab.evaluate(case.query, stream, until=until)
    ]
