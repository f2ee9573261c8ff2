"""Answers on a DataFrame that is no more than Parquet files: tasks read the files themselves.

That is proved from Spark's plan, never guessed from paths: projections that only rename, over
exactly Spark's own Parquet format. Delta and Iceberg keep deletions beside their files, and
filters, limits, samples and unions leave rows out, so none of them is a bare scan.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse
from uuid import uuid4

from cerlab.errors import UsageError
from cerlab.spark.batch.columns import answer_schema
from cerlab.spark.batch.frame import arrow_schema
from cerlab.spark.batch.request import Request
from cerlab.spark.plan.files import FileRanges, UnorderedFiles, ranges_in_files
from cerlab.spark.plan.footers import Columns, RowGroups, Unproved, layout, row_groups
from cerlab.spark.plan.modes import Mode, why_not
from cerlab.spark.tasks.files import evaluate_files, write_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_CATALYST = "org.apache.spark.sql.catalyst"
_DATASOURCES = "org.apache.spark.sql.execution.datasources"
_RELATION = f"{_DATASOURCES}.LogicalRelation"
_FILES = f"{_DATASOURCES}.HadoopFsRelation"
_PARQUET = f"{_DATASOURCES}.parquet.ParquetFileFormat"
_INDEX = f"{_DATASOURCES}.InMemoryFileIndex"


def file_ranges(request: Request) -> FileRanges:
    """The ranges of a stream in files; raises `Unproved` with the reason why its rows are moved."""
    mode = request.choice.mode
    if request.choice.is_default and why_not(request.plan, Mode.RANGES) is None:
        mode = Mode.RANGES
    if mode is Mode.KEYS:
        raise Unproved("the events of a key may lie in all files")
    if request.kept is not None:
        raise Unproved("FROM leaves events out, and footers count all")
    paths, names = bare_scan(request.source.frame)
    columns = _columns(request, names)
    stated = row_groups(paths, columns)
    _same_types(request, names, stated)
    return _ranges(request, columns, stated, mode)


def _ranges(request: Request, columns: Columns, stated: RowGroups, mode: Mode) -> FileRanges:
    lie, plan, time = layout(stated, columns), request.plan, request.time
    return ranges_in_files(lie, columns, request.labels, plan, time, mode, request.parts)


def files_below(request: Request) -> FileRanges | UnorderedFiles:
    """The files of a DataFrame that is some of their rows, and what orders them.

    Raises `Unproved` with the reason why Spark has to be asked.
    """
    paths, names = scan_below(request.source.frame)
    columns = _columns(request, names, attributes=("type",))
    stated = row_groups(paths, columns)
    _same_types(request, names, stated)
    ordering = {*columns.keys, columns.time}
    if any(name in ordering and not _is_whole(kind) for name, kind in stated.kinds):
        raise Unproved("moments order the stream, which Spark and the files count in other units")
    if stated.overlap_much:
        return UnorderedFiles(stated.groups, columns)
    return _ranges(request, columns, stated, Mode.KEYS)


def _is_whole(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_signed_integer(kind))


def why_not_files(request: Request) -> str | None:
    """Why tasks cannot read the files themselves; None if they can."""
    try:
        file_ranges(request)
    except Unproved as reason:
        return str(reason)
    return None


def _same_types(request: Request, names: Mapping[str, str], stated: RowGroups) -> None:
    """Raise `Unproved` for a column that Spark was told to read as another type."""
    from pyspark.sql.pandas.types import from_arrow_type

    users = {f"c{n}": user for n, user in enumerate(request.source.names)}
    by_file = {file: users[name] for name, file in names.items()}
    for name, kind in stated.kinds:
        without_zone = getattr(kind, "tz", None) is None
        told = from_arrow_type(kind, prefer_timestamp_ntz=without_zone).simpleString()
        if request.source.kind(by_file[name]) != told:
            raise Unproved(f"'{name}' is {told} in the files, and Spark reads it as another type")


def _columns(
    request: Request, names: Mapping[str, str], attributes: Sequence[str] | None = None
) -> Columns:
    """The columns of the files, by those of the DataFrame, which `names` gives.

    Raises `Unproved` where one that orders the stream is not among them.
    """
    source = request.source
    by_user = {user: names.get(f"c{n}") for n, user in enumerate(source.names)}

    def ordering(name: str) -> str:
        if (known := by_user[name]) is None:
            raise Unproved(f"'{name}' is computed")
        return known

    if "type" in by_user and by_user["type"] is None:
        raise Unproved("the type of events is computed")
    return Columns(
        keys=tuple(map(ordering, request.labels.keys)),
        has_position=request.position is not None,
        time=None if request.labels.time is None else ordering(request.labels.time),
        attributes=tuple(map(by_user.get, attributes or request.attributes)),
        type=source.type,
    )


def bare_scan(frame: DataFrame) -> tuple[list[str], dict[str, str]]:
    """The local files that a DataFrame is, and for each of its columns the name in the files.

    Raises `Unproved` for every other DataFrame, and for one of Spark Connect, whose plan is not
    here.
    """
    return _scan(frame, _renamed, through=())


def scan_below(frame: DataFrame) -> tuple[list[str], dict[str, str]]:
    """The same of a DataFrame that is some rows of files: filters, and columns that are computed.

    Those have no name in the files.
    """
    return _scan(frame, _renamed_if_at_all, through=(f"{_CATALYST}.plans.logical.Filter",))


def _scan(
    frame: DataFrame, renamed: Callable[[Any], tuple[int, int | None]], through: Sequence[str]
) -> tuple[list[str], dict[str, str]]:
    java = getattr(frame, "_jdf", None)
    if java is None:
        raise Unproved("a session of Spark Connect does not show its plan")
    node = java.queryExecution().analyzed()
    source_of: dict[int, int | None]
    source_of = {out.exprId().id(): out.exprId().id() for out in _items(node.output())}
    named = {out.name(): out.exprId().id() for out in _items(node.output())}
    while _class(node) in (f"{_CATALYST}.plans.logical.Project", *through):
        if _class(node) not in through:
            below = dict(map(renamed, _items(node.projectList())))
            source_of = {
                out: None if here is None else below[here] for out, here in source_of.items()
            }
        node = node.child()
    if _class(node) != _RELATION or _class(node.relation()) != _FILES:
        raise Unproved(f"the DataFrame is more than files: {node.nodeName()}")
    relation = node.relation()
    if _class(relation.fileFormat()) != _PARQUET or _class(relation.location()) != _INDEX:
        raise Unproved("the files are not plain Parquet of Spark's own format")
    if not relation.partitionSchema().isEmpty():
        raise Unproved("the names of folders hold columns")
    columns: dict[int | None, str] = {
        out.exprId().id(): out.name() for out in _items(node.output())
    }
    paths = [_local(path) for path in relation.location().inputFiles()]
    known = {name: columns.get(source_of[number]) for name, number in named.items()}
    return paths, {name: file for name, file in known.items() if file is not None}


def _renamed_if_at_all(expression: Any) -> tuple[int, int | None]:
    """A projected column and the one it renames, None for one that is computed."""
    try:
        return _renamed(expression)
    except Unproved:
        return expression.exprId().id(), None


def _renamed(expression: Any) -> tuple[int, int | None]:
    """A projected column and the one it renames; raises `Unproved` for one that is computed."""
    attribute = f"{_CATALYST}.expressions.AttributeReference"
    inner = expression
    if _class(expression) == f"{_CATALYST}.expressions.Alias":
        inner = expression.child()
    if _class(inner) != attribute:
        raise Unproved(f"a column is computed: {expression.sql()}")
    return expression.exprId().id(), inner.exprId().id()


def _class(value: Any) -> str:
    return str(value.getClass().getName())


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(n) for n in range(sequence.size())]


def _local(path: str) -> str:
    """The path of a file on this machine; raises `Unproved` for other file systems."""
    address = urlparse(path)
    if address.scheme != "file":
        raise Unproved(f"'{address.scheme}' is no file system of this machine")
    return unquote(address.path)


def local_folder(path: str) -> Path | None:
    """A folder on this machine by what a user calls it; None on other file systems."""
    scheme = urlparse(path).scheme
    if scheme == "file":
        return Path(unquote(urlparse(path).path))
    return None if scheme else Path(path).absolute()  # tasks have working folders of their own


def answers_in_files(request: Request, ranges: FileRanges) -> DataFrame:
    """The answers of all ranges; only a number for each range goes through Spark."""
    evaluate = partial(evaluate_files, job=request.job, ranges=ranges)
    return numbers_of(request, ranges.parts).mapInArrow(evaluate, answer_schema(request))


def write_answers(
    request: Request, ranges: FileRanges, folder: Path, *, overwrite: bool = False
) -> int:
    """The answers as Parquet files in a folder, written by the tasks; returns how many.

    Tasks write to a hidden folder beside it, which gets the name at the end (`publish`). Files that
    no task has returned, of one that ran twice or was killed, are taken out. Raises `UsageError`
    where there is something already, and where the events lie.
    """
    if folder.exists() and not overwrite:
        raise UsageError(
            "CER0889",
            f"{folder} already exists",
            hint="give another place, or --overwrite",
        )
    refuse_input(folder, ranges)
    hidden = folder.with_name(f".{folder.name}.{uuid4().hex}")
    hidden.mkdir(parents=True)
    try:
        write = partial(
            write_files,
            job=request.job,
            ranges=ranges,
            folder=str(hidden),
            schema=arrow_schema(answer_schema(request)),
        )
        parts = numbers_of(request, ranges.parts)
        made = parts.mapInArrow(write, "name string, answers bigint").collect()
        whole = {row["name"] for row in made}
        for stray in set(hidden.iterdir()) - {hidden / name for name in whole}:
            stray.unlink()
        (hidden / "_SUCCESS").touch()
        publish(hidden, folder)
    except BaseException:
        shutil.rmtree(hidden, ignore_errors=True)
        raise
    return sum(row["answers"] for row in made)


def publish(made: Path, folder: Path) -> None:
    """Give a folder beside another its name; what was there is removed when that is done.

    Until then it is there under its own name or, between two renames, under a hidden one beside it.
    """
    aside = folder.with_name(f".{folder.name}.{uuid4().hex}.before")
    replaces = folder.exists()
    if replaces:
        folder.rename(aside)
    try:
        made.rename(folder)
    except BaseException:
        if replaces:
            aside.rename(folder)
        raise
    if replaces:
        shutil.rmtree(aside) if aside.is_dir() else aside.unlink()


def refuse_input(folder: Path, ranges: FileRanges) -> None:
    """Raise `UsageError` if a folder of answers would replace the files of the events."""
    place = folder.resolve()
    paths = {Path(group.path).resolve() for cluster in ranges.clusters for group in cluster}
    if any(path.is_relative_to(place) for path in paths):
        raise UsageError(
            "CER0890",
            f"the answers would replace the events at {folder}",
            hint="write the answers to another place",
        )


def numbers_of(request: Request, tasks: int) -> DataFrame:
    """The numbers of some tasks, each in a task of its own."""
    return request.source.frame.sparkSession.range(0, tasks, 1, max(1, tasks))
