"""The stock market queries of the paper (CORE App. D; CORE App. G), and their strategies."""

from __future__ import annotations

NAMES = (
    "INTC",
    "RIMM",
    "QQQ",
    "IPIX",
    "AMAT",
    "CSCO",
    "YHOO",
    "DELL",
    "ORCL",
    "MSFT",
    "INTC",
    "RIMM",
)
"""The names of a sequence of twelve; longer ones go round."""

LENGTHS = (3, 6, 9, 12, 24)


def sequence(n: int, *, output: bool = True, window: int = 10_000, strategy: str = "") -> str:
    """``Sn``, or without `output` ``Sn'``, whose last event never occurs (CORE App. D)."""
    events = [("BUY" if k % 3 else "SELL", f"T{k + 1}", NAMES[k % 12]) for k in range(n)]
    if not output:
        events.append(("BUY", "NE", "NotExists"))
    pattern = " ; ".join(f"{kind} AS {label}" for kind, label, _ in events)
    filters = " AND ".join(f"{label}[name = '{name}']" for _, label, name in events)
    chosen = f"{strategy} *" if strategy else "*"
    return f"SELECT {chosen} FROM S WHERE {pattern} FILTER {filters} WITHIN {window} [stock_time]"


_TECH = (
    "msft[name = 'MSFT'] AND oracle[name = 'ORCL'] AND csco[name = 'CSCO'] AND amat[name = 'AMAT']"
)
_PRICED = f"{_TECH} AND msft[price > 26.0] AND oracle[price > 11.14] AND amat[price >= 18.92]"
_PLAIN = "SELL AS msft ; BUY AS oracle ; BUY AS csco ; SELL AS amat"
_CHOICE = "SELL AS msft ; (BUY OR SELL) AS oracle ; (BUY OR SELL) AS csco ; SELL AS amat"
_QQQ = "msft[name = 'MSFT'] AND qqq[name = 'QQQ'] AND qqq[volume = 4000] AND amat[name = 'AMAT']"


def _query(pattern: str, filters: str, clauses: str = "") -> str:
    return f"SELECT * FROM S WHERE {pattern} FILTER {filters} {clauses} WITHIN 30000 [stock_time]"


OTHERS = {
    "Q1": _query(_PLAIN, _TECH),
    "Q2": _query(_PLAIN, _PRICED),
    "Q3": _query(_PLAIN, _TECH, "PARTITION BY [volume]"),
    "Q4": _query(_CHOICE, _TECH),
    "Q5": _query(_CHOICE, _PRICED),
    "Q6": _query(_CHOICE, _TECH, "PARTITION BY [volume]"),
    "Q7": _query("SELL AS msft ; (BUY OR SELL)+ AS qqq ; SELL AS amat", _QQQ),
}
"""Q1 to Q7 (CORE App. G), without CONSUME BY."""


def catalogue() -> dict[str, str]:
    """Every query by its name: ``S3``, ``S3'``, ``S3' x2``, ``S3 NEXT``, ``S3 ANY``, ``Q1``, .."""
    made = {f"S{n}'": sequence(n, output=False) for n in LENGTHS}
    made |= {f"S3' x{k}": sequence(3, output=False, window=k * 10_000) for k in (2, 3, 4)}
    made |= {f"S{n}": sequence(n) for n in LENGTHS}
    made |= {f"S3 {s}": sequence(3, strategy=s) for s in ("NEXT", "LAST", "MAX", "STRICT")}
    made |= OTHERS
    plain = [*(f"S{n}" for n in LENGTHS), *OTHERS]
    return made | {f"{name} ANY": f"{made[name]} CONSUME BY ANY" for name in plain}


QUICK = (
    *("S3'", "S12'", "S24'", "S3' x4", "S3", "S6"),
    *("S3 NEXT", "S3 LAST", "S3 MAX", "Q2", "Q3", "Q7 ANY"),
)
"""What `cerlab bench` runs when no query is named: a minute or so."""
