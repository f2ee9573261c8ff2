"""Row patterns on tables of any kind, with results as Arrow tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import lru_cache, partial
from itertools import accumulate
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from cerlab.display import Explanation
from cerlab.errors import BadData, DataPlace, Unsupported, UsageError, keywords_by_name, nearest
from cerlab.io import arrow
from cerlab.io.conversion import duplicate_column
from cerlab.io.named_columns import one_table
from cerlab.io.names import names_files
from cerlab.io.ndjson import read_json
from cerlab.io.nested import nested_array
from cerlab.io.source import Source, as_source
from cerlab.model.clauses import TimeWindow
from cerlab.model.columns import (
    array_of,
    is_arrow,
    is_moment,
    is_text,
    nanoseconds,
    values_of,
    without_views,
)
from cerlab.model.event import Duration, Event, Timestamp, Value, check_names, to_value
from cerlab.model.paths import field_column, field_value, fields_of, has_field, with_objects
from cerlab.model.stream import Stream, far_time, is_far
from cerlab.rows.compile import Machine, failures, machine, result_positions
from cerlab.rows.kinds import Kind
from cerlab.rows.semantics import result_rows
from cerlab.rows.syntax import RowPattern, mismatch
from cerlab.rows.types import (
    Binding,
    InputColumn,
    MeasureColumn,
    PathColumn,
    StaticType,
    bind,
    references,
)
from cerlab.threads import using

if TYPE_CHECKING:
    import pyarrow as pa

    from cerlab.rows.scan import CompiledScan, Result

__all__ = ["RowEvaluator", "RowPattern", "explain_rows", "match_recognize", "parse_rows"]

RowEvaluator: TypeAlias = Literal["auto", "compiled", "search", "reference"]
"""The evaluators of row patterns: ``"search"`` tries the steps of a prioritised automaton.

