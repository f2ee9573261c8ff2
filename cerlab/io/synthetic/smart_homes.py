"""A synthetic stream of smart plugs with the schema of the smart homes data set (CORE App. E)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from cerlab.logic.ceql.parser import parse_schema
from cerlab.model.event import Event

HOMES_SCHEMA = parse_schema(
    """
    CREATE STREAM S {
        EVENT LOAD { id:int, plug_timestamp:int, value:double, plug_id:int, household_id:int }
    }
    """
)


@dataclass(frozen=True, slots=True)
class _Device:
    """Watts while it is idle and while it runs; mean seconds of either."""

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
    """LOAD events of the 85 plugs of a house with 17 households; the same for the same seed.

    Imitated: every plug measures once a second and about every third measurement arrives, in any
    order within its second, so that a window of ten seconds holds some three hundred events; the
    mean load is 76 watts or so, in sessions: most plugs idle, a few run for minutes. `value` is in
    watts, `plug_timestamp` in seconds; `plug_id` is unique within a household only.
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
