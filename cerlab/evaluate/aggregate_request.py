"""A request for aggregates over the answers of a query, checked (DESIGN 2.1)."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypedDict

from cerlab.compile.pattern import Pattern
from cerlab.errors import CerlabError, Unsupported, UsageError
from cerlab.evaluate.labelled import repeatable_labels, selected_labels
from cerlab.io.named_columns import NamedColumn, check_columns, read_column
from cerlab.logic.cel.syntax import Atom
from cerlab.logic.ceql.parser import parse_ceql
from cerlab.logic.ceql.syntax import CeqlQuery, partition_attributes
from cerlab.logic.ceql.text import group_text
from cerlab.model.clauses import Window

KEY = "key"
"""All attributes of PARTITION BY, in `group_by`."""

PLACES = ("end", "start")
"""What every answer has, in `group_by`."""


class Aggregates(TypedDict, total=False):
    """What `Matches.aggregate` takes, which says what it means."""

    count: bool
    sum: str | Iterable[str]
    avg: str | Iterable[str]
    min: str | Iterable[str]
    max: str | Iterable[str]
    group_by: str | Iterable[str]
    sliding: str | None


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
    """Measures of each group of the answers of a query. All of it plain values."""

    count: bool
    measures: tuple[Measure, ...]
    groups: tuple[str, ...]
    """What rows are grouped by: ends, starts, attributes of `key`, names of `labelled`."""
    key: tuple[str, ...]
    """The attributes of PARTITION BY among them."""
    labelled: tuple[NamedColumn, ...]
    window: Window | None
    """What slides over the ends, if something does."""

    @property
    def summands(self) -> tuple[tuple[str, str], ...]:
        """The labels and attributes that are summed."""
        return tuple(dict.fromkeys(m.place for m in self.measures if m.function in ("sum", "avg")))

    @property
    def extremes(self) -> tuple[Measure, ...]:
        """The measures that are a least or a greatest value, each once."""
        return tuple(dict.fromkeys(m for m in self.measures if m.function in ("min", "max")))

    @property
    def columns(self) -> tuple[NamedColumn, ...]:
        """The attributes of labels that are read."""
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
) -> Request:
    """A request in words; where they say nothing, that of the query's SELECT and GROUP BY.

    Raises `Unsupported` for queries without an automaton and under LIMIT, `UsageError` for a text
    that is no ``x.attr``, for labels that no answer has, and for groups that there are not.
    """
    columns = {"sum": sum, "avg": avg, "min": min, "max": max}
    if count and pattern.ast.aggregates and not group_by and not any(columns.values()):
        return selected_request(pattern, sliding)
    measures = [m for name, texts in columns.items() for m in _measures(name, _texts(texts))]
    return _request(pattern, count, measures, _texts(group_by), sliding)


def selected_request(pattern: Pattern, sliding: str | None = None) -> Request:
    """What ``SELECT COUNT(*), SUM(x.attr) .. GROUP BY ..`` asks for; raises as `request_of`."""
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
    """The request; raises `UsageError` for an attribute that no event has. None: not known yet."""
    check_columns(request.columns, selected_labels(pattern), attributes)
    return request


def _request(
    pattern: Pattern,
    count: bool,
    measures: Sequence[Measure],
    group_by: Iterable[str],
    sliding: str | None,
) -> Request:
    _check_query(pattern)
    key = partition_attributes(pattern.ast)
    names = tuple(dict.fromkeys(n for g in group_by for n in (key if g == KEY and key else (g,))))
    window = _window(sliding, names)
    label_columns = _label_columns(pattern, [name for name in names if name not in (*PLACES, *key)])
    of_key = tuple(name for name in names if name in key)
    request = Request(count, tuple(measures), names, of_key, tuple(label_columns), window)
    return check_attributes(request, pattern, None)


def _texts(texts: str | Iterable[str]) -> Iterable[str]:
    return [texts] if isinstance(texts, str) else texts


def _measures(function: str, columns: Iterable[str]) -> Iterator[Measure]:
    for text in columns:
        column = read_column(text)
        if column.attribute is None or column.function is not None:
            message = f"{function} takes an attribute of a label, not '{text}'"
            raise UsageError("CER0862", message, hint='for example "b.price"')
        yield Measure(function, column)


def _check_query(pattern: Pattern) -> None:
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


def _window(text: str | None, names: Collection[str]) -> Window | None:
    """The window that ``sliding=`` names, as after WITHIN; raises `UsageError` for what is none."""
    if text is None:
        return None
    try:
        query = parse_ceql(f"SELECT * WHERE A WITHIN {text}")[0]
    except CerlabError:
        query = None
    if query is None or "end" not in names or query != CeqlQuery(Atom("A"), window=query.window):
        raise UsageError(
            "CER0868",
            f"sliding='{text}' is no window of ends",
            hint='for example sliding="10 MINUTES" or "100 EVENTS", with group_by="end"',
        )
    return query.window


def _label_columns(pattern: Pattern, names: Iterable[str]) -> Iterator[NamedColumn]:
    """The attributes of labels that rows are grouped by; raises `UsageError` for others."""
    several = repeatable_labels(pattern)
    for name in names:
        column = read_column(name)
        if column.attribute is None or column.function or column.label in several:
            raise UsageError(
                "CER0866",
                f"rows are not grouped by '{column.name}'",
                hint='by "start", "end", "key", attributes of PARTITION BY, and attributes of '
                "labels that hold one event",
            )
        yield column