``"compiled"`` knows which steps lead to a match if conditions read the row under test and its
neighbours; otherwise it tries them over columns. ``"auto"`` uses it for long tables.
``"reference"`` is for small tables.
"""


def parse_rows(text: str) -> RowPattern:
    """Return the row pattern in a text (`cerlab.rows.parser`)."""
    from cerlab.rows import parser  # loads sqlglot

    return parser.parse_rows(text)


RowQuery: TypeAlias = str | RowPattern
"""A row pattern: its text, or the parsed value."""

Rows: TypeAlias = Sequence[Mapping[str, Any]] | None
"""The only rows in the tables of a question; None for any rows."""


def read_patterns(rows: Rows, *queries: RowQuery) -> tuple[RowPattern, ...]:
    """Return row patterns from texts or values, after checking their columns against `rows`."""
    patterns = tuple(parse_rows(each) if isinstance(each, str) else each for each in queries)
    if rows is not None:
        table = as_table(list(rows))
        for query in patterns:
            bind(query, column_kinds(with_paths(query, table)))
    return patterns


@keywords_by_name
def match_recognize(
    query: str | RowPattern,
    table: Any,
    *,
    evaluator: RowEvaluator = "auto",
    threads: int | None = None,
) -> pa.Table:
    """Return the result of a MATCH_RECOGNIZE clause on a table, as a pyarrow Table.

    Args:
        query: the clause, or the SELECT around it, as text or parsed.
        table: a pyarrow Table, a pandas or polars data frame, a list of dicts, a `Stream`, or the
            path of a file of events in any format, whose rows need no event type.
        evaluator: ``"auto"`` (default), ``"compiled"``, ``"search"`` or ``"reference"``.
        threads: the number of threads that read a long Parquet file (default: ``CERLAB_THREADS``,
            or all cores).

    Raises:
        QuerySyntaxError, Unsupported: as `parse_rows`.
        IllFormed, TypeMismatch: if the table lacks a column or has another type for it.
        BadData: if the skip clause cannot continue.
        ResourceLimit: if the search takes too many steps.

    >>> clause = '''MATCH_RECOGNIZE (
    ...     MEASURES FIRST(UP.x) AS low, LAST(TOP.x) AS high
    ...     PATTERN (UP+ TOP)
    ...     DEFINE UP AS x < NEXT(x))'''
    >>> match_recognize(clause, [{"x": 3}, {"x": 4}, {"x": 6}, {"x": 5}, {"x": 7}]).to_pylist()
    [{'low': 3, 'high': 6}, {'low': 5, 'high': 7}]
    """
    pattern = parse_rows(query) if isinstance(query, str) else query
    rows = with_paths(pattern, as_table(table, lazily=True))
    if evaluator == "reference":
        binding = bound(pattern, rows)
        result = result_rows(pattern, binding, value_rows(rows, binding.names.values()))
        measures = [[row.measures[i] for row in result] for i in range(len(pattern.measures))]
        return result_table(rows, binding, [row.row for row in result], measures)
    if evaluator not in get_args(RowEvaluator):
        hint = nearest(evaluator, get_args(RowEvaluator))
        raise UsageError("CER0805", f"unknown evaluator '{evaluator}'", hint=hint)
    is_compiled = None if evaluator == "auto" else evaluator == "compiled"
    with using(threads):
        return recognise(pattern, rows, compiled=is_compiled)


def explain_rows(query: str | RowPattern, table: Any) -> Explanation:
    """Return which evaluator runs a row pattern on a table, and why.

    Raises as `match_recognize`.

    >>> rows = [{"x": 3}, {"x": 4}]
    >>> explain_rows("MATCH_RECOGNIZE (MEASURES 1 AS m PATTERN (A+) DEFINE A AS x > PREV(x))", rows)
    the compiled scan: 2 states, 2 outcomes of the conditions of A
    by columns: every condition and measure
    the search, on tables of fewer than 1,000 rows
    """
    pattern = parse_rows(query) if isinstance(query, str) else query
    rows = with_paths(pattern, as_table(table))
    binding = bound(pattern, rows)
    M = machine(pattern, binding)
    scan = compiled_scan(M, binding, rows)
    if isinstance(scan, str):
        return Explanation((f"the search, as {scan}", failures(M)))
    from cerlab.rows.scan import explanation_lines

    short = f"the search, on tables of fewer than {SHORT:,} rows"
    return Explanation((*explanation_lines(scan[0]), *([short] if SHORT else ())))


# the Python search takes 5 ms for 1,000 rows; loading compiled kernels takes 60 ms per process
SHORT = 1_000
"""Below this many rows the interpreted search is faster: it has no start-up cost."""


def recognise(pattern: RowPattern, rows: Any, *, compiled: bool | None = None) -> Any:
    """Return the result of a clause on a pyarrow Table; raises as `cerlab.match_recognize`.

    `compiled`: force the compiled scan or the interpreted search; None chooses by table size.
    """
    binding = bind(pattern, column_kinds(rows))
    M = machine(pattern, binding)

    def evaluate(table: Any) -> Callable[[], Any]:
        if compiled or (compiled is None and table.num_rows >= SHORT):
            result = _compiled_result(M, binding, table, is_needed=bool(compiled))
            if result is not None:
                return partial(result_table, table, binding, *result)
        columns = value_columns(table, binding.names.values())
        found = result_positions(M, columns, table.num_rows)
        return partial(result_table, table, binding, *found)

    if isinstance(rows, arrow.FileTable):
        from cerlab.rows.groups import Clause, result_by_groups  # loads NumPy

        clause = Clause(pattern, binding, partial(check_far, pattern, binding), evaluate)
        if (result := result_by_groups(clause, rows)) is not None:
            return result
    check_far(pattern, binding, rows)
    return evaluate(rows)()


def bound(pattern: RowPattern, rows: Any) -> Binding:
    """Return a row pattern bound to the columns of a table.

    Raises as `bind`, and `BadData` for a row whose time is out of range for WITHIN.
    """
    binding = bind(pattern, column_kinds(rows))
    check_far(pattern, binding, rows)
    return binding


def check_far(pattern: RowPattern, binding: Binding, rows: Any, before: int = 0) -> None:
    """Raise `BadData` for a row whose time 64 bits cannot hold, if the query has WITHIN."""
    if not isinstance(pattern.within, TimeWindow):
        return
    name = binding.names[pattern.order_by[0].column.name]
    if nanoseconds(rows.column(name)) is None:
        for row, moment in enumerate(values_of(rows.column(name), name), before + 1):
            if isinstance(moment, Timestamp) and is_far(moment):
                raise far_time("the row", name, moment, DataPlace("the table", row, name))


def _compiled_result(M: Machine, binding: Binding, rows: Any, *, is_needed: bool) -> Result | None:
    """Return the compiled result; if that is impossible, None, or raise `Unsupported`.

    `is_needed` chooses the error.
    """
    scan = compiled_scan(M, binding, rows)
    if not isinstance(scan, str):
        return scan[1]
    if is_needed:
        hint = 'evaluator="search" takes it'
        raise Unsupported("CER0452", f"this query cannot be compiled: {scan}", hint=hint)
    return None


def compiled_scan(M: Machine, binding: Binding, rows: Any) -> tuple[CompiledScan, Result] | str:
    """Return the compiled scan and its result, or a text why it is not possible."""
    from cerlab.rows import scan as walk  # loads Numba

    steps = walk.step_table_of(M)
    if isinstance(steps, str):
        return steps
    try:
        scan = walk.scan_of(M, steps, binding, rows)
        return scan, walk.result_of_scan(scan)
    except walk.NotTaken as error:
        return str(error)


Row = Mapping[str, Value]


def as_table(rows: Any, *, lazily: bool = False) -> Any:
    """Return events or rows of any supported kind as a pyarrow Table.

    `rows` is a Table, a pandas or polars data frame, dicts, a `Stream` or its events, or a path.
    Columns of dicts are in order of first appearance. With `lazily`, a single file of Parquet or
    Arrow IPC becomes a `FileTable`, whose columns are read on first use. Raises `BadData`,
    `TypeMismatch` for a column of values that do not compare, and `UsageError`.
    """
    if isinstance(rows, Source) or names_files(rows):
        return _table_of_files(as_source(rows), lazily)
    table = arrow.as_table(rows)
    if table is not None:
        return _distinct(table)
    if (records := arrow.rows_of_frame(rows)) is not None:
        rows = records
    if isinstance(rows, Stream):
        rows = rows.events
    if isinstance(rows, bytes | Mapping) or not isinstance(rows, Iterable):
        hint = "a table, a data frame, a list of dicts or a path does"
        raise UsageError("CER0812", f"expected rows, got {type(rows).__name__}", hint=hint)
    return _of_dicts([_as_dict(row, i) for i, row in enumerate(rows, 1)])


_PATH = {b"cerlab": b"path"}
"""The metadata of a field that `with_paths` adds."""

_JSON = {b"cerlab": b"json"}
"""The metadata of a field of objects and lists without an Arrow type."""


def with_paths(query: RowPattern, table: Any) -> Any:
    """Return a table with an additional column for each path to a nested field.

    Raises `BadData` for a path into a list.
    """
    import pyarrow as pa

    fields_by_name = {field.name: field for field in table.schema}
    kinds = {name: field.type for name, field in fields_by_name.items()}
    known = {name.casefold() for name in kinds}
    for name in dict.fromkeys(column.name for column in references(query)):
        fields = fields_of(name)
        if fields is None or name.casefold() in known:
            continue
        root = next((n for n in kinds if n.casefold() == fields[0].casefold()), None)
        root = fields[0] if fields[0] in kinds else root
        if root is None:
            continue
        if fields_by_name[root].metadata == _JSON:
            column = _column_of_json(table.column(root), fields, name)
        elif has_field(kinds[root], fields, name):
            column = field_column(table.column(root), fields, name)
        else:
            column = None
        if column is None:
            continue
        table = table.append_column(pa.field(name, column.type, metadata=_PATH), column)
        known.add(name.casefold())
    return table


def _column_of_json(column: Any, fields: tuple[str, ...], name: str) -> Any | None:
    """Return a field of JSON objects as a column; None if no object has it."""
    values, found = list[Value](), False
    for text in column.to_pylist():
        try:
            values.append(None if text is None else field_value(read_json(text), fields, name))
            found = found or text is not None
        except KeyError:
            values.append(None)
    return _column(name, values) if found else None


def _with_json(columns: Mapping[str, Any]) -> Any:
    """Return columns as a table; JSON columns, given as bytes, become columns of fields."""
    import pyarrow as pa

    kinds = {name: column.type for name, column in columns.items()}
    fields = [
        pa.field(name, kind, metadata=_JSON if pa.types.is_binary(kind) else None)
        for name, kind in kinds.items()
    ]
    return pa.table([*columns.values()], schema=pa.schema(fields))


def _distinct(table: Any) -> Any:
    if len(set(table.column_names)) < len(table.column_names):
        raise duplicate_column(table.column_names, "the table")
    return table


def _as_dict(row: Any, i: int) -> Mapping[str, Any]:
    if isinstance(row, Event):
        stream = {} if row.stream is None else {"stream": row.stream}
        return {"type": row.type, **stream, **with_objects(row)}
    if not isinstance(row, Mapping):
        message = f"a row is a dict, not {type(row).__name__}"
        hint = 'for example {"symbol": "INTC", "price": 27.85}'
        raise BadData("CER0705", message, place=DataPlace("the table", i), hint=hint)
    check_names(row)
    return row


def _of_dicts(rows: Sequence[Mapping[str, Any]]) -> Any:

    names = dict.fromkeys(name for row in rows for name in row)
    columns = {}
    for name in names:
        values = [row.get(name) for row in rows]
        if any(isinstance(value, dict | list) for value in values):
            columns[name] = nested_array(values)
        else:
            columns[name] = _column(name, [to_value(value, name) for value in values])
    return _with_json(columns)


def _column(name: str, values: list[Value]) -> Any:
    import pyarrow as pa

    try:
        for of_time in (Timestamp, Duration):
            if any(isinstance(value, of_time) for value in values):
                if not all(isinstance(value, of_time | NoneType) for value in values):
                    text = "moments" if of_time is Timestamp else "durations"
                    raise mismatch(f"column '{name}' mixes {text} with other values")
                if (times := array_of(values)) is None:
                    raise mismatch(f"column '{name}': no unit of Arrow holds all of its times")
                return times
        # pyarrow refuses, among floats, an integer that is not exact as a double
        if any(isinstance(value, float) for value in values):
            return pa.array([exact_double(value, name) for value in values])
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError) as error:
        hint = "a column holds numbers, or texts, or booleans, or moments, or durations"
        raise mismatch(f"column '{name}': {error}", hint=hint) from None


def as_double(value: Value) -> Value:
    """Return integers as doubles, and other values unchanged."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def exact_double(value: Value, name: str) -> Value:
    """Return an integer as a double; raise `TypeMismatch` if that would round."""
    number = as_double(value)
    if number != value and isinstance(value, int):
        hint = "a column of a table has one type: write the other numbers as integers, or as text"
        raise mismatch(f"column '{name}' of doubles: {value} would be rounded", hint=hint)
    return number


