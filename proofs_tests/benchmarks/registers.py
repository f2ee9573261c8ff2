"""The register patterns of the SRT paper on stocks, beside its figures and its runs (SRT Alg. 1).

Each pattern is written once, as steps, and made into a SREMO and a query. The windows of the paper
are strict, so its w milliseconds are w - 1 here. Conditions that its scripts add to its text are
here too: event types, and prices below 500. Nested iterations are as its formula (7) has them: the
scripts write other ones, and the program that was measured drops the nested part.

Time is from columns in memory to flat arrays of answers, with the predicate stage, the coding of
values and the tables of the rules; without parsing and the construction of the transducer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from math import isclose
from statistics import median
from time import process_time
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from cerlab import ResourceLimit, io, parse_query, parse_sremo
from cerlab.automata.plan import RegisterPlan
from cerlab.compile.sremo_to_srt import register_plan
from cerlab.engine.answers import AnswerBatch
from cerlab.engine.reference.registers import Runs
from cerlab.engine.registers.evaluation import RegisterEvaluation
from cerlab.model.stream import Stream
from proofs_tests.benchmarks.timing import SHORTEST, Row, rounds

MOST_LISTED = 5_000_000
"""Answers that are listed at most; beyond it only their number is found."""

ALGORITHM_1_SECONDS = 1.0
"""CPU time that Algorithm 1 gets."""


class PriceTest(NamedTuple):
    """A comparison of the price with that of an earlier step, by number."""

    operator: str
    step: int


class Step(NamedTuple):
    """One event of a pattern, or one or more where it `repeats`; gaps are allowed everywhere."""

    types: tuple[str, ...]
    condition: str
    comparison: PriceTest | None = None
    repeats: bool = False


class Group(NamedTuple):
    """Consecutive steps, once or more often; none of them is compared."""

    steps: tuple[Step, ...]


Pattern: TypeAlias = tuple[Step | Group, ...]
"""Steps, numbered in the order of writing, also inside groups."""

WINDOWS = (500, 1_000, 2_000, 5_000, 10_000, 30_000)
"""Milliseconds, strict as in the paper."""

PAPER: Mapping[tuple[str, int], float] = {
    ("reg_1", 500): 0.36,
    ("reg_4", 500): 0.0,
    ("k_1", 500): 0.61,
    ("k_4", 500): 0.0,
    ("kn_1", 500): 4.29,
    ("q2", 1_000): 0.0,
    ("q3", 1_000): 13.0,
}
"""Matches per cent of events, where the paper states them."""

_BLOCKS = (
    ("INTC", "RIMM", "QQQ"),
    ("IPIX", "AMAT", "CSCO"),
    ("YHOO", "DELL", "ORCL"),
    ("MSFT", "INTC", "RIMM"),
)
_NESTED_BLOCKS = (("INTC", "RIMM", "QQQ", "MSFT"), ("IPIX", "AMAT", "CSCO", "ORCL")) * 2
_SOLD, _BOUGHT, _ANY = ("SELL",), ("BUY",), ("BUY", "SELL")


def _name(name: str, more: str = "") -> str:
    return f"name = '{name}'" + (f" AND {more}" if more else "")


def _sequence(blocks: int) -> Iterator[Step]:
    for n, (first, second, last) in enumerate(_BLOCKS[:blocks]):
        yield Step(_SOLD, _name(first))
        yield Step(_BOUGHT, _name(second))
        yield Step(_BOUGHT, _name(last), PriceTest(">", 3 * n))


def _kleene(blocks: int) -> Iterator[Step]:
    """Yield the same with middle events that repeat; in the second of two blocks prices fall."""
    for n, step in enumerate(_sequence(blocks)):
        if n % 3 == 1:
            step = step._replace(condition=f"{step.condition} AND price < 500", repeats=True)
        if blocks == 2 and n == 5:
            step = step._replace(comparison=PriceTest("<", 3))
        yield step


def _nested_kleene(blocks: int) -> Iterator[Step | Group]:
    """Yield sales at a lower price, and between them pairs of purchases; the second repeats."""
    for n, (first, once, often, last) in enumerate(_NESTED_BLOCKS[:blocks]):
        yield Step(_SOLD, _name(first))
        pair = Step(_BOUGHT, _name(once, "price < 500")), Step(_BOUGHT, _name(often), repeats=True)
        yield Group(pair)
        yield Step(_SOLD, _name(last), PriceTest("<", 4 * n))


def _other(between: tuple[str, ...], *, thresholds: bool) -> Pattern:
    above = ("price > 26.0", "price > 11.14", "price >= 18.92")
    msft, orcl, amat = above if thresholds else ("", "", "")
    return (
        Step(_SOLD, _name("MSFT", msft)),
        Step(between, _name("ORCL", orcl)),
        Step(between, _name("CSCO")),
        Step(_SOLD, _name("AMAT", amat), PriceTest("<", 0)),
    )


PATTERNS: Mapping[str, Pattern] = {
    **{f"reg_{n}": tuple(_sequence(n)) for n in (1, 2, 3, 4)},
    **{f"k_{n}": tuple(_kleene(n)) for n in (1, 2, 3, 4)},
    **{f"kn_{n}": tuple(_nested_kleene(n)) for n in (1, 2, 3, 4)},
    "q1": _other(_BOUGHT, thresholds=False),
    "q2": _other(_BOUGHT, thresholds=True),
    "q3": _other(_ANY, thresholds=False),
    "q4": _other(_ANY, thresholds=True),
    "q5": (
        Step(_SOLD, _name("MSFT")),
        Step(_ANY, _name("QQQ", "volume = 4000"), repeats=True),
        Step(_SOLD, _name("AMAT"), PriceTest("<", 0)),
    ),
}
"""Sequences of 3 to 12 events, the same with iterations, nested ones in patterns of 4 to 16 events,
and queries of the CORE paper compared."""

OF_FIGURES: Mapping[str, tuple[int, ...]] = {
    "reg_1": WINDOWS,
    **dict.fromkeys(("reg_2", "reg_3", "reg_4", "k_1", "k_2", "k_3", "k_4"), (500,)),
    **dict.fromkeys(("kn_1", "kn_2", "kn_3", "kn_4"), WINDOWS),
    **dict.fromkeys(("q1", "q2", "q3", "q4", "q5"), (1_000,)),
}
"""The patterns and windows on stocks of Figures 2 to 5 of the paper."""


def sremo(pattern: Pattern, window: int) -> str:
    """Return a pattern as SREMO, in a strict window of milliseconds.

    >>> print(sremo((Step(_SOLD, "volume > 9"), Step(_BOUGHT, "volume > 8", PriceTest("<", 0))), 5))
    (#(<type = 'SELL' AND volume > 9>^ -> r0,
       <type = 'BUY' AND volume > 8 AND price < r0.price>^))[within 4 stock_time]
    """
    registers = {step.comparison.step for step in _steps(pattern) if step.comparison}
    number = count()
    parts: list[str] = []
    for part in pattern:
        if isinstance(part, Group):
            inside = [text for step in part.steps for text in _parts(step, next(number), registers)]
            once = f"#({', '.join(inside)})"
            parts += [once, f"#(({once})*)"]
        else:
            parts += _parts(part, next(number), registers)
    return f"(#({', '.join(parts)}))[within {window - 1} stock_time]"


def _steps(pattern: Pattern) -> Iterator[Step]:
    for part in pattern:
        yield from part.steps if isinstance(part, Group) else (part,)


def _parts(step: Step, n: int, registers: set[int]) -> Iterator[str]:
    """Yield a step as expressions in a sequence with gaps."""
    kinds = " OR ".join(f"type = '{kind}'" for kind in step.types)
    guard = f"({kinds})" if len(step.types) > 1 else kinds
    guard += f" AND {step.condition}"
    if step.comparison:
        guard += f" AND price {step.comparison.operator} r{step.comparison.step}.price"
    yield f"<{guard}>^" + (f" -> r{n}" if n in registers else "")
    if step.repeats:
        yield f"#(<{guard}>^*)"


def ceql(pattern: Pattern, window: int) -> str:
    """Return a pattern as a query with the same complex events.

    >>> print(ceql(PATTERNS["q5"][:2], 500))
    SELECT * WHERE (SELL AS x0 ; ((BUY OR SELL) AS x1)+) FILTER x0[name = 'MSFT'] AND
    x1[name = 'QQQ' AND volume = 4000] WITHIN 499 [stock_time]
    """
    number = count()
    parts = []
    for part in pattern:
        if isinstance(part, Group):
            parts.append(f"({' ; '.join(_variable(step, next(number)) for step in part.steps)})+")
        else:
            parts.append(_variable(part, next(number)))
    filters = []
    for n, step in enumerate(_steps(pattern)):
        filters.append(f"x{n}[{step.condition}]")
        if step.comparison:
            filters.append(f"x{n}.price {step.comparison.operator} x{step.comparison.step}.price")
    return (
        f"SELECT * WHERE ({' ; '.join(parts)}) FILTER {' AND '.join(filters)} "
        f"WITHIN {window - 1} [stock_time]"
    )


def _variable(step: Step, n: int) -> str:
    kinds = " OR ".join(step.types)
    one = f"{kinds if len(step.types) == 1 else f'({kinds})'} AS x{n}"
    return f"({one})+" if step.repeats else one


def measure_registers(
    stream: Stream, runs: int, prefix: int, windows: Mapping[str, Sequence[int]] | None = None
) -> Iterator[Row]:
    """Measure patterns in windows, else all in all; Algorithm 1 reads `prefix` events at most.

    Answers are exact below 2^53. `of_first_window` is the time in the smallest window over that in
    this one: 1 where the window costs nothing. `visits` are configurations for each event.
    Algorithm 1 reads as many of the first events as it can before its time or its limit is over;
    its answers there are checked, and that the query has the same complex events.
    """
    first_events = Stream(stream.events[:prefix])
    for name, some in (windows or dict.fromkeys(PATTERNS, WINDOWS)).items():
        cases = {str(window): _case(name, window, stream) for window in some}
        seconds = rounds({each: partial(_run, c, stream) for each, c in cases.items()}, runs)
        cpu = {each: [sample.cpu for sample in samples] for each, samples in seconds.items()}
        narrow = cpu[str(some[0])]
        for each, case in cases.items():
            rate = len(stream) / median(cpu[each])
            length, slow = _algorithm_1(case.plan, stream, first_events)
            yield {
                "query": name,
                "window": int(each),
                "answers": case.answers,
                "listed": case.is_listed,
                "percent": 100 * case.answers / len(stream),
                "paper_percent": PAPER.get((name, int(each))),
                "events_per_second": rate,
                "of_first_window": median(a / b for a, b in zip(narrow, cpu[each], strict=True)),
                "visits": case.visits / len(stream),
                "algorithm_1_events": length,
                "algorithm_1_events_per_second": length / slow,
                "against_algorithm_1": rate * slow / max(length, 1),
            }


class _Case(NamedTuple):
    """A pattern in a window, and its number of answers."""

    plan: RegisterPlan
    answers: float
    visits: int

    @property
    def is_listed(self) -> bool:
        return self.answers <= MOST_LISTED


def _case(name: str, window: int, stream: Stream) -> _Case:
    """Return a pattern in a window; checks that the query has the same complex events."""
    plan = register_plan(parse_sremo(sremo(PATTERNS[name], window)))
    query = parse_query(ceql(PATTERNS[name], window)).registers
    run = RegisterEvaluation(plan, stream)
    case = _Case(plan, run.estimate(), run.configurations.visits)
    if case.is_listed:
        same = digest(RegisterEvaluation(plan, stream)) == digest(RegisterEvaluation(query, stream))
    else:
        same = isclose(RegisterEvaluation(query, stream).estimate(), case.answers, rel_tol=1e-9)
    assert same, f"{name} in {window} ms: the query has other answers"
    return case


def _run(case: _Case, stream: Stream) -> None:
    """Run once; checks the number of answers."""
    run = RegisterEvaluation(case.plan, stream)
    found = sum(map(len, run.answers())) if case.is_listed else run.estimate()
    assert found == case.answers, f"{found} answers, and {case.answers} before"


def digest(run: RegisterEvaluation) -> tuple[int, int]:
    """Return the number of answers, and a number that is the same for the same set of them."""
    count = total = 0
    for batch in run.answers():
        count += len(batch)
        total += int(_hashes(batch).sum(dtype=np.uint64))
    return count, total % 2**64


def _hashes(batch: AnswerBatch) -> np.ndarray:
    """Return a number for each answer: uint64 (answers,)."""
    odd, shift = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)
    positions = (batch.positions.astype(np.uint64) + np.uint64(1)) * odd
    positions = (positions ^ (positions >> shift)) * odd
    sums = np.concatenate(([np.uint64(0)], np.cumsum(positions, dtype=np.uint64)))
    hashes = sums[batch.offsets[1:]] - sums[batch.offsets[:-1]]
    hashes = (hashes ^ batch.start.astype(np.uint64)) * odd + batch.end.astype(np.uint64)
    hashes *= odd
    result: np.ndarray = hashes ^ (hashes >> shift)
    return result


def _algorithm_1(plan: RegisterPlan, stream: Stream, events: Stream) -> tuple[int, float]:
    """Return how many of the first events Algorithm 1 reads, and its CPU seconds."""
    runs, length, count = Runs(plan), 0, 0
    begin = process_time()
    for position, event in enumerate(events):
        try:
            count += len(runs.advance(event, position))
        except ResourceLimit:
            break
        length = position + 1
        if process_time() - begin > ALGORITHM_1_SECONDS:
            break
    seconds = max(process_time() - begin, SHORTEST)
    same = io.from_arrow(pa.table(dict(stream.columns)).slice(0, length))
    assert RegisterEvaluation(plan, same).estimate() == count, "Algorithm 1 finds other answers"
    return length, seconds
