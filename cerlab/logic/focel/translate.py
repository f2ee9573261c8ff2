"""FO-CEL with filters over two variables, translated to SO-CEL (SOCEL Thm. 3, without its proof).

A variable is one event, a label is all events that received it. So the formula is first rewritten
until every filter that compares something below a ``+`` compares it with one event outside: then
"for all iterations" is exactly the meaning of the universal extension.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, combinations, count
from typing import TypeAlias

from cerlab.budget import TRANSITION, spend, step_budget
from cerlab.errors import Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.text import node_text
from cerlab.logic.focel.rewrite import NOTHING, lp_normal_form, safe_form
from cerlab.logic.focel.semantics import check_scopes, unary, vdef, vdef_plus, with_variables
from cerlab.predicates import condition as cond
from cerlab.predicates.condition import (
    Atomic,
    Condition,
    Correlation,
    On,
    alternatives,
    labels_of,
)
from cerlab.predicates.syntax import LabelAttribute, Leaf, conjunction, with_leaves


@dataclass(frozen=True, slots=True)
class Binding:
    """An atom with its variable: ``atom AS x``."""

    atom: cel.Atom
    x: str


@dataclass(frozen=True, slots=True)
class Iteration:
    """A repetition in which each round is one of the disjuncts; `operator` limits the rounds."""

    disjuncts: tuple[Disjunct, ...]
    operator: cel.Plus | cel.Count


Item: TypeAlias = Binding | Iteration


@dataclass(frozen=True, slots=True)
class Disjunct:
    """A sequence of atoms and iterations under some filters, without OR outside the iterations."""

    items: tuple[Item, ...]
    filters: frozenset[Atomic] = frozenset()

    @property
    def own(self) -> frozenset[str]:
        """The variables of this disjunct's atoms, without those in its iterations."""
        return frozenset(item.x for item in self.items if isinstance(item, Binding))


def binary_fo_to_so(phi: cel.Formula) -> cel.Formula:
    """Return an SO-CEL formula with the complex events of a scoped FO-CEL formula.

    It is at most exponentially larger. Raise `Unsupported` for filters over three or more
    variables, for which this is impossible in general (SOCEL Thm. 4).

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> print(binary_fo_to_so(parse_cel("A AS x ; (B AS y FILTER y.v = x.v)+")[0]))
    A AS x ; B AS y_2+ FILTER y_2.v = x.v
    """
    return labelled_binary_fo_to_so(phi)[0]


@step_budget("the translation of the formula")
def labelled_binary_fo_to_so(phi: cel.Formula) -> tuple[cel.Formula, dict[str, str]]:
    """Return the result of `binary_fo_to_so`, and the variable of each label that is not a type.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> labelled_binary_fo_to_so(parse_cel("A AS x ; (B AS y FILTER y.v = x.v)+")[0])[1]
    {'x': 'x', 'y_2': 'y'}
    """
    core = with_variables(phi)
    variables = Names(vdef(core))
    disjuncts = [E for D in _disjuncts(core, variables) for E in _hoist(D)]
    if not disjuncts:
        return NOTHING, {}
    labels = Names({psi.type for psi in cel.subformulas(core) if isinstance(psi, cel.Atom)})
    formula = reduce(cel.Or, [_label_atoms(D, {}, labels)[0] for D in disjuncts])
    return formula, {label: variables.origin(x) for label, x in labels.origins.items()}


