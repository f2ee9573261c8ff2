"""Random queries that can be looked at ahead, and their answers by phases and by counting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from random import Random
from typing import Any

import cerlab
from cerlab import ComplexEvent
from cerlab.engine.symbol_tables import learned_tables
from cerlab.engine.totals import counts_of_ends
from cerlab.engine.window_scan import why_not_windowed
from cerlab.engine.windowed import WindowedEvaluation
from cerlab.evaluate import answers_of
from cerlab.testing import Shape, with_limit
from proofs_tests.random_cases import Case, random_case

FOR_THE_ORACLE = Shape(depth=3, events=8, family=True)
SMALL = Shape(depth=3, events=12, family=True)
LONG = Shape(depth=2, events=60)
MANY = 20_000


def lookable(rng: Random, shape: Shape) -> Case:
    while True:
        case = random_case(rng, shape)
        if case.query.machine_kind == "automaton" and why_not_windowed(case.query.plan) is None:
            return case


def windowed_case(rng: Random) -> tuple[Case, list[ComplexEvent]] | None:
    """A case with its answers by the tECS; None if they are too many."""
    case = lookable(rng, rng.choice((SMALL, LONG)))
    if rng.random() < 0.2:
        case = Case(with_limit(case.ast, rng.choice((1, 3))), case.stream)
    if cerlab.count(case.query, case.stream) > MANY:
        return None
    return case, list(answers_of(case.query, case.stream, "tecs"))


def cuts(rng: Random, length: int) -> list[int]:
    """Return the cuts of a stream: none, a few, or after every event."""
    if rng.random() < 0.2:
        return list(range(1, length))
    return sorted(rng.randrange(length + 1) for _ in range(rng.randrange(4)))


def pieces(case: Case, cut: Sequence[int]) -> list[tuple[dict[str, Any], int]]:
    columns, length = case.stream.columns, len(case.stream)
    return [
        ({name: column[start:end] for name, column in columns.items()}, end - start)
        for start, end in zip([0, *cut], [*cut, length], strict=True)
    ]


def by_phases(
    case: Case, cut: Sequence[int], *, arena: int = 16, answers: int = 2
) -> list[ComplexEvent]:
    query, time = case.query, case.stream.time
    run = WindowedEvaluation(
        query.plan, learned_tables(query.machine), time, arena=arena, answers=answers
    )
    result: list[ComplexEvent] = []
    for columns, length in pieces(case, cut):
        for batch in run.push_columns(columns, length):
            result += batch
    for batch in run.finish():
        result += batch
    return result


def by_counting(case: Case) -> Counter[int]:
    query, stream = case.query, case.stream
    parts = counts_of_ends(query.plan, learned_tables(query.machine), stream, stream.time)
    pairs = (zip(ends.tolist(), counts.tolist(), strict=True) for ends, counts in parts)
    return Counter(dict(chain.from_iterable(pairs)))
