"""The events that leave the JVM, and what of them: columns of Spark for a plan's tests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING

from cerlab.automata.plan_json import plan_to_bytes
from cerlab.predicates.syntax import Predicate
from cerlab.predicates.text import predicate_text
from cerlab.spark.batch.predicates import Inexact, column_above, column_where
from cerlab.spark.batch.request import Request
from cerlab.spark.plan.reads import attributes_tested
from cerlab.spark.plan.relevant_events import plan_over_bits
from cerlab.spark.tasks.evaluation import Job

if TYPE_CHECKING:
    from pyspark.sql import Column


@dataclass(frozen=True)
class RelevantEvents:
    """What tasks get of a stream whose rows Spark moves."""

    job: Job
    columns: tuple[Column, ...]
    """The values of the job's attributes, ``a0 a1 ..``."""
    condition: Column | None
    """Which events tasks have to see; None for all."""
    why_all: str | None
    """Why all of them."""
    in_python: tuple[str, ...]
    """The tests of the query that tasks make, as texts, with the reasons."""
    bits: int = 0
    """How many bits the first of the columns has, where that is the truth of tests."""


def relevant_events(request: Request) -> RelevantEvents:
    """What crosses for a request: the truth of its tests as bits, and its time and key.

    Where positions are counted every row does: the first pass does not know how many of a run are
    relevant.
    """
    from pyspark.sql import functions as fn

    if request.names is not None:
        all_columns = tuple(
            request.source.column(name).alias(f"a{n}") for n, name in enumerate(request.attributes)
        )
        why = "rows with names and aggregates are made of the events of whole windows"
        return RelevantEvents(request.job, all_columns, None, why, ())
    source, inexact = request.source, dict[Predicate, str]()

    def has_bit(test: Predicate) -> bool:
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
        job=Job(plan_to_bytes(over_bits.plan), request.time, names, request.with_partition),
        columns=tuple(column.alias(f"a{n}") for n, column in enumerate(columns)),
        condition=None
        if why_all
        else reduce(lambda left, right: left | right, above, fn.lit(False)),
        why_all=why_all,
        in_python=tuple(inexact[P] for P in over_bits.others if P in inexact),
        bits=len(over_bits.tests),
    )
