"""Aggregates over all answers without listing them, as a table (DESIGN 2.1)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal, localcontext
from functools import cache
from typing import TYPE_CHECKING, Any

from cerlab.automata.machine import Machine
from cerlab.automata.plan import Plan
from cerlab.compile.pattern import Pattern
from cerlab.errors import ResourceLimit
from cerlab.evaluate.aggregate_request import PLACES, Measure, Request, check_attributes
from cerlab.io.named_columns import names_in, one_array
from cerlab.model.clock import axis_for
from cerlab.model.stream import Stream

if TYPE_CHECKING:
    from cerlab.engine.end_totals import AggregateInputs
    from cerlab.engine.kernels.arrays import Int64s
    from cerlab.engine.measures import Numbers, Ranks

EXPONENT = 1074
"""All doubles are multiples of ``2**-EXPONENT``."""


def group_totals(pattern: Pattern, stream: Stream, request: Request) -> GroupTotals:
    """The totals of each group of the rows that ``Matches.table`` would have.

    Raises `UsageError` for attributes that no event has, `TypeMismatch` for sums of what is no
    number, `ResourceLimit` for totals that no column holds.
    """
    check_attributes(request, pattern, names_in(stream))
    return GroupTotals(request, pattern.plan, pattern.machine, stream)


class GroupTotals:
    """The totals of the groups of a request on a stream, and the values that they stand for.

    Answers that end before the event number `own` do not count. `positions` are those of
    the events, where they are not their numbers.
    """

    def __init__(
        self,
        request: Request,
        plan: Plan,
        machine: Machine,
        stream: Stream,
        *,
        own: int = 0,
        positions: Int64s | None = None,
    ) -> None:
        from cerlab.engine.end_totals import first_ends, group_rows, slide  # NumPy loads here
        from cerlab.engine.totals import totals_of_ends
        from cerlab.predicates.columns.key_codes import KeyCodes

        self._request, self._stream, self._positions = request, stream, positions
        self._source = cache(lambda attribute: one_array(stream, attribute))
        self._rank = cache(self._ranks_of)
        self._numbers = {place: self._numbers_of(place[1]) for place in request.summands}
        windows = (request.window, plan.window)
        time = next(filter(None, (axis_for(w, stream, stream.time) for w in windows)), None)
        inputs, by_start = self._inputs(), "start" in request.groups
        totals = totals_of_ends(plan, machine, stream, time, inputs, by_start=by_start)
        totals = totals.since(own)
        groups = [totals.start, totals.group]
        if request.key:
            groups.append(KeyCodes(request.key).codes(stream.columns, len(stream))[totals.end])
        if "end" not in request.groups:
            totals = group_rows(totals, groups)
        elif request.window is not None:
            lowest = first_ends(request.window, plan, stream, time)
            totals = slide(totals, groups, lowest, inputs)
        self.totals = totals
        self.some = len(totals.end) > 0
        """Whether there are answers."""

    def _numbers_of(self, attribute: str) -> Numbers:
        from cerlab.engine.measures import numbers

        return numbers(self._source(attribute), attribute)

    def _ranks_of(self, attribute: str) -> Ranks:
        from cerlab.engine.measures import ranks

        return ranks(self._source(attribute), attribute)

    def _inputs(self) -> AggregateInputs:
        """The integers that runs carry."""
        from cerlab.engine.end_totals import AggregateInputs

        request = self._request
        extreme_ranks = [(m, self._rank(m.place[1])) for m in request.extremes]
        by = [(c.label, self._rank(str(c.attribute))) for c in request.labelled]
        return AggregateInputs(
            sums=tuple(
                (label, column)
                for (label, _), of in self._numbers.items()
                for column in (of.integers, of.present)
            ),
            least=tuple((m.place[0], of.by(m.function)) for m, of in extreme_ranks),
            groups=tuple((label, of.ranks + 1, of.size + 1) for label, of in by),
        )

    def table(self) -> Any:
        """The columns of the groups, the count and the measures; a row of nothing for no groups."""
        import pyarrow as pa

        from cerlab.engine.end_totals import nothing

        request = self._request
        if not request.groups and not len(self.totals.end):
            self.totals = nothing(self._inputs())
        columns = {name: self.group(name) for name in request.groups}
        if request.count:
            columns["count"] = integer_column(self.totals.runs.tolist(), "count")
        for measure in request.measures:
            columns[measure.name] = self._measure_column(measure)
        return pa.table(columns)

    def group(self, name: str) -> Any:
        """The values of something that rows are grouped by."""
        import pyarrow as pa

        if name in PLACES:
            numbers = getattr(self.totals, name)
            return pa.array(numbers if self._positions is None else self._positions[numbers])
        if name in self._request.key:
            return self._source(name).take(pa.array(self.totals.end))
        stride = 1
        for column in self._request.labelled:
            ranks = self._rank(str(column.attribute))
            if column.name == name:
                digits = self.totals.group // stride % (ranks.size + 1) - 1
                return self._source(str(column.attribute)).take(ranks.examples(digits))
            stride *= ranks.size + 1
        raise AssertionError(name)

    def sums(self, place: tuple[str, str]) -> tuple[list[tuple[int, int]], Numbers]:
        """Sums and how many values are in them, by group, and what the integers stand for."""
        at = 2 * self._request.summands.index(place)
        totals, counts = (self.totals.sums[n].tolist() for n in (at, at + 1))
        return list(zip(totals, counts, strict=True)), self._numbers[place]

    def extreme(self, measure: Measure) -> Any:
        """The column of a least or a greatest value."""
        at, ranks = self._request.extremes.index(measure), self._rank(measure.place[1])
        numbers = ranks.back(measure.function, self.totals.least[at])
        return self._source(measure.place[1]).take(ranks.examples(numbers))

    def _measure_column(self, measure: Measure) -> Any:
        if measure in self._request.extremes:
            return self.extreme(measure)
        pairs, of = self.sums(measure.place)
        return sum_column(measure, pairs, of.exponent, whole=of.whole)


def sum_column(
    measure: Measure, pairs: Iterable[tuple[int, int]], exponent: int, *, whole: bool
) -> Any:
    """The column of a sum or an average; `pairs` are sums and how many values are in them.

    The sums are times ``2**exponent``; `whole` ones are of integers, and have exponent 0.
    """
    if measure.function == "sum" and whole:
        return integer_column([total if n else None for total, n in pairs], measure.name)
    average = measure.function == "avg"
    values = [nearest(x, n if average else 1, exponent) if n else None for x, n in pairs]
    return _double_column(values, measure.name)


def _double_column(values: Sequence[float | None], name: str) -> Any:
    """Doubles as a column; raises `ResourceLimit` for one beyond them."""
    import pyarrow as pa

    if math.inf in values:
        raise too_large(name)
    return pa.array(values, pa.float64())


def nearest(total: int, divisor: int, exponent: int) -> float:
    """The double nearest to ``total / divisor * 2**exponent``; an infinity beyond all doubles."""
    try:
        return (total << max(exponent, 0)) / (divisor << max(-exponent, 0))
    except OverflowError:
        return math.inf


def integer_column(values: Sequence[int | None], name: str) -> Any:
    """Integers as int64; where one needs more as decimals of 38, or 76, digits."""
    import pyarrow as pa

    largest = max((abs(value) for value in values if value is not None), default=0)
    if largest < 1 << 63:
        return pa.array(values, pa.int64())
    if (digits := len(str(largest))) > 76:
        raise too_large(name)
    kind = pa.decimal128(38) if digits <= 38 else pa.decimal256(76)
    with localcontext(prec=80):
        return pa.array([None if v is None else Decimal(v) for v in values], kind)


def too_large(name: str) -> ResourceLimit:
    """The error that a total fits no column."""
    return ResourceLimit(
        "CER0619",
        f"'{name}' is too large for a column of numbers",
        hint='matches.count() has every size; group_by="end" and WITHIN make smaller sums',
    )
