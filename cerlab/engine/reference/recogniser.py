"""What the driver asks of a plan, and of an algorithm that reads one substream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.clauses import Consume, Limit, Window
from cerlab.model.event import Event

Answer = TypeVar("Answer", ComplexEvent, Valuation)
AnswerOut = TypeVar("AnswerOut", ComplexEvent, Valuation, covariant=True)


class Clauses(Protocol):
    """What the driver does itself; `Plan` says what each of them holds."""

    @property
    def streams(self) -> tuple[str, ...]:
        """Those that FROM names; empty for all."""

    @property
    def partition(self) -> tuple[str, ...]:
        """The key attributes of PARTITION BY."""

    @property
    def window(self) -> Window | None:
        """WITHIN; None for no window."""

    @property
    def consume(self) -> Consume:
        """CONSUME BY."""

    @property
    def limit(self) -> Limit | None:
        """LIMIT; None for none."""


class Reader(Protocol):
    """Reads a substream event by event; positions are those of the whole stream, increasing."""

    def advance(self, event: Event, position: int) -> None:
        """Read the next event."""

    def forget(self, before: int) -> None:
        """No answer that starts before this position will be asked for again."""

    def reset(self) -> None:
        """Go on as if the events so far had never been (CONSUME BY)."""


class Recogniser(Reader, Protocol, Generic[AnswerOut]):
    """A reader that lists answers."""

    def answers(self, lowest_start: int) -> Iterator[AnswerOut]:
        """The answers that end at the event just read and start at `lowest_start` or later.

        Under a LIMIT in the order `latest_first`, else in any that query and stream fix.
        To be exhausted or dropped before the next event is read; `reset` does not disturb it.
        """