def _table_of_files(source: Source, lazily: bool) -> Any:
    """Return the rows of files, or of standard input, as a table."""
    if source.holds_columns:
        tables = [*map(_distinct, source.tables())]
        if lazily and len(tables) == 1:
            return tables[0]
        return one_table([table.whole() for table in tables])
    columns, count = source.rows()
    return _of_values(columns, count)


def _of_values(columns: Mapping[str, Any], count: int) -> Any:
    """Return columns, given as Arrow or as lists, as a table."""
    import pyarrow as pa

    arrays = {n: c if is_arrow(c) else _column(n, list(c)) for n, c in columns.items()}
    return _with_json(arrays) if arrays else pa.table({})


def column_kinds(table: Any) -> dict[str, Kind]:
    """Return the kind of each column of a table, in order."""
    fields = ((field.name, field) for field in table.schema)
    return {
        PathColumn(name) if field.metadata == _PATH else name: _kind(field.type)
        for name, field in fields
    }


@lru_cache  # row by row, a session spent a quarter of its time here
def _kind(arrow_type: Any) -> Kind:
    from pyarrow import types

    if types.is_dictionary(arrow_type):
        return _kind(arrow_type.value_type)
    if types.is_decimal(arrow_type):
        return Kind.INTEGER if arrow_type.scale <= 0 else Kind.DOUBLE
    for kind, tests in {
        Kind.NULL: (types.is_null,),
        Kind.BOOLEAN: (types.is_boolean,),
        Kind.INTEGER: (types.is_integer,),
        Kind.DOUBLE: (types.is_floating,),
        Kind.TEXT: (is_text,),
        Kind.MOMENT: (is_moment,),
        Kind.DURATION: (types.is_duration,),
    }.items():
        if any(test(arrow_type) for test in tests):
            return kind
    return Kind.OTHER


