"""Rewritings of FO-CEL: disjunctive normal form, safe form and LP-normal form (FOUND Sec. 5.1).

All three keep the meaning of scoped well-formed formulas, and may be exponentially larger;
`rewriting_sizes` measures it. Bare types first get variables (`with_variables`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from cerlab.budget import poll, spend, step_budget
from cerlab.errors import ResourceLimit, Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula, size
from cerlab.logic.focel.semantics import (
    bound,
    safe,
    unary,
    unscoped_variable,
    vdef_plus,
    well_formed,
    with_variables,
)
from cerlab.predicates.condition import On
from cerlab.predicates.syntax import Comparison, Constant, Operator, Predicate, conjunction

NOTHING = cel.Filter(
    cel.As(cel.Atom("R"), "x"), On("x", Comparison(Operator.EQ, Constant(0), Constant(1)))
)
"""A formula without answers, used if every disjunct is deleted (erratum E4)."""


@step_budget("the disjunctive form of the formula")
def disjunctive_normal_form(phi: cel.Formula) -> cel.Formula:
    """Return an equal formula with OR at the top or below ``+`` (FOUND Lemma 2; FOUND App. B.1).

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> print(disjunctive_normal_form(parse_cel("(A AS x OR B AS x) ; C AS z FILTER x[v = 1]")[0]))
    A AS x ; C AS z FILTER x[v = 1] OR (B AS x ; C AS z FILTER x[v = 1])
    """
    return _any_of(_disjuncts(with_variables(phi)))


def _disjuncts(phi: cel.Formula) -> list[cel.Formula]:
    match phi:
        case cel.Filter(body, condition):
            disjuncts: list[cel.Formula] = [cel.Filter(psi, condition) for psi in _disjuncts(body)]
        case cel.Or(left, right):
            disjuncts = _disjuncts(left) + _disjuncts(right)
        case cel.Seq(left, right):
            rights = _disjuncts(right)
            disjuncts = [cel.Seq(psi, chi) for psi in _disjuncts(left) for chi in rights]
        case cel.Plus(body) | cel.Count(body):
            disjuncts = [replace(phi, body=_any_of(_disjuncts(body)))]
        case _:
            disjuncts = [phi]
    spend(sum(map(cel.size, disjuncts)))
    return disjuncts


def _any_of(disjuncts: list[cel.Formula]) -> cel.Formula:
    phi, *rest = disjuncts
    for psi in rest:
        phi = cel.Or(phi, psi)
    return phi


@step_budget("the safe form of the formula")
def safe_form(phi: cel.Formula) -> cel.Formula:
    """Delete disjuncts whose ``;`` binds a variable on both sides (FOUND Thm. 1).

    They have no answers. Disjuncts are deleted bottom-up (FOUND Lemma B.12), also below a ``+``.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> print(safe_form(parse_cel("(A AS x OR B AS y) ; C AS x")[0]))
    B AS y ; C AS x
    """
    disjuncts = _safe_disjuncts(_disjuncts(with_variables(phi)))
    return _any_of(disjuncts) if disjuncts else NOTHING


def _safe_disjuncts(disjuncts: list[cel.Formula]) -> list[cel.Formula]:
    return [safe for psi in disjuncts if (safe := _safe(psi)) is not None]


def _safe(psi: cel.Formula) -> cel.Formula | None:
    """Return a disjunct whose iterations are made safe; None if the disjunct itself is unsafe."""
    match psi:
        case cel.Filter(body, condition):
            inner = _safe(body)
            return None if inner is None else cel.Filter(inner, condition)
        case cel.Seq(left, right):
            first, second = _safe(left), _safe(right)
            if first is None or second is None or vdef_plus(first) & vdef_plus(second):
                return None
            return cel.Seq(first, second)
        case cel.Plus(body) | cel.Count(body):
            disjuncts = _safe_disjuncts(_disjuncts(body))
            return replace(psi, body=_any_of(disjuncts)) if disjuncts else None
        case _:
            return psi


@step_budget("the LP-normal form of the formula")
def lp_normal_form(phi: cel.Formula) -> cel.Formula:
    """Return an equal formula with unary filters only on ``R AS x`` (FOUND Thm. 2, corrected).

    The steps are those of the proof (FOUND App. B.2). If the filtered part does not bind the
    variable, there is one copy in which the binder satisfies the predicate and the filter is
    removed, and one without the filtered part. As printed, the proof loses filters, pushes them
    below a ``+`` that rebinds the variable, and does not terminate (erratum E3).

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> print(lp_normal_form(parse_cel("A AS x ; (B AS y FILTER x[v = 1])")[0]))
    A AS x FILTER x[v = 1] ; B AS y
    >>> print(lp_normal_form(parse_cel("(A AS x ; B AS y) FILTER x[v = 1] AND x[w = 2]")[0]))
    A AS x FILTER x[v = 1 AND w = 2] ; B AS y
    """
    phi = with_variables(phi)
    while (path := _misplaced_filter(phi)) is not None:
        phi = _split(phi, path)
        spend(cel.size(phi))
    return _pushed_down(phi)


Path: TypeAlias = tuple[int, ...]


def _misplaced_filter(phi: cel.Formula, path: Path = ()) -> Path | None:
    """Return the path of the first unary filter whose body does not bind its variable, or None."""
    if (
        isinstance(phi, cel.Filter)
        and isinstance(phi.condition, On)
        and phi.condition.label not in bound(phi.body)
    ):
        return path
    for k, child in enumerate(cel.children(phi)):
        if (place := _misplaced_filter(child, (*path, k))) is not None:
            return place
    return None


def _split(phi: cel.Formula, path: Path) -> cel.Formula:
    """Return the formula with a misplaced filter moved to where its variable is bound."""
    node = cel.part_at(phi, path)
    assert isinstance(node, cel.Filter)
    assert isinstance(node.condition, On)
    x = node.condition.label
    depth = max(d for d in range(len(path)) if x in bound(cel.part_at(phi, path[:d])))
    binder, inside = cel.part_at(phi, path[:depth]), path[depth:]
    holds = _replace(binder, inside, node.body)
    fails = _replace(binder, inside, None)
    assert holds is not None
    decision: cel.Formula = cel.Filter(holds, node.condition)
    result = _replace(phi, path[:depth], decision if fails is None else cel.Or(decision, fails))
    assert result is not None
    return result


def _replace(phi: cel.Formula, path: Path, new: cel.Formula | None) -> cel.Formula | None:
    """Return the formula with the part at a path replaced; None means FALSE and is propagated."""
    if not path:
        return new
    k, *rest = path
    part = _replace(cel.children(phi)[k], tuple(rest), new)
    if part is None:
        return cel.children(phi)[1 - k] if isinstance(phi, cel.Or) else None
    return cel.with_child(phi, k, part)


def _pushed_down(phi: cel.Formula) -> cel.Formula:
    match phi:
        case cel.Filter(body, On(x, P)):
            return _push(_pushed_down(body), x, P)
        case cel.As():
            return phi
        case _:
            return cel.map_children(_pushed_down, phi)


def _push(phi: cel.Formula, x: str, P: Predicate) -> cel.Formula:
    """Add a predicate to every ``R AS x``, except below ``+``, where x is another variable."""
    match phi:
        case cel.As(_, label):
            return cel.Filter(phi, On(x, P)) if label == x else phi
        case cel.Filter(cel.As(_, label) as atom, On(_, Q)):
            return cel.Filter(atom, On(x, conjunction(Q, P))) if label == x else phi
        case cel.Plus() | cel.Count():
            return phi
        case _:
            return cel.map_children(lambda psi: _push(psi, x, P), phi)


def is_lp(phi: cel.Formula) -> bool:
    """Return whether each unary filter is on its variable's atom (FOUND Sec. 5.1)."""
    if isinstance(phi, cel.Filter) and isinstance(phi.condition, On):
        return isinstance(phi.body, cel.As) and phi.body.label == phi.condition.label
    return all(map(is_lp, cel.children(phi)))


