"""Registers renamed, so that two transducers share none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from cerlab.automata.registers.transducer import Transducer
from cerlab.predicates.guards import redirect_registers

T = TypeVar("T", bound=Transducer)


def rename(A: T, name: Callable[[str], str]) -> T:
    """The same transducer with other names for its registers; `name` is injective."""
    Delta = tuple(
        t._replace(guard=redirect_registers(t.guard, name), writes=frozenset(map(name, t.writes)))
        for t in A.Delta
    )
    return replace(A, R=frozenset(map(name, A.R)), Delta=Delta)


def apart(A: T, from_these: frozenset[str]) -> T:
    """The same transducer with registers that are none of these; those that are none keep theirs.

    >>> from cerlab.automata.registers.compose import empty_word
    >>> from dataclasses import replace
    >>> sorted(apart(replace(empty_word(), R=frozenset({"r", "r_", "s"})), frozenset("r")).R)
    ['r_', 'r__', 's']
    """
    others = A.R | from_these
    names = {r: fresh(r, others) if r in from_these else r for r in sorted(A.R)}
    return rename(A, names.__getitem__)


def fresh(name: str, others: frozenset[str]) -> str:
    """The name, with as many ``_`` after it as make it none of the others."""
    while name in others:
        name += "_"
    return name
