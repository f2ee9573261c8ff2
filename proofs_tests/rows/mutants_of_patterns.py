"""Wrong versions of the clauses of patterns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from cerlab.rows import expression_semantics, semantics
from cerlab.rows import syntax as rp
from cerlab.rows.expression_semantics import Context
from cerlab.rows.semantics import Derivation, RowMapping, Start
from proofs_tests.mutants.driver import mutant
from proofs_tests.rows.judges import PATTERNS, RESULTS, VALUES

D = semantics.derivations
VALUE = expression_semantics.value

Rule = Callable[[Any, Start, RowMapping, bool], frozenset[Derivation]]


def rule(kind: type, wrong: Rule) -> Any:
    """The rules with one arm replaced."""

    def with_arm(p: rp.Pattern, S: Start, m: RowMapping, *, excluded: bool) -> Any:
        return wrong(p, S, m, excluded) if isinstance(p, kind) else D(p, S, m, excluded=excluded)

    return with_arm


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


def sequence_from_the_right(
    p: rp.Concat, S: Start, m: RowMapping, e: bool
) -> frozenset[Derivation]:
    return D(rp.Concat(p.parts[::-1]), S, m, excluded=e)


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
    sides = (semantics.derivations(part, S, m, excluded=e) for part in p.parts)
    return next((side for side in sides if side), frozenset())


EXPANSION = rp.expand_permute


def permute_in_reverse(p: rp.Permute) -> rp.Pattern:
    return EXPANSION(rp.Permute(p.parts[::-1]))


def permute_once_each(p: rp.Permute) -> rp.Pattern:
    return rp.Concat(p.parts)


def exclusion_forgotten(p: rp.Exclusion, S: Start, m: RowMapping, e: bool) -> frozenset[Derivation]:
    return D(p.body, S, m, excluded=e)


def exclusion_within_exclusion_shown(
    p: rp.Exclusion, S: Start, m: RowMapping, e: bool
) -> frozenset[Derivation]:
    return semantics.derivations(p.body, S, m, excluded=not e)


RUNS = semantics._runs


def with_quantifier(wrong: Callable[[rp.Repetition], rp.Repetition]) -> Any:
    def runs(p: rp.Repetition, S: Start, d: Derivation, *, excluded: bool) -> Iterator[Derivation]:
        return RUNS(wrong(p), S, d, excluded=excluded)

    return runs


def always_greedy(p: rp.Repetition) -> rp.Repetition:
    return replace(p, reluctant=False)


def always_reluctant(p: rp.Repetition) -> rp.Repetition:
    return replace(p, reluctant=True)


def at_least_one(p: rp.Repetition) -> rp.Repetition:
    return replace(p, lo=max(p.lo, 1))


def at_most_one_needed(p: rp.Repetition) -> rp.Repetition:
    return replace(p, lo=min(p.lo, 1))


def no_option(p: rp.Repetition) -> rp.Repetition:
    return replace(p, hi=None if p.hi == 1 else p.hi)


def possessive(
    p: rp.Repetition, S: Start, start: Derivation, *, excluded: bool
) -> Iterator[Derivation]:
    """The preferred run only, as Flink's greedy quantifiers have it (decision 1)."""
    runs = list(RUNS(p, S, start, excluded=excluded))
    if runs:
        yield min(runs)


def an_empty_iteration_ends_the_loop(
    p: rp.Repetition, S: Start, start: Derivation, *, excluded: bool
) -> Iterator[Derivation]:
    """Below the least count too."""
    stop, more = ((0,), (1,)) if p.reluctant else ((1,), (0,))
    pending = [(start, 0, False)]
    while pending:
        d, c, idle = pending.pop()
        if idle or c == p.hi:
            yield d
            continue
        if c >= p.lo:
            yield Derivation(d.choices + stop, d.mapping)
            d = Derivation(d.choices + more, d.mapping)
        for d1 in semantics._then(d, p.body, S, excluded=excluded):
            pending.append((d1, c + 1, d1.mapping == d.mapping))


