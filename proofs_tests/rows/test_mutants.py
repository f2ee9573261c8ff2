"""A wrong version of each clause: the hand-computed tables kill every one (rows.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from cerlab.errors import CerlabError
from cerlab.logic.rows import evaluation, matching, semantics, types, values
from cerlab.logic.rows import expressions as ex
from cerlab.logic.rows import syntax as rp
from cerlab.logic.rows.evaluation import Context
from cerlab.logic.rows.matching import Derivation, Mapped, RowMapping, Start
from proofs_tests.mutants.driver import (
    Judge,
    Mutant,
    Place,
    check_killed,
    each_of,
    mutant,
    on_rows,
)
from proofs_tests.rows import test_data, test_expressions, test_patterns, test_scan
from proofs_tests.rows.tables import found, rows_of
from proofs_tests.suite import Suite

D = matching.derivations
VALUE = evaluation.value
VALUE_AT = evaluation.value_at
ROWS_OF = evaluation.rows_of
OPERATION = values.operation


def pattern_row(row: Sequence[Any]) -> bool:
    pattern, text, clauses, expected = row
    try:
        return bool(found(pattern, text, clauses) == expected)
    except CerlabError:
        return False


def value_row(row: Sequence[Any]) -> bool:
    clauses, table, expected = row
    try:
        return bool(test_expressions.values(clauses, table) == list(expected))
    except CerlabError:
        return False


def result_row(row: Sequence[Any]) -> bool:
    query, table, expected = row
    try:
        return bool(rows_of(query, table) == expected)
    except CerlabError:
        return False


def judge(is_right: Callable[[Any], bool], *tables: Sequence[Any]) -> Judge:
    return on_rows(is_right, [row.values for table in tables for row in table])


PATTERNS = judge(pattern_row, test_patterns.CASES)
SCAN = judge(pattern_row, test_scan.SCAN, test_scan.SKIP)
VALUES = judge(value_row, test_expressions.CASES)
RESULTS = judge(result_row, test_data.DATA, test_data.NAMES, test_data.ROWS)
CLAUSES = judge(result_row, test_scan.WITHIN, test_scan.ORDERS, test_scan.NUMBERS)


# -- patterns ------------------------------------------------------------------------------------

Rule = Callable[[Any, Start, RowMapping, bool], frozenset[Derivation]]


def rule(kind: type, wrong: Rule) -> Any:
    """The rules with one arm replaced."""

    def wrapped(p: rp.Pattern, S: Start, m: RowMapping, *, excluded: bool) -> Any:
        return wrong(p, S, m, excluded) if isinstance(p, kind) else D(p, S, m, excluded=excluded)

    return wrapped


def start_of_the_match(p: Any, S: Start, m: RowMapping, e: bool) -> frozenset[Derivation]:
    return frozenset({Derivation((), m)} if not m else ())


def start_anywhere(p: Any, S: Start, m: RowMapping, e: bool) -> frozenset[Derivation]:
    return frozenset({Derivation((), m)})


def end_before_the_last_row(p: Any, S: Start, m: RowMapping, e: bool) -> frozenset[Derivation]:
    return frozenset({Derivation((), m)} if S.s + len(m) >= len(S.T.rows) - 1 else ())


def empty_takes_nothing_only_at_first(
    p: Any, S: Start, m: RowMapping, e: bool
) -> frozenset[Derivation]:
    return frozenset({Derivation((), m)} if m else ())


def alternation_prefers_right(
    p: rp.Alternation, S: Start, m: RowMapping, e: bool
) -> frozenset[Derivation]:
    return D(rp.Alternation(p.parts[::-1]), S, m, excluded=e)


def alternation_prefers_longer(
    p: rp.Alternation, S: Start, m: RowMapping, e: bool
) -> frozenset[Derivation]:
    return frozenset(Derivation((-len(d.mapping),), d.mapping) for d in D(p, S, m, excluded=e))


def alternation_is_ordered_choice(
    p: rp.Alternation, S: Start, m: RowMapping, e: bool
) -> frozenset[Derivation]:
    """As in parsing expression grammars: the first side that matches, and no other."""
    sides = (matching.derivations(part, S, m, excluded=e) for part in p.parts)
    return next((side for side in sides if side), frozenset())


PERMUTED = rp.permuted


def permute_in_reverse(p: rp.Permute) -> rp.Pattern:
    return PERMUTED(rp.Permute(p.parts[::-1]))


def permute_once_each(p: rp.Permute) -> rp.Pattern:
    return rp.Concat(p.parts)


def exclusion_forgotten(p: rp.Exclusion, S: Start, m: RowMapping, e: bool) -> frozenset[Derivation]:
    return D(p.body, S, m, excluded=e)


def exclusion_within_exclusion_shown(
    p: rp.Exclusion, S: Start, m: RowMapping, e: bool
) -> frozenset[Derivation]:
    return matching.derivations(p.body, S, m, excluded=not e)


RUNS = matching._runs


def quantified(wrong: Callable[[rp.Quantified], rp.Quantified]) -> Any:
    def runs(p: rp.Quantified, S: Start, d: Derivation, *, excluded: bool) -> Iterator[Derivation]:
        return RUNS(wrong(p), S, d, excluded=excluded)

    return runs


def always_greedy(p: rp.Quantified) -> rp.Quantified:
    return replace(p, reluctant=False)


def always_reluctant(p: rp.Quantified) -> rp.Quantified:
    return replace(p, reluctant=True)


def at_least_one(p: rp.Quantified) -> rp.Quantified:
    return replace(p, lo=max(p.lo, 1))


def at_most_one_needed(p: rp.Quantified) -> rp.Quantified:
    return replace(p, lo=min(p.lo, 1))


def no_option(p: rp.Quantified) -> rp.Quantified:
    return replace(p, hi=None if p.hi == 1 else p.hi)


def possessive(
    p: rp.Quantified, S: Start, start: Derivation, *, excluded: bool
) -> Iterator[Derivation]:
    """The preferred run only, as Flink's greedy quantifiers have it (decision 1)."""
    runs = list(RUNS(p, S, start, excluded=excluded))
    if runs:
        yield min(runs)


