"""The queries of the CORE paper's appendices by name (CORE App. D; CORE App. E; CORE App. F).

The printed queries are read literally, with these readings where the text is garbled. Q3 and Q6 are
printed with CONSUME BY ANY and the others without; here every query has both forms. The wider taxi
windows are said to be of 20, 30 and 40 seconds and printed as 20,000 to 40,000: the printed numbers
are used; "2.7 hours" are 10,000 seconds. Windows are inclusive here and strict in the paper's
engine: `peers.strict_text` translates.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

LENGTHS = (3, 6, 9, 12, 24)
FACTORS = (1, 2, 3, 4)
"""Multiples of the first window that are measured."""
STRATEGIES = ("NEXT", "LAST", "MAX", "STRICT")
FIRST = 1000
"""Answers of one event that the paper lists."""


class Step(NamedTuple):
    """``type AS label``, and the condition on it after FILTER."""

    type: str
    label: str
    condition: str


class Sequences(NamedTuple):
    """The steps of the longest sequence of a data set, and the parts that its sequences share.

    `never`: a step that no event takes. `window`: its width in the unit of the attribute `time`.
    `whole`: a label of all events and the condition on it, or None.
    """

    letter: str
    steps: tuple[Step, ...]
    never: Step
    window: int
    time: str
    whole: tuple[str, str] | None = None


_NAMES = (
    *("INTC", "RIMM", "QQQ", "IPIX", "AMAT", "CSCO"),
    *("YHOO", "DELL", "ORCL", "MSFT", "INTC", "RIMM"),
) * 2
STOCKS = Sequences(
    letter="S",
    steps=tuple(
        Step("BUY" if k % 3 else "SELL", f"T{k + 1}", f"name = '{name}'")
        for k, name in enumerate(_NAMES)
    ),
    never=Step("BUY", "NE", "name = 'NotExists'"),
    window=10_000,
    time="stock_time",
)
"""S3 to S24: stocks by name, within ten seconds (CORE App. D)."""

_HOUSEHOLDS = (0, 2, 4, 6, 9, 10, 12, 14, 15, 4, 9, 10) * 2
HOMES = Sequences(
    letter="H",
    steps=tuple(
        Step("LOAD", f"L{k}", f"household_id = {household}")
        for k, household in enumerate(_HOUSEHOLDS, 1)
    ),
    never=Step("LOAD", "NE", "household_id = 1000"),
    window=10,
    time="plug_timestamp",
    whole=("L", "value > 76"),
)
"""H3 to H24: loads above 76 watts in one household after another (CORE App. E)."""

_ROUND = (
    *("Midwood", "Gravesend", "West Brighton", "Lincoln Square West"),
    *("Sutton Place/Turtle Bay North", "East Concourse/Concourse Village", "East Harlem North"),
    *("East Harlem North", "Gravesend", "Midwood", "Midwood", "Gravesend"),
)
TAXI = Sequences(
    letter="T",
    steps=tuple(
        Step("TRIP", f"loc{k}", f"pickup_loc = '{origin}' AND dropoff_loc = '{goal}'")
        # the second round begins where the first ends, without East Harlem North
        for k, (origin, goal) in enumerate(pairwise(("East Harlem North", *_ROUND, *_ROUND)), 1)
    ),
    never=Step("TRIP", "NE", "pickup_loc = 'NotExists'"),
    window=10_000,
    time="dropoff_datetime",
)
"""T3 to T24: trips that begin where the one before ended (CORE App. F)."""

FAMILIES = {"stocks": STOCKS, "homes": HOMES, "taxi": TAXI}
"""The sequences by the name of their stream."""

_TECH = (
    "msft[name = 'MSFT'] AND oracle[name = 'ORCL'] AND csco[name = 'CSCO'] AND amat[name = 'AMAT']"
)
_TECH_PRICES = (
    "msft[name = 'MSFT'] AND msft[price > 26.0] AND oracle[name = 'ORCL'] AND oracle[price > 11.14]"
    " AND csco[name = 'CSCO'] AND amat[name = 'AMAT'] AND amat[price >= 18.92]"
)
_PLAIN = "SELL AS msft ; BUY AS oracle ; BUY AS csco ; SELL AS amat"
_CHOICE = "SELL AS msft ; (BUY OR SELL) AS oracle ; (BUY OR SELL) AS csco ; SELL AS amat"
_QQQ = "msft[name = 'MSFT'] AND qqq[name = 'QQQ'] AND qqq[volume = 4000] AND amat[name = 'AMAT']"


def _query(pattern: str, filters: str, *clauses: str) -> str:
    lines = ("SELECT * FROM S", f"WHERE {pattern}", f"FILTER {filters}", *clauses)
    return "\n".join((*lines, "WITHIN 30000 [stock_time]"))


OTHERS = {
    "Q1": _query(_PLAIN, _TECH),
    "Q2": _query(_PLAIN, _TECH_PRICES),
    "Q3": _query(_PLAIN, _TECH, "PARTITION BY [volume]"),
    "Q4": _query(_CHOICE, _TECH),
    "Q5": _query(_CHOICE, _TECH_PRICES),
    "Q6": _query(_CHOICE, _TECH, "PARTITION BY [volume]"),
    "Q7": _query("SELL AS msft ; (BUY OR SELL)+ AS qqq ; SELL AS amat", _QQQ),
}
"""Q1 to Q7 on the stock stream (CORE App. G), without CONSUME BY."""

QUICK = {
    "stocks": (
        *("S3'", "S12'", "S24'", "S3' x4", "S3", "S6", "S24"),
        *("S3 NEXT", "S3 LAST", "S3 MAX", "Q2", "Q3", "Q7 ANY"),
    ),
    "homes": ("H3'", "H12'", "H24'", "H3' x4", "H3", "H9 ANY 1000"),
    "taxi": ("T3'", "T12'", "T24'", "T3' x4", "T3", "T6"),
}
"""The queries that run when none is named: a minute or so."""


def sequence(
    family: Sequences,
    length: int,
    *,
    output: bool = True,
    factor: int = 1,
    joint: str = ";",
    strategy: str = "",
    selection: str = "*",
) -> str:
    """Return ``Pn``, or without `output` ``Pn'``, whose last event never occurs.

    An engine may see in the columns that it never occurs; `streams.with_decoy` prevents that.

    >>> print(sequence(HOMES, 1, factor=2))
    SELECT * FROM S
    WHERE (LOAD AS L1) AS L
    FILTER L[value > 76] AND L1[household_id = 0]
    WITHIN 20 [plug_timestamp]
    """
    steps = (*family.steps[:length], *(() if output else (family.never,)))
    pattern = f" {joint} ".join(f"{step.type} AS {step.label}" for step in steps)
    filters = [f"{step.label}[{step.condition}]" for step in steps]
    if family.whole is not None:
        label, condition = family.whole
        pattern = f"({pattern}) AS {label}"
        filters.insert(0, f"{label}[{condition}]")
    return "\n".join(
        (
            f"SELECT {strategy} {selection} FROM S" if strategy else f"SELECT {selection} FROM S",
            f"WHERE {pattern}",
            "FILTER " + " AND ".join(filters),
            f"WITHIN {factor * family.window} [{family.time}]",
        )
    )


def sequences(family: Sequences) -> dict[str, str]:
    """Return all sequence queries of a data set by name, for letter P.

    ``P3`` to ``P24``; ``P3 ANY`` with CONSUME BY ANY and ``P3 ANY 1000`` also with LIMIT;
    ``P3'`` without output; ``P3' x2`` in a window twice as wide; ``P3 NEXT`` with a strategy;
    ``P3' LAST``, ``P3' x2 LAST``; ``P3 contiguous`` with ``:``, ``P3 projected`` to its last label.
    """
    P = family.letter
    queries = {f"{P}{n}'": sequence(family, n, output=False) for n in LENGTHS}
    for k in FACTORS:
        wide = f"{P}3' x{k}" if k > 1 else f"{P}3'"
        queries[wide] = sequence(family, 3, output=False, factor=k)
        queries[f"{wide} LAST"] = sequence(family, 3, output=False, factor=k, strategy="LAST")
    plain = {f"{P}{n}": sequence(family, n) for n in LENGTHS}
    queries |= plain | {f"{P}3 {each}": sequence(family, 3, strategy=each) for each in STRATEGIES}
    queries[f"{P}3 contiguous"] = sequence(family, 3, joint=":")
    queries[f"{P}3 projected"] = sequence(family, 3, selection=family.steps[2].label)
    return queries | _consuming(plain)


def _consuming(queries: dict[str, str]) -> dict[str, str]:
    """Return the same with CONSUME BY ANY, all answers and the first of each event."""
    consuming = {f"{name} ANY": f"{text}\nCONSUME BY ANY" for name, text in queries.items()}
    return consuming | {f"{name} {FIRST}": f"{q}\nLIMIT {FIRST}" for name, q in consuming.items()}


def catalogue(stream: str) -> dict[str, str]:
    """Return every query on a stream (``stocks``, ``homes``, ``taxi``) by its name.

    >>> sorted(set(catalogue("stocks")) & {"S3", "S3' x2", "S6 ANY 1000", "Q7 ANY"})
    ['Q7 ANY', 'S3', "S3' x2", 'S6 ANY 1000']
    """
    queries = sequences(FAMILIES[stream])
    return queries | OTHERS | _consuming(OTHERS) if stream == "stocks" else queries


def of_figures(stream: str) -> tuple[str, ...]:
    """Return the names of the queries that Figures 7, 8, 9 and 11 of the paper draw.

    With output: consuming, and the first thousand answers of each event, as measured there.
    """
    P = FAMILIES[stream].letter
    first = f"ANY {FIRST}"
    wide = [f"{P}3' x{k}" for k in FACTORS if k > 1]
    names = [*(f"{P}{n} {first}" for n in LENGTHS), *(f"{P}{n}'" for n in LENGTHS), *wide]
    names += [f"{name} LAST" for name in (f"{P}3'", *wide)]
    return (*names, *(f"{name} {first}" for name in OTHERS if stream == "stocks"))
