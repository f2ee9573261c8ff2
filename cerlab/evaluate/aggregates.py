"""Aggregates over all answers without listing them: a checked request, and its table."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

from cerlab.automata.plan import Plan, PlanClauses
from cerlab.automata.strategy import Machine
from cerlab.compile.pattern import Pattern
from cerlab.errors import CerlabError, ResourceLimit, Unsupported, UsageError, refuse_misspelt
from cerlab.evaluate.labelled import repeatable_labels, selected_labels
from cerlab.io.named_columns import (
    NamedColumn,
    array_at,
    check_columns,
    names_label,
    one_array,
    read_column,
    refuse_twice,
)
from cerlab.logic.cel.syntax import Atom
from cerlab.logic.ceql.parser import parse_ceql
from cerlab.logic.ceql.syntax import (
    CeqlQuery,
    group_text,
    partition_attributes,
)
from cerlab.model.clauses import Window
from cerlab.model.columns import integers_of, is_arrow, only_used, take_columns, values_of
from cerlab.model.decimals import Decimals
from cerlab.model.stream import Stream, axis_for

if TYPE_CHECKING:
    from cerlab.engine.kernels.arrays import Int64s
    from cerlab.engine.measures import AggregateInputs, EndTotals, Numbers


KEY = "key"
"""The name in `group_by` that stands for all attributes of PARTITION BY."""


PLACES = ("end", "start")
"""Names in `group_by` that every query supports."""


class Aggregates(TypedDict, total=False):
    """The parameters of `Matches.aggregate`, documented there."""

    count: bool
    sum: str | Iterable[str]
    avg: str | Iterable[str]
    min: str | Iterable[str]
    max: str | Iterable[str]
    group_by: str | Iterable[str]
    sliding: str | None


@dataclass(frozen=True, slots=True)
class Measure:
    """One aggregate of an attribute, such as ``sum(x.attr)``."""

    function: str
    column: NamedColumn

    @property
    def name(self) -> str:
        """The name of the measure's column in the result."""
        return f"{self.function}({self.column.name})"

    @property
    def place(self) -> tuple[str, str]:
        """The label and the attribute that the measure aggregates."""
        return self.column.label, str(self.column.attribute)


@dataclass(frozen=True, slots=True)
class Request:
    """The requested measures and groups of a query, as plain values."""

    count: bool
    measures: tuple[Measure, ...]
    groups: tuple[str, ...]
    """The keys of the groups: ends, starts, attributes of the key, attributes of labels."""
    key: tuple[str, ...]
    """The attributes of PARTITION BY among the groups."""
    labelled: tuple[NamedColumn, ...]
    window: Window | None
    """The window that slides over the ends, or None."""

    @property
    def summands(self) -> tuple[tuple[str, str], ...]:
        """The labels and attributes of which sums are requested."""
        return tuple(dict.fromkeys(m.place for m in self.measures if m.function in ("sum", "avg")))

    @property
    def extremes(self) -> tuple[Measure, ...]:
        """The requested minima and maxima, each once."""
        return tuple(dict.fromkeys(m for m in self.measures if m.function in ("min", "max")))

    @property
    def columns(self) -> tuple[NamedColumn, ...]:
        """The attributes of labels that the request reads."""
        return (*(measure.column for measure in self.measures), *self.labelled)


def request_of(
    pattern: Pattern,
    *,
    count: bool = True,
    sum: str | Iterable[str] = (),
    avg: str | Iterable[str] = (),
    min: str | Iterable[str] = (),
    max: str | Iterable[str] = (),
    group_by: str | Iterable[str] = (),
    sliding: str | None = None,
    **others: object,
) -> Request:
    """Return the requested measures and groups; without arguments, those of SELECT and GROUP BY.

    Raise `Unsupported` under LIMIT and THROTTLE, `UsageError` for a text other than ``x.attr``, for
    labels that no answer has, for unknown groups, and for any of `others`.
    """
    refuse_misspelt(others, Aggregates.__optional_keys__)
    columns = {"sum": sum, "avg": avg, "min": min, "max": max}
    if count and pattern.ast.aggregates and not group_by and not any(columns.values()):
        return selected_request(pattern, sliding)
    measures = [m for name, texts in columns.items() for m in _measures(name, _texts(texts))]
    return _request(pattern, count, measures, _texts(group_by), sliding)


def selected_request(pattern: Pattern, sliding: str | None = None) -> Request:
    """Return the request of ``SELECT COUNT(*), SUM(x.attr) ..``; raise as `request_of`."""
    query = pattern.ast
    measures = [
        Measure(each.function, read_column(group_text((each.label, each.attribute))))
        for each in query.aggregates
        if each.label is not None and each.attribute is not None
    ]
    groups = [each[0] if len(each) == 1 else group_text(each) for each in query.groups]
    count = any(each.function == "count" for each in query.aggregates)
    return _request(pattern, count, measures, groups, sliding)