def empty_iterations_are_rejected(
    p: rp.Quantified, S: Start, start: Derivation, *, excluded: bool
) -> Iterator[Derivation]:
    """JavaScript's rule (decision 2)."""
    stop, more = ((0,), (1,)) if p.reluctant else ((1,), (0,))
    pending = [(start, 0)]
    while pending:
        d, c = pending.pop()
        if c >= p.lo:
            yield Derivation(d.choices + stop, d.mapping)
        if c == p.hi:
            continue
        d = Derivation(d.choices + more, d.mapping)
        for d1 in matching._then(d, p.body, S, excluded=excluded):
            if d1.mapping != d.mapping or c < p.lo:
                pending.append((d1, c + 1))


def longest(pattern: rp.Pattern, S: Start) -> RowMapping | None:
    found = D(pattern, S, (), excluded=False)
    return max(found, key=lambda d: len(d.mapping)).mapping if found else None


def null_holds(v: str, S: Start, m: RowMapping) -> bool:
    return v not in S.conditions or _condition(v, S, m) is not False


def undefined_is_false(v: str, S: Start, m: RowMapping) -> bool:
    return v in S.conditions and _condition(v, S, m) is True


def _condition(v: str, S: Start, m: RowMapping) -> Any:
    labels = tuple(mapped.variable for mapped in m)
    c = Context(S.T, S.s, labels, len(m), len(m), S.N, S.members)
    return VALUE(S.conditions[v], c)


def row_under_test_unmapped(v: str, S: Start, m: RowMapping) -> bool:
    """Conditions see the mapping without the row that they test."""
    labels = tuple(mapped.variable for mapped in m)
    c = Context(S.T, S.s, labels, len(m) - 1, len(m) - 1, S.N, S.members)
    return v not in S.conditions or VALUE(S.conditions[v], c) is True


def number_of_the_last_match(v: str, S: Start, m: RowMapping) -> bool:
    return HOLDS(v, replace(S, N=S.N - 1), m)


HOLDS = matching._holds

OF_PATTERNS = [
    *(
        mutant(PATTERNS, matching, "derivations", rule(kind, wrong), id=wrong.__name__)
        for kind, wrong in (
            (rp.PartitionStart, start_of_the_match),
            (rp.PartitionStart, start_anywhere),
            (rp.PartitionEnd, end_before_the_last_row),
            (rp.Empty, empty_takes_nothing_only_at_first),
            (rp.Alternation, alternation_prefers_right),
            (rp.Alternation, alternation_prefers_longer),
            (rp.Alternation, alternation_is_ordered_choice),
        )
    ),
    mutant(PATTERNS, rp, "permuted", permute_in_reverse),
    mutant(PATTERNS, rp, "permuted", permute_once_each),
    *(
        mutant(RESULTS, matching, "derivations", rule(rp.Exclusion, wrong), id=wrong.__name__)
        for wrong in (exclusion_forgotten, exclusion_within_exclusion_shown)
    ),
    *(
        mutant(PATTERNS, matching, "_runs", quantified(wrong), id=wrong.__name__)
        for wrong in (always_greedy, always_reluctant, at_least_one, at_most_one_needed, no_option)
    ),
    mutant(PATTERNS, matching, "_runs", possessive),
    mutant(PATTERNS, matching, "_runs", empty_iterations_are_rejected),
    mutant(PATTERNS, semantics, "match_at", longest),
    mutant(PATTERNS, matching, "_holds", null_holds),
    mutant(PATTERNS, matching, "_holds", undefined_is_false),
    mutant(VALUES, matching, "_holds", row_under_test_unmapped),
    mutant(VALUES, matching, "_holds", number_of_the_last_match),
]

