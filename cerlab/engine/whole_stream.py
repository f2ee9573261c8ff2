"""Evaluation of one stream by several threads, each on a range that overlaps the one before.

An answer belongs to the range in which it ends, and begins at most one window before that. So each
answer is found in exactly one range; the overlap is read twice.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from itertools import islice, pairwise
from queue import SimpleQueue
from typing import Any, NamedTuple

from cerlab.automata.plan import (
    CorrelatedPlan,
    Delay,
    ExceptIf,
    HoldWithin,
    LookBack,
    Plan,
    RegisterPlan,
    WaitPlan,
    WaitStep,
)
from cerlab.automata.strategy import Machine, StrategyCea
from cerlab.display import Explanation
from cerlab.engine.answers import (
    PART_OF_LISTED,
    AnswerBatch,
    ListsAt,
    events_of_streams,
    whole,
)
from cerlab.engine.flat_program import BUDGET, Program, Read
from cerlab.engine.instants import TimeColumn
from cerlab.engine.registers.evaluation import why_not
from cerlab.engine.registers.program import PARTITION, AnyPlan, register_program
from cerlab.engine.registers.rules import event_atoms
from cerlab.engine.symbol_tables import LearnedTables, learned_tables
from cerlab.engine.tecs_run import FEW, GeneralEvaluation
from cerlab.engine.window_scan import why_not_windowed
from cerlab.engine.windowed import WindowedEvaluation
from cerlab.errors import BadData
from cerlab.model.clauses import AttributeWindow, Consume, EventWindow, Strategy, Window
from cerlab.model.columns import slice_columns
from cerlab.model.stream import PART, Stream, TimeAxis
from cerlab.predicates.syntax import Atom, atoms, attributes_of
from cerlab.predicates.text import expression_text

RANGE = 1 << 20
"""The maximum number of events of a range."""


SHORTEST = 1 << 19
"""The minimum number of events of a range, except the last one."""


FIRST_LOOK = 1 << 10
"""The number of events in which the start of a window is searched first, then four times as
many."""


def why_not_by_ranges(plan: Plan) -> str | None:
    """Return why a query must be read from the first event; None if ranges are independent."""
    if (reason := why_not_windowed(plan)) is not None:
        return reason
    if plan.consume is not Consume.NONE:
        return "CONSUME BY makes each answer depend on those before it"
    if plan.strategy not in (None, Strategy.STRICT):
        return f"{plan.strategy.value} remembers what came before the window"
    if plan.streams and isinstance(plan.window, EventWindow):
        return "WITHIN n EVENTS counts the events that FROM leaves"
    return None


def ranged_answers(
    plan: Plan, tables: LearnedTables, stream: Stream, time: TimeAxis | None, *, threads: int
) -> Iterator[AnswerBatch]:
    """Yield a plan's answers, found by several threads on ranges of the stream.

    In the order of one thread, except inside an end. At most two ranges for each thread are in
    memory with their answers.
    """
    columns, length = stream.columns, len(stream)
    ranges = pairwise([*cuts(length, threads), length])
    free: SimpleQueue[WindowedEvaluation] = SimpleQueue()
    for helper in tables.for_threads(threads):
        free.put(WindowedEvaluation(plan, helper, time))
    running: deque[Future[_RangeAnswers]] = deque()
    pool = ThreadPoolExecutor(threads)

    def start_some(count: int) -> None:
        for start, end in islice(ranges, count):
            running.append(
                # a new thread does not inherit the context, which contains the limits
                pool.submit(copy_context().run, _range, plan, free, columns, time, start, end)
            )

    try:
        start_some(2 * threads)
        while running:
            result = running.popleft().result()
            start_some(1)
            yield from result.answers
            if result.error is not None:
                raise result.error
    finally:
        # do not wait for threads: the garbage collector may run this while one of them holds a lock
        pool.shutdown(wait=False, cancel_futures=True)


def cuts(length: int, threads: int) -> Iterator[int]:
    """Yield the first event of each range; ranges become shorter, so that threads end together.

    Each is the same share of the rest, within bounds: guided self-scheduling (Polychronopoulos and
    Kuck 1987).
    """
    start, least = 0, min(SHORTEST, -(-length // threads))
    while start < length:
        yield start
        # long ranges first, since each reads one window twice; short ones last
        start += min(RANGE, max(least, (length - start) // (2 * threads)))


class _RangeAnswers(NamedTuple):
    """The answers of a range up to its first bad event, and that event's error."""

    answers: list[AnswerBatch]
    error: BadData | None


