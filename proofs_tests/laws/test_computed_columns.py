"""Values computed by columns against those computed of each event."""

from __future__ import annotations

from random import Random
from typing import Any

import pyarrow as pa

from cerlab import Duration, Event, Timestamp
from cerlab.model.event import Value
from cerlab.predicates import syntax as pred
from cerlab.predicates.columns.axes import computed
from cerlab.predicates.columns.pieces import DictionaryCodes, Numbers, Piece
from cerlab.predicates.truth import evaluate, kind_of
from proofs_tests.suite import random_suite

LARGE = 2**62
POOLS: dict[str, tuple[Value, ...]] = {
    "small": (0, 1, -1, 7, None),
    "large": (LARGE, -LARGE, 2**63 - 1, -(2**63), 2**53 + 1, 3),
    "unsigned": (2**63, 1, 0),
    "double": (0.0, -0.0, 1.5, 1e308, -1e308, float("inf"), float("nan"), None),
    "moment": (Timestamp(0), Timestamp(5), Timestamp(2**63 - 1), None),
    "period": (Duration(3), Duration(-4), Duration(2**62), None),
    "text": ("a", "b", None),
    "mixed": (1, "a", True, 0.5, Timestamp(1)),
    "missing": (None,),
}
CONSTANTS: tuple[Value, ...] = (0, 2, -3, 1.05, 0.0, 2**63 - 1, Duration(10), Timestamp(9), "a")
ARROW = {"moment": pa.timestamp("ns", "UTC"), "period": pa.duration("ns"), "unsigned": pa.uint64()}


def column_of(rng: Random, name: str, values: list[Value]) -> Any:
    """The values as a column: one Arrow array, in chunks, or a list."""
    if name == "mixed" or rng.random() < 0.2:
        return values
    plain = [v.nanoseconds if isinstance(v, Timestamp | Duration) else v for v in values]
    array = pa.array(plain, ARROW.get(name), from_pandas=False)
    cut = rng.randrange(len(values) + 1)
    return array if rng.random() < 0.5 else pa.chunked_array([array[:cut], array[cut:]])


MOSTLY = (["small", "double"], ["large", "small", "unsigned"], ["moment", "period"], [*POOLS])
"""Columns of which an expression often has values."""


def random_expression(rng: Random, depth: int, names: list[str]) -> pred.Expression:
    if depth == 0 or rng.random() < 0.2:
        leaves = (pred.Attribute(rng.choice(names)), pred.Constant(rng.choice(CONSTANTS)))
        return rng.choices(leaves, (3, 1))[0]
    if rng.random() < 0.15:
        return pred.Negated(random_expression(rng, depth - 1, names))
    sides = (random_expression(rng, depth - 1, names) for _ in range(2))
    return pred.Computed(rng.choice(list(pred.Arithmetic)), *sides)


def values_in(pieces: list[Piece], length: int) -> list[Value]:
    values: list[Value] = []
    for piece in pieces:
        match piece:
            case Numbers(array, nulls, of_time):
                plain = array.tolist()
                values += [of_time(v) if of_time else v for v in plain]
                for k in [] if nulls is None else nulls.nonzero()[0].tolist():
                    values[len(values) - len(plain) + k] = None
            case DictionaryCodes(codes, dictionary):
                entries = [*dictionary.to_pylist(), None]
                values += [entries[code] for code in codes.tolist()]
            case _:
                values += piece.values
    return values or [None] * length


@random_suite(50_000, needs_answers=0.35)
def test_each_event_has_the_value_of_the_scalar_evaluation(rng: Random) -> bool | None:
    length = rng.randrange(1, 6)
    rows = {name: [rng.choice(pool) for _ in range(length)] for name, pool in POOLS.items()}
    columns = {name: column_of(rng, name, values) for name, values in rows.items()}
    del columns["missing"]
    expression = random_expression(rng, rng.randrange(1, 4), rng.choice(MOSTLY))
    if not pred.attributes_in([expression]):
        return None  # a constant, which no event brings
    events = [Event("A", {name: rows[name][k] for name in columns}) for k in range(length)]
    expected = [evaluate(event, expression) for event in events]
    found = values_in([*computed(expression, columns, length)], length)
    for one, other in zip(found, expected, strict=True):
        assert kind_of(one) == kind_of(other)
        assert kind_of(one) is None or one == other
    return any(kind_of(value) is not None for value in expected)
