"""Generalised conjunctive queries, one dataclass per production (DQE Def. 1).

A variable is an attribute of the joined tuple, so a predicate is a `Comparison` of
`cerlab.predicates.syntax` in which `Attribute` names a variable.
"""

from __future__ import annotations

from dataclasses import dataclass

from cerlab.display import drawable
from cerlab.predicates.syntax import Comparison


@drawable
@dataclass(frozen=True, slots=True)
class Atom:
    """``relation(x, y)``: a tuple of the relation, with a variable for each of its columns.

    Columns are told apart by place, so a relation may stand in several atoms, and a variable
    twice in one (both columns then hold its value); in the paper's atoms neither happens. A
    constant is no variable: ``r(x, 3)`` is written ``r(x, v) | v = 3``.
    """

    relation: str
    variables: tuple[str, ...]


@drawable
@dataclass(frozen=True, slots=True)
class Gcq:
    """``head <- atom, .. | predicate, ..``: project the join of the atoms that the predicates keep.

    The head is a set of variables, written in the order of the answers' columns. Without one the
    query is boolean: its answers are ``{()}`` for yes and ``{}`` for no.
    """

    head: tuple[str, ...]
    atoms: tuple[Atom, ...]
    predicates: tuple[Comparison, ...] = ()
