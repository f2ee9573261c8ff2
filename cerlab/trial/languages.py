"""Languages of a trial: random cases, their features and right answers, and smaller cases.

Row patterns run on tables with the columns g, t, x, s, where t is the number of the row, and
CEQL queries on streams whose events all have integers v, w, k and t.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any, Protocol, TypeAlias, TypeVar, assert_never, cast

import pyarrow as pa

from cerlab.conformance import Case as SuiteCase
from cerlab.errors import CerlabError, Unsupported
from cerlab.fuzz import difference, reference
from cerlab.logic.cel import syntax as cel
from cerlab.logic.ceql.parser import parse_ceql
from cerlab.logic.ceql.syntax import CeqlQuery, query_text
from cerlab.model.event import Event, event_from_dict
from cerlab.predicates import condition as cond
from cerlab.predicates import syntax as pred
from cerlab.rows import expressions as ex
from cerlab.rows import syntax as rp
from cerlab.rows.recognise import match_recognize, parse_rows
from cerlab.rows.syntax import RowPattern
from cerlab.testing import SMALL, as_dict, random_events, random_query
from cerlab.testing.choices import Shape, likely, smaller
from cerlab.testing.features import CEL, CLAUSES, FAMILY, TIMED
from cerlab.testing.features import features as of_query
from cerlab.testing.rows import (
    random_row_pattern,
    random_row_sequence,
    random_row_table,
    smaller_rows,
)

PATTERN = (
    *("A B", "|", "PERMUTE", "{- -}", "()", "^", "$", "group"),
    *("*", "+", "?", "{n}", "*?", "+?", "??", "{n}?"),
)
"""Features of row patterns; `group` is a quantifier around more than a variable."""


FAMILY_ONLY = frozenset((*FAMILY, *TIMED))
"""Features of CEQL that CORE's automata lack."""


SKIP = ("SKIP TO NEXT", "SKIP TO FIRST", "SKIP TO LAST")


OUTPUT = ("ALL ROWS", "OMIT EMPTY", "WITH UNMATCHED")


ROW_CLAUSES = ("PARTITION BY", "DESC", "NULLS FIRST", "SUBSET", "WITHIN", "TRUE")
"""Features of row clauses; TRUE is a variable without DEFINE."""


READINGS = (
    *("FIRST", "LAST", "PREV", "NEXT", "COUNT", "SUM", "AVG", "MIN", "MAX"),
    *("CLASSIFIER", "MATCH_NUMBER", "FINAL", "v.x"),
)
"""Features of MEASURES, and of DEFINE with a prefix; `v.x` is a qualified column."""


OPERATORS = (
    *("IN", "IS", "AND", "OR", "NOT"),
    *(f"x {op.value} y" for op in (*ex.ComparisonOperator, *ex.ArithmeticOperator)),
)


ROW_FEATURES = (
    *PATTERN,
    *SKIP,
    *OUTPUT,
    *ROW_CLAUSES,
    *READINGS,
    *(f"DEFINE {each}" for each in READINGS),
    *OPERATORS,
    "NULL",
)
"""All features of row patterns; NULL means a NULL in the table."""


def row_features(query: RowPattern, table: Sequence[Mapping[str, Any]]) -> frozenset[str]:
    """Return the features of a row pattern and its table.

    >>> from cerlab.rows.parser import parse_rows
    >>> clause = "MATCH_RECOGNIZE (MEASURES A.x AS m PATTERN (A* B) DEFINE A AS x > PREV(x))"
    >>> sorted(row_features(parse_rows(clause), [{"x": 1}]))
    ['*', 'A B', 'DEFINE PREV', 'TRUE', 'v.x', 'x > y']
    """
    of_pattern = (name for p in rp.subpatterns(query.pattern) for name in _of_pattern(p))
    define = (n for d in query.define for n in _of_expression(d.condition, "DEFINE "))
    measures = (n for m in query.measures for n in _of_expression(m.expression, ""))
    null = ("NULL",) if any(value is None for row in table for value in row.values()) else ()
    return frozenset((*of_pattern, *define, *measures, *_of_clauses(query), *null))


def _of_pattern(p: rp.Pattern) -> Iterator[str]:
    match p:
        case rp.Variable():
            pass
        case rp.Empty():
            yield "()"
        case rp.PartitionStart():
            yield "^"
        case rp.PartitionEnd():
            yield "$"
        case rp.Concat():
            yield "A B"
        case rp.Alternation():
            yield "|"
        case rp.Permute():
            yield "PERMUTE"
        case rp.Exclusion():
            yield "{- -}"
        case rp.Repetition(body, lo, hi, reluctant):
            short = {(0, None): "*", (1, None): "+", (0, 1): "?"}
            yield short.get((lo, hi), "{n}") + ("?" if reluctant else "")
            if not isinstance(body, rp.Variable):
                yield "group"
        case _:
            assert_never(p)


