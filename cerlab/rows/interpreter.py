"""Row expressions as Python functions of a match in progress, or of a single row.

`of_mapping` evaluates at a mapping, `at_row` at a row, regardless of qualifiers. A condition that
reads only the row under test and its neighbours is a function of the row alone.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import count
from typing import Any, Literal, NamedTuple, TypeAlias

from cerlab.model.event import Duration
from cerlab.rows import expressions as ex
from cerlab.rows.library import LIBRARY, application
from cerlab.rows.machine import GrowingMapping
from cerlab.rows.scalar_forms import Scalar, above, at_least, at_most, below, conjunction, equal

OfMapping: TypeAlias = Callable[[GrowingMapping], Any]

AtRow: TypeAlias = Callable[[GrowingMapping, int], Any]

Names: TypeAlias = Mapping[str, str]
"""The column of each name in the query."""


def of_mapping(e: ex.Expression, names: Names) -> OfMapping:
    """Return an expression of DEFINE or MEASURES as a function of the match."""
    match e:
        case ex.Literal(constant):
            return lambda m: constant
        case ex.Column(name, x):
            column = names[name]
            return lambda m: (
                m.columns[column][m.positions[x][k - 1]] if (k := m.count_rows(x, False)) else None
            )
        case ex.Classifier(x):
            return lambda m: (
                m.labels[m.positions[x][k - 1] - m.s] if (k := m.count_rows(x, False)) else None
            )
        case ex.MatchNumber():
            return operator.attrgetter("number")
        case ex.First(body) | ex.Last(body):
            landing, at = landing_of(e), at_row(body, names)
            return lambda m: None if (p := landing(m)) is None else at(m, p)
        case ex.Prev(body, j):
            return _step(body, -j, names)
        case ex.Next(body, j):
            return _step(body, j, names)
        case ex.Aggregate():
            return _aggregate(e, names)
        case _:
            return _operation(e, lambda part: of_mapping(part, names))


def landing_of(e: ex.Edge) -> Callable[[GrowingMapping], int | None]:
    """Return a function from a match to the row of FIRST or LAST; None with too few rows."""
    x, final, offset = ex.variable_of(e.body), e.final, e.offset
    if isinstance(e, ex.First):
        return lambda m: m.positions[x][offset] if m.count_rows(x, final) > offset else None
    return lambda m: (
        m.positions[x][k - 1 - offset] if (k := m.count_rows(x, final)) > offset else None
    )


def _step(body: ex.Expression, j: int, names: Names) -> OfMapping:
    """Return PREV (j < 0) or NEXT (j > 0) as a function of the match."""
    if isinstance(body, ex.First | ex.Last):
        landing, at = landing_of(body), at_row(body.body, names)
    else:
        landing, at = landing_of(ex.Last(body)), at_row(body, names)

    def value(m: GrowingMapping) -> Any:
        p = landing(m)
        return None if p is None or not 0 <= p + j < m.length else at(m, p + j)

    return value


def _aggregate(e: ex.Aggregate, names: Names) -> OfMapping:
    x, body, final = ex.variable_of(e), e.body, e.final
    if isinstance(body, ex.AllRows):
        return lambda m: m.count_rows(x, final)
    at, fold = at_row(body, names), FOLDS[e.function]
    if e.rest:
        parts = [at, *(at_row(part, names) for part in e.rest)]
        at = lambda m, p: tuple(part(m, p) for part in parts)  # noqa: E731
    key = next(_KEYS)

    def value(m: GrowingMapping) -> Any:
        state = m.fold(key, x, final, fold.empty, lambda state, p: fold.step(state, at(m, p)))
        return fold.result(state)

    return value


_KEYS = count()
"""Identities of aggregates: a mapping keeps the running states of each."""


def at_row(e: ex.Expression, names: Names) -> AtRow:
    """Return an expression as a function of a row, at which all columns are read.

    PREV and NEXT step from there.
    """
    match e:
        case ex.Literal(constant):
            return lambda m, p: constant
        case ex.Column(name):
            column = names[name]
            return lambda m, p: m.columns[column][p]
        case ex.Classifier():
            return lambda m, p: m.labels[p - m.s] if 0 <= p - m.s < len(m.labels) else None
        case ex.MatchNumber():
            return lambda m, p: m.number
        case ex.Prev(body, j) | ex.Next(body, j):
            step, at = (-j if isinstance(e, ex.Prev) else j), at_row(body, names)
            return lambda m, p: at(m, p + step) if 0 <= p + step < m.length else None
        case ex.First() | ex.Last() | ex.Aggregate():
            raise AssertionError("the expression reads more than one row of the match")
        case _:
            return _operation(e, lambda part: at_row(part, names))


def _operation(
    e: ex.Operation, part: Callable[[ex.Expression], Callable[..., Any]]
) -> Callable[..., Any]:
    """Return an operator as a function; `part` compiles its operands."""
    match e:
        case ex.Is(body, truth):
            return _apply(lambda a: a is truth, (body,), part)
        case ex.In(body, members):
            return _apply(_member, (body, *members), part)
        case ex.Between(body, low, high):
            return _apply(_between, (body, low, high), part)
        case ex.Case():
            return _case(e, part)
        case _:
            name, arguments = application(e)
            return _apply(LIBRARY[name].scalar, arguments, part)


def _apply(
    function: Scalar,
    operands: Sequence[ex.Expression],
    part: Callable[[ex.Expression], Callable[..., Any]],
) -> Callable[..., Any]:
    parts = [part(operand) for operand in operands]
    # most operators have two operands, and without a generator a call takes a third of the time
    if len(parts) == 2:
        left, right = parts
        return lambda *at: function(left(*at), right(*at))
    return lambda *at: function(*(each(*at) for each in parts))


def _case(e: ex.Case, part: Callable[[ex.Expression], Callable[..., Any]]) -> Callable[..., Any]:
    branches = [(part(test), part(result)) for test, result in e.branches]
    operand = part(e.operand) if e.operand is not None else None
    otherwise = part(e.otherwise) if e.otherwise is not None else lambda *at: None

    def value(*at: Any) -> Any:
        for test, result in branches:
            truth = test(*at) if operand is None else equal(operand(*at), test(*at))
            if truth is True:
                return result(*at)
        return otherwise(*at)

    return value


def of_row(e: ex.Expression, own: frozenset[str | None]) -> bool:
    """Return whether a condition reads only the current row and its neighbours.

    `own` are the names whose last row is the row under test: the variable, its unions, and None.
    """
    other = any(isinstance(part, ex.Classifier | ex.MatchNumber) for part in ex.subexpressions(e))
    return not other and not registers_read(e, own)


class Register(NamedTuple):
    """A part of the match that a condition reads, such as the last rows of a variable."""

    kind: Literal["first", "last", "number", "other"]
    name: str | None
    rows: int = 0
    labels: bool = False
    """True if the labels of the rows are read."""


def registers_read(e: ex.Expression, own: frozenset[str | None]) -> set[Register]:
    """Return the parts of a match, before the current row, that a condition reads."""
    match e:
        case ex.Column(_, x) | ex.Classifier(x):
            label = isinstance(e, ex.Classifier)
            return set() if x in own else {Register("last", x, 1, label)}
        case ex.First(body, j) | ex.Last(body, j):
            x, label = ex.variable_of(body), _reads_label(body)
            kind: Literal["first", "last"] = "first" if isinstance(e, ex.First) else "last"
            return {Register(kind, x, j + 1, label)}
        case ex.Prev(body) | ex.Next(body):
            if _reads_label(body):
                return {Register("other", None)}
            edge = isinstance(body, ex.First | ex.Last)
            x = ex.variable_of(body)
            return registers_read(body, own) if edge or x not in own else set()
        case ex.Aggregate(_, ex.AllRows(x)):
            return {Register("number", x)}
        case ex.Aggregate():
            return {Register("other", None)}
        case _:
            parts = (part for part in ex.children(e) if not isinstance(part, ex.AllRows))
            return {r for part in parts for r in registers_read(part, own)}


def _reads_label(e: ex.Expression) -> bool:
    return any(isinstance(part, ex.Classifier) for part in ex.subexpressions(e))


def registers_of(read: Iterable[Register]) -> Callable[[GrowingMapping], Hashable] | None:
    """Return a function from a match to the parts that conditions read; None if they read more."""
    # sorted as text, because names may be None, which does not compare
    registers = sorted(set(read), key=repr)
    if not registers or any(register.kind == "other" for register in registers):
        return None

    def values(m: GrowingMapping) -> Hashable:
        return tuple(register_value(register, m) for register in registers)

    return values


def register_value(r: Register, m: GrowingMapping) -> Hashable:
    """Return a part of the match: rows, with labels if needed, or a number of rows."""
    positions = m.positions.get(r.name, [])
    if r.kind == "number":
        return len(positions)
    rows = positions[: r.rows] if r.kind == "first" else positions[-r.rows :]
    return (*rows, *(m.labels[p - m.s] for p in rows)) if r.labels else tuple(rows)


def _member(a: Any, *values: Any) -> bool | None:
    """Return ``a IN (..)``."""
    answers = [equal(a, b) for b in values]
    # one TRUE decides IN; otherwise one NULL makes it NULL
    return True if True in answers else (None if None in answers else False)


def _between(a: Any, low: Any, high: Any) -> bool | None:
    """Return ``a BETWEEN low AND high``."""
    return conjunction(at_least(a, low), at_most(a, high))


class Fold(NamedTuple):
    """An aggregate computed step by step: initial state, step, and result."""

    empty: Any
    step: Scalar
    result: Scalar


class Total(NamedTuple):
    """A partial sum: the number of values, the exact sum of integers, and that of doubles.

    The doubles are a sum of non-overlapping parts (Shewchuk); values that are not finite are
    separate.
    """

    numbers: int = 0
    whole: int = 0
    parts: tuple[float, ...] = ()
    special: float | None = None
    of_time: bool = False
    """True for durations, which are summed as nanoseconds."""


def _add(total: Total, value: Any) -> Total:
    if value is None:
        return total
    n, whole, parts, special, _ = total
    if isinstance(value, Duration):
        return Total(n + 1, whole + value.nanoseconds, of_time=True)
    if isinstance(value, int):
        return Total(n + 1, whole + value, parts, special)
    if not math.isfinite(value):
        return Total(n + 1, whole, parts, value if special is None else special + value)
    # Shewchuk's sum: the parts do not overlap, so no bit is lost
    partials = []
    for part in parts:
        high, low = (value, part) if abs(value) >= abs(part) else (part, value)
        value = high + low
        if math.isinf(value):
            return Total(n + 1, whole, (), value)
        if rest := low - (value - high):
            partials.append(rest)
    return Total(n + 1, whole, (*partials, value), special)


def _sum(total: Total) -> Any:
    n, whole, parts, special, of_time = total
    if of_time:
        return Duration(whole)
    if special is not None:
        return special
    if parts:
        return math.fsum((*parts, whole)) if whole else math.fsum(parts)
    return whole if n else None


def _best(takes: Scalar) -> Fold:
    def step(best: Any, value: Any) -> Any:
        if value is None:
            return best
        return value if best is None or takes(value, best) else best

    return Fold(None, step, lambda best: best)


def _mean(total: Total) -> Any:
    if total.of_time:
        return Duration(round(Fraction(total.whole, total.numbers)))
    return LIBRARY["/"].scalar(_sum(total), total.numbers) if total.numbers else None


class Chain(NamedTuple):
    """A linked list of values, the last one first, which later states share."""

    before: Chain | None
    value: Any


def values_of_chain(chain: Chain | None) -> list[Any]:
    """Return the values of a linked list, the earliest first."""
    values = []
    while chain is not None:
        values.append(chain.value)
        chain = chain.before
    return values[::-1]


class Distinct(NamedTuple):
    """The distinct values so far; states that extend one another share one set."""

    number: int = 0
    chain: Chain | None = None
    shared: list[Any] | None = None
    """The shared set, and the end of the longest chain that it represents."""


def _see(state: Distinct, value: Any) -> Distinct:
    if value is None:
        return state
    key = "NaN" if value != value else (value,)
    number, chain, shared = state
    # copy the set if another state has extended it
    if shared is None or shared[1] is not chain:
        shared = [set(values_of_chain(chain)), chain]
    if key in shared[0]:
        return Distinct(number, chain, shared)
    shared[0].add(key)
    shared[1] = Chain(chain, key)
    return Distinct(number + 1, shared[1], shared)


class Spread(NamedTuple):
    """The number of values, their mean, and the sum of squared distances from the mean."""

    number: int = 0
    mean: float = 0.0
    squares: float = 0.0


def _welford(state: Spread, value: Any) -> Spread:
    if value is None:
        return state
    try:
        number = float(value)
    except OverflowError:
        number = math.nan
    count, mean, squares = state.number + 1, state.mean, state.squares
    new_mean = mean + (number - mean) / count
    return Spread(count, new_mean, squares + (number - new_mean) * (number - mean))


def _variance(less: int, root: bool, state: Spread) -> float | None:
    if state.number <= less:
        return None
    # the variance of a single value is 0, even for NaN
    variance = state.squares / (state.number - less) if state.number > 1 else 0.0
    return math.sqrt(variance) if root else variance


def _spread(less: int, *, root: bool) -> Fold:
    return Fold(Spread(), _welford, partial(_variance, less, root))


def _by(takes: Scalar) -> Fold:
    def step(best: Any, pair: Any) -> Any:
        if None in pair:
            return best
        return pair if best is None or takes(pair[1], best[1]) else best

    return Fold(None, step, lambda best: None if best is None else best[0])


def _append_text(chain: Chain | None, pair: Any) -> Chain | None:
    return chain if pair[0] is None else Chain(chain, pair)


def _join(chain: Chain | None) -> str | None:
    if chain is None:
        return None
    return str(chain.value[1]).join(text for text, _ in values_of_chain(chain))


FOLDS: dict[ex.AggregateFunction, Fold] = {
    ex.AggregateFunction.COUNT: Fold(0, lambda n, value: n + (value is not None), lambda n: n),
    ex.AggregateFunction.SUM: Fold(Total(), _add, _sum),
    ex.AggregateFunction.AVG: Fold(Total(), _add, _mean),
    ex.AggregateFunction.MIN: _best(below),
    ex.AggregateFunction.MAX: _best(above),
    ex.AggregateFunction.COUNT_DISTINCT: Fold(Distinct(), _see, operator.itemgetter(0)),
    ex.AggregateFunction.STDDEV: _spread(1, root=True),
    ex.AggregateFunction.STDDEV_POP: _spread(0, root=True),
    ex.AggregateFunction.VARIANCE: _spread(1, root=False),
    ex.AggregateFunction.VAR_POP: _spread(0, root=False),
    ex.AggregateFunction.MAX_BY: _by(above),
    ex.AggregateFunction.MIN_BY: _by(below),
    ex.AggregateFunction.ARRAY_AGG: Fold(None, Chain, lambda chain: values_of_chain(chain) or None),
    ex.AggregateFunction.LISTAGG: Fold(None, _append_text, _join),
}
