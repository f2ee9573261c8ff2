"""The protocol of an evaluator, shared by CEQL, FO-CEL and SREMO."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Protocol, TypeAlias

from cerlab.compile.pattern import AnyPattern, Pattern
from cerlab.engine.random_access import Access, ListAccess
from cerlab.engine.reference import driver
from cerlab.engine.reference.driver import Clauses, Recogniser
from cerlab.engine.run import Run
from cerlab.errors import Unsupported
from cerlab.evaluate.runs import Replay, Steps
from cerlab.logic.cel.syntax import waits
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.stream import Stream, TimeAxis

if TYPE_CHECKING:
    from cerlab.engine.answers import ListsAt

Recognition: TypeAlias = tuple[Clauses, Callable[[], Recogniser[ComplexEvent]]]
"""The clauses of a query, and a function that creates the recogniser of a substream."""


class Evaluator(Protocol):
    """An algorithm that evaluates one pattern.

    It gives exactly the answers of the reference, or raises `Unsupported` when it is created.
    """

    name: str
    pattern: AnyPattern

    def on(self, stream: Stream, *, any_order: bool = False) -> Evaluator:
        """Return the evaluator for a stream; `any_order` permits a faster one with another order.

        Without it the choice depends only on query and stream, as does the order of answers.
        """
        return self

    def answers(self, stream: Stream) -> Iterator[ComplexEvent]:
        """Yield the answers on a stream by end, each once, as they are found."""

    def answers_at(self, stream: Stream, lists: ListsAt) -> Iterator[ComplexEvent]:
        """Return the answers on a stream, possibly omitting ends for which `lists` is false.

        `lists` is called for some ends at a time, after the answers of the previous ends.
        """
        return self.answers(stream)

    def run(self, time: TimeAxis | None) -> Run[ComplexEvent]:
        """Return a run on arriving events, which yields answers as soon as they are known.

        A window in hours, minutes or seconds needs `time`, since it cannot be found in events that
        have not come yet; raise `UsageError` without it. Raise `Unsupported` for a query that has
        to see a stream as a whole.
        """
        return Replay(self.answers, self._count_of_waits(), time)

    def labelled_run(self, time: TimeAxis | None) -> Run[Valuation]:
        """Return a run that yields valuations; raise `Unsupported` if there are no labels."""
        return Replay(self.valuations, self._count_of_waits(), time)

    def _count_of_waits(self) -> Callable[[Stream], int] | None:
        pattern = self.pattern
        return self.count if isinstance(pattern, Pattern) and waits(pattern.formula) else None

    def by_number(self, stream: Stream, *, threads: int = 1) -> Access:
        """Return access to answers by number, in the order of `answers`."""
        return ListAccess(list(self.answers(stream)))

    def count(self, stream: Stream) -> int:
        """Return the number of answers, without listing them if possible."""
        return self.by_number(stream).total

    def valuations(self, stream: Stream) -> Iterator[Valuation]:
        """Return the valuations by end, each once; raise `Unsupported` without labels."""
        raise Unsupported(
            "CER0408",
            f'evaluator="{self.name}" gives no labels',
            hint='use evaluator="reference", or "compiled" for queries with an automaton',
        )


def number_of(answers: Iterator[ComplexEvent]) -> int:
    """Return the number of answers, adding up batches if they come in batches."""
    batches = getattr(answers, "batches", None)
    return sum(1 for _ in answers) if batches is None else sum(map(len, batches()))


class StepByStep(Evaluator, Protocol):
    """An evaluator that reads event by event, under the clauses of the query."""

    recognition: Recognition

    def answers(self, stream: Stream) -> Iterator[ComplexEvent]:
        """Return the answers on a stream."""
        return driver.run(*self.recognition, stream, stream.time)

    def run(self, time: TimeAxis | None) -> Run[ComplexEvent]:
        """Return a run on arriving events, which are read one by one."""
        return Steps(*self.recognition, time)


def query(pattern: AnyPattern, evaluator: str) -> Pattern:
    """Return the pattern if it is a query; raise `Unsupported` for a SREMO."""
    if not isinstance(pattern, Pattern):
        raise Unsupported(
            "CER0481",
            f'evaluator="{evaluator}" does not support a SREMO',
            hint='use "reference", "registers" or "compiled"',
        )
    return pattern
