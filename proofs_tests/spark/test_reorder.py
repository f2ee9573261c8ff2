"""Rows in any order within the lateness are rows in order; state between micro-batches is bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cerlab
from cerlab.automata.plan import Plan
from cerlab.automata.plan_json import plan_to_bytes
from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import TimeWindow
from cerlab.model.stream import Stream
from cerlab.predicates.keys import partition_key
from cerlab.spark.durations import Length, length_in
from cerlab.spark.modes import Mode, why_not
from cerlab.spark.order import Labels
from cerlab.spark.reads import attributes_read
from cerlab.spark.reorder import Kept, arrive
from cerlab.spark.stream_state import KeyState, packed, unpacked
from cerlab.spark.stream_step import KeyStep, StreamJob, digest, reach
from cerlab.testing import Shape
from proofs_tests.spark.dealt import TIME, Typed, typed_case
from proofs_tests.suite import Suite

LABELS = Labels(("t", "id"), "t")
EMPTY = Kept(
    pa.table({"position": [], "time": [], "a0": []}).cast(
        pa.schema([("position", pa.int64()), ("time", pa.int64()), ("a0", pa.string())])
    ),
    False,
)


def rows_at(*times_and_positions: tuple[Any, Any]) -> Any:
    times, positions = zip(*times_and_positions, strict=True)
    columns = [pa.array(positions, pa.int64()), pa.array(times, pa.int64())]
    return pa.table([*columns, pa.array(["A"] * len(times))], schema=EMPTY.rows.schema)


def positions_of(rows: Any) -> list[int]:
    listed: list[int] = rows.column("position").to_pylist()
    return listed


# Rows are (time, position); the lateness is 3. After each call: released, late, held back.
BY_HAND = [
    ([(5, 0)], [], [], [0]),
    ([(8, 4), (6, 1)], [], [], [0, 1, 4]),  # 8 - 5 is not more than 3
    ([(9, 7)], [0], [], [1, 4, 7]),
    ([(7, 3), (7, 2)], [], [], [1, 2, 3, 4, 7]),  # older than the newest, not than what is released
    ([(12, 9)], [1, 2, 3, 4], [], [7, 9]),
    ([(7, 2), (8, 4), (8, 3)], [], [2, 3, 4], [7, 9]),  # the last one released comes again
    ([(8, 6), (9, 8)], [6], [], [7, 8, 9]),  # beside the last one released, and after it
    ([(30, 10)], [7, 8, 9], [], [10]),
]


def test_released_late_and_held_back_by_hand() -> None:
    kept = EMPTY
    for come, released, late, held in BY_HAND:
        made = arrive(kept, rows_at(*come), 3, LABELS)
        kept = made.kept
        assert positions_of(made.released) == released, come
        assert positions_of(made.late) == late, come
        assert positions_of(kept.rows)[kept.released :] == held, come
        assert kept.held == len(held)


def test_a_floor_releases_what_is_before_it_and_no_more() -> None:
    kept = arrive(EMPTY, rows_at((5, 0), (6, 1), (7, 2)), 10, LABELS).kept
    made = arrive(kept, rows_at((4, 9)), 10, LABELS, floor=6)
    assert positions_of(made.late) == [9]
    assert positions_of(made.released) == [0]
    made = arrive(made.kept, EMPTY.rows, 10, LABELS, floor=100)
    assert positions_of(made.released) == [1, 2]
    assert (made.kept.held, made.kept.newest) == (0, 7)


@pytest.mark.parametrize(
    ("rows", "code"),
    [
        ([(None, 1)], "CER0780"),
        ([(1, None)], "CER0780"),
        ([(1, 1), (1, 1)], "CER0782"),
        ([(1, 2), (2, 1)], "CER0782"),
        ([(6, 1)], "CER0782"),
    ],
)
def test_rows_without_a_place_are_refused(rows: list[tuple[Any, Any]], code: str) -> None:
    kept = arrive(EMPTY, rows_at((5, 3)), 100, LABELS).kept
    with pytest.raises(cerlab.BadData) as caught:
        arrive(kept, rows_at(*rows), 100, LABELS)
    assert caught.value.code == code


def test_any_order_within_the_lateness_is_the_order(suite: Suite) -> None:
    """And a row is late exactly if a row after it was released: a plain list says so too."""

    def case(rng: Random) -> bool:
        lateness = rng.choice((0, 1, 3, 10))
        times = np.cumsum([rng.choice((0, 0, 1, 2, 7)) for _ in range(40)]).tolist()
        rows = list(zip(times, range(0, 80, 2), strict=True))
        slack = lateness * rng.choice((1, 1, 3))
        come = sorted(rows, key=lambda row: row[0] + rng.random() * slack)
        kept, read, late, model = EMPTY, [], [], Model(lateness)
        while come:
            size = rng.choice((1, 1, 4, 15))
            batch, come = come[:size], come[size:]
            made = arrive(kept, rows_at(*rng.sample(batch, len(batch))), lateness, LABELS)
            kept = made.kept
            read += positions_of(made.released)
            late += positions_of(made.late)
            model.take(batch)
            assert read == [position for _, position in model.released]
        held = positions_of(kept.rows)[kept.released :]
        assert late == model.late
        assert read + held == sorted(set(range(0, 80, 2)) - set(late))
        if slack == lateness:
            assert not late
        return bool(late) or slack == lateness

    suite.run(case, deep_count=2_000, seconds=4, needs_answers=0.8)


class Model:
    """The definition of released and late, row by row, on lists."""

    def __init__(self, lateness: int) -> None:
        self.lateness = lateness
        self.seen: list[tuple[int, int]] = []
        self.released: list[tuple[int, int]] = []
        self.late: list[int] = []

    def take(self, batch: list[tuple[int, int]]) -> None:
        after = max(self.released, default=(-1, -1))
        self.late += [row[1] for row in sorted(batch) if row < after]
        self.seen += [row for row in batch if row > after]
        newest = max(time for time, _ in self.seen)
        due = [row for row in self.seen if newest - row[0] > self.lateness]
        self.released = sorted(due)


# -- a key through many micro-batches, with the work of Spark done by hand ---------------------


@dataclass(frozen=True)
class Fed:
    """What came out of all keys."""

    answers: list[ComplexEvent]
    late: list[int]
    waiting: set[int]
    """The positions of rows that are held back."""
    states: dict[Any, bytes]


def job_of(case: Typed, plan: Plan, lateness: int, lag: int | None, tick: int) -> StreamJob:
    whole = replace(plan, streams=())
    time = TIME if isinstance(plan.window, TimeWindow) else None
    names = attributes_read(whole, time)
    kinds = tuple(
        str(case.table.schema.field(n).type) if n in case.table.column_names else "string"
        for n in names
    )
    kind = str(case.table.schema.field("t").type)
    ticks = {} if lag is None else {"tick": tick, "lag": -(-lag // tick) * tick}
    return StreamJob(
        plan_to_bytes(whole), time, names, kinds, kind, LABELS, lateness, False, **ticks
    )


def by_key(case: Typed, plan: Plan, job: StreamJob) -> dict[Any, Any]:
    """The rows of each key, as tasks get them; of all together where that is the only exact way."""
    table, count = case.table, case.table.num_rows
    columns = {"position": pa.array(case.positions or range(count), pa.int64())}
    columns["time"] = table.column("t").combine_chunks()
    for n, name in enumerate(job.attributes):
        known = name in table.column_names
        columns[f"a{n}"] = (
            table.column(name).combine_chunks() if known else pa.nulls(count, "string")
        )
    whole = pa.table(columns)
    streams = table.column("stream").to_pylist()
    groups: dict[Any, list[int]] = {}
    for row, event in enumerate(case.stream.events):
        if plan.streams and streams[row] is not None and streams[row] not in plan.streams:
            continue
        key = () if why_not(plan, Mode.KEYS) else partition_key(event, plan.partition)
        if key is not None:
            groups.setdefault(key, []).append(row)
    return {key: whole.take(rows) for key, rows in groups.items()}


def fed(rng: Random, job: StreamJob, groups: dict[Any, Any], slack: int, lag: int | None) -> Fed:
    """All keys through micro-batches that Spark could have made; then, with a lag, the end."""
    answers: list[ComplexEvent] = []
    late: list[int] = []
    states: dict[Any, bytes] = {}
    come = [(key, row) for key, table in groups.items() for row in range(table.num_rows)]
    times = {key: table.column("time").to_pylist() for key, table in groups.items()}
    come.sort(key=lambda it: times[it[0]][it[1]] + rng.random() * slack)
    watermark, newest = None, 0
    while come:
        size = rng.choice((1, 3, 10, 40))
        batch, come = come[:size], come[size:]
        keys = {key for key, _ in batch} | (set(states) if watermark else set())
        for key in sorted(keys, key=str):
            mine = [row for each, row in batch if each == key]
            rng.shuffle(mine)
            rows = groups[key].take(pa.array(mine, pa.int64()))
            step = KeyStep(job, states.pop(key, None), rows, watermark)
            take(step, key, answers, late, states)
        if lag is not None and job.tick is not None:
            newest = max(newest, *(times[key][row] for key, row in batch))
            watermark = max(0, int(newest // job.tick) - -(-lag // job.tick)) or None
    if job.tick is not None:
        for key in list(states):
            step = KeyStep(job, states.pop(key), groups[key].slice(0, 0), 10**12)
            take(step, key, answers, late, states)
    waiting = set()
    for state in states.values():
        kept = unpacked(state, digest(job)).kept
        waiting |= set(positions_of(kept.rows)[kept.released :])
    return Fed(answers, late, waiting, states)


def take(
    step: KeyStep, key: Any, answers: list[ComplexEvent], late: list[int], states: dict[Any, bytes]
) -> None:
    for batch, ends in step.answers():
        assert positions_of(step.released.take(ends)) == batch.end.tolist()
        answers.extend(batch)
    late += positions_of(step.late)
    state, _ = step.state()
    if state is not None:
        states[key] = state


def without(case: Typed, positions: set[int]) -> list[ComplexEvent]:
    """The answers of the local engine if rows at these positions had never been."""
    at = case.positions or tuple(range(case.table.num_rows))
    left = [row for row, position in enumerate(at) if position not in positions]
    stream = Stream.from_arrow(case.table.take(pa.array(left, pa.int64())), time="t", unit="s")
    places = [at[row] for row in left]
    return [
        ComplexEvent(places[a.start], places[a.end], tuple(places[p] for p in a.positions))
        for a in cerlab.evaluate(case.query, stream, evaluator="compiled")
    ]


def place(answer: ComplexEvent) -> tuple[int, int, tuple[int, ...]]:
    return answer.end, answer.start, answer.positions


def test_random_queries_on_keys_that_come_in_any_order(suite: Suite) -> None:
    """Equal to the local engine on all rows but the late ones, as far as rows do not wait."""

    def case(rng: Random) -> bool:
        drawn = typed_case(rng, Shape(depth=2, events=30))
        plan = drawn.query.plan
        lateness = rng.choice((0, 1, 4))
        lag = rng.choice((None, lateness, lateness + 5))
        job = job_of(drawn, plan, lateness, lag, rng.choice((1, 1, 3)))
        groups = by_key(drawn, plan, job)
        slack = lateness * rng.choice((1, 1, 1, 4))
        found = fed(rng, job, groups, slack, lag)
        if slack == lateness and (lag is None or lag >= 2 * lateness):
            assert not found.late, drawn.describe()
        assert len(found.late) == len(set(found.late))
        expected = [a for a in without(drawn, set(found.late)) if a.end not in found.waiting]
        limit = plan.limit is not None
        if limit:
            assert len(found.answers) == len(expected), drawn.describe()
            assert set(found.answers) <= set(without(replace_limit(drawn), set(found.late)))
        else:
            same = sorted(found.answers, key=place) == sorted(expected, key=place)
            assert same, drawn.describe()
        if lag is not None:
            assert not found.waiting
            assert bool(found.states) == (bool(groups) and reach(plan, job.time) is None)
        return bool(found.answers)

    suite.run(case, deep_count=1_500, seconds=16)


def replace_limit(case: Typed) -> Typed:
    return replace(case, ast=replace(case.ast, limit=None))


def through(text: str, *steps: tuple[str, list[int], int | None]) -> tuple[list[Any], bool]:
    """A key through steps of types, times, watermark: its answers, and whether it has a state."""
    types = "".join(step[0] for step in steps)
    times = [time for step in steps for time in step[1]]
    columns = {"type": list(types), "stream": pa.nulls(len(types), "string"), "t": times}
    case = Typed(cerlab.parse_query(text).ast, pa.table(columns), None)
    job = job_of(case, case.query.plan, 1, 5, 1)
    rows, read, state = by_key(case, case.query.plan, job)[()], 0, None
    found = []
    for names, _, watermark in steps:
        step = KeyStep(job, state, rows.slice(read, len(names)), watermark)
        found += [answer.positions for batch, _ in step.answers() for answer in batch]
        state, _ = step.state()
        read += len(names)
    return found, state is not None


def test_a_state_goes_when_its_window_has_passed_and_no_sooner() -> None:
    window = "SELECT * WHERE A ; B WITHIN 9 [t]"
    assert through(window, ("A", [10], None), ("", [], 19)) == ([], True)
    assert through(window, ("A", [10], None), ("", [], 20)) == ([], False)
    assert through(window, ("A", [10], None), ("", [], 19), ("BC", [19, 40], None))[0] == [(0, 1)]
    steps = [("A", [10], None), ("", [], 99), ("BC", [99, 120], None)]
    assert through("SELECT * WHERE A ; B", *steps)[0] == [(0, 1)]


@pytest.mark.parametrize(("strategy", "has_answers"), [("", True), ("MAX", False)])
def test_what_began_before_the_window_still_competes(strategy: str, has_answers: bool) -> None:
    """A set that is too long for the window is larger than what is in it, and it is remembered."""
    text = f"SELECT {strategy} * WHERE A+ ; B WITHIN 5 [t]"
    steps = [("A", [0], None), ("", [], 15), ("AB", [20, 22], None), ("C", [90], None)]
    answers = cerlab.evaluate(
        text, [{"type": t, "t": n} for t, n in zip("AABC", (0, 20, 22, 90), strict=True)]
    )
    assert bool(answers) == has_answers
    assert through(text, *steps)[0] == [answer.positions for answer in answers]


# -- the bytes ----------------------------------------------------------------------------------


def stepped(text: str, table: Any) -> tuple[StreamJob, Any, bytes]:
    case = Typed(cerlab.parse_query(text).ast, table, None)
    job = job_of(case, case.query.plan, 2, None, 1)
    rows = by_key(case, case.query.plan, job)[()]
    step = KeyStep(job, None, rows)
    assert [len(batch) for batch, _ in step.answers()]
    state, _ = step.state()
    assert state is not None
    return job, rows, state


def table(count: int = 400) -> Any:
    rng = Random(4)
    return pa.table(
        {
            "type": rng.choices("ABC", k=count),
            "stream": pa.nulls(count, "string"),
            "v": range(count),
            "t": range(count),
        }
    )


def test_a_state_is_read_under_its_own_query_and_version_only() -> None:
    job, rows, state = stepped("SELECT * WHERE A ; B WITHIN 9 [t]", table())
    assert unpacked(state, digest(job)).kept.held == 3
    for other in (
        replace(job, lateness=3),
        replace(job, labels=Labels(("t", "n"), "t")),
        replace(job, plan=stepped("SELECT * WHERE A ; B WITHIN 8 [t]", table())[0].plan),
    ):
        with pytest.raises(cerlab.BadData) as caught:
            KeyStep(other, state, rows.slice(0, 0))
        assert caught.value.code == "CER0776"
        assert caught.value.hint
    for bad in (b"", b"\x80\x04.", state[:100], state[: len(state) // 2], state + b"\0"):
        with pytest.raises(cerlab.BadData, match="CER0774"):
            KeyStep(job, bad, rows.slice(0, 0))
    newer = state.replace(b'"version": 1,', b'"version": 7,', 1)
    with pytest.raises(cerlab.BadData, match="CER0775"):
        KeyStep(job, newer, rows.slice(0, 0))


def test_a_state_comes_back_as_it_was() -> None:
    rows = rows_at((5, 0), (6, 1))
    state = KeyState(Kept(rows, True), b"engine", 7, np.array([2, 5]), np.array([20, 50]), 11)
    back = unpacked(packed(state, "job"), "job")
    assert back.kept.rows.equals(rows)
    assert (back.kept.released, back.engine, back.read, back.timer) == (True, b"engine", 7, 11)
    assert (back.index.tolist(), back.place.tolist()) == ([2, 5], [20, 50])


@pytest.mark.parametrize("window", ["WITHIN 9 [t]", "WITHIN 9 EVENTS"])
def test_a_state_does_not_grow_with_what_has_been(window: str) -> None:
    text = f"SELECT * WHERE A ; B ; C {window}"
    sizes = [len(stepped(text, table(count))[2]) for count in (400, 4_000)]
    assert sizes[1] < 1.5 * sizes[0]


def test_without_a_window_it_keeps_the_positions_that_answers_may_have() -> None:
    """Of the events that the pattern takes, not of all events."""
    _, _, few = stepped("SELECT * WHERE A ; B FILTER A[v < 20]", table(4_000))
    _, _, all_of_them = stepped("SELECT * WHERE A ; B", table(4_000))
    assert len(few) < 8_000 < len(all_of_them)


# -- lengths of time ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "length", "expected"),
    [
        (1_000, "10 seconds", 10_000_000),
        (10**6, "2 min", None),
        (10**6, "2 minutes", 120_000),
        (10**6, "90", 90),
        (None, 7, 7),
        (None, 2.5, Fraction(5, 2)),
        (10**9, timedelta(milliseconds=1), Fraction(1, 1000)),
        (10**6, timedelta(days=20_000), 1_728_000_000_000),
        (None, "1 s", None),
        (10**6, "-1 s", None),
        (10**6, timedelta(seconds=-1), None),
        (None, -1, None),
        (None, True, None),
        (None, float("nan"), None),
    ],
)
def test_lengths_of_time(unit: int | None, length: Length, expected: Fraction | None) -> None:
    if expected is not None:
        assert length_in(unit, length, "lateness") == expected
        return
    with pytest.raises(cerlab.UsageError, match="lateness") as caught:
        length_in(unit, length, "lateness")
    assert caught.value.code == "CER0882"