def value_columns(table: Any, names: Iterable[str]) -> dict[str, Sequence[Value]]:
    """Return the values of some columns of a table."""
    return {name: values_of(table.column(name), name) for name in dict.fromkeys(names)}


def value_rows(table: Any, names: Iterable[str]) -> list[Row]:
    """Return the values of some columns, row by row."""
    columns = value_columns(table, names)
    return [{name: column[i] for name, column in columns.items()} for i in range(table.num_rows)]


def result_table(table: Any, binding: Binding, rows: Any, measures: Sequence[Any]) -> Any:
    """Return the result: table columns at `rows`, and the measures.

    Raises `BadData` for an integer beyond 64 bits.
    """
    import pyarrow as pa

    indices = pa.array(rows, pa.int64())
    columns, names = [], []
    for column in binding.output:
        names.append(column.name)
        match column:
            case InputColumn(_, source):
                columns.append(without_views(table.column(source)).take(indices))
            case MeasureColumn(name, index, measure_type):
                columns.append(measure_array(measures[index], name, measure_type, table.schema))
    if not columns:
        return pa.table({})
    return pa.Table.from_arrays(columns, names=names)


def measure_array(values: Any, name: str, measure_type: StaticType, schema: Any) -> Any:
    """Return the values of a measure as an array.

    Raises `BadData` for an integer beyond 64 bits.
    """
    import pyarrow as pa

    if measure_type.items is not None:
        return _list_array(values, name, measure_type.items, schema)
    arrow_type = _arrow_type(measure_type, schema)
    if pa.types.is_decimal(getattr(arrow_type, "value_type", arrow_type)):
        return _decimals(values, arrow_type)
    if isinstance(values, pa.Array) and not pa.types.is_dictionary(arrow_type):
        if measure_type.kind in _OF_TIME:  # nanoseconds
            values = values.cast(_in_nanoseconds(arrow_type))
        return values.cast(arrow_type)
    if isinstance(values, pa.Array):
        return _dictionary(values.to_pylist(), arrow_type)
    of_time = measure_type.kind in _OF_TIME
    # CASE and COALESCE may return an integer although their type is double
    if measure_type.kind is Kind.DOUBLE:
        values = [as_double(value) for value in values]
    try:
        if of_time and (array := array_of(values)) is not None:
            if nanoseconds(array) is None and arrow_type == _in_nanoseconds(arrow_type):
                return array  # not from a column, whose coarser unit could represent later times
            return array.cast(arrow_type)
        is_coded = pa.types.is_dictionary(arrow_type)
        return _dictionary(values, arrow_type) if is_coded else pa.array(values, arrow_type)
    except (pa.ArrowInvalid, OverflowError) as error:
        raise BadData(
            "CER0787",
            f"measure '{name}': {error}",
            place=DataPlace("the result", None, name),
            hint="integers of the result have 64 bits; multiply by 1.0 for doubles",
        ) from None


