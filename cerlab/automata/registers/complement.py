"""Complement of unrolled transducers: of the language, and of the matches (SRT Cor. 43)."""

from __future__ import annotations

from dataclasses import replace

from cerlab.automata.registers.determinise import determinise, io_determinise
from cerlab.automata.registers.transducer import Srt


def complement(T: Srt) -> Srt:
    """The strings that T has no match on; nothing is marked (SRT Cor. 43; SRT Alg. 8).

    In the determinised transducer each string has exactly one run, so the final states are
    exchanged with the others, the empty set included: that sink is what the printed algorithm
    forgets (erratum SRT-E19). The complement of a transducer for strings of up to w events accepts
    all the longer ones. Raises as `determinise`: there is no complement in general (SRT Thm. 35).
    """
    return _swap_final_states(determinise(T))


def match_complement(T: Srt) -> Srt:
    """On each string the sets of positions that are none of T's matches (SRT Def. 33).

    In the I/O-determinised transducer each string with each set of marks has exactly one run.
    Raises as `determinise`.
    """
    return _swap_final_states(io_determinise(T))


def _swap_final_states(D: Srt) -> Srt:
    return replace(D, F=frozenset(range(D.states)) - D.F)
