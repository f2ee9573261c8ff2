"""FO-CEL to SO-CEL with filters over two variables (SOCEL Thm. 3, whose proof is not printed).

A variable is one event, a label is all events that it was given to. So the formula is brought into
a form in which every filter that compares with something below a ``+`` compares it with one event
outside: then "for all iterations" is exactly what the universal extension says.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, combinations, count
from typing import TypeAlias

from cerlab.budget import TRANSITION, spend, step_budget
from cerlab.errors import Unsupported
from cerlab.logic.cel import syntax as cel
from cerlab.logic.focel.rewrite import NOTHING
from cerlab.logic.focel.scope import vdef, vdef_plus, with_variables
from cerlab.predicates.condition import Atomic, Correlation, LabelAttribute, On, labels_of


@dataclass(frozen=True, slots=True)
class Binding:
    """``atom AS x``."""

    atom: cel.Atom
    x: str


@dataclass(frozen=True, slots=True)
class Iteration:
    """One or more iterations, each of one of the disjuncts."""

    disjuncts: tuple[Disjunct, ...]


Item: TypeAlias = Binding | Iteration


@dataclass(frozen=True, slots=True)
class Disjunct:
    """A sequence of items under some filters: a formula without OR outside its iterations."""

    items: tuple[Item, ...]
    filters: frozenset[Atomic] = frozenset()

    @property
    def own(self) -> frozenset[str]:
        """The variables that its own atoms bind."""
        return frozenset(item.x for item in self.items if isinstance(item, Binding))


def binary_fo_to_so(phi: cel.Formula) -> cel.Formula:
    """An SO-CEL formula with the same complex events as a scoped well-formed FO-CEL one.

    At most exponentially larger. Raises `Unsupported` for filters over three variables and more,
    where it is impossible in general (SOCEL Thm. 4).

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> print(binary_fo_to_so(parse_cel("A AS x ; (B AS y FILTER y.v = x.v)+")[0]))
    A AS x ; B AS y_2+ FILTER y_2.v = x.v
    """
    return labelled_binary_fo_to_so(phi)[0]


@step_budget("the translation of the formula")
def labelled_binary_fo_to_so(phi: cel.Formula) -> tuple[cel.Formula, dict[str, str]]:
    """The same with the variable that each label stands for, on some of its events; not of types.

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
    """Gives out names that nothing has yet; `origins` has the name for which each was asked."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = set(names)
        self._numbers: dict[str, Iterator[int]] = {}
        self.origins: dict[str, str] = {}

    def fresh(self, name: str) -> str:
        """The name itself if it is free, else the first of ``name_2``, ``name_3``, .. that is."""
        variants = (f"{name}_{n}" for n in self._numbers.setdefault(name, count(2)))
        free = next(each for each in chain((name,), variants) if each not in self._names)
        self._names.add(free)
        self.origins[free] = name
        return free

    def origin(self, name: str) -> str:
        """The name for which this one was given out, or that one, and so on: the first of them."""
        while (before := self.origins.get(name, name)) != name:
            name = before
        return name


# -- 1. Disjuncts, with a variable of its own for each atom below a + --------------------------


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
        case cel.Plus(body):
            renaming = {x: variables.fresh(x) for x in sorted(vdef_plus(body))}
            inside = _disjuncts(_rename_variables(body, renaming), variables)
            return [Disjunct((Iteration(tuple(inside)),))] if inside else []
        case _:
            raise Unsupported(
                "CER0407",
                "only filters over one or two variables are translated",
                hint='logic="fo" with evaluator="reference" takes it, on small streams',
            )


def _rename_variables(phi: cel.Formula, names: Mapping[str, str]) -> cel.Formula:
    """Other names for variables, except where a ``+`` inside rebinds them."""
    match phi:
        case cel.As(atom, x):
            return cel.As(atom, names.get(x, x))
        case cel.Filter(body, condition):
            return cel.Filter(_rename_variables(body, names), _condition(condition, names))
        case cel.Plus(body):
            rebound = vdef_plus(body)
            return cel.Plus(
                _rename_variables(body, {x: y for x, y in names.items() if x not in rebound})
            )
        case _:
            return cel.map_children(lambda psi: _rename_variables(psi, names), phi)


def _condition(condition: object, names: Mapping[str, str]) -> On | Correlation:
    match condition:
        case On(x, P):
            return On(names.get(x, x), P)
        case Correlation(op, left, right):
            here, there = (
                LabelAttribute(names.get(s.label, s.label), s.attribute) for s in (left, right)
            )
            return Correlation(op, here, there)
        case _:
            raise Unsupported(
                "CER0407",
                "only filters over one or two variables are translated",
                hint='logic="fo" with evaluator="reference" takes it, on small streams',
            )


# -- 2. Filters below a + that say nothing of the iteration, moved out of it --------------------


def _hoist(D: Disjunct) -> list[Disjunct]:
    """The same as an OR, where every filter below a ``+`` has a variable of its iteration."""
    disjuncts = [Disjunct((), D.filters)]
    for item in D.items:
        ways = [(item, frozenset[Atomic]())] if isinstance(item, Binding) else _ways(item)
        disjuncts = _affordable(
            Disjunct((*E.items, way), E.filters | demand) for E in disjuncts for way, demand in ways
        )
    return disjuncts


def _ways(item: Iteration) -> list[tuple[Item, frozenset[Atomic]]]:
    """An iteration, for each choice of demands on the outside: the rest of it, and the demand.

    A demand allows the disjuncts that need no more than it; those whose own need it is.
    """
    inside = [E for D in item.disjuncts for E in _hoist(D)]
    needs = [frozenset(f for f in E.filters if not labels_of(f) & E.own) for E in inside]
    distinct = list(dict.fromkeys(needs))
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
                )
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


# -- 3. A label for each atom of each disjunct, and filters where both labels are known ---------


def _label_atoms(
    D: Disjunct, outer: Mapping[str, str], labels: Names
) -> tuple[cel.Formula, list[On | Correlation]]:
    """A disjunct as a formula, and the filters that are to stand around it.

    `outer` has the labels of the variables around it; a filter that uses one of them waits for the
    disjunct that owns it.
    """
    own = {x: labels.fresh(x) for x in sorted(D.own)}
    label_of = {**outer, **own}
    parts: list[cel.Formula] = []
    filters = [_condition(f, label_of) for f in sorted(D.filters, key=repr)]
    for item in D.items:
        if isinstance(item, Binding):
            parts.append(cel.As(item.atom, own[item.x]))
            continue
        inside = [_label_atoms(E, label_of, labels) for E in item.disjuncts]
        parts.append(cel.Plus(reduce(cel.Or, [phi for phi, _ in inside])))
        filters += [f for _, waiting in inside for f in waiting]
    outside = frozenset(outer.values())
    here = [f for f in filters if not labels_of(f) & outside]
    waiting = [f for f in filters if labels_of(f) & outside]
    return reduce(cel.Filter, here, reduce(cel.Seq, parts)), waiting