class Names:
    """A generator of unused names; `origins` maps each name to the requested one."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = set(names)
        self._numbers: dict[str, Iterator[int]] = {}
        self.origins: dict[str, str] = {}

    def fresh(self, name: str) -> str:
        """Return the name if it is unused, otherwise the name with the first unused number."""
        variants = (f"{name}_{n}" for n in self._numbers.setdefault(name, count(2)))
        free = next(each for each in chain((name,), variants) if each not in self._names)
        self._names.add(free)
        self.origins[free] = name
        return free

    def origin(self, name: str) -> str:
        """Return the requested name of a generated one, through repeated requests."""
        while (before := self.origins.get(name, name)) != name:
            name = before
        return name


# -- 1. Disjuncts, in which each atom below a + has a variable that no other atom has ----------


def _disjuncts(phi: cel.Formula, variables: Names) -> list[Disjunct]:
    match phi:
        case cel.As(cel.Atom() as atom, x):
            return [Disjunct((Binding(atom, x),))]
        case cel.Filter(body, On() | Correlation() as condition):
            return [
                replace(D, filters=D.filters | {condition}) for D in _disjuncts(body, variables)
            ]
        case cel.Or(left, right):
            return _disjuncts(left, variables) + _disjuncts(right, variables)
        case cel.Seq(left, right):
            rights = _disjuncts(right, variables)
            return _affordable(
                Disjunct(D.items + E.items, D.filters | E.filters)
                for D in _disjuncts(left, variables)
                for E in rights
                if not D.own & E.own
            )
        case cel.Plus(body) | cel.Count(body):
            renaming = {x: variables.fresh(x) for x in sorted(vdef_plus(body))}
            inside = _disjuncts(_rename_variables(body, renaming), variables)
            return [Disjunct((Iteration(tuple(inside), phi),))] if inside else []
        case _:
            raise Unsupported(
                "CER0407",
                "only filters over one or two variables can be translated",
                hint='logic="fo" with evaluator="reference" supports it, on small streams',
            )


def _rename_variables(phi: cel.Formula, names: Mapping[str, str]) -> cel.Formula:
    """Rename variables, except below ``+`` where they are bound again."""
    match phi:
        case cel.As(atom, x):
            return cel.As(atom, names.get(x, x))
        case cel.Filter(body, condition):
            return cel.Filter(_rename_variables(body, names), _condition(condition, names))
        case cel.Plus(body) | cel.Count(body):
            rebound = vdef_plus(body)
            outer = {x: y for x, y in names.items() if x not in rebound}
            return replace(phi, body=_rename_variables(body, outer))
        case _:
            return cel.map_children(lambda psi: _rename_variables(psi, names), phi)


def _condition(condition: object, names: Mapping[str, str]) -> On | Correlation:
    def renamed(leaf: Leaf) -> Leaf:
        if not isinstance(leaf, LabelAttribute):
            return leaf
        return LabelAttribute(names.get(leaf.label, leaf.label), leaf.attribute)

    match condition:
        case On(x, P):
            return On(names.get(x, x), P)
        case Correlation(op, left, right):
            return Correlation(op, with_leaves(left, renamed), with_leaves(right, renamed))
        case _:
            raise Unsupported(
                "CER0407",
                "only filters over one or two variables can be translated",
                hint='logic="fo" with evaluator="reference" supports it, on small streams',
            )


# -- 2. Filters below a + that use only variables from outside are moved outside ---------------


def _hoist(D: Disjunct) -> list[Disjunct]:
    """Return equivalent disjuncts in which filters below ``+`` use a variable from inside it."""
    disjuncts = [Disjunct((), D.filters)]
    for item in D.items:
        ways = [(item, frozenset[Atomic]())] if isinstance(item, Binding) else _ways(item)
        disjuncts = _affordable(
            Disjunct((*E.items, way), E.filters | demand) for E in disjuncts for way, demand in ways
        )
    return disjuncts


def _ways(item: Iteration) -> list[tuple[Item, frozenset[Atomic]]]:
    """Return an iteration as alternatives: pairs of an iteration and the filters it needs outside.

    A demand is a set of filters. Its iteration keeps the disjuncts that need no other filters.
    """
    inside = [E for D in item.disjuncts for E in _hoist(D)]
    needs = [frozenset(f for f in E.filters if not labels_of(f) & E.own) for E in inside]
    distinct = list(dict.fromkeys(needs))
    # charge before creating them: all subsets of the needed filters
    spend(len(distinct) << len(distinct))
    demands = dict.fromkeys(
        frozenset[Atomic]().union(*subset)
        for size in range(1, len(distinct) + 1)
        for subset in combinations(distinct, size)
    )
    return [
        (
            Iteration(
                tuple(
                    replace(E, filters=E.filters - need)
                    for E, need in zip(inside, needs, strict=True)
                    if need <= demand
                ),
                item.operator,
            ),
            demand,
        )
        for demand in demands
    ]


def _affordable(disjuncts: Iterable[Disjunct]) -> list[Disjunct]:
    result: list[Disjunct] = []
    for D in disjuncts:
        result.append(D)
        spend(TRANSITION * _size(D))
    return result


def _size(D: Disjunct) -> int:
    inner = (E for item in D.items if isinstance(item, Iteration) for E in item.disjuncts)
    return len(D.items) + len(D.filters) + sum(map(_size, inner))


# -- 3. Each atom gets a label, and each filter is placed where both its labels are known -------


def _label_atoms(
    D: Disjunct, outer: Mapping[str, str], labels: Names
) -> tuple[cel.Formula, list[On | Correlation]]:
    """Return a disjunct as a formula with labels, and the filters to add around it.

    `outer` has the labels of the variables around it; a filter that uses one of them waits for the
    disjunct that owns it.
    """
    own = {x: labels.fresh(x) for x in sorted(D.own)}
    label_of = {**outer, **own}
    parts: list[cel.Formula] = []
    # sorted, because the order of a set differs between processes
    filters = [_condition(f, label_of) for f in sorted(D.filters, key=repr)]
    for item in D.items:
        if isinstance(item, Binding):
            parts.append(cel.As(item.atom, own[item.x]))
            continue
        inside = [_label_atoms(E, label_of, labels) for E in item.disjuncts]
        parts.append(replace(item.operator, body=reduce(cel.Or, [phi for phi, _ in inside])))
        filters += [f for _, waiting in inside for f in waiting]
    outside = frozenset(outer.values())
    here = [f for f in filters if not labels_of(f) & outside]
    waiting = [f for f in filters if labels_of(f) & outside]
    return reduce(cel.Filter, here, reduce(cel.Seq, parts)), waiting


def fo_to_so(phi: cel.Formula) -> cel.Formula:
    """Return an SO-CEL formula with the complex events of an FO-CEL formula.

    In safe LP-normal form, a variable of a unary formula constrains only its own atom, so it can be
    removed. Filters over two variables need labels (`binary_fo_to_so`). Raise `Unsupported` for
    filters over three, for which there is no translation in general (SOCEL Thm. 4).

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
                f"'{name}', a predicate from Python, cannot be translated",
                hint='evaluator="reference" supports FO-CEL with such predicates, on small streams',
            )
    if not unary(core):
        return binary_fo_to_so(phi)
    return _without_variables(safe_form(lp_normal_form(phi)))


