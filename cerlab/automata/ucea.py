"""Unary complex event automata: every transition labels its event (SOCEL Sec. 5.1)."""

from __future__ import annotations

from dataclasses import dataclass

from cerlab.automata.vcea import LabelTransition, check_states
from cerlab.display import shown


@shown
@dataclass(frozen=True, slots=True)
class Ucea:
    """``(Q, Delta, I, F)`` with ``Delta`` a subset of ``Q x U x 2^L x Q`` (SOCEL Sec. 5.1).

    It has two semantics. A run reads positions 0..n, one transition each, and gives each position
    the labels of its transition. Under the *-semantics a run picks positions ``i1 < .. < ik = n``,
    every transition it uses has labels, and the events between are not looked at.
    """

    states: int
    Delta: tuple[LabelTransition, ...]
    I: frozenset[int]  # the paper's letter
    F: frozenset[int]

    def __post_init__(self) -> None:
        check_states(self.states, self.Delta, self.I | self.F)