def check_attributes(
    request: Request, pattern: Pattern, attributes: Collection[str] | None
) -> Request:
    """Return the request; raise `UsageError` for an attribute that is not in `attributes`.

    `attributes` is None if the attributes of the events are not known yet.
    """
    check_columns(request.columns, selected_labels(pattern), attributes)
    return request


def _request(
    pattern: Pattern,
    count: bool,
    measures: Sequence[Measure],
    group_by: Iterable[str],
    sliding: str | None,
) -> Request:
    clauses = {"LIMIT": pattern.ast.limit, "THROTTLE": pattern.ast.throttle}
    for clause in (name for name, value in clauses.items() if value is not None):
        raise Unsupported(
            "CER0420",
            f"aggregates count all answers without listing them, but {clause} selects some",
            hint=f"omit {clause}, or list the answers: matches.table(..)",
        )
    key = partition_attributes(pattern.ast)
    names = tuple(dict.fromkeys(n for g in group_by for n in (key if g == KEY and key else (g,))))
    window = _window(sliding, names)
    label_columns = _label_columns(pattern, [name for name in names if name not in (*PLACES, *key)])
    of_key = tuple(name for name in names if name in key)
    distinct = tuple(dict.fromkeys(measures))  # a table has each column once
    others = (*PLACES, *(["count"] if count else []), *(measure.name for measure in distinct))
    refuse_twice(of_key, others)
    labels = selected_labels(pattern)
    refuse_twice([n for n in of_key if n not in labels and names_label(n, labels)], of_key)
    request = Request(count, distinct, names, of_key, tuple(label_columns), window)
    return check_attributes(request, pattern, None)


def _texts(texts: str | Iterable[str]) -> Iterable[str]:
    return [texts] if isinstance(texts, str) else texts


def _measures(function: str, columns: Iterable[str]) -> Iterator[Measure]:
    for text in columns:
        column = read_column(text)
        if column.attribute is None or column.function is not None:
            message = f"{function} needs an attribute of a label, got '{text}'"
            raise UsageError("CER0862", message, hint='for example "b.price"')
        yield Measure(function, column)


def check_running(pattern: Pattern) -> None:
    """Raise `Unsupported` for a query whose totals cannot be updated from event to event."""
    if pattern.machine_kind not in ("automaton", "registers"):
        raise Unsupported(
            "CER0418",
            "running aggregates need an automaton or a transducer, and this query has none",
            hint="aggregate a whole stream: query.run(..).aggregate(..)",
        )


def _window(text: str | None, names: Collection[str]) -> Window | None:
    """Return the window in the text of ``sliding=``; raise `UsageError` for any other text."""
    if text is None:
        return None
    try:
        query = parse_ceql(f"SELECT * WHERE A WITHIN {text}")[0]
    except CerlabError:
        query = None
    # compare the whole query: the text might add other clauses after the window
    if query is None or "end" not in names or query != CeqlQuery(Atom("A"), window=query.window):
        raise UsageError(
            "CER0868",
            f"sliding='{text}' is not a window of ends",
            hint='for example sliding="10 MINUTES" or "100 EVENTS", with group_by="end"',
        )
    return query.window


def _label_columns(pattern: Pattern, names: Iterable[str]) -> Iterator[NamedColumn]:
    """Yield the labels' attributes that group rows; raise `UsageError` for unsuitable names."""
    several = repeatable_labels(pattern)
    for name in names:
        column = read_column(name)
        if column.attribute is None or column.function or column.label in several:
            raise UsageError(
                "CER0866",
                f"rows are not grouped by '{column.name}'",
                hint='group by "start", "end", "key", attributes of PARTITION BY, or attributes of '
                "labels that hold one event",
            )
        yield column


def numbers_in(stream: Stream, attribute: str) -> Numbers:
    """Return the values of an attribute as exact numbers; raise as `measures.numbers`.

    A column of integers of which one exceeds 64 bits has no Arrow type that holds all of them.
    """
    from cerlab.engine.measures import exact_numbers, numbers  # NumPy loads here

    column = stream.columns.get(attribute)
    if column is None or is_arrow(column):
        return numbers(one_array(stream, attribute), attribute)
    if isinstance(column, Decimals):
        return numbers(column.numbers, attribute)
    return exact_numbers(values_of(column, attribute), attribute)


