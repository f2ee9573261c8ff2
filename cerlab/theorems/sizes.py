"""How many states a deterministic machine has, all of them that some stream reaches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cerlab.automata.deterministic import Deterministic
from cerlab.automata.explore import crawl

Node = tuple[str, int]


def reachable_states(machine: Deterministic, symbols: Sequence[int], *, most: int = 50_000) -> int:
    """The states of runs and the idle states that streams of these symbols reach.

    Raises `ResourceLimit` above `most`.
    """

    def follow(node: Node) -> Iterator[tuple[int, Node]]:
        kind, q = node
        for symbol in symbols:
            moves = machine.begin(q, symbol) if kind == "idle" else machine.step(q, symbol)
            if kind == "idle":
                yield symbol, ("idle", machine.wait(q, symbol))
            for target in moves:
                if target is not None:
                    yield symbol, ("run", target)

    return len(crawl(("idle", machine.idle), follow, most=most).states)
