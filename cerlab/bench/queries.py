"""The queries of the CORE paper's appendices by name (CORE App. D; CORE App. E; CORE App. F).

The printed queries are read literally, with these readings where the text is garbled. Q3 and Q6 are
printed with CONSUME BY ANY and the others without; here every query comes in both forms. The wider
taxi windows are said to be of 20, 30 and 40 seconds and printed as 20,000 to 40,000: the printed
numbers are used; "2.7 hours" are 10,000 seconds. Windows are inclusive here and strict in the
paper's engine: `cerlab.bench.peer` translates.
"""

from __future__ import annotations

from itertools import pairwise

from cerlab.bench.sequences import FACTORS, FIRST, LENGTHS, Sequences, Step, consuming, sequences

_NAMES = (
    *("INTC", "RIMM", "QQQ", "IPIX", "AMAT", "CSCO"),
    *("YHOO", "DELL", "ORCL", "MSFT", "INTC", "RIMM"),
)
"""The names of a sequence of twelve; the longer one goes round."""

STOCKS = Sequences(
    letter="S",
    steps=tuple(
        Step("BUY" if k % 3 else "SELL", f"T{k + 1}", f"name = '{_NAMES[k % 12]}'")
        for k in range(24)
    ),
    never=Step("BUY", "NE", "name = 'NotExists'"),
    window=10_000,
    time="stock_time",
)
"""S3 to S24: stocks by name, within ten seconds (CORE App. D)."""

_HOUSEHOLDS = (0, 2, 4, 6, 9, 10, 12, 14, 15, 4, 9, 10)

HOMES = Sequences(
    letter="H",
    steps=tuple(
        Step("LOAD", f"L{k + 1}", f"household_id = {_HOUSEHOLDS[k % 12]}") for k in range(24)
    ),
    never=Step("LOAD", "NE", "household_id = 1000"),
    window=10,
    time="plug_timestamp",
    whole=("L", "value > 76"),
)
"""H3 to H24: loads above 76 watts in one household after another (CORE App. E)."""

_JOURNEY = (
    *("East Harlem North", "Midwood", "Gravesend", "West Brighton", "Lincoln Square West"),
    *("Sutton Place/Turtle Bay North", "East Concourse/Concourse Village", "East Harlem North"),
    *("East Harlem North", "Gravesend", "Midwood", "Midwood", "Gravesend"),
    # the second twelve begin where the first end, and skip East Harlem North
    *("Midwood", "Gravesend", "West Brighton", "Lincoln Square West"),
    *("Sutton Place/Turtle Bay North", "East Concourse/Concourse Village", "East Harlem North"),
    *("East Harlem North", "Gravesend", "Midwood", "Midwood", "Gravesend"),
)
"""The zones of a journey of 24 trips; each trip begins where the one before ends."""

TAXI = Sequences(
    letter="T",
    steps=tuple(
        Step("TRIP", f"loc{k}", f"pickup_loc = '{origin}' AND dropoff_loc = '{goal}'")
        for k, (origin, goal) in enumerate(pairwise(_JOURNEY), 1)
    ),
    never=Step("TRIP", "NE", "pickup_loc = 'NotExists'"),
    window=10_000,
    time="dropoff_datetime",
)
"""T3 to T24: trips that begin where the one before ended (CORE App. F)."""

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
"""What `cerlab bench` runs on a stream when no query is named: a minute or so."""


FAMILIES = {"stocks": STOCKS, "homes": HOMES, "taxi": TAXI}
"""The sequences by the name of their stream."""


def catalogue(stream: str) -> dict[str, str]:
    """Every query on a stream (``stocks``, ``homes``, ``taxi``) by its name.

    Sequences are named as `sequences` says, and the others ``Q1``, ``Q1 ANY``, ``Q1 ANY 1000``.

    >>> sorted(set(catalogue("stocks")) & {"S3", "S3' x2", "S6 ANY 1000", "Q7 ANY"})
    ['Q7 ANY', 'S3', "S3' x2", 'S6 ANY 1000']
    """
    queries = sequences(FAMILIES[stream])
    return queries | OTHERS | consuming(OTHERS) if stream == "stocks" else queries


def of_figures(stream: str) -> tuple[str, ...]:
    """The names of the queries that Figures 7, 8, 9 and 11 of the paper draw.

    With output: consuming, and the first thousand answers of each event, as measured there.
    """
    P = FAMILIES[stream].letter
    first = f"ANY {FIRST}"
    wide = [f"{P}3' x{k}" for k in FACTORS if k > 1]
    names = [*(f"{P}{n} {first}" for n in LENGTHS), *(f"{P}{n}'" for n in LENGTHS), *wide]
    names += [f"{name} LAST" for name in (f"{P}3'", *wide)]
    return (*names, *(f"{name} {first}" for name in OTHERS if stream == "stocks"))
