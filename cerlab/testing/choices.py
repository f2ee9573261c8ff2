"""The choices that generators make, by a `random.Random` or by draws of hypothesis.

Generators are written once, against `Choices`. A ``random.Random`` drives them in suites of many
cases; `Draws` makes each choice a draw, so that hypothesis shrinks it, replays it and finds the
parts of a value (`part`) that can stand for the whole.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, MutableSequence, Sequence
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Protocol, TypeVar

if TYPE_CHECKING:
    from _typeshed import SupportsLenAndGetItem
    from hypothesis.strategies import DrawFn, SearchStrategy

T = TypeVar("T")
P = ParamSpec("P")

TYPES = ("A", "B", "C")
"""The event types of all random streams."""

LABELS = ("x", "y")
"""The labels that AS gives."""

STREAMS = ("S", "T")
"""The streams that FROM names."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The size and the variety of random formulas, queries and streams."""

    depth: int = 3
    """The nesting depth of operators."""
    events: int = 6
    """The length of the longest stream."""
    rich: bool = True
    """Whether predicates go beyond ``v = 0`` and ``v = 1``, and values beyond 0 and 1."""
    family: bool = False
    """Whether formulas have AND, ALL, UNLESS, strategies and comparisons between labels too."""
    contiguous: bool = True
    """Whether formulas have ``:``, ``:+`` and NOT too."""
    sparse: bool = False
    """Whether any attribute may be absent from any event."""
    timed: bool = False
    """Whether formulas have windows inside, and WAIT; both may read the attribute t."""
    temporal: bool = False
    """Whether values are moments and durations too, and predicates compute with them."""


SMALL = Shape(rich=False)
"""The small alphabet: three types and one attribute v that is 0 or 1."""

ATTRIBUTES = Shape()
"""Attributes v and w of every kind of value, missing and NULL too; predicates of every kind."""


class Choices(Protocol):
    """The part of ``random.Random`` that generators use."""

    def random(self) -> float:
        """Return a number from 0 to below 1."""

    def randrange(self, stop: int, /) -> int:
        """Return a whole number from 0 to below `stop`."""

    def choice(self, options: SupportsLenAndGetItem[T], /) -> T:
        """Return one of the options."""

    def sample(self, options: Sequence[T], count: int, /) -> list[T]:
        """Return `count` of the options, in any order."""

    def shuffle(self, items: MutableSequence[Any], /) -> None:
        """Put a list into any order."""


def likely(rng: Choices, probability: float) -> bool:
    """Return True with that probability; draws shrink towards False."""
    if isinstance(rng, Draws):
        return rng.chance(probability)
    return rng.random() >= 1 - probability


def nests(rng: Choices, depth: int, probability: float) -> bool:
    """Return whether a part has operands: with that probability, and never at depth 0.

    Draws are the same at each depth, so that a part without parts can stand for any other.
    """
    if isinstance(rng, Draws):
        return likely(rng, probability) and depth > 0
    return depth > 0 and likely(rng, probability)


class Draws:
    """Choices by hypothesis: each is a draw, which shrinks towards 0 and the first option.

    They are drawn from the data behind ``draw``. A strategy for each is a part of the value for
    hypothesis, and it shrinks three times slower; there is none for a chance that is not fair.
    """

    def __init__(self, draw: DrawFn) -> None:
        self.draw = draw
        self._data: Any = draw.__self__  # type: ignore[attr-defined]  # of a bound method

    def chance(self, probability: float) -> bool:
        """Return True with that probability."""
        return bool(self._data.draw_boolean(probability))

    def random(self) -> float:
        """Return a multiple of 1 %."""
        return self.randrange(100) / 100

    def randrange(self, stop: int, /) -> int:
        """Return a whole number from 0 to below `stop`."""
        return int(self._data.draw_integer(0, stop - 1)) if stop > 1 else 0

    def choice(self, options: SupportsLenAndGetItem[T], /) -> T:
        """Return one of the options."""
        return options[self.randrange(len(options))]

    def sample(self, options: Sequence[T], count: int, /) -> list[T]:
        """Return `count` of the options; the first ones where nothing needs another order."""
        left = list(options)
        return [left.pop(self.randrange(len(left))) for _ in range(count)]

    def shuffle(self, items: MutableSequence[Any], /) -> None:
        """Put a list into any order."""
        items[:] = self.sample(items, len(items))


def part(generate: Callable[Concatenate[Choices, P], T]) -> Callable[Concatenate[Choices, P], T]:
    """Return a generator whose value hypothesis may replace by another one of it further inside.

    So ``(A ; B) OR C`` shrinks to ``B`` in one step. Its arguments can be hashed.
    """
    cached = lru_cache(maxsize=1_000)(strategy)  # hypothesis checks a new one for 20 draws' time

    @wraps(generate)
    def generate_part(rng: Choices, /, *args: P.args, **kwargs: P.kwargs) -> T:
        if isinstance(rng, Draws):
            parts: SearchStrategy[T] = cached(generate, *args, **kwargs)  # type: ignore[arg-type]  # hashable
            return rng.draw(parts)
        return generate(rng, *args, **kwargs)

    return generate_part


def strategy(
    generate: Callable[Concatenate[Choices, P], T], *args: P.args, **kwargs: P.kwargs
) -> SearchStrategy[T]:
    """Return the strategy of what a generator makes of arguments."""
    from hypothesis import strategies as st

    return st.composite(_Definition(generate))(*args, **kwargs)


class _Definition:
    """A function for `composite`; hypothesis tells the parts of a value apart by its hash."""

    def __init__(self, generate: Callable[..., Any]) -> None:
        self._generate = generate
        self.__name__ = self.__qualname__ = generate.__name__

    def __hash__(self) -> int:
        return zlib.crc32(self.__name__.encode())

    def __call__(self, draw: DrawFn, *args: Any, **kwargs: Any) -> Any:
        return self._generate(Draws(draw), *args, **kwargs)
