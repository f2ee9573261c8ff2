"""What answers have to pass after the formula: CONSUME BY, the strategy, LIMIT (DESIGN 3.7-3.9).

Each is asked of an evaluator: what it answers is what stands in the way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import takewhile

from cerlab.engine.reference.evaluation import TecsEvaluation
from cerlab.logic.ceql.syntax import CeqlQuery, partition_attributes
from cerlab.model.answer import ComplexEvent
from cerlab.model.clauses import Consume, Limit, Strategy
from cerlab.model.stream import Stream
from cerlab.predicates.keys import Key, partition_key
from cerlab.why.asked import Asked, places
from cerlab.why.attempt import Attempt
from cerlab.why.failure import Failure, Kind, Without
from cerlab.why.marked_runs import larger_answer
from cerlab.why.meaning import answers, with_automaton
from cerlab.why.rivals import first_preferred, moved_answer, positions_text, rival_words


def first_passing(question: Asked, exact: Sequence[Attempt]) -> tuple[Attempt, tuple[Failure, ...]]:
    """The first attempt that is an answer of the query, else the one that came furthest.

    `exact` are those without failures; with it comes the clause that stops it, if any does.
    """
    checks = Checks(question, max(attempt.interval[1] for attempt in exact))
    stopped: list[tuple[int, Attempt, Failure]] = []
    for attempt in exact:
        for stage, check in enumerate((checks.consumed, checks.not_chosen, checks.cut)):
            if (failure := check(attempt)) is not None:
                stopped.append((stage, attempt, failure))
                break
        else:
            return attempt, ()
    _, furthest, failure = max(stopped, key=lambda each: each[0])
    return furthest, (failure,)


class Checks:
    """The clauses after the formula, for attempts that end at `last` or before."""

    def __init__(self, question: Asked, last: int) -> None:
        self._question = question
        self._last = last
        self._chosen: dict[tuple[Key, int], Failure | None] = {}

    def _answers(self, ast: CeqlQuery) -> list[ComplexEvent]:
        """What an evaluator answers up to the last end, in its order."""
        question = self._question
        given = answers(ast, question.stream, first_order=question.first_order)
        return list(takewhile(lambda answer: answer.end <= self._last, given))

    @cached_property
    def _consuming(self) -> list[ComplexEvent]:
        """One answer for each end at which answers consume."""
        ast = self._question.ast
        return [] if ast.consume is Consume.NONE else self._answers(replace(ast, limit=Limit(1)))

    def _consumer(self, attempt: Attempt) -> ComplexEvent | None:
        """The last answer before the attempt's end that consumes in its substream."""
        ast, stream = self._question.ast, self._question.stream
        attributes = partition_attributes(ast)
        before = [
            answer
            for answer in self._consuming
            if answer.end < attempt.interval[1]
            and (
                ast.consume is Consume.ANY
                or partition_key(stream[answer.end], attributes) == attempt.place.key
            )
        ]
        return before[-1] if before else None

    def consumed(self, attempt: Attempt) -> Failure | None:
        """Whether an answer before has consumed the beginning."""
        consumer = self._consumer(attempt)
        if consumer is None or consumer.end < attempt.interval[0]:
            return None
        return Failure(
            Kind.CONSUME,
            f"consumed at {consumer.end} by the answer {positions_text(consumer.positions)}",
            f"CONSUME BY {self._question.ast.consume.value}",
            positions=(consumer.end,),
            repairs=(Without("consume"),),
            rival=consumer,
        )

    def not_chosen(self, attempt: Attempt) -> Failure | None:
        """Whether the strategy prefers another answer with the same end."""
        strategy = self._question.strategy
        if strategy is None or strategy is Strategy.STRICT:  # which looks at no others
            return None
        place = (attempt.place.key, attempt.interval[1])
        if place not in self._chosen:
            self._chosen[place] = self._preferred(strategy, attempt)
        return self._chosen[place]

    def _preferred(self, strategy: Strategy, attempt: Attempt) -> Failure | None:
        """The answer that the strategy keeps in the place of this one.

        The strategy is before WITHIN, so it may start anywhere after the last event consumed.
        """
        question, end = self._question, attempt.interval[1]
        consumer = self._consumer(attempt)
        begin = 0 if consumer is None else consumer.end + 1
        every = places(question, begin, end)
        S = next(each.substream for each in every if each.key == attempt.place.key)
        local = {p: i for i, p in enumerate(S.positions)}
        C = tuple(local[p] for p in question.positions)
        bare = CeqlQuery(question.formula, items=question.ast.items)
        machine = with_automaton(bare, first_order=question.first_order)
        if strategy is Strategy.MAX and machine is not None:
            found = larger_answer(machine.cea, S.events, C)
        else:
            kept = _ending_last(question, replace(bare, strategy=strategy), Stream(S.events))
            found = first_preferred(strategy, kept, C)
        if found is None:
            return None
        rival = moved_answer(found, S.positions)
        words = rival_words(strategy, rival)
        repairs = (question.without_strategy,)
        return Failure(Kind.STRATEGY, words, strategy.value, repairs=repairs, rival=rival)

    @cached_property
    def _given(self) -> list[ComplexEvent]:
        return self._answers(self._question.ast)

    def cut(self, attempt: Attempt) -> Failure | None:
        """Whether LIMIT gives others at this end."""
        limit = self._question.ast.limit
        if limit is None:
            return None
        start, end = attempt.interval
        given = [answer for answer in self._given if answer.end == end]
        if ComplexEvent(start, end, self._question.positions) in given:
            return None
        part = f"LIMIT {limit.per_end}"
        listed = ", ".join(positions_text(m.positions) for m in given[:3])
        return Failure(
            Kind.LIMIT,
            f"it is an answer, but {part} gives others that end here: {listed or 'none'}",
            part,
            repairs=(Without("limit"),),
            rival=given[0] if given else None,
        )


def _ending_last(question: Asked, ast: CeqlQuery, stream: Stream) -> list[ComplexEvent]:
    """The answers of a query without clauses that end with the last event."""
    query = with_automaton(ast, first_order=question.first_order)
    if query is None:
        given = answers(ast, stream, first_order=question.first_order)
        return [m for m in given if m.end == len(stream) - 1]
    evaluation = TecsEvaluation(query.machine)
    for i, t in enumerate(stream):
        evaluation.advance(t, i)
    return list(evaluation.answers(0))
