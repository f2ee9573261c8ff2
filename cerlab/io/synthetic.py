"""Seeded streams with the schemas of the CORE paper's data sets (CORE App. D).

`stocks`, `homes` and `taxis` create events one by one, for any length; equal seeds give equal
events on every machine. `event_batches` converts any of them to Arrow columns. `stock_batches`
draws the stock stream by columns, fast enough for a hundred million events.

>>> next(stocks()).attributes["name"]
'RIMM'
>>> next(event_batches(homes(1000), HOMES_SCHEMA)).num_rows
1000
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import heapify, heapreplace
from itertools import accumulate, islice
from random import Random
from typing import Any

from cerlab.errors import keywords_by_name
from cerlab.logic.ceql.parser import parse_schema
from cerlab.model.event import AttributeType, Event, Schema, Value

__all__ = [
    "HOMES_SCHEMA",
    "STOCK_SCHEMA",
    "TAXI_SCHEMA",
    "event_batches",
    "homes",
    "stock_batches",
    "stocks",
    "taxis",
]


_LOTS_IN_COLUMNS = (
    *(100, 100, 100, 100, 100, 100, 150, 200, 200, 300, 300, 400, 500, 500),
    *(600, 800, 1000, 1000, 2000, 4000),
)
"""Volumes of trades; the frequency of a volume is the number of its occurrences here."""


BATCH = 1 << 17
"""Events of a record batch, by default."""


def event_batches(events: Iterable[Event], schema: Schema, *, batch: int = BATCH) -> Iterator[Any]:
    """Yield the events as pyarrow RecordBatches of at most `batch` rows, created on demand.

    Columns: ``type`` and the attributes that `schema` declares, texts as dictionaries; a missing
    attribute is NULL. Only one batch is in memory.
    """
    import pyarrow as pa

    arrow_types = {AttributeType.INT: pa.int64(), AttributeType.DOUBLE: pa.float64()}
    arrow_types |= {AttributeType.BOOLEAN: pa.bool_(), AttributeType.TIMESTAMP: pa.timestamp("ns")}
    arrow_types |= {AttributeType.DURATION: pa.duration("ns")}
    types = {attribute.name: attribute.type for attribute in schema.attributes()}
    rows = iter(events)
    while chunk := tuple(islice(rows, batch)):
        columns = {"type": _texts([event.type for event in chunk])}
        for name, kind in types.items():
            values = [event.attributes.get(name) for event in chunk]
            text = kind is AttributeType.STRING
            columns[name] = _texts(values) if text else pa.array(values, arrow_types[kind])
        yield pa.record_batch(columns)


def _texts(values: list[Any]) -> Any:
    import pyarrow as pa

    return pa.array(values, pa.string()).dictionary_encode()


@keywords_by_name
def stock_batches(count: int, *, batch: int = BATCH, seed: int = 7) -> Iterator[Any]:
    """Yield BUY and SELL events of ten stocks as pyarrow RecordBatches of at most `batch` rows.

    The schema and the statistics are those of `stocks`, drawn by NumPy at some millions of events a
    second; only one batch is in memory. Equal seeds give equal events for every batch size, but
    other events than `stocks`: there are larger lots (Q7 of the CORE paper needs one of 4000), and
    prices walk between reflecting walls 5 % around the opening price, so that filters on them hold
    as often at the end of a long stream.

    >>> [batch.num_rows for batch in stock_batches(5, batch=2)]
    [2, 2, 1]
    """
    import numpy as np
    import pyarrow as pa

    rng = np.random.Generator(np.random.PCG64(seed))
    shares = np.cumsum([share for share, _ in STOCKS.values()])
    types, names = pa.array(["BUY", "SELL"]), pa.array(list(STOCKS))
    walks = [RandomWalk(price) for _, price in STOCKS.values()]
    lots = np.array(_LOTS_IN_COLUMNS, np.int64)
    identity, time = 0, OPENING_MS
    for start in range(0, count, batch):
        # drawn row by row, so that the size of batches changes no value
        rows = rng.random((min(batch, count - start), 7))
        kind, stock, lot, gap, tie, skip, step = rows.T
        stocks = np.searchsorted(shares[:-1], stock, side="right").astype(np.int8)
        ids = identity + np.cumsum(1 + (skip * 4).astype(np.int64))
        gaps = np.where(tie >= TIES, 1 + (gap * LONGEST_GAP_MS).astype(np.int64), 0)
        times = time + np.cumsum(gaps)
        prices = np.empty(len(rows))
        for k, walk in enumerate(walks):
            here = np.flatnonzero(stocks == k)
            prices[here] = walk.prices(step[here])
        identity, time = int(ids[-1]), int(times[-1])
        yield pa.record_batch(
            {
                "type": pa.DictionaryArray.from_arrays((kind >= 0.5).astype(np.int8), types),
                "id": ids,
                "name": pa.DictionaryArray.from_arrays(stocks, names),
                "volume": lots[(lot * len(_LOTS_IN_COLUMNS)).astype(np.int64)],
                "price": prices,
                "stock_time": times,
            }
        )


class RandomWalk:
    """The price of one stock: a walk in whole ticks between two reflecting walls.

    In integers, whose sums do not depend on how a stream is cut into batches.
    """

    _TICKS_PER_DOLLAR = 10_000

    def __init__(self, opening: float) -> None:
        ticks = round(opening * self._TICKS_PER_DOLLAR)
        self._longest = ticks // 1000
        self._low = ticks - ticks // 20
        self._width = 2 * (ticks // 20)
        self._at = ticks // 20

    def prices(self, draws: Any) -> Any:
        """Return the price in dollars after each step; `draws` are uniform numbers in [0, 1)."""
        import numpy as np

        steps = (draws * (2 * self._longest + 1)).astype(np.int64) - self._longest
        walk = self._at + np.cumsum(steps)
        if len(walk):
            self._at = int(walk[-1])
        offsets = np.abs((walk + self._width) % (2 * self._width) - self._width)
        return (self._low + offsets) / self._TICKS_PER_DOLLAR


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
"""The share of the events and the opening price of each stock."""


_LOTS = (100, 100, 100, 100, 200, 300, 500, 500, 1000, 2000)


OPENING_MS = 25_263_126


TIES = 0.47


LONGEST_GAP_MS = 780


@keywords_by_name
def stocks(count: int = 10_000, *, seed: int = 7) -> Iterator[Event]:
    """Yield BUY and SELL events of ten stocks; equal seeds give equal events on every machine.

    Prices walk at random; `stock_time` is in milliseconds, never decreases, and is equal for nearly
    half of the consecutive events, so that a window of ten seconds contains about fifty events.

    >>> events = list(stocks(1000))
    >>> len(events), sorted({event.type for event in events})
    (1000, ['BUY', 'SELL'])
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


