"""Relevant events, selected by Spark: the tests of a plan, one bit each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeVar

from cerlab.automata.automaton import Automaton, IntervalCea, Mark
from cerlab.automata.plan import Plan, plan_to_bytes
from cerlab.model.clauses import EventWindow, Strategy
from cerlab.predicates import syntax as pred
from cerlab.predicates.text import predicate_text
from cerlab.spark.evaluation import Job
from cerlab.spark.plan import attributes_tested
from cerlab.spark.predicates import Inexact, column_above, column_where
from cerlab.spark.request import Request

if TYPE_CHECKING:
    from pyspark.sql import Column


MOST_BITS = 62
"""Most tests that get a bit: int64 must hold twice the greatest value."""

A = TypeVar("A", bound=Automaton[Any])


@dataclass(frozen=True, slots=True)
class PlanOverBits:
    """A plan over an attribute `bits`, whose bit k is set if an event satisfies ``tests[k]``."""

    plan: Plan
    bits: str
    tests: tuple[pred.Predicate, ...]
    others: tuple[pred.Predicate, ...]
    """The tests that the plan evaluates itself, from attributes."""
    why_all: str | None
    """The reason why events that satisfy no test must be read; None if they need not be."""


def plan_over_bits(plan: Plan, has_bit: Callable[[pred.Predicate], bool]) -> PlanOverBits:
    """Return the plan with a bit for each test that can be one.

    A test is a predicate of a transition, or the operand if that is a negation.
    """
    demands = [t.predicate for t in plan.cea.Delta] + [t.predicate for t in plan.vcea.Delta]
    every = [P for P in dict.fromkeys(map(_test, demands)) if not isinstance(P, pred.Everything)]
    tests = [P for P in every if has_bit(P)][:MOST_BITS]
    bits = _unused_name(every, plan.partition)
    bit_of: dict[pred.Predicate, pred.Predicate] = {P: _bit(bits, k) for k, P in enumerate(tests)}
    return PlanOverBits(
        plan=replace(plan, cea=_over(plan.cea, bit_of), vcea=_over(plan.vcea, bit_of)),
        bits=bits,
        tests=tuple(tests),
        others=tuple(P for P in every if P not in bit_of),
        why_all=why_all_events(plan),
    )


def why_all_events(plan: Plan) -> str | None:
    """Return why a plan must read events that satisfy none of its tests; None if it need not.

    Such an event has no effect if it starts no run, and if every run that continues just waits in
    its state without being accepted there.
    """
    if isinstance(plan.window, EventWindow):
        return "WITHIN n EVENTS counts all events"
    if plan.strategy is Strategy.STRICT:
        return "STRICT tells events that follow one another from those that do not"
    if any(_goes_on(plan.cea, state) for state in range(plan.cea.states)):
        return "an event that satisfies nothing ends what has begun, or begins or ends an answer"
    return None


def _goes_on(A: IntervalCea, state: int) -> bool:
    """Return whether an event that satisfies no test changes a state, except by waiting."""
    leaving = [t for t in A.Delta if t.source == state]
    moves = {(t.mark, t.target) for t in leaving if _holds_of_none(t.predicate)}
    if state == A.q0 or not leaving:
        return bool(moves)
    return moves != {(Mark.SKIP, state)} or state in A.F


def _holds_of_none(predicate: pred.Predicate) -> bool:
    """Return whether a predicate holds if all tests are false."""
    match predicate:
        case pred.Everything():
            return True
        case pred.Not(operand):
            return not _holds_of_none(operand)
        case _:
            return False


def _test(predicate: pred.Predicate) -> pred.Predicate:
    while isinstance(predicate, pred.Not):
        predicate = predicate.operand
    return predicate


def _over(automaton: A, bit_of: dict[pred.Predicate, pred.Predicate]) -> A:
    def demand(predicate: pred.Predicate) -> pred.Predicate:
        if isinstance(predicate, pred.Not):
            return pred.Not(demand(predicate.operand))
        return bit_of.get(predicate, predicate)

    steps = tuple(t._replace(predicate=demand(t.predicate)) for t in automaton.Delta)
    return replace(automaton, Delta=steps)


def _bit(name: str, k: int) -> pred.Predicate:
    """Return the test of bit k: ``name % 2^(k+1) >= 2^k``, of a non-negative integer."""
    rest = pred.Computed(pred.Arithmetic.MOD, pred.Attribute(name), pred.Constant(2 ** (k + 1)))
    return pred.Comparison(pred.Operator.GE, rest, pred.Constant(2**k))


def _unused_name(tests: Sequence[pred.Predicate], partition: Sequence[str]) -> str:
    """Return an unused attribute name, longer than all names that occur."""
    names = {*partition, *(name for P in tests for name in pred.attributes_of(pred.atoms(P)))}
    return "bits" + "_" * max(map(len, names), default=0)


@dataclass(frozen=True)
class RelevantEvents:
    """The columns of a stream that Spark moves to tasks."""

    job: Job
    columns: tuple[Column, ...]
    """The values of the job's attributes, ``a0 a1 ..``."""
    condition: Column | None
    """The condition of events that tasks must read; None for all events."""
    why_all: str | None
    """The reason why tasks must read all events."""
    in_python: tuple[str, ...]
    """The tests of the query that tasks evaluate, as texts with reasons."""
    bits: int = 0
    """The number of bits in the first column, if it has the results of tests."""


