"""A synthetic stream of taxi trips with the schema of the taxi data set (CORE App. F)."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator
from heapq import heapify, heapreplace
from itertools import accumulate
from random import Random

from cerlab.logic.ceql.parser import parse_schema
from cerlab.model.event import Event, Value

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
"""Zones of New York City and how many of a thousand trips begin or end there."""

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
"""Of all trips, those on one of the routes that the queries ask for; few others are."""

_TAXIS = 5_000
_STAYS_IN_ZONE = 0.35
_OPENING_SECONDS = 1_357_016_400


def taxis(count: int = 10_000, *, seed: int = 7) -> Iterator[Event]:
    """TRIP events in the order of their drop-offs; the same for the same seed.

    Imitated: five thousand taxis that drop off, wait, and pick up again, often in the same zone;
    some five drop-offs a second, so that a window of 10,000 seconds holds fifty thousand events;
    popular zones, and now and then one of the routes of the queries (CORE App. F). Times are in
    seconds, distances in miles, amounts in dollars; a fare goes by distance and time.
    """
    rng = Random(seed)
    names = list(_ZONES)
    shares = list(accumulate(_ZONES.values()))

    def zone() -> str:
        return names[bisect(shares, rng.random() * shares[-1])]

    # (drop-off, taxi, pick-up, from, to) of the trip that each taxi is on
    trips = []
    for taxi in range(_TAXIS):
        pick_up = _OPENING_SECONDS - int(rng.random() * 600)
        trips.append((_OPENING_SECONDS + int(rng.random() * 900), taxi, pick_up, zone(), zone()))
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