HOMES_SCHEMA = parse_schema(
    """
    CREATE STREAM S {
        EVENT LOAD { id:int, plug_timestamp:int, value:double, plug_id:int, household_id:int }
    }
    """
)


@dataclass(frozen=True, slots=True)
class _Device:
    """A device: its watts when idle and when running, and the mean seconds of both states."""

    idle: float
    running: float
    seconds_idle: int
    seconds_running: int


_DEVICES = (
    _Device(idle=0.0, running=92.0, seconds_idle=540, seconds_running=360),  # a fridge
    _Device(idle=1.5, running=135.0, seconds_idle=1800, seconds_running=1500),  # a screen
    _Device(idle=0.5, running=118.0, seconds_idle=1500, seconds_running=1200),  # lamps
    _Device(idle=2.0, running=750.0, seconds_idle=2700, seconds_running=800),  # a washing machine
    _Device(idle=0.0, running=1700.0, seconds_idle=3000, seconds_running=120),  # a kettle
)


_HOUSEHOLDS = 17


_REPORT_RATE = 0.36


_OPENING_SECONDS = 1_377_986_401


def homes(count: int = 10_000, *, seed: int = 7) -> Iterator[Event]:
    """Yield LOAD events of 85 plugs in a house of 17 households; equal seeds give equal events.

    Simulated: every plug measures once a second, and about every third measurement arrives, in any
    order within its second, so that a window of ten seconds contains about three hundred events.
    The mean load is about 76 watts, in sessions: most plugs are idle, a few run for minutes.
    `value` is in watts, `plug_timestamp` in seconds; `plug_id` is unique only within a household.
    """
    rng = Random(seed)
    plugs = [(home, plug) for home in range(_HOUSEHOLDS) for plug in range(len(_DEVICES))]
    running = [
        rng.random() * (d.seconds_idle + d.seconds_running) < d.seconds_running
        for _, plug in plugs
        for d in (_DEVICES[plug],)
    ]
    total, identity, now = 0, 0, _OPENING_SECONDS
    while total < count:
        reports = []
        for k, (_, plug) in enumerate(plugs):
            device = _DEVICES[plug]
            mean = device.seconds_running if running[k] else device.seconds_idle
            if rng.random() * mean < 1:
                running[k] = not running[k]
            if rng.random() < _REPORT_RATE:
                reports.append(k)
        rng.shuffle(reports)
        for k in reports[: count - total]:
            home, plug = plugs[k]
            watts = _DEVICES[plug].running if running[k] else _DEVICES[plug].idle
            identity += 1 + int(rng.random() * 3)
            yield Event(
                "LOAD",
                {
                    "id": identity,
                    "plug_timestamp": now,
                    "value": round(watts * (0.9 + rng.random() * 0.2), 3),
                    "plug_id": plug,
                    "household_id": home,
                },
            )
            total += 1
        now += 1