def _of_clauses(query: RowPattern) -> Iterator[str]:
    rows, skip = query.rows, query.skip
    has = {
        "SKIP TO NEXT": isinstance(skip, rp.ToNextRow),
        "SKIP TO FIRST": isinstance(skip, rp.ToFirst),
        "SKIP TO LAST": isinstance(skip, rp.ToLast),
        "ALL ROWS": rows is not rp.RowsPerMatch.ONE,
        "OMIT EMPTY": rows is rp.RowsPerMatch.OMIT_EMPTY,
        "WITH UNMATCHED": rows is rp.RowsPerMatch.WITH_UNMATCHED,
        "PARTITION BY": bool(query.partition_by),
        "DESC": any(item.descending for item in query.order_by),
        "NULLS FIRST": any(item.nulls_first for item in query.order_by),
        "SUBSET": bool(query.subsets),
        "WITHIN": query.within is not None,
        "TRUE": len(query.define) < len(rp.variables(query.pattern)),
    }
    yield from (name for name, holds in has.items() if holds)


def _of_expression(e: ex.Expression | ex.AllRows, where: str) -> Iterator[str]:
    inner = where
    match e:
        case ex.First() | ex.Last() | ex.Prev() | ex.Next():
            yield where + type(e).__name__.upper()
            inner = ""
        case ex.Aggregate(function, _, _):
            yield where + function.value
            inner = ""
        case ex.Classifier():
            yield where + "CLASSIFIER"
        case ex.MatchNumber():
            yield where + "MATCH_NUMBER"
        case ex.Column(_, qualifier) if where == "" or qualifier is not None:
            yield where + "v.x"
        case ex.And() | ex.Or() | ex.Not() | ex.In() | ex.Is():
            yield type(e).__name__.upper()
        case ex.Arithmetic(operator, _, _) | ex.Comparison(operator, _, _):
            yield f"x {operator.value} y"
        case _:
            pass
    if getattr(e, "final", False):
        yield where + "FINAL"
    for child in ex.children(e):
        if isinstance(child, ex.Column) and inner != where:
            continue
        yield from _of_expression(child, where)


def ceql_features(query: CeqlQuery) -> frozenset[str]:
    """Return the features of a CEQL query: those of `cerlab fuzz`, and arithmetic, ``v / w``."""
    filters = (phi for phi in cel.subformulas(query.formula) if isinstance(phi, cel.Filter))
    atomics = (each for phi in filters for each in cond.atomics(phi.condition))
    atoms = (a for each in atomics if isinstance(each, cond.On) for a in pred.atoms(each.predicate))
    sides = (side for a in atoms if isinstance(a, pred.Comparison) for side in (a.left, a.right))
    operations = (side for side in sides if isinstance(side, pred.Computed))
    return of_query(query) | {f"v {side.operator.value} w" for side in operations}


Row: TypeAlias = dict[str, Any]


COLUMNS = {"g": pa.int64(), "t": pa.int64(), "x": pa.int64(), "s": pa.string()}
"""Columns of random tables, with types for columns that have no values."""


_TABLES = 4
"""Number of tables drawn for each query."""

_DRAWS = 50_000
"""Most queries drawn to find one that an engine supports."""


@dataclass(frozen=True, slots=True)
class Case:
    """A query in one of the languages, and its rows or events."""

    language: str
    query: Any
    data: tuple[Any, ...]

    @property
    def text(self) -> str:
        """The text of the query."""
        return query_text(self.query) if isinstance(self.query, CeqlQuery) else str(self.query)

    @property
    def rows(self) -> list[Row]:
        """The data of the case as rows; an event becomes a row with its type."""
        return [as_dict(each) if isinstance(each, Event) else each for each in self.data]


def case_of_suite(case: SuiteCase) -> Case | None:
    """Return a case of the conformance suite as a case of a trial; None if that is impossible.

    Tables of a trial have some of `COLUMNS`. Events have integers v, w, k and t; attributes that
    the query does not name do not affect the answers, and are filled in.
    """
    if case.options or case.question or case.kind not in ("answers", "valuations", "rows"):
        return None
    if case.language == "rows":
        return Case("rows", parse_rows(case.query), case.events) if _is_table(case) else None
    if case.language not in ("cel", "ceql"):
        return None
    text = case.query if case.language == "ceql" else f"SELECT * WHERE {case.query}"
    missing = {name for name in "vwkt" if not all(name in event for event in case.events)}
    named = {name for event in case.events for name in event} | {*re.findall(r"\w+", text)}
    if (
        missing & named
        or not {event["type"] for event in case.events} <= {*"ABC"}
        or not all(type(value) in (int, str) for event in case.events for value in event.values())
    ):
        return None
    events = (event_from_dict({**dict.fromkeys(missing, 0), **event}) for event in case.events)
    return Case("ceql", parse_ceql(text)[0], tuple(events))


