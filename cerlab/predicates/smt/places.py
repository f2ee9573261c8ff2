"""The order of texts as integers, and cells: texts of an interval that the same patterns find."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import z3

from cerlab.predicates.like import parse
from cerlab.predicates.representatives import text_after
from cerlab.predicates.smt.languages import between, literal, search_language
from cerlab.predicates.smt.questions import OneText, member
from cerlab.predicates.truth import search


class Places(NamedTuple):
    """The order of texts as integers: the place of each constant, and room between them."""

    texts: tuple[str, ...]
    """The constants in order; the first is the empty text, at place 0."""
    at: tuple[int, ...]
    last: int

    def of(self, text: str) -> int:
        """The place of a constant."""
        return self.at[self.texts.index(text)]

    def text(self, place: int) -> str:
        """A text at a place, larger at larger places."""
        n = max(n for n, start in enumerate(self.at) if start <= place)
        following = self.texts[n + 1] if n + 1 < len(self.texts) else None
        nth = place - self.at[n]
        return self.texts[n] if nth == 0 else text_after(self.texts[n], following, nth - 1)


def places(texts: Iterable[str], room: int) -> Places:
    """The places of some texts, with room for so many different texts in each gap.

    >>> places(["a", "a\\0"], 2)
    Places(texts=('', 'a', 'a\\x00'), at=(0, 3, 4), last=6)
    """
    line = sorted({"", *texts})
    at = [0]
    for low, high in pairwise(line):
        # Between a text and itself with zeros after it, there are only fewer zeros.
        zeros = len(high) - len(low)
        finite = high == low + "\0" * zeros
        at.append(at[-1] + 1 + (min(zeros - 1, room) if finite else room))
    return Places(tuple(line), tuple(at), at[-1] + room)


class Cell(NamedTuple):
    """The texts in an interval of places that some patterns find and the others do not."""

    first: int
    last: int
    bits: tuple[bool, ...]
    language: Any
    text: str | None
    """One of them, None if z3 did not find out whether there is one."""


def cells(order: Places, patterns: Sequence[str], context: Any) -> tuple[Cell, ...]:
    """All cells that texts are in."""
    languages = [
        search_language(tree, context) for tree in map(parse, patterns) if tree is not None
    ]
    result: list[Cell] = []

    def split(
        interval: tuple[int, int], bits: tuple[bool, ...], language: Any, one: OneText
    ) -> None:
        if not one.possible:
            return
        if len(bits) == len(patterns):
            result.append(Cell(*interval, bits, language, one.text))
            return
        n = len(bits)
        inside = None if one.text is None else search(patterns[n], one.text)
        for bit in (True, False):
            part = z3.Intersect(language, languages[n] if bit else z3.Complement(languages[n]))
            # The text that is known is on one of the two sides; the other has to be asked for.
            split(interval, (*bits, bit), part, one if inside is bit else member(part, context))

    for n, (text, at) in enumerate(zip(order.texts, order.at, strict=True)):
        bits = tuple(search(pattern, text) for pattern in patterns)
        result.append(Cell(at, at, bits, z3.Re(literal(text, context)), text))
        following = order.texts[n + 1] if n + 1 < len(order.texts) else None
        last = order.at[n + 1] - 1 if following is not None else order.last
        if at < last:
            gap = between(text, following, context)
            split((at + 1, last), (), gap, member(gap, context))
    return tuple(result)
