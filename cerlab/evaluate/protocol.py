"""Protocol of an evaluator: the same for CEQL, FO-CEL and SREMO."""

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
"""The clauses of a query, and what makes the recogniser of a substream."""


class Evaluator(Protocol):
    """One way to evaluate a pattern.

    It gives the answers of the reference, or raises `Unsupported` when it is made; never others.
    """

    name: str
    pattern: AnyPattern

    def on(self, stream: Stream, *, any_order: bool = False) -> Evaluator:
        """The way that a stream of its length is evaluated; in `any_order` the quickest one.

        Without it the choice depends on query and stream alone, as the order of answers does.
        """
        return self

    def answers(self, stream: Stream) -> Iterator[ComplexEvent]:
        """The answers on a stream, each once, by end, as they are found."""

    def answers_at(self, stream: Stream, lists: ListsAt) -> Iterator[ComplexEvent]:
        """Return the answers, perhaps without those of ends that `lists` leaves out.

        It is asked for some ends at a time, after the answers of the ends before them.
        """
        return self.answers(stream)

    def run(self, time: TimeAxis | None) -> Run[ComplexEvent]:
        """The answers on events that arrive, each when its last event is there, or its wait over.

        A window in hours, minutes or seconds needs `time`: it cannot be looked for in what has not
        come yet; without it raises `UsageError`. Raises `Unsupported` for a query that has to see
        a stream as a whole.
        """
        return Replay(self.answers, self._count_of_waits(), time)

    def labelled_run(self, time: TimeAxis | None) -> Run[Valuation]:
        """The valuations in the same way; raises `Unsupported` where no labels are kept."""
        return Replay(self.valuations, self._count_of_waits(), time)

    def _count_of_waits(self) -> Callable[[Stream], int] | None:
        pattern = self.pattern
        return self.count if isinstance(pattern, Pattern) and waits(pattern.formula) else None

    def by_number(self, stream: Stream, *, threads: int = 1) -> Access:
        """The answers by number, in the order of `answers`."""
        return ListAccess(list(self.answers(stream)))

    def count(self, stream: Stream) -> int:
        """Return the number of answers, without a list if the evaluator can."""
        return self.by_number(stream).total

    def valuations(self, stream: Stream) -> Iterator[Valuation]:
        """The valuations, each once, by end; raises `Unsupported` where no labels are kept."""
        raise Unsupported(
            "CER0408",
            f'evaluator="{self.name}" gives no labels',
            hint='evaluator="reference" does, and "compiled" where there is an automaton',
        )


def number_of(answers: Iterator[ComplexEvent]) -> int:
    """Return the number of answers, by batches where they come so."""
    batches = getattr(answers, "batches", None)
    return sum(1 for _ in answers) if batches is None else sum(map(len, batches()))


class StepByStep(Evaluator, Protocol):
    """An evaluator that reads event by event, inside the driver of the clauses."""

    recognition: Recognition

    def answers(self, stream: Stream) -> Iterator[ComplexEvent]:
        """The answers on a stream."""
        return driver.run(*self.recognition, stream, stream.time)

    def run(self, time: TimeAxis | None) -> Run[ComplexEvent]:
        """The answers on events that arrive, one by one."""
        return Steps(*self.recognition, time)


def query(pattern: AnyPattern, evaluator: str) -> Pattern:
    """The pattern if it is a query; raises `Unsupported` for a SREMO, which has no automaton."""
    if not isinstance(pattern, Pattern):
        raise Unsupported(
            "CER0481",
            f'evaluator="{evaluator}" takes no SREMO',
            hint='use "reference", "registers" or "compiled"',
        )
    return pattern