TAXI_SCHEMA = parse_schema(
    """
    CREATE STREAM S {
        EVENT TRIP {
            id:int, medallion:string, hack_license:string,
            pickup_datetime:int, dropoff_datetime:int, trip_time_in_secs:int, trip_distance:double,
            pickup_loc:string, dropoff_loc:string, payment_type:string,
            fare_amount:double, surcharge:double, mta_tax:double, tip_amount:double,
            tolls_amount:double, total_amount:double
        }
    }
    """
)


_ZONES = {
    "Upper East Side South": 46,
    "Midtown Center": 44,
    "Upper East Side North": 41,
    "Times Sq/Theatre District": 40,
    "Midtown East": 38,
    "Union Sq": 36,
    "Penn Station/Madison Sq West": 35,
    "Murray Hill": 34,
    "East Village": 33,
    "Clinton East": 32,
    "Lincoln Square East": 31,
    "Midtown North": 30,
    "Gramercy": 29,
    "Lenox Hill West": 28,
    "Upper West Side South": 27,
    "East Chelsea": 26,
    "Midtown South": 25,
    "West Village": 24,
    "LaGuardia Airport": 23,
    "Sutton Place/Turtle Bay North": 22,
    "Yorkville West": 21,
    "Lincoln Square West": 19,
    "JFK Airport": 18,
    "Greenwich Village North": 17,
    "TriBeCa/Civic Center": 16,
    "East Harlem South": 11,
    "East Harlem North": 8,
    "Astoria": 6,
    "Williamsburg (North Side)": 5,
    "Park Slope": 4,
    "Central Harlem": 4,
    "East Concourse/Concourse Village": 1,
    "Midwood": 1,
    "Gravesend": 1,
    "West Brighton": 1,
}
"""Zones of New York City, and how many of a thousand trips begin or end in each."""


