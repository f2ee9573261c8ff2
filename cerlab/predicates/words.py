"""Counts, values, events and answers in a few words, cut to fit a line."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from math import log10
from typing import TypeGuard

from cerlab.model.answer import ComplexEvent
from cerlab.model.event import Event, Value
from cerlab.predicates.text import value_text as constant_text

_EXACT = 10**15

SOME = 20
"""How many positions of an answer a line shows."""


def number_text(n: int) -> str:
    """A count: exact with separators up to 10^15, beyond its first digits.

    >>> number_text(345816), number_text(2**100)
    ('345,816', 'about 1.27·10^30')
    """
    if n < 0:
        return f"-{number_text(-n)}" if -n < _EXACT else number_text(-n).replace(" ", " -")
    if n < _EXACT:
        return f"{n:,}"
    exponent, rest = divmod(log10(n), 1)
    return f"about {10**rest:.2f}·10^{exponent:.0f}"


def count_text(n: int, what: str) -> str:
    """A count with its noun.

    >>> count_text(1, "answer"), count_text(2000, "event")
    ('1 answer', '2,000 events')
    """
    return f"{number_text(n)} {what}" + ("" if n == 1 else "s")


def event_text(event: Event, longest: int | None = 60, *, names: bool = True) -> str:
    """An event in a line, its values as in queries, cut to so many characters.

    >>> sale = Event("SELL", {"price": 3, "name": "INTC"}, "S")
    >>> event_text(sale), event_text(sale, names=False), event_text(sale, 12)
    ("S>SELL(price=3, name='INTC')", "S>SELL(3, 'INTC')", 'S>SELL(pric…')
    """
    text = constant_text if longest is None else _constant
    items = islice(event.attributes.items(), longest)
    values = ", ".join(f"{name}=" * names + text(value) for name, value in items)
    prefix = f"{event.stream}>" if event.stream else ""
    whole = f"{prefix}{event.type}({values})"
    return whole if longest is None else cut(whole, longest)


def _constant(value: Value) -> str:
    return value_text(value) if _is_long(value) else constant_text(value)


def value_text(value: Value) -> str:
    """A value; an integer that would fill the line by its first digits.

    >>> value_text(10**400), value_text(-5)
    ('about 1.00·10^400', '-5')
    """
    return number_text(value) if _is_long(value) else str(value)


def _is_long(value: Value) -> TypeGuard[int]:
    return isinstance(value, int) and abs(value) >= _EXACT**2


def cut(text: str, longest: int) -> str:
    """The text in one line, with ``…`` in place of what is too long.

    >>> cut("a  line", 6), cut("a line", 5)
    ('a line', 'a li…')
    """
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def answer_text(answer: ComplexEvent) -> str:
    """``[0, 4] {0, 2, 4}``, with at most `SOME` positions.

    >>> answer_text(ComplexEvent(0, 4, (0, 2, 4)))
    '[0, 4] {0, 2, 4}'
    """
    return f"[{answer.start}, {answer.end}] {positions_text(answer.positions, SOME)}"


def positions_text(positions: Iterable[int], most: int | None = None) -> str:
    """``{0, 2, 4}``: all positions, or at most so many.

    >>> positions_text(range(9), 3)
    '{0, 1, 2, .. 6 more}'
    """
    every = list(positions)
    parts = list(map(str, every[:most]))
    parts += [f".. {len(every) - len(parts):,} more"] * (len(parts) < len(every))
    return f"{{{', '.join(parts)}}}"
