"""Keys that come in any order, micro-batch by micro-batch, have the answers of the whole stream."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab import ComplexEvent
from cerlab.spark.stream.step import BucketStep, reach
from cerlab.testing import Shape
from proofs_tests.complexity.walk import codes_of_calls
from proofs_tests.spark.buckets import buckets_of, feed, job_of, plan_of, positions_of, without
from proofs_tests.spark.cases import SparkCase, register_case, typed_case
from proofs_tests.suite import Suite, random_suite


def place(answer: ComplexEvent) -> tuple[int, int, tuple[int, ...]]:
    return answer.end, answer.start, answer.positions


def in_any_order(
    rng: Random, draw: Callable[[Random, Shape], SparkCase] = typed_case, events: int = 30
) -> bool:
    """Equal to the local engine on all rows but the late ones, as far as rows do not wait."""
    case = draw(rng, Shape(depth=2, events=events))
    plan = plan_of(case)
    lateness = rng.choice((0, 1, 4))
    lag = rng.choice((None, lateness, lateness + 5))
    job = job_of(case, plan, lateness, lag, rng.choice((1, 1, 3)))
    groups = buckets_of(case, plan, job, rng.choice((1, 1, 2)))
    slack = lateness * rng.choice((1, 1, 1, 4))
    output = feed(rng, job, groups, slack, lag)
    if slack == lateness and (lag is None or lag >= 2 * lateness):
        assert not output.late, case.describe()
    assert len(output.late) == len(set(output.late))
    expected = [a for a in without(case, set(output.late)) if a.end not in output.waiting]
    limit = plan.limit is not None
    if limit:
        assert len(output.answers) == len(expected), case.describe()
        assert set(output.answers) <= set(without(replace_limit(case), set(output.late)))
    else:
        same = sorted(output.answers, key=place) == sorted(expected, key=place)
        assert same, case.describe()
    if lag is not None:
        assert not output.waiting
        assert bool(output.states) == (bool(groups) and reach(job) is None)
    return bool(output.answers)


def test_random_queries_on_keys_that_come_in_any_order(suite: Suite) -> None:
    suite.run(in_any_order, deep_count=1_500)


def test_random_queries_that_compare_labels_on_keys_that_come_in_any_order(suite: Suite) -> None:
    suite.run(lambda rng: in_any_order(rng, register_case, 12), deep_count=2_000)


def test_a_key_goes_on_where_another_one_has_left() -> None:
    text = "SELECT * WHERE A AS a ; B AS b FILTER a.v = b.v PARTITION BY [k] WITHIN 3 [t]"
    rows = [("A", "x", 0), ("A", "y", 20), ("B", "y", 23)]
    columns = {"type": [r[0] for r in rows], "stream": pa.nulls(3, "string"), "v": [1] * 3}
    table = pa.table(columns | {"k": [r[1] for r in rows], "t": [r[2] for r in rows]})
    case = SparkCase(cerlab.parse_query(text).ast, table, None)
    job = job_of(case, plan_of(case), 0, 0, 1)
    ((_, arriving),) = buckets_of(case, plan_of(case), job).items()
    state, answers = None, list[ComplexEvent]()
    for part, watermark in (((0, 2), None), ((0, 0), 22), ((2, 1), 22), ((0, 0), 99)):
        step = BucketStep(job, state, arriving.slice(*part), watermark)
        answers += [answer for batch, _ in step.answers() for answer in batch]
        state, _ = step.state()
    assert (answers, state) == ([ComplexEvent(1, 2, (1, 2))], None)


@random_suite(1_000)
def test_bad_and_repeated_rows_change_no_answer_under_quarantine(rng: Random) -> bool:
    """Repeated rows, and rows without type or position, change no answer under quarantine."""
    case = typed_case(rng, Shape(depth=2, events=30))
    plan, lateness = case.query.plan, rng.choice((0, 1, 4))
    job = job_of(case, plan, lateness, None, 1, quarantine=True)
    groups = buckets_of(case, plan, job, rng.choice((1, 2)))
    occurrences: Counter[int | None] = Counter()
    for key, rows in groups.items():
        picks = (
            [rng.randrange(rows.num_rows) for _ in range(n)] for n in (rng.choice((0, 2, 9)), 2)
        )
        again, broken = (rows.take(pa.array(pick, pa.int64())) for pick in picks)
        for name in rng.sample(("position", "a0"), rng.choice((1, 2))):
            at = broken.column_names.index(name)
            nothing = pa.nulls(broken.num_rows, rows.schema.field(name).type)
            broken = broken.set_column(at, name, nothing)
        groups[key] = pa.concat_tables([rows, again, broken])
        occurrences.update(positions_of(groups[key]))
    output = feed(rng, job, groups, lateness, None)
    gone = Counter([*output.late, *(position for position, _ in output.bad)])
    assert gone <= occurrences
    missing = {p for p, count in occurrences.items() if p is not None and gone[p] == count}
    expected = [a for a in without(case, missing) if a.end not in output.waiting]
    if plan.limit is not None:
        assert len(output.answers) == len(expected), case.describe()
    else:
        assert sorted(output.answers, key=place) == sorted(expected, key=place), case.describe()
    return bool(output.answers and output.bad)


LINE = "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 9 [t]"


def line(rows: list[tuple[Any, Any, Any]], *, quarantine: bool) -> tuple[Any, Any]:
    """A job, and arriving rows of one key, each a type, a time and a position, from a file."""
    kinds, times, positions = zip(*rows, strict=True)
    table = pa.table({"type": ["A"], "stream": pa.nulls(1, "string"), "t": [0], "k": ["x"]})
    case = SparkCase(cerlab.parse_query(LINE).ast, table, None)
    job = job_of(case, case.query.plan, 2, None, 1, quarantine=quarantine)
    columns = {"position": pa.array(positions, pa.int64()), "time": pa.array(times, pa.int64())}
    values = {"type": pa.array(kinds, pa.string()), "t": columns["time"]}
    for n, name in enumerate(job.attributes):
        columns[f"a{n}"] = values.get(name, pa.array(["x"] * len(rows)))
    return job, pa.table({**columns, "file": ["file:///in/a%20b.parquet"] * len(rows)})


REPEATED = "duplicate: the row has come before"
UPWARD = "'id' does not increase along the stream"


@pytest.mark.parametrize(
    ("before", "rows", "bad", "error"),
    [
        ([], [("A", 1, 1), ("A", 1, 1)], [(1, REPEATED)], "position 1: duplicate.*t = 1"),
        ([("A", 1, 1)], [("A", 1, 1)], [(1, REPEATED)], "position 1: duplicate.*t = 1"),
        ([("A", 1, 5)], [("B", 2, 4)], [(4, UPWARD)], "CER0782"),
        ([("A", 2, 5)], [("B", 1, 6)], [(6, UPWARD)], "CER0782"),
        ([], [("A", 1, 5), ("B", 2, 4), ("B", 3, 6)], [(4, UPWARD)], "position 4.*increase"),
        ([], [("A", 1, 9), ("B", 2, 4), ("B", 3, 6)], [(4, UPWARD), (6, UPWARD)], "position 4"),
        ([("A", 1, 1), ("A", 9, 9)], [("B", 10, 1)], [(1, UPWARD)], "CER0782"),
        ([], [("A", None, 1)], [(1, "'t' is missing")], "CER0780.*'t' is NULL"),
        ([], [("A", 1, None)], [(None, "'id' is missing")], "CER0780.*'id' is NULL"),
        ([], [(None, 1, 1)], [(1, "it has no type")], "CER0701"),
        ([], [("", 1, 1)], [(1, "it has no type")], "CER0701"),
    ],
)
def test_a_bad_row_is_set_apart_or_said_with_its_file(
    before: list[Any], rows: list[Any], bad: list[Any], error: str
) -> None:
    state = None
    if before:
        job, arriving = line(before, quarantine=False)
        step = BucketStep(job, None, arriving)
        list(step.answers())
        state, _ = step.state()
    job, arriving = line(rows, quarantine=False)
    with pytest.raises(cerlab.BadData, match=error) as caught:
        BucketStep(job, state, arriving)
    if caught.value.code == "CER0782" and before:
        assert caught.value.hint
    else:
        assert "/in/a b.parquet" in str(caught.value)
    job, arriving = line(rows, quarantine=True)
    step = BucketStep(job, state, arriving)
    got = zip(positions_of(step.bad), step.bad.column("why").to_pylist(), strict=True)
    assert sorted(got, key=str) == bad


def test_a_row_with_a_moment_far_away_is_a_bad_row() -> None:
    rows = [("A", 1, 1), ("A", 2_932_896 * 86_400_000_000, 2)]
    for quarantine in (False, True):
        job, arriving = line(rows, quarantine=quarantine)
        assert (
            BucketStep(job, None, arriving).bad.num_rows == 0
        )  # an integer of this size is a time
        of_moments = replace(job, labels=replace(job.labels, units=(("t", 1_000),)))
        if quarantine:
            bad = BucketStep(of_moments, None, arriving).bad
            assert positions_of(bad) == [2]
            assert bad.column("why").to_pylist() == ["'t' is outside the years 1678 to 2262"]
            continue
        with pytest.raises(cerlab.BadData, match=r"CER0740.*position 2: .*'t' is 9999-12-31"):
            BucketStep(of_moments, None, arriving)


def test_what_waits_is_counted() -> None:
    job, arriving = line([("A", 1, 1), ("B", 2, 2), ("A", 9, 3)], quarantine=False)
    assert BucketStep(job, None, arriving).waits() == (1.0, 1.0, 0.0)
    assert BucketStep(job, None, arriving.slice(0, 2)).waits() == (2.0, 1.0, 1.0)
    assert BucketStep(job, None, arriving.slice(0, 0)).waits() is None


def replace_limit(case: SparkCase) -> SparkCase:
    return replace(case, ast=replace(case.ast, limit=None))


def through(text: str, *steps: tuple[str, list[int], int | None]) -> tuple[list[Any], bool]:
    """A key through steps of types, times, watermark: its answers, and whether it has a state."""
    types = "".join(step[0] for step in steps)
    times = [time for step in steps for time in step[1]]
    columns = {"type": list(types), "stream": pa.nulls(len(types), "string"), "t": times}
    case = SparkCase(cerlab.parse_query(text).ast, pa.table(columns), None)
    job = job_of(case, case.query.plan, 1, 5, 1)
    rows, offset, state = buckets_of(case, case.query.plan, job)[0], 0, None
    answers = []
    for names, _, watermark in steps:
        step = BucketStep(job, state, rows.slice(offset, len(names)), watermark)
        answers += [answer.positions for batch, _ in step.answers() for answer in batch]
        state, _ = step.state()
        offset += len(names)
    return answers, state is not None


def test_a_state_goes_when_its_window_has_passed_and_no_sooner() -> None:
    window = "SELECT * WHERE A ; B WITHIN 9 [t]"
    assert through(window, ("A", [10], None), ("", [], 19)) == ([], True)
    assert through(window, ("A", [10], None), ("", [], 20)) == ([], False)
    assert through(window, ("A", [10], None), ("", [], 19), ("BC", [19, 40], None))[0] == [(0, 1)]
    steps = [("A", [10], None), ("", [], 99), ("BC", [99, 120], None)]
    assert through("SELECT * WHERE A ; B", *steps)[0] == [(0, 1)]


@pytest.mark.parametrize(("strategy", "has_answers"), [("", True), ("MAX", False)])
def test_what_began_before_the_window_still_competes(strategy: str, has_answers: bool) -> None:
    """A set too long for the window contains the ones in it, and it is remembered."""
    text = f"SELECT {strategy} * WHERE A+ ; B WITHIN 5 [t]"
    steps = [("A", [0], None), ("", [], 15), ("AB", [20, 22], None), ("C", [90], None)]
    answers = cerlab.evaluate(
        text, [{"type": t, "t": n} for t, n in zip("AABC", (0, 20, 22, 90), strict=True)]
    )
    assert bool(answers) == has_answers
    assert through(text, *steps)[0] == [answer.positions for answer in answers]


@pytest.mark.parametrize(("clause", "share"), [("", 1.0), (" THROTTLE 50 [t]", 0.3)])
def test_the_work_of_a_batch_does_not_count_the_keys(clause: str, share: float) -> None:
    """For a thousand keys a few more calls of Python than for ten, as arrays grow by doubling."""
    query = f"SELECT * WHERE A ; B PARTITION BY [k] WITHIN 90 [t]{clause}"

    def calls(keys: int) -> int:
        rows = 4_000
        columns = {"type": ["A", "B"] * (rows // 2), "stream": pa.nulls(rows, "string")}
        numbers = {"t": range(rows), "k": [n // 2 % keys for n in range(rows)]}
        case = SparkCase(cerlab.parse_query(query).ast, pa.table(columns | numbers), None)
        job = job_of(case, case.query.plan, 5, None, 1)
        arrivals = buckets_of(case, case.query.plan, job)[0]
        states: list[bytes | None] = [None]

        def step() -> None:
            n = len(states) - 1
            bucket_step = BucketStep(job, states[-1], arrivals.slice(2_000 * n, 2_000))
            assert sum(len(batch) for batch, _ in bucket_step.answers()) >= 1_000 * share * n
            states.append(bucket_step.state()[0])

        step()
        return len(codes_of_calls(step))

    for keys in (10, 1_000):
        calls(keys)  # kernels are loaded
    assert calls(1_000) < 2 * calls(10)


@pytest.mark.parametrize(
    ("kind", "times", "width", "ends"),
    [
        (pa.float64(), [0.2, 0.3, 0.4], "0.1", [1]),  # 0.4 - 0.3 is more than 0.1
        (pa.float64(), [0.0, 2.0**53, 2.0**53 + 2], str(2**53 + 1), [1, 2]),
        (pa.decimal128(4, 1), ["0.1", "0.2", "0.3"], "0.1", [1, 2]),
        (pa.int64(), [-(2**62), 0, 2**62], str(2**62), [1, 2]),
    ],
)
def test_windows_are_exact_from_batch_to_batch(
    kind: Any, times: list[Any], width: str, ends: list[int]
) -> None:
    """The local engine agrees."""
    text = f"SELECT * WHERE A ; A PARTITION BY [type] WITHIN {width} [t]"
    column = pa.array([Decimal(t) if isinstance(t, str) else t for t in times], kind)
    table = pa.table({"type": ["A"] * 3, "stream": pa.nulls(3, "string"), "t": column})
    case = SparkCase(cerlab.parse_query(text).ast, table, None)
    job = job_of(case, case.query.plan, 0, None, 1)
    job = replace(job, time_kind="int64" if kind == pa.int64() else "double")
    rows = buckets_of(case, case.query.plan, replace(job))[0]
    rows = rows.set_column(1, "time", rows.column("time").cast(job.time_kind))
    state, answer_ends = None, []
    for n in range(4):
        step = BucketStep(job, state, rows.slice(n, 1))
        answer_ends += [answer.end for batch, _ in step.answers() for answer in batch]
        state, _ = step.state()
    local = [answer.end for answer in cerlab.evaluate(text, table)]
    assert answer_ends == [end for end in local if end < 2]
    assert sorted(set(local)) == ends
