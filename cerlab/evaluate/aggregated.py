"""Aggregates over all answers without listing them, as a table (DESIGN 2.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from cerlab.compile.pattern import Pattern
from cerlab.engine.reference.totals import Total, united
from cerlab.errors import ResourceLimit, Unsupported, UsageError
from cerlab.evaluate.labelled import repeated, selected_labels
from cerlab.evaluate.protocol import time_of
from cerlab.io.named_columns import NamedColumn, check_columns, one_array, read_column
from cerlab.logic.ceql.syntax import partition_attributes
from cerlab.model.stream import Stream

if TYPE_CHECKING:
    from cerlab.engine.measures import Numbers, Ranks

KEY = "key"
"""All attributes of PARTITION BY, in `group_by`."""

NOTHING = -1
"""In a `Place`, what rows are not grouped by."""


class Place(NamedTuple):
    """A group of rows: its end, start, partition and the number of its values."""

    end: int
    start: int
    key: int
    group: int


@dataclass(frozen=True, slots=True)
class Measure:
    """``sum(x.attr)``, or the same with avg, min or max."""

    function: str
    column: NamedColumn

    @property
    def name(self) -> str:
        """What its column is called."""
        return f"{self.function}({self.column.name})"

    @property
    def place(self) -> tuple[str, str]:
        """The label and the attribute."""
        return self.column.label, str(self.column.attribute)


def read_measures(function: str, columns: str | Iterable[str]) -> list[Measure]:
    """The measures of one function; raises `UsageError` for a text that is no ``x.attr``."""
    found = []
    for text in [columns] if isinstance(columns, str) else columns:
        column = read_column(text)
        if column.attribute is None or column.function is not None:
            message = f"{function} takes an attribute of a label, not '{text}'"
            raise UsageError("CER0862", message, hint='for example "b.price"')
        found.append(Measure(function, column))
    return found


def aggregated(
    pattern: Pattern,
    stream: Stream,
    *,
    count: bool,
    measures: Sequence[Measure],
    group_by: Iterable[str],
) -> Any:
    """A pyarrow Table with a row for each group of the rows that ``Matches.table`` would have.

    Raises `Unsupported` for queries without an automaton and under LIMIT, `UsageError` for columns
    and groups that there are not, `ResourceLimit` for totals that no column holds.
    """
    import pyarrow as pa

    _check_query(pattern)
    check_columns([m.column for m in measures], selected_labels(pattern), stream)
    key = partition_attributes(pattern.ast)
    names = list(dict.fromkeys(n for g in group_by for n in (key if g == KEY and key else (g,))))
    labelled = _labelled_groups(pattern, stream, [n for n in names if n not in (*_PLACES, *key)])
    taking = _Taking(stream, measures, labelled)
    by_key = any(name in key for name in names)
    rows = _rows(pattern, stream, taking, names, by_key=by_key)
    if not names and not rows:
        rows[Place(NOTHING, NOTHING, NOTHING, 0)] = (taking.nothing, 0)
    ends = [end for _, end in rows.values()]
    totals = [total for total, _ in rows.values()]
    made: dict[str, Any] = {}
    for name in names:
        if name in _PLACES:
            made[name] = pa.array([getattr(place, name) for place in rows], pa.int64())
        elif name in key:
            made[name] = taking.source(name).take(pa.array(ends, pa.int64()))
        else:
            made[name] = taking.groups(name, [place.group for place in rows])
    if count:
        made["count"] = _integers([total.runs for total in totals], "count")
    for measure in measures:
        made[measure.name] = taking.measured(measure, totals)
    return pa.table(made)


_PLACES = ("end", "start")


def _check_query(pattern: Pattern) -> None:
    if pattern.ast.limit is not None:
        raise Unsupported(
            "CER0420",
            "which answers LIMIT leaves is not specified, so their sums are not",
            hint="leave LIMIT out, or list them: matches.table(..)",
        )
    if not pattern.has_automaton:
        raise Unsupported(
            "CER0418",
            "aggregates run on the automaton, and this query has none",
            hint="list the answers: matches.table(..) and then pyarrow's group_by(..)",
        )


def _labelled_groups(pattern: Pattern, stream: Stream, names: Sequence[str]) -> list[NamedColumn]:
    columns = [read_column(name) for name in names]
    several = repeated(pattern)
    for column in columns:
        if column.attribute is None or column.function or column.label in several:
            raise UsageError(
                "CER0866",
                f"rows are not grouped by '{column.name}'",
                hint='by "start", "end", "key", attributes of PARTITION BY, and attributes of '
                "labels that hold one event",
            )
    check_columns(columns, selected_labels(pattern), stream)
    return columns


def _rows(
    pattern: Pattern, stream: Stream, taking: _Taking, names: Sequence[str], *, by_key: bool
) -> dict[Place, tuple[Total, int]]:
    """The total of each group, and one of its ends; in the order of their first ends."""
    from cerlab.engine.totals import totals_of_ends  # NumPy loads here

    plan = pattern.plan
    keys = _keys(pattern, stream) if by_key else None
    by_end, by_start = "end" in names, "start" in names
    found = totals_of_ends(
        plan, pattern.machine, stream, time_of(plan, stream), taking.carried, by_start=by_start
    )
    rows: dict[Place, tuple[Total, int]] = {}
    for end, totals in found:
        for (start, group), total in totals.items():
            place = Place(
                end if by_end else NOTHING,
                start if by_start else NOTHING,
                NOTHING if keys is None else int(keys[end]),
                group,
            )
            before = rows.get(place)
            rows[place] = (total, end) if before is None else (united(before[0], total), before[1])
    return rows


def _keys(pattern: Pattern, stream: Stream) -> Any:
    from cerlab.predicates.columns.key_codes import KeyCodes

    return KeyCodes(pattern.plan.partition).codes(stream.columns, len(stream))


class _Taking:
    """The integers that runs carry for some measures and groups, and the values they stand for."""

    def __init__(
        self, stream: Stream, measures: Sequence[Measure], groups: Sequence[NamedColumn]
    ) -> None:
        from cerlab.engine.measures import numbers, ranks
        from cerlab.engine.totals import Carried

        @cache
        def source(attribute: str) -> Any:
            return one_array(stream, attribute)

        self.source: Callable[[str], Any] = source
        rank = cache(lambda attribute: ranks(source(attribute), attribute))
        self._numbers: dict[tuple[str, str], Numbers] = {}
        self._ranks: dict[Measure, Ranks] = {}
        least: list[tuple[str, Any]] = []
        for measure in measures:
            label, attribute = measure.place
            if measure.function in ("sum", "avg"):
                self._numbers[label, attribute] = numbers(source(attribute), attribute)
            elif measure not in self._ranks:
                self._ranks[measure] = ranked = rank(attribute)
                least.append((label, ranked.by(measure.function)))
        self._groups = {c.name: (str(c.attribute), rank(str(c.attribute))) for c in groups}
        self.carried = Carried(
            sums=tuple(
                (label, column)
                for (label, _), of in self._numbers.items()
                for column in (of.integers, of.present)
            ),
            least=tuple(least),
            groups=tuple(
                (c.label, self._groups[c.name][1].ranks + 1, self._groups[c.name][1].size + 1)
                for c in groups
            ),
        )

    @property
    def nothing(self) -> Total:
        """The total of no rows."""
        return Total(0, (0,) * len(self.carried.sums), (None,) * len(self.carried.least))

    def groups(self, name: str, numbers: Sequence[int]) -> Any:
        """The values of a column that rows are grouped by, of the numbers of groups."""
        import pyarrow as pa

        stride = 1
        for other, (attribute, ranked) in self._groups.items():
            if other == name:
                digits = [number // stride % (ranked.size + 1) - 1 for number in numbers]
                return self.source(attribute).take(pa.array(ranked.examples(digits), pa.int64()))
            stride *= ranked.size + 1
        raise AssertionError(name)

    def measured(self, measure: Measure, totals: Sequence[Total]) -> Any:
        """The column of a measure."""
        import pyarrow as pa

        if measure.function in ("min", "max"):
            at, ranked = list(self._ranks).index(measure), self._ranks[measure]
            found = [total.least[at] for total in totals]
            numbers = [-1 if n is None else ranked.back(measure.function, n) for n in found]
            source = self.source(measure.place[1])
            return source.take(pa.array(ranked.examples(numbers), pa.int64()))
        at, of = 2 * list(self._numbers).index(measure.place), self._numbers[measure.place]
        pairs = [(total.sums[at], total.sums[at + 1]) for total in totals]
        if measure.function == "sum" and of.whole:
            return _integers([total if n else None for total, n in pairs], measure.name)
        average = measure.function == "avg"
        exact = [of.exactly(total) / (n if average else 1) if n else None for total, n in pairs]
        try:
            return pa.array([None if x is None else float(x) for x in exact], pa.float64())
        except OverflowError:
            raise _too_large(measure.name) from None


def _integers(values: Sequence[int | None], name: str) -> Any:
    """Integers as int64; where one needs more as decimals of 38, or 76, digits."""
    import pyarrow as pa

    digits = max((len(str(abs(value))) for value in values if value is not None), default=0)
    largest = max((abs(value) for value in values if value is not None), default=0)
    if largest < 1 << 63:
        return pa.array(values, pa.int64())
    if digits > 76:
        raise _too_large(name)
    kind = pa.decimal128(38) if digits <= 38 else pa.decimal256(76)
    with localcontext(prec=80):
        return pa.array([None if v is None else Decimal(v) for v in values], kind)


def _too_large(name: str) -> ResourceLimit:
    return ResourceLimit(
        "CER0619",
        f"'{name}' is too large for a column of numbers",
        hint='matches.count() has every size; group_by="end" and WITHIN make smaller sums',
    )