def _range(
    plan: Plan,
    free: SimpleQueue[WindowedEvaluation],
    columns: Mapping[str, Any],
    time: TimeAxis | None,
    start: int,
    end: int,
) -> _RangeAnswers:
    """Return the answers that end at `start` or later, and before `end`."""
    run = free.get()
    answers: list[AnswerBatch] = []
    try:
        first = _first(plan, columns, time, start)
        run.begin(first, start)
        answers += run.push_columns(slice_columns(columns, first, end - first), end - first)
        answers += run.finish()
    except BadData as error:
        return _RangeAnswers(answers, error)
    finally:
        free.put(run)
    return _RangeAnswers(answers, None)


def _first(plan: Plan, columns: Mapping[str, Any], time: TimeAxis | None, cut: int) -> int:
    """Return the first event to read, so that the windows of events from `cut` on are complete.

    The last event before the cut is included, so that a time that goes back is seen. Raises
    `BadData` as reading those events does.
    """
    assert plan.window is not None
    if isinstance(plan.window, EventWindow):
        return max(0, cut - plan.window.width)
    reach = FIRST_LOOK
    while True:
        begin = max(0, cut - reach)
        slice = slice_columns(columns, begin, cut - begin)
        part, where = events_of_streams(plan.streams, slice, cut - begin)
        where, length = where + begin, len(where)
        clock = TimeColumn(plan.window, time)
        instants = clock.read(part, length, where.item)
        if length and (begin == 0 or instants[-1] - instants[0] > clock.width):
            return int(where[bisect_left(instants, instants[-1] - clock.width)])
        if begin == 0:
            return 0
        reach *= 4


def attributes_read(plan: Plan, machine: Machine, time: TimeAxis | None) -> frozenset[str]:
    """Return the attributes that evaluating a plan reads, including ``type`` and ``stream``."""
    attributes = attributes_of(atom for P in machine.predicates for atom in atoms(P))
    names = {*attributes, *plan.partition}
    if isinstance(plan.window, AttributeWindow):
        names.add(plan.window.attribute)
    if time is not None:
        names.add(time.attribute)
    return frozenset(names)


def stream_evaluation(
    plan: Plan,
    machine: Machine | LearnedTables,
    time: TimeAxis | None = None,
    lists: ListsAt | None = None,
) -> WindowedEvaluation | GeneralEvaluation:
    """Return the fastest evaluation for a stream that is read to its end.

    Its answers may be held back; after the last batch ``finish`` returns the rest. Answers of ends
    that `lists` excludes may be missing.
    """
    if why_not_windowed(plan) is None:
        return WindowedEvaluation(plan, learned_tables(machine), time, lists=lists)
    return GeneralEvaluation(plan, machine, time)


def compiled_answers(
    plan: Plan,
    machine: Machine | LearnedTables,
    stream: Stream,
    time: TimeAxis | None,
    *,
    threads: int = 1,
    lists: ListsAt | None = None,
) -> Iterator[AnswerBatch]:
    """Yield the answers of a plan on a stream in batches, by end.

    On one thread, answers of ends that `lists` excludes may be missing. Several `threads` evaluate
    ranges of the stream, for queries whose ranges are independent (`why_not_by_ranges`); other
    queries use one thread.
    """
    if threads > 1 and len(stream) > 1 and why_not_by_ranges(plan) is None:
        yield from ranged_answers(plan, learned_tables(machine), stream, time, threads=threads)
        return
    evaluation = stream_evaluation(plan, machine, time, lists)
    if isinstance(evaluation, GeneralEvaluation) and len(stream) <= FEW:
        yield from evaluation.push(stream)
    else:
        yield from whole(evaluation, stream, PART if lists is None else PART_OF_LISTED)


def explain(plan: Plan, tables: LearnedTables) -> Explanation:
    """Return how the compiled engine reads streams, based on the symbols seen so far."""
    return Explanation((*_predicates(tables), *_machine(plan, tables), *_clauses(plan)))


def explain_runs(plan: AnyPlan) -> Explanation:
    """Return how the engine runs a transducer; raises `ResourceLimit` for one that is too large."""
    return Explanation((*_runs(plan), *([] if isinstance(plan, RegisterPlan) else _clauses(plan))))


