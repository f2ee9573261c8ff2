"""Aggregates over all answers without listing them, as a table (DESIGN 2.1)."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any

from cerlab.compile.pattern import Pattern
from cerlab.errors import CerlabError, ResourceLimit, Unsupported, UsageError
from cerlab.evaluate.labelled import repeated, selected_labels
from cerlab.evaluate.protocol import time_of_window
from cerlab.io.named_columns import (
    NamedColumn,
    check_columns,
    names_in,
    one_array,
    read_column,
)
from cerlab.logic.cel.syntax import Atom
from cerlab.logic.ceql.parser import parse_ceql
from cerlab.logic.ceql.syntax import CeqlQuery, partition_attributes
from cerlab.logic.ceql.text import group_text
from cerlab.model.clauses import Window
from cerlab.model.stream import Stream

if TYPE_CHECKING:
    from cerlab.engine.end_totals import EndTotals
    from cerlab.engine.measures import Numbers, Ranks

KEY = "key"
"""All attributes of PARTITION BY, in `group_by`."""

PLACES = ("end", "start")
"""What every answer has, in `group_by`."""


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


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked of the answers of a query: measures of each group."""

    count: bool
    measures: tuple[Measure, ...]
    group_by: tuple[str, ...]
    sliding: str | None


def request(
    pattern: Pattern,
    count: bool,
    group_by: str | Iterable[str],
    sliding: str | None,
    **columns: str | Iterable[str],
) -> Request:
    """A request in words; where they say nothing, that of the query's SELECT and GROUP BY.

    Raises `UsageError` for a text that is no ``x.attr``.
    """
    if count and pattern.ast.aggregates and not group_by and not any(columns.values()):
        return selected_request(pattern.ast, sliding)
    measures = [m for name, texts in columns.items() for m in _measures(name, _listed(texts))]
    return Request(count, tuple(measures), tuple(_listed(group_by)), sliding)


def selected_request(query: CeqlQuery, sliding: str | None = None) -> Request:
    """What ``SELECT COUNT(*), SUM(x.attr) .. GROUP BY ..`` asks for."""
    measures = [
        Measure(each.function, read_column(group_text((each.label, each.attribute))))
        for each in query.aggregates
        if each.label is not None and each.attribute is not None
    ]
    groups = tuple(each[0] if len(each) == 1 else group_text(each) for each in query.groups)
    count = any(each.function == "count" for each in query.aggregates)
    return Request(count, tuple(measures), groups, sliding)


def _listed(texts: str | Iterable[str]) -> Iterable[str]:
    return [texts] if isinstance(texts, str) else texts


def _measures(function: str, columns: Iterable[str]) -> Iterator[Measure]:
    for text in columns:
        column = read_column(text)
        if column.attribute is None or column.function is not None:
            message = f"{function} takes an attribute of a label, not '{text}'"
            raise UsageError("CER0862", message, hint='for example "b.price"')
        yield Measure(function, column)


def aggregated(pattern: Pattern, stream: Stream, asked: Request) -> Any:
    """A pyarrow Table with a row for each group of the rows that ``Matches.table`` would have.

    Raises `Unsupported` for queries without an automaton and under LIMIT, `UsageError` for columns
    and groups that there are not, `ResourceLimit` for totals that no column holds.
    """
    import pyarrow as pa

    from cerlab.engine.end_totals import first_ends, grouped, nothing, slid  # NumPy loads here
    from cerlab.engine.totals import totals_of_ends
    from cerlab.predicates.columns.key_codes import KeyCodes

    check_query(pattern)
    key = partition_attributes(pattern.ast)
    names = group_names(asked.group_by, key)
    window = sliding_window(asked.sliding, names)
    labelled = labelled_groups(pattern, names, key)
    check_columns(
        [*(m.column for m in asked.measures), *labelled],
        selected_labels(pattern),
        names_in(stream),
    )
    taking = _Taking(stream, asked.measures, labelled)
    plan = pattern.plan
    time = time_of_window(window, stream) or time_of_window(plan.window, stream)
    totals = totals_of_ends(
        plan, pattern.machine, stream, time, taking.carried, by_start="start" in names
    )
    groups = [totals.start, totals.group]
    if of_key := tuple(name for name in names if name in key):
        groups.append(KeyCodes(of_key).codes(stream.columns, len(stream))[totals.end])
    if "end" not in names:
        totals = grouped(totals, groups)
    elif window is not None:
        lowest = first_ends(window, plan, stream, time)
        totals = slid(totals, groups, lowest, taking.carried)
    if not names and not len(totals.end):
        totals = nothing(taking.carried)
    made: dict[str, Any] = {}
    for name in names:
        if name in PLACES:
            made[name] = pa.array(getattr(totals, name))
        elif name in key:
            made[name] = taking.source(name).take(pa.array(totals.end))
        else:
            made[name] = taking.groups(name, totals.group)
    if asked.count:
        made["count"] = integer_column(totals.runs.tolist(), "count")
    for measure in asked.measures:
        made[measure.name] = taking.measured(measure, totals)
    return pa.table(made)


