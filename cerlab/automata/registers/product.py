"""Intersection: two transducers that mark the same events (SRT Thm. 34)."""

from __future__ import annotations

from cerlab.automata.product import pairs
from cerlab.automata.registers.rename import apart
from cerlab.automata.registers.transducer import Label, RegisterTransition, Srt, written_registers
from cerlab.automata.registers.trim import prune
from cerlab.errors import IllFormed
from cerlab.predicates.guards import registers_of
from cerlab.predicates.syntax import conjunction


def intersection(A: Srt, B: Srt) -> Srt:
    """The matches that both have, from empty registers (SRT Thm. 34)."""
    return product(A, apart(B, A.R))


def product(A: Srt, B: Srt) -> Srt:
    """A state is a state of each, after the same events with the same marks (SRT Thm. 34).

    Both may read a register that neither writes. Transitions with different marks are not joined,
    as the paper does (erratum SRT-E11). At most ``|Q1| |Q2|`` states; a transition may write
    several registers. Raises `IllFormed` where one writes what the other uses: rename them apart,
    or take `intersection`.
    """
    _check_apart(A, B)

    def joint(s: RegisterTransition, t: RegisterTransition) -> Label | None:
        if s.mark is not t.mark:
            return None
        return Label(conjunction(s.guard, t.guard), s.mark, s.writes | t.writes)

    return prune(pairs(A, B, joint, Srt, start=(A.q0, B.q0)))


def _check_apart(A: Srt, B: Srt) -> None:
    for writer, other in ((A, B), (B, A)):
        writes = written_registers(writer)
        uses = written_registers(other).union(*(registers_of(t.guard) for t in other.Delta))
        if common := writes & uses:
            raise IllFormed(
                "CER0284",
                f"one side of an intersection writes '{min(common)}', which the other side uses",
                hint="rename the registers of one side",
            )
