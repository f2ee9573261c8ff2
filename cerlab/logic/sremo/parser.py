"""Text to expressions, with errors that show where and what was expected (DESIGN 2.5)."""

from __future__ import annotations

from cerlab.logic.reading import Language, build, read
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
    builder = SremoBuilder(text)
    e: Sremo = build(builder, read(_SREMO, text, "alternation"), too_deep="")
    check_sremo(e, builder.place_of)
    return e


def _hint(text: str, at: int, expected: tuple[str, ...]) -> str:
    """What those mean who write a sequence as in CEL, or a type as an expression."""
    if text.startswith(";", at):
        return "'.' is the sequence without gaps, #(e, e) the one with gaps"
    if text[at : at + 1].isalpha():
        return "an event of type A is <type = 'A'>, or <type = 'A'>^ to mark it"
    return ""


_SREMO = Language(
    "cerlab.logic.sremo", ("alternation",), noun="expression", hint=_hint, words={"ONE": "'1'"}
)
