"""The conditions that Definition 1 puts on a query (DQE Def. 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cerlab.errors import IllFormed, SourcePlace, nearest
from cerlab.logic.gcq.syntax import Atom, Gcq
from cerlab.predicates.mentions import leaves_of
from cerlab.predicates.syntax import Attribute, Constant
from cerlab.predicates.truth import kind_of

PlaceOf = Callable[[object], SourcePlace | None]
"""Where the query, an atom, a part of a predicate, or a column of the head (its number) stands."""


def check_gcq(query: Gcq, place: PlaceOf = lambda part: None) -> None:
    """Raise `IllFormed` unless the query is one (DQE Def. 1).

    It needs an atom; all atoms of a relation need as many columns; the head is a set, and it and
    the predicates may use only variables that an atom binds; constants are numbers and texts.
    """
    if not query.atoms:
        raise IllFormed(
            "CER0260",
            "a query joins one atom or more (DQE Def. 1)",
            place=place(query),
            hint="write an atom after <-, as in x <- r(x, ts1)",
        )
    _check_arities(query, place)
    bound = {x for atom in query.atoms for x in atom.variables}
    for column, x in enumerate(query.head):
        if x not in bound:
            raise _unbound("CER0262", f"the head has '{x}'", x, bound, place(column))
        if x in query.head[:column]:
            raise IllFormed(
                "CER0264",
                f"the head is a set, but '{x}' stands twice in it",
                place=place(column),
                hint="leave one of the two out",
            )
    for part in _operands(query):
        if isinstance(part, Attribute) and part.name not in bound:
            x = part.name
            raise _unbound("CER0263", f"a predicate uses '{x}'", x, bound, place(part))
        if isinstance(part, Constant) and kind_of(part.value) not in ("number", "text"):
            raise IllFormed(
                "CER0265", f"{part.value!r} is no number and no text", hint="use numbers and text"
            )


def _check_arities(query: Gcq, place: PlaceOf) -> None:
    first: dict[str, Atom] = {}
    for atom in query.atoms:
        before, here = len(first.setdefault(atom.relation, atom).variables), len(atom.variables)
        if before != here:
            raise IllFormed(
                "CER0261",
                f"'{atom.relation}' is used with {before} and with {here} variables (DQE Def. 1)",
                place=place(atom),
                hint="a relation has one schema; name the columns you do not need too",
            )


def _unbound(code: str, use: str, x: str, bound: set[str], place: SourcePlace | None) -> IllFormed:
    return IllFormed(
        code, f"{use}, which no atom binds (DQE Def. 1)", place=place, hint=nearest(x, bound)
    )


def _operands(query: Gcq) -> Iterator[Attribute | Constant]:
    """The variables and constants of the predicates, from left to right."""
    for P in query.predicates:
        yield from leaves_of(P.left)
        yield from leaves_of(P.right)
