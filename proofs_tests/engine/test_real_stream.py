"""The real stock stream: the compiled engine has exactly the answers of the tECS (CORE App. G).

By a digest that does not depend on order. The whole stream in the deep profile; else a part of it
in which every query has answers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest

import cerlab
from cerlab import ComplexEvent, io
from cerlab.compile.pattern import as_pattern
from cerlab.engine.reference import totals
from cerlab.engine.totals import counts_of_ends
from cerlab.engine.whole_stream import compiled_answers
from cerlab.evaluate import answers_of
from cerlab.model.stream import Stream
from proofs_tests.benchmarks.queries import catalogue
from proofs_tests.benchmarks.streams import from_file
from proofs_tests.suite import Suite

PART = slice(100_000, 106_000)
ANSWERS = {
    "S3": 345_816,
    "S6": 1_789_725,
    "Q1": 13_009_577,
    "Q2": 1_074_000,
    "Q3": 7_209,
    "Q5": 7_911_086,
    "Q6": 81_799,
    "Q7": 30_460_891,
}
"""Numbers of answers on the whole stream under CONSUME BY NONE."""


def digest(answers: Iterable[ComplexEvent]) -> tuple[int, int]:
    """Return the number of answers and the sum of their hashes: equal for equal sets."""
    count = total = 0
    for answer in answers:
        count += 1
        total += hash((answer.start, answer.end, answer.positions))
    return count, total & (1 << 64) - 1


@pytest.fixture(scope="module")
def stream(stock_file: Any) -> Stream:
    """As columns in memory."""
    return from_file(str(stock_file))


def part(stream: Stream) -> Stream:
    return io.from_arrow(pa.table({a: column[PART] for a, column in stream.columns.items()}))


@pytest.mark.parametrize("name", ANSWERS)
@pytest.mark.parametrize("consume", ["", "CONSUME BY ANY", "CONSUME BY PARTITION"])
def test_the_same_answers_as_the_tecs(
    name: str, consume: str, stream: Stream, suite: Suite
) -> None:
    query = as_pattern(f"{catalogue('stocks')[name]} {consume}")
    some = stream if suite.deep else part(stream)
    batches = compiled_answers(query.plan, query.learned, some, None)
    ours = digest(answer for batch in batches for answer in batch)
    assert ours == digest(answers_of(query, some, "tecs"))
    if suite.deep and not consume:
        assert ours[0] == ANSWERS[name]


@pytest.mark.parametrize("name", ANSWERS)
def test_the_published_numbers_by_listing_and_by_counting(name: str, stream: Stream) -> None:
    query = as_pattern(catalogue("stocks")[name])
    count = sum(map(len, compiled_answers(query.plan, query.learned, stream, None)))
    ((_, counts),) = counts_of_ends(query.plan, query.learned, stream, None)
    assert count == ANSWERS[name] == int(counts.sum())


def test_rows_with_names_and_sums_that_are_not_listed(stream: Stream) -> None:
    """S3 as a table; of Q5 the sums at each end, against those of the columns listed."""
    table = cerlab.parse_query(catalogue("stocks")["S3"]).run(stream).table(["T1.name", "T3.name"])
    assert table.num_rows == ANSWERS["S3"]
    assert table["T1.name"].unique().to_pylist() == ["INTC"]
    assert table["T3.name"].unique().to_pylist() == ["QQQ"]
    matches = cerlab.parse_query(catalogue("stocks")["Q5"]).run(stream)
    totals = matches.aggregate(sum="csco.volume", group_by="end")
    reference = (
        matches.table(["csco.volume"])
        .group_by("end")
        .aggregate([("csco.volume", "sum"), ([], "count_all")])
    )
    reference = reference.sort_by("end")
    assert totals["end"].to_pylist() == reference["end"].to_pylist()
    assert totals["count"].to_pylist() == reference["count_all"].to_pylist()
    assert totals["sum(csco.volume)"].to_pylist() == reference["csco.volume_sum"].to_pylist()
    assert sum(totals["count"].to_pylist()) == ANSWERS["Q5"]


def test_counts_of_each_end_are_exact(stream: Stream, suite: Suite) -> None:
    """Q4 has 87 million answers; Python's integers count the same for every end."""
    query = as_pattern(catalogue("stocks")["Q4"])
    some = stream if suite.deep else part(stream)
    expected = [row for row in totals.counts(query.plan, query.machine, some, None) if row[1]]
    ((ends, counts),) = counts_of_ends(query.plan, query.learned, some, None)
    assert list(zip(ends.tolist(), counts.tolist(), strict=True)) == expected
    assert cerlab.count(query, some) == sum(count for _, count in expected)
