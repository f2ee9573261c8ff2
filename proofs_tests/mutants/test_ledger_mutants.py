"""Wrong versions that turn rows of the ledger red, beside those of their folders.

Sizes of safe forms, what LP-normal form is, FO-CEL as SO-CEL, the order of keys in Algorithm 1,
conjunction without order (FOUND Thm. 1; FOUND Sec. 5.2; SOCEL Thm. 1; CORE Sec. 4.2; SRT Sec. 5.1);
operations on a tECS, what its lists hold, bound variables (CORE Fig. 5; CORE App. B.2;
FOUND Sec. 5.1).
"""

from __future__ import annotations

from cerlab import Event, parse_formula
from cerlab.engine.reference.tecs import Node, Tecs, TecsEvaluation, UnionList
from cerlab.logic.cel import syntax as cel
from cerlab.logic.focel import rewrite, translate
from cerlab.logic.focel import semantics as focel
from cerlab.logic.sremo import semantics
from cerlab.logic.sremo import syntax as sre
from cerlab.predicates.condition import On
from proofs_tests.clauses.test_focel import BOUND_BY_HAND
from proofs_tests.core.test_tecs_operations import check_operations
from proofs_tests.laws.test_focel_rewriting import (
    LP_BY_HAND,
    keeps_the_complex_events,
    sizes_are_bounded,
)
from proofs_tests.mutants.driver import kills, mutant, on_rows, on_seeds
from proofs_tests.mutants.test_mutants import ON_AUTOMATA
from proofs_tests.sremo import test_mutants as sremo
from proofs_tests.sremo.test_laws import either_order

_ADD, _ADVANCE = TecsEvaluation._add, TecsEvaluation.advance
_WITHOUT_VARIABLES = translate._without_variables
_SAFE_FORM = rewrite.safe_form


def disjuncts_of_iterations_twice(phi: cel.Formula) -> cel.Formula:
    """A safe form that says all of it twice where two parts iterate: of the same meaning."""
    safe = _SAFE_FORM(phi)
    iterations = sum(isinstance(psi, cel.Plus) for psi in cel.subformulas(phi))
    return cel.Or(safe, safe) if iterations > 1 else safe


def lp_on_any_variable(phi: cel.Formula) -> bool:
    """Filters on an AS clause, whichever variable they are of."""
    if isinstance(phi, cel.Filter) and isinstance(phi.condition, On):
        return isinstance(phi.body, cel.As)
    return all(map(lp_on_any_variable, cel.children(phi)))


def iterations_once(phi: cel.Formula) -> cel.Formula:
    return _WITHOUT_VARIABLES(phi.body if isinstance(phi, cel.Plus) else phi)


def short_lists_where_nothing_is_given(
    self: TecsEvaluation, q: int, node: Node, ul: UnionList
) -> None:
    """A list of a state that is not final takes no third node."""
    if q not in self.T or self.automaton.final[q] or len(self.T[q]) < 2:
        _ADD(self, q, node, ul)


def merged_from_the_left(self: Tecs, ul: UnionList) -> Node:
    """``((n0 | n1) | n2) | ..``: the same set in the same order, and not safe."""
    root, *rest = ul
    for node in rest:
        root = self._join(root, node)
    return root


def keys_backwards(self: TecsEvaluation, event: Event, position: int) -> None:
    """A hash table that gives its keys from the last to the first, where there are many."""
    if len(self.T) > 3:
        self.T = dict(reversed(self.T.items()))
    _ADVANCE(self, event, position)


SIZES, SAME_ANSWERS, ORDERS = (
    on_seeds(check, 400) for check in (sizes_are_bounded, keeps_the_complex_events, either_order)
)
OPERATIONS = on_seeds(check_operations, 200)
BOUND = on_rows(lambda row: focel.bound(parse_formula(row[0])) == set(row[1]), BOUND_BY_HAND)
BY_HAND = on_rows(lambda row: rewrite.is_lp(parse_formula(row[0])) is row[1], LP_BY_HAND)

MUTANTS = [
    mutant(SIZES, rewrite, "safe_form", disjuncts_of_iterations_twice),
    mutant(BY_HAND, rewrite, "is_lp", lp_on_any_variable),
    mutant(SAME_ANSWERS, translate, "_without_variables", iterations_once),
    mutant(SAME_ANSWERS, translate, "safe_form", lambda phi: phi, id="unsafe_disjuncts_stay"),
    mutant(ON_AUTOMATA, TecsEvaluation, "advance", keys_backwards),
    mutant(ON_AUTOMATA, TecsEvaluation, "_add", short_lists_where_nothing_is_given),
    mutant(OPERATIONS, Tecs, "merge", merged_from_the_left),
    mutant(BOUND, focel, "bound", focel.vdef_plus, id="bound_by_either_branch"),
    *(
        mutant(ORDERS, semantics, "_rule", sremo.rule(kind, wrong), id=wrong.__name__)
        for kind, wrong in (
            (sre.Concat, sremo.concat_with_a_gap),
            (sre.Alternation, sremo.alternation_prefers_left),
            (sre.Intersection, sremo.intersection_of_languages),
        )
    ),
]


test_the_row_goes_red = kills(MUTANTS)
