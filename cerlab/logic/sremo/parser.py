"""Text to expressions, with errors that show where and what was expected (DESIGN 2.5)."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import NoReturn

from lark import Lark, Token, Tree
from lark.exceptions import LarkError, UnexpectedInput, VisitError

from cerlab.errors import CerlabError, QuerySyntaxError, ResourceLimit, SourcePlace, Span
from cerlab.logic.ceql.parser import MAX_CHARACTERS
from cerlab.logic.sremo.builder import SremoBuilder
from cerlab.logic.sremo.check import check_sremo
from cerlab.logic.sremo.syntax import Sremo


def parse_sremo(text: str) -> Sremo:
    """Read an expression (SRT Def. 15; DESIGN 2.5).

    Raises `QuerySyntaxError`, `IllFormed` (see `check_sremo`), and `ResourceLimit` for a text that
    is too long or too deep.

    >>> print(parse_sremo("<type='B'>^->r1 . <true>* . <type='S' and id=r1.id>^"))
    <type = 'B'>^ -> r1 . <TRUE>* . <type = 'S' AND id = r1.id>^
    """
    if len(text) > MAX_CHARACTERS:
        raise ResourceLimit(
            "CER0601",
            f"the expression has {len(text):,} characters, more than {MAX_CHARACTERS:,}",
        )
    try:
        tree = _lark().parse(text)
    except UnexpectedInput as error:
        _explain(text, error)
    builder = SremoBuilder(text)
    e = _build(builder, tree)
    check_sremo(e, builder.place_of)
    return e


def _build(builder: SremoBuilder, tree: Tree[Token]) -> Sremo:
    try:
        e: Sremo = builder.transform(tree)
    except VisitError as error:  # lark wraps what the builder raises
        cause = error.orig_exc
        if isinstance(cause, ResourceLimit):
            cause.hint = ""
        if isinstance(cause, CerlabError):
            raise cause from None
        raise
    return e


@cache
def _lark() -> Lark:
    grammar = files("cerlab.logic.sremo").joinpath("grammar.lark").read_text(encoding="utf-8")
    return Lark(
        grammar,
        parser="lalr",
        lexer="contextual",
        start="alternation",
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
    raise QuerySyntaxError(
        "CER0101",
        found,
        place=_place(text, at, length),
        expected=_expected_after(text[:at]),
        hint=_hint(text[at:]),
    ) from None


def _place(text: str, at: int, length: int) -> SourcePlace:
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return SourcePlace(text, Span(line, column, line, column + length))


def _hint(rest: str) -> str:
    """What those mean who write a sequence as in CEL, or a type as an expression."""
    if rest.startswith(";"):
        return "'.' is the sequence without gaps, #(e, e) the one with gaps"
    if rest[:1].isalpha():
        return "an event of type A is <type = 'A'>, or <type = 'A'>^ to mark it"
    return ""


_WORDS = {
    "NAME": "a name",
    "QUOTED_NAME": "a name",
    "INT": "a number",
    "FLOAT": "a number",
    "TEXT": "a text in quotes",
    "ONE": "'1'",
    "$END": "the end",
}


def _expected_after(prefix: str) -> tuple[str, ...]:
    """What could follow a prefix that the parser has accepted: words, keywords, signs."""
    parser = _lark().parse_interactive(prefix)
    try:
        parser.exhaust_lexer()
    except LarkError:  # the cut changed how the prefix is read; say nothing rather than guess
        return ()
    accepted = parser.accepts()  # type: ignore[no-untyped-call]  # lark leaves it untyped
    written = {terminal.name: terminal.pattern.value for terminal in _lark().terminals}
    words = {
        _WORDS.get(name) or (w if (w := written[name]).isalpha() else f"'{w}'") for name in accepted
    }
    return tuple(sorted(words, key=lambda word: (not word.startswith("a "), word)))