def empty_iterations_are_rejected(
    p: rp.Repetition, S: Start, start: Derivation, *, excluded: bool
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
        for d1 in semantics._then(d, p.body, S, excluded=excluded):
            if d1.mapping != d.mapping or c < p.lo:
                pending.append((d1, c + 1))


def longest(pattern: rp.Pattern, S: Start) -> RowMapping | None:
    derivations = D(pattern, S, (), excluded=False)
    return max(derivations, key=lambda d: len(d.mapping)).mapping if derivations else None


def null_holds(v: str, S: Start, m: RowMapping) -> bool:
    return v not in S.conditions or _condition(v, S, m) is not False


def undefined_is_false(v: str, S: Start, m: RowMapping) -> bool:
    return v in S.conditions and _condition(v, S, m) is True


def _condition(v: str, S: Start, m: RowMapping) -> Any:
    labels = tuple(each.variable for each in m)
    c = Context(S.T, S.s, labels, len(m), len(m), S.N, S.members)
    return VALUE(S.conditions[v], c)


def excluded_rows_unseen(v: str, S: Start, m: RowMapping) -> bool:
    """Conditions do not see rows that bear the mark."""
    labels = tuple("" if is_excluded else variable for variable, is_excluded in m)
    c = Context(S.T, S.s, labels, len(m), len(m), S.N, S.members)
    return v not in S.conditions or VALUE(S.conditions[v], c) is True


def row_under_test_unmapped(v: str, S: Start, m: RowMapping) -> bool:
    """Conditions see the mapping without the row that they test."""
    labels = tuple(each.variable for each in m)
    c = Context(S.T, S.s, labels, len(m) - 1, len(m) - 1, S.N, S.members)
    return v not in S.conditions or VALUE(S.conditions[v], c) is True


def number_of_the_last_match(v: str, S: Start, m: RowMapping) -> bool:
    return HOLDS(v, replace(S, N=S.N - 1), m)


HOLDS = semantics._holds

OF_PATTERNS = [
    *(
        mutant(PATTERNS, semantics, "derivations", rule(kind, wrong), id=wrong.__name__)
        for kind, wrong in (
            (rp.PartitionStart, start_of_the_match),
            (rp.PartitionStart, start_anywhere),
            (rp.PartitionEnd, end_before_the_last_row),
            (rp.Empty, empty_takes_nothing_only_at_first),
            (rp.Concat, sequence_from_the_right),
            (rp.Alternation, alternation_prefers_right),
            (rp.Alternation, alternation_prefers_longer),
            (rp.Alternation, alternation_is_ordered_choice),
        )
    ),
    mutant(PATTERNS, rp, "expand_permute", permute_in_reverse),
    mutant(PATTERNS, rp, "expand_permute", permute_once_each),
    *(
        mutant(RESULTS, semantics, "derivations", rule(rp.Exclusion, wrong), id=wrong.__name__)
        for wrong in (exclusion_forgotten, exclusion_within_exclusion_shown)
    ),
    *(
        mutant(PATTERNS, semantics, "_runs", with_quantifier(wrong), id=wrong.__name__)
        for wrong in (always_greedy, always_reluctant, at_least_one, at_most_one_needed, no_option)
    ),
    mutant(PATTERNS, semantics, "_runs", possessive),
    mutant(PATTERNS, semantics, "_runs", an_empty_iteration_ends_the_loop),
    mutant(PATTERNS, semantics, "_runs", empty_iterations_are_rejected),
    mutant(PATTERNS, semantics, "match_at", longest),
    mutant(PATTERNS, semantics, "_holds", null_holds),
    mutant(PATTERNS, semantics, "_holds", undefined_is_false),
    mutant(RESULTS, semantics, "_holds", excluded_rows_unseen),
    mutant(VALUES, semantics, "_holds", row_under_test_unmapped),
    mutant(VALUES, semantics, "_holds", number_of_the_last_match),
]