def group_names(group_by: Iterable[str], key: Sequence[str]) -> list[str]:
    """What rows are grouped by, each once; ``key`` is all attributes of PARTITION BY."""
    return list(dict.fromkeys(n for g in group_by for n in (key if g == KEY and key else (g,))))


def sliding_window(text: str | None, names: Collection[str]) -> Window | None:
    """The window that ``sliding=`` names, as after WITHIN; raises `UsageError` for what is none."""
    if text is None:
        return None
    try:
        found = parse_ceql(f"SELECT * WHERE A WITHIN {text}")[0]
    except CerlabError:
        found = None
    if found is None or "end" not in names or found != CeqlQuery(Atom("A"), window=found.window):
        raise UsageError(
            "CER0868",
            f"sliding='{text}' is no window of ends",
            hint='for example sliding="10 MINUTES" or "100 EVENTS", with group_by="end"',
        )
    return found.window


def check_query(pattern: Pattern) -> None:
    """Raise `Unsupported` for a query whose answers are not summed."""
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


def labelled_groups(
    pattern: Pattern, names: Iterable[str], key: Sequence[str]
) -> list[NamedColumn]:
    """The attributes of labels that rows are grouped by; raises `UsageError` for others."""
    columns = [read_column(name) for name in names if name not in (*PLACES, *key)]
    several = repeated(pattern)
    for column in columns:
        if column.attribute is None or column.function or column.label in several:
            raise UsageError(
                "CER0866",
                f"rows are not grouped by '{column.name}'",
                hint='by "start", "end", "key", attributes of PARTITION BY, and attributes of '
                "labels that hold one event",
            )
    return columns


class _Taking:
    """The integers that runs carry for some measures and groups, and the values they stand for."""

    def __init__(
        self, stream: Stream, measures: Sequence[Measure], groups: Sequence[NamedColumn]
    ) -> None:
        from cerlab.engine.end_totals import Carried
        from cerlab.engine.measures import numbers, ranks

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

    def groups(self, name: str, numbers: Any) -> Any:
        """The values of a column that rows are grouped by, of the numbers of groups."""
        stride = 1
        for other, (attribute, ranked) in self._groups.items():
            if other == name:
                digits = numbers // stride % (ranked.size + 1) - 1
                return self.source(attribute).take(ranked.examples(digits))
            stride *= ranked.size + 1
        raise AssertionError(name)

    def measured(self, measure: Measure, totals: EndTotals) -> Any:
        """The column of a measure."""
        if measure.function in ("min", "max"):
            at, ranked = list(self._ranks).index(measure), self._ranks[measure]
            numbers = ranked.back(measure.function, totals.least[at])
            return self.source(measure.place[1]).take(ranked.examples(numbers))
        at, of = 2 * list(self._numbers).index(measure.place), self._numbers[measure.place]
        pairs = zip(totals.sums[at].tolist(), totals.sums[at + 1].tolist(), strict=True)
        if measure.function == "sum" and of.whole:
            return integer_column([total if n else None for total, n in pairs], measure.name)
        average = measure.function == "avg"
        found = [nearest(x, n if average else 1, of.exponent) if n else None for x, n in pairs]
        return double_column(found, measure.name)


def double_column(values: Sequence[float | None], name: str) -> Any:
    """Doubles as a column; raises `ResourceLimit` for one beyond them."""
    import pyarrow as pa

    if math.inf in values or -math.inf in values:
        raise too_large(name)
    return pa.array(values, pa.float64())


def nearest(total: int, divisor: int, exponent: int) -> float:
    """The double nearest to ``total / divisor * 2**exponent``; an infinity beyond all doubles."""
    try:
        scaled = math.ldexp(total / divisor, exponent)
        if total == 0 or abs(scaled) > sys.float_info.min:
            return scaled
    except OverflowError:
        pass
    try:
        return float(Fraction(total, divisor) * Fraction(2) ** exponent)
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
