"""Forms of automata that read from position 0 (FOUND Sec. 6; FOUND App. C.3.2)."""

from __future__ import annotations

from cerlab.automata.automaton import AnchoredCea, IntervalCea, Mark, Transition
from cerlab.automata.compose import ends_in
from cerlab.predicates.syntax import EVERYTHING


def anchor(A: IntervalCea) -> AnchoredCea:
    """The automaton that reads from position 0: its initial state is "not started" (FOUND Sec. 6).

    There it skips any events, and has the transitions of q0, which no run enters again. The
    answers ``([i, j], D)`` are kept of automata whose accepting runs begin and end with a mark:
    then i and j are the least and the greatest position of D. So they do in automata of formulas
    without projection and NOT. Of other automata, starts are forgotten, and answers whose last
    event is not marked are lost.
    """
    wait = Transition(A.q0, EVERYTHING, Mark.SKIP, A.q0)
    return AnchoredCea(A.states, (wait, *A.Delta), A.I, A.F)


def single_final(cea: AnchoredCea) -> AnchoredCea:
    """The same complex events, by runs that end in a fresh final state (FOUND App. C.3.2).

    Only the transitions into F that take are copied to the fresh state: a run accepts by such a
    one. The paper copies all of them; then a run that ends with ∘, which does not accept, hides a
    worse one that does (erratum E6).

    >>> from cerlab.automata.automaton import Transition
    >>> from cerlab.predicates.syntax import EVERYTHING
    >>> loop = Transition(0, EVERYTHING, Mark.TAKE, 0)
    >>> [(t.source, t.target) for t in single_final(
    ...     AnchoredCea(1, (loop,), frozenset({0}), frozenset({0}))).Delta]
    [(0, 0), (0, 1)]
    """
    qf = cea.states
    copies = tuple(t for t in ends_in(cea, {qf}) if t.mark is Mark.TAKE)
    return AnchoredCea(qf + 1, (*cea.Delta, *copies), cea.I, frozenset({qf}))