def _is_table(case: SuiteCase) -> bool:
    """Return whether a case has a table that trials support, and a result without times."""
    kinds = {name: str if kind == pa.string() else int for name, kind in COLUMNS.items()}
    cells = [(name, value) for row in case.events for name, value in row.items()]
    result = [value for row in case.expected["values"] for value in row]
    return (
        len({tuple(row) for row in case.events}) == 1
        and {name for name, _ in cells} <= kinds.keys()
        and all(value is None or type(value) is kinds[name] for name, value in cells)
        and not any(isinstance(v, dict) and v.keys() & {"moment", "duration"} for v in result)
    )


class Language(Protocol):
    """The interface of a language: cases, their features, right answers, smaller cases."""

    features: frozenset[str]

    def draw(self, rng: Random, takes: frozenset[str]) -> tuple[Case, ...]:
        """Return a random query with only these features, on some data; empty if none is found."""

    def features_of(self, case: Case) -> frozenset[str]:
        """Return the features that a case needs."""

    def answers(self, case: Case) -> Sequence[Any]:
        """Return the answers by the reference; raises `CerlabError` if it cannot answer."""

    def compare(
        self, case: Case, expected: Sequence[Any], answers: Sequence[Row], has_order: bool
    ) -> tuple[list[Any], list[Any], bool]:
        """Return the missing answers, the extra answers, and whether the order is right."""

    def smaller(self, case: Case) -> Iterator[Case]:
        """Yield cases that are smaller in one way; some may be ill-formed."""


class RowPatterns:
    """The language MATCH_RECOGNIZE; an answer is a result row with its place."""

    features = frozenset(ROW_FEATURES)

    def draw(self, rng: Random, takes: frozenset[str]) -> tuple[Case, ...]:
        """Return a query on some tables, most of which have a result."""
        for _ in range(_DRAWS):
            reach = rng.choice(("row", "row", "partition", "match"))
            flat = random_row_sequence(rng) if likely(rng, 0.4) else None
            depth = rng.choice((1, 2, 3))
            base = random_row_pattern(rng, cast(Any, reach), depth=depth, pattern=flat)
            query = _with_measures(rng, base)
            if not row_features(query, ()) <= takes:
                continue
            cases = tuple(
                case
                for _ in range(_TABLES)
                if self.features_of(case := Case("rows", query, _table(rng))) <= takes
                and _has_answer(case, rng)
            )
            if cases:
                return cases
        return ()

    def features_of(self, case: Case) -> frozenset[str]:
        """Return the features that a case needs."""
        return row_features(case.query, case.data)

    def answers(self, case: Case) -> Sequence[Any]:
        """Return the answers by the reference."""
        query = parse_rows(case.text)  # parsed again: smaller patterns may be ill-formed
        result: list[Row] = match_recognize(
            query, arrow(case.data), evaluator="reference"
        ).to_pylist()
        return result

    def compare(
        self, case: Case, expected: Sequence[Any], answers: Sequence[Row], has_order: bool
    ) -> tuple[list[Any], list[Any], bool]:
        """Return the missing answers, the extra answers, and whether the order is right."""
        names = list(expected[0]) if expected else list(answers[0]) if answers else []
        left, right = [_key(row, names) for row in expected], [_key(row, names) for row in answers]
        missing, extra = surplus(left, right), surplus(right, left)
        rows = [dict(zip(names, key, strict=True)) for key in missing]
        more = [dict(zip(names, key, strict=True)) for key in extra]
        return rows, more, not has_order or left == right

    def smaller(self, case: Case) -> Iterator[Case]:
        """Yield cases that are smaller in one way."""
        for query, table in smaller_rows(case.query, case.data):
            if table:  # a file without rows has no columns
                yield Case("rows", query, table)


