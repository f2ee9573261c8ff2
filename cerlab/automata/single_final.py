"""One final state, entered by • only: the form that NXT and LAST ask for (FOUND App. C.3.2)."""

from __future__ import annotations

from cerlab.automata.automaton import AnchoredCea, Mark


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
    copies = (t._replace(target=qf) for t in cea.Delta if t.target in cea.F and t.mark is Mark.TAKE)
    return AnchoredCea(qf + 1, (*cea.Delta, *dict.fromkeys(copies)), cea.I, frozenset({qf}))
