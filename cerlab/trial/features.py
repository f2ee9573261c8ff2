"""What a case of a trial has: operators, clauses, readings and values, each by its spelling.

Engines say by them what they do not take, and causes are told apart by them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, assert_never

from cerlab.fuzz.features import FAMILY
from cerlab.fuzz.features import features as of_query
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.syntax import CeqlQuery
from cerlab.logic.rows import expressions as ex
from cerlab.logic.rows import syntax as rp
from cerlab.logic.rows.syntax import RowPattern
from cerlab.predicates import condition as cond
from cerlab.predicates import syntax as pred

PATTERN = (
    *("A B", "|", "PERMUTE", "{- -}", "()", "^", "$", "group"),
    *("*", "+", "?", "{n}", "*?", "+?", "??", "{n}?"),
)
"""Of patterns; a `group` is a quantifier around more than a variable."""
FAMILY_ONLY = frozenset(FAMILY)
"""Of CEQL, what the automata of CORE do not have."""
SKIP = ("SKIP TO NEXT", "SKIP TO FIRST", "SKIP TO LAST")
OUTPUT = ("ALL ROWS", "OMIT EMPTY", "WITH UNMATCHED")
ROW_CLAUSES = ("PARTITION BY", "DESC", "NULLS FIRST", "SUBSET", "WITHIN", "TRUE")
"""Clauses; TRUE is a variable without DEFINE."""
READINGS = (
    *("FIRST", "LAST", "PREV", "NEXT", "COUNT", "SUM", "AVG", "MIN", "MAX"),
    *("CLASSIFIER", "MATCH_NUMBER", "FINAL", "v.x"),
)
"""Of MEASURES, and of DEFINE with that word before them: `v.x` is a column, there if qualified."""
OPERATORS = (
    *("IN", "IS", "AND", "OR", "NOT"),
    *(f"x {op.value} y" for op in (*ex.ComparisonOperator, *ex.ArithmeticOperator)),
)
ROW_FEATURES = (
    *PATTERN,
    *SKIP,
    *OUTPUT,
    *ROW_CLAUSES,
    *READINGS,
    *(f"DEFINE {each}" for each in READINGS),
    *OPERATORS,
    "NULL",
)
"""All features of row patterns; NULL is one in the table."""


def row_features(query: RowPattern, table: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """What a row pattern and its table have.

    >>> from cerlab.logic.rows.parser import parse_rows
    >>> clause = "MATCH_RECOGNIZE (MEASURES A.x AS m PATTERN (A* B) DEFINE A AS x > PREV(x))"
    >>> sorted(row_features(parse_rows(clause), [{"x": 1}]))
    ['*', 'A B', 'DEFINE PREV', 'TRUE', 'v.x', 'x > y']
    """
    of_pattern = (name for p in rp.subpatterns(query.pattern) for name in _of_pattern(p))
    define = (n for d in query.define for n in _of_expression(d.condition, "DEFINE "))
    measures = (n for m in query.measures for n in _of_expression(m.expression, ""))
    null = ("NULL",) if any(value is None for row in table for value in row.values()) else ()
    return frozenset((*of_pattern, *define, *measures, *_of_clauses(query), *null))


def _of_pattern(p: rp.Pattern) -> Iterator[str]:
    match p:
        case rp.Variable():
            pass
        case rp.Empty():
            yield "()"
        case rp.PartitionStart():
            yield "^"
        case rp.PartitionEnd():
            yield "$"
        case rp.Concat():
            yield "A B"
        case rp.Alternation():
            yield "|"
        case rp.Permute():
            yield "PERMUTE"
        case rp.Exclusion():
            yield "{- -}"
        case rp.Repetition(body, lo, hi, reluctant):
            short = {(0, None): "*", (1, None): "+", (0, 1): "?"}
            yield short.get((lo, hi), "{n}") + ("?" if reluctant else "")
            if not isinstance(body, rp.Variable):
                yield "group"
        case _:
            assert_never(p)


def _of_clauses(query: RowPattern) -> Iterator[str]:
    rows, skip = query.rows, query.skip
    has = {
        "SKIP TO NEXT": isinstance(skip, rp.ToNextRow),
        "SKIP TO FIRST": isinstance(skip, rp.ToFirst),
        "SKIP TO LAST": isinstance(skip, rp.ToLast),
        "ALL ROWS": rows is not rp.Rows.ONE,
        "OMIT EMPTY": rows is rp.Rows.OMIT_EMPTY,
        "WITH UNMATCHED": rows is rp.Rows.WITH_UNMATCHED,
        "PARTITION BY": bool(query.partition_by),
        "DESC": any(item.descending for item in query.order_by),
        "NULLS FIRST": any(item.nulls_first for item in query.order_by),
        "SUBSET": bool(query.subsets),
        "WITHIN": query.within is not None,
        "TRUE": len(query.define) < len(rp.variables(query.pattern)),
    }
    yield from (name for name, holds in has.items() if holds)


def _of_expression(e: ex.Expression | ex.AllRows, where: str) -> Iterator[str]:
    inner = where
    match e:
        case ex.First() | ex.Last() | ex.Prev() | ex.Next():
            yield where + type(e).__name__.upper()
            inner = ""
        case ex.Aggregate(function, _, _):
            yield where + function.value
            inner = ""
        case ex.Classifier():
            yield where + "CLASSIFIER"
        case ex.MatchNumber():
            yield where + "MATCH_NUMBER"
        case ex.Column(_, qualifier) if where == "" or qualifier is not None:
            yield where + "v.x"
        case ex.And() | ex.Or() | ex.Not() | ex.In() | ex.Is():
            yield type(e).__name__.upper()
        case ex.Arithmetic(operator, _, _) | ex.Comparison(operator, _, _):
            yield f"x {operator.value} y"
        case _:
            pass
    if getattr(e, "final", False):
        yield where + "FINAL"
    for child in ex.children(e):
        if isinstance(child, ex.Column) and inner != where:
            continue
        yield from _of_expression(child, where)


def ceql_features(query: CeqlQuery) -> frozenset[str]:
    """What a CEQL query has: the features of `cerlab fuzz`, and arithmetic, as ``v / w``."""
    filters = (phi for phi in cel.subformulas(query.formula) if isinstance(phi, cel.Filter))
    atomics = (each for phi in filters for each in cond.atomics(phi.condition))
    atoms = (a for each in atomics if isinstance(each, cond.On) for a in pred.atoms(each.predicate))
    sides = (side for a in atoms if isinstance(a, pred.Comparison) for side in (a.left, a.right))
    operations = (side for side in sides if isinstance(side, pred.Computed))
    return of_query(query) | {f"v {side.operator.value} w" for side in operations}