def unary_fo_to_so(phi: cel.Formula) -> cel.Formula:
    """Return an SO-CEL formula for machines, from a unary FO-CEL formula; its strategy is kept.

    Raise `IllFormed` for formulas that are not scoped well-formed, `Unsupported` for formulas that
    are not unary or not in FO-CEL.
    """
    if isinstance(phi, cel.Select):
        return cel.Select(phi.strategy, unary_fo_to_so(phi.body))
    core = with_variables(phi)
    if not unary(core):
        raise Unsupported(
            "CER0405",
            "machines support FO-CEL only with filters over one variable",
            hint='evaluator="reference" supports it, on small streams',
        )
    check_scopes(core)
    return fo_to_so(core)


def labelled_fo_to_so(phi: cel.Formula) -> tuple[cel.Formula, dict[str, str]]:
    """Return an SO-CEL formula with variables as labels, and the variable of each renamed label.

    Strategies are removed. In safe LP-normal form a filter over one variable is on the atom of its
    variable, so both logics read it alike; for filters over two see `labelled_binary_fo_to_so`.
    Raise as `fo_to_so`.

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
        case cel.Or() | cel.Seq() | cel.Plus() | cel.Count():
            return cel.map_children(_without_variables, phi)
        case _:
            raise AssertionError(f"not a unary formula in safe LP-normal form: {phi}")


def so_to_fo(phi: cel.Formula) -> cel.Formula:
    """Return a safe LP-normal FO-CEL formula with the complex events of an SO-CEL formula.

    The labels that the event of each atom receives further up give the predicates that the atom
    must satisfy. Supported are R, AS, FILTER, OR, ``;``, ``+`` and RENAME, with unary filters.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> print(so_to_fo(parse_cel("(A OR B)+ AS x FILTER x[v = 1] ; B")[0]))
    (A AS _0 FILTER _0[v = 1] OR (B AS _1 FILTER _1[v = 1]))+ ; B AS _2
    """
    return _Translation().formula(phi)


class _Translation:
    """A translation to FO-CEL; `labels` maps each variable to the labels of its event."""

    def __init__(self) -> None:
        self.labels: dict[str, frozenset[str]] = {}

    def formula(self, phi: cel.Formula) -> cel.Formula:
        """Return the FO-CEL formula for a subformula; store the labels of its atoms."""
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
            case cel.Or() | cel.Seq() | cel.Plus() | cel.Count(gaps=True):
                return cel.map_children(self.formula, phi)
            case _:
                raise Unsupported(
                    "CER0407",
                    f"FO-CEL has no {node_text(phi)}",
                    hint='evaluator="reference" supports all of FO-CEL, on small streams',
                )

    def _relabel(
        self, body: cel.Formula, change: Callable[[frozenset[str]], frozenset[str]]
    ) -> cel.Formula:
        psi = self.formula(body)
        for x in vdef(psi):
            self.labels[x] = change(self.labels[x])
        return psi

    def _filter(self, psi: cel.Formula, condition: Condition) -> cel.Formula:
        """Return an OR of copies of a formula, one for each way to satisfy a filter."""
        copies = [reduce(self._demand, way, psi) for way in alternatives(condition)]
        return reduce(cel.Or, copies)

    def _demand(self, psi: cel.Formula, condition: Atomic) -> cel.Formula:
        """Return the formula with ``[P]`` on every atom whose event has label X."""
        if isinstance(condition, cond.Correlation | cond.Application):
            raise Unsupported(
                "CER0407",
                "only unary filters can be translated to FO-CEL",
                hint='evaluator="reference" supports all of FO-CEL, on small streams',
            )
        match psi:
            case cel.As(_, x) if condition.label in self.labels[x]:
                return cel.Filter(psi, cond.On(x, condition.predicate))
            case cel.Filter(cel.As(_, x) as atom, cond.On(_, P)):
                if condition.label not in self.labels[x]:
                    return psi
                return cel.Filter(atom, cond.On(x, conjunction(P, condition.predicate)))
            case cel.Or() | cel.Seq() | cel.Plus() | cel.Count():
                return cel.map_children(lambda each: self._demand(each, condition), psi)
            case _:
                return psi
