"""The compiled register engine against configurations by hand and against the oracle (SRT Alg. 1).

Random expressions and transducers, values of all kinds, and arrays so small at first that every
event makes them grow, be swept or be collected.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab import ComplexEvent, Event, Timestamp, io, satisfies
from cerlab.automata.plan import CorrelatedPlan
from cerlab.compile.sremo_to_srt import register_plan
from cerlab.engine.kernels.registers import compare
from cerlab.engine.reference.registers import answers
from cerlab.engine.registers import configurations, evaluation
from cerlab.engine.registers.evaluation import (
    RegisterEvaluation,
    register_answers,
    why_not,
)
from cerlab.engine.registers.program import NotTaken, clauses, residual
from cerlab.engine.registers.rules import OPERATORS
from cerlab.evaluate import thresholds
from cerlab.logic.sremo import detections
from cerlab.model.answer import Registers, by_end
from cerlab.model.clauses import AttributeWindow, Consume, EventWindow, Limit, Strategy
from cerlab.model.event import Value
from cerlab.model.stream import Stream
from cerlab.predicates import syntax as pred
from cerlab.predicates import truth
from cerlab.predicates.columns import ranks
from cerlab.predicates.columns.ranks import Ranks
from proofs_tests.kernels import JIT
from proofs_tests.sremo.tables import sre as parsed
from proofs_tests.srt.cases import events, random_event, random_guard, random_srt
from proofs_tests.srt.correlated_cases import correlated_case, under_clauses
from proofs_tests.srt.register_cases import (
    KINDS,
    Case,
    engine_answers,
    in_order,
    of_expression,
    of_intervals,
    of_transducer,
    pushed_answers,
    reference_answers,
    with_answers,
    words,
)
from proofs_tests.srt.test_algorithm_1 import random_windowed, with_detection
from proofs_tests.suite import Suite, random_suite


@random_suite(10_000)
def test_expressions_on_streams(rng: Random) -> bool | None:
    """The same answers as shared runs, and as the relation itself (SRT Def. 17; SRT Def. 32)."""
    e, S = with_detection(rng, random_windowed)
    try:
        plan = register_plan(e)
    except (cerlab.Unsupported, cerlab.ResourceLimit):
        return None
    ours = engine_answers(plan, Stream(S))
    assert ours == reference_answers(plan, Stream(S))
    expected = {(D.end, D.positions) for D in detections(e, S)}
    assert {(D.end, D.positions) for D in ours} == expected
    return bool(ours)


@pytest.mark.parametrize("draw", [of_transducer, of_intervals])
@random_suite(10_000)
def test_transducers_with_values_of_all_kinds(draw: Callable[[Random], Case], rng: Random) -> bool:
    plan, stream = with_answers(rng, draw)
    ours = engine_answers(plan, stream, room=rng.choice((1, 64)), arena=rng.choice((4, 16, 256)))
    assert ours == reference_answers(plan, stream), (plan, stream.events)
    return bool(ours)


@pytest.mark.parametrize("spacing", [3, 17, ranks.SPACING])
def test_batches_and_states(spacing: int, suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    """However a stream is cut, with codes that run out of gaps, and keys and values forgotten."""
    monkeypatch.setattr(ranks, "SPACING", spacing)

    def correlated(rng: Random) -> Case | None:
        each = rng.choice((correlated_case, under_clauses))(rng)
        plan = each.query.registers
        return (plan, each.stream) if plan.limit is None and why_not(plan) is None else None

    def case(rng: Random) -> bool | None:
        for _ in range(2):  # half of the first draws have no answer
            drawn = rng.choice((of_expression, of_transducer, of_intervals, correlated))(rng)
            expected = [] if drawn is None else reference_answers(*drawn)
            if expected:
                break
        if drawn is None:
            return None
        monkeypatch.setattr(evaluation, "KEYS_KEPT", rng.choice((0, 1, 4096)))
        monkeypatch.setattr(evaluation, "VALUES_KEPT", rng.choice((0, 1, 1 << 17)))
        assert pushed_answers(rng, *drawn) == expected
        return bool(expected)

    suite.run(case, deep_count=20_000)


@random_suite(4_000)
def test_longer_streams_and_counts(rng: Random) -> bool:
    """Forty events; the count without listing is the length of the list."""
    T = random_srt(rng)
    parts = [words(rng, T).events for _ in range(8)]
    in_time = (
        Event(t.type, {**t.attributes, "t": n}, t.stream)
        for n, t in enumerate(t for part in parts for t in part)
    )
    stream = Stream(list(in_time)[:40])
    window = rng.choice((EventWindow(5), EventWindow(8), AttributeWindow(6, "t")))
    plan = CorrelatedPlan(T, window=window)
    count = RegisterEvaluation(plan, stream, room=1, arena=4).count()
    if count > 3_000:
        return True
    ours = engine_answers(plan, stream, arena=32)
    assert Counter(ours) == Counter(reference_answers(plan, stream))
    assert count == len(ours)
    return bool(ours)


@random_suite(4_000)
def test_limits_give_the_same_answers_of_each_end(rng: Random) -> bool:
    plan, stream = with_answers(rng, of_intervals)
    assert isinstance(plan, CorrelatedPlan)
    limited = replace(plan, limit=Limit(rng.choice((1, 2, 3))))
    ours = engine_answers(limited, stream)
    assert sorted(ours, key=by_end) == reference_answers(limited, stream)
    return bool(ours)


@random_suite(4_000)
def test_queries_that_compare_labels(rng: Random) -> bool:
    """Queries of the fragment under clauses, as by runs that are written out (SRT Alg. 1)."""

    def draw(rng: Random) -> tuple[CorrelatedPlan, Stream]:
        while True:
            each = rng.choice((correlated_case, under_clauses))(rng)
            plan = each.query.registers
            if plan.limit is None and why_not(plan) is None:
                return plan, each.stream

    plan, stream = with_answers(rng, draw)
    ours = engine_answers(plan, stream)
    assert ours == reference_answers(plan, stream), plan
    return bool(ours)


@random_suite(10_000)
def test_codes_compare_as_values_do(rng: Random) -> bool:
    """All operators on values of all kinds, in columns of one type and of several."""
    families: tuple[tuple[Value, ...], ...] = (
        KINDS,
        (0, 1, 2, -1, 2**53 + 1, None),
        (0.5, float("nan"), -0.0, 0.0, float("inf"), None),
        ("a", "b", "", "é", "\U0001f600", "\uffff", None),
        (Timestamp(0), Timestamp(-1), Timestamp(5), None),
    )
    a, b = ([rng.choice(rng.choice(families)) for _ in range(4)] for _ in range(2))
    if rng.random() < 0.7:
        family = rng.choice(families)
        a, b = ([rng.choice(family) for _ in range(4)] for _ in range(2))
    constant = rng.choice(KINDS)
    constants = [constant] if rng.random() < 0.5 else []
    value_codes = Ranks(constants)
    columns = value_codes.of_columns(
        {"a": a, "b": b}, [*map(pred.Attribute, ("a", "b", "none"))], 4
    )
    values = [*zip(a, columns[0], strict=True), *zip(b, columns[1], strict=True)]
    values += zip(constants, value_codes.constants, strict=True)
    assert set(columns[2].tolist()) == {-1}
    holds = False
    for op, number in OPERATORS.items():
        for x, left in values:
            for y, right in values:
                outcome = compare(number, int(left), int(right))
                assert outcome == truth.compare(op, x, y), (op, x, y)
                holds |= outcome
    return holds


@random_suite(10_000, needs_answers=0.4)
def test_clauses_hold_when_the_guard_does(rng: Random) -> bool:
    """The clauses of a residual guard have its truth for all events and registers."""
    guard = nested_guard(rng, 3)
    t, v = random_event(rng), Registers()
    v = v.written(frozenset(r for r in "rs" if rng.random() < 0.6), random_event(rng))
    left = residual(guard, lambda atom: satisfies(t, atom, v))
    asks = all(isinstance(atom, pred.RegisterComparison) for atom in pred.atoms(left))
    assert asks or left in (pred.EVERYTHING, pred.FALSE)
    holds = any(
        all(satisfies(t, each.comparison, v) != each.is_negated for each in clause)
        for clause in clauses(left)
    )
    assert holds == satisfies(t, guard, v)
    return holds


def nested_guard(rng: Random, depth: int) -> pred.Guard:
    if depth == 0:
        return random_guard(rng)
    match rng.choice(["not", "and", "or"]):
        case "not":
            return pred.Not(nested_guard(rng, depth - 1))
        case "and":
            return pred.And(nested_guard(rng, depth - 1), nested_guard(rng, depth - 1))
        case _:
            return pred.Or(nested_guard(rng, depth - 1), nested_guard(rng, depth - 1))


def test_too_many_clauses_are_left_to_the_reference() -> None:
    condition = " AND ".join(f"(v = r.v OR w = r.a{n})" for n in range(7))
    e = parsed(f"A^ -> r . <{condition}>^")
    S = Stream(events("AA", v="11"))
    with pytest.raises(NotTaken):
        RegisterEvaluation(register_plan(e), S)
    assert cerlab.evaluate(e, S, evaluator="compiled") == [ComplexEvent(0, 1, (0, 1))]


def test_the_table_of_values() -> None:
    """Register against event, by hand: 1 = 1.0, nothing equals NULL, NaN or another kind."""
    values: list[Value] = [1, 1.0, 2, None, float("nan"), True, "1", Timestamp(1), 0]
    S = Stream([Event("A", {"v": v}) for v in values])
    for text, pairs in {
        "v = r.v": {(0, 1)},
        "v != r.v": {(0, 2), (1, 2), (0, 8), (1, 8), (2, 8)},
        "v > r.v": {(0, 2), (1, 2)},
        "r.v <= v": {(0, 1), (0, 2), (1, 2)},
        "v < r.v": {(0, 8), (1, 8), (2, 8)},
        "v = 1 AND r.v >= 1": {(0, 1)},
    }.items():
        ours = engine_answers(register_plan(parsed(f"<TRUE>^ -> r . _* . <{text}>^")), S)
        assert {answer.positions for answer in ours} == pairs, text


def test_arrow_columns_with_dictionaries_nulls_and_moments() -> None:
    table = pa.table(
        {
            "type": pa.array(["A", "B", "A", "B", "B", "A"]).dictionary_encode(),
            "name": pa.chunked_array([["x", "y", None], ["x", "z", "x"]]).dictionary_encode(),
            "u": pa.array([1, 2, 3, 2, 1, 2], pa.uint64()),
            "f": pa.array([1.0, 2.0, None, float("nan"), 1.0, 2.0]),
            "m": pa.array([5, 5, None, 7, 5, 8], pa.timestamp("ms")),
        }
    )
    stream = io.from_arrow(table)
    for text in ("name = r.name", "u = r.f", "f < r.u", "m = r.m", "m > r.m", "u != r.u"):
        plan = register_plan(parsed(f"<TRUE>^ -> r . _* . <{text}>^"))
        ours = engine_answers(plan, stream)
        assert ours == in_order(reference_answers(plan, stream))
        assert ours, text


@pytest.mark.parametrize("short", [0, 100])
def test_the_evaluators_by_name(short: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond `SHORT` events "registers" is the engine; the answers are those of the reference."""
    monkeypatch.setattr(thresholds, "SHORT", short)
    e = "(<TRUE>^ -> r . <TRUE>* . <v > r.v>^)[1..4]"
    S = [{"type": "A", "v": v} for v in (3, 1, 2, 2.5, 0, 7)]
    reference = cerlab.evaluate(e, S, evaluator="reference")
    assert reference
    for evaluator in ("auto", "registers", "compiled"):
        assert cerlab.evaluate(e, S, evaluator=evaluator) == reference


