"""A row pattern and a table made smaller: fewer rows, clauses, parts, plainer conditions, values.

Every step leads to less in some finite measure, so one after the other comes to an end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, TypeAlias

from cerlab.logic.rows import expressions as ex
from cerlab.logic.rows import syntax as rp
from cerlab.logic.rows.syntax import RowPattern
from cerlab.testing.smaller import fewer

RowCase: TypeAlias = tuple[RowPattern, tuple[dict[str, Any], ...]]

_CLAUSES = ("partition_by", "order_by", "subsets", "rows", "skip", "within")
_BOUNDS = ((0, None), (1, None), (0, 1))
"""Bounds of quantifiers, the plainest first."""
_TEXTS = ("a", "b")


def smaller_rows(query: RowPattern, table: tuple[dict[str, Any], ...]) -> Iterator[RowCase]:
    """Cases that are smaller in one thing, the largest steps first; some are ill-formed."""
    for rows in fewer(table):
        yield query, rows
    for plainer in _plainer_queries(query):
        yield plainer, table
    for rows in _plainer_tables(table):
        yield query, rows


def _plainer_queries(query: RowPattern) -> Iterator[RowPattern]:
    plain = RowPattern(query.pattern, query.define, query.measures)
    if query != plain:
        yield plain
    for name in _CLAUSES:
        if getattr(query, name) != getattr(plain, name):
            yield replace(query, **{name: getattr(plain, name)})
    for pattern in plainer_patterns(query.pattern):
        yield _fit_to_variables(replace(query, pattern=pattern))
    for name in ("define", "measures"):
        items: tuple[Any, ...] = getattr(query, name)
        changes: Iterator[dict[str, Any]] = ({name: rest} for rest in fewer(items))
        yield from (replace(query, **change) for change in changes)
    for i, definition in enumerate(query.define):
        for condition in _plainer_expressions(definition.condition):
            plainer_definition = replace(definition, condition=condition)
            yield replace(query, define=_with(query.define, i, plainer_definition))
    for i, measure in enumerate(query.measures):
        for expression in _plainer_expressions(measure.expression):
            plainer_measure = replace(measure, expression=expression)
            yield replace(query, measures=_with(query.measures, i, plainer_measure))


def _with(items: tuple[Any, ...], i: int, plainer: Any) -> tuple[Any, ...]:
    return (*items[:i], plainer, *items[i + 1 :])


def _fit_to_variables(query: RowPattern) -> RowPattern:
    """Without what speaks of variables that are gone."""
    V = set(rp.variables(query.pattern))
    unions = tuple(
        replace(union, variables=rest)
        for union in query.subsets
        if (rest := tuple(v for v in union.variables if v in V))
    )
    names = {None, *V, *(union.name for union in unions)}
    skip = query.skip
    return replace(
        query,
        subsets=unions,
        define=tuple(
            each
            for each in query.define
            if each.variable in V and ex.qualifiers(each.condition) <= names
        ),
        measures=tuple(m for m in query.measures if ex.qualifiers(m.expression) <= names),
        skip=rp.PastLastRow() if getattr(skip, "name", None) not in names else skip,
    )


def plainer_patterns(p: rp.Pattern) -> Iterator[rp.Pattern]:
    """A part for the whole, or something plainer in one place."""
    below = rp.children(p)
    yield from below
    match p:
        case rp.Variable(name) if name != "A":
            yield rp.Variable(chr(ord(name[0]) - 1))
        case rp.Permute(parts):
            yield rp.Concat(parts)
        case rp.Repetition(_, lo, hi, reluctant):
            if reluctant:
                yield replace(p, reluctant=False)
            rank = _BOUNDS.index((lo, hi)) if (lo, hi) in _BOUNDS else len(_BOUNDS)
            yield from (replace(p, lo=least, hi=most) for least, most in _BOUNDS[:rank])
            if rank == len(_BOUNDS) and hi is not None and hi > max(lo, 1):
                yield replace(p, hi=hi - 1)
            if rank == len(_BOUNDS) and lo > 1:
                yield replace(p, lo=lo - 1)
        case _:
            pass
    if isinstance(p, rp.Concat | rp.Alternation | rp.Permute) and len(below) > 2:
        for i in range(len(below)):
            yield type(p)(below[:i] + below[i + 1 :])
    for i, part in enumerate(below):
        for plainer in plainer_patterns(part):
            if isinstance(p, rp.Concat | rp.Alternation | rp.Permute):
                yield type(p)((*below[:i], plainer, *below[i + 1 :]))
            elif isinstance(p, rp.Exclusion | rp.Repetition):
                yield replace(p, body=plainer)


def _plainer_expressions(e: ex.Expression) -> Iterator[ex.Expression]:
    """An operand for the whole, a number for a reading, or something plainer in one place."""
    match e:
        case ex.And(left, right) | ex.Or(left, right):
            yield from (left, right)
        case ex.Not(body) | ex.Is(body, bool()):
            yield body
        case ex.Arithmetic(_, left, _):
            yield left
        case ex.In(body, (member, *_)):
            yield ex.Comparison(ex.ComparisonOperator.EQ, body, member)
        case ex.Comparison(_, _, right) if not isinstance(right, ex.Literal):
            yield from (replace(e, right=ex.Literal(number)) for number in (0, 1, 2))
        case ex.First() | ex.Last() | ex.Prev() | ex.Next():
            yield e.body
            if e != (plain := type(e)(e.body)):
                yield plain
        case ex.Aggregate(_, ex.Column() as column):
            yield column
        case ex.Column(name, str()):
            yield ex.Column(name)
        case ex.Literal(int() as number) if number > 0:
            yield ex.Literal(number - 1)
        case _:
            pass
    for name in ("body", "left", "right"):
        operand = getattr(e, name, None)
        if operand is not None and not isinstance(operand, ex.AllRows):
            for plainer in _plainer_expressions(operand):
                yield replace(e, **{name: plainer})  # type: ignore[arg-type]


def _plainer_tables(table: tuple[dict[str, Any], ...]) -> Iterator[tuple[dict[str, Any], ...]]:
    """Without a column, numbered from 0, or with a plainer value in one place."""
    for name in table[0] if table else ():
        yield tuple({c: v for c, v in row.items() if c != name} for row in table)
    in_order = tuple({**row, "t": t} if "t" in row else row for t, row in enumerate(table))
    if in_order != table:
        yield in_order
    for i, row in enumerate(table):
        for name, value in row.items():
            for plainer in _plainer_values(name, value):
                yield (*table[:i], {**row, name: plainer}, *table[i + 1 :])


def _plainer_values(name: str, value: Any) -> Iterator[Any]:
    if name == "t":
        return
    if name == "s":
        yield from _TEXTS[: _TEXTS.index(value) if value in _TEXTS else len(_TEXTS)]
    elif value is None or value > 0:
        yield from range(2 if value is None else value)
