"""Wrong versions of conditions on groups, each killed by a table computed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

from cerlab.automata.compose import relabel
from cerlab.compile import cel_to_vcea, correlated_to_srt
from cerlab.compile import groups as constructions
from cerlab.engine import tested, tested_rows
from cerlab.engine.kernels import groups as kernels
from cerlab.model.event import value_of
from cerlab.predicates import condition as conditions
from cerlab.predicates import groups
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Correlation
from cerlab.predicates.syntax import Group, OfGroup
from proofs_tests.differential import test_groups as random_queries
from proofs_tests.engine import test_tested_rows as of_rows
from proofs_tests.mutants.driver import Judge, Mutant, kills, mutant, on_seeds
from proofs_tests.mutants.test_look_back_mutants import taken_by

DEFINED = taken_by("groups", "reference")
COMPILED = taken_by("groups", "compiled")


def rows_are_right(rng: Random) -> bool:
    stream, condition = of_rows.drawn_stream(rng), of_rows.drawn_condition(rng)
    rows = of_rows.drawn_rows(rng, len(stream))
    return of_rows.agree(condition, stream, rows)


ROWS: Judge = on_seeds(rows_are_right, 400)

RANDOM: Judge = on_seeds(lambda rng: bool(random_queries.agree(rng)), 200)

REGISTERS: Judge = on_seeds(lambda rng: bool(random_queries.registers_agree(rng)), 200)

_value = groups.group_value


def counts_missing(operand: OfGroup, events: Sequence[Any]) -> Any:
    if operand.function is Group.DISTINCT:
        return len({value_of(t, str(operand.attribute)) for t in events})
    return _value(operand, events)


def skips_missing(operand: OfGroup, events: Sequence[Any]) -> Any:
    name = operand.attribute
    if operand.function in (Group.FIRST, Group.LAST) and name is not None:
        events = [t for t in events if value_of(t, name) is not None]
    return _value(operand, events)


def sums_of_nothing_are_zero(operand: OfGroup, events: Sequence[Any]) -> Any:
    value = _value(operand, events)
    return 0 if value is None and operand.function is Group.SUM else value


def swapped_ends(operand: OfGroup, events: Sequence[Any]) -> Any:
    swap = {Group.FIRST: Group.LAST, Group.LAST: Group.FIRST}
    return _value(replace(operand, function=swap.get(operand.function, operand.function)), events)


_total = groups._total


def rounds_each_step(function: Group, values: Sequence[Any]) -> Any:
    if any(isinstance(v, float) for v in values) and function is Group.SUM:
        total = 0.0
        for value in values:
            total += value
        return total
    return _total(function, values)


def mixed_extremes(function: Group, values: Sequence[Any]) -> Any:
    numbers = [v for v in values if isinstance(v, int | float)]
    if not numbers:
        return groups_extreme(function, values)
    return min(numbers) if function is Group.MIN else max(numbers)


groups_extreme = groups._extreme


def compares_the_first_too(self: Correlation, count: Any) -> Any:
    for each in _choices(self, lambda label: count(label) + 1):
        yield {label: n - 1 for label, n in each.items()}


_choices = Correlation.choices

_count_test = constructions.count_test


def one_too_few(condition: Correlation) -> Any:
    test = _count_test(condition)
    return None if test is None else test._replace(enough=max(0, test.enough - 1))


_with_roles = constructions._with_roles


def finds_the_other_end(A: Any, X: str, names: Any) -> Any:
    swap = {"FIRST": "LAST", "LAST": "FIRST"}
    other = (role._replace(function=swap.get(role.function, role.function)) for role in names)
    return _with_roles(A, X, dict(zip(other, names.values(), strict=True)))


def names_every_event(A: Any, X: str, names: Any) -> Any:
    every = {name for role, name in names.items() if role.label == X}
    return relabel(A, lambda L: L | every if X in L else L)


def guesses_no_end(A: Any, X: str, names: Any) -> Any:
    whole = _with_roles(A, X, names)
    return replace(whole, F=frozenset(range(whole.states)) - whole.I) if whole.F else whole


def never_needed(A: Any, compared: Any, needed: Any) -> Any:
    return A


def always_needed(A: Any, compared: Any, needed: Any) -> Any:
    return _set_together(A, frozenset(), needed)


_set_together = constructions._set_together


def one_label_for_all(condition: Correlation) -> Any:
    return {x: role._replace(function="FIRST") for x, role in _roles_of(condition).items()}


_roles_of = constructions.roles_of


def keeps_the_first(A: Any, condition: Any, X: str, register: str) -> Any:
    whole = _stepped(A, condition, X, register)
    Delta = (
        t._replace(writes=t.writes - pred.registers_of(t.guard)) if X in t.labels else t
        for t in whole.Delta
    )
    return replace(whole, Delta=tuple(Delta))


_stepped = constructions.stepped


def compares_the_first_with_nothing(A: Any, condition: Any, X: str, register: str) -> Any:
    """A first event is compared with an empty register, and so fails."""
    own = pred.RegisterComparison(
        pred.Operator.EQ,
        pred.RegisterAttribute(register, "v"),
        pred.RegisterAttribute(register, "v"),
    )
    whole = _stepped(A, condition, X, register)
    Delta = (
        t._replace(guard=pred.conjunction(t.guard, own)) if X in t.labels else t
        for t in whole.Delta
    )
    return replace(whole, Delta=tuple(Delta))


def all_positions(plan: Any, V: Any, event: Any) -> Any:
    return V


def ignores_kinds(codes: Any, offsets: Any, events: Any, sign: int, places: Any) -> None:
    for n in range(len(places)):
        some = [i for i in events[offsets[n] : offsets[n + 1]] if codes[i] >= 0]
        places[n] = min(some, key=lambda i: sign * codes[i]) if some else -1


def counts_what_is_missing(codes: Any, offsets: Any, events: Any, seen: Any, counts: Any) -> None:
    for n in range(len(counts)):
        counts[n] = len({codes[i] for i in events[offsets[n] : offsets[n + 1]]})


def remembers_all_rows(codes: Any, offsets: Any, events: Any, seen: Any, counts: Any) -> None:
    every = set[int]()
    for n in range(len(counts)):
        some = {codes[i] for i in events[offsets[n] : offsets[n + 1]] if codes[i] >= 0}
        counts[n] = len(some - every)
        every |= some


def adds_missing_ones(
    values: Any, lacks: Any, offsets: Any, events: Any, sums: Any, counts: Any
) -> None:
    for n in range(len(counts)):
        some = events[offsets[n] : offsets[n + 1]]
        sums[n], counts[n] = values[some].sum(), len(some)


_at_an_end = tested_rows._at_an_end


def other_end(column: Any, is_first: bool, held: Any) -> Any:
    return _at_an_end(column, not is_first, held)


_exact = tested_rows._exact_numbers


def sums_fit(column: Any, name: str) -> Any:
    numbers = _exact(column, name)
    return None if numbers is None else numbers._replace(most=1 << 62)


MUTANTS: list[Mutant] = [
    mutant(DEFINED, conditions, "group_value", counts_missing),
    mutant(DEFINED, conditions, "group_value", skips_missing),
    mutant(DEFINED, conditions, "group_value", sums_of_nothing_are_zero),
    mutant(DEFINED, conditions, "group_value", swapped_ends),
    mutant(DEFINED, groups, "_total", rounds_each_step),
    mutant(DEFINED, groups, "_extreme", mixed_extremes),
    mutant(DEFINED, Correlation, "choices", compares_the_first_too),
    mutant(COMPILED, cel_to_vcea, "count_test", one_too_few),
    mutant(COMPILED, constructions, "_with_roles", finds_the_other_end),
    mutant(COMPILED, constructions, "_with_roles", names_every_event),
    mutant(REGISTERS, constructions, "_with_roles", guesses_no_end),
    mutant(COMPILED, constructions, "_set_together", never_needed),
    mutant(COMPILED, constructions, "_set_together", always_needed),
    mutant(COMPILED, constructions, "roles_of", one_label_for_all),
    mutant(COMPILED, correlated_to_srt, "stepped", keeps_the_first),
    mutant(COMPILED, correlated_to_srt, "stepped", compares_the_first_with_nothing),
    mutant(RANDOM, tested, "projected", all_positions),
    mutant(ROWS, kernels, "find_extremes", ignores_kinds),
    mutant(ROWS, kernels, "count_distinct", counts_what_is_missing),
    mutant(ROWS, kernels, "count_distinct", remembers_all_rows),
    mutant(ROWS, kernels, "add_up", adds_missing_ones),
    mutant(ROWS, tested_rows, "_at_an_end", other_end),
    mutant(ROWS, tested_rows, "_exact_numbers", sums_fit),
]


test_the_table_kills = kills(MUTANTS)
