"""PARTITION BY: each substream of equal keys on its own (CORE Sec. 2.2), by hand."""

from __future__ import annotations

from random import Random

import pytest

import cerlab


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
