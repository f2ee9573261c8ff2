"""The examples of the report as corrected, and small ones that tell readings apart (SRT Def. 18).

Positions count from 1 here, as in the papers. TV-4 and TV-9 are about transducers.
"""

from __future__ import annotations

from typing import Any

import pytest

from cerlab.io import Stream
from cerlab.logic.sremo import Sremo, matches
from cerlab.model.event import Event
from proofs_tests.clauses.tables import word
from proofs_tests.sremo.tables import Match, from_one, shown_at, sre

E1 = "<type = 'B'>^ -> r1 . <TRUE>* . <type = 'S' AND id = r1.id>^"
TABLE_1 = [
    Event(kind, {"id": identifier, "price": price, "volume": volume})
    for kind, identifier, price, volume in (
        ("B", 1, 22, 300),
        ("B", 1, 24, 225),
        ("B", 2, 32, 1210),
        ("S", 1, 70, 760),
        ("S", 1, 68, 2000),
        ("B", 2, 33, 95),
    )
]


def events(types: str, **values: str) -> tuple[Event, ...]:
    return Stream.from_events(word(types, **values)).events


def trades(text: str) -> tuple[Event, ...]:
    """``trades("B1 S1")``: types and ids."""
    return tuple(Event(each[0], {"id": int(each[1:])}) for each in text.split())


def whole(text: str, S: Any) -> Match:
    return matches(sre(text), S)


def by_end(text: str, S: Any) -> dict[int, Match]:
    return shown_at(sre(text), S)


def test_tv_1_example_19_consumes_the_whole_string() -> None:
    by_prefix = [matches(sre(E1), TABLE_1[:k]) for k in range(7)]
    none = from_one()
    assert by_prefix == [none, none, none, none, from_one({1, 4}), from_one({1, 5}), none]


def test_tv_2_example_19_on_a_stream() -> None:
    assert by_end(E1, TABLE_1) == {4: from_one({1, 4}, {2, 4}), 5: from_one({1, 5}, {2, 5})}


@pytest.mark.parametrize(
    ("w", "expected"),
    [
        (1, {}),
        (2, {}),
        (3, {4: from_one({2, 4})}),
        (4, {4: from_one({1, 4}, {2, 4}), 5: from_one({2, 5})}),
        (5, {4: from_one({1, 4}, {2, 4}), 5: from_one({1, 5}, {2, 5})}),
    ],
)
def test_tv_3_windows_inside_the_prefix(w: int, expected: dict[int, Match]) -> None:
    assert by_end(f"({E1})[1..{w}]", TABLE_1) == expected


def test_tv_3_example_40_windows_without_a_prefix() -> None:
    assert whole(f"({E1})[1..4]", TABLE_1[:4]) == from_one({1, 4})
    assert whole(f"({E1})[1..4]", TABLE_1[:5]) == from_one()
    assert whole(f"({E1})[1..5]", TABLE_1[:5]) == from_one({1, 5})


def test_tv_5_contiguity() -> None:
    assert by_end("A^ . B^", events("ABCABC")) == {2: from_one({1, 2}), 5: from_one({4, 5})}


@pytest.mark.parametrize(
    ("buy", "price", "sell", "expected"),
    [
        (1, 5, 1, from_one({1, 2})),
        (1, 600, 1, from_one({1, 2})),
        (1, 600, 2, from_one()),
        (1, 20, 1, from_one()),
    ],
)
def test_tv_6_example_28(buy: int, price: int, sell: int, expected: Match) -> None:
    cheap_or_dear = (
        "(<type = 'B' AND price < 10>^ -> r1 | <type = 'B' AND NOT price <= 500>^ -> r1)"
        " . <type = 'S' AND id = r1.id>^"
    )
    S = [Event("B", {"id": buy, "price": price}), Event("S", {"id": sell, "price": 7})]
    assert whole(cheap_or_dear, S) == expected


def test_tv_7_iteration_keeps_the_last_event() -> None:
    S = trades("B1 B1 B1 S1 B1 S1")
    once = "(B^ -> r1)+ . <type = 'S' AND id = r1.id>^"
    at_4 = from_one({1, 2, 3, 4}, {2, 3, 4}, {3, 4})
    assert by_end(once, S) == {4: at_4, 6: from_one({5, 6})}
    assert by_end(f"({once})+", S) == {
        4: at_4,
        6: from_one({1, 2, 3, 4, 5, 6}, {2, 3, 4, 5, 6}, {3, 4, 5, 6}, {5, 6}),
    }
    assert whole(once, trades("B2 B1 S1")) == from_one({1, 2, 3})
    assert whole(once, trades("B1 B2 S1")) == from_one()


