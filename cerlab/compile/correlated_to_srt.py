"""Queries whose filters compare labels, to symbolic register transducers (DESIGN 3.5; SRT Def. 21).

By induction on the formula, as for VCEA, on automata whose transitions have labels, guards and
writes; a comparison is put to the automaton of the formula that it filters, so it sees the labels
as they are there and begins anew in each iteration around it.

The fragment: comparisons ``x.a op y.b`` under R, FILTER (predicates, AND, OR), OR, ``;``, ``:``,
``+``, ``:+``, AS, PROJECT and RENAME, over any formulas that have automata (NOT, AND, ALL, UNLESS
and STRICT(..) among them, as long as the comparison is not inside). Every comparison but ``!=``
needs at most two registers; ``!=`` is refused where a label is repeated without bound before an
event that it is compared with (see `cerlab.compile.extremes`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import assert_never

from cerlab.automata.registers.coalesce import coalesce
from cerlab.automata.registers.labelled import LabelledSrt, labels_to_marks, of_vcea
from cerlab.automata.registers.plan import CorrelatedPlan
from cerlab.automata.registers.reduce import quotient
from cerlab.automata.registers.transducer import Srt
from cerlab.budget import step_budget
from cerlab.compile.cel_to_vcea import REFERENCE, cel_to_vcea
from cerlab.compile.extremes import restrict
from cerlab.compile.operators import Composition, compose, demand_of_label
from cerlab.errors import Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.text import node_text
from cerlab.logic.ceql.syntax import CeqlQuery, plan_clauses, strategy_and_body
from cerlab.logic.focel.binary import Names
from cerlab.predicates.condition import Application, Atomic, Correlation, On, atomics

Fresh = Callable[[str], str]


@step_budget("the transducer of the formula", "compare fewer labels with each other", own=1)
def correlated_plan(query: CeqlQuery) -> CorrelatedPlan:
    """The plan of a query on registers; raises as `correlated_to_srt`."""
    srt = correlated_to_srt(strategy_and_body(query)[1])
    return CorrelatedPlan(srt=srt, **plan_clauses(query))


def correlated_to_srt(phi: cel.Formula) -> Srt:
    """A transducer with the complex events of a formula: its runs on [i, j] give those of [i, j].

    Raises `Unsupported` for what is outside the fragment, `ResourceLimit` for filters with too many
    alternatives and for comparisons that together have too many states.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> T = correlated_to_srt(parse_cel("A AS a ; B AS b FILTER a.v < b.v")[0])
    >>> T.states, len(T.Delta), sorted(T.R)
    (3, 3, ['a'])
    """
    A = labels_to_marks(correlated_to_labelled_srt(phi))
    return quotient(coalesce(quotient(A)))


def correlated_to_labelled_srt(phi: cel.Formula) -> LabelledSrt:
    """The transducer with labels: its runs on [i, j] give the valuations of a formula there."""
    return _construct(phi, Names(()).fresh)


def why_not(query: CeqlQuery) -> str | None:
    """Why a query has no transducer, None if it has one."""
    try:
        correlated_plan(query)
    except Unsupported as error:
        return error.message
    return None


def _construct(phi: cel.Formula, fresh: Fresh) -> LabelledSrt:
    if not correlates(phi):
        return of_vcea(cel_to_vcea(phi))
    if isinstance(phi, Composition):
        A: LabelledSrt = compose(phi, partial(_construct, fresh=fresh), partial(_demand, fresh))
        return A
    inside = f"comparisons inside {node_text(phi)}"
    raise Unsupported("CER0492", f"there is no transducer for {inside}", hint=REFERENCE)


def _demand(fresh: Fresh, A: LabelledSrt, condition: Atomic) -> LabelledSrt:
    """``X[P]`` is put to every transition that gives its event to X; a comparison to the runs."""
    match condition:
        case On():
            return demand_of_label(A, condition)
        case Correlation():
            return restrict(A, condition, fresh)
        case Application(P, _):
            raise Unsupported(
                "CER0492",
                f"there is no transducer for '{P.name}', a predicate over sets of events",
                hint=REFERENCE,
            )
        case _:
            assert_never(condition)


def correlates(phi: cel.Formula) -> bool:
    """Whether some filter of a formula compares labels.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> correlates(parse_cel("(A AS a ; B AS b FILTER b[v = 1] OR a.v = b.v)+")[0])
    True
    """
    filters = (psi.condition for psi in cel.subformulas(phi) if isinstance(psi, cel.Filter))
    return any(isinstance(each, Correlation) for C in filters for each in atomics(C))
