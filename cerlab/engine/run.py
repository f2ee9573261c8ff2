"""Runs: batches of events in, the answers that they complete out.

For every split of a stream into batches, the pushes and `Run.finish` together give the answers of
the whole stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, Protocol, TypeVar
from warnings import warn

from cerlab.errors import AnswerWarning, stacklevel_of_caller
from cerlab.model.answer import ComplexEvent, Valuation
from cerlab.model.stream import Stream, Until

Answer = TypeVar("Answer", ComplexEvent, Valuation)
Batch = TypeVar("Batch")
Answer_co = TypeVar("Answer_co", ComplexEvent, Valuation, covariant=True)


class Run(Protocol[Answer_co]):
    """A query on events that arrive.

    What a push gives is lazy, and exhausted before the next call. Where a batch has an event that
    cannot be read, the answers before it come first, and then `BadData`; neither that event nor
    those after it are read.
    """

    @property
    def position(self) -> int:
        """The number of events read: the position of the next one."""

    @property
    def lowest(self) -> int:
        """Least start of answers to come; 0 if unknown."""

    def push(self, events: Stream) -> Iterator[Iterable[Answer_co]]:
        """Read more events: the answers that they complete, by end."""

    def advance(self, until: Until) -> Iterator[Iterable[Answer_co]]:
        """Promise that all events before a time have come: the answers that this makes known.

        Raises `UsageError` for no such time, `BadData` for one before the last event; warns where
        nothing waits.
        """

    def finish(self) -> Iterator[Iterable[Answer_co]]:
        """The answers that were held back: no event comes any more."""

    def waiting(self) -> int:
        """The number of answers that wait for the clock; nothing is pushed after this question."""


class OpenRun(Run[ComplexEvent], Protocol):
    """A run that holds nothing back, and goes on from bytes."""

    def state(self) -> bytes:
        """All that has to be known to go on."""


class Around:
    """The common part of runs that stand around another run."""

    _run: Any

    @property
    def position(self) -> int:
        """The number of events read."""
        position: int = self._run.position
        return position

    @property
    def lowest(self) -> int:
        """Least start of answers to come; 0 if unknown."""
        lowest: int = self._run.lowest
        return lowest


class AtOnce(Generic[Batch]):
    """What is common to runs whose answers do not wait for anything but their last event."""

    @property
    def lowest(self) -> int:
        """Return 0: it is unknown."""
        return 0

    def advance(self, until: Until) -> Iterator[Batch]:
        """Give no answer, and warn: a promise says nothing to this query."""
        warn_of_no_wait()
        return iter(())

    def finish(self) -> Iterator[Batch]:
        """Give nothing: no answer is held back."""
        return iter(())

    def waiting(self) -> int:
        """Return 0: no answer waits."""
        return 0


def warn_of_no_wait() -> None:
    """Warn that a promise says nothing to a query of which no answer waits."""
    text = "CER0916: nothing in the pattern waits, so the clock changes nothing"
    warn(AnswerWarning(text), stacklevel=stacklevel_of_caller())
