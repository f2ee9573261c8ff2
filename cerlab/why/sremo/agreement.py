"""Failures of a whole derivation: a repair that is said to be enough is enough for all of them.

A terminal inside an iteration takes several events, and what mends one may not mend another.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce

from cerlab.logic.sremo.syntax import Terminal
from cerlab.predicates.syntax import EVERYTHING, And, Guard
from cerlab.why.failure import Failure, Kind, Path, Relax, Remark, Repair
from cerlab.why.sremo.derivation import SremoDerivation
from cerlab.why.sremo.guards import conjuncts


def agreed(d: SremoDerivation, failures: tuple[Failure, ...]) -> tuple[Failure, ...]:
    """The same failures; what would be written for a terminal is right for all its events."""
    return tuple(
        replace(failure, repairs=tuple(_agreed(d, failure, failures))) for failure in failures
    )


def _agreed(
    d: SremoDerivation, failure: Failure, failures: tuple[Failure, ...]
) -> Iterator[Repair]:
    same = [f for f in failures if (f.kind, f.path) == (failure.kind, failure.path)]
    for repair in failure.repairs:
        match repair:
            case Relax(path, Terminal() as into) if len(same) > 1:
                yield Relax(path, replace(into, guard=_weakest(same)))
            case Remark(path):
                if _taken(d, path) <= {p for f in same for p in f.positions}:
                    yield repair
            case _:
                yield repair


def _weakest(failures: list[Failure]) -> Guard:
    """What is left of a guard for all the events that it fails on."""
    ways = [
        list(conjuncts(repair.into.guard))
        for failure in failures
        for repair in failure.repairs
        if isinstance(repair, Relax) and isinstance(repair.into, Terminal)
    ]
    kept = [side for side in ways[0] if all(side in way for way in ways)]
    return reduce(And, kept) if kept else EVERYTHING


def _taken(d: SremoDerivation, path: Path) -> set[int]:
    """The events that the terminal at a path takes; iterations may keep them to themselves."""
    nodes = (n for n in d if n.path == path or (n.path == path[:-1] and not n.children))
    return {p for node in nodes for p in range(node.start, node.end)}


def shown(d: SremoDerivation, failures: tuple[Failure, ...]) -> tuple[Failure, ...] | None:
    """The failures of a derivation that a stream shows once they are mended; None of others.

    Its last event is marked then (SRT Def. 32).
    """
    last = d.end - 1
    if d.end == d.start or last in d.marks:
        return failures
    marking = [
        tuple(repair for repair in failure.repairs if isinstance(repair, Remark))
        if failure.kind is Kind.LEFTOVER and failure.positions == (last,)
        else ()
        for failure in failures
    ]
    if not any(marking):
        return None
    return tuple(
        replace(failure, repairs=remarks) if remarks else failure
        for failure, remarks in zip(failures, marking, strict=True)
    )
