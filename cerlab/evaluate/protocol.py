"""Protocol of an evaluator: the same for CEQL, FO-CEL and SREMO."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol, TypeAlias

from cerlab.compile.pattern import AnyPattern, Pattern
from cerlab.engine.by_number import Access, ListAccess
from cerlab.engine.reference import driver
from cerlab.engine.reference.driver import Clauses, Recogniser
from cerlab.errors import Unsupported
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.clauses import TimeWindow
from cerlab.model.event import Event
from cerlab.model.stream import Stream, TimeAxis, clock_for

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

    def live(self, events: Iterable[Event], time: TimeAxis | None) -> Iterator[ComplexEvent]:
        """The answers on events that are still arriving, each when its last event is there.

        A window in hours, minutes or seconds needs `time`: it cannot be looked for in what has not
        come yet; without it raises `UsageError`.
        """

    def by_number(self, stream: Stream, *, workers: int = 1) -> Access:
        """The answers by number, in the order of `answers`."""
        return ListAccess(list(self.answers(stream)))

    def count(self, stream: Stream) -> int:
        """Return the number of answers, without a list if the evaluator can."""
        return self.by_number(stream).total

    def valuations(self, events: Iterable[Event], time: TimeAxis | None) -> Iterator[Valuation]:
        """The valuations, each once, by end; raises `Unsupported` where no labels are kept."""
        raise Unsupported(
            "CER0408",
            f'evaluator="{self.name}" gives no labels',
            hint='evaluator="reference" does, and "compiled" where there is an automaton',
        )


class StepByStep(Evaluator, Protocol):
    """An evaluator that reads event by event, inside the driver of the clauses."""

    recognition: Recognition

    def answers(self, stream: Stream) -> Iterator[ComplexEvent]:
        """The answers on a stream."""
        return driver.run(*self.recognition, stream, stream.time)

    def live(self, events: Iterable[Event], time: TimeAxis | None) -> Iterator[ComplexEvent]:
        """The answers on events that are still arriving."""
        check_clock(self.recognition[0], time)
        return driver.run(*self.recognition, events, time)


def query(pattern: AnyPattern, evaluator: str) -> Pattern:
    """The pattern if it is a query; raises `Unsupported` for a SREMO, which has no automaton."""
    if not isinstance(pattern, Pattern):
        raise Unsupported(
            "CER0481",
            f'evaluator="{evaluator}" takes no SREMO',
            hint='use "reference", "registers" or "compiled"',
        )
    return pattern


def check_clock(clauses: Clauses, time: TimeAxis | None) -> None:
    """Raise `UsageError` for a window in time without a time axis."""
    if isinstance(clauses.window, TimeWindow):
        clock_for(clauses.window, time)
