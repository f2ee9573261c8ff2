"""At most one register written at a time, with no more registers (SRT Lemma S1)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from cerlab.automata.product import remember
from cerlab.automata.registers.transducer import NONE, Label, RegisterTransition, Srt
from cerlab.predicates.guards import redirect_registers

Placement: TypeAlias = tuple[tuple[str, str], ...]
"""Which place holds what each register holds, sorted; registers not in it are empty."""


def single_register(T: Srt) -> Srt:
    """A state is one of T, and which of the places p1 .. pk holds what each register holds.

    Registers that hold the same event may share a place, so a write to several takes one free
    place; as T has k registers there is one. The match of each string is the same, from empty
    registers. At most ``|Q| (k + 1)^k`` states.
    """
    places = [f"p{i}" for i in range(1, len(T.R) + 1)]

    def follow(placement: Placement, t: RegisterTransition) -> Iterator[tuple[Label, Placement]]:
        guard = redirect_registers(t.guard, dict(placement).get)
        after = {r: p for r, p in placement if r not in t.writes}
        write = NONE
        if t.writes:
            free = next(p for p in places if p not in after.values())
            after |= dict.fromkeys(t.writes, free)
            write = frozenset({free})
        yield Label(guard, t.mark, write), tuple(sorted(after.items()))

    nowhere: Placement = ()
    return remember(T, nowhere, follow, Srt, R=frozenset(places))