def relevant_tests(plan: Plan) -> tuple[pred.Predicate, ...] | None:
    """Return tests of which each relevant event satisfies one; None if all are relevant."""
    over_bits = plan_over_bits(replace(plan, streams=()), lambda _: True)
    return None if over_bits.why_all is not None else (*over_bits.tests, *over_bits.others)


def relevant_events(request: Request) -> RelevantEvents:
    """Return the columns to move for a request: results of tests as bits, time and key.

    If positions are counted, every row is moved: the first pass does not know how many events of a
    run are relevant.
    """
    from pyspark.sql import functions as fn

    if request.names is not None:
        all_columns = tuple(
            request.source.column(name).alias(f"a{n}") for n, name in enumerate(request.attributes)
        )
        why = "rows with names and aggregates are made of the events of whole windows"
        return RelevantEvents(request.job, all_columns, None, why, ())
    source, inexact = request.source, dict[pred.Predicate, str]()

    def has_bit(test: pred.Predicate) -> bool:
        try:
            column_where(test, source)
        except Inexact as reason:
            inexact[test] = f"{predicate_text(test)}: {reason}"
            return False
        return True

    over_bits = plan_over_bits(replace(request.plan, streams=()), has_bit)
    names = (over_bits.bits, *attributes_tested(over_bits.plan, request.time))
    names = tuple(dict.fromkeys(names))
    true = (column_where(P, source) for P in over_bits.tests)
    bits = [fn.when(column, 1 << k).otherwise(0) for k, column in enumerate(true)]
    code = reduce(lambda left, right: left + right, bits, fn.lit(0)).cast("bigint")
    columns = [code if name == over_bits.bits else source.column(name) for name in names]
    why_all = over_bits.why_all
    if request.position is None:
        why_all = "positions are counted"
    above = (column_above(P, source) for P in (*over_bits.tests, *over_bits.others))
    return RelevantEvents(
        job=Job(
            plan_to_bytes(over_bits.plan),
            request.time,
            names,
            request.with_partition,
            ends=request.ends,
        ),
        columns=tuple(column.alias(f"a{n}") for n, column in enumerate(columns)),
        condition=None
        if why_all
        else reduce(lambda left, right: left | right, above, fn.lit(False)),
        why_all=why_all,
        in_python=tuple(inexact[P] for P in over_bits.others if P in inexact),
        bits=len(over_bits.tests),
    )