EXPONENT = 1074
"""The exponent for which all doubles are multiples of ``2**-EXPONENT``."""


class Totals(Protocol):
    """Interface: the totals of the requested measures, by group."""

    some: bool
    """True if there are answers."""

    @property
    def runs(self) -> list[int]:
        """The number of answers in each group."""

    def group(self, name: str) -> Any:
        """Return the values that define one group."""

    def sums(self, place: tuple[str, str]) -> tuple[list[tuple[int, int]], Numbers]:
        """Return pairs (sum, count) by group, and the unit of the sums."""

    def extreme(self, measure: Measure) -> Any:
        """Return the column of a minimum or a maximum."""

    def table(self) -> Any:
        """Return the columns of the groups, the count and the measures."""


class GroupTotals:
    """The totals of the groups of a request on a stream, and the values that define the groups.

    Answers that end before event number `own` do not count. `positions` are those of the events, if
    they differ from their numbers. Without a `machine` the rows are `listed`.
    """

    def __init__(
        self,
        request: Request,
        plan: PlanClauses,
        machine: Machine | None,
        stream: Stream,
        *,
        own: int = 0,
        positions: Int64s | None = None,
        listed: Callable[[AggregateInputs], EndTotals] | None = None,
    ) -> None:
        from cerlab.engine.measures import (  # NumPy loads here
            group_ranks,
            group_rows,
            ranks,
            slide,
        )
        from cerlab.engine.totals import totals_of_ends
        from cerlab.engine.windows import SlidingEnds
        from cerlab.predicates.columns.key_codes import KeyCodes

        self._request, self._stream, self._positions = request, stream, positions
        # closures over `self` would be cycles, which keep the columns of a group in memory
        source = self._source = cache(lambda attribute: one_array(stream, attribute))
        self._rank = cache(lambda attribute: ranks(source(attribute), attribute))
        self._group_rank = cache(lambda attribute: group_ranks(source(attribute), attribute))
        self._numbers = {place: self._numbers_of(place[1]) for place in request.summands}
        windows = (request.window, plan.window)
        time = next(filter(None, (axis_for(w, stream, stream.time) for w in windows)), None)
        inputs, by_start = self._inputs(), "start" in request.groups
        if listed is not None:
            totals = listed(inputs)
        else:
            assert isinstance(plan, Plan), "an automaton has a whole plan"
            assert machine is not None, "and a machine"
            totals = totals_of_ends(plan, machine, stream, time, inputs, by_start=by_start)
        totals = totals.since(own)
        groups = [totals.start, totals.group]
        if request.key:
            of_ends = take_columns(stream.columns, totals.end, request.key)
            groups.append(KeyCodes(request.key).codes(of_ends, len(totals.end)))
        if "end" not in request.groups:
            totals = group_rows(totals, groups)
        elif request.window is not None:
            ends = SlidingEnds(request.window, plan.streams, time)
            lowest = ends.read(stream.columns, len(stream), 0)
            totals = slide(totals, groups, lowest, inputs)
        self.totals = totals
        self.some = len(totals.end) > 0
        """True if there are answers."""

    def _numbers_of(self, attribute: str) -> Numbers:
        return numbers_in(self._stream, attribute)

    def _inputs(self) -> AggregateInputs:
        """Return the integers that runs of the automaton add up."""
        from cerlab.engine.measures import AggregateInputs

        request = self._request
        extreme_ranks = [(m, self._rank(m.place[1])) for m in request.extremes]
        by = [(c.label, self._group_rank(str(c.attribute))) for c in request.labelled]
        return AggregateInputs(
            sums=tuple(
                (label, column)
                for (label, _), of in self._numbers.items()
                for column in (*of.parts, of.present)
            ),
            least=tuple((m.place[0], of.by(m.function)) for m, of in extreme_ranks),
            groups=tuple((label, of.ranks + 1, of.size + 1) for label, of in by),
        )

    def table(self) -> Any:
        """Return the columns of the groups, the count and the measures.

        Without groups the table has one row.
        """
        from cerlab.engine.measures import nothing

        request = self._request
        if not request.groups and not len(self.totals.end):
            self.totals = nothing(self._inputs())
        return table_of(request, self)

    @property
    def runs(self) -> list[int]:
        """The number of answers in each group."""
        runs: list[int] = self.totals.runs.tolist()
        return runs

    def group(self, name: str) -> Any:
        """Return the values that define one group."""
        import pyarrow as pa

        if name in PLACES:
            numbers = getattr(self.totals, name)
            return pa.array(numbers if self._positions is None else self._positions[numbers])
        if name in self._request.key:
            values = only_used(array_at(self._stream, name, self.totals.end))
            return self._stream.columns.as_read(name, values, decode=False)
        stride = 1
        for column in self._request.labelled:
            ranks = self._group_rank(str(column.attribute))
            if column.name == name:
                digits = self.totals.group // stride % (ranks.size + 1) - 1
                return self._values(str(column.attribute), ranks.examples(digits))
            stride *= ranks.size + 1
        raise AssertionError(name)

    def _values(self, attribute: str, positions: Any) -> Any:
        """Return the values of an attribute; timestamps have the time zone of the input."""
        values = only_used(self._source(attribute).take(positions))
        return self._stream.columns.as_read(attribute, values, decode=False)

    def sums(self, place: tuple[str, str]) -> tuple[list[tuple[int, int]], Numbers]:
        """Return pairs (sum, count) by group, and the unit of the sums."""
        of = self._numbers[place]
        before = self._request.summands[: self._request.summands.index(place)]
        at = sum(len(self._numbers[each].parts) + 1 for each in before)
        *parts, counts = self.totals.sums[at : at + len(of.parts) + 1]
        return list(zip(of.joined(parts), counts.tolist(), strict=True)), of

    def extreme(self, measure: Measure) -> Any:
        """Return the column of a minimum or a maximum."""
        at, ranks = self._request.extremes.index(measure), self._rank(measure.place[1])
        numbers = ranks.back(measure.function, self.totals.least[at])
        return self._values(measure.place[1], ranks.examples(numbers))


