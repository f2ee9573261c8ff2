"""Generalised conjunctive queries: syntax, checks, texts, meaning under updates (DQE Def. 1).

A variable is an attribute of the joined tuple, so a predicate is a `Comparison` of
`cerlab.predicates.syntax` in which `Attribute` names a variable. The meaning is the join,
recomputed from scratch. The domain of values is numbers (except NaN), texts and moments, with the
equality of values of events: 1 and 1.0 are one value. NULL, NaN and truth values are in no tuple.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain, pairwise, product
from math import prod
from typing import Any, TypeAlias

from lark import Token, v_args
from lark.tree import Meta

from cerlab import display
from cerlab.budget import spend_over
from cerlab.display import drawable, short_repr
from cerlab.errors import BadData, IllFormed, ResourceLimit, SourcePlace, nearest
from cerlab.logic.ceql.condition_builder import node
from cerlab.logic.ceql.parser import Builder
from cerlab.logic.parsing import Language, build, read, value
from cerlab.model.event import Value
from cerlab.predicates import syntax as pred
from cerlab.predicates.syntax import Attribute, Comparison, Constant, Leaf, leaves_of
from cerlab.predicates.text import name_text, predicate_text
from cerlab.predicates.truth import compare, compute, kind_of

__all__ = [
    "Atom",
    "Delete",
    "Gcq",
    "Insert",
    "answers",
    "answers_after_each",
    "atom_text",
    "check_gcq",
    "database",
    "gcq_text",
    "parse_gcq",
]


@drawable
@dataclass(frozen=True, slots=True)
class Atom:
    """An atom ``relation(x, y)``: a variable for each column of a relation.

    Columns are identified by position, so a relation may occur in several atoms, and a variable
    twice in one (both columns then hold its value); in the paper's atoms neither happens. A
    constant is not a variable: write ``r(x, 3)`` as ``r(x, v) | v = 3``.
    """

    relation: str
    variables: tuple[str, ...]


@short_repr
@drawable
@dataclass(frozen=True, slots=True)
class Gcq:
    """A query ``head <- atom, .. | predicate, ..``: a join, filtered and projected to its head.

    The head is a set of variables, written in the order of the answers' columns. Without a head the
    query is boolean: its answers are ``{()}`` for yes and ``{}`` for no.
    """

    head: tuple[str, ...]
    atoms: tuple[Atom, ...]
    predicates: tuple[Comparison, ...] = ()


PlaceOf = Callable[[object], SourcePlace | None]
"""Return the place of the query, an atom, a part of a predicate, or a column of the head."""


def check_gcq(query: Gcq, place: PlaceOf = lambda part: None) -> None:
    """Raise `IllFormed` unless a query is valid (DQE Def. 1).

    A query needs an atom; all atoms of a relation need the same number of columns; the head is a
    set; the head and the predicates may only use variables that an atom binds; constants are
    numbers and texts.
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
                f"the head is a set, but '{x}' occurs twice in it",
                place=place(column),
                hint="remove one of the two",
            )
    for part in _operands(query):
        if isinstance(part, Attribute) and part.name not in bound:
            x = part.name
            raise _unbound("CER0263", f"a predicate uses '{x}'", x, bound, place(part))
        if isinstance(part, Constant) and kind_of(part.value) not in ("number", "text"):
            raise IllFormed(
                "CER0265", f"{part.value!r} is neither number nor text", hint="use numbers and text"
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


def _operands(query: Gcq) -> Iterator[Leaf]:
    """Yield the variables and constants of the predicates, from left to right."""
    for P in query.predicates:
        yield from leaves_of(P.left)
        yield from leaves_of(P.right)


def gcq_text(query: Gcq) -> str:
    """Return the canonical text of a query.

    >>> gcq_text(Gcq(("x",), (Atom("r", ("x", "y")), Atom("s", ()))))
    'x <- r(x, y), s()'
    """
    head = ", ".join(map(name_text, query.head))
    atoms = ", ".join(map(atom_text, query.atoms))
    predicates = ", ".join(map(predicate_text, query.predicates))
    return f"{head} <- {atoms}".lstrip() + (f" | {predicates}" if predicates else "")


def atom_text(atom: Atom) -> str:
    """Return the text of an atom, such as ``r(x, y)``."""
    return f"{name_text(atom.relation)}({', '.join(map(name_text, atom.variables))})"


display.register(Atom, "text/plain", atom_text)


display.register(Gcq, "text/plain", gcq_text)


def parse_gcq(text: str) -> Gcq:
    """Return the conjunctive query ``head <- atoms | predicates`` in a text (DQE Def. 1).

    Args:
        text: The query; the head and the predicates may be absent.

    Raises:
        QuerySyntaxError: The text is not a query.
        IllFormed: The query is invalid, such as by an unbound variable (see `check_gcq`).
        ResourceLimit: The text is too long or too deep.

    >>> print(parse_gcq("y, ts3 <- r(x, ts1), s(x, y, ts2), t(y, ts3) | ts1 < ts2 < ts3"))
    y, ts3 <- r(x, ts1), s(x, y, ts2), t(y, ts3) | ts1 < ts2, ts2 < ts3
    >>> print(parse_gcq("<- r(x)"))
    <- r(x)
    """
    builder = _GcqBuilder(text)
    too_deep = "write several predicates, with commas between them"
    query: Gcq = build(builder, read(_GCQ, text, "gcq"), too_deep=too_deep)
    check_gcq(query, builder.place_of)
    return query


@v_args(meta=True)
class _GcqBuilder(Builder):
    """A builder of conjunctive queries, which uses CEQL's rules for names and expressions."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._columns: list[SourcePlace] = []

    def place_of(self, part: object) -> SourcePlace | None:
        """Return the place in the text of a node, or of a column of the head."""
        if isinstance(part, int):
            return self._columns[part]
        return super().place_of(part)

    def head_variable(self, meta: Meta, children: list[Token]) -> str:
        """Build a variable in the head of the query."""
        self._columns.append(self.place(meta))
        return self.name(meta, children)

    head = body = value(lambda *parts: tuple(part for part in parts if part is not None))
    predicates = value(lambda *chains: tuple(chain.from_iterable(chains)))

    def atom(self, meta: Meta, children: list[str | None]) -> Atom:
        """Build an atom ``r(x, y)`` of the body."""
        relation, *variables = children
        assert relation is not None
        return self._record(meta, Atom(relation, tuple(x for x in variables if x is not None)))

    def chain(self, meta: Meta, children: list[Any]) -> tuple[Comparison, ...]:
        """Build the predicates of ``a < b <= c``, one for each sign."""
        sides, signs = children[::2], children[1::2]
        return tuple(
            self._record(meta, Comparison(sign, left, right), left, right)
            for sign, (left, right) in zip(signs, pairwise(sides), strict=True)
        )

    gcq = node(lambda head, atoms, predicates: Gcq(head, atoms, predicates or ()))


def _hint(text: str, at: int, expected: tuple[str, ...]) -> str:
    """Return the hint for a constant inside an atom."""
    is_constant = at < len(text) and text[at] in "0123456789.-'\""
    if is_constant and expected and set(expected) <= {"a name", "')'"}:
        return "only variables are allowed here; write r(x, v) | v = 3 for r(x, 3)"
    return ""


_GCQ = Language("cerlab.logic.gcq", ("gcq",), noun="query", hint=_hint)

MAX_COMBINATIONS = 1_000_000
"""The limit on combinations of tuples that the reference examines, which takes about 5 s."""

Row: TypeAlias = tuple[Value, ...]
"""A tuple of a relation, or an answer."""

Database: TypeAlias = Mapping[str, Set[Row]]
"""A set of tuples for each relation; a relation without an entry is empty."""


@dataclass(frozen=True, slots=True)
class Insert:
    """An insertion ``(t, +)``, which adds tuple t to a relation (DQE Sec. 2)."""

    relation: str
    row: Row


@dataclass(frozen=True, slots=True)
class Delete:
    """A deletion ``(t, -)``, which removes tuple t from a relation (DQE Sec. 2)."""

    relation: str
    row: Row


Update: TypeAlias = Insert | Delete


def database(S: Iterable[Update]) -> dict[str, frozenset[Row]]:
    """Return ``S[1..i]``: the tuples whose last update is an insertion (DQE Sec. 2).

    So a tuple inserted twice is present once, and one deletion removes it. Raise `BadData` for a
    value outside the domain.

    >>> database([Insert("r", (1,)), Insert("r", (2,)), Insert("r", (1,)), Delete("r", (1,))])
    {'r': frozenset({(2,)})}
    """
    last: dict[tuple[str, Row], Update] = {}
    for update in S:
        _check_row(update.relation, update.row)
        last[update.relation, update.row] = update
    D: dict[str, frozenset[Row]] = {}
    for (relation, row), update in last.items():
        if isinstance(update, Insert):
            D[relation] = D.get(relation, frozenset()) | {row}
    return D


def answers(Q: Gcq, D: Database) -> frozenset[Row]:
    """Return ``Q(D)``: join the atoms, filter by the predicates, project to the head (DQE Def. 1).

    Raise `IllFormed` for an invalid query, `BadData` for a tuple with too many or too few columns
    or a value outside the domain, `ResourceLimit` above `MAX_COMBINATIONS`.

    >>> from cerlab.logic.gcq import parse_gcq
    >>> D = {"r": {(1, 10), (2, 20)}, "s": {(10, "a"), (10, "b"), (30, "c")}}
    >>> sorted(answers(parse_gcq("x, z <- r(x, y), s(y, z) | y - x > 5"), D))
    [(1, 'a'), (1, 'b')]
    """
    check_gcq(Q)
    relations = [_relation(atom, D) for atom in Q.atoms]
    if prod(map(len, relations)) > MAX_COMBINATIONS:
        raise ResourceLimit(
            "CER0660",
            f"the reference joins up to {MAX_COMBINATIONS:,} combinations of tuples",
            hint="use fewer tuples, or the maintained query of cerlab.engine.reference.dqe",
        )
    result = set()
    for rows in spend_over(product(*relations)):
        t = _join(Q.atoms, rows)
        if t is not None and all(_holds(P, t) for P in Q.predicates):
            result.add(tuple(t[x] for x in Q.head))
    return frozenset(result)


def answers_after_each(Q: Gcq, S: Iterable[Update]) -> Iterator[frozenset[Row]]:
    """Yield ``Q(S[1..i])`` for i = 1, 2, .., each computed from scratch (DQE Sec. 2).

    Raise as `answers`.

    >>> from cerlab.logic.gcq import parse_gcq
    >>> S = [Insert("r", (1,)), Insert("s", (1,)), Delete("r", (1,))]
    >>> [set(found) for found in answers_after_each(parse_gcq("x <- r(x), s(x)"), S)]
    [set(), {(1,)}, set()]
    """
    updates: list[Update] = []
    for update in S:
        updates.append(update)
        yield answers(Q, database(updates))


def _join(atoms: Sequence[Atom], rows: Sequence[Row]) -> dict[str, Value] | None:
    """Return the values of all variables in a row of each atom; None if two rows disagree."""
    t: dict[str, Value] = {}
    for atom, row in zip(atoms, rows, strict=True):
        for x, v in zip(atom.variables, row, strict=True):
            if t.setdefault(x, v) != v:
                return None
    return t


def _holds(P: pred.Comparison, t: Mapping[str, Value]) -> bool:
    """Return whether a tuple satisfies a predicate; False for values that do not compare."""
    return compare(P.operator, _value(P.left, t), _value(P.right, t))


def _value(expression: pred.Expression, t: Mapping[str, Value]) -> Value:
    """Return the value of an expression; None if undefined."""
    match expression:
        case pred.Constant(value):
            return value
        case pred.Attribute(x):
            return t[x]
        case pred.Computed(op, left, right):
            return compute(op, _value(left, t), _value(right, t))
        case pred.Negated(operand):
            return compute(pred.Arithmetic.SUB, 0, _value(operand, t))
        case _:
            raise AssertionError("predicates read only one tuple")


def _relation(atom: Atom, D: Database) -> Set[Row]:
    rows = D.get(atom.relation, frozenset())
    for row in rows:
        _check_row(atom.relation, row)
        if len(row) != len(atom.variables):
            raise BadData(
                "CER0761",
                f"{row} has {len(row)} columns, '{atom.relation}' has {len(atom.variables)}",
                hint="the last column is the timestamp",
            )
    return rows


def _check_row(relation: str, row: Row) -> None:
    for v in row:
        if kind_of(v) not in ("number", "text", "timestamp"):
            raise BadData(
                "CER0760",
                f"{row} of '{relation}' holds {v!r}, which is not a value of a relation",
                hint="use numbers, text or timestamps",
            )
