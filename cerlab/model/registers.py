"""What registers hold: a partial map from register names to events (SRT Def. 12)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cerlab.model.event import Event


class Registers(Mapping[str, Event]):
    """``v``: which event each register holds; a register that is not in it is empty (SRT Def. 12).

    Immutable and hashable. Two are equal if the same registers hold events of the same type, stream
    and attributes, where 1, 1.0 and TRUE are three values and NULL is the same as no attribute.

    >>> v = Registers().written({"r"}, Event("A", {"v": 1}))
    >>> "r" in v, "s" in v, v == Registers({"r": Event("A", {"v": True})})
    (True, False, False)
    """

    __slots__ = ("_events", "_key")

    def __init__(self, events: Mapping[str, Event] | None = None) -> None:
        self._events = dict(events or {})
        self._key = frozenset((r, _exact_key(t)) for r, t in self._events.items())

    def written(self, W: Iterable[str], t: Event) -> Registers:
        """``v[W <- t]``: the registers in W hold t, the others what they held (SRT Def. 12)."""
        return Registers({**self._events, **dict.fromkeys(W, t)})

    def __getitem__(self, register: str) -> Event:
        return self._events[register]

    def __iter__(self) -> Iterator[str]:
        return iter(self._events)

    def __len__(self) -> int:
        return len(self._events)

    def __hash__(self) -> int:
        return hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Registers) and self._key == other._key

    def __repr__(self) -> str:
        return f"Registers({self._events})"


def _exact_key(t: Event) -> object:
    """A key that tells apart what no comparison may confuse."""
    values = ((name, value) for name, value in t.attributes.items() if value is not None)
    return (t.type, t.stream, frozenset((name, type(value), value) for name, value in values))
