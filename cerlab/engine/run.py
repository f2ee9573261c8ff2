"""Interfaces of runs, which read batches of events and yield the answers completed so far.

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
        """The number of events read, which is the position of the next event."""

    @property
    def lowest(self) -> int:
        """The lowest start position that a later answer may have; 0 if unknown."""

    def push(self, events: Stream) -> Iterator[Iterable[Answer_co]]:
        """Read more events; yield the answers that they complete, by end."""

    def advance(self, until: Until) -> Iterator[Iterable[Answer_co]]:
        """Declare that all events before a time have arrived; yield the answers that become known.

        Raises `UsageError` for an invalid time, `BadData` for one before the last event; warns if
        no answer waits.
        """

    def finish(self) -> Iterator[Iterable[Answer_co]]:
        """Yield the answers that waited for the end of the stream."""

    def waiting(self) -> int:
        """Return the number of answers that wait for the clock; push no events afterwards."""


class OpenRun(Run[ComplexEvent], Protocol):
    """Interface: a run that can be saved as bytes, because no answer waits."""

    def state(self) -> bytes:
        """Return a snapshot as bytes."""


class Around:
    """Base class of runs that wrap another run."""

    _run: Any

    @property
    def position(self) -> int:
        """The number of events read."""
        position: int = self._run.position
        return position

    @property
    def lowest(self) -> int:
        """The lowest start position that a later answer may have; 0 if unknown."""
        lowest: int = self._run.lowest
        return lowest


class AtOnce(Generic[Batch]):
    """Base class of runs whose answers never wait for later events."""

    @property
    def lowest(self) -> int:
        """The lowest start position of later answers is unknown: always 0."""
        return 0

    def advance(self, until: Until) -> Iterator[Batch]:
        """Warn that a promise about time has no effect on this query; yield no answer."""
        warn_of_no_wait()
        return iter(())

    def finish(self) -> Iterator[Batch]:
        """Yield no answer, because none waits."""
        return iter(())

    def waiting(self) -> int:
        """Return 0: no answer waits."""
        return 0


def warn_of_no_wait() -> None:
    """Warn that a promise about time has no effect, since answers of this query never wait."""
    text = "CER0916: nothing in the pattern waits, so the clock changes nothing"
    warn(AnswerWarning(text), stacklevel=stacklevel_of_caller())
