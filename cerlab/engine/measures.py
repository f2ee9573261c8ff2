"""Values of events as integers, which sums, minima and groups over answers need.

Sums of doubles are exact: all doubles are integer multiples of one power of two. Least values are
compared by their rank in the column.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cerlab.budget import poll
from cerlab.engine.kernels.arrays import Bytes, Int64s
from cerlab.engine.kernels.blocks import NOTHING as NO_LEAST
from cerlab.engine.kernels.limbs import BITS
from cerlab.engine.reference.totals import ANY_START, Place, Sliding, Total
from cerlab.errors import BadData, TypeMismatch
from cerlab.model.arrays import order_of
from cerlab.model.columns import is_duration, nanoseconds
from cerlab.model.event import Value
from cerlab.predicates.columns.ranks import NOTHING as NO_VALUE
from cerlab.predicates.columns.ranks import Ranks
from cerlab.predicates.truth import kind_of

if TYPE_CHECKING:
    from cerlab.engine.labels import LabelledAnswers

Integers: TypeAlias = NDArray[Any]
"""Integers as int64, or as Python integers if 64 bits are too few."""


PART_BITS = 2 * BITS
"""The bits of a part of a number: two limbs of the kernel."""

BLOCK = 1 << 17
"""The number of doubles that are split together: their temporary arrays fit the processor's cache.
"""


class Numbers(NamedTuple):
    """A column of numbers as integers: ``value = integer * 2**exponent``, 0 for NULL.

    An integer is the sum of its parts, part ``n`` times ``2**(n * PART_BITS)``: the doubles of most
    columns need more than 64 bits.
    """

    parts: tuple[Integers, ...]  # an array (events,) for each part, the lowest part first
    present: Bytes  # (events,): 1 where the value is not NULL
    exponent: int
    whole: bool
    """True if the column contains integers."""
    durations: bool = False
    """True if the integers are nanoseconds of durations."""

    @property
    def integers(self) -> Integers:
        """The integers, of shape (events,)."""
        return self.parts[0] if len(self.parts) == 1 else integers(self.joined(self.parts))

    def joined(self, parts: Iterable[Integers]) -> list[int]:
        """Return the integers whose `parts` are given, lowest part first."""
        rows = zip(*(part.tolist() for part in parts), strict=True)
        return [sum(x << n * PART_BITS for n, x in enumerate(row)) for row in rows]


class RankedColumn(NamedTuple):
    """A column of values as ranks in their order, -1 for NULL."""

    ranks: Int64s  # (events,)
    first: Int64s  # (values,): the index of one event with each value

    @property
    def size(self) -> int:
        """The number of values."""
        return len(self.first)

    def by(self, function: str) -> Int64s:
        """Return integers of which the result of min or max has the least; -1 for NULL."""
        if function == "min":
            return self.ranks
        return np.where(self.ranks < 0, -1, self.size - 1 - self.ranks)

    def back(self, function: str, numbers: Integers) -> Int64s:
        """Return the ranks of integers from `by`; -1 for the largest integer (no value)."""
        ranks = numbers if function == "min" else self.size - 1 - numbers
        return np.where(numbers == np.iinfo(np.int64).max, -1, ranks)

    def examples(self, ranks: Int64s) -> Any:
        """Return, for each rank, the index of an event with that value, as Arrow; NULL for -1."""
        import pyarrow as pa

        ranks = ranks.astype(np.int64)
        return pa.array(np.append(self.first, 0)[ranks], mask=ranks < 0)


def numbers(column: Any, name: str) -> Numbers:
    """Return an Arrow column of numbers or durations as integers; NaN counts as NULL.

    Raises `TypeMismatch` for a column of another type, `BadData` for an infinity.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    present = np.asarray(pc.is_valid(column)).view(np.uint8)
    if pa.types.is_null(kind):
        return Numbers((np.zeros(len(column), np.int64),), present, 0, True)
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        values = np.asarray(pc.fill_null(column.cast(pa.int64()), 0))
        return Numbers((values,), present, 0, True)
    if pa.types.is_uint64(kind):
        integers = [value or 0 for value in column.to_pylist()]
        return Numbers((np.array(integers, object),), present, 0, True)
    if is_duration(kind):
        if (whole := nanoseconds(column)) is None:
            message = f"column '{name}' holds a duration of more than 64 bits of nanoseconds"
            hint = "such durations may be compared, not added: they are beyond 292 years"
            raise BadData("CER0740", message, hint=hint)
        values = np.asarray(pc.fill_null(whole, 0))
        return Numbers((values,), present, 0, True, True)
    if not pa.types.is_floating(kind):
        raise no_sum(name, kind)
    doubles = np.asarray(pc.fill_null(column.cast(pa.float64()), np.nan))
    present = (~np.isnan(doubles)).view(np.uint8)
    if np.isinf(doubles).any():
        raise infinite(name)
    parts, exponent = _parts_of(doubles)
    return Numbers(parts, present, exponent, False)


