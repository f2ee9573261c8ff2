"""Conditions on groups by columns are those of single events."""

from __future__ import annotations

from random import Random

import numpy as np
import pyarrow as pa

import cerlab
from cerlab.engine.labels import LabelledAnswers, valuations_of_rows
from cerlab.engine.tested import holds
from cerlab.engine.tested_rows import RowTests
from cerlab.model.columns import array_of
from cerlab.model.event import Duration, Event, Timestamp, Value
from cerlab.model.stream import Stream
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Condition, Correlation, On
from cerlab.testing import random_group_condition
from cerlab.testing.choices import likely
from proofs_tests.suite import random_suite

NUMBERS: tuple[Value, ...] = (0, 1, 2, 3, -1, 0.5, 1.0, -0.0, 2.25, 0.1, 1e300, 2**53, 2**53 + 1)
ODD: tuple[Value, ...] = (None, float("nan"), float("inf"), -float("inf"), True, False, "a", "b")
LARGE: tuple[Value, ...] = (2**62, 2**63 - 1, -(2**63), 2**63, 2.0**53, 5e-324)
TIMES: tuple[Value, ...] = (Duration(3), Duration(-1), Duration(2**62), Timestamp(5), Timestamp(9))
WHOLE: tuple[Value, ...] = (0, 1, 2, 3)
KINDS = (
    WHOLE,
    (*WHOLE, *LARGE[:3]),
    NUMBERS,
    (0.5, 1.5, 2.0, None),
    ("a", "b", "c"),
    (*NUMBERS, *ODD, *LARGE),
)
MARKS = (frozenset("x"), frozenset("y"), frozenset("xy"), frozenset[str]())


def drawn_stream(rng: Random) -> Stream:
    """Return a stream whose attributes have values of few kinds, or of any, as rows or columns."""
    choices = {name: rng.choice((*KINDS, TIMES, (*TIMES, *ODD))) for name in "vw"}
    names = [name for name in choices if likely(rng, 0.95)]
    events = [
        Event("A", {name: rng.choice(choices[name]) for name in names if likely(rng, 0.95)})
        for _ in range(8)
    ]
    columns = {name: array_of([event.attributes.get(name) for event in events]) for name in names}
    if likely(rng, 0.5) and all(column is not None for column in columns.values()):
        return cerlab.Stream.from_arrow(pa.table({"type": ["A"] * len(events), **columns}))
    return Stream(events)


def drawn_rows(rng: Random, length: int) -> LabelledAnswers:
    """Return rows of any positions and labels."""
    rows = [sorted(rng.sample(range(length), rng.randint(1, 5))) for _ in range(20)]
    offsets = np.cumsum([0, *map(len, rows)])
    marks = np.array([rng.randrange(len(MARKS)) for _ in range(offsets[-1])], np.int32)
    return LabelledAnswers(
        np.array([row[0] for row in rows]),
        np.array([row[-1] for row in rows]),
        np.arange(len(rows)),
        offsets,
        np.array([p for row in rows for p in row]),
        marks,
        MARKS,
    )


def drawn_condition(rng: Random) -> Condition:
    """Return comparisons with AND and OR, of groups or of single events."""
    if likely(rng, 0.3):
        kind = rng.choice((pred.And, pred.Or))
        return kind(drawn_condition(rng), drawn_condition(rng))
    if likely(rng, 0.1):
        one = pred.Comparison(pred.Operator.GT, pred.Attribute("v"), pred.Constant(0))
        return On(rng.choice("xy"), one)
    if likely(rng, 0.4):
        group = pred.OfGroup(rng.choice([*pred.Group][1:]), rng.choice("xy"), rng.choice("vw"))
        other = pred.OfGroup(rng.choice([*pred.Group][1:]), rng.choice("xy"), rng.choice("vw"))
        some: tuple[Value, ...] = (1, 2, 0.5, 2**53, 3 * 2**60, "a", Duration(2), True, 1e300)
        right = rng.choice((other, pred.Constant(rng.choice(some))))
        left: pred.Expression = group
        if likely(rng, 0.3):
            arithmetic = rng.choice([*pred.Arithmetic])
            left = pred.Computed(arithmetic, group, pred.OfGroup(pred.Group.COUNT, "x"))
        return Correlation(rng.choice([*pred.Operator]), left, right)
    return random_group_condition(rng, ["x", "y"])


def agree(condition: Condition, stream: Stream, rows: LabelledAnswers) -> bool:
    """Fail unless rows pass as their valuations do; return whether some pass and others do not."""
    event = stream.events.__getitem__
    expected = [holds(condition, V.labels, event) for V in valuations_of_rows(rows)]
    tests = RowTests(condition, stream)
    assert tests.pass_rows(rows).tolist() == expected, (condition, stream.events, rows)
    assert [*tests.passing(rows).answer] == [n for n, it in enumerate(expected) if it]
    return any(expected) and not all(expected)


@random_suite(20_000)
def test_rows_pass_as_their_valuations_do(rng: Random) -> bool:
    stream, condition = drawn_stream(rng), drawn_condition(rng)
    return agree(condition, stream, drawn_rows(rng, len(stream)))
