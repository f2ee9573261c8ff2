"""Deliberate wrong versions of `why` under FO-CEL: the cases by hand kill each.

A mutant counts only if it is right on half or more of the cases; otherwise any test would find it.
The deep profile checks that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any

import pytest

from cerlab import CerlabError
from cerlab.model.answer import Positions
from cerlab.why import focel
from cerlab.why.deduction import CelDerivation, Goal
from proofs_tests.suite import Suite
from proofs_tests.why.test_first_order import agree
from proofs_tests.why.test_first_order import (
    test_a_misplaced_or_shared_variable_is_one_event as cases_by_hand,
)

CASES = 40


def two_events(goal: Goal, d: CelDerivation, scope: focel.Scope) -> Iterator[CelDerivation]:
    """A variable may be two events."""
    yield d


def all_events(x: str, d: CelDerivation, scope: focel.Scope) -> Positions:
    """A filter is about all events of its label, as in SO-CEL."""
    return () if d.valuation is None else d.valuation.labels.get(x, ())


def any_event(d: CelDerivation, nu: focel.Choice) -> bool:
    """Variable whose chosen event may differ from the event that it binds."""
    return True


def kept_inside(phi: Any) -> frozenset[str]:
    """A ``+`` does not bind its variables anew."""
    return frozenset()


def labels_only(d: CelDerivation, scope: focel.Scope) -> Any:
    """Items that ignore which variables are bound."""
    return ()


MUTANTS: list[tuple[Any, str, Callable[..., Any]]] = [
    (focel, "_one_event_each", two_events),
    (focel, "event_of", all_events),
    (focel, "vdef_plus", kept_inside),
    (focel, "_takes", any_event),
    (focel, "bindings_item", labels_only),
]


def agrees(seed: int) -> bool:
    try:
        agree(Random(seed))
    except (AssertionError, CerlabError):
        return False
    return True


@pytest.mark.parametrize(("owner", "name", "wrong"), MUTANTS)
def test_the_cases_by_hand_find_it(
    owner: Any,
    name: str,
    wrong: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    suite: Suite,
) -> None:
    monkeypatch.setattr(owner, name, wrong)
    with pytest.raises(AssertionError):
        cases_by_hand()
    if suite.deep:
        assert sum(not agrees(seed) for seed in range(CASES)) <= CASES // 2