def arrow(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows as a table; columns keep their type even if all values are NULL."""
    names = [name for name in COLUMNS if not rows or name in rows[0]]
    return pa.Table.from_pylist(list(rows), schema=pa.schema([(n, COLUMNS[n]) for n in names]))


def _with_measures(rng: Random, query: RowPattern) -> RowPattern:
    """Return the query, mostly with measures of each variable: first, last, count."""
    query = replace(query, order_by=(rp.OrderItem(ex.Column("t")),))
    if likely(rng, 0.3):
        return query
    expressions: list[ex.Expression] = []
    for v in rp.variables(query.pattern):
        t = ex.Column("t", v)
        expressions += [ex.First(t), ex.Last(t), ex.Aggregate(ex.AggregateFunction.COUNT, t)]
    return replace(query, measures=tuple(rp.Measure(e, f"m{i}") for i, e in enumerate(expressions)))


def _table(rng: Random) -> tuple[Row, ...]:
    # small tables take little time to reduce
    rows = random_row_table(rng, rows=rng.choice((2, 3, 6)))
    if likely(rng, 0.7):
        rows = [
            {"g": row["g"] or 0, "t": 0, "x": row["x"] or 0, "s": row["s"] or "a"} for row in rows
        ]
    return tuple({**row, "t": t} for t, row in enumerate(rows))


def _has_answer(case: Case, rng: Random) -> bool:
    """Return whether the reference can answer; also True for some cases without a match."""
    try:
        return bool(ROWS.answers(case)) or likely(rng, 0.3)
    except CerlabError:
        return False


_Key: TypeAlias = tuple[Any, ...]


K = TypeVar("K")


def _key(row: Row, names: Sequence[str]) -> _Key:
    """Return a row's values for comparison: numbers to nine digits, missing columns marked."""
    return tuple(_plain(row.get(name, "(no such column)")) for name in names)


def _plain(value: Any) -> Any:
    if value is None or value != value:
        return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else float(f"{value:.9g}")
    return value


def surplus(left: Sequence[K], right: Sequence[K]) -> list[K]:
    """Return the elements of `left` that `right` lacks, with multiplicity, in order."""
    rest = list(right)
    more = []
    for key in left:
        if key in rest:
            rest.remove(key)
        else:
            more.append(key)
    return more


class CeqlQueries:
    """The language CEQL; answers are a set of positions, with or without intervals."""

    features = frozenset(
        (*CEL, *FAMILY, *TIMED, *CLAUSES, *(f"v {op.value} w" for op in pred.Arithmetic))
    )

    def draw(self, rng: Random, takes: frozenset[str]) -> tuple[Case, ...]:
        """Return a query that the reference supports, and a stream that contains a match."""
        family, timed = (bool(takes & set(names)) for names in (FAMILY, TIMED))
        shape = Shape(SMALL.depth, SMALL.events, SMALL.rich, family=family, timed=timed)
        for _ in range(_DRAWS):
            query = random_query(rng, shape)
            if likely(rng, 0.2):
                query = replace(query, formula=_computing(rng, query.formula))
            if not ceql_features(query) <= takes:
                continue
            events = random_events(rng, query.formula, shape)
            case = Case("ceql", query, tuple(map(_whole, events)))
            try:
                if self.answers(case) or likely(rng, 0.2):
                    return (case,)
            except CerlabError:
                continue
        return ()

    def features_of(self, case: Case) -> frozenset[str]:
        """Return the features that a case needs."""
        return ceql_features(case.query)

    def answers(self, case: Case) -> Sequence[Any]:
        """Return the answers by the reference."""
        if any("t" not in event.attributes for event in case.data):
            raise Unsupported("CER0413", "expected events with their time t", hint="leave t")
        return reference(case.query, case.data)

    def compare(
        self, case: Case, expected: Sequence[Any], answers: Sequence[Row], has_order: bool
    ) -> tuple[list[Any], list[Any], bool]:
        """Return the missing answers, the extra answers, and whether the order is right."""
        gap = difference(case.query, case.data, expected, answers)
        if gap is None:
            return [], [], True
        missing = [
            {"start": m.start, "end": m.end, "positions": list(m.positions)} for m in gap.missing
        ]
        return missing, [*gap.extra, *gap.twice], True

    def smaller(self, case: Case) -> Iterator[Case]:
        """Yield cases that are smaller in one way."""
        for query, events in smaller(case.query, case.data):
            if all(event.attributes.keys() == {"v", "w", "k", "t"} for event in events):
                yield Case("ceql", query, events)


def _computing(rng: Random, phi: cel.Formula) -> cel.Formula:
    """Return the formula under a filter with arithmetic on one of its labels."""
    labels = sorted(cel.defined_labels(phi)) or ["A"]
    v, w = (pred.Attribute(rng.choice("vw")) for _ in "vw")
    test = pred.Comparison(
        rng.choice(list(pred.Operator)),
        pred.Computed(rng.choice(list(pred.Arithmetic)), v, w),
        pred.Constant(rng.choice((0, 1))),
    )
    return cel.Filter(phi, cond.On(rng.choice(labels), test))


def _whole(event: Event) -> Event:
    """Return the event with an integer for every attribute."""
    values = {name: int(event.attributes.get(name) or 0) for name in "vwkt"}  # type: ignore[arg-type] # numbers or None
    return Event(event.type, {**values}, event.stream)


ROWS, CEQL = RowPatterns(), CeqlQueries()


LANGUAGES: Mapping[str, Language] = {"rows": ROWS, "ceql": CEQL}
