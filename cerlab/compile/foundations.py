"""What Foundations defines, as its evaluators take it: a formula and a strategy, nothing else."""

from __future__ import annotations

from cerlab.automata.anchored import anchor
from cerlab.automata.automaton import AnchoredCea
from cerlab.compile.cel_to_vcea import cel_to_vcea
from cerlab.compile.focel_to_cea import focel_to_cea
from cerlab.compile.vcea_to_cea import vcea_to_cea
from cerlab.errors import Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.text import node_text
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.model.clauses import Consume, Strategy


def anchored_query(query: CeqlQuery, *, first_order: bool) -> tuple[AnchoredCea, Strategy | None]:
    """The anchored automaton of a query's formula, and its strategy (FOUND Sec. 8.1).

    `first_order` reads the formula as FO-CEL (FOUND Thm. 3), else labels are sets of events. Raises
    `Unsupported` for clauses and operators that Foundations has not.
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
        if not isinstance(psi, cel.Atom | cel.As | cel.Filter | cel.Or | cel.Seq | cel.Plus):
            _refuse(node_text(psi))
        if isinstance(psi, cel.Atom) and psi.stream is not None:
            _refuse(f"a stream, as in {psi.stream}>{psi.type}")
    return _automaton(formula, first_order=first_order), strategy


def _automaton(formula: cel.Formula, *, first_order: bool) -> AnchoredCea:
    if first_order:
        return focel_to_cea(formula)
    return anchor(vcea_to_cea(cel_to_vcea(formula)))


def _refuse(what: str) -> None:
    raise Unsupported(
        "CER0412",
        f'evaluator="lists" is for what Foundations defines, which has no {what}',
        hint='evaluator="auto" chooses one that takes it',
    )
