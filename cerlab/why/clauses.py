"""Checks of the clauses after the formula, such as CONSUME BY and LIMIT, and by the automaton.

Each check asks an evaluator for answers; an answer that excludes the candidate is its failure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from typing import NamedTuple, TypeAlias

from cerlab.automata.automaton import IntervalCea, Mark, outgoing
from cerlab.automata.plan import MarkWindow, Plan, RegisterPlan
from cerlab.automata.strategy import machine_of
from cerlab.budget import poll
from cerlab.compile.pattern import Pattern
from cerlab.compile.sremo_to_srt import register_plan
from cerlab.computed import cached_property
from cerlab.engine.reference.runs import RunsOfAnswer
from cerlab.engine.reference.tecs import TecsEvaluation
from cerlab.errors import ResourceLimit, Unsupported
from cerlab.evaluate import answers_of
from cerlab.logic.cel.syntax import waits
from cerlab.logic.cel.text import window_text
from cerlab.logic.ceql.semantics import Substream
from cerlab.logic.ceql.syntax import CeqlQuery, partition_attributes
from cerlab.logic.sremo.semantics import duration
from cerlab.logic.sremo.syntax import Sremo
from cerlab.model.answer import ComplexEvent, Positions, Registers
from cerlab.model.clauses import Consume, EventWindow, Limit, Strategy
from cerlab.model.event import Event
from cerlab.model.stream import Stream
from cerlab.predicates.text import positions_text
from cerlab.predicates.truth import Key, partition_key, satisfies
from cerlab.why import failure as fail
from cerlab.why.candidates import Candidate, Region, candidates, not_strict, regions
from cerlab.why.failure import Failure
from cerlab.why.question import (
    AnyQuestion,
    Meter,
    Question,
    SremoQuestion,
    other_interval,
    places,
    unmarked_ends,
)
from cerlab.why.strategies import first_preferred, moved_answer


def match(question: AnyQuestion) -> tuple[Candidate, Region] | None:
    """Return a derivation of exactly the given positions and the range searched, or None.

    Its only failures are those of clauses after the formula.
    """
    for region in regions(question):
        # a match in one range is a match in all wider ranges, so the first one suffices
        if exact := candidates(question, region, 0):
            return first_passing(question, exact), region
    return None


def first_passing(question: AnyQuestion, exact: Sequence[Candidate]) -> Candidate:
    """Return the first candidate that satisfies all clauses, or else the one that fails latest.

    `exact` are the candidates without other failures.
    """
    if isinstance(question, SremoQuestion):
        interval = other_interval(exact[0].interval, question.start, question.end)
        return replace(exact[0], failures=interval)
    checks = Checks(question, max(candidate.interval[1] for candidate in exact))
    rejections: list[tuple[int, Candidate, Failure]] = []
    for candidate in exact:
        for stage, check in enumerate(checks.every):
            if (failure := check(candidate)) is not None:
                rejections.append((stage, candidate, failure))
                break
        else:
            return candidate
    # `max` returns the first of equal ones, and better candidates come first
    _, furthest, failure = max(rejections, key=lambda each: each[0])
    return replace(furthest, failures=(failure,))


class Checks:
    """Checks of CONSUME BY, strategies, LIMIT and THROTTLE on candidates."""

    def __init__(self, question: Question, last: int) -> None:
        self._question = question
        self._last = last
        self._preferences: dict[tuple[Key, int], Failure | None] = {}

    @property
    def every(self) -> Sequence[Callable[[Candidate], Failure | None]]:
        """The checks in the order in which the clauses apply."""
        return self.consumption, self.selection, self.limit, self.throttle

    def _answers(self, ast: CeqlQuery) -> list[ComplexEvent]:
        """Return a query's answers up to the last end to check, in the evaluator's order."""
        question = self._question
        every = answers(ast, question.stream, first_order=question.first_order)
        return list(takewhile(lambda answer: answer.end <= self._last, every))

    @cached_property
    def _consuming(self) -> list[ComplexEvent]:
        """One answer at each end where CONSUME BY discards events."""
        ast = self._question.ast
        one = replace(ast, limit=Limit(1), throttle=None)
        return [] if ast.consume is Consume.NONE else self._answers(one)

    def _consumer(self, candidate: Candidate) -> ComplexEvent | None:
        """Return the last earlier answer that consumed events of the candidate, or None."""
        ast, stream = self._question.ast, self._question.stream
        attributes = partition_attributes(ast)
        before = [
            answer
            for answer in self._consuming
            if answer.end < candidate.interval[1]
            and (
                ast.consume.crosses_partitions
                or partition_key(stream[answer.end], attributes) == candidate.key
            )
        ]
        return before[-1] if before else None

    def consumption(self, candidate: Candidate) -> Failure | None:
        """Return the failure of a candidate if an earlier answer consumed its first events."""
        consumer = self._consumer(candidate)
        if consumer is None or consumer.end < candidate.interval[0]:
            return None
        part = f"CONSUME BY {self._question.ast.consume.value}"
        return fail.CONSUMED.failure(
            part, positions=(consumer.end,), rival=consumer, clause="consume"
        )

    def selection(self, candidate: Candidate) -> Failure | None:
        """Return the failure of a candidate if the strategy selects another answer with its end."""
        strategy = self._question.strategy
        if strategy is None or strategy is Strategy.STRICT:  # STRICT does not compare answers
            return None
        place = (candidate.key, candidate.interval[1])
        if place not in self._preferences:
            self._preferences[place] = self._preference_failure(strategy, candidate)
        return self._preferences[place]

    def _preference_failure(self, strategy: Strategy, candidate: Candidate) -> Failure | None:
        """Return the failure for an answer with the same end that the strategy prefers, if any.

        Strategies act before WITHIN, so that answer may start anywhere after the last consumed
        event.
        """
        question, end = self._question, candidate.interval[1]
        consumer = self._consumer(candidate)
        begin = 0 if consumer is None else consumer.end + 1
        if waits(question.formula):
            return self._preferred_wait(strategy, candidate, begin)
        every = places(question, begin, end)
        S = next(each.substream for each in every if each.key == candidate.key)
        rival = self._rival(strategy, S)
        return None if rival is None else self._dropped(strategy, moved_answer(rival, S.positions))

    def _dropped(self, strategy: Strategy, rival: ComplexEvent) -> Failure:
        """Return the failure of an answer that a strategy drops in favour of `rival`."""
        without = (self._question.without_strategy,)
        row = fail.PREFERRED[strategy]
        return row.failure(strategy.value, rival=rival, more=without)

    def _preferred_wait(
        self, strategy: Strategy, candidate: Candidate, begin: int
    ) -> Failure | None:
        """Return the failure of a waiting answer if the strategy may prefer another one."""
        question, end, C = self._question, candidate.interval[1], self._question.positions
        bare = replace(
            question.ast,
            formula=question.formula,
            strategy=None,
            window=None,
            consume=Consume.NONE,
            limit=None,
            throttle=None,
        )
        attributes = partition_attributes(bare)

        def rival(stream: Stream) -> ComplexEvent | None:
            every = takewhile(lambda m: m.end <= end, answers(bare, stream))
            of_end = (
                m
                for m in every
                if m.end == end
                and m.start >= begin
                and partition_key(stream[end], attributes) == candidate.key
            )
            return first_preferred(strategy, of_end, C)

        if (now := rival(question.stream)) is not None:
            return self._dropped(strategy, now)
        if (later := rival(question.stream.up_to("end"))) is None:
            return None
        without = (question.without_strategy,)
        return fail.PREFERRED_LATER.failure(strategy.value, rival=later, more=without)

    def _rival(self, strategy: Strategy, S: Substream) -> ComplexEvent | None:
        """Return an answer at the last event of a substream that the strategy prefers, or None."""
        question, end = self._question, len(S.events) - 1
        C = tuple(S.positions.index(p) for p in question.positions)
        # without WITHIN and LIMIT, which apply after the strategy
        bare = CeqlQuery(question.formula, items=question.ast.items, strategy=strategy)
        plan = plan_of(bare, first_order=question.first_order)
        if plan is None:
            timed = Stream(S.events, time=question.time)
            every = answers(bare, timed, first_order=question.first_order)
            return first_preferred(strategy, (m for m in every if m.end == end), C)
        # an end may have exponentially many answers; one pass finds a larger one
        if strategy is Strategy.MAX:
            return larger_answer(plan.cea, S.events, C)
        evaluation = TecsEvaluation(machine_of(plan))
        for i, t in enumerate(S.events):
            evaluation.advance(t, i)
        return first_preferred(strategy, evaluation.answers(0), C)

    @cached_property
    def _every_answer(self) -> list[ComplexEvent]:
        return self._answers(replace(self._question.ast, throttle=None))

    def limit(self, candidate: Candidate) -> Failure | None:
        """Return the failure of a candidate if LIMIT keeps only other answers at its end."""
        limit = self._question.ast.limit
        if limit is None:
            return None
        start, end = candidate.interval
        of_end = [answer for answer in self._every_answer if answer.end == end]
        if ComplexEvent(start, end, self._question.positions) in of_end:
            return None
        part = f"LIMIT {limit.per_end}"
        if len(of_end) < limit.per_end and waits(self._question.formula):
            return fail.LIMIT_LATER.failure(part, clause="limit")
        others = ", ".join(positions_text(m.positions) for m in of_end[:3])
        rival = of_end[0] if of_end else None
        return fail.LIMIT.failure(part, rival=rival, clause="limit", others=others or "none")

    def throttle(self, candidate: Candidate) -> Failure | None:
        """Return the failure of a candidate if THROTTLE drops its end."""
        ast, stream, end = self._question.ast, self._question.stream, candidate.interval[1]
        if ast.throttle is None:
            return None
        attributes = partition_attributes(ast)
        given = [
            answer
            for answer in self._answers(ast)
            if answer.end <= end and partition_key(stream[answer.end], attributes) == candidate.key
        ]
        if not given or given[-1].end == end:
            return None
        part = f"THROTTLE {window_text(ast.throttle)}"
        return fail.THROTTLED.failure(part, rival=given[-1], clause="throttle")


def answers(ast: CeqlQuery, stream: Stream, *, first_order: bool = False) -> Iterator[ComplexEvent]:
    """Yield the answers of a query by end, from the best evaluator that supports it."""
    return answers_of(Pattern(ast, logic="fo" if first_order else "so"), stream)


def plan_of(ast: CeqlQuery, *, first_order: bool) -> Plan | None:
    """Return the plan of a query, with FO-CEL translated to SO-CEL; None without an automaton."""
    try:
        return Pattern(ast, logic="fo" if first_order else "so").plan
    except (Unsupported, ResourceLimit):
        poll()
        return None


PositionList: TypeAlias = "tuple[int, PositionList] | None"
"""Positions that a run has taken, the last first, as a linked list: runs share tails."""


def accepts(cea: IntervalCea, events: Sequence[Event], marks: Positions) -> bool:
    """Return whether some run over the events takes exactly the marked ones."""
    runs = RunsOfAnswer(cea, ComplexEvent(0, len(events) - 1, marks))
    for i, t in enumerate(events):
        runs.advance(t, i)
    return any(runs.answers(0))


class PartialAnswer(NamedTuple):
    """A run: its start, the events taken, and whether some of these are not marked."""

    start: int
    positions: PositionList
    more: bool


def larger_answer(
    cea: IntervalCea, events: Sequence[Event], marks: Positions
) -> ComplexEvent | None:
    """Return an answer at the last event that contains the marked positions and more, or None.

    For each state, two runs are kept, one that has taken more and one that has not: other runs in
    that state can continue only as these do. The cost is linear in the events.
    """
    goal = frozenset(marks)
    first = min(marks, default=len(events) - 1)
    # runs in one state continue alike: keep one with additional events and one without
    runs: dict[tuple[int, bool], PartialAnswer] = {}
    for i, t in enumerate(events):
        step: dict[tuple[int, bool], PartialAnswer] = {}
        for q, run in _to_continue(cea, runs, i, first):
            for move in cea.Delta:
                takes = move.mark is Mark.TAKE
                if move.source != q or (i in goal and not takes):
                    continue
                # skip the predicate, the most expensive step, if an equivalent run exists
                if (move.target, run.more) in step and not takes:
                    continue
                if satisfies(t, move.predicate):
                    positions = (i, run.positions) if takes else run.positions
                    more = run.more or (takes and i not in goal)
                    step.setdefault((move.target, more), PartialAnswer(run.start, positions, more))
        runs = step
    for (q, more), run in runs.items():
        if q in cea.F and more:
            return ComplexEvent(run.start, len(events) - 1, _as_tuple(run.positions))
    return None


def _to_continue(
    cea: IntervalCea, runs: dict[tuple[int, bool], PartialAnswer], i: int, first: int
) -> Iterator[tuple[int, PartialAnswer]]:
    """Yield all runs with their states, and a new run unless the first marked event has passed."""
    yield from ((q, run) for (q, _), run in runs.items())
    if i <= first:
        yield cea.q0, PartialAnswer(i, None, False)


def _as_tuple(positions: PositionList) -> Positions:
    numbers = []
    while positions is not None:
        position, positions = positions
        numbers.append(position)
    return tuple(reversed(numbers))


MAX_CONFIGURATIONS = 1_000
"""Above this many configurations, a SREMO is not confirmed by its transducer."""


def confirm(question: AnyQuestion, found: tuple[Candidate, Region] | None) -> None:
    """Check by assertion that the automaton agrees with the verdict on the formula."""
    if isinstance(question, SremoQuestion):
        # the last range contains all relevant events, so the transducer must refuse there too
        *_, (lo, _) = regions(question) if found is None else found[1:]
        if (machine := _plan(question.e)) is not None:
            shows, holds = _shows(machine, question, lo), found is not None
            assert shows in (None, holds), f"the transducer returns {shows}, the search {holds}"
        return
    if (plan := plan_of(question.ast, first_order=question.first_order)) is None:
        return
    if found is not None:
        agrees = _automaton_accepts(plan.cea, question, *found[0].interval)
        assert agrees, "the automaton does not accept a derivation that was found"
    elif (interval := _only_interval(question)) is not None:
        agrees = not _automaton_accepts(plan.cea, question, *interval)
        assert agrees, "the automaton accepts positions for which no derivation was found"


def _only_interval(question: Question) -> tuple[int, int] | None:
    """Return the only interval that an answer with these positions may have; None if several."""
    opens, closes = unmarked_ends(question.formula, question.context)
    start, end = question.start, question.end
    if start is None and not opens:
        start = question.positions[0]
    if end is None and not closes:
        end = question.positions[-1]
    return None if start is None or end is None else (start, end)


def _automaton_accepts(cea: IntervalCea, question: Question, start: int, end: int) -> bool:
    """Return whether the automaton accepts the marks, on some interval within the window."""
    (place, *others) = places(question, start, end)
    if (
        others
        or place.failures
        or not_strict(question, place)
        or -1 in (place.local(start), place.local(end))
    ):
        return False
    substream = place.substream
    marks = tuple(map(place.local, question.positions))
    meter = Meter(question.ast.window, question.time, substream)
    inside = all(0 <= p < len(substream.events) for p in marks)
    return (
        inside
        and meter.fits(0, len(substream.events) - 1)
        and accepts(cea, substream.events, marks)
    )


@lru_cache(maxsize=8)
def _plan(e: Sremo) -> RegisterPlan | None:
    """Return the transducer of an expression, cached; None if it has none."""
    try:
        return register_plan(e)
    except (Unsupported, ResourceLimit):
        poll()
        return None


def _shows(plan: RegisterPlan, question: SremoQuestion, lo: int) -> bool | None:
    """Return whether a run from `lo` marks exactly the given positions; None if too costly."""
    events, marks = question.events, question.positions
    if not all(_fits(window, events, marks) for window in plan.windows):
        return False
    leaving = outgoing(plan.srt)
    configurations = {(plan.srt.q0, Registers())}
    for i in range(lo, marks[-1] + 1):
        t, mark = events[i], Mark.TAKE if i in marks else Mark.SKIP
        configurations = {
            (move.target, v.written(move.writes, t))
            for q, v in configurations
            for move in leaving[q]
            if move.mark is mark and satisfies(t, move.guard, v)
        }
        if len(configurations) > MAX_CONFIGURATIONS:
            return None
    return any(q in plan.srt.F for q, _ in configurations)


def _fits(window: MarkWindow, events: Sequence[Event], marks: Positions) -> bool:
    if isinstance(window, EventWindow):
        return marks[-1] - marks[0] <= window.width
    return duration(marks, events, window.attribute) <= window.width
