"""Lists of dicts are the same events by columns of values as dict by dict, errors included."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal
from random import Random
from typing import Any

import numpy as np
import pytest

import cerlab
from cerlab import Stream, Timestamp
from cerlab.io.read import rows_of_dicts
from cerlab.model.stream import events_of_dicts
from proofs_tests.io.test_text import check_columns, typed_events
from proofs_tests.suite import Suite

NAMES = ("v", "w", "größe", "a b")
PLAIN = (0, -7, 2**70, 0.5, float("nan"), True, "x", "é", "", None, Timestamp(5))
ODD = (np.int32(4), Decimal("1.5"), datetime(2024, 1, 1), "\ud800", [1], np.datetime64("NaT"))
TYPES = (None, "", 3, np.str_("A"))


def random_rows(rng: Random) -> list[Any]:
    """Dicts, most of which have few sets of keys and plain values."""
    odd = rng.choice((0, 0, 0.02, 0.2))
    pools = {name: rng.sample(PLAIN, rng.randrange(1, 4)) for name in NAMES}
    shapes = [rng.sample(NAMES, rng.randrange(4)) for _ in range(rng.choice((1, 1, 3)))]
    rows: list[Any] = []
    for _ in range(rng.randrange(12)):
        names = rng.choice(shapes)
        row = {n: rng.choice(ODD if rng.random() < odd else pools[n]) for n in names}
        row["type"] = rng.choice(TYPES if rng.random() < odd else ("A", "B"))
        if rng.random() < 0.3:
            row["stream"] = rng.choice((3, "") if rng.random() < odd else ("S", None))
        if rng.random() < odd:
            row = rng.choice(({"v": 1}, {3: 1, "type": "A"}, "A", None))  # type: ignore[arg-type]
        rows.append(row)
    return rows


def test_dicts_by_columns(suite: Suite) -> None:
    by_columns: list[bool] = []

    def case(rng: Random) -> bool:
        rows = random_rows(rng)
        by_columns.append(rows_of_dicts(rows) is not None)
        try:
            expected = typed_events(events_of_dicts(rows))
        except cerlab.BadData as error:
            with pytest.raises(cerlab.BadData, match=f"^{re.escape(str(error))}$"):
                Stream(rows)
            return False
        stream = Stream(rows)
        for row in rows:
            row.clear()
        assert typed_events(stream) == expected
        assert typed_events(stream.head(2)) == expected[:2]
        check_columns(stream)
        return bool(expected)

    suite.run(case, deep_count=4_000, needs_answers=0.5)
    assert sum(by_columns) > len(by_columns) / 3
