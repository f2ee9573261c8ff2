"""Queries with normalised label names, which complex events do not contain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula, map_children, subformulas
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Application, Atomic, Correlation, On, SetOf, with_atomics


def with_plain_labels(query: CeqlQuery) -> CeqlQuery:
    """Return the query with its own labels replaced by numbers, in order of appearance.

    Complex events have no labels, so queries that become equal have equal answers. A label that is
    an event type keeps its name, since events set it; so does a label that is never set.

    >>> from cerlab.logic.ceql.parser import parse_ceql
    >>> read = lambda text: with_plain_labels(parse_ceql(text)[0])
    >>> left, right = "A AS x ; B AS y FILTER x.v < y.v", "A AS y ; B AS x FILTER y.v < x.v"
    >>> read(f"SELECT * WHERE {left}") == read(f"SELECT * WHERE {right}")
    True
    """
    names: dict[str, str] = {}
    types = {psi.type for psi in subformulas(query.formula) if isinstance(psi, cel.Atom)}
    for psi in subformulas(query.formula):
        own = psi.label if isinstance(psi, cel.As) else None
        own = psi.new if isinstance(psi, cel.Rename) else own
        if own is not None and own not in types:
            names.setdefault(own, f"#{len(names)}")  # names in a text never begin with #

    def plain(label: str) -> str:
        return names.get(label, label)

    items = query.items and tuple(replace(item, label=plain(item.label)) for item in query.items)
    return replace(query, formula=relabelled(query.formula, plain), items=items)


def relabelled(phi: Formula, name: Callable[[str], str]) -> Formula:
    """Return the formula with labels renamed by the function `name`."""
    phi = map_children(lambda psi: relabelled(psi, name), phi)
    match phi:
        case cel.As(_, label):
            return replace(phi, label=name(label))
        case cel.Rename(old, new, _):
            return replace(phi, old=name(old), new=name(new))
        case cel.Project(labels, _, of_streams):
            pairs = frozenset((stream, name(label)) for stream, label in of_streams)
            return replace(phi, labels=frozenset(map(name, labels)), of_streams=pairs)
        case cel.Filter(_, condition):
            return replace(phi, condition=with_atomics(condition, lambda C: _relabelled(C, name)))
        case _:
            return phi


def _relabelled(condition: Atomic, name: Callable[[str], str]) -> Atomic:
    def leaf(x: pred.Leaf) -> pred.Leaf:
        own = pred.LabelAttribute | pred.OfGroup | pred.Previous
        return replace(x, label=name(x.label)) if isinstance(x, own) else x

    match condition:
        case On(label, _):
            return replace(condition, label=name(label))
        case Correlation(_, left, right):
            left, right = (pred.with_leaves(side, leaf) for side in (left, right))
            return replace(condition, left=left, right=right)
        case Application(_, arguments):
            sets = (
                replace(x, label=name(x.label)) if isinstance(x, SetOf) else x for x in arguments
            )
            return replace(condition, arguments=tuple(sets))
