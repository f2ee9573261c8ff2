"""How many states a deterministic machine has, all of them that some stream reaches."""

from __future__ import annotations

from collections.abc import Sequence

from cerlab.automata.deterministic import Deterministic, moves_over
from cerlab.automata.explore import crawl


def reachable_states(machine: Deterministic, symbols: Sequence[int], *, most: int = 50_000) -> int:
    """The states of runs and the idle states that streams of these symbols reach.

    Raises `ResourceLimit` above `most`.
    """
    return len(crawl(("idle", machine.idle), moves_over(machine, symbols), most=most).states)