def _list_array(lists: Any, name: str, items: StaticType, schema: Any) -> Any:
    """Return lists as an array; items have the type of the measure."""
    import pyarrow as pa

    if isinstance(lists, pa.Array):
        flat, absent = lists.flatten(), lists.is_null()
        lengths = lists.value_lengths().fill_null(0).to_pylist()
    else:
        flat = [value for each in lists for value in each or ()]
        absent = pa.array([each is None for each in lists], pa.bool_())
        lengths = [len(each or ()) for each in lists]
    offsets = pa.array([0, *accumulate(lengths)], pa.int32())
    return pa.ListArray.from_arrays(offsets, measure_array(flat, name, items, schema), mask=absent)


def _dictionary(values: Sequence[Any], kind: Any) -> Any:
    """Return values as a dictionary array of a type that pyarrow does not convert itself."""
    import pyarrow as pa

    coded = pa.array(values, kind.value_type).dictionary_encode()
    codes = coded.indices.cast(kind.index_type)
    return pa.DictionaryArray.from_arrays(codes, coded.dictionary, ordered=kind.ordered)


def _decimals(values: Any, kind: Any) -> Any:
    """Return doubles that came from decimals as decimals again."""
    import pyarrow as pa

    if isinstance(values, pa.Array):
        coded = values.dictionary_encode()
        return _decimals(coded.dictionary.to_pylist(), kind).take(coded.indices)
    decimals = [None if value is None else Decimal(repr(value)) for value in values]
    return _dictionary(decimals, kind) if pa.types.is_dictionary(kind) else pa.array(decimals, kind)


_OF_TIME = (Kind.MOMENT, Kind.DURATION)


def _in_nanoseconds(arrow_type: Any) -> Any:
    """Return a type of timestamps or durations in nanoseconds."""
    import pyarrow as pa

    if pa.types.is_duration(arrow_type):
        return pa.duration("ns")
    return pa.timestamp("ns", getattr(arrow_type, "tz", None))


def _arrow_type(measure_type: StaticType, schema: Any) -> Any:
    import pyarrow as pa
    from pyarrow import types

    if measure_type.column is not None:
        own = schema.field(measure_type.column).type
        if not types.is_string_view(getattr(own, "value_type", own)):
            return own
    return {
        Kind.BOOLEAN: pa.bool_(),
        Kind.INTEGER: pa.int64(),
        Kind.DOUBLE: pa.float64(),
        Kind.TEXT: pa.string(),
        Kind.MOMENT: pa.timestamp("ns"),
        Kind.DURATION: pa.duration("ns"),
        Kind.NULL: pa.null(),
    }[measure_type.kind]
