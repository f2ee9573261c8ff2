"""Random suites: how many cases the profile gives each, and a bar for how many had answers.

========= ==========================================================================
profile   cases of a random suite
========= ==========================================================================
``smoke`` `SMOKE_CASES`, and half the bar: so few cases say nothing about a rate
``quick`` what its share of time allows, and at least a twentieth of its deep count
``deep``  all
========= ==========================================================================

A suite fails if fewer than half of the cases had answers: agreement on nothing proves nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from random import Random

import pytest

QUICK_SECONDS = 15.0

SHARE = 0.3
"""How much of the seconds that a suite asks for it gets in the quick profile."""

SMOKE_CASES = 20
"""Enough to see that a change did not break everything, in no time."""


class Profile(StrEnum):
    """How much of the random cases a run of the tests does (``pytest --profile``)."""

    SMOKE = "smoke"
    QUICK = "quick"
    DEEP = "deep"


@dataclass(frozen=True)
class Suite:
    """Runs cases; a case gets its own generator and says whether it had answers."""

    profile: Profile
    request: pytest.FixtureRequest

    @property
    def deep(self) -> bool:
        """Whether all cases run."""
        return self.profile is Profile.DEEP

    @property
    def smoke(self) -> bool:
        """Whether a few cases are enough: what takes longer is left to the other profiles."""
        return self.profile is Profile.SMOKE

    def run(
        self,
        case: Callable[[Random], bool],
        *,
        deep_count: int,
        seconds: float = QUICK_SECONDS,
        needs_answers: float = 0.5,
    ) -> int:
        """Run seeds 0, 1, ..; a failing case names its seed. How many ran."""
        least = deep_count // 20
        if self.smoke:
            deep_count = least = min(deep_count, SMOKE_CASES)
            needs_answers /= 2
        deadline = time.monotonic() + SHARE * seconds
        ran = answered = 0
        for seed in range(deep_count):
            if not self.deep and ran >= least and time.monotonic() > deadline:
                break
            try:
                answered += case(Random(seed))
            except Exception as error:
                error.add_note(f"seed {seed} of {self.request.node.nodeid}")
                raise
            ran += 1
        self.request.node.user_properties.append(("suite", f"{ran} cases, {answered} with answers"))
        assert ran >= least
        assert answered >= needs_answers * ran, f"only {answered} of {ran} cases had answers"
        return ran
