"""Text to generalised conjunctive queries, with errors that show where and what was expected."""

from __future__ import annotations

from itertools import chain, pairwise
from typing import Any

from lark import Token, v_args
from lark.tree import Meta

from cerlab.errors import SourcePlace
from cerlab.logic.ceql.builder import Builder
from cerlab.logic.ceql.condition_builder import node
from cerlab.logic.gcq.check import check_gcq
from cerlab.logic.gcq.syntax import Atom, Gcq
from cerlab.logic.reading import Language, build, read, value
from cerlab.predicates.syntax import Comparison


def parse_gcq(text: str) -> Gcq:
    """Read a generalised conjunctive query, ``head <- atoms | predicates`` (DQE Def. 1).

    >>> print(parse_gcq("y, ts3 <- r(x, ts1), s(x, y, ts2), t(y, ts3) | ts1 < ts2 < ts3"))
    y, ts3 <- r(x, ts1), s(x, y, ts2), t(y, ts3) | ts1 < ts2, ts2 < ts3
    >>> print(parse_gcq("<- r(x)"))
    <- r(x)

    Raises `QuerySyntaxError`, `IllFormed` (see `check_gcq`), and `ResourceLimit` for a text that
    is too long or too deep.
    """
    builder = _GcqBuilder(text)
    too_deep = "write several predicates, with commas between them"
    query: Gcq = build(builder, read(_GCQ, text, "gcq"), too_deep=too_deep)
    check_gcq(query, builder.place_of)
    return query


@v_args(meta=True)
class _GcqBuilder(Builder):
    """CEQL's builder, which knows names and expressions, with the rules of queries."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._columns: list[SourcePlace] = []

    def place_of(self, part: object) -> SourcePlace | None:
        """The place of a node, or of a column of the head."""
        if isinstance(part, int):
            return self._columns[part]
        return super().place_of(part)

    def head_variable(self, meta: Meta, children: list[Token]) -> str:
        """A variable of the head."""
        self._columns.append(self.place(meta))
        return self.name(meta, children)

    head = body = value(lambda *parts: tuple(part for part in parts if part is not None))
    predicates = value(lambda *chains: tuple(chain.from_iterable(chains)))

    def atom(self, meta: Meta, children: list[str | None]) -> Atom:
        """``r(x, y)``."""
        relation, *variables = children
        assert relation is not None
        return self._record(meta, Atom(relation, tuple(x for x in variables if x is not None)))

    def chain(self, meta: Meta, children: list[Any]) -> tuple[Comparison, ...]:
        """``a < b <= c``: one predicate for each sign."""
        sides, signs = children[::2], children[1::2]
        return tuple(
            self._record(meta, Comparison(sign, left, right), left, right)
            for sign, (left, right) in zip(signs, pairwise(sides), strict=True)
        )

    gcq = node(lambda head, atoms, predicates: Gcq(head, atoms, predicates or ()))


def _hint(text: str, at: int, expected: tuple[str, ...]) -> str:
    """What those mean who write a constant into an atom."""
    is_constant = at < len(text) and text[at] in "0123456789.-'\""
    if is_constant and expected and set(expected) <= {"a name", "')'"}:
        return "only variables stand here; write r(x, v) | v = 3 for r(x, 3)"
    return ""


_GCQ = Language("cerlab.logic.gcq", ("gcq",), noun="query", hint=_hint)