# -- expressions ---------------------------------------------------------------------------------


def leaf(kind: Any, wrong: Callable[[Any, Context], Any]) -> Any:
    """The table of values with one arm replaced."""

    def wrapped(e: ex.Expression, c: Context) -> Any:
        return wrong(e, c) if isinstance(e, kind) else VALUE(e, c)

    return wrapped


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


def logical(kind: type, wrong: Callable[[Any, Callable[[Any], Any]], Any]) -> Any:
    def wrapped(e: Any, operand: Any) -> Any:
        return wrong(e, operand) if isinstance(e, kind) else OPERATION(e, operand)

    return wrapped


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


ARITHMETIC = values.arithmetic


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


AGGREGATED = values.aggregated


def sum_is_0(function: ex.AggregateFunction, listed: Sequence[Any]) -> Any:
    result = AGGREGATED(function, listed)
    return 0 if function is ex.AggregateFunction.SUM and result is None else result


def avg_is_of_rows(function: ex.AggregateFunction, listed: Sequence[Any]) -> Any:
    if function is ex.AggregateFunction.AVG and listed:
        return sum(v or 0 for v in listed) / len(listed)
    return AGGREGATED(function, listed)


def min_is_max(function: ex.AggregateFunction, listed: Sequence[Any]) -> Any:
    if function is ex.AggregateFunction.MIN:
        return AGGREGATED(ex.AggregateFunction.MAX, listed)
    return AGGREGATED(function, listed)


def of_value(by: Judge, kind: Any, wrong: Callable[[Any, Context], Any]) -> Mutant:
    owners = (evaluation, matching, semantics)
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
    mutant(VALUES, evaluation, "value_at", labels_are_running),
    mutant(VALUES, evaluation, "value_at", labels_beyond_the_test),
    *(
        mutant(VALUES, evaluation, "operation", logical(kind, wrong), id=wrong.__name__)
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
    mutant(VALUES, values, "arithmetic", division_truncates),
    mutant(VALUES, values, "arithmetic", remainder_of_the_divisor),
    mutant(VALUES, values, "arithmetic", zero_for_null),
    mutant(VALUES, evaluation, "aggregated", sum_is_0),
    mutant(VALUES, evaluation, "aggregated", avg_is_of_rows),
    mutant(VALUES, evaluation, "aggregated", min_is_max),
]

# -- the scan and the result ---------------------------------------------------------------------

RESUME = semantics.resume
EMITTED = semantics.emitted
SORT = semantics._sort


def always_past_the_last_row(S: Any, s: int, m: RowMapping) -> int:
    return len(m)


def always_one_row(S: Any, s: int, m: RowMapping) -> int:
    return 1


def past_the_variable(S: Any, s: int, m: RowMapping) -> int:
    variable = isinstance(S.query.skip, rp.ToFirst | rp.ToLast)
    return RESUME(S, s, m) + variable


def first_is_last(S: Any, s: int, m: RowMapping) -> int:
    skip = S.query.skip
    turned = rp.ToLast(skip.name) if isinstance(skip, rp.ToFirst) else skip
    return RESUME(replace(S, query=replace(S.query, skip=turned)), s, m)


def last_is_first_row(S: Any, s: int, m: RowMapping) -> int:
    skip = S.query.skip
    turned = rp.ToFirst(skip.name) if isinstance(skip, rp.ToLast) else skip
    return RESUME(replace(S, query=replace(S.query, skip=turned)), s, m)


def excluded_rows_shown(S: Any, found: Any, covered: set[int]) -> Any:
    m = found.match
    if m:
        found = found._replace(match=tuple(Mapped(v, False) for v, _ in m))
    return EMITTED(S, found, covered)


def empty_matches_hidden(S: Any, found: Any, covered: set[int]) -> Any:
    return EMITTED(S, found, covered) if found.match != () else []


def empty_matches_shown(S: Any, found: Any, covered: set[int]) -> Any:
    if S.query.rows is rp.Rows.OMIT_EMPTY:
        S = replace(S, query=replace(S.query, rows=rp.Rows.ALL))
    return EMITTED(S, found, covered)


