"""A synthetic stock stream with the schema and the habits of a real trading day (CORE App. D)."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from itertools import accumulate
from random import Random

from cerlab.logic.ceql.parser import parse_schema
from cerlab.model.event import Event, Value

STOCK_SCHEMA = parse_schema(
    """
    CREATE STREAM S {
        EVENT BUY { id:int, name:string, volume:int, price:double, stock_time:int },
        EVENT SELL { id:int, name:string, volume:int, price:double, stock_time:int }
    }
    """
)

STOCKS = {
    "IPIX": (0.20, 12.7),
    "QQQ": (0.13, 36.2),
    "INTC": (0.12, 27.8),
    "MSFT": (0.10, 26.0),
    "CSCO": (0.09, 21.3),
    "RIMM": (0.08, 117.4),
    "AMAT": (0.08, 18.9),
    "ORCL": (0.07, 11.1),
    "DELL": (0.07, 35.6),
    "YHOO": (0.06, 37.5),
}
"""Share of the events and opening price of each stock."""

_LOTS = (100, 100, 100, 100, 200, 300, 500, 500, 1000, 2000)
OPENING_MS = 25_263_126
TIES = 0.47
LONGEST_GAP_MS = 780


def stocks(count: int = 10_000, *, seed: int = 7) -> Iterator[Event]:
    """BUY and SELL events of ten stocks; the same for the same seed on every machine.

    Prices walk at random; `stock_time` is in milliseconds, never decreases, and is shared by
    nearly half of the neighbours, so that a window of ten seconds holds some fifty events.
    """
    rng = Random(seed)
    names = list(STOCKS)
    shares = list(accumulate(share for share, _ in STOCKS.values()))
    prices = [price for _, price in STOCKS.values()]
    identity, time = 0, OPENING_MS
    for _ in range(count):
        identity += 1 + int(rng.random() * 4)
        if rng.random() >= TIES:
            time += 1 + int(rng.random() * LONGEST_GAP_MS)
        stock = min(bisect(shares, rng.random()), len(names) - 1)
        prices[stock] = round(prices[stock] * (1 + (rng.random() - 0.5) * 0.002), 4)
        attributes: dict[str, Value] = {
            "id": identity,
            "name": names[stock],
            "volume": _LOTS[int(rng.random() * len(_LOTS))],
            "price": prices[stock],
            "stock_time": time,
        }
        yield Event("BUY" if rng.random() < 0.5 else "SELL", attributes)
