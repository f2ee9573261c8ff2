"""Which events a query has to see, by hand, and the tests that have a bit."""

from __future__ import annotations

import pytest

import cerlab
from cerlab import Event, satisfies
from cerlab.model.stream import TimeAxis, TimeUnit
from cerlab.predicates.syntax import Like, atoms
from cerlab.predicates.text import predicate_text
from cerlab.spark import relevant_events
from cerlab.spark.plan import attributes_tested, window_width
from cerlab.spark.relevant_events import MOST_BITS, plan_over_bits, why_all_events

SKIPS = [
    "SELECT * WHERE A ; B WITHIN 5 [t]",
    "SELECT * WHERE A ; B",
    "SELECT * WHERE (A ; B+) OR (C ; A) WITHIN 5 [t]",
    "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 5 [t] CONSUME BY PARTITION",
    "SELECT MAX * WHERE A ; B+ PARTITION BY [k] WITHIN 5 [t]",
]
ALL = {
    "SELECT * WHERE A ; B WITHIN 5 EVENTS": "counts",
    "SELECT STRICT * WHERE A ; B WITHIN 5 [t]": "STRICT",
    "SELECT * WHERE A : B WITHIN 5 [t]": "ends what has begun",
    "SELECT * WHERE A ; B :+ WITHIN 5 [t]": "ends what has begun",
    "SELECT * WHERE NOT(A FILTER A[v = 1]) ; B WITHIN 5 [t]": "ends what has begun",
}


@pytest.mark.parametrize("text", SKIPS)
def test_events_without_a_bit_change_nothing(text: str) -> None:
    assert why_all_events(cerlab.parse_query(text).plan) is None


@pytest.mark.parametrize("text", ALL)
def test_events_without_a_bit_matter(text: str) -> None:
    why = why_all_events(cerlab.parse_query(text).plan)
    assert why is not None
    assert ALL[text] in why


def test_what_has_no_bit_is_read_by_the_plan() -> None:
    text = "SELECT * WHERE A AS a ; B AS b FILTER a[v > 1] AND b[w LIKE 'x'] WITHIN 5 [t]"
    plan = cerlab.parse_query(text).plan
    over_bits = plan_over_bits(plan, lambda P: not any(isinstance(atom, Like) for atom in atoms(P)))
    assert [predicate_text(P) for P in over_bits.tests] == ["type = 'A' AND v > 1"]
    assert len(over_bits.others) == 1
    assert attributes_tested(over_bits.plan, None) == (over_bits.bits, "type", "w", "t")
    every = plan_over_bits(plan, lambda P: True)
    assert attributes_tested(every.plan, None) == (every.bits, "t")


def test_the_name_of_the_bits_is_no_attribute() -> None:
    text = "SELECT * WHERE A FILTER A[bits = 1 AND `bits____` = 2] WITHIN 5 [t]"
    over_bits = plan_over_bits(cerlab.parse_query(text).plan, lambda P: False)
    assert over_bits.bits not in attributes_tested(over_bits.plan, None)


def test_more_tests_than_bits_are_left_to_the_plan() -> None:
    steps = " ; ".join(f"A{n}" for n in range(MOST_BITS + 3))
    over_bits = plan_over_bits(cerlab.parse_query(f"SELECT * WHERE {steps}").plan, lambda P: True)
    assert (len(over_bits.tests), len(over_bits.others)) == (MOST_BITS, 3)
    assert 2**MOST_BITS < 2**63  # which tells the last bit from what is above it


def test_a_bit_is_read_whatever_the_others_are() -> None:
    for bits in range(16):
        holds = [satisfies(Event("A", {"b": bits}), relevant_events._bit("b", k)) for k in range(4)]
        assert holds == [bool(bits & 1 << k) for k in range(4)]


def test_from_reads_the_stream_and_a_window_its_clock() -> None:
    plan = cerlab.parse_query("SELECT * FROM S WHERE A PARTITION BY [k] WITHIN 5 [t]").plan
    assert attributes_tested(plan, None) == ("type", "k", "stream", "t")


@pytest.mark.parametrize(
    ("window", "time", "width"),
    [
        ("3 [t]", None, 3),
        ("3 SECONDS", TimeAxis("t", TimeUnit.MS), 3_000),
        ("3 SECONDS", TimeAxis("t"), 3_000_000),  # moments, here of microseconds
        ("3 SECONDS", None, 3_000_000),
    ],
)
def test_the_width_of_a_window_is_in_units_of_its_column(
    window: str, time: TimeAxis | None, width: int
) -> None:
    plan = cerlab.parse_query(f"SELECT * WHERE A WITHIN {window}").plan
    assert window_width(plan.window, time, 1_000) == width
