"""How large and how varied random things are, and chances that shrink to "no"."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

TYPES = ("A", "B", "C")
LABELS = ("x", "y")
STREAMS = ("S", "T")


@dataclass(frozen=True, slots=True)
class Shape:
    """How large and how varied the random things are."""

    depth: int = 3
    events: int = 6
    rich: bool = True
    """Whether predicates go beyond ``v = 0`` and ``v = 1``, and values beyond 0 and 1."""
    family: bool = False
    """Whether formulas have AND, ALL, UNLESS, strategies and comparisons between labels too."""


SMALL = Shape(rich=False)
"""The small alphabet: three types and one attribute v that is 0 or 1."""

ATTRIBUTES = Shape()
"""Attributes v and w of every kind of value, missing and NULL too; predicates of every kind."""


def likely(rng: Random, probability: float) -> bool:
    """True with that probability; a generator whose draws shrink to 0 says no."""
    return rng.random() >= 1 - probability
