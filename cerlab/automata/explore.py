"""One worklist for nearly every construction: initial, follow, final."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

from cerlab.errors import ResourceLimit

State = TypeVar("State", bound=Hashable)
Label = TypeVar("Label")


@dataclass(frozen=True, slots=True)
class Explored(Generic[State, Label]):
    """What was reached: states in the order of discovery (the initial one first), and moves."""

    states: tuple[State, ...]
    moves: tuple[tuple[State, Label, State], ...]
    final: frozenset[State]


def explore(
    initial: State,
    follow: Callable[[State], Iterable[tuple[Label, State]]],
    final: Callable[[State], bool],
    *,
    budget: int = 100_000,
) -> Explored[State, Label]:
    """All that `follow` reaches from `initial`, breadth first.

    Raises `ResourceLimit` when more than `budget` states are found.

    >>> explore(0, lambda n: [("+1", n + 1)] if n < 2 else [], lambda n: n == 2).states
    (0, 1, 2)
    """
    found: dict[State, None] = {initial: None}
    moves: list[tuple[State, Label, State]] = []
    pending = [initial]
    for state in pending:
        for label, target in follow(state):
            moves.append((state, label, target))
            if target not in found:
                found[target] = None
                pending.append(target)
                if len(found) > budget:
                    raise ResourceLimit(
                        "CER0605",
                        f"more than {budget:,} states are reachable",
                        hint="ask for less: a smaller formula or fewer kinds of events",
                    )
    states = tuple(found)
    return Explored(states, tuple(moves), frozenset(filter(final, states)))
