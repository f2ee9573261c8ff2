"""Text to generalised conjunctive queries, with errors that show where and what was expected."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, NoReturn

from lark import Lark, Token, Tree, v_args
from lark.exceptions import LarkError, UnexpectedInput, VisitError
from lark.tree import Meta

from cerlab.errors import CerlabError, QuerySyntaxError, ResourceLimit, SourcePlace, Span
from cerlab.logic.ceql.builder import Builder
from cerlab.logic.ceql.parser import MAX_CHARACTERS
from cerlab.logic.gcq.check import check_gcq
from cerlab.logic.gcq.syntax import Atom, Gcq
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
    if len(text) > MAX_CHARACTERS:
        raise ResourceLimit(
            "CER0601",
            f"the query has {len(text):,} characters, more than {MAX_CHARACTERS:,}",
        )
    try:
        tree = _lark().parse(text)
    except UnexpectedInput as error:
        _explain(text, error)
    builder = _GcqBuilder(text)
    query = _build(builder, tree)
    check_gcq(query, builder.place_of)
    return query


def _build(builder: _GcqBuilder, tree: Tree[Token]) -> Gcq:
    try:
        query = builder.transform(tree)
    except VisitError as error:  # lark wraps what the builder raises
        cause = error.orig_exc
        if isinstance(cause, ResourceLimit):
            cause.hint = "write several predicates, with commas between them"
        if isinstance(cause, CerlabError):
            raise cause from None
        raise
    assert isinstance(query, Gcq)
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
        span = self.spans.get(id(part))
        return SourcePlace(self.text, span) if span else None

    def head_variable(self, meta: Meta, children: list[Token]) -> str:
        """A variable of the head."""
        self._columns.append(self.place(meta))
        return self.name(meta, children)

    def head(self, meta: Meta, children: list[str | None]) -> tuple[str, ...]:
        """``x, y``, or nothing."""
        return tuple(x for x in children if x is not None)

    def atom(self, meta: Meta, children: list[str | None]) -> Atom:
        """``r(x, y)``."""
        relation, *variables = children
        assert relation is not None
        return self._made(meta, Atom(relation, tuple(x for x in variables if x is not None)))

    def body(self, meta: Meta, children: list[Atom | None]) -> tuple[Atom, ...]:
        """``atom, ..``."""
        return tuple(atom for atom in children if atom is not None)

    def chain(self, meta: Meta, children: list[Any]) -> tuple[Comparison, ...]:
        """``a < b <= c``: one predicate for each sign."""
        sides, signs = children[::2], children[1::2]
        return tuple(
            self._made(meta, Comparison(sign, left, right), left, right)
            for sign, (left, right) in zip(signs, pairwise(sides), strict=True)
        )

    def predicates(
        self, meta: Meta, children: list[tuple[Comparison, ...]]
    ) -> tuple[Comparison, ...]:
        """``predicate, ..``."""
        return tuple(P for chain in children for P in chain)

    def gcq(self, meta: Meta, children: list[Any]) -> Gcq:
        """The whole query."""
        head, atoms, predicates = children
        return self._made(meta, Gcq(head, atoms, predicates or ()))


@cache
def _lark() -> Lark:
    grammar = files("cerlab.logic.gcq").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start="gcq",
        propagate_positions=True,
        maybe_placeholders=True,
    )


def _explain(text: str, error: UnexpectedInput) -> NoReturn:
    """Turn the parser's error into ours: place, what stands there, what could stand there."""
    token = getattr(error, "token", None)
    at = error.pos_in_stream
    if at is None or (token is not None and token.type == "$END"):
        at, length = len(text.rstrip()), 1
        found = "the text ends too early" if text.strip() else "the text is empty"
    elif token is not None:
        length, found = len(token), f"unexpected '{token}'"
    else:
        length, found = 1, f"unexpected character {text[at]!r}"
    expected = _expected_after(text[:at])
    is_constant = at < len(text) and text[at] in "0123456789.-'\""
    hint = "only variables stand here; write r(x, v) | v = 3 for r(x, 3)"
    raise QuerySyntaxError(
        "CER0101",
        found,
        place=_place(text, at, length),
        expected=expected,
        hint=hint if is_constant and expected and set(expected) <= {"a name", "')'"} else "",
    ) from None


def _place(text: str, at: int, length: int) -> SourcePlace:
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return SourcePlace(text, Span(line, column, line, column + length))


_WORDS = {
    "NAME": "a name",
    "QUOTED_NAME": "a name",
    "INT": "a number",
    "FLOAT": "a number",
    "TEXT": "a text in quotes",
    "$END": "the end",
}


def _expected_after(prefix: str) -> tuple[str, ...]:
    """What could follow a prefix that the parser has accepted, words before signs."""
    parser = _lark().parse_interactive(prefix)
    try:
        parser.exhaust_lexer()
    except LarkError:  # the cut changed how the prefix is read; say nothing rather than guess
        return ()
    signs = {terminal.name: f"'{terminal.pattern.value}'" for terminal in _lark().terminals}
    accepted = parser.accepts()  # type: ignore[no-untyped-call]  # lark leaves it untyped
    words = {_WORDS.get(name) or signs[name] for name in accepted}
    return tuple(sorted(words, key=lambda word: (word.startswith("'"), word)))