def _runs(plan: AnyPlan) -> list[str]:
    program = register_program(plan)
    held = ", ".join(expression_text(s.side) for s in program.slots if s != PARTITION)
    size = f"{program.states} states, {len(program.moves)} moves"
    lines = [
        _tests(event_atoms(program)),
        f"runs: {size}; a run holds {held or 'nothing'}",
    ]
    if (reason := why_not(plan)) is not None:
        lines.append(f"run by run, in Python: {reason}")
    else:
        lines.append("compiled: runs in the same state that hold equal values are one")
    return lines


def explain_waits(
    plan: WaitPlan,
    machines: Sequence[Machine | CorrelatedPlan],
    window_text: Callable[[Window], str],
) -> Explanation:
    """Describe the WAIT, LOOKBACK, WITHIN and UNLESS steps that each machine's answers pass."""

    def words(step: WaitStep) -> str:
        match step:
            case Delay(length):
                return (
                    f"WAIT {window_text(length)}: moves the end to the last event within that time"
                )
            case HoldWithin(window, of_last):
                begin = "last event" if of_last else "start"
                return f"WITHIN {window_text(window)}: keeps answers whose {begin} is inside it"
            case LookBack(length):
                return (
                    f"LOOKBACK {window_text(length)}: moves the start to the first event within it"
                )
            case ExceptIf(rival, of_last):
                place = "after their last event" if of_last else "inside"
                return f"UNLESS: drops answers with one of automaton {rival + 1} {place}"

    lines = []
    names = []
    for number, machine in enumerate(machines, 1):
        if isinstance(machine, CorrelatedPlan):
            names.append(f"transducer {number}")
            tests, *runs = _runs(machine)
            lines += [f"{names[-1]}: {tests}", *runs]
            continue
        names.append(f"automaton {number}")
        lines.append(f"{names[-1]}: {_predicates_of(machine)}")
    for branch in plan.branches:
        steps = "; ".join(map(words, branch.steps)) or "given at once"
        machine = machines[branch.body]
        if isinstance(machine, StrategyCea):
            steps += f"; {machine.strategy.value} selects among those left"
        lines.append(f"answers of {names[branch.body]}: {steps}")
    if plan.partition:
        lines.append(f"partitions: by {', '.join(plan.partition)}, one after the other")
    lines.append(
        "by columns: arrays hold, for each event, the later end of the answers that end there"
    )
    return Explanation(tuple(lines))


def _tests(tests: Collection[Atom]) -> str:
    columns = ", ".join(sorted(attributes_of(tests))) or "none"
    return f"predicates: {len(tests)} tests on the columns {columns}"


def _predicates_of(machine: Machine) -> str:
    return _tests(dict.fromkeys(a for P in machine.predicates for a in atoms(P)))


def _predicates(tables: LearnedTables) -> list[str]:
    return [f"{_predicates_of(tables.machine)}; {tables.seen} different outcomes seen so far"]


def _machine(plan: Plan, tables: LearnedTables) -> list[str]:
    reason = why_not_windowed(plan)
    if reason is not None:
        return [f"one phase, the general tECS: {reason}"]
    program = tables.program() if tables.seen else None
    if not tables.seen:
        return ["two phases: which ones is decided when a stream has been seen"]
    if program is None:
        return [
            f"one phase, the general tECS: the machine has more than {BUDGET:,} cells"
            " over the outcomes seen"
        ]
    states = program.moves.states
    return [
        _reading(program),
        f"phase one: the latest start in each of {states} states tells which events end an answer",
        "phase two: chains of records, as runs only gather"
        if program.is_chained
        else "phase two: the general tECS inside the windows of those events, as runs also leave"
        " states, or enter one from several",
    ]


def _reading(program: Program) -> str:
    def count(read: Read) -> int:
        return int((program.read == read).sum())

    text = f"events read: {count(Read.ALWAYS)} of {len(program.read)} outcomes"
    if count(Read.ONCE):
        text += f", and of {count(Read.ONCE)} others the first in a row"
    return text


def _clauses(plan: Plan | CorrelatedPlan) -> list[str]:
    lines = []
    if plan.partition:
        lines.append(f"partitions: by {', '.join(plan.partition)}, side by side in one loop")
    if plan.consume is not Consume.NONE:
        lines.append(f"consume by {plan.consume.value}: an answer empties the states it ends")
    if plan.limit:
        lines.append(f"limit: listing stops after {plan.limit.per_end} answers of an end")
    return lines
