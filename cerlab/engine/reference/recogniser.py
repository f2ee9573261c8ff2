"""What the driver asks of an algorithm that reads one substream."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, Protocol, TypeVar

from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.event import Event

Answer = TypeVar("Answer", ComplexEvent, Valuation)
AnswerOut = TypeVar("AnswerOut", ComplexEvent, Valuation, covariant=True)


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

        To be exhausted or dropped before the next event is read; `reset` does not disturb it.
        """
