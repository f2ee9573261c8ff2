"""Intersection: two transducers that mark the same events (SRT Thm. 34)."""

from __future__ import annotations

from collections.abc import Iterator

from cerlab.automata.explore import explore
from cerlab.automata.registers.rename import apart
from cerlab.automata.registers.transducer import NONE, Label, Srt, from_explored, outgoing
from cerlab.automata.registers.trim import trimmed
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
    left, right = outgoing(A), outgoing(B)

    def follow(state: tuple[int, int]) -> Iterator[tuple[Label, tuple[int, int]]]:
        for s in left[state[0]]:
            for t in right[state[1]]:
                if s.mark is t.mark:
                    label = Label(conjunction(s.guard, t.guard), s.mark, s.writes | t.writes)
                    yield label, (s.target, t.target)

    found = explore((A.q0, B.q0), follow, lambda state: state[0] in A.F and state[1] in B.F)
    return trimmed(from_explored(found, A.R | B.R))


def _check_apart(A: Srt, B: Srt) -> None:
    for writer, other in ((A, B), (B, A)):
        written = written_registers(writer)
        used = written_registers(other).union(*(registers_of(t.guard) for t in other.Delta))
        if shared := written & used:
            raise IllFormed(
                "CER0284",
                f"one side of an intersection writes '{min(shared)}', which the other side uses",
                hint="rename the registers of one side",
            )


def written_registers(T: Srt) -> frozenset[str]:
    """The registers that some transition writes."""
    return NONE.union(*(t.writes for t in T.Delta))
