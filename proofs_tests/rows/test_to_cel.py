"""Row patterns in CEL: the matches, or with a table on which CEL has more."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest

import cerlab
from cerlab import InCel, Unsupported, rows_to_cel
from cerlab.rows import cel as compiled
from cerlab.rows import syntax as rp
from cerlab.testing import random_row_pattern, random_row_table
from proofs_tests.mutants.driver import Judge, kills, mutant, on_seeds
from proofs_tests.rows.test_decisions import matches_of
from proofs_tests.suite import Suite


def answers(formula: str, table: list[dict[str, Any]]) -> set[tuple[int, int]]:
    """The intervals of CEL's answers over the rows, as a start and a length."""
    events = [{"type": "row", **row} for row in table]
    return {(m.start, m.end + 1 - m.start) for m in cerlab.evaluate(formula, events)}


def draw(rng: Random) -> tuple[rp.RowPattern, InCel]:
    """A query that CEL can say."""
    while True:
        query = random_row_pattern(rng, "row", depth=rng.choice((1, 2, 2, 3)))
        query = replace(query, skip=rp.ToNextRow(), within=None, order_by=(), partition_by=())
        try:
            return query, rows_to_cel(query)
        except Unsupported:
            continue


def agree(rng: Random) -> bool:
    """Every match is an answer, and the other way round where the formula is exact."""
    query, in_cel = draw(rng)
    table = random_row_table(rng)
    matches = {(s, len(labels)) for s, labels in matches_of(query, table)}
    intervals = answers(in_cel.formula, table)
    assert matches <= intervals, (str(query), in_cel, table)
    if in_cel.exact:
        assert matches == intervals, (str(query), in_cel, table)
    else:
        assert in_cel.table is not None
        ends = {n for s, n in answers(in_cel.formula, in_cel.table) if s == 0}
        assert len(ends) > 1, (str(query), in_cel)
    return bool(intervals)


def test_matches_are_answers(suite: Suite) -> None:
    suite.run(agree, deep_count=2_000)


CLAUSE = """MATCH_RECOGNIZE (MEASURES 1 AS m AFTER MATCH SKIP {} PATTERN ({})
    DEFINE A AS x > 1, B AS {})"""
EXACT = [
    ("A B", True),
    ("A+ B", True),
    ("(A | B)", True),
    ("A{2} B?? A", True),
    ("A+", False),
    ("A B?", False),
    ("A (A | A A)", False),
    ("A B*?", False),
    ("A (() | B)", False),
    ("PERMUTE(A, B)", True),
    ("{- A -} (() | A) B", True),
]


@pytest.mark.parametrize(("pattern", "exact"), EXACT)
def test_where_the_end_is_one(pattern: str, exact: bool) -> None:
    clause = CLAUSE.format("TO NEXT ROW", pattern, "x < 1")
    if "B" not in pattern:
        clause = clause.replace(", B AS x < 1", "")
    assert rows_to_cel(clause).exact is exact


REFUSALS = [
    ("PAST LAST ROW", "A B", "x < 1", "consumes"),
    ("TO NEXT ROW", "^ A B", "x < 1", "anchor"),
    ("TO NEXT ROW", "A* B*", "x < 1", "an empty match"),
    ("TO NEXT ROW", "A B", "x < PREV(x)", "neither a column"),
    ("TO NEXT ROW", "A B", "NOT x < 1", "not a comparison"),
    ("TO NEXT ROW", "A B", "x = NULL", "neither a column"),
    ("TO NEXT ROW", "A? B? " * 6 + "A", "x = 1", "too long"),
    ("TO NEXT ROW", "(A{99} B{99}){99}", "x = 1", "too many states"),
]


@pytest.mark.parametrize(("skip", "pattern", "condition", "why"), REFUSALS)
def test_what_cel_cannot_say(skip: str, pattern: str, condition: str, why: str) -> None:
    with pytest.raises(Unsupported, match=why):
        rows_to_cel(CLAUSE.format(skip, pattern, condition))


def test_conditions_are_comparisons() -> None:
    clause = CLAUSE.format("TO NEXT ROW", "A | B", "B.x IN (2, 3) OR x BETWEEN 5 AND 6 AND s = 'a'")
    rows: list[dict[str, Any]] = [{"x": x, "s": s} for x in (1, 2, 3, 5, None) for s in ("a", None)]
    in_cel = rows_to_cel(clause)
    assert answers(in_cel.formula, rows) == {
        (i, 1) for i, row in enumerate(rows) if (row["x"] or 0) > 1
    }


TRANSLATE, THEN = compiled.translate, compiled.then


def gaps_allowed(left: Any, right: Any) -> Any:
    from cerlab.logic.cel import syntax as cel

    whole = THEN(left, right)
    if isinstance(whole.formula, cel.Concat):
        whole = whole._replace(formula=cel.Seq(whole.formula.left, whole.formula.right))
    return whole


def one_iteration_too_few(body: Any, lo: int, hi: int | None) -> Any:
    return ITERATE(body, max(0, lo - 1) if lo > 1 else lo, hi)


ITERATE = compiled.iterate
AGREEMENT: Judge = on_seeds(agree, 1_000)
MUTANTS = [
    mutant(AGREEMENT, compiled, "then", gaps_allowed),
    mutant(AGREEMENT, compiled, "iterate", one_iteration_too_few),
]


test_the_reference_kills = kills(MUTANTS)
