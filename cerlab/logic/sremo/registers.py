"""Which registers an expression reads and writes: ``reg(e)`` (SRT Thm. 27).

As printed, reg(e) misses what is only read, and guards below AND, OR and NOT (erratum SRT-E9).
"""

from __future__ import annotations

from cerlab.logic.sremo.syntax import Negation, Sremo, Terminal, children, subexpressions
from cerlab.predicates.guards import registers_of


def reads(e: Sremo) -> frozenset[str]:
    """The registers that some guard of the expression reads."""
    return frozenset[str]().union(
        *(registers_of(each.guard) for each in subexpressions(e) if isinstance(each, Terminal))
    )


def writes(e: Sremo) -> frozenset[str]:
    """The registers that the expression may leave with another event than it found in them.

    A negation writes none, whatever is written below it.
    """
    registers: set[str] = set()
    pending = [e]
    while pending:
        each = pending.pop()
        if isinstance(each, Terminal):
            registers |= each.writes
        if not isinstance(each, Negation):
            pending.extend(children(each))
    return frozenset(registers)
