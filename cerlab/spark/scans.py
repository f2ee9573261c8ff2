"""The Parquet files that a DataFrame reads, according to Spark's plan."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from cerlab.spark.footers import NoProof, local_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_CATALYST = "org.apache.spark.sql.catalyst"

_DATASOURCES = "org.apache.spark.sql.execution.datasources"

_PROJECT, _FILTER = (f"{_CATALYST}.plans.logical.{name}" for name in ("Project", "Filter"))

_RELATION = f"{_DATASOURCES}.LogicalRelation"

_FILES = f"{_DATASOURCES}.HadoopFsRelation"

_PARQUET = f"{_DATASOURCES}.parquet.ParquetFileFormat"

_INDEX = f"{_DATASOURCES}.InMemoryFileIndex"


class ScannedFiles(NamedTuple):
    """The Parquet files that a DataFrame reads."""

    paths: Sequence[str]
    names: Mapping[str, str]
    """The names in the files for the columns of the DataFrame."""
    keys: Sequence[Mapping[str, Any]]
    """The folder keys of each file, as Arrow scalars."""


def bare_scan(frame: DataFrame) -> ScannedFiles:
    """Return a DataFrame's local files, and the name in the files of each of its columns.

    A filter of folders by their names selects files. Raises `NoProof` for every other DataFrame,
    and for one of Spark Connect, whose plan is not accessible.
    """
    return _scan(frame, _projection, some_rows=False)


def scan_below(frame: DataFrame) -> ScannedFiles:
    """Return the files under a DataFrame with filters and computed columns.

    Computed columns have no name in the files.
    """
    return _scan(frame, _projection_or_none, some_rows=True)


def _scan(
    frame: DataFrame, projection: Callable[[Any], tuple[int, int | None]], *, some_rows: bool
) -> ScannedFiles:
    java = getattr(frame, "_jdf", None)
    if java is None:
        raise NoProof("a session of Spark Connect does not show its plan")
    node = java.queryExecution().analyzed()
    source_of: dict[int, int | None]
    source_of = {out.exprId().id(): out.exprId().id() for out in _items(node.output())}
    numbers = {out.name(): out.exprId().id() for out in _items(node.output())}
    conditions = []
    while _class(node) in (_PROJECT, _FILTER):
        if _class(node) == _FILTER:
            conditions.append(node.condition())
        else:
            below = dict(map(projection, _items(node.projectList())))
            source_of = {
                out: None if here is None else below[here] for out, here in source_of.items()
            }
        node = node.child()
    if _class(node) != _RELATION or _class(node.relation()) != _FILES:
        raise NoProof(f"the DataFrame is more than files: {node.nodeName()}")
    relation = node.relation()
    if _class(relation.fileFormat()) != _PARQUET or _class(relation.location()) != _INDEX:
        raise NoProof("the files are not plain Parquet of Spark's own format")
    names_in_folders = set(relation.partitionSchema().fieldNames())
    output = _items(node.output())
    in_folders = {out.exprId().id() for out in output if out.name() in names_in_folders}
    of_folders = [each for each in conditions if _is_of(each, in_folders)]
    if len(of_folders) < len(conditions) and not some_rows:
        raise NoProof("the DataFrame is more than files: it has a filter")
    columns: dict[int | None, str] = {out.exprId().id(): out.name() for out in output}
    by_name = {name: columns.get(source_of[number]) for name, number in numbers.items()}
    names = {name: file for name, file in by_name.items() if file is not None}
    if not names_in_folders:
        paths = [_local(path) for path in relation.location().inputFiles()]
        return ScannedFiles(paths, names, [{}] * len(paths))
    found = list(_folders(frame, relation, of_folders))
    return ScannedFiles([path for path, _ in found], names, [keys for _, keys in found])


def _is_of(condition: Any, attributes: set[int]) -> bool:
    """Return whether a condition tests only some attributes, given by number."""
    read = {each.exprId().id() for each in _items(condition.references().toSeq())}
    return bool(read) and read <= attributes and bool(condition.deterministic())


def _folders(frame: Any, relation: Any, conditions: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    """Yield the files whose folder keys satisfy some conditions, with these keys."""
    from py4j.protocol import Py4JJavaError

    nil = getattr(frame.sparkSession._jvm.scala.collection.immutable, "Nil$").__getattr__("MODULE$")
    tests = nil
    for condition in conditions:
        tests = getattr(tests, "$colon$colon")(condition)
    try:
        folders = _items(relation.location().listFiles(tests, nil))
    except Py4JJavaError:  # Spark can evaluate this condition only when the query runs
        raise NoProof("the DataFrame is more than files: it has a filter") from None
    fields = _items(relation.partitionSchema())
    for folder in folders:
        cells = folder.values().toSeq(relation.partitionSchema())
        keys = {each.name(): _key(each, cells.apply(n)) for n, each in enumerate(fields)}
        for file in _items(folder.files()):
            yield _local(file.getPath().toUri().toString()), keys


def _key(field: Any, value: Any) -> Any:
    """Return the value in a folder name, as Spark has read it, as an Arrow scalar."""
    import pyarrow as pa

    kind = str(field.dataType().simpleString())
    kinds = {
        "int": pa.int32(),
        "bigint": pa.int64(),
        "double": pa.float64(),
        "date": pa.date32(),
        "string": pa.string(),
        "timestamp": pa.timestamp("us", "UTC"),
        "boolean": pa.bool_(),
        "timestamp_ntz": pa.timestamp("us"),
    }
    if kind not in kinds:
        raise NoProof(f"'{field.name()}' in the names of folders is {kind}")
    if value is None:
        return pa.scalar(None, kinds[kind])
    return pa.scalar(value.toString() if kind == "string" else value, kinds[kind])


def _projection_or_none(expression: Any) -> tuple[int, int | None]:
    """Return a projected column and the column it renames, None for a computed one."""
    try:
        return _projection(expression)
    except NoProof:
        return expression.exprId().id(), None


def _projection(expression: Any) -> tuple[int, int | None]:
    """Return a projected column and the column it renames; raises `NoProof` for a computed one."""
    attribute = f"{_CATALYST}.expressions.AttributeReference"
    inner = expression
    if _class(expression) == f"{_CATALYST}.expressions.Alias":
        inner = expression.child()
    if _class(inner) != attribute:
        raise NoProof(f"a column is computed: {expression.sql()}")
    return expression.exprId().id(), inner.exprId().id()


def _class(value: Any) -> str:
    return str(value.getClass().getName())


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(n) for n in range(sequence.size())]


def _local(address: str) -> str:
    """Return the path of a file on this machine; raises `NoProof` for other file systems.

    Spark reads those by its settings, which may differ from those of pyarrow.
    """
    if (path := local_path(address)) is None:
        raise NoProof(f"Spark reads '{urlsplit(address).scheme}:' with other settings")
    return str(path)
