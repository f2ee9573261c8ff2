"""The register patterns of the SRT paper on stocks, as SREMO and as queries.

Each is written once, as steps. The windows of the paper are strict, so its w milliseconds are w - 1
here. What its scripts ask beyond its text is asked here too: event types, and prices below 500.
Nested iterations are as its formula (7) has them: the scripts write other ones, and the program
that was measured read those without what is nested in them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from typing import NamedTuple, TypeAlias


class PriceTest(NamedTuple):
    """How the price is to be to that of an earlier step, by number."""

    operator: str
    step: int


class Step(NamedTuple):
    """One event of a pattern, or one or more where it `repeats`; gaps are allowed everywhere."""

    types: tuple[str, ...]
    condition: str
    comparison: PriceTest | None = None
    repeats: bool = False


class Group(NamedTuple):
    """Steps one after another, once or more often; none of them is compared."""

    steps: tuple[Step, ...]


Pattern: TypeAlias = tuple[Step | Group, ...]
"""Steps are numbered as they are written, those of groups among them."""

WINDOWS = (500, 1_000, 2_000, 5_000, 10_000, 30_000)
"""Milliseconds, strict as in the paper."""

PAPER: Mapping[tuple[str, int], float] = {
    ("reg_1", 500): 0.36,
    ("reg_4", 500): 0.0,
    ("k_1", 500): 0.61,
    ("k_4", 500): 0.0,
    ("kn_1", 500): 4.29,
    ("q2", 1_000): 0.0,
    ("q3", 1_000): 13.0,
}
"""Matches per cent of events, where the paper states them."""

_BLOCKS = (
    ("INTC", "RIMM", "QQQ"),
    ("IPIX", "AMAT", "CSCO"),
    ("YHOO", "DELL", "ORCL"),
    ("MSFT", "INTC", "RIMM"),
)
_NESTED_BLOCKS = (("INTC", "RIMM", "QQQ", "MSFT"), ("IPIX", "AMAT", "CSCO", "ORCL")) * 2
_SOLD, _BOUGHT, _ANY = ("SELL",), ("BUY",), ("BUY", "SELL")


def _name(name: str, more: str = "") -> str:
    return f"name = '{name}'" + (f" AND {more}" if more else "")


def _sequence(blocks: int) -> Iterator[Step]:
    for n, (first, second, last) in enumerate(_BLOCKS[:blocks]):
        yield Step(_SOLD, _name(first))
        yield Step(_BOUGHT, _name(second))
        yield Step(_BOUGHT, _name(last), PriceTest(">", 3 * n))


def _kleene(blocks: int) -> Iterator[Step]:
    """The same with middle events that repeat; in the second of two blocks prices fall."""
    for n, step in enumerate(_sequence(blocks)):
        if n % 3 == 1:
            step = step._replace(condition=f"{step.condition} AND price < 500", repeats=True)
        if blocks == 2 and n == 5:
            step = step._replace(comparison=PriceTest("<", 3))
        yield step


def _nested_kleene(blocks: int) -> Iterator[Step | Group]:
    """Between two sales, at a lower price, pairs of two purchases of which the second repeats."""
    for n, (first, once, often, last) in enumerate(_NESTED_BLOCKS[:blocks]):
        yield Step(_SOLD, _name(first))
        pair = Step(_BOUGHT, _name(once, "price < 500")), Step(_BOUGHT, _name(often), repeats=True)
        yield Group(pair)
        yield Step(_SOLD, _name(last), PriceTest("<", 4 * n))


def _other(between: tuple[str, ...], *, thresholds: bool) -> Pattern:
    above = ("price > 26.0", "price > 11.14", "price >= 18.92")
    msft, orcl, amat = above if thresholds else ("", "", "")
    return (
        Step(_SOLD, _name("MSFT", msft)),
        Step(between, _name("ORCL", orcl)),
        Step(between, _name("CSCO")),
        Step(_SOLD, _name("AMAT", amat), PriceTest("<", 0)),
    )


PATTERNS: Mapping[str, Pattern] = {
    **{f"reg_{n}": tuple(_sequence(n)) for n in (1, 2, 3, 4)},
    **{f"k_{n}": tuple(_kleene(n)) for n in (1, 2, 3, 4)},
    **{f"kn_{n}": tuple(_nested_kleene(n)) for n in (1, 2, 3, 4)},
    "q1": _other(_BOUGHT, thresholds=False),
    "q2": _other(_BOUGHT, thresholds=True),
    "q3": _other(_ANY, thresholds=False),
    "q4": _other(_ANY, thresholds=True),
    "q5": (
        Step(_SOLD, _name("MSFT")),
        Step(_ANY, _name("QQQ", "volume = 4000"), repeats=True),
        Step(_SOLD, _name("AMAT"), PriceTest("<", 0)),
    ),
}
"""Sequences of 3 to 12 events, the same with iterations, nested ones in patterns of 4 to 16 events,
and queries of the CORE paper compared."""

OF_FIGURES: Mapping[str, tuple[int, ...]] = {
    "reg_1": WINDOWS,
    **dict.fromkeys(("reg_2", "reg_3", "reg_4", "k_1", "k_2", "k_3", "k_4"), (500,)),
    **dict.fromkeys(("kn_1", "kn_2", "kn_3", "kn_4"), WINDOWS),
    **dict.fromkeys(("q1", "q2", "q3", "q4", "q5"), (1_000,)),
}
"""The patterns and windows on stocks of Figures 2 to 5 of the paper."""


def sremo(pattern: Pattern, window: int) -> str:
    """A pattern as SREMO, in a strict window of milliseconds.

    >>> print(sremo((Step(_SOLD, "volume > 9"), Step(_BOUGHT, "volume > 8", PriceTest("<", 0))), 5))
    (#(<type = 'SELL' AND volume > 9>^ -> r0,
       <type = 'BUY' AND volume > 8 AND price < r0.price>^))[within 4 stock_time]
    """
    registers = {step.comparison.step for step in _steps(pattern) if step.comparison}
    number = count()
    parts: list[str] = []
    for part in pattern:
        if isinstance(part, Group):
            inside = [text for step in part.steps for text in _parts(step, next(number), registers)]
            once = f"#({', '.join(inside)})"
            parts += [once, f"#(({once})*)"]
        else:
            parts += _parts(part, next(number), registers)
    return f"(#({', '.join(parts)}))[within {window - 1} stock_time]"


def _steps(pattern: Pattern) -> Iterator[Step]:
    for part in pattern:
        yield from part.steps if isinstance(part, Group) else (part,)


def _parts(step: Step, n: int, registers: set[int]) -> Iterator[str]:
    """A step as expressions in a sequence with gaps."""
    kinds = " OR ".join(f"type = '{kind}'" for kind in step.types)
    guard = f"({kinds})" if len(step.types) > 1 else kinds
    guard += f" AND {step.condition}"
    if step.comparison:
        guard += f" AND price {step.comparison.operator} r{step.comparison.step}.price"
    yield f"<{guard}>^" + (f" -> r{n}" if n in registers else "")
    if step.repeats:
        yield f"#(<{guard}>^*)"


def ceql(pattern: Pattern, window: int) -> str:
    """A pattern as a query with the same complex events.

    >>> print(ceql(PATTERNS["q5"][:2], 500))
    SELECT * WHERE (SELL AS x0 ; ((BUY OR SELL) AS x1)+) FILTER x0[name = 'MSFT'] AND
    x1[name = 'QQQ' AND volume = 4000] WITHIN 499 [stock_time]
    """
    number = count()
    parts = []
    for part in pattern:
        if isinstance(part, Group):
            parts.append(f"({' ; '.join(_variable(step, next(number)) for step in part.steps)})+")
        else:
            parts.append(_variable(part, next(number)))
    filters = []
    for n, step in enumerate(_steps(pattern)):
        filters.append(f"x{n}[{step.condition}]")
        if step.comparison:
            filters.append(f"x{n}.price {step.comparison.operator} x{step.comparison.step}.price")
    return (
        f"SELECT * WHERE ({' ; '.join(parts)}) FILTER {' AND '.join(filters)} "
        f"WITHIN {window - 1} [stock_time]"
    )


def _variable(step: Step, n: int) -> str:
    kinds = " OR ".join(step.types)
    one = f"{kinds if len(step.types) == 1 else f'({kinds})'} AS x{n}"
    return f"({one})+" if step.repeats else one