def table_of(request: Request, totals: Totals) -> Any:
    """Return some totals as columns: the groups, the count and the measures."""
    import pyarrow as pa

    columns = {name: totals.group(name) for name in request.groups}
    if request.count:
        columns["count"] = integer_column(totals.runs, "count")
    for measure in request.measures:
        columns[measure.name] = _measure_column(measure, totals)
    return pa.table(columns)


def _measure_column(measure: Measure, totals: Totals) -> Any:
    if measure.function in ("min", "max"):
        return totals.extreme(measure)
    pairs, of = totals.sums(measure.place)
    if of.durations:
        return duration_column(measure, pairs)
    return sum_column(measure, pairs, of.exponent, whole=of.whole)


def sum_column(
    measure: Measure, pairs: Iterable[tuple[int, int]], exponent: int, *, whole: bool
) -> Any:
    """Return the column of a sum or an average; `pairs` are sums and counts.

    The sums are multiplied by ``2**exponent``; `whole` sums are of integers, and have exponent 0.
    """
    if measure.function == "sum" and whole:
        return integer_column([total if n else None for total, n in pairs], measure.name)
    average = measure.function == "avg"
    values = [nearest(x, n if average else 1, exponent) if n else None for x, n in pairs]
    return _double_column(values, measure.name)


def duration_column(measure: Measure, pairs: Iterable[tuple[int, int]]) -> Any:
    """Return the column of a sum or average of durations; `pairs` are nanoseconds and counts.

    An average is rounded half to even at a nanosecond. Raise `ResourceLimit` for a sum beyond 64
    bits.
    """
    import pyarrow as pa

    average = measure.function == "avg"
    values = [round(Fraction(x, n if average else 1)) if n else None for x, n in pairs]
    if any(value is not None and not -(2**63) <= value < 2**63 for value in values):
        raise too_large(measure.name)
    return pa.array(values, pa.int64()).cast(pa.duration("ns"))


def _double_column(values: Sequence[float | None], name: str) -> Any:
    """Return doubles as a column; raise `ResourceLimit` for an infinite one."""
    import pyarrow as pa

    if math.inf in values:
        raise too_large(name)
    return pa.array(values, pa.float64())


def nearest(total: int, divisor: int, exponent: int) -> float:
    """Return the double nearest to ``total / divisor * 2**exponent``, possibly infinite."""
    try:
        # Python divides integers of any size and rounds once, to the nearest double
        return (total << max(exponent, 0)) / (divisor << max(-exponent, 0))
    except OverflowError:
        return math.inf


def integer_column(values: Sequence[int | None], name: str) -> Any:
    """Return integers as int64, or as decimals; raise `ResourceLimit` beyond 76 digits.

    They never become text: a column has a numeric type whatever its values are, since otherwise
    later steps would meet the text far from the query.
    """
    if (array := integers_of(values)) is None:
        raise too_large(name)
    return array


def too_large(name: str) -> ResourceLimit:
    """Return the error for a total that is too large for every column type."""
    return ResourceLimit(
        "CER0619",
        f"'{name}' is too large for a column of numbers",
        hint=('matches.count() supports every size; group_by="end" and WITHIN make sums smaller'),
    )
