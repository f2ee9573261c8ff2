"""Random suites: a share of time each, a count of cases, and a bar for how many had answers.

In the quick profile a suite stops when its share of time is over, and fails if it ran fewer than a
twentieth of its deep count; in the deep profile (``pytest --profile deep``) it runs all cases. It
fails too if fewer than half of the cases had answers: agreement on nothing proves nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from random import Random

import pytest

QUICK_SECONDS = 15.0

SHARE = 0.3
"""How much of the seconds that a suite asks for it gets in the quick profile."""


@dataclass(frozen=True)
class Suite:
    """Runs cases; a case gets its own generator and says whether it had answers."""

    deep: bool
    request: pytest.FixtureRequest

    def run(
        self,
        case: Callable[[Random], bool],
        *,
        deep_count: int,
        seconds: float = QUICK_SECONDS,
        needs_answers: float = 0.5,
    ) -> None:
        """Run seeds 0, 1, ..; a failing case names its seed."""
        deadline = time.monotonic() + SHARE * seconds
        ran = answered = 0
        for seed in range(deep_count):
            if not self.deep and ran >= deep_count // 20 and time.monotonic() > deadline:
                break
            try:
                answered += case(Random(seed))
            except Exception as error:
                error.add_note(f"seed {seed} of {self.request.node.nodeid}")
                raise
            ran += 1
        self.request.node.user_properties.append(("suite", f"{ran} cases, {answered} with answers"))
        assert ran >= deep_count // 20
        assert answered >= needs_answers * ran, f"only {answered} of {ran} cases had answers"
