"""Wrong versions of what compiles and runs comparisons between labels: random queries kill each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from random import Random
from typing import Any

import pytest

from cerlab import ComplexEvent, ResourceLimit, Unsupported, satisfies
from cerlab.automata import registers as coalesce
from cerlab.automata.labelled import LabelledSrt
from cerlab.compile import cel_to_vcea as operators
from cerlab.compile import correlated_to_srt
from cerlab.compile.cel_to_vcea import apply_filter
from cerlab.compile.correlated_to_srt import INCOMPARABLE, NOTHING, Side, Way
from cerlab.engine.reference.registers import IntervalRuns, OpenInterval
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.semantics import query_answers
from cerlab.model.answer import Registers
from cerlab.predicates import condition as cond
from cerlab.predicates import syntax as pred
from cerlab.predicates.syntax import EVERYTHING, Guard, Operator
from proofs_tests.mutants.driver import Judge, Mutant, check_killed, each_of, mutant
from proofs_tests.random_cases import Case
from proofs_tests.srt.correlated_cases import by_registers, correlated_case, directed_case
from proofs_tests.suite import Suite

_MEMORIES = correlated_to_srt._memories
_GUARD_AGAINST = correlated_to_srt._guard_against
_CONSTRUCT = correlated_to_srt._construct
_APPLY_FILTER = apply_filter
_SUCCESSORS = IntervalRuns._successors


# -- what is remembered ------------------------------------------------------------------------


def incomparable_is_forgotten(side: Side, summary: int, *, alone: bool) -> Iterator[Way]:
    """A value that does not compare with the extreme is passed over."""
    for way in _MEMORIES(side, summary, alone=alone):
        yield way if way.summary != INCOMPARABLE else way._replace(summary=summary)


def incomparable_is_refused(side: Side, summary: int, *, alone: bool) -> Iterator[Way]:
    """A value that does not compare ends the run, though the other label may stay empty."""
    return (way for way in _MEMORIES(side, summary, alone=alone) if way.summary != INCOMPARABLE)


def first_stays(side: Side, summary: int, *, alone: bool) -> Iterator[Way]:
    """No later event takes the place of the first."""
    if summary == NOTHING:
        yield from _MEMORIES(side, summary, alone=alone)
    else:
        yield Way(EVERYTHING, frozenset(), summary)


def last_stays(side: Side, summary: int, *, alone: bool) -> Iterator[Way]:
    """Each later event takes the place of the one before."""
    yield Way(EVERYTHING, frozenset({side.register(0)}), 1)


def one_event_for_unequal(side: Side, summary: int, *, alone: bool) -> Iterator[Way]:
    """``!=`` remembers the first event only."""
    if side.op is Operator.NE and summary > NOTHING:
        yield Way(EVERYTHING, frozenset(), summary)
    else:
        yield from _MEMORIES(side, summary, alone=alone)


SWAPPED_EXTREMES = {
    **correlated_to_srt.EXTREME,
    Operator.LE: correlated_to_srt.EXTREME[Operator.GE],
    Operator.LT: correlated_to_srt.EXTREME[Operator.GT],
}
"""The least is kept where the greatest should be."""

TIES_ARE_INCOMPARABLE = {
    **correlated_to_srt.EXTREME,
    Operator.LT: (Operator.GT, Operator.LT),
    Operator.LE: (Operator.GT, Operator.LT),
}

ONE_SIDED = {**pred.CONVERSE, Operator.LT: Operator.LT, Operator.GT: Operator.GT}
"""The converse of ``<`` is ``<``."""

STRICT_CONVERSE = {**pred.CONVERSE, Operator.LE: Operator.GT, Operator.GE: Operator.LT}


def extremes_of_what_is_unknown(side: Side, other: Side, summary: int) -> Guard:
    """Comparisons that cannot be made hold."""
    return EVERYTHING if summary == INCOMPARABLE else _GUARD_AGAINST(side, other, summary)


def only_the_next_step(A: LabelledSrt) -> list[frozenset[str]]:
    """Take only the labels of the very next event as later ones."""
    later = [frozenset[str]() for _ in range(A.states)]
    for t in A.Delta:
        later[t.source] |= t.labels
    return later


def extreme_of_the_attribute(side: Side, op: Operator) -> Guard:
    """The attribute decides which event is kept, not the result computed from it."""
    assert side.value is not None
    attribute = next(x for x in pred.leaves_of(side.value) if isinstance(x, pred.LabelAttribute))
    return _WITH_STORED(replace(side, value=attribute), op)


def one_extreme_for_both(condition: cond.Correlation, name: Any) -> tuple[Side, Side]:
    """A side that computes with both labels is as one that computes with the first alone."""
    return tuple(  # type: ignore[return-value]  # two of them
        replace(each, value=each.value or pred.LabelAttribute(each.label, "v"))
        for each in _SIDES(condition, name)
    )


_WITH_STORED = correlated_to_srt._with_stored
_SIDES = correlated_to_srt._sides


# -- the induction on the formula ----------------------------------------------------------------


def filters_leave_iterations(phi: cel.Formula, fresh: Any) -> LabelledSrt:
    """Registers go through all iterations: the filter of the body is put to the whole."""
    match phi:
        case cel.Plus(cel.Filter(body, condition)):
            return _CONSTRUCT(cel.Filter(cel.Plus(body), condition), fresh)
        case cel.ConcatPlus(cel.Filter(body, condition)):
            return _CONSTRUCT(cel.Filter(cel.ConcatPlus(body), condition), fresh)
        case _:
            return _CONSTRUCT(phi, fresh)


def filters_see_the_labels_outside(phi: cel.Formula, fresh: Any) -> LabelledSrt:
    """A filter below AS, PROJECT or RENAME is put to what they make."""
    match phi:
        case cel.As() | cel.Project() | cel.Rename() if isinstance(phi.body, cel.Filter):
            inner = replace(phi, body=phi.body.body)
            return _CONSTRUCT(cel.Filter(inner, phi.body.condition), fresh)
        case _:
            return _CONSTRUCT(phi, fresh)


def either_is_both(A: LabelledSrt, condition: cond.Condition, demand: Any) -> LabelledSrt:
    """An OR of filters asks for all of them."""
    if isinstance(condition, pred.Or):
        condition = pred.And(condition.left, condition.right)
    return _APPLY_FILTER(A, condition, demand)


def either_is_its_left(A: LabelledSrt, condition: cond.Condition, demand: Any) -> LabelledSrt:
    """An OR of filters asks for its first."""
    if isinstance(condition, pred.Or):
        condition = condition.left
    return _APPLY_FILTER(A, condition, demand)


# -- registers and runs --------------------------------------------------------------------------


def all_in_one_register(T: Any) -> frozenset[tuple[str, str]]:
    return frozenset()


def together_once_is_together(T: Any) -> frozenset[tuple[str, str]]:
    """Registers that some transition writes at once are made one."""
    at_once = [t.writes for t in T.Delta]
    return frozenset(
        (r, s) for r in T.R for s in T.R if not any({r, s} <= writes for writes in at_once)
    )


def write_before_read(self: IntervalRuns, c: OpenInterval, event: Any) -> Iterator[Any]:
    """The guard reads registers that the transition has written already."""
    for t in self._leaving[c.state]:
        registers = c.registers.written(t.writes, event)
        if satisfies(event, t.guard, registers):
            live = self._live[t.target]
            contents = {r: content for r, content in registers.items() if r in live}
            yield t.mark, OpenInterval(t.target, Registers(contents), c.start)


def nothing_is_written_over(self: IntervalRuns, c: OpenInterval, event: Any) -> Iterator[Any]:
    for mark, after in _SUCCESSORS(self, c, event):
        yield (
            mark,
            after._replace(registers=Registers({**after.registers, **c.registers})),
        )


def starts_are_one(self: IntervalRuns, c: OpenInterval, event: Any) -> Iterator[Any]:
    """Runs that agree in state and registers are one, wherever they began; the first event here."""
    for mark, after in _SUCCESSORS(self, c, event):
        yield mark, after._replace(start=0 if len(after.registers) > 1 else after.start)


CASES = 400


@cache
def cases() -> list[tuple[Case, list[ComplexEvent]]]:
    """Return cases with their right answers."""
    draws = (correlated_case, directed_case)
    random_cases = [draws[seed % 2](Random(seed // 2)) for seed in range(CASES)]
    return [(case, query_answers(case.ast, case.stream)) for case in random_cases]


def by_registers_or_refused(n: int) -> bool:
    """The transducer of a query gives what the reference answers; a refusal is wrong."""
    case, expected = cases()[n]
    try:
        answers = by_registers(replace(case))  # a query that no other mutant has compiled
    except (Unsupported, ResourceLimit) as error:
        raise AssertionError(f"refused: {error.code}") from None
    assert answers == expected
    return bool(expected)


QUERIES = Judge(by_registers_or_refused, CASES)

MUTANTS = [
    mutant(
        QUERIES,
        correlated_to_srt,
        "_memories",
        incomparable_is_forgotten,
        id="incomparable-forgotten",
    ),
    mutant(
        QUERIES, correlated_to_srt, "_memories", incomparable_is_refused, id="incomparable-refused"
    ),
    mutant(QUERIES, correlated_to_srt, "_memories", first_stays, id="first-kept"),
    mutant(QUERIES, correlated_to_srt, "_memories", last_stays, id="last-kept"),
    mutant(
        QUERIES, correlated_to_srt, "_memories", one_event_for_unequal, id="one-event-for-unequal"
    ),
    mutant(QUERIES, correlated_to_srt, "EXTREME", SWAPPED_EXTREMES, id="extremes-swapped"),
    mutant(QUERIES, correlated_to_srt, "EXTREME", TIES_ARE_INCOMPARABLE, id="ties-incomparable"),
    mutant(QUERIES, pred, "CONVERSE", ONE_SIDED, id="converse-of-less"),
    mutant(QUERIES, pred, "CONVERSE", STRICT_CONVERSE, id="strict-converse"),
    mutant(
        QUERIES,
        correlated_to_srt,
        "_guard_against",
        extremes_of_what_is_unknown,
        id="incomparable-holds",
    ),
    mutant(
        QUERIES,
        correlated_to_srt,
        "_with_stored",
        extreme_of_the_attribute,
        id="extreme-of-attribute",
    ),
    mutant(QUERIES, correlated_to_srt, "_sides", one_extreme_for_both, id="one-extreme-for-both"),
    mutant(QUERIES, correlated_to_srt, "labels_later", only_the_next_step, id="only-the-next-step"),
    mutant(
        QUERIES,
        correlated_to_srt,
        "_construct",
        filters_leave_iterations,
        id="filters-leave-iterations",
    ),
    mutant(
        QUERIES,
        correlated_to_srt,
        "_construct",
        filters_see_the_labels_outside,
        id="labels-outside",
    ),
    mutant(QUERIES, operators, "apply_filter", either_is_both, id="either-is-both"),
    mutant(QUERIES, operators, "apply_filter", either_is_its_left, id="either-is-left"),
    mutant(QUERIES, coalesce, "_apart", all_in_one_register, id="one-register"),
    mutant(QUERIES, coalesce, "_apart", together_once_is_together, id="together-once"),
    mutant(QUERIES, IntervalRuns, "_successors", write_before_read, id="write-before-read"),
    mutant(QUERIES, IntervalRuns, "_successors", nothing_is_written_over, id="not-written-over"),
    mutant(QUERIES, IntervalRuns, "_successors", starts_are_one, id="starts-are-one"),
]


@each_of(MUTANTS)
def test_random_queries_kill(mutant: Mutant, monkeypatch: pytest.MonkeyPatch, suite: Suite) -> None:
    cases()  # while nothing is wrong
    check_killed(mutant, monkeypatch, suite)
