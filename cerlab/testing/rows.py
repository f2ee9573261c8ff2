"""Random row patterns, and tables that are biased towards their matches.

Everything is a function of a ``random.Random``. Tables have the columns g (the partition), t (the
order), x (a small integer) and s (text); values are few, so about half of the conditions hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, TypeAlias, get_args

from cerlab.errors import keywords_by_name
from cerlab.model.event import Duration, Timestamp
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.rows.syntax import RowPattern
from cerlab.testing.choices import Choices, fewer, likely

Reach: TypeAlias = Literal["row", "partition", "match"]
"""How far conditions read: the current row, also PREV and NEXT, or all rows of the match."""


VARIABLES = ("A", "B", "C")


UNION = "U"


_COMPARISONS = tuple(ex.ComparisonOperator)


@keywords_by_name
def random_row_pattern(
    rng: Choices,
    reach: Reach = "match",
    *,
    depth: int = 3,
    pattern: rp.Pattern | None = None,
    temporal: bool = False,
) -> RowPattern:
    """Return a well-formed query of a given pattern, or of a random pattern of at most this depth.

    With `temporal`, half of the numbers become durations or timestamps: ``x * 1 SECOND``.

    >>> from random import Random
    >>> from cerlab import parse_rows
    >>> from cerlab.rows.text import row_pattern_text
    >>> query = random_row_pattern(Random(1))
    >>> parse_rows(row_pattern_text(query)) == query
    True
    """
    assert reach in get_args(Reach)
    rows = rng.choice(tuple(rp.RowsPerMatch))
    if pattern is None:
        excluding = rows is not rp.RowsPerMatch.WITH_UNMATCHED
        pattern = random_row_regex(rng, depth, excluding=excluding)
    V = rp.variables(pattern)
    if not V:
        pattern = rp.Concat((pattern, rp.Variable("A")))
        V = ("A",)
    subsets = (rp.Subset(UNION, tuple(V[-2:])),) if likely(rng, 0.3) else ()
    names = (*V, *(union.name for union in subsets))
    within = rng.choice((2, 3, 1.5)) if likely(rng, 0.1) else None
    order = (rp.OrderItem(ex.Column("t"), within is None and likely(rng, 0.2), likely(rng, 0.2)),)
    return RowPattern(
        pattern,
        tuple(
            rp.Definition(v, _condition(rng, v, names, reach, temporal))
            for v in V
            if likely(rng, 0.6)
        ),
        tuple(
            rp.Measure(_measure(rng, names, temporal), f"m{k}")
            for k in range(rng.choice((1, 2, 3)))
        ),
        (ex.Column("g"),) if likely(rng, 0.4) else (),
        order if within is not None or likely(rng, 0.7) else (),
        subsets,
        rows,
        _skip(rng, pattern, names),
        within,
    )


def random_row_regex(rng: Choices, depth: int, *, excluding: bool = True) -> rp.Pattern:
    """Return a random pattern; rarely one that cannot match any row."""
    if depth == 0 or likely(rng, 0.15):
        return _leaf(rng)

    def part() -> rp.Pattern:
        return random_row_regex(rng, depth - 1, excluding=excluding)

    match rng.choice(("concat", "concat", "alternation", "quantified", "quantified", "rest")):
        case "concat":
            return rp.Concat(tuple(part() for _ in range(rng.choice((2, 2, 3)))))
        case "alternation":
            return rp.Alternation(tuple(part() for _ in range(rng.choice((2, 2, 3)))))
        case "quantified":
            lo, hi = rng.choice(((0, None), (1, None), (0, 1), (1, 2), (2, None), (2, 2), (0, 2)))
            return rp.Repetition(part(), lo, hi, likely(rng, 0.35))
        case _:
            if excluding and likely(rng, 0.6):
                return rp.Exclusion(part())
            return rp.Permute(tuple(_leaf(rng) for _ in range(rng.choice((2, 2, 3)))))


def random_row_sequence(rng: Choices) -> rp.Pattern:
    """Return a sequence of two or three variables, most with a quantifier: ``A* B C+?``."""
    parts = tuple(_with_quantifier(rng, v) for v in VARIABLES[: rng.choice((2, 2, 3))])
    return rp.Concat(parts)


def _with_quantifier(rng: Choices, v: str) -> rp.Pattern:
    if likely(rng, 0.4):
        return rp.Variable(v)
    lo, hi = rng.choice(((0, None), (1, None), (0, 1), (1, 2), (2, None), (2, 2)))
    return rp.Repetition(rp.Variable(v), lo, hi, likely(rng, 0.3))


def _leaf(rng: Choices) -> rp.Pattern:
    if likely(rng, 0.9):
        return rp.Variable(rng.choice(VARIABLES))
    return rng.choice((rp.Empty(), rp.Empty(), rp.PartitionStart(), rp.PartitionEnd()))


def _skip(rng: Choices, pattern: rp.Pattern, names: tuple[str, ...]) -> rp.Skip:
    """Return a skip mode: mostly one that always advances, or a variable other than the first."""
    if likely(rng, 0.75):
        return rng.choice((rp.PastLastRow(), rp.ToNextRow()))
    return rng.choice((rp.ToFirst, rp.ToLast, rp.ToLast))(names[-1])


_TOTALS = tuple(map(ex.AggregateFunction, ("COUNT", "SUM", "AVG", "MIN", "MAX")))
"""Aggregates of numbers that other engines also have."""

_SECOND, _EPOCH = ex.Literal(Duration(10**9)), ex.Literal(Timestamp(0))


def _in_time(rng: Choices, *numbers: ex.Expression) -> list[ex.Expression]:
    """Return numbers as durations in seconds, or as timestamps that many seconds after 1970."""
    lengths = [ex.Arithmetic(ex.ArithmeticOperator.MUL, n, _SECOND) for n in numbers]
    if likely(rng, 0.5):
        return [*lengths]
    return [ex.Arithmetic(ex.ArithmeticOperator.ADD, _EPOCH, length) for length in lengths]


def _condition(
    rng: Choices, v: str, names: tuple[str, ...], reach: Reach, temporal: bool
) -> ex.Expression:
    """Return a condition on v that holds about half of the time."""
    test = _test(rng, v, names, reach)
    if (
        temporal
        and isinstance(test, ex.Comparison)
        and test.left in (ex.Column("x"), ex.Column("x", v))
    ):
        test = ex.Comparison(test.operator, *_in_time(rng, test.left, test.right))
    match rng.choice(("alone", "alone", "alone", "and", "or", "not", "is")):
        case "and":
            return ex.And(test, _test(rng, v, names, reach))
        case "or":
            return ex.Or(test, _test(rng, v, names, reach))
        case "not":
            return ex.Not(test)
        case "is":
            return ex.Not(ex.Is(test, rng.choice((True, False, None))))
        case _:
            return test


def _test(rng: Choices, v: str, names: tuple[str, ...], reach: Reach) -> ex.Expression:
    own = ex.Column("x", rng.choice((None, v)))
    number = ex.Literal(rng.choice((0, 1, 1, 2)))
    choices: list[ex.Expression] = [
        ex.Comparison(rng.choice(_COMPARISONS), own, number),
        ex.In(own, (number, ex.Literal(rng.choice((0, 2))))),
        ex.Comparison(ex.ComparisonOperator.EQ, ex.Column("s"), ex.Literal(rng.choice("ab"))),
        ex.Is(own, None),
    ]
    if reach != "row":
        step = rng.choice((ex.Prev, ex.Prev, ex.Next))(own, rng.choice((1, 1, 2, 0)))
        choices += [ex.Comparison(rng.choice(_COMPARISONS), own, step)] * 3
    if reach == "match":
        choices += [ex.Comparison(rng.choice(_COMPARISONS), own, _reading(rng, names))] * 4
        choices.append(_of_labels(rng, names))
    return rng.choice(choices)


def _reading(rng: Choices, names: tuple[str, ...]) -> ex.Expression:
    """Return a random numeric expression over the rows of a match, for DEFINE and MEASURES."""
    other = ex.Column("x", rng.choice((None, *names)))
    edge = rng.choice((ex.First, ex.Last))(other, rng.choice((0, 0, 1, 2)))
    total = rng.choice(_TOTALS)
    return rng.choice(
        (
            other,
            edge,
            rng.choice((ex.Prev, ex.Next))(edge, rng.choice((1, 1, 2, 0))),
            ex.Aggregate(total, other),
            ex.Aggregate(ex.AggregateFunction.COUNT, ex.AllRows(rng.choice((None, *names)))),
            ex.MatchNumber(),
        )
    )


def _of_labels(rng: Choices, names: tuple[str, ...]) -> ex.Expression:
    label = ex.Classifier(rng.choice((None, *names)))
    step = rng.choice((label, ex.Prev(label), ex.Last(label, 1), ex.Next(label)))
    tests = (
        ex.Comparison(ex.ComparisonOperator.EQ, step, ex.Literal(rng.choice(VARIABLES))),
        ex.Not(ex.Comparison(ex.ComparisonOperator.EQ, step, ex.Literal(names[0]))),
        ex.Is(step, None),
    )
    return rng.choice(tests)


def _measure(rng: Choices, names: tuple[str, ...], temporal: bool) -> ex.Expression:
    """Return a random measure: a label, a number, a step between rows, final or running."""
    reading = _reading(rng, names)
    if temporal and likely(rng, 0.5):
        if not isinstance(reading, ex.Aggregate) or isinstance(reading.body, ex.AllRows):
            return _in_time(rng, reading)[0]
        length = ex.Arithmetic(ex.ArithmeticOperator.MUL, reading.body, _SECOND)
        return ex.Aggregate(reading.function, length, likely(rng, 0.3))
    if isinstance(reading, ex.First | ex.Last):
        reading = type(reading)(reading.body, reading.offset, likely(rng, 0.3))
    elif isinstance(reading, ex.Aggregate):
        reading = ex.Aggregate(reading.function, reading.body, likely(rng, 0.3))
    label = ex.Classifier(rng.choice((None, *names)))
    return rng.choice(
        (
            reading,
            reading,
            ex.Classifier(),
            rng.choice((ex.Prev, ex.Next))(label, 1),
            ex.Arithmetic(rng.choice(tuple(ex.ArithmeticOperator)), reading, ex.Literal(2)),
            ex.Last(ex.Column("s", rng.choice((None, *names)))),
        )
    )


@keywords_by_name
def random_row_table(rng: Choices, *, rows: int = 6) -> list[dict[str, Any]]:
    """Return a table of at most `rows` rows, mostly in order, with some ties and NULLs.

    >>> from random import Random
    >>> len(random_row_table(Random(1), rows=4)) <= 4
    True
    """
    length = rows if likely(rng, 0.6) else rng.randrange(rows + 1)
    table = [
        {
            "g": rng.choice((0, 0, 0, 1, None)),
            "t": t + rng.choice((0, 0, 1, -1)),
            "x": rng.choice((0, 1, 2, 1, None) if likely(rng, 0.3) else (0, 1, 2)),
            "s": rng.choice(("a", "a", "b", None)),
        }
        for t in range(length)
    ]
    if table and likely(rng, 0.1):
        rng.choice(table)["t"] = None
    return table


RowCase: TypeAlias = tuple[RowPattern, tuple[dict[str, Any], ...]]


_CLAUSES = ("partition_by", "order_by", "subsets", "rows", "skip", "within")


_BOUNDS = ((0, None), (1, None), (0, 1))
"""Bounds of quantifiers, the simplest first."""


_TEXTS = ("a", "b")


def smaller_rows(query: RowPattern, table: tuple[dict[str, Any], ...]) -> Iterator[RowCase]:
    """Yield cases that are smaller in one way, the largest steps first; some are ill-formed."""
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
    """Return the query without the parts that name removed variables."""
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
    """Yield a part in place of the whole pattern, or a simpler pattern in one place."""
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
    """Yield an operand in place of an expression, a number, or a simpler expression."""
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
                yield replace(e, **{name: plainer})  # type: ignore[arg-type] # any field of any node


def _plainer_tables(table: tuple[dict[str, Any], ...]) -> Iterator[tuple[dict[str, Any], ...]]:
    """Yield simpler tables: without a column, with times 0, 1, .., or with one simpler value."""
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
