"""Random plans for registers, their streams, and their answers by the reference."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from random import Random
from typing import TypeVar

from cerlab import ComplexEvent, Event, ResourceLimit, Timestamp, Unsupported
from cerlab.automata.automaton import Mark
from cerlab.automata.plan import CorrelatedPlan, MarkWindow, RegisterPlan
from cerlab.automata.registers import NONE, RegisterTransition, Srt
from cerlab.compile.sremo_to_srt import register_plan
from cerlab.engine.reference import driver
from cerlab.engine.reference.registers import IntervalRuns, answers
from cerlab.engine.registers.evaluation import RegisterEvaluation, RegisterRun, why_not
from cerlab.engine.registers.program import AnyPlan
from cerlab.model.clauses import AttributeWindow, Consume, EventWindow, Strategy
from cerlab.model.event import Value
from cerlab.model.stream import Stream
from cerlab.predicates.syntax import EVERYTHING
from proofs_tests.srt.cases import random_srt, random_word
from proofs_tests.srt.test_algorithm_1 import random_windowed, with_detection

Case = tuple[AnyPlan, Stream]
Draw = Callable[[Random], Case | None]

PlanKind = TypeVar("PlanKind", bound=AnyPlan)

KINDS: tuple[Value, ...] = (0, 1, 2, 1.0, 0.5, float("nan"), None, True, False, "a", "b")
KINDS += (Timestamp(0), Timestamp(1), 2**53, 2**53 + 1, float(2**53), -1, "")
WINDOWS: tuple[MarkWindow | None, ...] = (
    None,
    EventWindow(3),
    EventWindow(1),
    AttributeWindow(3, "t"),
    AttributeWindow(1.5, "t"),
)


def reference_answers(plan: AnyPlan, stream: Stream) -> list[ComplexEvent]:
    """The answers by the reference, each once, in order."""
    if isinstance(plan, CorrelatedPlan):
        result = driver.run(plan, lambda: IntervalRuns(plan), stream, stream.time)
    else:
        result = answers(plan, stream.events)
    return in_order(result)


def engine_answers(
    plan: AnyPlan, stream: Stream, *, room: int = 1, arena: int = 4
) -> list[ComplexEvent]:
    """The answers of the engine, in order, from sizes so small that everything has to grow."""
    run = RegisterEvaluation(plan, stream, stream.time, room=room, arena=arena, answers=1)
    result = [answer for batch in run.answers() for answer in batch]
    assert result == sorted(result, key=lambda answer: answer.end)
    return in_order(result)


def pushed_answers(rng: Random, plan: AnyPlan, stream: Stream) -> list[ComplexEvent]:
    """The same where the events come in random batches, as columns or one by one.

    At times another run goes on with the state of the one before.
    """

    def fresh_run() -> RegisterRun:
        return RegisterRun(plan, stream.time, room=1, arena=4, answers=1)

    run = fresh_run()
    result: list[ComplexEvent] = []
    events = list(stream.events)
    while events:
        size = rng.choice((1, 1, 2, 3, 5, 40))
        some, events = Stream(events[:size]), events[size:]
        if rng.random() < 0.2:
            state, run = run.state(), fresh_run()
            run.resume(*state)
        before, lowest = run.position, run.lowest
        by_columns = run.push_columns(some.columns, len(some))
        pushed = by_columns if rng.random() < 0.5 else run.push_events(some.events)
        fresh = [answer for batch in pushed for answer in batch]
        assert all(answer.end >= before and answer.start >= lowest for answer in fresh)
        result += fresh
    return in_order(result)


def in_order(result: Iterable[ComplexEvent]) -> list[ComplexEvent]:
    """By end, start and positions."""
    return sorted(result, key=lambda a: (a.end, a.start, a.positions))


def of_expression(rng: Random) -> Case | None:
    """A random expression in windows; None if it has no transducer."""
    e, S = with_detection(rng, random_windowed)
    try:
        return register_plan(e), Stream(S)
    except (Unsupported, ResourceLimit):
        return None


def with_answers(
    rng: Random, draw: Callable[[Random], tuple[PlanKind, Stream]]
) -> tuple[PlanKind, Stream]:
    """A case with answers, if one is soon found."""
    for _ in range(3):
        case = draw(rng)
        if reference_answers(*case):
            break
    return case


def of_transducer(rng: Random) -> Case:
    """A random transducer anywhere in a stream, in random windows."""
    T = random_srt(rng)
    q = T.states
    before = (
        RegisterTransition(q, EVERYTHING, Mark.SKIP, NONE, q),
        *(t._replace(source=q) for t in T.Delta if t.source == T.q0),
    )
    T = Srt(q + 1, (*T.Delta, *before), frozenset({q}), T.F, R=T.R)
    windows = (rng.choice(WINDOWS) for _ in range(2))
    return RegisterPlan(T, tuple(w for w in windows if w is not None)), words(rng, T)


def of_intervals(rng: Random) -> Case:
    """A random transducer, with random clauses."""
    T = random_srt(rng)
    partition = rng.choice(((), (), (), ("w",), ("v",), ("w", "v")))
    window = rng.choice(WINDOWS)
    consume = rng.choice((Consume.NONE, Consume.NONE, Consume.ANY, Consume.PARTITION))
    if partition:
        window = window if isinstance(window, AttributeWindow) else None
        consume = Consume.NONE if consume is Consume.PARTITION else consume
    streams = rng.choice(((), (), ("S",)))
    strategy = rng.choice((None, None, Strategy.MAX, Strategy.NXT, Strategy.LAST))
    plan = CorrelatedPlan(
        T,
        streams=streams,
        partition=partition,
        strategy=strategy,
        window=window,
        consume=consume,
    )
    return plan if why_not(plan) is None else replace(plan, strategy=None), words(rng, T)


def words(rng: Random, T: Srt, most: int = 9) -> Stream:
    """Some words that the transducer may accept, one after the other, of all kinds of values."""
    events = [t for _ in range(rng.choice((1, 2, 3))) for t in random_word(rng, T, 4)][:most]
    time, events_in_time = 0, []
    for t in events:
        time += rng.choice((1, 0, 1, 2))
        v = rng.choice(KINDS) if rng.random() < 0.15 else t.attributes["v"]
        stream = rng.choice((None, "S", "S", "U"))
        events_in_time.append(Event(t.type, {**t.attributes, "v": v, "t": time}, stream))
    return Stream(events_in_time)