@pytest.mark.parametrize("wrong", [1, None])
def test_answers_before_a_bad_time_are_given(wrong: int | None) -> None:
    plan = register_plan(parsed("(A^ . _* . B^)[within 9 t]"))
    S = Stream([Event(k, {"t": t}) for k, t in zip("ABBAB", (1, 2, 3, wrong, 5), strict=True)])
    ours = register_answers(plan, S, lambda _: answers(plan, S.events))
    assert [next(ours), next(ours)] == [ComplexEvent(0, 1, (0, 1)), ComplexEvent(0, 2, (0, 2))]
    with pytest.raises(cerlab.BadData, match="position 3"):
        next(ours)


def test_what_the_engine_leaves_to_the_reference() -> None:
    T = register_plan(parsed("A^ . B^")).srt
    for plan in (
        CorrelatedPlan(T, partition=("k",), window=EventWindow(2)),
        CorrelatedPlan(T, partition=("k",), consume=Consume.PARTITION),
        CorrelatedPlan(T, strategy=Strategy.STRICT),
        CorrelatedPlan(T, strategy=Strategy.MAX, window=EventWindow(2), streams=("S",)),
        CorrelatedPlan(T, strategy=Strategy.LAST, window=EventWindow(2), consume=Consume.ANY),
    ):
        assert why_not(plan)
        with pytest.raises(NotTaken):
            RegisterEvaluation(plan, Stream([]))
    for plan in (
        CorrelatedPlan(T, partition=("k",), consume=Consume.ANY),
        CorrelatedPlan(T, strategy=Strategy.MAX, window=EventWindow(2)),
        CorrelatedPlan(T, strategy=Strategy.NXT, partition=("k",), consume=Consume.ANY),
    ):
        assert why_not(plan) is None


