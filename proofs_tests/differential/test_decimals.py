"""Decimals in files: every evaluator reads them as the numbers of events that they are."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import cerlab
from cerlab.evaluate import answers_of, names_that_take
from cerlab.logic.ceql.semantics import query_answers
from cerlab.logic.ceql.syntax import query_text
from cerlab.model.answer import by_end
from cerlab.model.event import Event
from proofs_tests.differential.test_paths import drawn
from proofs_tests.suite import random_suite

NUMBERS = ("v", "w", "k")
PARTS = (1, 1, 1, 2, 4, 1_000)
"""Numbers are divided by one of them: whole numbers, and numbers of up to three digits more."""


def as_decimals(events: list[Event], parts: int) -> tuple[list[Event], dict[str, Any]]:
    """Return events whose numbers are divided by `parts`, and the decimals of each attribute.

    What is no number is NULL.
    """
    changed: list[Event] = []
    columns: dict[str, list[Decimal | None]] = {name: [] for name in NUMBERS}
    for event in events:
        own = dict(event.attributes)
        for name in NUMBERS:
            value = own.get(name)
            own[name] = decimal = None
            # truth values are integers in Python
            if isinstance(value, int | float) and type(value) is not bool and value == value:
                decimal = Decimal(str(value)) / parts
                own[name] = int(decimal) if decimal == int(decimal) else float(decimal)
            columns[name].append(decimal)
        changed.append(Event(event.type, own, event.stream))
    kinds = {name: pa.decimal128(20, 6) for name in NUMBERS}
    return changed, {name: pa.array(columns[name], kinds[name]) for name in NUMBERS}


@pytest.mark.filterwarnings("ignore::cerlab.CerlabWarning")
@random_suite(2_000)
def test_a_decimal_is_its_number_for_every_evaluator(rng: Random, tmp_path: Path) -> bool:
    path = tmp_path / "e.parquet"
    sample = drawn(rng)
    text = query_text(sample.ast)
    events, decimals = as_decimals(list(sample.stream), rng.choice(PARTS))
    table = pa.table(
        {
            "type": [event.type for event in events],
            "stream": pa.array([event.stream for event in events], pa.string()),
            "t": [event.attributes.get("t") for event in events],
            **decimals,
        }
    )
    parquet.write_table(table, path, row_group_size=rng.choice((1, 3, 100)))
    stream = cerlab.Stream.read(path, time="t", unit="s")
    query = cerlab.parse_query(text)
    plain = cerlab.Stream(events, time="t", unit="s")
    expected = query_answers(sample.ast, plain)
    for evaluator in names_that_take(query):
        answers = sorted(answers_of(query, stream, evaluator), key=by_end)
        assert answers == expected, (evaluator, text, table.to_pylist())
    return bool(expected)
