"""The compiled engine against the tECS and the oracle (CORE Alg. 1; CORE Alg. 2; CORE Thm. 4).

Random queries over every clause, strategy and policy, random streams, cut into random batches,
with arenas and buffers so small that everything grows, is collected and is handed over in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cerlab
from cerlab import ComplexEvent, Stream
from cerlab.compile.pattern import as_pattern
from cerlab.engine import tecs_run as evaluation
from cerlab.engine.kernels import arrays
from cerlab.engine.symbol_tables import learned_tables
from cerlab.engine.tecs_run import GeneralEvaluation
from cerlab.engine.whole_stream import compiled_answers
from cerlab.engine.windowed import WindowedEvaluation
from cerlab.engine.windows import WindowStarts
from cerlab.evaluate import answers_of
from cerlab.logic.ceql.semantics import query_answers
from cerlab.model.answer import by_end
from cerlab.model.clauses import AttributeWindow
from cerlab.testing import Shape, with_limit
from proofs_tests.kernels import JIT
from proofs_tests.random_cases import Case, random_case
from proofs_tests.suite import Suite, random_suite

SHAPE = Shape(depth=3, events=8, family=True)


def in_batches(
    case: Case, cuts: list[int], *, arena: int = 64, answers: int = 2
) -> list[ComplexEvent]:
    """The answers of a run whose stream comes in pieces, every other one without columns."""
    query = case.query
    run = GeneralEvaluation(
        query.plan, query.machine, case.stream.time, arena=arena, answers=answers
    )
    columns = case.stream.columns
    matches: list[ComplexEvent] = []
    for n, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(case.stream)], strict=True)):
        part = {name: column[start:end] for name, column in columns.items()}
        by_event = (n + len(cuts)) % 2
        events = case.stream.events[start:end]
        for batch in run.push_events(events) if by_event else run.push_columns(part, end - start):
            matches += batch
    return matches


def compilable(rng: Random) -> Case:
    while (case := random_case(rng, SHAPE)).query.machine_kind != "automaton":
        pass
    return case


def in_any_batches(rng: Random) -> bool | None:
    """Batches have the answers of the reference, single events among them."""
    example = compilable(rng)
    try:
        expected = query_answers(example.ast, example.stream)
    except cerlab.ResourceLimit:  # one query in ten thousand is too large for the oracle
        return None
    length = len(example.stream)
    cuts = sorted(rng.randrange(length + 1) for _ in range(rng.randrange(4)))
    if rng.random() < 0.3:
        cuts = list(range(1, length))
    answers = in_batches(example, cuts, arena=rng.choice((16, 64, 1024)))
    assert len(answers) == len(set(answers)), example.describe()
    assert set(answers) == set(expected), (example.describe(), cuts)
    ends = [answer.end for answer in answers]
    assert ends == sorted(ends)
    return bool(expected)


def test_any_batching_gives_the_answers_of_the_reference(suite: Suite) -> None:
    suite.run(in_any_batches, deep_count=20_000)


@random_suite(4_000)
def test_longer_streams_against_the_tecs(rng: Random) -> bool:
    example = random_case(rng, Shape(depth=2, events=40))
    query, stream = example.query, example.stream
    if cerlab.count(query, stream) > 5_000:
        return True
    expected = list(answers_of(query, stream, "tecs"))
    cuts = sorted(rng.randrange(len(stream) + 1) for _ in range(3))
    answers = in_batches(example, cuts, arena=32)
    assert Counter(answers) == Counter(expected), example.describe()
    return bool(expected)


@random_suite(4_000, needs_answers=0.1)
def test_limit_gives_the_answers_of_the_reference(rng: Random) -> bool:
    """Also with hardly any room at first, and from a buffer of one answer."""
    example = compilable(rng)
    limited = Case(with_limit(example.ast, rng.choice((1, 2, 5))), example.stream)
    expected = query_answers(limited.ast, example.stream)
    answers = in_batches(limited, [])
    assert sorted(answers, key=by_end) == expected, limited.describe()
    return len(expected) < len(query_answers(example.ast, example.stream))


def test_arrow_tables_are_read_column_by_column() -> None:
    table = pa.table(
        {
            "type": pa.array(["A", "B", "A", "B"]).dictionary_encode(),
            "v": [1, 2, None, 4],
            "k": ["x", "y", "x", "x"],
        }
    )
    stream = Stream.from_arrow(table)
    assert stream._events is None, "columns, until events are asked for"
    query = "SELECT * WHERE A ; B FILTER B[v > 1] PARTITION BY [k]"
    answers = cerlab.evaluate(query, stream, evaluator="compiled")
    assert stream._events is None, "the engine did not ask for them"
    assert answers == cerlab.evaluate(query, stream, evaluator="reference")
    assert answers == [ComplexEvent(0, 3, (0, 3)), ComplexEvent(2, 3, (2, 3))]


@pytest.mark.parametrize(
    ("query", "events", "code"),
    [
        ("SELECT * WHERE A WITHIN 1 [t]", [{"type": "A"}], "CER0712"),
        (
            "SELECT * WHERE A WITHIN 1 [t]",
            [{"type": "A", "t": 2}, {"type": "A", "t": 1}],
            "CER0714",
        ),
        ("SELECT * WHERE A WITHIN 1 SECONDS", [{"type": "A", "t": 2}], "CER0802"),
    ],
)
def test_errors_are_those_of_the_other_evaluators(
    query: str, events: list[dict[str, Any]], code: str
) -> None:
    for evaluator in ("tecs", "compiled"):
        with pytest.raises(cerlab.CerlabError) as caught:
            cerlab.evaluate(query, events, evaluator=evaluator)
        assert caught.value.code == code


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("wrong", [1, None])
def test_answers_before_a_bad_time_are_given(ahead: bool, wrong: int | None) -> None:
    """Time that goes back, or is missing, inside a batch."""
    query = as_pattern("SELECT * WHERE A ; B WITHIN 9 [t]")
    columns = {"type": list("ABBAB"), "t": [1, 2, 3, wrong, 5]}
    run = (WindowedEvaluation if ahead else GeneralEvaluation)(
        query.plan, learned_tables(query.machine), None
    )
    answers: list[ComplexEvent] = []
    with pytest.raises(cerlab.BadData) as caught:
        answers.extend(answer for batch in run.push_columns(columns, 5) for answer in batch)
    assert caught.value.code == ("CER0712" if wrong is None else "CER0714")
    assert "position 3" in str(caught.value)
    for batch in run.finish():
        answers += batch
    assert answers == [ComplexEvent(0, 1, (0, 1)), ComplexEvent(0, 2, (0, 2))]


def test_times_by_columns_and_by_events_are_one() -> None:
    """Integers, floats, moments; also where the batches change from the one to the other."""
    query = as_pattern("SELECT * WHERE A ; A WITHIN 2 [t]")
    times = [0, 1, 2, 3, 3, 6, 7, 9]
    expected = cerlab.evaluate(query, [{"type": "A", "t": t} for t in times], evaluator="tecs")
    parts: list[Any] = [
        pa.array(times[:3]),
        [float(t) for t in times[3:5]],
        pa.array(times[5:7]),
        times[7:],
    ]
    run = GeneralEvaluation(query.plan, query.machine)
    answers: list[ComplexEvent] = []
    for part in parts:
        for batch in run.push_columns({"type": ["A"] * len(part), "t": part}, len(part)):
            answers += batch
    assert set(answers) == set(expected)


@pytest.mark.parametrize("column", [list, pa.array], ids=["values", "array"])
def test_a_push_costs_what_it_brings_however_wide_the_window(
    column: Callable[[list[int]], Any],
) -> None:
    """Events moved for the sake of the window: at most a few for each, pushed one by one."""
    moves = []
    for width in (10, 1_000, 100_000):
        starts = WindowStarts(AttributeWindow(width, "t"), None)
        for n in range(5_000):
            (first,) = starts.read({"t": column([n])}, np.array([n]))
            assert first == max(0, n - width)
        moves.append(starts.moves)
    assert max(moves) <= 2 * 5_000


def test_the_arena_is_bounded_by_the_window_and_grows_without_one() -> None:
    """Operations and room, counted: constant per event, whatever the length of the stream."""

    def room_and_steps(text: str, length: int) -> tuple[int, float]:
        query = as_pattern(text)
        run = GeneralEvaluation(query.plan, query.machine, arena=1 << 8)
        rng = Random(1)
        for _ in range(length // 1_000):
            types = rng.choices("ABC", k=1_000)
            for _batch in run.push_columns({"type": types}, 1_000):
                pass
        return run.nodes, run.steps / length

    in_window = "SELECT * WHERE A ; B ; A FILTER A[v = 1] WITHIN 50 EVENTS"
    short, long = room_and_steps(in_window, 5_000), room_and_steps(in_window, 40_000)
    assert short[0] == long[0] <= 1 << 12
    assert long[1] <= 1.1 * short[1]
    no_window = "SELECT * WHERE A ; B ; X"
    assert room_and_steps(no_window, 20_000)[0] > room_and_steps(no_window, 2_000)[0]


@pytest.mark.long
def test_a_slice_without_jit_agrees() -> None:
    for seed in range(150):
        example = compilable(Random(seed))
        assert set(in_batches(example, [])) == set(query_answers(example.ast, example.stream))


def test_the_real_stream_has_the_answers_of_the_tecs(stock_file: Any) -> None:
    """S3 of CORE: the number of answers on all events, and the same ones on a quarter of them."""
    stream = Stream.read(stock_file)
    query = as_pattern(
        "SELECT * FROM S WHERE SELL AS a ; BUY AS b ; BUY AS c "
        "FILTER a[name = 'INTC'] AND b[name = 'RIMM'] AND c[name = 'QQQ'] WITHIN 10000 [stock_time]"
    )
    batches = list(compiled_answers(query.plan, query.machine, stream, None))
    assert sum(map(len, batches)) == 345_816
    part = stream[: len(stream) // 4]
    early = (batch.first(int(np.searchsorted(batch.end, len(part)))) for batch in batches)
    answers = [answer for batch in early for answer in batch]
    assert set(answers_of(query, part, "tecs")) == set(answers)


def merge_of_the_first(_arena: Any, _counters: Any, pool: Any, first: int, _length: int) -> int:
    """``merge`` that forgets all nodes of a list but the first."""
    return int(pool[first])


@pytest.mark.skipif(JIT, reason="compiled kernels call each other directly")
def test_without_jit_a_broken_kernel_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from cerlab.engine.kernels import tecs as advance

    monkeypatch.setattr(advance, "merge", merge_of_the_first)
    wrong = 0
    for seed in range(120):
        example = compilable(Random(seed))
        expected = query_answers(example.ast, example.stream)
        wrong += set(in_batches(example, [])) != set(expected)
    assert 0 < wrong < 60


def test_registers_and_statuses_are_distinct() -> None:
    statuses = (
        arrays.DONE,
        arrays.NEED_CELL,
        arrays.NEED_ARENA,
        arrays.NEED_SCRATCH,
        arrays.NEED_POOL,
        arrays.NEED_STACK,
        arrays.FULL,
    )
    assert len(set(statuses)) == 7
    assert arrays.REGISTERS == 14


@pytest.mark.parametrize("window", ["WITHIN 3 [t]", "WITHIN 3 EVENTS"])
@pytest.mark.parametrize("consume", ["", "CONSUME BY ANY", "CONSUME BY PARTITION"])
def test_dead_keys_are_forgotten(
    window: str, consume: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One key per event, more or less: partitions with no run in the window leave no trace."""
    monkeypatch.setattr(evaluation, "KEYS_KEPT", 8)
    query = as_pattern(f"SELECT * WHERE A ; B PARTITION BY [k] {window} {consume}")
    events = [
        event
        for n in range(300)
        for event in ({"type": "A", "k": n // 2, "t": n}, {"type": "B", "k": (n - 1) // 2, "t": n})
    ]
    run = GeneralEvaluation(query.plan, query.machine)
    answers: list[ComplexEvent] = []
    most = 0
    for n in range(0, len(events), 2):
        columns = {
            name: [event[name] for event in events[n : n + 2]] for name in ("type", "k", "t")
        }
        for batch in run.push_columns(columns, 2):
            answers += batch
        assert run._keys is not None
        most = max(most, run._keys.count)
    expected = list(answers_of(query, cerlab.Stream.from_events(events), "tecs"))
    assert answers == expected
    assert answers
    if "[t]" in window:  # a window of events in a partition that goes silent is never over
        assert most < 60