def test_ambiguity_does_not_pile_up() -> None:
    """Two runs for each mark and 2^20 ways to the same match: it is listed once, and soon."""
    plan = register_plan(parsed("(_^ | <v = 1>^)+ . C^"))
    run = RegisterEvaluation(plan, Stream(events(20 * "A" + "C", v=20 * "1" + "0")))
    assert sorted(a.start for batch in run.answers() for a in batch) == list(range(20))
    assert run.configurations.steps < 5_000


def test_counts_are_exact_or_refused() -> None:
    plan = register_plan(parsed("#(A^ -> r, #(A^*), <type = 'B' AND v > r.v>^)"))

    def run(length: int) -> RegisterEvaluation:
        return RegisterEvaluation(plan, Stream(events("A" * length + "B", v="0" * length + "1")))

    assert run(40).is_unambiguous
    assert run(40).count() == 2**40 - 1
    with pytest.raises(cerlab.ResourceLimit, match="CER0618"):
        run(60).count()
    assert run(60).estimate() == 2.0**60


def test_too_many_configurations_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configurations, "MAX_CONFIGURATIONS", 1_000)
    plan = register_plan(parsed("A^ -> r . _* . <v > r.v>^"))
    S = Stream([Event("A", {"v": -n}) for n in range(2_000)])
    with pytest.raises(cerlab.ResourceLimit, match="CER0685"):
        RegisterEvaluation(plan, S).count()


def test_a_slice_without_jit_agrees() -> None:
    for draw in (of_expression, of_transducer, of_intervals):
        for seed in range(60):
            case = draw(Random(seed))
            if case is not None:
                assert engine_answers(*case) == reference_answers(*case)


def unordered_union(
    arena: Any, memo: Any, counters: Any, first: int, second: int, lowest: int
) -> int:
    """``either`` that puts what came last on the left, whenever it started."""
    from cerlab.engine.kernels.tecs import join

    return join(arena, counters, first, second)


@pytest.mark.skipif(JIT, reason="compiled kernels call each other directly")
def test_without_jit_a_broken_kernel_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    from cerlab.engine.kernels import register_runs as read

    monkeypatch.setattr(read, "either", unordered_union)
    wrong = cases = 0
    for seed in range(150):
        plan, stream = of_intervals(Random(seed))
        right = reference_answers(plan, stream)
        cases += bool(right)
        wrong += engine_answers(plan, stream) != right
    assert 0 < wrong < cases / 2
