"""Clauses after the formula (CONSUME BY to THROTTLE), and what automata say of marks.

Each is asked of an evaluator: what it answers is what stands in the way.
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
    """Return a derivation with exactly the positions, and the region where it was found.

    It fails nothing but clauses after the formula.
    """
    for region in regions(question):
        # A match in one region is one in every wider region, so the search ends with the first.
        if exact := candidates(question, region, 0):
            return first_passing(question, exact), region
    return None


def first_passing(question: AnyQuestion, exact: Sequence[Candidate]) -> Candidate:
    """Return the first candidate that passes all clauses, else the last to fail, with its failure.

    `exact` are those without failures.
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
    # Of equals `max` has the first, and the candidates come with the best first.
    _, furthest, failure = max(rejections, key=lambda each: each[0])
    return replace(furthest, failures=(failure,))


class Checks:
    """The clauses after the formula, for candidates that end at `last` or before."""

    def __init__(self, question: Question, last: int) -> None:
        self._question = question
        self._last = last
        self._preferences: dict[tuple[Key, int], Failure | None] = {}

    @property
    def every(self) -> Sequence[Callable[[Candidate], Failure | None]]:
        """The checks, in the order in which the clauses act."""
        return self.consumption, self.selection, self.limit, self.throttle

    def _answers(self, ast: CeqlQuery) -> list[ComplexEvent]:
        """Return the answers up to the last end, in the evaluator's order."""
        question = self._question
        every = answers(ast, question.stream, first_order=question.first_order)
        return list(takewhile(lambda answer: answer.end <= self._last, every))

    @cached_property
    def _consuming(self) -> list[ComplexEvent]:
        """One answer for each end at which answers consume."""
        ast = self._question.ast
        one = replace(ast, limit=Limit(1), throttle=None)
        return [] if ast.consume is Consume.NONE else self._answers(one)

    def _consumer(self, candidate: Candidate) -> ComplexEvent | None:
        """Return the last answer before the candidate's end that consumes in its substream."""
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
        """Return the failure of a candidate whose beginning an answer before has consumed."""
        consumer = self._consumer(candidate)
        if consumer is None or consumer.end < candidate.interval[0]:
            return None
        part = f"CONSUME BY {self._question.ast.consume.value}"
        return fail.CONSUMED.failure(
            part, positions=(consumer.end,), rival=consumer, clause="consume"
        )

    def selection(self, candidate: Candidate) -> Failure | None:
        """Return the failure of a candidate if the strategy prefers another answer with its end."""
        strategy = self._question.strategy
        if strategy is None or strategy is Strategy.STRICT:  # which looks at no others
            return None
        place = (candidate.key, candidate.interval[1])
        if place not in self._preferences:
            self._preferences[place] = self._preference_failure(strategy, candidate)
        return self._preferences[place]

    def _preference_failure(self, strategy: Strategy, candidate: Candidate) -> Failure | None:
        """Return the failure for the answer that the strategy keeps in the place of this one.

        The strategy is before WITHIN, so it may start anywhere after the last event consumed.
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
        """Return the failure of an answer that a strategy drops for a rival."""
        without = (self._question.without_strategy,)
        row = fail.PREFERRED[strategy]
        return row.failure(strategy.value, rival=rival, more=without)

    def _preferred_wait(
        self, strategy: Strategy, candidate: Candidate, begin: int
    ) -> Failure | None:
        """Compare answers that wait: one whose wait is not over may yet be preferred."""
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
        """Return the first answer that ends with the last event of a substream and is preferred."""
        question, end = self._question, len(S.events) - 1
        C = tuple(S.positions.index(p) for p in question.positions)
        # Without WITHIN and LIMIT: a strategy compares what is there before them.
        bare = CeqlQuery(question.formula, items=question.ast.items, strategy=strategy)
        plan = plan_of(bare, first_order=question.first_order)
        if plan is None:
            timed = Stream(S.events, time=question.time)
            every = answers(bare, timed, first_order=question.first_order)
            return first_preferred(strategy, (m for m in every if m.end == end), C)
        # Answers with this end may be exponentially many; one that is larger is found in one pass.
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
        """Return the failure of a candidate if LIMIT gives other answers at its end."""
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
        """Return the failure of a candidate whose end THROTTLE leaves out."""
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
    """Yield the answers of the best evaluator that takes the query, by end."""
    return answers_of(Pattern(ast, logic="fo" if first_order else "so"), stream)


def plan_of(ast: CeqlQuery, *, first_order: bool) -> Plan | None:
    """The plan of a query, or of one in SO-CEL with the same answers; None without an automaton."""
    try:
        return Pattern(ast, logic="fo" if first_order else "so").plan
    except (Unsupported, ResourceLimit):
        poll()
        return None


PositionList: TypeAlias = "tuple[int, PositionList] | None"
"""The positions that a run has taken, the last first, as a linked list: runs share their tails."""


def accepts(cea: IntervalCea, events: Sequence[Event], marks: Positions) -> bool:
    """Whether some run over all the events takes exactly the marked ones."""
    runs = RunsOfAnswer(cea, ComplexEvent(0, len(events) - 1, marks))
    for i, t in enumerate(events):
        runs.advance(t, i)
    return any(runs.answers(0))


class PartialAnswer(NamedTuple):
    """A run: where it began, what it has taken, and whether that is more than the marked ones."""

    start: int
    positions: PositionList
    more: bool


def larger_answer(
    cea: IntervalCea, events: Sequence[Event], marks: Positions
) -> ComplexEvent | None:
    """An answer that ends with the last event and takes the marked ones and others, if any does.

    Of the runs in one state, one that has taken more and one that has not are enough: the first may
    go on as the second does. Linear in the events.
    """
    goal = frozenset(marks)
    first = min(marks, default=len(events) - 1)
    # Runs in one state can go on alike: of those that took more one is kept, and of the others.
    runs: dict[tuple[int, bool], PartialAnswer] = {}
    for i, t in enumerate(events):
        step: dict[tuple[int, bool], PartialAnswer] = {}
        for q, run in _to_continue(cea, runs, i, first):
            for move in cea.Delta:
                takes = move.mark is Mark.TAKE
                if move.source != q or (i in goal and not takes):
                    continue
                # Such a run is there already, and to ask the predicate costs most.
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
    """The runs so far, by their state, and one that begins here if none of the marked is behind."""
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
"""With more of them at once, a SREMO has no second opinion."""


def confirm(question: AnyQuestion, found: tuple[Candidate, Region] | None) -> None:
    """Check what the deduction says of the formula, where the query has an automaton."""
    if isinstance(question, SremoQuestion):
        # The last region holds all that can matter, so the transducer has to refuse there as well.
        *_, (lo, _) = regions(question) if found is None else found[1:]
        if (machine := _plan(question.e)) is not None:
            shows, holds = _shows(machine, question, lo), found is not None
            assert shows in (None, holds), f"the transducer says {shows}, the search {holds}"
        return
    if (plan := plan_of(question.ast, first_order=question.first_order)) is None:
        return
    if found is not None:
        agrees = _automaton_accepts(plan.cea, question, *found[0].interval)
        assert agrees, "a derivation was found that the automaton does not accept"
    elif (interval := _only_interval(question)) is not None:
        agrees = not _automaton_accepts(plan.cea, question, *interval)
        assert agrees, "the automaton accepts what no derivation was found for"


def _only_interval(question: Question) -> tuple[int, int] | None:
    """Return the interval of an answer with these positions, if there can be only one."""
    opens, closes = unmarked_ends(question.formula, question.context)
    start, end = question.start, question.end
    if start is None and not opens:
        start = question.positions[0]
    if end is None and not closes:
        end = question.positions[-1]
    return None if start is None or end is None else (start, end)


def _automaton_accepts(cea: IntervalCea, question: Question, start: int, end: int) -> bool:
    """Return whether the automaton accepts the marks on an interval that the window holds."""
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
    """The transducer, kept for the next question about the same expression; None without one."""
    try:
        return register_plan(e)
    except (Unsupported, ResourceLimit):
        poll()
        return None


def _shows(plan: RegisterPlan, question: SremoQuestion, lo: int) -> bool | None:
    """Return whether some run from `lo` marks exactly these positions; None where it costs much."""
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
