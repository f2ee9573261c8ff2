"""Wrong versions of the clauses of expressions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from cerlab.rows import expression_semantics, semantics
from cerlab.rows import expressions as ex
from cerlab.rows.expression_semantics import Context
from proofs_tests.mutants.driver import (
    Judge,
    Mutant,
    Place,
    mutant,
)
from proofs_tests.rows.judges import RESULTS, VALUES

VALUE = expression_semantics.value
VALUE_AT = expression_semantics.value_at
ROWS_OF = expression_semantics.rows_of
OPERATION = expression_semantics.operation


def leaf(kind: Any, wrong: Callable[[Any, Context], Any]) -> Any:
    """The table of values with one arm replaced."""

    def with_arm(e: ex.Expression, c: Context) -> Any:
        return wrong(e, c) if isinstance(e, kind) else VALUE(e, c)

    return with_arm


def column_of_the_current_row(e: ex.Column, c: Context) -> Any:
    """A qualified column is not that of its variable's last row."""
    return c.T.value(c.s + c.k - 1, e.name) if c.k else None


def column_of_the_first_row(e: ex.Column, c: Context) -> Any:
    R = ROWS_OF(e.qualifier, c)
    return c.T.value(R[0], e.name) if R else None


def column_of_the_final_row(e: ex.Column, c: Context) -> Any:
    R = ROWS_OF(e.qualifier, c, final=True)
    return c.T.value(R[-1], e.name) if R else None


def classifier_of_the_final_row(e: ex.Classifier, c: Context) -> Any:
    return VALUE(e, replace(c, k=len(c.m)))


def classifier_is_empty_text(e: ex.Classifier, c: Context) -> Any:
    return VALUE(e, c) or ""


def classifier_names_the_union(e: ex.Classifier, c: Context) -> Any:
    return e.qualifier if e.qualifier and VALUE(e, c) else VALUE(e, c)


def number_from_0(e: ex.MatchNumber, c: Context) -> Any:
    return c.N - 1


def first_sees_the_whole_match(e: ex.First, c: Context) -> Any:
    """Trino's reading of FIRST with an offset (decision 6)."""
    return VALUE(replace(e, final=True), c)


def last_is_first(e: ex.Last, c: Context) -> Any:
    return VALUE(ex.First(e.body, e.offset, e.final), c)


def offsets_count_from_1(e: Any, c: Context) -> Any:
    return VALUE(replace(e, offset=max(e.offset - 1, 0)), c)


def nulls_do_not_count(e: ex.First, c: Context) -> Any:
    R = [p for p in ROWS_OF(ex.variable_of(e.body), c) if VALUE_AT(e.body, p, c) is not None]
    return VALUE_AT(e.body, R[e.offset], c) if len(R) > e.offset else None


def prev_is_next(e: ex.Prev, c: Context) -> Any:
    return VALUE(ex.Next(e.body, e.offset), c)


def steps_stay_in_the_match(e: Any, c: Context) -> Any:
    inside = replace(c, T=replace(c.T, rows=c.T.rows[: c.s + len(c.m)]))
    return VALUE(e, inside)


def steps_among_rows_of_the_variable(e: ex.Prev, c: Context) -> Any:
    """A logical step, as LAST takes it."""
    if isinstance(e.body, ex.First | ex.Last):
        return VALUE(e, c)
    return VALUE(ex.Last(e.body, e.offset), c)


def steps_from_the_current_row(e: Any, c: Context) -> Any:
    p = c.s + c.k - 1 + (e.offset if isinstance(e, ex.Next) else -e.offset)
    if isinstance(e.body, ex.First | ex.Last) or not 0 <= p < len(c.T.rows):
        return VALUE(e, c)
    return VALUE_AT(e.body, p, c)


def step_drops_the_inner_call(e: Any, c: Context) -> Any:
    inner = e.body.body if isinstance(e.body, ex.First | ex.Last) else e.body
    return VALUE(type(e)(inner, e.offset), c)


def aggregates_are_final(e: ex.Aggregate, c: Context) -> Any:
    return VALUE(replace(e, final=True), c)


def aggregates_are_running(e: ex.Aggregate, c: Context) -> Any:
    return VALUE(replace(e, final=False), c)


def count_counts_nulls(e: ex.Aggregate, c: Context) -> Any:
    if e.function is ex.AggregateFunction.COUNT:
        return len(ROWS_OF(ex.variable_of(e.body), c, final=e.final))
    return VALUE(e, c)


def of_all_variables(e: ex.Aggregate, c: Context) -> Any:
    everything = replace(c, members=dict.fromkeys(c.members, c.members[None]))
    return VALUE(e, everything)


def labels_are_running(e: ex.Expression, p: int, c: Context) -> Any:
    """CLASSIFIER at a later row of the match is not known under ALL ROWS."""
    return VALUE_AT(e, p, replace(c, z=c.k))


def labels_beyond_the_test(e: ex.Expression, p: int, c: Context) -> Any:
    if isinstance(e, ex.Classifier) and p - c.s == c.z:
        return "A"
    return VALUE_AT(e, p, c)


def columns_of_their_variable(e: ex.Expression, p: int, c: Context) -> Any:
    """A column at a row is still the last of its variable's."""
    return VALUE(e, c) if isinstance(e, ex.Column) else VALUE_AT(e, p, c)


def logical(kind: type, wrong: Callable[[Any, Callable[[Any], Any]], Any]) -> Any:
    def with_arm(e: Any, operand: Any) -> Any:
        return wrong(e, operand) if isinstance(e, kind) else OPERATION(e, operand)

    return with_arm


