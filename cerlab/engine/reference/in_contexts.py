"""Machines for formulas with strategies inside, on events with `cerlab.automata.context`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic

from cerlab.automata.context import Context, ContextReader
from cerlab.engine.reference.driver import Answer, Recogniser
from cerlab.model.event import Event


class InContexts(Generic[Answer]):
    """A machine that adds the contexts of its substream to each event before reading it."""

    def __init__(self, recogniser: Recogniser[Answer], contexts: Sequence[Context]) -> None:
        self._recogniser: Recogniser[Answer] = recogniser
        self._contexts = ContextReader(contexts)

    def advance(self, event: Event, position: int) -> None:
        """Read the next event."""
        self._recogniser.advance(self._contexts.read(event), position)

    def answers(self, lowest_start: int) -> Iterator[Answer]:
        """Return the answers that end at the event just read."""
        return self._recogniser.answers(lowest_start)

    def forget(self, before: int) -> None:
        """Drop the runs that start before a position; keep contexts: rivals may start earlier."""
        self._recogniser.forget(before)

    def reset(self) -> None:
        """Restart the substream, including its contexts."""
        self._recogniser.reset()
        self._contexts.reset()


def in_contexts(
    recogniser: Callable[[], Recogniser[Answer]], contexts: Sequence[Context]
) -> Callable[[], Recogniser[Answer]]:
    """Return a factory of machines that read contexts; without contexts, the given factory."""
    return (lambda: InContexts(recogniser(), contexts)) if contexts else recogniser
