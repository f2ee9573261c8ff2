"""The batch pipeline where rows lie in order, with the work of Spark done by hand.

A stream is cut into files, and tasks read some files each, in any order, in random batches. The
second pass may have other tasks than the first. What runs in tasks is the code of `cerlab.spark`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from random import Random
from typing import Any

import pyarrow as pa

from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import AttributeWindow, EventWindow, TimeWindow
from cerlab.spark.plan import assignment as dealing
from cerlab.spark.plan.assignment import Dealing
from cerlab.spark.plan.modes import Mode
from cerlab.spark.plan.reads import window_width
from cerlab.spark.plan.runs import Run, in_order, runs_in, runs_of
from cerlab.spark.tasks import ranges_and_keys as tasks
from cerlab.spark.tasks import shuffle_units as packs
from proofs_tests.spark import dealt
from proofs_tests.spark.dealt import Typed


@dataclass(frozen=True)
class Laid:
    """The rows of a stream as tasks read them: by number, file by file."""

    tasks: tuple[tuple[int, ...], ...]
    longest: int
    """How long a run is at most."""
    size: int
    parts: int

    def batches(self, table: Any, task: int, rng: Random) -> Iterator[Any]:
        """What a task reads, in record batches of random lengths; some may be empty."""
        rest = table.take(pa.array(self.tasks[task], pa.int64())).combine_chunks()
        while rest.num_rows:
            rows = rng.choice((0, 1, 2, 5, 9, 40))
            yield from rest.slice(0, rows).to_batches()
            rest = rest.slice(rows)


def random_files(rng: Random, rows: int) -> list[range]:
    """A stream cut into files, some of them empty."""
    count = rng.choice((0, 1, 2, 4))
    cuts = sorted(rng.randrange(rows + 1) for _ in range(count))
    return [range(start, end) for start, end in pairwise((0, *cuts, rows))]


def random_layout(rng: Random, files: list[range]) -> Laid:
    """Files dealt out to tasks."""
    shuffled = rng.sample(files, len(files))
    ends = sorted(rng.randrange(len(files) + 1) for _ in range(rng.choice((0, 1, 3))))
    made = tuple(
        tuple(row for file in shuffled[start:end] for row in file)
        for start, end in pairwise((0, *ends, len(files)))
    )
    return Laid(made, rng.choice((1, 3, 8, 100)), rng.choice((1, 4, 20, 1000)), rng.randrange(1, 7))


def keys_of(case: Typed, rng: Random) -> dict[str, Any]:
    """One or two keys that order the rows; the last is the position, where there is one."""
    rows = case.table.num_rows
    last = pa.array(range(rows) if case.positions is None else case.positions, pa.int64())
    coarse = pa.array([n // 4 for n in range(rows)], pa.int64())
    kind = rng.choice((None, pa.int64(), pa.float64(), pa.string()))
    if kind is None:
        return {"k0": last}
    if kind == pa.string():
        coarse = pa.array([f"{n:09}" for n in coarse.to_pylist()], kind)
    return {"k0": coarse.cast(kind), "k1": last}


def runs_found(case: Typed, keys: dict[str, Any], laid: Laid, rng: Random) -> list[Run] | None:
    """The first pass over all tasks, the runs as they lie; None if one gave up."""
    plan = case.query.plan
    types = case.table.column("type").to_pylist()
    columns = {**keys, "named": pa.array([bool(name) for name in types])}
    if plan.streams:
        columns["kept"] = pa.array(dealt._kept(case, plan))
    if isinstance(plan.window, AttributeWindow | TimeWindow):
        columns["time"] = case.table.column("t")
    table, told = pa.table(columns), []
    for task in range(len(laid.tasks)):
        made = runs_of(
            laid.batches(table, task, rng),
            positions=case.positions is not None,
            longest=laid.longest,
            size=laid.size,
        )
        told += [row for batch in made for row in batch.to_pylist()]
    return runs_in(told, len(keys))


def deal_of(case: Typed, mode: Mode, runs: tuple[Run, ...], parts: int) -> Dealing:
    """The runs dealt out as the mode asks for."""
    plan = case.query.plan
    part = dealing.parts_of(runs, 1 if mode is Mode.ONE else parts)
    starts = dealing.starts_of(part)
    begins = starts
    if mode is Mode.RANGES and isinstance(plan.window, EventWindow):
        begins = dealing.begins_in_events(runs, starts, plan.window.width)
    elif mode is Mode.RANGES:
        width = window_width(plan, dealt._job(plan).time, 1)
        begins = dealing.begins_in_time(runs, starts, width)
    return dealing.dealing(runs, part, begins)


def dealt_in_packs(
    case: Typed, mode: Mode, first: Laid, second: Laid, rng: Random
) -> list[ComplexEvent] | None:
    """The answers of the pipeline in a mode; None if the rows do not lie in order."""
    keys = keys_of(case, rng)
    found = runs_found(case, keys, first, rng)
    runs = None if found is None else in_order(found, positions=case.positions is not None)
    if runs is None:
        return None
    plan, deal = case.query.plan, deal_of(case, mode, runs, first.parts)
    job = dealt._job(plan)
    columns = {**keys, **dealt._values(case, job)}
    if plan.streams:
        columns["kept"] = pa.array(dealt._kept(case, plan))
    table = pa.table(columns)
    made = [
        pack
        for task in range(len(second.tasks))
        for pack in packs.packed(second.batches(table, task, rng), deal, second.size)
    ]
    moved = list(_in_parts(made, list(keys), rng))
    if mode is Mode.KEYS:
        return sorted(dealt._answers(_by_keys(case, deal, moved, second, rng)), key=dealt._place)
    answers = packs.evaluate_packs(moved, job, deal, second.size)
    return sorted(dealt._answers(answers), key=dealt._place)


def _in_parts(made: list[Any], keys: list[str], rng: Random) -> Iterator[Any]:
    """The packs of each part after one another, sorted, as a task might get them."""
    if not made:
        return
    order = [(name, "ascending") for name in ("part", *keys)]
    rest = pa.Table.from_batches(made).sort_by(order).drop(keys).combine_chunks()
    while rest.num_rows:
        rows = rng.randrange(1, 5)
        yield from rest.slice(0, rows).to_batches()
        rest = rest.slice(rows)


def _by_keys(case: Typed, deal: Dealing, moved: list[Any], laid: Laid, rng: Random) -> Any:
    plan = case.query.plan
    numbered = list(packs.number_packs(moved, deal))
    if not numbered:
        return []
    rows = dealt._by_group(case, plan, pa.Table.from_batches(numbered))
    sent = rows.to_batches(max_chunksize=rng.randrange(1, 9))
    return tasks.evaluate_keys(sent, dealt._job(plan), laid.size)
