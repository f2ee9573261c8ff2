"""Wrong versions of the order of late events, each killed by sessions with random lateness."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop
from typing import Any

from cerlab.engine.late_events import InOrder
from proofs_tests.differential.test_late_events import agree_in_order
from proofs_tests.mutants.driver import kills, mutant, on_seeds

_ADVANCE = InOrder.advance
_RESUMED = InOrder.resumed.__func__  # type: ignore[attr-defined]
_TAKE = InOrder._take


def not_more_but_as_much(self: InOrder, bound: Any) -> None:
    """An event is read when another one is exactly the lateness after it."""
    while self._held and (bound is None or self._held[0][0] <= bound):
        self._given.append(heappop(self._held))
        self._last = self._given[-1][0]


def without_bound(self: InOrder, until: Any) -> Any:
    """A promise reads the events before it, and forgets what it promised."""
    try:
        return _ADVANCE(self, until)
    finally:
        self._floor = None


def without_the_last(cls: Any, values: Mapping[str, Any]) -> InOrder:
    """A state does not tell the time of the last event that was read."""
    order: InOrder = _RESUMED(cls, values)
    order._last = None
    return order


def only_the_newest_reads(self: InOrder, event: Any) -> None:
    """An event that is due when it comes waits for one that is newer than all."""
    newest, given = self._newest, len(self._given)
    _TAKE(self, event)
    if newest is not None and self._newest == newest:
        self.put_back(given)


SEEDS = on_seeds(agree_in_order, 600)

MUTANTS = [
    mutant(SEEDS, InOrder, "_give_before", not_more_but_as_much),
    mutant(SEEDS, InOrder, "advance", without_bound),
    mutant(SEEDS, InOrder, "resumed", classmethod(without_the_last)),
    mutant(SEEDS, InOrder, "_take", only_the_newest_reads),
]


test_the_mutant_is_killed = kills(MUTANTS)