def unmatched_rows_hidden(S: Any, found: Any, covered: set[int]) -> Any:
    return EMITTED(S, found, covered) if found.match is not None else []


def unmatched_rows_of_matches_shown(S: Any, found: Any, covered: set[int]) -> Any:
    return EMITTED(S, found, set())


def unmatched_rows_measured(S: Any, found: Any, covered: set[int]) -> Any:
    """Constants and COUNT as of an empty match (decision 19)."""
    unmatched = found.match is None and S.query.rows is rp.Rows.WITH_UNMATCHED
    if unmatched and found.s not in covered:
        return EMITTED(S, found._replace(match=()), covered)
    return EMITTED(S, found, covered)


def nulls_first_with_desc(positions: Any, item: rp.OrderItem, column: str, table: Any) -> None:
    """As Oracle and PostgreSQL sort (decision 15)."""
    first = item.nulls_first or item.descending
    SORT(positions, replace(item, nulls_first=first), column, table)


def nulls_always_last(positions: Any, item: rp.OrderItem, column: str, table: Any) -> None:
    SORT(positions, replace(item, nulls_first=False), column, table)


def never_descending(positions: Any, item: rp.OrderItem, column: str, table: Any) -> None:
    SORT(positions, replace(item, descending=False), column, table)


def ties_in_reverse(positions: list[int], item: rp.OrderItem, column: str, table: Any) -> None:
    positions.reverse()
    SORT(positions, item, column, table)


def null_keys_apart(v: Any) -> object:
    return object() if v is None else v


def within_is_inclusive(S: Start, i: int) -> bool:
    """As RisingWave (decision 13)."""
    if S.within is not None:
        d, column = S.within
        then, now = S.T.value(S.s, column), S.T.value(i, column)
        if isinstance(now, int | float) and isinstance(then, int | float) and now - then == d:
            return True
    return WITHIN(S, i)


def within_of_the_last_step(S: Start, i: int) -> bool:
    return WITHIN(replace(S, s=max(S.s, i - 1)), i)


def within_admits_null(S: Start, i: int) -> bool:
    return WITHIN(S, i) or (S.within is not None and S.T.value(i, S.within[1]) is None)


WITHIN = matching._within
OUTPUT = types._output


def columns_as_duckdb_has_them(query: Any, names: Any, columns: Any, kinds: Any) -> Any:
    """The input's columns first, then measures (decision 10)."""
    output = OUTPUT(query, names, columns, kinds)
    return tuple(sorted(output, key=lambda column: isinstance(column, types.MeasureColumn)))


OF_RESULTS = [
    mutant(SCAN, semantics, "resume", always_past_the_last_row),
    mutant(SCAN, semantics, "resume", always_one_row),
    mutant(SCAN, semantics, "resume", past_the_variable),
    mutant(SCAN, semantics, "resume", first_is_last),
    mutant(SCAN, semantics, "resume", last_is_first_row),
    mutant(RESULTS, semantics, "emitted", excluded_rows_shown),
    mutant(RESULTS, semantics, "emitted", empty_matches_hidden),
    mutant(RESULTS, semantics, "emitted", empty_matches_shown),
    mutant(RESULTS, semantics, "emitted", unmatched_rows_hidden),
    mutant(RESULTS, semantics, "emitted", unmatched_rows_of_matches_shown),
    mutant(RESULTS, semantics, "emitted", unmatched_rows_measured),
    mutant(RESULTS, semantics, "_sort", nulls_first_with_desc),
    mutant(RESULTS, semantics, "_sort", nulls_always_last),
    mutant(RESULTS, semantics, "_sort", never_descending),
    mutant(RESULTS, semantics, "_sort", ties_in_reverse),
    mutant(RESULTS, semantics, "_key", null_keys_apart),
    mutant(CLAUSES, matching, "_within", within_is_inclusive),
    mutant(CLAUSES, matching, "_within", within_of_the_last_step),
    mutant(CLAUSES, matching, "_within", within_admits_null),
    mutant(RESULTS, types, "_output", columns_as_duckdb_has_them),
]
MUTANTS: list[Mutant] = [*OF_PATTERNS, *OF_VALUES, *OF_RESULTS]


def test_the_reference_itself_passes_every_row() -> None:
    for judged in (PATTERNS, SCAN, VALUES, RESULTS, CLAUSES):
        assert all(judged.case(n) for n in range(judged.count))


@each_of(MUTANTS)
def test_the_tables_kill(mutant: Mutant, monkeypatch: pytest.MonkeyPatch, suite: Suite) -> None:
    check_killed(mutant, monkeypatch, suite)
