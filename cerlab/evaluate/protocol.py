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

SHORT = 4_000
"""Up to this many events `auto` loads no kernels: loading costs a third of a second."""

COLD = 16_000
"""The same where kernels have to be compiled first: 1.3 s (80 us an event) against 3 s."""

TECS_ORDER = 20_000
"""Up to this many events many answers come in the order of the tECS, found by number."""

FEW_ANSWERS = 1 << 20
"""Up to this many answers, passing over all of them to reach one is fast enough."""

WORTH_A_KERNEL = 70
"""From this many events on kernels are faster, once they are loaded."""

WORTH_COLUMNS = 30
"""The same where the events are columns already (by ``--lengths`` of the benchmarks)."""


Recognition: TypeAlias = tuple[Clauses, Callable[[], Recogniser[ComplexEvent]]]
"""The clauses of a query, and what makes the recogniser of a substream."""


class Evaluator(Protocol):
    """One way to evaluate patterns.

    It gives the answers of the reference, or raises `Unsupported` at the call; never others.
    """

    name: str

    def takes(self, pattern: AnyPattern) -> bool:
        """Whether it evaluates the pattern, if the stream is small enough for it."""

    def answers(self, pattern: AnyPattern, stream: Stream) -> Iterator[ComplexEvent]:
        """The answers on a stream, each once, by end, as they are found."""

    def live(
        self, pattern: AnyPattern, events: Iterable[Event], time: TimeAxis | None
    ) -> Iterator[ComplexEvent]:
        """The answers on events that are still arriving, each when its last event is there.

        A window in hours, minutes or seconds needs `time`: it cannot be looked for in what has not
        come yet; without it raises `UsageError`.
        """

    def by_number(self, pattern: AnyPattern, stream: Stream, *, workers: int = 1) -> Access:
        """The answers by number, in the order of `answers`."""
        return ListAccess(list(self.answers(pattern, stream)))

    def count(self, pattern: AnyPattern, stream: Stream) -> int:
        """Return the number of answers, without a list if the evaluator can."""
        return self.by_number(pattern, stream).total

    def valuations(
        self, pattern: AnyPattern, events: Iterable[Event], time: TimeAxis | None
    ) -> Iterator[Valuation]:
        """The valuations, each once, by end; raises `Unsupported` where no labels are kept."""
        raise Unsupported(
            "CER0408",
            f'evaluator="{self.name}" gives no labels',
            hint='evaluator="reference" does, and "compiled" where there is an automaton',
        )


class StepByStep(Evaluator, Protocol):
    """An evaluator that reads event by event, inside the driver of the clauses."""

    def recogniser(self, pattern: Pattern) -> Recognition:
        """The clauses, and what reads one substream."""

    def takes(self, pattern: AnyPattern) -> bool:
        """Whether the pattern compiles to an automaton."""
        return pattern.has_automaton

    def answers(self, pattern: AnyPattern, stream: Stream) -> Iterator[ComplexEvent]:
        """The answers on a stream."""
        return driver.run(*self.recogniser(query(pattern, self.name)), stream, stream.time)

    def live(
        self, pattern: AnyPattern, events: Iterable[Event], time: TimeAxis | None
    ) -> Iterator[ComplexEvent]:
        """The answers on events that are still arriving."""
        clauses, recogniser = self.recogniser(query(pattern, self.name))
        check_clock(clauses, time)
        return driver.run(clauses, recogniser, events, time)


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
