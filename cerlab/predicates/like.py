r"""The patterns of LIKE that can be decided, a subset of RE2, as trees.

In the subset: literal characters, ``\`` before punctuation, ``\n \r \t \f \v``, ``.``, the classes
``\d \s \w \D \S \W``, ``[..]`` and ``[^..]`` with ranges, ``* + ?`` (greedy or not), ``|``,
``(..)``, ``(?:..)``, and ``^`` and ``$`` anywhere. As in RE2, ``.`` is every character but the
newline, a negated class has the newline in it, ``^`` and ``$`` are the ends of the text and not of
a line, and classes with a backslash are ASCII.

Outside it: ``{n,m}``, flags, named groups, ``\b``, ``\pL``, ``[[:alpha:]]`` and other escapes,
characters above U+1FFFF, long and deep patterns.

The characters of z3 end at U+2FFFF. This suffices for all of Unicode: no character above U+1FFFF is
mentioned, unmentioned characters behave alike, and z3 has 65,536 of them in the same order.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, assert_never

Ranges: TypeAlias = tuple[tuple[int, int], ...]

EVERY: Ranges = ((0, 0xD7FF), (0xE000, 0x2FFFF))
"""Ranges of all characters; surrogates are not characters."""

LAST_MENTIONED = 0x1FFFF
"""The last character that a pattern may name, so that characters that no pattern names exist."""

MAX_LENGTH = 200
"""The length of the longest pattern that is translated; longer ones are left undecided."""

MAX_DEPTH = 30
"""The depth of the deepest groups that are translated, by functions that call themselves."""


@dataclass(frozen=True, slots=True)
class Characters:
    """A character of some ranges: ``a``, ``.``, ``[^b-d]``."""

    ranges: Ranges


@dataclass(frozen=True, slots=True)
class Start:
    """The start of the text: ``^``."""


@dataclass(frozen=True, slots=True)
class End:
    """The end of the text: ``$``."""


@dataclass(frozen=True, slots=True)
class Empty:
    """The empty pattern, which matches the empty text."""


@dataclass(frozen=True, slots=True)
class Then:
    """A sequence: ``first second``."""

    first: Regex
    second: Regex


@dataclass(frozen=True, slots=True)
class Or:
    """An alternative: ``left|right``."""

    left: Regex
    right: Regex


@dataclass(frozen=True, slots=True)
class Repetition:
    """A repetition: ``body*``; ``body+`` if it is not `optional`, ``body?`` if it is not `many`."""

    body: Regex
    optional: bool
    many: bool


Regex: TypeAlias = Characters | Start | End | Empty | Then | Or | Repetition


# parsing


class _OutsideError(Exception):
    """Error: the pattern is outside the decidable subset."""


_PERL: dict[str, Ranges] = {
    "d": ((48, 57),),
    "s": ((9, 10), (12, 13), (32, 32)),
    "w": ((48, 57), (65, 90), (95, 95), (97, 122)),
}
_CONTROL = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", "v": "\v"}


class _Parse(NamedTuple):
    """A parsed pattern, and the index after it in the text."""

    regex: Regex
    after: int


def parse(pattern: str) -> Regex | None:
    """Return the tree of a pattern; None if it is outside the decidable subset.

    >>> parse("^a+")
    Then(first=Start(), second=Repetition(body=Characters(ranges=((97, 97),)), optional=False,
    many=True))
    >>> parse("a{2}") is None
    True
    """
    if len(pattern) > MAX_LENGTH:
        return None
    try:
        tree = _alternatives(pattern, 0, 0)
    except _OutsideError:
        return None
    return tree.regex if tree.after == len(pattern) else None


def _alternatives(pattern: str, at: int, depth: int) -> _Parse:
    if depth > MAX_DEPTH:
        raise _OutsideError
    ways: list[Regex] = []
    while True:
        way, at = _sequence(pattern, at, depth)
        ways.append(way)
        if pattern[at : at + 1] != "|":
            return _Parse(_join_balanced(ways, Or), at)
        at += 1


def _sequence(pattern: str, at: int, depth: int) -> _Parse:
    parts: list[Regex] = []
    while at < len(pattern) and pattern[at] not in "|)":
        part, at = _single(pattern, at, depth)
        if pattern[at : at + 1] in ("*", "+", "?"):
            operator = pattern[at]
            part = Repetition(part, optional=operator != "+", many=operator != "?")
            # greedy or not, the pattern matches equal texts
            at += 1 + (pattern[at + 1 : at + 2] == "?")
            if pattern[at : at + 1] in ("*", "+", "?"):
                raise _OutsideError
        parts.append(part)
    return _Parse(_join_balanced(parts, Then) if parts else Empty(), at)


def _join_balanced(parts: Sequence[Regex], join: type[Then] | type[Or]) -> Regex:
    """Return parts joined as a balanced tree."""
    if len(parts) == 1:
        return parts[0]
    # recursive functions would nest 200 deep on a chain of 200 parts
    half = len(parts) // 2
    return join(_join_balanced(parts[:half], join), _join_balanced(parts[half:], join))


def _single(pattern: str, at: int, depth: int) -> _Parse:
    character = pattern[at]
    match character:
        case "^":
            return _Parse(Start(), at + 1)
        case "$":
            return _Parse(End(), at + 1)
        case ".":
            return _Parse(Characters(complement(((10, 10),))), at + 1)
        case "[":
            return _class(pattern, at + 1)
        case "\\":
            ranges, at = _escape(pattern, at + 1)
            return _Parse(Characters(ranges), at)
        case "(":
            at += 1
            if pattern[at : at + 1] == "?":
                if pattern[at : at + 2] != "?:":
                    raise _OutsideError
                at += 2
            inner, at = _alternatives(pattern, at, depth + 1)
            if pattern[at : at + 1] != ")":
                raise _OutsideError
            return _Parse(inner, at + 1)
        case "{" | "*" | "+" | "?":
            raise _OutsideError
        case _:
            return _Parse(Characters(_one(character)), at + 1)


def _one(character: str) -> Ranges:
    code = ord(character)
    if code > LAST_MENTIONED or 0xD800 <= code <= 0xDFFF:
        raise _OutsideError
    return ((code, code),)


def _escape(pattern: str, at: int) -> tuple[Ranges, int]:
    character = pattern[at : at + 1]
    if character and character in string.punctuation:
        return _one(character), at + 1
    if character in _CONTROL:
        return _one(_CONTROL[character]), at + 1
    if character in _PERL:
        return _PERL[character], at + 1
    if character.lower() in _PERL:
        return complement(_PERL[character.lower()]), at + 1
    raise _OutsideError


def _class(pattern: str, at: int) -> _Parse:
    """Parse the character class after ``[``; a ``]`` at its beginning is a character."""
    is_negated = pattern[at : at + 1] == "^"
    at += is_negated
    start = at
    ranges: list[tuple[int, int]] = []
    while pattern[at : at + 1] != "]" or at == start:
        low, at = _class_item(pattern, at)
        is_range = pattern[at : at + 1] == "-" and pattern[at + 1 : at + 2] not in ("]", "")
        if not is_range:
            ranges += low
            continue
        high, at = _class_item(pattern, at + 1)
        if not (_is_one(low) and _is_one(high)) or low[0][0] > high[0][0]:
            raise _OutsideError
        ranges.append((low[0][0], high[0][0]))
    # complementing twice sorts the ranges and joins overlaps
    inside = complement(complement(tuple(ranges)))
    return _Parse(Characters(complement(inside) if is_negated else inside), at + 1)


def _class_item(pattern: str, at: int) -> tuple[Ranges, int]:
    character = pattern[at : at + 1]
    if not character or pattern[at : at + 2] == "[:":
        raise _OutsideError
    return _escape(pattern, at + 1) if character == "\\" else (_one(character), at + 1)


def _is_one(ranges: Ranges) -> bool:
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]


def complement(ranges: Ranges) -> Ranges:
    """Return all characters outside some ranges, as sorted disjoint ranges."""
    others: list[tuple[int, int]] = []
    for first, last in EVERY:
        at = first
        for low, high in sorted(ranges):
            if low > at:
                others.append((at, min(low - 1, last)))
            at = max(at, high + 1)
        others.append((at, last))
    return tuple((low, high) for low, high in others if low <= high)


# sample texts


def samples(pattern: str) -> tuple[str, ...]:
    """Return texts for which a pattern may have different outcomes.

    >>> samples("^ab?$")
    ('a', 'ab', 'ab\\n', '^ab?$', '')
    """
    bare = "".join(character for character in pattern if character not in "\\^$.*+?()[]{}|")
    return tuple(dict.fromkeys((least(pattern), bare, bare + "\n", pattern, "")))


def least(pattern: str) -> str:
    """Return a short text that the pattern matches, unless its anchors forbid it."""
    tree = parse(pattern)
    return "" if tree is None else _least(tree)


def _least(tree: Regex) -> str:
    match tree:
        case Characters(ranges):
            # prefer a letter, since people read the example
            letters = [chr(max(low, 97)) for low, high in ranges if high >= 97]
            return letters[0] if letters else "".join(chr(low) for low, _ in ranges[:1])
        case Start() | End() | Empty():
            return ""
        case Then(first, second):
            return _least(first) + _least(second)
        case Or(left, _):
            return _least(left)
        case Repetition(body, optional, _):
            return "" if optional else _least(body)
        case _:
            assert_never(tree)
