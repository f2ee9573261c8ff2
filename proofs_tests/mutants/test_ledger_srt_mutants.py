"""Wrong versions that rows of SOCEL and SRT are to go red by, where their own folders have none.

Clauses from i to j, products of transducers that have something each, operators on transducers,
windows, gaps, and what is written by one of the runs that differ (SOCEL Table 1; SRT Thm. 34;
SRT Thm. 27; SRT Def. 39; SRT Def. 45; SRT Thm. 41).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from cerlab import Event, parse_formula
from cerlab.automata import compose
from cerlab.automata.unrolled import minterms
from cerlab.compile import sremo_to_srt
from cerlab.conformance import Case
from cerlab.conformance.judge import difference
from cerlab.logic.cel import syntax as cel
from cerlab.logic.sremo import semantics
from cerlab.logic.sremo import syntax as sre
from cerlab.theorems import socel as socel_semantics
from cerlab.theorems.socel import LabelledPositions
from proofs_tests.conformance.ways import by_transducer
from proofs_tests.mutants.driver import kills, mutant, on_rows, on_seeds
from proofs_tests.mutants.test_srt_mutants import _determinise
from proofs_tests.socel.test_table_1 import ROWS
from proofs_tests.sremo import test_mutants as sremo
from proofs_tests.sremo.test_laws import check_gaps, check_windows
from proofs_tests.srt import test_theorem_34, test_theorem_41

PositionSets = frozenset[LabelledPositions]
Between = Callable[[Any, Sequence[Event], int, int], PositionSets]
_BETWEEN = socel_semantics.between


def clause(kind: type, wrong: Between) -> Between:
    """The table from i to j with one row replaced."""
    return lambda phi, *where: (wrong if isinstance(phi, kind) else _BETWEEN)(phi, *where)


def and_is_its_left_side(phi: cel.And, S: Sequence[Event], i: int, j: int) -> PositionSets:
    return socel_semantics.between(phi.left, S, i, j)


def as_labels_the_last_event(phi: cel.As, S: Sequence[Event], i: int, j: int) -> PositionSets:
    return frozenset(C | {(phi.label, j)} for C in socel_semantics.between(phi.body, S, i, j))


def rename_overwrites(phi: cel.Rename, S: Sequence[Event], i: int, j: int) -> PositionSets:
    return frozenset(
        frozenset((phi.new if phi.old == X else X, k) for X, k in C if phi.new != X)
        for C in socel_semantics.between(phi.body, S, i, j)
    )


def is_right(row: tuple[str, str, int, int, list[set[tuple[str, int]]]]) -> bool:
    text, types, i, j, expected = row
    sets = socel_semantics.between(parse_formula(text), [Event(t) for t in types], i, j)
    return sets == set(map(frozenset, expected))


def product_asks_the_left_side(left: Any, right: Any) -> Any:
    return left


def intersection_is_its_left_side(A: Any, B: Any) -> Any:
    return A


def writes_of_all_that_fire(U: Any) -> Any:
    """Write a register only if all firing transitions of a minterm write it."""
    return _determinise(U, minterms, frozenset.intersection)


def has_the_right_transducer(case: Case) -> bool:
    """Return whether the transducer of an expression, if it has one, has the expected matches."""
    reply = by_transducer(case)
    return reply.get("kind") == "Unsupported" or not difference(case, reply)


FROM_I_TO_J = on_rows(is_right, ROWS)
BY_HAND = on_rows(has_the_right_transducer, sremo.CASES)
LANGUAGE, PRODUCTS, WINDOWS, GAPS = (
    on_seeds(check, 400)
    for check in (
        test_theorem_41.check_language,
        test_theorem_34.check_intersection,
        check_windows,
        check_gaps,
    )
)

MUTANTS = [
    *(
        mutant(FROM_I_TO_J, socel_semantics, "between", clause(kind, wrong), id=wrong.__name__)
        for kind, wrong in (
            (cel.And, and_is_its_left_side),
            (cel.As, as_labels_the_last_event),
            (cel.Rename, rename_overwrites),
        )
    ),
    mutant(PRODUCTS, compose, "conjunction", product_asks_the_left_side),
    mutant(BY_HAND, sremo_to_srt, "product", intersection_is_its_left_side),
    mutant(LANGUAGE, test_theorem_41, "determinise", writes_of_all_that_fire),
    *(
        mutant(WINDOWS, semantics, "_rule", sremo.rule(kind, wrong), id=wrong.__name__)
        for kind, wrong in (
            (sre.SpanWindow, sremo.span_without_the_first),
            (sre.LengthWindow, sremo.length_is_span),
        )
    ),
    mutant(
        GAPS,
        semantics,
        "rewritten",
        sremo.stands_for(sre.SkipNext, sremo.next_as_printed),
        id="next_as_printed",
    ),
]


test_the_row_goes_red = kills(MUTANTS)
