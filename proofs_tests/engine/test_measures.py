"""Sums of doubles are exact, however far apart the doubles are."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import fsum, isnan, ldexp, nan
from random import Random

import numpy as np
import pyarrow as pa
import pytest

import cerlab
from cerlab.engine import measures
from proofs_tests.suite import Suite, random_suite


def random_doubles(rng: Random) -> list[float]:
    """Draw prices, doubles of one size, doubles of any size, or some of each."""
    draws: tuple[Callable[[], float], ...] = (
        lambda: round(rng.uniform(-100, 100), 2),
        lambda: float(rng.randint(-8, 8)),
        lambda: ldexp(rng.uniform(-1, 1), rng.randint(-1074, 1023)),
        lambda: rng.choice((0.0, -0.0, nan, 5e-324, -1.7e308)),
    )
    some = rng.sample(draws, rng.randint(1, len(draws)))
    return [rng.choice(some)() for _ in range(rng.randint(0, 9))]


def test_parts_of_doubles_are_those_doubles(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measures, "BLOCK", 3)

    def case(rng: Random) -> bool:
        doubles = random_doubles(rng)
        of = measures.numbers(pa.array(doubles, pa.float64()), "x")
        unit = Fraction(2) ** of.exponent
        exact = [Fraction(0) if isnan(x) else Fraction(x) for x in doubles]
        assert [n * unit for n in of.joined(of.parts)] == exact
        assert of.present.tolist() == [int(not isnan(x)) for x in doubles]
        most = 1 << measures.PART_BITS
        assert len(of.parts) == 1 or all(measures.largest(part) < most for part in of.parts)
        return len(of.parts) > 1

    suite.run(case, deep_count=20_000, needs_answers=0.3)


@random_suite(20_000, needs_answers=0.2)
def test_rows_are_summed_exactly_beyond_64_bits(rng: Random) -> bool:
    rows, bits = rng.randint(1, 30), rng.choice((8, 40, 62))
    runs = np.array(
        [rng.randint(rng.choice((0, -(1 << bits))), 1 << bits) for _ in range(rows)], np.int64
    )
    end = np.arange(rows)
    group = np.array([rng.randrange(4) for _ in range(rows)])
    totals = measures.EndTotals(end, end, group, runs, (), ())
    found = measures.group_rows(totals, [group])
    sums = [sum(runs[group == g].tolist()) for g in found.group.tolist()]
    assert found.runs.tolist() == sums
    return any(abs(total) >= 1 << 62 for total in sums)


def test_sums_of_prices_are_rounded_once() -> None:
    rng = Random(3)
    prices = [0.01, *(round(rng.uniform(0, 99_999), 2) for _ in range(1_000))]
    table = pa.table({"type": ["A"] * len(prices), "price": prices})
    totals = (
        cerlab.parse_query("SELECT * WHERE A AS a : A AS b").run(table).aggregate(sum="b.price")
    )
    assert len(measures.numbers(table["price"], "price").parts) > 1
    assert totals["sum(b.price)"].to_pylist() == [fsum(b for _, b in pairwise(prices))]
