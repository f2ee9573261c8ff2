"""Rewritings of FO-CEL: disjunctive normal form, safe form, LP-normal form (FOUND Sec. 5.1).

All three keep the meaning of scoped well-formed formulas, and all three may be exponentially
larger; `size` says by how much. Bare types get their variables first (`with_variables`).
"""

from __future__ import annotations

from typing import TypeAlias

from cerlab.budget import budgeted, spend
from cerlab.logic.cel.syntax import (
    As,
    Atom,
    Filter,
    Formula,
    Or,
    Plus,
    Seq,
    children,
    part_at,
    size,
)
from cerlab.logic.focel.scope import bound, vdef_plus, with_variables
from cerlab.predicates.condition import On
from cerlab.predicates.syntax import Comparison, Constant, Operator, Predicate, conjunction

NOTHING = Filter(As(Atom("R"), "x"), On("x", Comparison(Operator.EQ, Constant(0), Constant(1))))
"""A formula without answers, for when every disjunct is deleted (erratum E4)."""


@budgeted("the disjunctive form of the formula")
def disjunctive_normal_form(phi: Formula) -> Formula:
    """OR only at the top or directly below a ``+`` (FOUND Lemma 2; FOUND App. B.1).

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> print(disjunctive_normal_form(parse_cel("(A AS x OR B AS x) ; C AS z FILTER x[v = 1]")[0]))
    A AS x ; C AS z FILTER x[v = 1] OR (B AS x ; C AS z FILTER x[v = 1])
    """
    return _any_of(_disjuncts(with_variables(phi)))


def _disjuncts(phi: Formula) -> list[Formula]:
    match phi:
        case Filter(body, condition):
            made: list[Formula] = [Filter(psi, condition) for psi in _disjuncts(body)]
        case Or(left, right):
            made = _disjuncts(left) + _disjuncts(right)
        case Seq(left, right):
            rights = _disjuncts(right)
            made = [Seq(psi, chi) for psi in _disjuncts(left) for chi in rights]
        case Plus(body):
            made = [Plus(_any_of(_disjuncts(body)))]
        case _:
            made = [phi]
    spend(sum(map(size, made)))
    return made


def _any_of(disjuncts: list[Formula]) -> Formula:
    phi, *rest = disjuncts
    for psi in rest:
        phi = Or(phi, psi)
    return phi


@budgeted("the safe form of the formula")
def safe_form(phi: Formula) -> Formula:
    """No ``;`` binds a variable on both sides: such disjuncts have no answers (FOUND Thm. 1).

    Deletes disjuncts bottom-up (FOUND Lemma B.12), also below a ``+``.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> print(safe_form(parse_cel("(A AS x OR B AS y) ; C AS x")[0]))
    B AS y ; C AS x
    """
    kept = _safe_disjuncts(_disjuncts(with_variables(phi)))
    return _any_of(kept) if kept else NOTHING


def _safe_disjuncts(disjuncts: list[Formula]) -> list[Formula]:
    return [safe for psi in disjuncts if (safe := _safe(psi)) is not None]


def _safe(psi: Formula) -> Formula | None:
    """A disjunct with the unsafe ones inside its iterations deleted; None if it is unsafe."""
    match psi:
        case Filter(body, condition):
            inner = _safe(body)
            return None if inner is None else Filter(inner, condition)
        case Seq(left, right):
            first, second = _safe(left), _safe(right)
            if first is None or second is None or vdef_plus(first) & vdef_plus(second):
                return None
            return Seq(first, second)
        case Plus(body):
            kept = _safe_disjuncts(_disjuncts(body))
            return Plus(_any_of(kept)) if kept else None
        case _:
            return psi


