"""The clauses after the formula: CONSUME BY, the strategy, LIMIT (DESIGN 3.7-3.9).

Each is asked of an evaluator: what it answers is what stands in the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import takewhile

from cerlab.automata.machine import machine_of
from cerlab.engine.reference.evaluation import TecsEvaluation
from cerlab.logic.ceql.semantics import Substream
from cerlab.logic.ceql.syntax import CeqlQuery, partition_attributes
from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import Consume, Limit, Strategy
from cerlab.model.stream import Stream
from cerlab.predicates.keys import Key, partition_key
from cerlab.predicates.words import positions_text
from cerlab.why.candidates import Candidate
from cerlab.why.evaluation import answers, plan_of
from cerlab.why.failure import Failure, Kind, Without
from cerlab.why.marked_runs import larger_answer
from cerlab.why.preference import dropped_for, first_preferred
from cerlab.why.question import Question, places


def first_passing(
    question: Question, exact: Sequence[Candidate]
) -> tuple[Candidate, tuple[Failure, ...]]:
    """The first candidate that is an answer of the query, else the one that came furthest.

    `exact` are those without failures; with it comes the clause that stops it, if any does.
    """
    checks = Checks(question, max(candidate.interval[1] for candidate in exact))
    rejections: list[tuple[int, Candidate, Failure]] = []
    for candidate in exact:
        for stage, check in enumerate((checks.consumption, checks.selection, checks.limit)):
            if (failure := check(candidate)) is not None:
                rejections.append((stage, candidate, failure))
                break
        else:
            return candidate, ()
    _, furthest, failure = max(rejections, key=lambda each: each[0])
    return furthest, (failure,)


class Checks:
    """The clauses after the formula, for candidates that end at `last` or before."""

    def __init__(self, question: Question, last: int) -> None:
        self._question = question
        self._last = last
        self._preferences: dict[tuple[Key, int], Failure | None] = {}

    def _answers(self, ast: CeqlQuery) -> list[ComplexEvent]:
        """What an evaluator answers up to the last end, in its order."""
        question = self._question
        every = answers(ast, question.stream, first_order=question.first_order)
        return list(takewhile(lambda answer: answer.end <= self._last, every))

    @cached_property
    def _consuming(self) -> list[ComplexEvent]:
        """One answer for each end at which answers consume."""
        ast = self._question.ast
        return [] if ast.consume is Consume.NONE else self._answers(replace(ast, limit=Limit(1)))

    def _consumer(self, candidate: Candidate) -> ComplexEvent | None:
        """The last answer before the candidate's end that consumes in its substream."""
        ast, stream = self._question.ast, self._question.stream
        attributes = partition_attributes(ast)
        before = [
            answer
            for answer in self._consuming
            if answer.end < candidate.interval[1]
            and (
                ast.consume is Consume.ANY
                or partition_key(stream[answer.end], attributes) == candidate.place.key
            )
        ]
        return before[-1] if before else None

    def consumption(self, candidate: Candidate) -> Failure | None:
        """Whether an answer before has consumed the beginning."""
        consumer = self._consumer(candidate)
        if consumer is None or consumer.end < candidate.interval[0]:
            return None
        return Failure(
            Kind.CONSUME,
            f"consumed at {consumer.end} by the answer {positions_text(consumer.positions)}",
            f"CONSUME BY {self._question.ast.consume.value}",
            positions=(consumer.end,),
            repairs=(Without("consume"),),
            rival=consumer,
        )

    def selection(self, candidate: Candidate) -> Failure | None:
        """Whether the strategy prefers another answer with the same end."""
        strategy = self._question.strategy
        if strategy is None or strategy is Strategy.STRICT:  # which looks at no others
            return None
        place = (candidate.place.key, candidate.interval[1])
        if place not in self._preferences:
            self._preferences[place] = self._preference_failure(strategy, candidate)
        return self._preferences[place]

    def _preference_failure(self, strategy: Strategy, candidate: Candidate) -> Failure | None:
        """The answer that the strategy keeps in the place of this one.

        The strategy is before WITHIN, so it may start anywhere after the last event consumed.
        """
        question, end = self._question, candidate.interval[1]
        consumer = self._consumer(candidate)
        begin = 0 if consumer is None else consumer.end + 1
        every = places(question, begin, end)
        S = next(each.substream for each in every if each.key == candidate.place.key)
        repairs, rival = (question.without_strategy,), self._rival(strategy, S)
        failures = dropped_for(strategy, rival, S.positions, strategy.value, (), repairs)
        return next(iter(failures), None)

    def _rival(self, strategy: Strategy, S: Substream) -> ComplexEvent | None:
        """The first answer on a substream, that ends with its last event, which is preferred."""
        question, end = self._question, len(S.events) - 1
        C = tuple(S.positions.index(p) for p in question.positions)
        bare = CeqlQuery(question.formula, items=question.ast.items, strategy=strategy)
        plan = plan_of(bare, first_order=question.first_order)
        if plan is None:
            every = answers(bare, Stream(S.events), first_order=question.first_order)
            return first_preferred(strategy, (m for m in every if m.end == end), C)
        if strategy is Strategy.MAX:
            return larger_answer(plan.cea, S.events, C)
        evaluation = TecsEvaluation(machine_of(plan))
        for i, t in enumerate(S.events):
            evaluation.advance(t, i)
        return first_preferred(strategy, evaluation.answers(0), C)

    @cached_property
    def _every_answer(self) -> list[ComplexEvent]:
        return self._answers(self._question.ast)

    def limit(self, candidate: Candidate) -> Failure | None:
        """Whether LIMIT gives others at this end."""
        limit = self._question.ast.limit
        if limit is None:
            return None
        start, end = candidate.interval
        of_end = [answer for answer in self._every_answer if answer.end == end]
        if ComplexEvent(start, end, self._question.positions) in of_end:
            return None
        part = f"LIMIT {limit.per_end}"
        others = ", ".join(positions_text(m.positions) for m in of_end[:3])
        return Failure(
            Kind.LIMIT,
            f"it is an answer, but {part} gives others that end here: {others or 'none'}",
            part,
            repairs=(Without("limit"),),
            rival=of_end[0] if of_end else None,
        )
