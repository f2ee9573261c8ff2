"""The generated streams: the same for the same seed, made as they are asked for, with habits."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import islice, pairwise
from statistics import mean
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import cerlab
from cerlab import Event, Schema
from cerlab.io.synthetic import HOMES_SCHEMA, TAXI_SCHEMA, RandomWalk, event_batches, homes, taxis
from cerlab.model.event import AttributeType, Value
from cerlab.testing import STOCK_SCHEMA, stock_batches, stocks
from proofs_tests.benchmarks.memory import resident

pytestmark = pytest.mark.night

Generator = Callable[..., Iterator[Event]]
STREAMS: dict[str, tuple[Generator, Schema, str]] = {
    "stocks": (stocks, STOCK_SCHEMA, "stock_time"),
    "homes": (homes, HOMES_SCHEMA, "plug_timestamp"),
    "taxis": (taxis, TAXI_SCHEMA, "dropoff_datetime"),
}
PYTHON = {AttributeType.INT: int, AttributeType.DOUBLE: float, AttributeType.STRING: str}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_a_function_of_its_seed(name: str) -> None:
    generate, schema, time = STREAMS[name]
    events = list(generate(3_000))
    assert len(events) == 3_000
    assert list(generate(700)) == events[:700]
    assert list(islice(generate(10**12), 50)) == events[:50], "it is made as it is asked for"
    assert list(generate(50, seed=8)) != events[:50]
    assert list(generate(0)) == []
    for event in events:
        event_type = schema.event(event.type)
        assert event_type is not None
        kinds = {each.name: PYTHON[each.type] for each in event_type.attributes}
        assert {key: type(value) for key, value in event.attributes.items()} == kinds
    times = [whole(event, time) for event in events]
    assert times == sorted(times)
    ids = [whole(event, "id") for event in events]
    assert all(a < b for a, b in pairwise(ids))


def whole(event: Event, name: str) -> int:
    value = event.attributes[name]
    assert isinstance(value, int)
    return value


def test_a_house_has_85_plugs_and_some_76_watts_on_average() -> None:
    events = list(homes(60_000))
    plugs = {(event.attributes["household_id"], event.attributes["plug_id"]) for event in events}
    assert len(plugs) == 85
    assert {home for home, _ in plugs} == set(range(17))
    loads = [event.attributes["value"] for event in events]
    assert 40 < mean(load for load in loads if isinstance(load, float)) < 110
    seconds = whole(events[-1], "plug_timestamp") - whole(events[0], "plug_timestamp")
    assert 200 < 10 * len(events) / seconds < 400, "events in a window of ten seconds"


def test_a_taxi_ends_a_trip_before_it_begins_the_next() -> None:
    events = list(taxis(30_000))
    free: dict[Value, int] = {}
    again = 0
    for trip in events:
        taxi, start = trip.attributes["medallion"], whole(trip, "pickup_datetime")
        assert free.get(taxi, 0) < start
        again += taxi in free
        free[taxi] = whole(trip, "dropoff_datetime")
        assert free[taxi] - start == trip.attributes["trip_time_in_secs"]
    assert again > 20_000, "most trips follow another of the same taxi"


def columns_of(batches: Iterator[Any]) -> dict[str, list[Any]]:
    columns = pa.Table.from_batches(list(batches)).to_pydict()
    assert isinstance(columns, dict)
    return columns


def test_stocks_by_columns_do_not_depend_on_the_batch() -> None:
    whole_stream = columns_of(stock_batches(3_000, batch=3_000))
    for batch in (1_000, 1_234, 97):
        assert columns_of(stock_batches(3_000, batch=batch)) == whole_stream
    assert columns_of(stock_batches(700)) == {k: v[:700] for k, v in whole_stream.items()}
    assert columns_of(stock_batches(700, seed=8)) != columns_of(stock_batches(700))
    assert [batch.num_rows for batch in stock_batches(10, batch=4)] == [4, 4, 2]


def test_stocks_by_columns_have_the_habits_of_stocks() -> None:
    """Shares of names and types, ties and gaps, within what chance allows."""
    count = 40_000
    by_columns = columns_of(stock_batches(count))
    one_by_one = columns_of(event_batches(stocks(count), STOCK_SCHEMA))
    assert list(by_columns) == list(one_by_one)
    for name in ("type", "name"):
        for value in set(one_by_one[name]):
            shares = [each[name].count(value) / count for each in (by_columns, one_by_one)]
            assert abs(shares[0] - shares[1]) < 0.02, value
    ties = [
        sum(a == b for a, b in pairwise(each["stock_time"])) / count
        for each in (by_columns, one_by_one)
    ]
    assert abs(ties[0] - ties[1]) < 0.02
    for times in (by_columns["stock_time"], by_columns["id"]):
        assert all(a <= b for a, b in pairwise(times))
    lengths = [each["stock_time"][-1] - each["stock_time"][0] for each in (by_columns, one_by_one)]
    assert abs(lengths[0] / lengths[1] - 1) < 0.05


def test_a_walk_goes_by_hand_and_turns_at_its_walls() -> None:
    """From 10.00 in steps of up to a cent, between 9.50 and 10.50."""
    walk = RandomWalk(10.0)
    highest, lowest, none = 0.9999, 0.0, 0.5
    assert walk.prices(np.array([none, highest, highest, lowest])).tolist() == [
        *(10.0, 10.01, 10.02, 10.01)
    ]
    up = walk.prices(np.full(60, highest)).tolist()
    assert up[48] == 10.5
    assert up[49:51] == [10.49, 10.48]
    prices = RandomWalk(10.0).prices(np.random.default_rng(1).random(200_000))
    assert 9.5 <= prices.min() < 9.51
    assert 10.49 < prices.max() <= 10.5


def test_events_and_their_columns_are_the_same_stream() -> None:
    for generate, schema, _ in STREAMS.values():
        batches = list(event_batches(generate(500), schema, batch=200))
        assert [batch.num_rows for batch in batches] == [200, 200, 100]
        stream = cerlab.Stream.from_arrow(pa.Table.from_batches(batches))
        assert list(stream.events) == list(generate(500))


PEAK = """
import sys
from proofs_tests.benchmarks.memory import resident
from cerlab.io.synthetic import stock_batches
for batch in stock_batches(int(sys.argv[1])):
    pass
print(resident()[1])
"""


def test_a_long_stream_is_made_in_the_memory_of_a_batch(request: pytest.FixtureRequest) -> None:
    try:
        resident()
    except OSError:
        pytest.skip("there is no /proc to read the resident set from")
    deep = request.config.getoption("--profile") == "deep"
    short, long = (peak_of(count) for count in (300_000, 100_000_000 if deep else 3_000_000))
    assert long < short + 30e6


def peak_of(count: int) -> int:
    done = subprocess.run([sys.executable, "-c", PEAK, str(count)], capture_output=True, check=True)
    return int(done.stdout)
