"""Windows in positions as transducers: on the length of the string, and on the span of the marks.

The two are different operators (SRT Def. 39; SRT Lemma 46; erratum SRT-E16): ``<TRUE>* . <A>^`` in
a window of span 1 has a match on BBA, and in one of length 1 has none. They agree where every match
marks the first and the last event.
"""

from __future__ import annotations

from collections.abc import Iterator

from cerlab.automata.automaton import Mark
from cerlab.automata.product import remember
from cerlab.automata.registers.transducer import Label, RegisterTransition, Srt, label
from cerlab.automata.registers.trim import prune


def length_window(T: Srt, w: int) -> Srt:
    """A state is one of T, and how many events were read, at most w; ``|Q| (w + 1)`` states."""

    def follow(read: int, t: RegisterTransition) -> Iterator[tuple[Label, int]]:
        if read < w:
            yield label(t), read + 1

    return prune(remember(T, 0, follow, Srt, R=T.R))


def span_window(T: Srt, w: int) -> Srt:
    """A state is one of T, and how many events were read from the first mark on (SRT Def. 39).

    Marks are allowed for w events; then only runs that mark no more go on. ``|Q| (w + 1)`` states.
    """

    def follow(read: int, t: RegisterTransition) -> Iterator[tuple[Label, int]]:
        if t.mark is Mark.SKIP:
            yield label(t), min(read + 1, w) if read else 0
        elif read < w:
            yield label(t), read + 1

    return prune(remember(T, 0, follow, Srt, R=T.R))


def mark_bounded(T: Srt) -> bool:
    """Whether all accepting runs mark their first and their last event, so that span is length.

    A guard that no event satisfies may make this false where it is true.
    """
    T = prune(T)
    ends = (t for t in T.Delta if t.source == T.q0 or t.target in T.F)
    return all(t.mark is Mark.TAKE for t in ends)