def two_valued_not(e: ex.Not, operand: Callable[[Any], Any]) -> Any:
    return not operand(e.body)


def strict_and(e: ex.And, operand: Callable[[Any], Any]) -> Any:
    sides = (operand(e.left), operand(e.right))
    return None if None in sides else all(sides)


def strict_or(e: ex.Or, operand: Callable[[Any], Any]) -> Any:
    sides = (operand(e.left), operand(e.right))
    return None if None in sides else any(sides)


def null_equals_null(e: ex.Comparison, operand: Callable[[Any], Any]) -> Any:
    a, b = operand(e.left), operand(e.right)
    return True if a is None and b is None else OPERATION(e, operand)


def is_false_of_null(e: ex.Is, operand: Callable[[Any], Any]) -> Any:
    return OPERATION(e, operand) or (e.truth is False and operand(e.body) is None)


def in_ignores_null(e: ex.In, operand: Callable[[Any], Any]) -> Any:
    return operand(e.body) in [operand(m) for m in e.members]


def between_excludes_its_ends(e: ex.Between, operand: Callable[[Any], Any]) -> Any:
    inside = OPERATION(e, operand)
    return inside and operand(e.body) not in (operand(e.low), operand(e.high))


def case_takes_null(e: ex.Case, operand: Callable[[Any], Any]) -> Any:
    for test, result in e.branches:
        if e.operand is None and operand(test) is not False:
            return operand(result)
    return OPERATION(e, operand)


ARITHMETIC = expression_semantics.arithmetic


def division_truncates(operator: ex.ArithmeticOperator, a: Any, b: Any) -> Any:
    result = ARITHMETIC(operator, a, b)
    integers = isinstance(a, int) and isinstance(b, int)
    return math.trunc(result) if integers and isinstance(result, float) else result


def remainder_of_the_divisor(operator: ex.ArithmeticOperator, a: Any, b: Any) -> Any:
    if operator is ex.ArithmeticOperator.MOD and a is not None and b:
        return a % b
    return ARITHMETIC(operator, a, b)


def zero_for_null(operator: ex.ArithmeticOperator, a: Any, b: Any) -> Any:
    return ARITHMETIC(operator, a, 0 if b is None else b)


AGGREGATE = expression_semantics.aggregate


def sum_is_0(function: ex.AggregateFunction, items: Sequence[Any]) -> Any:
    result = AGGREGATE(function, items)
    return 0 if function is ex.AggregateFunction.SUM and result is None else result


def avg_is_of_rows(function: ex.AggregateFunction, items: Sequence[Any]) -> Any:
    if function is ex.AggregateFunction.AVG and items:
        return sum(v or 0 for v in items) / len(items)
    return AGGREGATE(function, items)


def min_is_max(function: ex.AggregateFunction, items: Sequence[Any]) -> Any:
    if function is ex.AggregateFunction.MIN:
        return AGGREGATE(ex.AggregateFunction.MAX, items)
    return AGGREGATE(function, items)


def of_value(by: Judge, kind: Any, wrong: Callable[[Any, Context], Any]) -> Mutant:
    owners = (expression_semantics, semantics, semantics)
    places = tuple(Place(owner, "value", leaf(kind, wrong)) for owner in owners)
    return Mutant(wrong.__name__, by, places)


OF_VALUES = [
    *(
        of_value(VALUES, kind, wrong)
        for kind, wrong in (
            (ex.Column, column_of_the_current_row),
            (ex.Column, column_of_the_first_row),
            (ex.Column, column_of_the_final_row),
            (ex.Classifier, classifier_of_the_final_row),
            (ex.Classifier, classifier_is_empty_text),
            (ex.First, first_sees_the_whole_match),
            (ex.Last, last_is_first),
            (ex.First | ex.Last, offsets_count_from_1),
            (ex.First, nulls_do_not_count),
            (ex.Prev, prev_is_next),
            (ex.Prev | ex.Next, steps_stay_in_the_match),
            (ex.Prev, steps_among_rows_of_the_variable),
            (ex.Prev | ex.Next, steps_from_the_current_row),
            (ex.Prev | ex.Next, step_drops_the_inner_call),
            (ex.Aggregate, aggregates_are_final),
            (ex.Aggregate, aggregates_are_running),
            (ex.Aggregate, count_counts_nulls),
            (ex.Aggregate, of_all_variables),
            (ex.MatchNumber, number_from_0),
        )
    ),
    of_value(RESULTS, ex.Classifier, classifier_names_the_union),
    mutant(VALUES, expression_semantics, "value_at", labels_are_running),
    mutant(VALUES, expression_semantics, "value_at", labels_beyond_the_test),
    mutant(VALUES, expression_semantics, "value_at", columns_of_their_variable),
    *(
        mutant(VALUES, expression_semantics, "operation", logical(kind, wrong), id=wrong.__name__)
        for kind, wrong in (
            (ex.Not, two_valued_not),
            (ex.And, strict_and),
            (ex.Or, strict_or),
            (ex.Comparison, null_equals_null),
            (ex.Is, is_false_of_null),
            (ex.In, in_ignores_null),
            (ex.Between, between_excludes_its_ends),
            (ex.Case, case_takes_null),
        )
    ),
    mutant(VALUES, expression_semantics, "arithmetic", division_truncates),
    mutant(VALUES, expression_semantics, "arithmetic", remainder_of_the_divisor),
    mutant(VALUES, expression_semantics, "arithmetic", zero_for_null),
    mutant(VALUES, expression_semantics, "aggregate", sum_is_0),
    mutant(VALUES, expression_semantics, "aggregate", avg_is_of_rows),
    mutant(VALUES, expression_semantics, "aggregate", min_is_max),
]
