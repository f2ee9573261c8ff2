"""Random formulas of CEL and FO-CEL, random queries, and streams with answers to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TypeVar

from cerlab.errors import keywords_by_name
from cerlab.logic.cel import syntax as cel
from cerlab.logic.cel.syntax import Formula
from cerlab.logic.ceql.syntax import CeqlQuery, SelectItem
from cerlab.logic.focel.semantics import unscoped_variable
from cerlab.model.clauses import (
    AttributeWindow,
    Consume,
    EventWindow,
    Limit,
    Strategy,
    TimeWindow,
    Window,
)
from cerlab.model.event import Duration, Timestamp, Value
from cerlab.predicates import condition as cond
from cerlab.predicates import syntax as pred
from cerlab.predicates.condition import Correlation, On
from cerlab.predicates.syntax import LabelAttribute, Operator
from cerlab.testing.choices import (
    ATTRIBUTES,
    LABELS,
    SMALL,
    STREAMS,
    TYPES,
    Choices,
    Shape,
    likely,
    nests,
    part,
)


@part
def random_condition(rng: Choices, labels: Sequence[str], shape: Shape) -> cond.Condition:
    """Return a filter over some labels: predicates, AND, OR.

    >>> from random import Random
    >>> from cerlab.predicates.condition import On, atomics
    >>> tests = atomics(random_condition(Random(1), ["A"], Shape()))
    >>> all(isinstance(test, On) for test in tests)
    True
    """
    if not likely(rng, 0.3):
        return cond.On(rng.choice(labels), random_predicate(rng, shape))
    left, right = (random_condition(rng, labels, shape) for _ in range(2))
    return pred.And(left, right) if likely(rng, 0.4) else pred.Or(left, right)


@part
def random_predicate(rng: Choices, shape: Shape) -> pred.Predicate:
    """Return a predicate over the attributes v and w.

    >>> from random import Random
    >>> from cerlab.predicates.syntax import atoms, attributes_of
    >>> set(attributes_of(atoms(random_predicate(Random(1), Shape())))) <= {"v", "w"}
    True
    """
    if shape.temporal and likely(rng, 0.6):
        return _temporal_predicate(rng)
    if not likely(rng, 0.4) or not shape.rich or shape.typed:
        return pred.Comparison(
            rng.choice([pred.Operator.EQ, pred.Operator.EQ, pred.Operator.NE, pred.Operator.GE]),
            pred.Attribute("v"),
            pred.Constant(rng.choice((0, 1))),
        )
    v = pred.Attribute(rng.choice(("v", "v", "w")))
    match rng.randrange(9):
        case 0:
            return pred.Not(random_predicate(rng, shape))
        case 1:
            return pred.And(random_predicate(rng, shape), random_predicate(rng, shape))
        case 2:
            return pred.Or(random_predicate(rng, shape), random_predicate(rng, shape))
        case 3:
            values = rng.choice(((0, 1), (1,), (True,), ("a",)))
            return pred.Member(v, tuple(map(pred.Constant, values)), likely(rng, 0.3))
        case 4:
            bounds = rng.choice(((0, 1), (1, None), (None, 0)))
            low, high = (None if b is None else pred.Constant(b) for b in bounds)
            return pred.Between(v, low, high, likely(rng, 0.3))
        case 5:
            return pred.Like(v, rng.choice(("a", "^b", "[ab]$")))
        case 6:
            other = pred.Attribute("w")
            return pred.Comparison(rng.choice(list(pred.Operator)), v, other)
        case 7:
            total = pred.Computed(rng.choice(list(pred.Arithmetic)), v, pred.Constant(1))
            return pred.Comparison(rng.choice(list(pred.Operator)), total, pred.Constant(1))
        case _:
            constant = pred.Constant(rng.choice((0, 0.5, 1.0, True, "a", "b")))
            return pred.Comparison(rng.choice(list(pred.Operator)), v, constant)


MOMENTS: tuple[Timestamp, ...] = (Timestamp(0), Timestamp(10**9))

DURATIONS: tuple[Duration, ...] = (Duration(0), Duration(10**9), Duration(-1))


def _temporal_predicate(rng: Choices) -> pred.Predicate:
    """Return a comparison of timestamps or durations, most of them computed by arithmetic."""
    v, w = pred.Attribute("v"), pred.Attribute("w")
    operator = rng.choice(list(pred.Operator))
    moment, length = pred.Constant(rng.choice(MOMENTS)), pred.Constant(rng.choice(DURATIONS))
    number = pred.Constant(rng.choice((2, 0.5, -1)))
    sub, add = pred.Arithmetic.SUB, pred.Arithmetic.ADD
    match rng.randrange(8):
        case 0:
            return pred.Comparison(operator, v, moment if likely(rng, 0.5) else length)
        case 1:
            return pred.Comparison(operator, pred.Computed(sub, v, w), length)
        case 2:
            return pred.Comparison(operator, v, pred.Computed(add, w, length))
        case 3:
            scaling = rng.choice((pred.Arithmetic.MUL, pred.Arithmetic.DIV))
            return pred.Comparison(operator, pred.Computed(scaling, w, number), length)
        case 4:
            ratio = pred.Computed(pred.Arithmetic.DIV, w, pred.Constant(Duration(2 * 10**9)))
            return pred.Comparison(operator, ratio, pred.Constant(0.5))
        case 5:
            some: Sequence[Value] = rng.choice((MOMENTS, DURATIONS))
            return pred.Member(v, tuple(map(pred.Constant, some[:2])), likely(rng, 0.3))
        case 6:
            ends: Sequence[Value] = rng.choice((MOMENTS, DURATIONS))
            low, high = map(pred.Constant, ends[:2])
            return pred.Between(v, low, high, likely(rng, 0.3))
        case _:
            return pred.Comparison(operator, pred.Negated(w), length)


_KINDS = (
    *("seq", "seq", "concat", "or", "plus", "plus", "star"),
    *("as", "as", "filter", "filter", "project", "rename", "count"),
)


_WITH_GAPS = tuple(kind for kind in _KINDS if kind not in ("concat", "star"))


_FAMILY = ("and", "all", "unless", "select", "correlation")


_TIMED = ("within", "within", "wait", "lookback")


_WEIGHTS = {
    "seq": 7,
    "plus": 4,
    "filter": 4,
    "and": 4,
    "correlation": 3,
    "or": 2,
    "count": 2,
    "concat": 2,
    "star": 2,
    "all": 2,
    "unless": 4,
    "select": 2,
    "within": 2,
    "as": 1,
    "project": 1,
    "rename": 1,
    "wait": 1,
    "lookback": 1,
}
"""Relative frequencies of operators among the allowed features.