@dataclass(frozen=True, slots=True)
class Sizes:
    """The numbers of operators and atoms of a formula and of its rewritings; None if too large."""

    original: int
    disjunctive: int | None
    safe: int | None
    lp: int | None


def rewriting_sizes(phi: Formula) -> Sizes:
    """Return the sizes of rewritings, which may be exponential (FOUND Thm. 1; FOUND Thm. 2).

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> rewriting_sizes(parse_cel("(A AS x OR B AS x) ; (A AS y OR B AS y)")[0])
    Sizes(original=11, disjunctive=23, safe=23, lp=11)
    """
    core = with_variables(phi)

    def size_after(rewriting: Callable[[Formula], Formula]) -> int | None:
        try:
            return size(rewriting(core))
        except ResourceLimit:
            poll()
            return None

    sizes = map(size_after, (disjunctive_normal_form, safe_form, lp_normal_form))
    return Sizes(size(core), *sizes)


def describe_fo(phi: Formula) -> str:
    """Return whether a formula is in FO-CEL, and whether it is scoped, safe and unary.

    >>> from cerlab.logic.cel.syntax import Atom, Seq
    >>> describe_fo(Seq(Atom("A"), Atom("B")))
    'well-formed, scoped, safe, unary; of size 5, disjunctive 5, safe 5, LP-normal form 5'
    """
    try:
        core = with_variables(phi)
    except Unsupported as error:
        return f"no: {error.message}"
    if (variable := unscoped_variable(core)) is not None:
        verdict = "well-formed as printed" if well_formed(core) else "not well-formed"
        return f"{verdict}, but '{variable}' is filtered outside its scope"
    parts = [
        "well-formed, scoped",
        "safe" if safe(core) else "not safe",
        "unary" if unary(core) else "not unary",
    ]
    sizes = rewriting_sizes(phi)
    forms = {"disjunctive": sizes.disjunctive, "safe": sizes.safe, "LP-normal form": sizes.lp}
    growth = (f"{name} {n or 'too large'}" for name, n in forms.items())
    return f"{', '.join(parts)}; of size {sizes.original}, {', '.join(growth)}"
