"""Partition refinement: the largest classes of states that behave alike (Moore)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TypeVar

Q = TypeVar("Q", bound=Hashable)


def coarsest(
    classes: Mapping[Q, int], behaviour: Callable[[Q, Mapping[Q, int]], Hashable]
) -> dict[Q, int]:
    """The coarsest refinement of some classes in which the states of each behave alike.

    `behaviour` is what a state does, as far as it shows which classes its moves lead to. Classes
    are numbered from 0 in the order of their first states.

    >>> follows = {0: 1, 1: 2, 2: 1, 3: 3}
    >>> coarsest({0: 0, 1: 1, 2: 0, 3: 0}, lambda q, c: c[follows[q]])
    {0: 0, 1: 1, 2: 0, 3: 2}
    """
    while True:
        numbers: dict[object, int] = {}
        refinement = {
            q: numbers.setdefault((own, behaviour(q, classes)), len(numbers))
            for q, own in classes.items()
        }
        if len(numbers) == len(set(classes.values())):
            return refinement
        classes = refinement
