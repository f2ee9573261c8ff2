"""Notation for expressions and their matches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from cerlab import Event, Sremo, Stream, parse_sremo
from cerlab.logic.sremo import matches
from cerlab.logic.sremo.syntax import streaming
from cerlab.model.answer import Positions
from proofs_tests.clauses.tables import word

Match = frozenset[Positions]

E1 = "<type = 'B'>^ -> r1 . <TRUE>* . <type = 'S' AND id = r1.id>^"
TABLE_1 = [
    Event(kind, {"id": identifier, "price": price, "volume": volume})
    for kind, identifier, price, volume in (
        ("B", 1, 22, 300),
        ("B", 1, 24, 225),
        ("B", 2, 32, 1210),
        ("S", 1, 70, 760),
        ("S", 1, 68, 2000),
        ("B", 2, 33, 95),
    )
]
"""The pattern and the stream of Example 19 (SRT Def. 18)."""


@cache
def sre(text: str) -> Sremo:
    """``sre("A^ . _* . <v = r.v>^")``: a capital letter is an event of that type, ``_`` any.

    Guards in ``<..>`` stay as they are (and hold no ``>`` themselves).
    """
    return parse_sremo(re.sub(r"<[^>]*>|\b[A-FSX]\b|_(?!\w)", _terminal, text))


def _terminal(match: re.Match[str]) -> str:
    if match[0].startswith("<"):
        return match[0]
    return "<TRUE>" if match[0] == "_" else f"<type = '{match[0]}'>"


def match(text: str, types: str, **values: str) -> Match:
    """``Match(e, S)``; the stream as `word` reads it."""
    return matches(sre(text), Stream.from_events(word(types, **values)).events)


def shown_at(e: Sremo, S: Sequence[Any]) -> dict[int, Match]:
    """``Match(<TRUE>* . e, S[1..k])`` for each k where it is not empty."""
    by_end = {k: matches(streaming(e), S[:k]) for k in range(len(S) + 1)}
    return {k: M for k, M in by_end.items() if M}


def trades(text: str) -> tuple[Event, ...]:
    """``trades("B1 S1")``: types and ids."""
    return tuple(Event(each[0], {"id": int(each[1:])}) for each in text.split())