@pytest.mark.parametrize(
    ("S", "expected"),
    [
        ("B1 S2", from_one()),
        ("B1 B3 S2", from_one()),
        ("B2 B3 S2", from_one({1, 3})),
        ("B1 B2 B3 S2", from_one({2, 4})),
    ],
)
def test_tv_8_figure_4(S: str, expected: Match) -> None:
    assert whole("_* . B^ -> r1 . _* . <type = 'S' AND id = r1.id>^", trades(S)) == expected


@pytest.mark.parametrize(
    ("S", "expected"),
    [
        ("AB", from_one()),
        ("AA", from_one({1, 2})),
        ("AAB", from_one()),
        ("ABA", from_one({1, 3})),
        ("ABC", from_one()),
    ],
)
def test_tv_10_figure_12_as_drawn(S: str, expected: Match) -> None:
    assert whole("_* . _^ -> r . _* . <type = r.type>^", events(S)) == expected


def test_tv_11_wayebs_patterns_with_registers() -> None:
    S = events("ACBABB", v="221222")
    assert by_end("(A^ -> y . (<v = y.v>^)*)[1..3]", S) == {
        1: from_one({1}),
        2: from_one({1, 2}),
        4: from_one({4}),
        5: from_one({4, 5}),
        6: from_one({4, 5, 6}),
    }
    in_order = "A -> x . <type = 'B' AND v = x.v>"
    assert whole(in_order, events("AB", v="33")) == from_one(())
    assert whole(in_order, events("AB", v="34")) == from_one()
    read_before_written = "<type = 'B' AND v = x.v> . A -> x"
    assert whole(read_before_written, events("BA", v="33")) == from_one()
    assert whole(read_before_written, events("BA", v="34")) == from_one()


DEF_45 = "A^ . (!(B^))* . B^"
NO_B = "A^ . !(_* . B . _*) . B^"
TERMINAL = "A^ . <NOT type = 'B'>* . B^"


@pytest.mark.parametrize(
    ("S", "as_printed", "correction"),
    [
        ("AB", from_one({1, 2}), from_one({1, 2})),
        ("ACB", from_one({1, 3}), from_one({1, 3})),
        ("ABB", from_one(), from_one()),
        ("ABBB", from_one({1, 4}), from_one()),
        ("ACBCB", from_one({1, 5}), from_one()),
    ],
)
def test_tv_12_skip_till_next(S: str, as_printed: Match, correction: Match) -> None:
    assert whole(DEF_45, events(S)) == as_printed
    for text in (NO_B, TERMINAL, "@(A^, B^)"):
        assert whole(text, events(S)) == correction


def test_tv_12_on_a_stream_and_with_registers() -> None:
    assert by_end("@(A^, B^)", events("AAB")) == {3: from_one({1, 3}, {2, 3})}
    for text in (
        "_^ -> r . !(_* . <type = r.type> . _*) . <type = r.type>^",
        "@(_^ -> r, <type = r.type>^)",
    ):
        assert whole(text, events("ABA")) == from_one({1, 3})
        assert whole(text, events("ABAA")) == from_one()
    assert whole("C . !(_* . A . _ . _*) . A^ . _^", events("CAAB")) == from_one({3, 4})
    assert whole("@(C^, A^ . _^)", events("CAAB")) == from_one({1, 3, 4})


def test_tv_13_iteration_under_skip_till_any() -> None:
    S = events("ABBXBC", v="100002")
    last = "<type = 'C' AND r1.v < v>^"
    any_iteration = whole(f"#(A^ -> r1, B^, #(B^*), {last})", S)
    assert any_iteration == from_one(
        {1, 2, 6}, {1, 3, 6}, {1, 5, 6}, {1, 2, 3, 6}, {1, 2, 5, 6}, {1, 3, 5, 6}, {1, 2, 3, 5, 6}
    )
    contiguous = whole(f"#(A^ -> r1, B^+, {last})", S)
    assert contiguous == from_one({1, 2, 3, 6}, {1, 2, 6}, {1, 3, 6}, {1, 5, 6})


def test_tv_14_negation_is_complement_of_the_slice() -> None:
    is_accepted = {S: bool(whole("!(B)", events(S))) for S in ("", "A", "B", "BB", "AB")}
    assert is_accepted == {"": True, "A": True, "B": False, "BB": True, "AB": True}


def test_tv_15_an_empty_register_and_an_iteration_without_reset() -> None:
    fresh: Sremo = sre("<NOT type = r1.type>^ -> r1")
    assert matches(fresh, events("A")) == from_one({1})
    assert whole(f"({fresh})*", events("AA")) == from_one()
    assert whole(f"({fresh})*", events("AB")) == from_one({1, 2})


def test_tv_15b_two_ways_to_one_match() -> None:
    assert whole("_^ | A^", events("A")) == from_one({1})
    assert by_end("_^ | A^", events("A")) == {1: from_one({1})}
