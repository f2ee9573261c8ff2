"""PARTITION BY: each substream of equal keys on its own (CORE Sec. 2.2), by hand."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import ComplexEvent
from proofs_tests.clauses.tables import answer_rows, c, check_answers, word

NAN = float("nan")


def with_keys(types: str, keys: list[Any]) -> list[dict[str, Any]]:
    return [{"type": t, "k": k} for t, k in zip(types, keys, strict=True)]


CASES = [
    *answer_rows("""
only-equal-keys-meet | SELECT * WHERE A ; B PARTITION BY [k] | AABB k=1212 | 0-2 0,2; 1-3 1,3
contiguity-still-holds-in-the-substream | SELECT * WHERE A : B PARTITION BY [k] | AAB k=111 |
    1-2 1,2
iteration-inside-one-substream | SELECT * WHERE A+ PARTITION BY [k] | AAA k=121 | 0-0 0; 1-1 1;
    0-2 0,2; 2-2 2
contiguous-iteration-over-a-foreign-event | SELECT * WHERE A:+ PARTITION BY [k] | AAA k=121 | 0-0 0;
    1-1 1; 0-2 0,2; 2-2 2
intervals-too-are-of-the-whole | SELECT B WHERE A ; B PARTITION BY [k] | AABB k=1221 | 1-2 2; 0-3 3
# the B without a key is in no substream, so no NOT takes it
not-sees-only-the-substream | SELECT * WHERE NOT(A) PARTITION BY [k] | BAB k=11. | 0-0
an-event-without-a-key-is-no-gap | SELECT * WHERE A : B PARTITION BY [k] | ABB k=1.1 | 0-2 0,2
# the last B has k = 2 and meets no A
all-attributes-are-equal | SELECT * WHERE A ; B PARTITION BY [k], [m] | AABBB k=11112 m=12121 |
    0-2 0,2; 1-3 1,3
one-missing-attribute-is-no-key | SELECT * WHERE A ; B PARTITION BY [k], [m] | AABB k=1111 m=.1.1 |
    1-3 1,3
with-a-filter | SELECT * WHERE A ; B FILTER A[v = 1] PARTITION BY [k] | AABB k=1212 v=0111 | 1-3 1,3
"""),
    pytest.param(
        "SELECT * WHERE A : B PARTITION BY [k]",
        word("AABB", k="1212"),
        [c(0, 2, 0, 2), c(1, 3, 1, 3)],  # 0 and 2 are neighbours in the substream of 1
        id="neighbours-in-the-substream-positions-of-the-whole",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 1 EVENTS",
        word("AACCBB", k="122212"),
        [c(0, 4, 0, 4)],  # k = 1 is A B; k = 2 is A C C B, too long
        id="events-are-counted-in-the-substream",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k] WITHIN 5 [ts]",
        [
            {"type": "A", "k": 1, "ts": 0},
            {"type": "A", "k": 2, "ts": 3},
            {"type": "B", "k": 1, "ts": 6},
            {"type": "B", "k": 2, "ts": 8},
        ],
        [c(1, 3, 1, 3)],  # 0 and 2 are neighbours in their substream, but 6 apart in time
        id="time-is-that-of-the-events",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k]",
        [*with_keys("AABB", [None, NAN, NAN, None]), {"type": "A"}, {"type": "B"}],
        [],
        id="null-nan-and-missing-do-not-meet-their-like",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k, m]",
        word("AABBB", k="11112", m="12121"),
        [c(0, 2, 0, 2), c(1, 3, 1, 3)],
        id="brackets-only-group",
        marks=pytest.mark.filterwarnings("ignore:CER"),
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k]",
        with_keys("AABB", [2**53 + 1, 0.0, float(2**53), -0.0]),
        [c(1, 3, 1, 3)],  # 2^53 + 1 is not the float 2^53; the two zeros are equal
        id="numbers-by-exact-value",
    ),
    pytest.param(
        "SELECT * WHERE A ; B PARTITION BY [k]",
        with_keys("AABBB", [0, "", "", False, "0"]),
        [c(1, 2, 1, 2)],
        id="empty-text-is-a-key-and-false-is-not-zero",
    ),
]


@pytest.mark.parametrize(("query", "events", "expected"), CASES)
def test_clause(query: str, events: list[dict[str, Any]], expected: list[ComplexEvent]) -> None:
    check_answers(query, events, expected)


@pytest.mark.parametrize("clause", ["", "FROM S "])
def test_labels_of_long_partitions_are_those_of_their_own_events(clause: str) -> None:
    """Events of one key keep their order, also where a sort by key may turn equal keys around."""
    rng = Random(5)
    rows = [(n, rng.choice("AAB"), rng.randrange(3), rng.choice("SST")) for n in range(300)]
    events = [{"type": t, "k": k, "n": n, "stream": s} for n, t, k, s in rows]
    query = f"SELECT x, y, z {clause}WHERE A AS x : B AS y : A AS z PARTITION BY [k]"
    expected = {
        (i, j, m)
        for key in range(3)
        for part in [[(n, t) for n, t, k, s in rows if k == key and not (clause and s == "T")]]
        for (i, first), (j, second), (m, third) in zip(part, part[1:], part[2:], strict=False)
        if (first, second, third) == ("A", "B", "A")
    }
    table = cerlab.parse_query(query).run(events).table(["x.n", "y.n", "z.n"])
    assert set(zip(*(table.column(f"{x}.n").to_pylist() for x in "xyz"), strict=True)) == expected
    assert table.num_rows == len(expected)