@budgeted("the LP-normal form of the formula")
def lp_normal_form(phi: Formula) -> Formula:
    """Every unary filter directly on the ``R AS x`` of its variable (FOUND Thm. 2, corrected).

    The steps are those of its proof (FOUND App. B.2).

    Where a variable is not bound by what is filtered, its binder decides: either it satisfies the
    predicate and the filter goes, or the filtered part goes. As printed this loses filters, pushes
    them below a ``+`` that rebinds the variable, and does not end (erratum E3).

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> print(lp_normal_form(parse_cel("A AS x ; (B AS y FILTER x[v = 1])")[0]))
    A AS x FILTER x[v = 1] ; B AS y
    >>> print(lp_normal_form(parse_cel("(A AS x ; B AS y) FILTER x[v = 1] AND x[w = 2]")[0]))
    A AS x FILTER x[v = 1 AND w = 2] ; B AS y
    """
    phi = with_variables(phi)
    while (path := _misplaced(phi)) is not None:
        phi = _split(phi, path)
        spend(size(phi))
    return _pushed_down(phi)


Path: TypeAlias = tuple[int, ...]


def _misplaced(phi: Formula, path: Path = ()) -> Path | None:
    """Where a unary filter stands on a formula that does not bind its variable, outermost first."""
    if (
        isinstance(phi, Filter)
        and isinstance(phi.condition, On)
        and phi.condition.label not in bound(phi.body)
    ):
        return path
    for k, child in enumerate(children(phi)):
        if (found := _misplaced(child, (*path, k))) is not None:
            return found
    return None


def _split(phi: Formula, path: Path) -> Formula:
    """Replace the smallest formula around a misplaced filter that binds its variable."""
    filtered = part_at(phi, path)
    assert isinstance(filtered, Filter)
    assert isinstance(filtered.condition, On)
    x = filtered.condition.label
    depth = max(d for d in range(len(path)) if x in bound(part_at(phi, path[:d])))
    binder, inside = part_at(phi, path[:depth]), path[depth:]
    holds = _replaced(binder, inside, filtered.body)
    fails = _replaced(binder, inside, None)
    assert holds is not None
    decided: Formula = Filter(holds, filtered.condition)
    result = _replaced(phi, path[:depth], decided if fails is None else Or(decided, fails))
    assert result is not None
    return result


def _replaced(phi: Formula, path: Path, new: Formula | None) -> Formula | None:
    """The formula with a part replaced; None is FALSE, which is folded away upwards."""
    if not path:
        return new
    k, *rest = path
    part = _replaced(children(phi)[k], tuple(rest), new)
    match phi:
        case Or(left, right):
            other = right if k == 0 else left
            if part is None:
                return other
            return Or(part, other) if k == 0 else Or(other, part)
        case _ if part is None:
            return None
        case Seq(left, right):
            return Seq(part, right) if k == 0 else Seq(left, part)
        case Filter(_, condition):
            return Filter(part, condition)
        case Plus():
            return Plus(part)
        case _:
            raise AssertionError(f"not in FO-CEL: {phi}")


def _pushed_down(phi: Formula) -> Formula:
    match phi:
        case Filter(body, On(x, P)):
            return _push(_pushed_down(body), x, P)
        case Filter(body, condition):
            return Filter(_pushed_down(body), condition)
        case Or(left, right):
            return Or(_pushed_down(left), _pushed_down(right))
        case Seq(left, right):
            return Seq(_pushed_down(left), _pushed_down(right))
        case Plus(body):
            return Plus(_pushed_down(body))
        case _:
            return phi


def _push(phi: Formula, x: str, P: Predicate) -> Formula:
    """The predicate on every ``R AS x``, but not below a ``+``, which rebinds x."""
    match phi:
        case As(_, label):
            return Filter(phi, On(x, P)) if label == x else phi
        case Filter(As(_, label) as atom, On(_, Q)):
            return Filter(atom, On(x, conjunction(Q, P))) if label == x else phi
        case Filter(body, condition):
            return Filter(_push(body, x, P), condition)
        case Or(left, right):
            return Or(_push(left, x, P), _push(right, x, P))
        case Seq(left, right):
            return Seq(_push(left, x, P), _push(right, x, P))
        case _:
            return phi


def is_lp(phi: Formula) -> bool:
    """Whether every unary filter stands directly on the atom of its variable (FOUND Sec. 5.1)."""
    if isinstance(phi, Filter) and isinstance(phi.condition, On):
        return isinstance(phi.body, As) and phi.body.label == phi.condition.label
    return all(map(is_lp, children(phi)))