Faults of engines appear where parts repeat, are compared or meet; renaming reveals few.
"""


@cache
def _kinds_of(takes: frozenset[str]) -> tuple[str, ...]:
    """Return the kinds of operators for these features, each repeated by its weight."""
    strategies = {f"{strategy.value}()" for strategy in Strategy}
    comparing = {"x.v=y.v", "x.v+y.v"} & takes
    allowed = {
        "seq": ";" in takes,
        "concat": ":" in takes,
        "plus": "+" in takes,
        "star": ":+" in takes,
        "count": bool({"{n}", ":{n}"} & takes),
        "select": bool(strategies & takes),
        "correlation": bool(comparing) and {";", "AS", "FILTER"} <= takes,
    }
    return tuple(
        kind
        for kind, weight in _WEIGHTS.items()
        if allowed.get(kind, kind.upper() in takes)
        for _ in range(weight)
    )


@keywords_by_name
@part
def random_formula(rng: Choices, shape: Shape = ATTRIBUTES) -> Formula:
    """Return a formula of CORE Table 2's operators, NOT, ``:``, ``:+`` and RENAME, or of all.

    >>> from random import Random
    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> phi = random_formula(Random(1))
    >>> parse_cel(str(phi))[0] == phi
    True
    """
    kinds = _kinds(shape)
    if not nests(rng, shape.depth if kinds else 0, 0.85):
        return _leaf(rng, shape)
    smaller = replace(shape, depth=shape.depth - 1)
    match rng.choice(kinds):
        case "and":
            # AND of two unrelated formulas has no valuation, so the sides share a part
            common, other = (random_formula(rng, smaller) for _ in range(2))
            either = cel.Or(common, other) if shape.allows("OR") else common
            # in some draws, each side removes valuations of the other
            return cel.And(either, common) if likely(rng, 0.6) else cel.And(common, either)
        case "all":
            return cel.All(random_formula(rng, smaller), random_formula(rng, smaller))
        case "unless":
            # a right side of several events rarely lies inside an answer of the left one
            left, right = random_formula(rng, smaller), replace(smaller, depth=0)
            right = right if likely(rng, 0.6) else smaller
            return cel.Unless(left, random_formula(rng, right))
        case "select":
            strategies = [each for each in Strategy if shape.allows(f"{each.value}()")]
            return cel.Select(rng.choice(strategies), random_formula(rng, smaller))
        case "correlation":
            x, y = (cel.As(random_formula(rng, smaller), label) for label in "xy")
            op = rng.choice(list(pred.Operator))
            here, there = (pred.LabelAttribute(label, rng.choice("vvw")) for label in "xy")
            computed = likely(rng, 0.25) if shape.allows("x.v=y.v") else True
            computed = computed and shape.allows("x.v+y.v")
            sides = random_sides(rng, here, there) if computed else (here, there)
            return cel.Filter(cel.Seq(x, y), cond.Correlation(op, *sides))
        case "within":
            windows = (*_lengths(rng), EventWindow(rng.randrange(4)))
            return cel.Within(random_formula(rng, smaller), rng.choice(windows))
        case "wait":
            waiting = cel.Wait(random_formula(rng, smaller), rng.choice(_lengths(rng)))
            # WAIT is mostly used to test absence
            absent = likely(rng, 0.4) and shape.allows("UNLESS")
            return cel.Unless(waiting, _leaf(rng, shape)) if absent else waiting
        case "lookback":
            looking = cel.Lookback(random_formula(rng, smaller), rng.choice(_lengths(rng)))
            # LOOKBACK is mostly used to test absence before an event
            absent = likely(rng, 0.4) and shape.allows("UNLESS")
            return cel.Unless(looking, _leaf(rng, shape)) if absent else looking
        case "rename":
            body = random_formula(rng, smaller)
            old = rng.choice(sorted(cel.defined_labels(body)) or ["A"])
            return cel.Rename(old, rng.choice((*LABELS, "A")), body)
        case "seq":
            return cel.Seq(random_formula(rng, smaller), random_formula(rng, smaller))
        case "concat":
            return cel.Concat(random_formula(rng, smaller), random_formula(rng, smaller))
        case "or":
            return cel.Or(random_formula(rng, smaller), random_formula(rng, smaller))
        case "plus":
            return cel.Plus(random_formula(rng, smaller))
        case "star":
            return cel.ConcatPlus(random_formula(rng, smaller))
        case "count":
            gaps = not shape.contiguous or likely(rng, 0.7)
            gaps = shape.allows("{n}") if not shape.allows("{n}", ":{n}") else gaps
            return random_count(rng, random_formula(rng, smaller), gaps=gaps)
        case "as":
            return cel.As(random_formula(rng, smaller), rng.choice(LABELS))
        case "filter":
            body = random_formula(rng, smaller)
            # only a filter over several events of a label tests that all satisfy it
            if shape.takes is not None and "+" in shape.takes and likely(rng, 0.4):
                body = cel.Plus(body)
            labels = sorted(cel.defined_labels(body)) or ["A"]
            if likely(rng, 0.1):
                labels.append(rng.choice(LABELS))
            return cel.Filter(body, random_condition(rng, tuple(labels), shape))
        case _:
            body = random_formula(rng, smaller)
            labels = sorted(cel.defined_labels(body))
            projection = frozenset(label for label in labels if likely(rng, 0.5))
            return cel.Project(projection, body)


def _kinds(shape: Shape) -> tuple[str, ...]:
    """Return the kinds of operators that a shape allows, likelier ones more often."""
    if shape.takes is not None:
        return _kinds_of(shape.takes)
    kinds = _KINDS if shape.contiguous else _WITH_GAPS
    return (*kinds, *(_FAMILY if shape.family else ()), *(_TIMED if shape.timed else ()))


def _lengths(rng: Choices) -> tuple[AttributeWindow, TimeWindow]:
    """Return a random length by the attribute t, and the same length in seconds."""
    width = rng.choice((0, 1, 1, 2, 2.5, 4))
    return AttributeWindow(width, "t"), TimeWindow(round(width * 10**9))


W = TypeVar("W", bound=Window)


def on_one_axis(query: CeqlQuery, *, times: bool) -> CeqlQuery:
    """Return the query with its windows and waits all in seconds, or all by the attribute t."""

    def window(w: W) -> W | TimeWindow | AttributeWindow:
        match w:
            case AttributeWindow(width) if times:
                return TimeWindow(round(width * 10**9))
            case TimeWindow(nanoseconds) if not times:
                return AttributeWindow(nanoseconds / 10**9, "t")
            case _:
                return w

    def formula(phi: Formula) -> Formula:
        psi = cel.map_children(formula, phi)
        match psi:
            case cel.Within(_, w):
                return replace(psi, window=window(w))
            case cel.Wait(_, length) | cel.Lookback(_, length):
                return replace(psi, length=window(length))
            case _:
                return psi

    outside, throttle = (w and window(w) for w in (query.window, query.throttle))
    return replace(query, formula=formula(query.formula), window=outside, throttle=throttle)


def random_sides(
    rng: Choices, left: pred.Expression, right: pred.Expression
) -> tuple[pred.Expression, pred.Expression]:
    """Return two sides of a comparison with arithmetic, mostly with one label on each side."""
    number = pred.Constant(rng.choice((0, 1, 2, -1, 0.5, 1.05)))
    op = rng.choice(list(pred.Arithmetic))
    if likely(rng, 0.3):
        return pred.Computed(op, left, right), number
    if likely(rng, 0.3):
        return left, pred.Negated(right)
    computed = pred.Computed(op, number, right)
    return (computed, left) if likely(rng, 0.3) else (left, computed)


def random_count(rng: Choices, body: Formula, *, gaps: bool = True) -> cel.Count:
    """Return a counted iteration with small counts, since streams are short."""
    least = rng.choice((1, 2, 2, 3))
    most = rng.choice((least, least, least + 1, least + 2, None))
    return cel.Count(body, least, most, gaps)


def _leaf(rng: Choices, shape: Shape) -> Formula:
    of_stream = likely(rng, 0.05) and shape.allows(">")
    atom = cel.Atom(rng.choice(TYPES), rng.choice(STREAMS) if of_stream else None)
    if shape.contiguous and shape.allows("NOT") and likely(rng, 0.1):
        body: Formula = atom
        if likely(rng, 0.6) and shape.allows("FILTER"):
            body = cel.Filter(atom, random_condition(rng, (atom.type,), shape))
        return cel.Not(body)
    return atom


VARIABLES = ("x", "y", "z")


@keywords_by_name
def random_fo_formula(rng: Choices, shape: Shape = SMALL, *, binary: bool = False) -> Formula:
    """Return a scoped well-formed formula (erratum E4); `binary` allows comparing variables.

    >>> from random import Random
    >>> from cerlab.logic.focel.semantics import check_first_order
    >>> check_first_order(random_fo_formula(Random(1)))
    """
    while True:
        phi = _draw(rng, shape, shape.depth, binary=binary)
        if unscoped_variable(phi) is None:
            return phi


@keywords_by_name
def any_fo_formula(rng: Choices, shape: Shape = SMALL, *, binary: bool = False) -> Formula:
    """Return a formula of FO-CEL that need not be scoped.

    >>> from random import Random
    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> phi = any_fo_formula(Random(1))
    >>> parse_cel(str(phi))[0] == phi
    True
    """
    return _draw(rng, shape, shape.depth, binary=binary)


@part
def _draw(rng: Choices, shape: Shape, depth: int, *, binary: bool) -> Formula:
    if not nests(rng, depth, 0.95):
        return cel.As(cel.Atom(rng.choice("AB")), rng.choice(VARIABLES))

    def smaller() -> Formula:
        return _draw(rng, shape, depth - 1, binary=binary)

    match rng.choice(("seq", "seq", "or", "plus", "filter", "filter", "count")):
        case "or":
            return cel.Or(smaller(), smaller())
        case "seq":
            return cel.Seq(smaller(), smaller())
        case "plus":
            return cel.Plus(smaller())
        case "count":
            return random_count(rng, smaller())
        case _:
            body, x, y = smaller(), rng.choice(VARIABLES), rng.choice(VARIABLES)
            if binary and x != y and likely(rng, 0.3):
                sides = (LabelAttribute(x, "v"), LabelAttribute(y, "v"))
                return cel.Filter(body, Correlation(Operator.EQ, *sides))
            return cel.Filter(body, On(x, random_predicate(rng, shape)))


@keywords_by_name
def random_query(rng: Choices, shape: Shape = ATTRIBUTES, *, times: bool = True) -> CeqlQuery:
    """Return a formula under random clauses, each present or absent.

    A window may be in seconds if there are `times`.

    >>> from random import Random
    >>> from cerlab import parse_query
    >>> from cerlab.logic.ceql.syntax import query_text
    >>> query = random_query(Random(1))
    >>> parse_query(query_text(query)).ast == query
    True
    """
    formula = random_formula(rng, shape)
    query = CeqlQuery(formula)
    if likely(rng, 0.25) and shape.allows("SELECT"):
        labels = sorted(cel.defined_labels(formula))
        query = replace(query, items=tuple(SelectItem(x) for x in labels if likely(rng, 0.5)))
    strategies = [each for each in Strategy if shape.allows(each.value)]
    if likely(rng, 0.2) and strategies:
        query = replace(query, strategy=rng.choice(strategies))
    if likely(rng, 0.15) and shape.allows("FROM"):
        query = replace(query, streams=("S",) if likely(rng, 0.5) else ("S", "T"))
    if likely(rng, 0.3) and shape.allows("PARTITION BY"):
        brackets = ((("k",),), (("k",), ("v",)), (("k", "v"),))
        query = replace(query, partition=rng.choice(brackets))
    windows = _random_windows(rng, shape, times=times) if likely(rng, 0.4) else []
    if windows:
        query = replace(query, window=rng.choice(windows))
    if likely(rng, 0.6 if query.partition else 0.2) and shape.allows("CONSUME BY"):
        policies = (Consume.ANY, Consume.ANY, Consume.PARTITION)
        query = replace(query, consume=rng.choice(policies))
    # most evaluators refuse LIMIT or THROTTLE, so suites of many evaluators do not draw them
    if shape.takes is not None:
        query = _limited(rng, query, shape.takes)
    if query.partition and query.consume.crosses_partitions and cel.waits(formula):
        # the first key to consume would depend on the clock, so this combination is an error
        query = replace(query, consume=Consume.PARTITION)
    return query if times else on_one_axis(query, times=False)


def _limited(rng: Choices, query: CeqlQuery, takes: frozenset[str]) -> CeqlQuery:
    """Return the query with LIMIT or THROTTLE in some draws."""
    if "LIMIT" in takes and likely(rng, 0.15):
        query = with_limit(query, rng.choice((1, 1, 2)))
    if "THROTTLE" in takes and likely(rng, 0.1):
        query = replace(query, throttle=AttributeWindow(rng.choice((1, 2, 4)), "t"))
    return query


def _random_windows(
    rng: Choices, shape: Shape, *, times: bool
) -> list[EventWindow | AttributeWindow | TimeWindow]:
    """Draw a window of each kind, so that later draws stay in place; return the allowed ones."""
    windows: dict[str, EventWindow | AttributeWindow | TimeWindow] = {
        "EVENTS": EventWindow(rng.randrange(5)),
        "[t]": AttributeWindow(rng.choice((0, 1, 2, 2.5, 4)), "t"),
        "SECONDS": TimeWindow(rng.randrange(5) * 10**9),
    }
    return [w for name, w in windows.items() if shape.allows(name) and (times or name != "SECONDS")]


_KEPT = 0.98
"""Probability that a part of a query is kept."""


def with_parts_left_out(rng: Choices, query: CeqlQuery) -> CeqlQuery:
    """Return the query without a few of its parts; shrinking drops all parts.

    Streams are drawn for the whole query, so dropping an irrelevant part of a failing case leaves
    the stream unchanged.
    """
    plain = CeqlQuery(_with_parts_left_out(rng, query.formula))
    clauses = {
        name: getattr(query, name)
        for name in (
            *("items", "strategy", "streams", "partition"),
            *("window", "consume", "limit", "throttle"),
        )
        if getattr(query, name) != getattr(plain, name) and likely(rng, _KEPT)
    }
    return replace(plain, **clauses)


def _with_parts_left_out(rng: Choices, phi: Formula) -> Formula:
    below = cel.children(phi)
    if isinstance(phi, cel.Atom):
        return cel.Atom(phi.type, phi.stream if phi.stream and likely(rng, _KEPT) else None)
    if isinstance(phi, cel.Not):
        atom = phi.body.body if isinstance(phi.body, cel.Filter) else phi.body
        body = phi.body if likely(rng, _KEPT) else atom
        return cel.Not(body) if likely(rng, _KEPT) else atom
    kept = [likely(rng, _KEPT) for _ in below]
    smaller = [_with_parts_left_out(rng, psi) for psi in below]
    if not all(kept):
        return smaller[kept.index(False)]
    for n, psi in enumerate(smaller):
        phi = cel.with_child(phi, n, psi)
    return (
        replace(phi, condition=_with_conditions_left_out(rng, phi.condition))
        if isinstance(phi, cel.Filter)
        else phi
    )


def _with_conditions_left_out(rng: Choices, condition: cond.Condition) -> cond.Condition:
    if not isinstance(condition, pred.And | pred.Or):
        return condition
    sides = [_with_conditions_left_out(rng, side) for side in (condition.left, condition.right)]
    for side in sides:
        if not likely(rng, _KEPT):
            return side
    return type(condition)(*sides)


def with_limit(query: CeqlQuery, per_end: int) -> CeqlQuery:
    """Return the query with LIMIT.

    Args:
        query: The query.
        per_end: The greatest number of answers for each end.

    >>> from cerlab.logic.ceql.parser import parse_cel
    >>> from cerlab.logic.ceql.syntax import query_text
    >>> print(query_text(with_limit(CeqlQuery(parse_cel("A")[0]), 2)))
    SELECT *
    WHERE A
    LIMIT 2
    """
    return replace(query, limit=Limit(per_end))
