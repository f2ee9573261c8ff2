"""Sets of truth vectors as short conditions: what a guard of a deterministic machine asks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from cerlab.predicates.syntax import EVERYTHING, Not, Predicate, conjunction
from cerlab.predicates.text import predicate_text


class Cube(NamedTuple):
    """The vectors whose bits in `mask` are those of `value`."""

    mask: int
    value: int


def cubes(symbols: Sequence[int], every: Sequence[int], width: int) -> list[Cube]:
    """Cubes that hold all `symbols` and none of `every` else; other vectors do not happen.

    Each is prime: no bit of it can be left out. Negative tests go first, so what is left says what
    an event is rather than what it is not.

    >>> cubes([0b01], [0b00, 0b01, 0b10], 2)
    [Cube(mask=1, value=1)]
    """
    inside = set(symbols)
    others = [v for v in every if v not in inside]
    cover: list[Cube] = []
    for symbol in symbols:
        if any(symbol & mask == value for mask, value in cover):
            continue
        mask = (1 << width) - 1
        bits = sorted(range(width), key=lambda bit: (symbol >> bit & 1, -bit))
        for bit in bits:
            wider = mask & ~(1 << bit)
            if all(v & wider != symbol & wider for v in others):
                mask = wider
        cover.append(Cube(mask, symbol & mask))
    return cover


def guard_words(
    symbols: Sequence[int], every: Sequence[int], predicates: Sequence[Predicate], most: int = 3
) -> str | None:
    """The condition in words, or None if it takes more than `most` cubes."""
    cover = cubes(symbols, every, len(predicates))
    if len(cover) > most:
        return None
    return " OR ".join(_cube_text(cube, predicates, alone=len(cover) == 1) for cube in cover)


def predicate_of(cube: Cube, predicates: Sequence[Predicate]) -> Predicate:
    """What the events of a cube satisfy."""
    way: Predicate = EVERYTHING
    for bit, P in enumerate(predicates):
        if cube.mask >> bit & 1:
            way = conjunction(way, P if cube.value >> bit & 1 else Not(P))
    return way


def _cube_text(cube: Cube, predicates: Sequence[Predicate], *, alone: bool) -> str:
    way = predicate_of(cube, predicates)
    text = predicate_text(way)
    return text if alone or way == EVERYTHING else f"({text})"
