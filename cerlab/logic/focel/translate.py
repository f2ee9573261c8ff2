"""FO-CEL to SO-CEL (SOCEL Thm. 1; SOCEL Thm. 3), and back for unary filters."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from cerlab.errors import Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.text import node_text
from cerlab.logic.focel.binary import binary_fo_to_so, labelled_binary_fo_to_so
from cerlab.logic.focel.rewrite import lp_normal_form, safe_form
from cerlab.logic.focel.scope import check_scopes, unary, vdef, with_variables
from cerlab.predicates import condition as cond
from cerlab.predicates.condition import Atomic, Condition, alternatives
from cerlab.predicates.syntax import conjunction


def fo_to_so(phi: cel.Formula) -> cel.Formula:
    """An SO-CEL formula with the same complex events as a scoped well-formed FO-CEL one.

    In safe LP-normal form no variable of a unary formula says anything that its own atom does not.
    Filters over two variables need labels (`binary_fo_to_so`), over three there is no way in
    general (SOCEL Thm. 4): then raises `Unsupported`.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> print(fo_to_so(parse_cel("(A AS x ; B AS y) FILTER x[v = 1]")[0]))
    A FILTER A[v = 1] ; B
    """
    core = with_variables(phi)
    for psi in cel.subformulas(core):
        if isinstance(psi, cel.Filter) and isinstance(psi.condition, cond.Application):
            name = psi.condition.predicate.name
            raise Unsupported(
                "CER0407",
                f"'{name}', a predicate from Python, is not translated",
                hint='evaluator="reference" takes what FO-CEL has, on small streams',
            )
    if not unary(core):
        return binary_fo_to_so(phi)
    return _without_variables(safe_form(lp_normal_form(phi)))


def unary_fo_to_so(phi: cel.Formula) -> cel.Formula:
    """The same for unary formulas, a strategy around them kept; what machines are made of.

    Raises `IllFormed` for formulas that are not scoped well-formed, `Unsupported` for what is not
    unary or not FO-CEL.
    """
    if isinstance(phi, cel.Select):
        return cel.Select(phi.strategy, unary_fo_to_so(phi.body))
    core = with_variables(phi)
    if not unary(core):
        raise Unsupported(
            "CER0405",
            "machines take FO-CEL with filters over one variable",
            hint='evaluator="reference" takes it, on small streams',
        )
    check_scopes(core)
    return fo_to_so(core)


def labelled_fo_to_so(phi: cel.Formula) -> tuple[cel.Formula, dict[str, str]]:
    """An SO-CEL formula whose labels are variables, and which: those of a formula, or of its text.

    Strategies are left out. In safe LP-normal form a filter over one variable stands on the atom of
    its variable, so both logics read it alike; for filters over two see `labelled_binary_fo_to_so`.
    Raises as `fo_to_so`.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> psi, _ = labelled_fo_to_so(parse_cel("(A AS x ; B AS y) FILTER x[v = 1]")[0])
    >>> print(psi)
    A AS x FILTER x[v = 1] ; B AS y
    """
    if isinstance(phi, cel.Select):
        return labelled_fo_to_so(phi.body)
    core = with_variables(phi)
    check_scopes(core)
    fo_to_so(core)
    if not unary(core):
        return labelled_binary_fo_to_so(phi)
    return safe_form(lp_normal_form(core)), {}


def _without_variables(phi: cel.Formula) -> cel.Formula:
    match phi:
        case cel.As(cel.Atom() as atom, _):
            return atom
        case cel.Filter(cel.As(cel.Atom() as atom, _), cond.On(_, P)):
            return cel.Filter(atom, cond.On(atom.type, P))
        case cel.Or() | cel.Seq() | cel.Plus():
            return cel.map_children(_without_variables, phi)
        case _:
            raise AssertionError(f"not a unary formula in safe LP-normal form: {phi}")


def so_to_fo(phi: cel.Formula) -> cel.Formula:
    """A safe FO-CEL formula in LP-normal form with the same complex events as an SO-CEL one.

    Each atom knows the labels that its event gets on the way up, hence the predicates it must
    satisfy. For R, AS, FILTER, OR, ``;``, ``+`` and RENAME, with unary filters.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> print(so_to_fo(parse_cel("(A OR B)+ AS x FILTER x[v = 1] ; B")[0]))
    (A AS _0 FILTER _0[v = 1] OR (B AS _1 FILTER _1[v = 1]))+ ; B AS _2
    """
    return _Translation().formula(phi)


class _Translation:
    """The labels of each atom's event so far, by the fresh variable of the atom."""

    def __init__(self) -> None:
        self.labels: dict[str, frozenset[str]] = {}

    def formula(self, phi: cel.Formula) -> cel.Formula:
        """The translation of a subformula; `labels` then has those of its atoms."""
        match phi:
            case cel.Atom(R):
                x = f"_{len(self.labels)}"
                self.labels[x] = frozenset({R})
                return cel.As(phi, x)
            case cel.As(body, X):
                return self._relabel(body, lambda L: L | {X} if L else L)
            case cel.Rename(old, new, body):
                return self._relabel(body, lambda L: L - {old} | {new} if old in L else L)
            case cel.Filter(body, condition):
                return self._filter(self.formula(body), condition)
            case cel.Or() | cel.Seq() | cel.Plus():
                return cel.map_children(self.formula, phi)
            case _:
                raise Unsupported(
                    "CER0407",
                    f"FO-CEL has no {node_text(phi)}",
                    hint='evaluator="reference" takes what FO-CEL has, on small streams',
                )

    def _relabel(
        self, body: cel.Formula, change: Callable[[frozenset[str]], frozenset[str]]
    ) -> cel.Formula:
        psi = self.formula(body)
        for x in vdef(psi):
            self.labels[x] = change(self.labels[x])
        return psi

    def _filter(self, psi: cel.Formula, condition: Condition) -> cel.Formula:
        """One copy for each way to satisfy the filter."""
        copies = [reduce(self._demand, way, psi) for way in alternatives(condition)]
        return reduce(cel.Or, copies)

    def _demand(self, psi: cel.Formula, condition: Atomic) -> cel.Formula:
        """``X[P]``, put to every atom whose event has label X."""
        if isinstance(condition, cond.Correlation | cond.Application):
            raise Unsupported(
                "CER0407",
                "only unary filters are translated to FO-CEL",
                hint='evaluator="reference" takes what FO-CEL has, on small streams',
            )
        match psi:
            case cel.As(_, x) if condition.label in self.labels[x]:
                return cel.Filter(psi, cond.On(x, condition.predicate))
            case cel.Filter(cel.As(_, x) as atom, cond.On(_, P)):
                if condition.label not in self.labels[x]:
                    return psi
                return cel.Filter(atom, cond.On(x, conjunction(P, condition.predicate)))
            case cel.Or() | cel.Seq() | cel.Plus():
                return cel.map_children(lambda each: self._demand(each, condition), psi)
            case _:
                return psi
