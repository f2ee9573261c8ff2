"""Runs: batches of events in, the answers that they complete out.

For every split of a stream into batches, the pushes and `Run.finish` together yield the answers of
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
    """Interface: a query on events that arrive.

    The result of a push is lazy; exhaust it before the next call. If a batch contains an unreadable
    event, the answers before it come first, and then `BadData`; neither that event nor later ones
    are read.
    """

    @property
    def position(self) -> int:
        """The number of events read: the position of the next one."""

    @property
    def lowest(self) -> int:
        """The least start of later answers; 0 if unknown."""

    def push(self, events: Stream) -> Iterator[Iterable[Answer_co]]:
        """Read more events; yield the answers that they complete, by end."""

    def advance(self, until: Until) -> Iterator[Iterable[Answer_co]]:
        """Declare that all events before a time have arrived; yield the answers that become known.

        Raises `UsageError` for an invalid time, `BadData` for one before the last event; warns if
        no answer waits.
        """

    def finish(self) -> Iterator[Iterable[Answer_co]]:
        """Yield the answers that were held back, after the last event."""

    def waiting(self) -> int:
        """Return the number of answers that wait for the clock; push nothing after this call."""


class OpenRun(Run[ComplexEvent], Protocol):
    """Interface: a run without delayed answers, which can be saved as bytes."""

    def state(self) -> bytes:
        """Return a snapshot as bytes."""


class Around:
    """The common part of runs that wrap another run."""

    _run: Any

    @property
    def position(self) -> int:
        """The number of events read."""
        position: int = self._run.position
        return position

    @property
    def lowest(self) -> int:
        """The least start of later answers; 0 if unknown."""
        lowest: int = self._run.lowest
        return lowest


class AtOnce(Generic[Batch]):
    """The common part of runs whose answers never wait for later events."""

    @property
    def lowest(self) -> int:
        """The constant 0: the least start of later answers is unknown."""
        return 0

    def advance(self, until: Until) -> Iterator[Batch]:
        """Yield no answer, and warn: a promise has no effect on this query."""
        warn_of_no_wait()
        return iter(())

    def finish(self) -> Iterator[Batch]:
        """Yield no answer: none is held back."""
        return iter(())

    def waiting(self) -> int:
        """Return 0: no answer waits."""
        return 0


def warn_of_no_wait() -> None:
    """Warn that a promise has no effect on a query whose answers never wait."""
    text = "CER0916: nothing in the pattern waits, so the clock changes nothing"
    warn(AnswerWarning(text), stacklevel=stacklevel_of_caller())
