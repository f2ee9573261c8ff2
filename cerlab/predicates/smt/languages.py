"""Regular languages of z3: the texts that a LIKE finds, and intervals in the order of texts."""

from __future__ import annotations

import string
from collections.abc import Iterable, Sequence
from typing import Any, assert_never

import z3

from cerlab.predicates import like


def literal(text: str, context: Any) -> Any:
    """A text constant of z3 (its own reader takes ``\\u{..}`` for an escape)."""
    plain = string.ascii_letters + string.digits
    return z3.StringVal("".join(c if c in plain else f"\\u{{{ord(c):x}}}" for c in text), context)


def characters(ranges: like.Ranges, context: Any) -> Any:
    """The texts of one character of some ranges."""
    parts = [z3.Range(literal(chr(a), context), literal(chr(b), context)) for a, b in ranges]
    return z3.Union(*parts) if parts else z3.Empty(z3.ReSort(z3.StringSort(context)))


def every_text(context: Any) -> Any:
    """All texts."""
    return z3.Star(characters(like.EVERY, context))


def search_language(tree: like.Regex, context: Any) -> Any:
    """The texts in which a search for the tree succeeds, as a regular expression of z3.

    A match from i to j in a text of length n is split by whether i = 0 and whether j = n, since
    that is all that ``^`` and ``$`` ask about.
    """
    some = z3.Plus(characters(like.EVERY, context))
    words = _Words(context)
    ways = [
        _concatenation([some] * (not s) + [_nonempty(tree, s, t, words)] + [some] * (not t))
        for s in (True, False)
        for t in (True, False)
    ]
    if _nullable(tree, True, False) or _nullable(tree, False, True):
        ways.append(some)
    if _nullable(tree, True, True):
        ways.append(z3.Re(literal("", context)))
    language = _either(ways)
    return z3.Empty(z3.ReSort(z3.StringSort(context))) if language is None else language


class _Words:
    """The context, and a cache of the languages of subtrees."""

    def __init__(self, context: Any) -> None:
        self.context = context
        self.languages: dict[tuple[like.Regex, bool, bool], Any] = {}


def _nullable(tree: like.Regex, at_start: bool, at_end: bool) -> bool:
    """Whether the tree matches the empty text at such a position."""
    match tree:
        case like.Characters():
            return False
        case like.Start():
            return at_start
        case like.End():
            return at_end
        case like.Empty():
            return True
        case like.Then(first, second):
            return _nullable(first, at_start, at_end) and _nullable(second, at_start, at_end)
        case like.Or(left, right):
            return _nullable(left, at_start, at_end) or _nullable(right, at_start, at_end)
        case like.Repetition(body, optional, _):
            return optional or _nullable(body, at_start, at_end)
        case _:
            assert_never(tree)


def _nonempty(tree: like.Regex, at_start: bool, at_end: bool, words: _Words) -> Any:
    """The non-empty texts that the tree matches from such a position to such a position.

    None stands for no text at all.
    """
    key = (tree, at_start, at_end)
    if key not in words.languages:
        words.languages[key] = _build(tree, at_start, at_end, words)
    return words.languages[key]


def _build(tree: like.Regex, s: bool, t: bool, words: _Words) -> Any:
    match tree:
        case like.Characters(ranges):
            return characters(ranges, words.context) if ranges else None
        case like.Start() | like.End() | like.Empty():
            return None
        case like.Then(first, second):
            # Where both parts are non-empty, the position between them is neither end of the text.
            ways = [
                _concatenation(
                    [_nonempty(first, s, False, words), _nonempty(second, False, t, words)]
                )
            ]
            if _nullable(first, s, False):
                ways.append(_nonempty(second, s, t, words))
            if _nullable(second, False, t):
                ways.append(_nonempty(first, s, t, words))
            return _either(ways)
        case like.Or(left, right):
            ways = [_nonempty(left, s, t, words), _nonempty(right, s, t, words)]
            return _either(ways)
        case like.Repetition(body, _, many):
            once = _nonempty(body, s, t, words)
            if not many:
                return once
            inner = _nonempty(body, False, False, words)
            between = [] if inner is None else [z3.Star(inner)]
            first_of, last_of = _nonempty(body, s, False, words), _nonempty(body, False, t, words)
            return _either([once, _concatenation([first_of, *between, last_of])])
        case _:
            assert_never(tree)


def _concatenation(parts: Sequence[Any]) -> Any:
    if any(part is None for part in parts):
        return None
    return z3.Concat(*parts) if len(parts) > 1 else parts[0]


def _either(ways: Iterable[Any]) -> Any:
    some: list[Any] = []
    for way in ways:
        if way is not None and not any(way.eq(other) for other in some):
            some.append(way)
    return z3.Union(*some) if some else None


def between(low: str, high: str | None, context: Any) -> Any:
    """The texts after `low` and before `high` in the order by code point."""
    rest = every_text(context)
    after = [z3.Concat(z3.Re(literal(low, context)), z3.Plus(characters(like.EVERY, context)))]
    after += _departing(low, context, rest, above=True)
    if high is None:
        return z3.Union(*after)
    before = [z3.Re(literal(high[:n], context)) for n in range(len(high))]
    before += _departing(high, context, rest, above=False)
    return z3.Intersect(z3.Union(*after), z3.Union(*before))


def _departing(text: str, context: Any, rest: Any, *, above: bool) -> list[Any]:
    """The texts that share a beginning with `text` and then have a larger or smaller character."""
    ways = []
    for n, character in enumerate(text):
        code = ord(character)
        bound = ((0, code),) if above else ((code, like.EVERY[-1][1]),)
        others = characters(like.complement(bound), context)
        prefix = [z3.Re(literal(text[:n], context))] if n else []
        ways.append(z3.Concat(*prefix, others, rest))
    return ways
