"""Whatever is given as events is events, or an error of cerlab with a code, at every door."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import cerlab
from cerlab import Stream

QUERY = "SELECT * WHERE A ; B"
ROWS = "MATCH_RECOGNIZE (MEASURES B.{name} AS m PATTERN (A B) DEFINE A AS type = 'A')"
TYPES = ["A", "B"]


def dicts(**columns: Iterable[Any]) -> list[dict[str, Any]]:
    return [
        {"type": kind, **dict(zip(columns, values, strict=True))}
        for kind, *values in zip(TYPES, *columns.values(), strict=True)
    ]


def pandas(**columns: Any) -> Any:
    return pd.DataFrame({"type": TYPES, **columns})


def polars(*columns: Any) -> Any:
    return pl.DataFrame([pl.Series("type", TYPES), *columns])


FRAME = pandas(v=[1, 2])
LARGE = 10**18 + 1

INT128 = getattr(pl, "Int128", pl.Int64)
"""The type of polars, which older versions do not have."""

HOLDS: dict[str, tuple[Callable[[], Any], list[Any]]] = {
    "polars Categorical": (lambda: polars(pl.Series("v", ["x", "y"], pl.Categorical)), ["x", "y"]),
    "polars Enum": (lambda: polars(pl.Series("v", ["x", None], pl.Enum(["y", "x"]))), ["x", None]),
    "polars Int128": (lambda: polars(pl.Series("v", [LARGE, -5], INT128)), [LARGE, -5]),
    "polars Int128, NULL": (lambda: polars(pl.Series("v", [None, -5], INT128)), [None, -5]),
    "pandas sparse": (lambda: pandas(v=pd.arrays.SparseArray([7, 0])), [7, 0]),
    "pandas sparse doubles": (lambda: pandas(v=pd.arrays.SparseArray([0.5, 1.5])), [0.5, 1.5]),
    "pandas number as a name": (
        lambda: pandas(v=np.array([0.5, 1.5], np.longdouble), w=[1, 2]).rename(columns={"w": 1}),
        [0.5, 1.5],
    ),
    "pandas long doubles": (lambda: pandas(v=np.array([0.5, 1.5], np.longdouble)), [0.5, 1.5]),
    "long doubles": (lambda: dicts(v=np.array([0.5, -1e300], np.longdouble)), [0.5, -1e300]),
    "long infinity": (lambda: dicts(v=np.array([math.inf, 0], np.longdouble)), [math.inf, 0]),
    "dicts in a series": (lambda: pd.Series(dicts(v=[1, 2])), [1, 2]),
}
"""Values that are events, and their attribute v."""


@pytest.mark.parametrize("name", HOLDS)
def test_values_are_what_they_were(name: str) -> None:
    make, values = HOLDS[name]
    given = make()
    assert [event.attributes["v"] for event in Stream(given)] == values
    assert cerlab.parse_query(QUERY).run(given).count() == 1
    assert len(cerlab.evaluate(QUERY, given)) == 1
    rows = cerlab.parse_query("SELECT a[v], b[v] WHERE A AS a ; B AS b").run(given).table()
    assert [rows.to_pylist()[0][f"{label}.v"] for label in "ab"] == values
    if name != "dicts in a series":
        table = cerlab.match_recognize(ROWS.format(name="v"), given)
        assert table.to_pylist() == [{"m": values[1]}]


@pytest.mark.skipif(pl.Int64 == INT128, reason="this polars has no integers of 128 bits")
def test_integers_of_128_bits_are_exact() -> None:
    values = [2**127 - 1, -(2**127)]
    frame = polars(pl.Series("v", values, INT128))
    assert [event.attributes["v"] for event in Stream(frame)] == values
    assert cerlab.count("SELECT * WHERE A AS a ; B AS b FILTER a.v > b.v", frame) == 1


class Odd:
    """No container of events."""


def surrogate(frame: bool) -> Any:
    columns = {"\ud800": [1, 2]}
    return pandas(**columns) if frame else dicts(**columns)


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "pandas Series": (lambda: FRAME["type"], "CER0705"),
    "pandas row": (lambda: FRAME.iloc[0], "CER0705"),
    "polars Series": (lambda: pl.Series("type", TYPES), "CER0705"),
    "pandas GroupBy": (lambda: FRAME.groupby("type"), "CER0705"),
    "polars GroupBy": (lambda: polars().group_by("type"), "CER0705"),
    "pandas Rolling": (lambda: FRAME.rolling(2), "CER0705"),
    "polars LazyFrame": (lambda: polars().lazy(), "CER0812"),
    "polars struct": (lambda: polars(pl.Series("v", [{"x": 1}, {"x": 2}])), "events"),
    "polars list of Int128": (
        lambda: polars(pl.Series("v", [[1], [2]], pl.List(INT128))),
        "events" if pl.Int64 == INT128 else "CER0703",
    ),
    "Arrow array": (lambda: pa.array(TYPES), "CER0705"),
    "NumPy array": (lambda: np.array(TYPES), "CER0705"),
    "long double": (lambda: dicts(v=[np.longdouble(1) / 3, 1]), "CER0720"),
    "complex long double": (lambda: dicts(v=[np.clongdouble(1), 1]), "CER0703"),
    "complex": (lambda: pandas(v=[1j, 2j]), "CER0703"),
    "surrogate in a name": (lambda: surrogate(frame=False), "CER0704"),
    "surrogate in a column": (lambda: surrogate(frame=True), "CER0704"),
    "number as a name": (lambda: [{"type": "A", 1: 2}, {"type": "B"}], "CER0706"),
    "None as a name": (lambda: [{"type": "A", None: 2}, {"type": "B"}], "CER0706"),
    "names of two kinds": (lambda: [{"type": "A", ("v", "w"): 2}, {"type": "B"}], "CER0706"),
    "number": (lambda: 3, "CER0812"),
    "None": (lambda: None, "CER0812"),
    "bytes": (lambda: b"A", "CER0812"),
    "dict": (lambda: {"type": "A"}, "CER0812"),
    "object": (lambda: Odd(), "CER0812"),
    "numbers": (lambda: [1, 2], "CER0705"),
}
"""Values that are no events, and the error of `run`."""

DOORS: dict[str, Callable[[Any], object]] = {
    "run": lambda given: list(cerlab.parse_query(QUERY).run(given)),
    "evaluate": lambda given: cerlab.evaluate(QUERY, given),
    "count": lambda given: cerlab.count(QUERY, given),
    "why": lambda given: cerlab.why(QUERY, given, [0, 1]),
    "Stream": lambda given: Stream(given).to_arrow(),
    "Stream.read": lambda given: Stream.read(given),
    "Stream.from_arrow": lambda given: Stream.from_arrow(given).to_arrow(),
    "Stream.from_events": lambda given: Stream.from_events(given).to_arrow(),
    "open": lambda given: cerlab.parse_query(QUERY).open().push(given),
    "match_recognize": lambda given: cerlab.match_recognize(ROWS.format(name="type"), given),
}
"""What takes events."""


def outcome(door: str, given: Any) -> str:
    try:
        DOORS[door](given)
    except cerlab.CerlabError as error:
        return error.code
    return "events"


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
@pytest.mark.parametrize("door", DOORS)
def test_no_door_lets_another_exception_out(door: str) -> None:
    """One that is not of cerlab fails here; `run` has the error of the table."""
    for name, (make, code) in REFUSED.items():
        seen = outcome(door, make())
        assert seen == code if door == "run" else seen, name
    for make, _ in HOLDS.values():
        assert (outcome(door, make()) == "events") or door.startswith("Stream."), door
    assert outcome("Stream.read", FRAME) == outcome("Stream.read", polars().to_arrow()) == "CER0812"


@pytest.mark.parametrize("package", ["pandas", "polars"])
def test_frames_need_their_package(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Stream.from_events(dicts(v=[1, 2]))
    matches = cerlab.parse_query(QUERY).run(stream)
    monkeypatch.setitem(sys.modules, package, None)
    for value in (stream, matches):
        with pytest.raises(cerlab.Unsupported, match=f"CER0423: {package} is not installed"):
            getattr(value, f"to_{package}")()
