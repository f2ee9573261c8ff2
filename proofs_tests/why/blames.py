"""Judge of blames: their statements are true, and nearly each has one sufficient repair."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Any, Generic, Protocol, TypeVar

import pytest

from cerlab import Why
from cerlab.why import Failure, Repair, why_to_json
from proofs_tests.mutants.driver import Judge
from proofs_tests.suite import Suite

RIGHT = 0.95
"""The share of the blames of which one repair alone has to make the positions match."""


class AnyQuestion(Protocol):
    """A question whether some positions match."""

    def holds(self) -> bool:
        """Return the answers of the reference."""


Q = TypeVar("Q", bound=AnyQuestion)


@dataclass(frozen=True)
class Blames(Generic[Q]):
    """Questions that the reference denies, what explains them, and what judges that."""

    mutate: Callable[[Random], Q | None]
    explain: Callable[[Q], Why]
    is_true: Callable[[Q, Why, Failure], bool]
    mend: Callable[[Q, Repair], Iterable[Q]]

    def is_right(self, rng: Random) -> bool | None:
        """Return whether a repair suffices as claimed; None where the repair leaves no question.

        Fails where a statement is not true.
        """
        q = self.mutate(rng)
        if q is None:
            return None
        why = self.explain(q)
        assert not why.holds, why
        assert why.failure is not None
        for failure in why.failures:
            assert self.is_true(q, why, failure), (failure, str(why))
            of = None if isinstance(failure.of, str) else failure.of
            assert isinstance(of, failure.row.pattern)
            for p in failure.positions:
                assert str(p) in failure.words, failure
        assert json.loads(json.dumps(why_to_json(why)))["holds"] is False
        assert str(why.failure) in str(why)
        return any(each.holds() for repair in why.repairs for each in self.mend(q, repair))

    def passes(self, seed: int) -> bool:
        """Whether all statements on a question are true, and a repair is enough."""
        try:
            return self.is_right(Random(seed)) is not False
        except AssertionError:
            return False

    def judge(self, count: int, *places: tuple[Any, str]) -> Judge:
        """Return a judge of wrong versions at some places.

        A blame that is wrong with the right versions too does not count.
        """
        right = [(owner, name, getattr(owner, name)) for owner, name in places]

        def case(seed: int) -> bool:
            if self.passes(seed):
                return True
            with pytest.MonkeyPatch.context() as patch:
                for place in right:
                    patch.setattr(*place)
                assert not self.passes(seed)
            return False

        return Judge(case, count)

    def check(self, suite: Suite) -> None:
        """Every statement is true, and nearly every blame has one repair that is enough."""
        verdicts: list[bool] = []

        def case(rng: Random) -> bool:
            if (right := self.is_right(rng)) is not None:
                verdicts.append(right)
            return right is not None

        suite.run(case, deep_count=2_000)
        assert sum(verdicts) >= RIGHT * len(verdicts), f"{sum(verdicts)} right of {len(verdicts)}"
