"""Random suites: how many cases the profile gives each, and a bar for how many had answers.

========= ==========================================================================
profile   cases of a random suite
========= ==========================================================================
``smoke`` `SMOKE_CASES`, and half the bar: so few cases say nothing about a rate
``quick`` a hundredth of its deep count, at most `QUICK_CASES`
``deep``  all
========= ==========================================================================

A suite fails if fewer than half of the cases had answers: agreement on nothing proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import wraps
from inspect import Parameter, Signature, signature
from random import Random
from typing import Any, assert_never

import pytest

from cerlab import ResourceLimit, budget
from cerlab.logic.sremo import semantics

SMOKE_CASES = 20
"""Enough to see that a change did not break everything, in no time."""

QUICK_SHARE = 100
"""The quick profile runs one case in so many of the deep one."""

QUICK_CASES = 50
"""Most cases that a quick run takes of one suite."""

QUICK_STEPS = 200_000
"""The steps of a construction, or of the reference, in other profiles than the deep one."""

TOO_LARGE = ("CER0605", "CER0682")
"""Codes of cases that exceed a budget."""

LEFT = 0.02
"""At most so many of the cases are larger, and left to the deep profile."""


class Profile(StrEnum):
    """The share of random cases in a run of the tests (``pytest --profile``)."""

    SMOKE = "smoke"
    QUICK = "quick"
    DEEP = "deep"

    def cases(self, deep_count: int) -> int:
        """Return the number of cases of a suite to run, of `deep_count`."""
        match self:
            case Profile.SMOKE:
                return min(deep_count, SMOKE_CASES)
            case Profile.QUICK:
                share = min(deep_count // QUICK_SHARE, QUICK_CASES)
                return max(share, min(deep_count, SMOKE_CASES))
            case Profile.DEEP:
                return deep_count
            case _:
                assert_never(self)


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
        case: Callable[[Random], bool | None],
        *,
        deep_count: int,
        needs_answers: float = 0.5,
        steps: int = QUICK_STEPS,
    ) -> int:
        """Run seeds 0, 1, ..; a failing case names its seed. How many ran.

        A case that was drawn and not judged, as it is too large or refused, gives None. One that
        takes more than so many `steps` is left to the deep profile; where z3 takes part they are
        those of a budget, since what it takes is counted by time.
        """
        count, judgements, with_answers, too_large = self.profile.cases(deep_count), 0, 0, 0
        for seed in range(count):
            try:
                with self.at_most(steps):
                    verdict = case(Random(seed))
                judgements += verdict is not None
                with_answers += bool(verdict)
            except Exception as error:
                if not self.deep and isinstance(error, ResourceLimit) and error.code in TOO_LARGE:
                    too_large += 1
                    continue
                error.add_note(f"seed {seed} of {self.request.node.nodeid}")
                raise
        self.request.node.user_properties.append(
            ("suite", f"{count} cases, {judgements} judged, {with_answers} with answers")
        )
        bar = needs_answers / 2 if self.smoke else needs_answers
        assert with_answers >= bar * count, f"only {with_answers} of {count} cases had answers"
        assert too_large <= max(1, LEFT * count), f"{too_large} of {count} cases are too large"
        return count

    @contextmanager
    def at_most(self, steps: int) -> Iterator[None]:
        """Bound the steps of a case, except in the deep profile: it has the large cases too."""
        before = budget.STEPS, semantics.MAX_STEPS
        if not self.deep:
            budget.STEPS = semantics.MAX_STEPS = steps
        try:
            yield
        finally:
            budget.STEPS, semantics.MAX_STEPS = before


def random_suite(
    deep_count: int, *, needs_answers: float = 0.5
) -> Callable[[Callable[..., bool | None]], Callable[..., None]]:
    """Make a random suite of a test of one case, which its parameter `rng` draws.

    The test returns what `Suite.run` expects of a case; its other parameters are fixtures.
    """

    def suite_of(case: Callable[..., bool | None]) -> Callable[..., None]:
        parameters = signature(case).parameters

        @wraps(case)
        def test(*own: Any, suite: Suite, **given: Any) -> None:
            if "suite" in parameters:
                given["suite"] = suite
            suite.run(
                lambda rng: case(*own, rng=rng, **given),
                deep_count=deep_count,
                needs_answers=needs_answers,
            )

        others = [each for name, each in parameters.items() if name not in ("rng", "suite")]
        # pytest reads the names of fixtures here
        vars(test)["__signature__"] = Signature(
            [*others, Parameter("suite", Parameter.KEYWORD_ONLY)]
        )
        return test

    return suite_of