def exact_numbers(values: Sequence[Value], name: str) -> Numbers:
    """Return integers of any size and doubles, given as Python values, as integers.

    Raises as `numbers`.
    """
    ratios: list[tuple[int, int] | None] = []
    for value in values:
        kind = kind_of(value)
        if kind is None:
            ratios.append(None)
        elif kind != "number" or not isinstance(value, int | float):
            raise no_sum(name, kind)
        elif math.isinf(value):
            raise infinite(name)
        else:
            ratios.append(value.as_integer_ratio())
    present = np.array([ratio is not None for ratio in ratios], np.uint8)
    parts = [ratio or (0, 1) for ratio in ratios]
    bits = max((divisor.bit_length() - 1 for _, divisor in parts), default=0)
    scaled = integers([(above << bits) // divisor for above, divisor in parts])
    return Numbers((scaled,), present, -bits, all(type(value) is not float for value in values))


def no_sum(name: str, kind: object) -> TypeMismatch:
    """Return the error for sum or avg over a column without numbers or durations."""
    return TypeMismatch(
        "CER0306",
        f"column '{name}' of {kind} has no sum",
        hint="sum and avg need numbers or durations; min, max and count accept every column",
    )


def infinite(name: str) -> BadData:
    """Return the error for an infinity in a sum."""
    return BadData(
        "CER0748",
        f"column '{name}' contains an infinity, so its sum is not a number",
        hint="filter such events out, or use min and max",
    )


def _parts_of(doubles: NDArray[np.float64]) -> tuple[tuple[Int64s, ...], int]:
    """Return doubles as integers times ``2**exponent``, in 64-bit parts, and the exponent."""
    poll(8 * len(doubles))
    blocks = [slice(at, at + BLOCK) for at in range(0, len(doubles), BLOCK)]
    bounds = list[tuple[int, int]]()
    for block in blocks:
        odd, powers = _odd_integers(doubles[block])
        if (some := odd != 0).any():
            ends = powers[some] + np.frexp(odd[some].astype(np.float64))[1]
            bounds.append((int(powers[some].min()), int(ends.max())))
    if not bounds:
        return (np.zeros(len(doubles), np.int64),), 0
    exponent = min(lowest for lowest, _ in bounds)
    bits = max(above for _, above in bounds) - exponent
    is_one = bits <= MOST_INTEGER.bit_length()
    widths = [bits] if is_one else [PART_BITS] * -(-bits // PART_BITS)
    parts = tuple(np.empty(len(doubles), np.int64) for _ in widths)
    for block in blocks:
        odd, powers = _odd_integers(doubles[block])
        sign, size = np.sign(odd), np.abs(odd)
        for n, (part, width) in enumerate(zip(parts, widths, strict=True)):
            up = powers - exponent - n * PART_BITS
            left, right = np.clip(up, 0, width), np.clip(-up, 0, 63)
            part[block] = sign * ((size >> right & (1 << width - left) - 1) << left)
    return parts, exponent


def _odd_integers(doubles: NDArray[np.float64]) -> tuple[Int64s, Int64s]:
    """Return doubles as odd integers times powers of two; zeros and NaN as 0."""
    fractions, powers = np.frexp(np.where(np.isnan(doubles), 0.0, doubles))
    whole = (fractions * 2.0**53).astype(np.int64)
    zeros = np.maximum(np.frexp((whole & -whole).astype(np.float64))[1] - 1, 0)
    return whole >> zeros, powers.astype(np.int64) - 53 + zeros


def ranks(column: Any, name: str) -> RankedColumn:
    """Return an Arrow column as ranks for min and max; NaN counts as NULL: it has no order."""
    poll(8 * len(column))
    codes = Ranks().of_column(column, name)
    distinct, first, number = np.unique(codes, return_index=True, return_inverse=True)
    absent = int(NO_VALUE in distinct[:1])
    return RankedColumn(number - absent, first[absent:])


def group_ranks(column: Any, name: str) -> RankedColumn:
    """Return an Arrow column as ranks for GROUP BY, where NaN is a value and comes last."""
    import pyarrow.compute as pc

    ordered = ranks(column, name)
    odd = np.flatnonzero((ordered.ranks < 0) & np.asarray(pc.is_valid(column)))
    if not len(odd):
        return ordered
    codes = ordered.ranks.copy()
    codes[odd] = ordered.size
    return RankedColumn(codes, np.append(ordered.first, odd[0]))


def limbs(integers: Integers, bits: int) -> list[Int64s]:
    """Return integers as int64 digits in base ``2**bits``, lowest first, the last one signed."""
    digits: list[Int64s] = []
    rest = integers
    while True:
        high = rest >> bits
        if all(_fits(rest, bits)):
            digits.append(rest.astype(np.int64))
            return digits
        digits.append((rest - (high << bits)).astype(np.int64))
        rest = high


def _fits(integers: Integers, bits: int) -> Sequence[bool]:
    if not len(integers):
        return [True]
    return [-(1 << bits) <= int(integers.min()), int(integers.max()) < 1 << bits]


MOST_INTEGER = (1 << 62) - 1
"""Integers up to this size stay in 64 bits: the sum of any two of them fits."""


NOTHING: int = NO_LEAST
"""Sentinel: the least of no values."""


class AggregateInputs(NamedTuple):
    """The columns of integers that runs sum, minimise or group by, with their labels.

    `groups` are numbers of values, 0 for NULL, each with the count of numbers; their labels contain
    at most one event.
    """

    sums: tuple[tuple[str, Integers], ...]  # (events,)
    least: tuple[tuple[str, Int64s], ...]  # (events,), -1 for none
    groups: tuple[tuple[str, Int64s, int], ...]  # (events,)

    @property
    def labels(self) -> frozenset[str]:
        """The labels named in `sums`, `least` and `groups`."""
        of_groups = (label for label, _, _ in self.groups)
        return frozenset((*(label for label, _ in (*self.sums, *self.least)), *of_groups))

    @property
    def strides(self) -> list[int]:
        """The factor of each GROUP BY column in the number of a group."""
        sizes = [size for _, _, size in self.groups]
        return [prod(sizes[:n]) for n in range(len(sizes))]


class EndTotals(NamedTuple):
    """The totals at each end, one row for each start and group, by end.

    Arrays of int64, or of Python integers if 64 bits are too few.
    """

    end: Int64s  # (rows,)
    start: Int64s  # (rows,): `ANY_START` if the totals are not by start
    group: Int64s  # (rows,)
    runs: Int64s  # (rows,)
    sums: tuple[Integers, ...]  # an array (rows,) for each sum
    least: tuple[Integers, ...]  # an array (rows,) for each minimum, `NOTHING` if empty

    def since(self, first: int) -> EndTotals:
        """Return the totals of the ends at or after position `first`."""
        return self.rows(slice(int(np.searchsorted(self.end, first)), None))

    def rows(self, at: slice | Int64s) -> EndTotals:
        """Return the rows at the given indices."""
        end, start, group, runs = (x[at] for x in (self.end, self.start, self.group, self.runs))
        sums, least = (tuple(x[at] for x in of) for of in (self.sums, self.least))
        return EndTotals(end, start, group, runs, sums, least)


def join_totals(parts: Sequence[EndTotals]) -> EndTotals:
    """Return totals concatenated."""
    if len(parts) == 1:
        return parts[0]
    columns = [(*each[:4], *each.sums, *each.least) for each in parts]
    end, start, group, runs, *rest = map(np.concatenate, zip(*columns, strict=True))
    sums = len(parts[0].sums)
    return EndTotals(end, start, group, runs, tuple(rest[:sums]), tuple(rest[sums:]))


def columns_of(
    totals_by_end: Iterable[tuple[int, dict[Place, Total]]], inputs: AggregateInputs
) -> EndTotals:
    """Return totals, given by end, start and group, as columns."""
    rows = [(end, place, total) for end, of in totals_by_end for place, total in of.items()]
    totals = [total for _, _, total in rows]
    end = integers([end for end, _, _ in rows])
    start, group = (integers([place[n] for _, place, _ in rows]) for n in range(2))
    return EndTotals(
        end,
        start,
        group,
        integers([total.runs for total in totals]),
        tuple(integers([total.sums[n] for total in totals]) for n in range(len(inputs.sums))),
        tuple(
            integers([NOTHING if (x := total.least[n]) is None else x for total in totals])
            for n in range(len(inputs.least))
        ),
    )


def integers(values: Sequence[int]) -> Integers:
    """Return integers as an array: int64, or Python integers if 64 bits are too few."""
    fit = all(-MOST_INTEGER <= value <= MOST_INTEGER for value in values)
    return np.array(values, np.int64 if fit else object)


def totals_of_rows(
    batches: Iterable[LabelledAnswers], inputs: AggregateInputs, *, by_start: bool
) -> EndTotals:
    """Return the totals of labelled rows that come by end, read one batch at a time.

    The result has the form of `totals_of_ends`.
    """
    none = np.zeros(0, np.int64)
    sums, least = (none,) * len(inputs.sums), (none,) * len(inputs.least)
    parts = [EndTotals(none, none, none, none, sums, least)]
    for rows in batches:
        totals = _rows_one_by_one(rows, inputs, by_start=by_start)
        parts.append(group_rows(totals, [totals.end, totals.start, totals.group]))
    whole = join_totals(parts)
    # the rows of one end may be in two batches
    return group_rows(whole, [whole.end, whole.start, whole.group])


def _rows_one_by_one(
    rows: LabelledAnswers, inputs: AggregateInputs, *, by_start: bool
) -> EndTotals:
    """Return the totals of labelled rows, one row each."""
    count = len(rows.answer)
    inside = slice(int(rows.offsets[0]), int(rows.offsets[-1]))
    positions, marks = rows.positions[inside], rows.marks[inside]
    row_of = np.repeat(np.arange(count), np.diff(rows.offsets))

    def events_of(label: str) -> tuple[Int64s, Int64s]:
        has_label = np.array([label in L for L in rows.labels], bool)[marks]
        return row_of[has_label], positions[has_label]

    sums, least = [], []
    for label, numbers in inputs.sums:
        row, event = events_of(label)
        fits = largest(numbers) * (len(event) + 1) <= MOST_INTEGER
        total = np.zeros(count, np.int64 if fits else object)
        np.add.at(total, row, numbers[event])
        sums.append(total)
    for label, numbers in inputs.least:
        row, event = events_of(label)
        row, event = row[numbers[event] >= 0], event[numbers[event] >= 0]
        lowest = np.full(count, NOTHING, np.int64)
        np.minimum.at(lowest, row, numbers[event])
        least.append(lowest)
    fits = prod(size for _, _, size in inputs.groups) <= MOST_INTEGER
    group = np.zeros(count, np.int64 if fits else object)
    for stride, (label, numbers, _) in zip(inputs.strides, inputs.groups, strict=True):
        row, event = events_of(label)
        group[row] += stride * numbers[event].astype(group.dtype)
    start = rows.start if by_start else np.full(count, ANY_START)
    runs = np.ones(count, np.int64)
    return EndTotals(rows.end, start, group, runs, tuple(sums), tuple(least))


def slide(
    totals: EndTotals, by: Sequence[Int64s], lowest: Int64s, inputs: AggregateInputs
) -> EndTotals:
    """Return each row summed with earlier rows of equal `by` whose end is in its window.

    `lowest` is, by position, the first end that counts at an end there.
    """
    queues: dict[tuple[Any, ...], Sliding] = {}
    groups = list(zip(*(column.tolist() for column in by), strict=True)) or [()] * len(totals.end)

    def totals_by_end() -> Iterator[tuple[int, dict[Place, Total]]]:
        sums, least = (
            list(zip(*(column.tolist() for column in of), strict=True))
            for of in (totals.sums, totals.least)
        )
        places = zip(totals.end.tolist(), totals.start.tolist(), totals.group.tolist(), strict=True)
        for n, (end, start, group) in enumerate(places):
            minima = [None if x == NOTHING else x for x in (least[n] if least else ())]
            total = Total(int(totals.runs[n]), tuple(sums[n] if sums else ()), tuple(minima))
            queue = queues.setdefault(groups[n], Sliding())
            yield end, {(start, group): queue.add(end, total, int(lowest[end]))}

    return columns_of(totals_by_end(), inputs)


def group_rows(totals: EndTotals, by: Sequence[Int64s]) -> EndTotals:
    """Return the rows summed over equal `by`, in the order of their first rows."""
    order = order_of(*by)
    is_first = np.zeros(len(order), np.bool_)
    is_first[:1] = True
    for column in by:
        is_first[1:] |= column[order[1:]] != column[order[:-1]]
    begins = np.flatnonzero(is_first)
    by_row = order_of(order[begins])

    def sums_of(column: Integers) -> Integers:
        if not len(begins):
            return column
        if column.dtype == object or largest(column) * len(column) <= MOST_INTEGER:
            return np.add.reduceat(column[order], begins)[by_row]
        # sum 32-bit halves: only the sums, not the rows, then become Python integers
        high = np.add.reduceat(column[order] >> 32, begins)[by_row]
        low = np.add.reduceat(column[order] & (1 << 32) - 1, begins)[by_row]
        if largest(high) >= 1 << 30:
            high, low = high.astype(object), low.astype(object)
        return (high << 32) + low

    def least(column: Integers) -> Integers:
        return np.minimum.reduceat(column[order], begins)[by_row] if len(begins) else column

    rows = order[begins[by_row]]
    end, start, group = totals.end[rows], totals.start[rows], totals.group[rows]
    sums, lowest = (tuple(map(f, of)) for f, of in ((sums_of, totals.sums), (least, totals.least)))
    return EndTotals(end, start, group, sums_of(totals.runs), sums, lowest)


def nothing(inputs: AggregateInputs) -> EndTotals:
    """Return a row of zeros: the totals of no answers."""
    zero = np.zeros(1, np.int64)
    least = np.full(1, NOTHING, np.int64)
    return EndTotals(
        zero, zero, zero, zero, (zero,) * len(inputs.sums), (least,) * len(inputs.least)
    )


def largest(integers: Integers) -> int:
    """Return the largest magnitude among integers; 0 for an empty array."""
    return max(abs(int(integers.max())), abs(int(integers.min()))) if len(integers) else 0
