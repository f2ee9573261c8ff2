"""FO-CEL and plain CEL to anchored automata, through empty moves (FOUND Thm. 3)."""

from __future__ import annotations

from typing import NoReturn

from cerlab.automata.automaton import AnchoredCea, EpsilonCea, Mark, Transition
from cerlab.automata.compose import anchor
from cerlab.automata.epsilon import choice, plus, repeat, sequence, without_moves
from cerlab.compile.cel_to_vcea import cel_to_vcea, vcea_to_cea
from cerlab.errors import Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.text import node_text
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.focel.rewrite import lp_normal_form, safe_form
from cerlab.logic.focel.semantics import check_scopes, safe, unary, with_variables
from cerlab.model.clauses import Consume, Strategy
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Application, On


def focel_to_cea(phi: cel.Formula) -> AnchoredCea:
    """Return an automaton with the complex events of a formula, on every stream (FOUND Thm. 3).

    Its size is at most doubly exponential in the formula, and quadratic if the formula is safe and
    in LP-normal form. Raise as `focel_to_epsilon_cea`.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> A = focel_to_cea(parse_cel("A AS x ; B AS y")[0])
    >>> A.states, len(A.Delta), sorted(A.F)
    (4, 6, [3])
    """
    return without_moves(focel_to_epsilon_cea(phi), AnchoredCea)


def focel_to_epsilon_cea(phi: cel.Formula) -> EpsilonCea:
    """Return an automaton with empty moves; linear for safe LP-normal form (FOUND Thm. 3).

    Other formulas are first brought into that form. There is no automaton for formulas that are
    well-formed as printed but not scoped well-formed: their answers may depend on later events
    (erratum E4). Raise `IllFormed` for them, `Unsupported` for filters that are not over one
    variable, predicates from Python, strategies, and operators outside FO-CEL.
    """
    formula = with_variables(phi)
    for psi in cel.subformulas(formula):
        if isinstance(psi, cel.Select):
            _refuse_first_order(f"{psi.strategy.value}(..) inside a formula of FO-CEL")
        if isinstance(psi, cel.Filter) and isinstance(psi.condition, Application):
            _refuse_first_order(f"'{psi.condition.predicate.name}', a predicate from Python")
    if not unary(formula):
        _refuse_first_order("filters over several variables")
    check_scopes(formula)
    normal = lp_normal_form(formula)
    return _construct(normal if safe(normal) else safe_form(normal))


def _refuse_first_order(construct: str) -> NoReturn:
    raise Unsupported(
        "CER0403",
        f"there is no automaton for {construct}",
        hint=(
            'evaluator="registers" may support it; evaluator="reference" supports it, on '
            "small streams"
        ),
    )


def _construct(psi: cel.Formula) -> EpsilonCea:
    """Return the automaton of a safe formula in LP-normal form (FOUND App. C.2).

    It has one initial and one final state. In the initial state events may be skipped; the final
    state is entered at the last event.
    """
    match psi:
        case cel.As(cel.Atom() as atom, _):
            return _atom(atom, pred.EVERYTHING)
        case cel.Filter(cel.As(cel.Atom() as atom, _), On(_, P)):
            return _atom(atom, P)
        case cel.Or(left, right):
            return choice(_construct(left), _construct(right))
        case cel.Seq(left, right):
            return sequence(_construct(left), _construct(right))
        case cel.Plus(body):
            return plus(_construct(body))
        case cel.Count(body, least, most, gaps=True):
            return repeat(_construct(body), least, most)
        case _:
            raise AssertionError(f"not a unary formula in safe LP-normal form: {psi}")


def _atom(atom: cel.Atom, P: pred.Predicate) -> EpsilonCea:
    """Return the automaton of an atom: it skips any events, then marks one."""
    stream = pred.EVERYTHING if atom.stream is None else pred.StreamIs(atom.stream)
    is_atom = pred.conjunction(pred.conjunction(stream, pred.TypeIs(atom.type)), P)
    wait = Transition(0, pred.EVERYTHING, Mark.SKIP, 0)
    return EpsilonCea(
        2, (wait, Transition(0, is_atom, Mark.TAKE, 1)), frozenset({0}), frozenset({1}), moves=()
    )


_OPERATORS = (cel.Atom, cel.As, cel.Filter, cel.Or, cel.Seq, cel.Plus, cel.Count)
"""The operators of Foundations, and counts, which are composed of them."""


def anchored_query(query: CeqlQuery, *, first_order: bool) -> tuple[AnchoredCea, Strategy | None]:
    """Return the anchored automaton of a query's formula, and its strategy (FOUND Sec. 8.1).

    `first_order` reads the formula as FO-CEL (FOUND Thm. 3), otherwise labels are sets of events.
    Raise `Unsupported` for clauses and operators that Foundations does not have.
    """
    clauses = {
        "FROM": query.streams,
        "PARTITION BY": query.partition,
        "WITHIN": query.window,
        "CONSUME BY": query.consume is not Consume.NONE,
        "LIMIT": query.limit,
        "a choice in SELECT": query.items is not None,
    }
    for name, there in clauses.items():
        if there:
            _refuse(name)
    formula, strategy = query.formula, query.strategy
    if strategy is None and isinstance(formula, cel.Select):
        strategy, formula = formula.strategy, formula.body
    for psi in cel.subformulas(formula):
        if not isinstance(psi, _OPERATORS) or (isinstance(psi, cel.Count) and not psi.gaps):
            _refuse(node_text(psi))
        if isinstance(psi, cel.Atom) and psi.stream is not None:
            _refuse(f"a stream, as in {psi.stream}>{psi.type}")
    return _automaton(formula, first_order=first_order), strategy


def _automaton(formula: cel.Formula, *, first_order: bool) -> AnchoredCea:
    if first_order:
        return focel_to_cea(formula)
    return anchor(vcea_to_cea(cel_to_vcea(formula)))


def _refuse(construct: str) -> None:
    raise Unsupported(
        "CER0412",
        f'evaluator="lists" is only for the language of Foundations, which has no {construct}',
        hint='evaluator="auto" chooses one that supports it',
    )