_REGULARS = (
    ("East Harlem North", "Midwood"),
    ("Midwood", "Gravesend"),
    ("Gravesend", "West Brighton"),
    ("West Brighton", "Lincoln Square West"),
    ("Lincoln Square West", "Sutton Place/Turtle Bay North"),
    ("Sutton Place/Turtle Bay North", "East Concourse/Concourse Village"),
    ("East Concourse/Concourse Village", "East Harlem North"),
    ("East Harlem North", "East Harlem North"),
    ("East Harlem North", "Gravesend"),
    ("Gravesend", "Midwood"),
    ("Midwood", "Midwood"),
)


_REGULAR_SHARE = 0.0016
"""Share of the taxi trips on one of the routes in the queries."""


_TAXIS = 5_000


_STAYS_IN_ZONE = 0.35


_FIRST_SECOND = 1_357_016_400


def taxis(count: int = 10_000, *, seed: int = 7) -> Iterator[Event]:
    """Yield TRIP events in the order of their drop-offs; equal seeds give equal events.

    Simulated: five thousand taxis that drop off, wait, and pick up again, often in the same zone;
    about five drop-offs a second, so that a window of 10,000 seconds contains fifty thousand
    events; popular zones, and sometimes one of the routes of the queries (CORE App. F). Times are
    in seconds, distances in miles, amounts in dollars; a fare depends on distance and time.
    """
    rng = Random(seed)
    names = list(_ZONES)
    shares = list(accumulate(_ZONES.values()))

    def zone() -> str:
        return names[bisect(shares, rng.random() * shares[-1])]

    # (drop-off, taxi, pick-up, from, to) of the trip that each taxi is on
    trips = []
    for taxi in range(_TAXIS):
        pick_up = _FIRST_SECOND - int(rng.random() * 600)
        trips.append((_FIRST_SECOND + int(rng.random() * 900), taxi, pick_up, zone(), zone()))
    heapify(trips)
    for identity in range(count):
        drop_off, taxi, pick_up, origin, goal = trips[0]
        yield Event("TRIP", _trip(rng, identity, taxi, pick_up, drop_off, origin, goal))
        origin, goal = goal if rng.random() < _STAYS_IN_ZONE else zone(), zone()
        if rng.random() < _REGULAR_SHARE:
            origin, goal = _REGULARS[int(rng.random() * len(_REGULARS))]
        pick_up = drop_off + 30 + int(rng.random() * 600)
        drop_off = pick_up + 120 + int((rng.random() + rng.random()) * 640)
        heapreplace(trips, (drop_off, taxi, pick_up, origin, goal))


def _trip(
    rng: Random, identity: int, taxi: int, pick_up: int, drop_off: int, origin: str, goal: str
) -> dict[str, Value]:
    seconds = drop_off - pick_up
    miles = round(seconds * (0.002 + rng.random() * 0.003), 2)
    fare = 2.5 + 0.5 * int(5 * miles + seconds / 120)
    card = rng.random() < 0.5
    tip = round(fare * 0.05 * int(rng.random() * 6), 2) if card else 0.0
    tolls = 4.8 if "Airport" in origin + goal and rng.random() < 0.5 else 0.0
    surcharge = 0.5 if rng.random() < 0.4 else 0.0
    return {
        "id": identity,
        "medallion": f"M{taxi:05}",
        "hack_license": f"H{(taxi * 7 + pick_up // 43_200) % (2 * _TAXIS):05}",
        "pickup_datetime": pick_up,
        "dropoff_datetime": drop_off,
        "trip_time_in_secs": seconds,
        "trip_distance": miles,
        "pickup_loc": origin,
        "dropoff_loc": goal,
        "payment_type": "CRD" if card else "CSH",
        "fare_amount": fare,
        "surcharge": surcharge,
        "mta_tax": 0.5,
        "tip_amount": tip,
        "tolls_amount": tolls,
        "total_amount": round(fare + surcharge + 0.5 + tip + tolls, 2),
    }
