"""Parquet footers, which show where the rows of a stream are, without reading a row."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from glob import has_magic
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias
from urllib.parse import quote, unquote, urlsplit
from warnings import warn

from cerlab.errors import BadData, CerlabWarning, DataPlace, UsageError, stacklevel_of_caller
from cerlab.io.arrow import unreadable
from cerlab.io.conversion import types_differ
from cerlab.io.names import NamedFile, files_of, is_hidden, keys_in
from cerlab.io.options import empty
from cerlab.spark.runs import SortedRun, in_order

LONGEST = 1 << 23
"""Most rows of a cluster, which one task sorts in memory."""


class NoProof(Exception):
    """The reason why footers do not prove the order of some files."""


class NoEnds(NoProof):
    """The reason why footers lack a column's least and greatest values, such as INT96."""


Measured: TypeAlias = Mapping[tuple[str, int], Mapping[str, tuple[int | None, int | None]]]
"""Least and greatest values of columns, by file and row group; None if a NULL occurs."""


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of Parquet files that make up a stream."""

    keys: tuple[str, ...]
    """The columns that order the stream; the last is the position, if the stream has one."""
    has_position: bool
    time: str | None
    """The time column that the window measures."""
    attributes: tuple[str | None, ...]
    """The columns that the engine reads, ``a0 a1 ..``; None if files lack a column."""
    type: str | None
    """The type of all events, if no column contains types."""

    @property
    def read(self) -> list[str]:
        """The columns that tasks read, each once."""
        names = (*self.keys, self.time, *self.attributes)
        return list(dict.fromkeys(name for name in names if name is not None))


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group by its footer: the least and greatest value of each key and of the time."""

    path: str
    number: int
    rows: int
    first: tuple[int, ...]
    last: tuple[int, ...]
    first_time: int
    last_time: int
    keys: Mapping[str, Any]
    """The keys of the folders that contain the file, as Arrow scalars."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The clusters of a stream in order, each with its row groups."""

    clusters: tuple[tuple[RowGroup, ...], ...]
    runs: tuple[SortedRun, ...]
    unit: int
    """The unit of the times, as in `RowGroups`."""
    before: int = 0
    """The number of rows before the clusters, as in `RowGroups`."""


@dataclass(frozen=True, slots=True)
class RowGroups:
    """The non-empty row groups of some files, in the order of the files."""

    groups: tuple[RowGroup, ...]
    unit: int
    """Nanoseconds of one step of the time if it is a moment; otherwise 1."""
    kinds: tuple[tuple[str, Any], ...]
    """The Arrow types of the columns that are read."""
    before: int = 0
    """Number of the stream's rows before these, in row groups that no task reads."""

    @property
    def overlap_much(self) -> bool:
        """True if more rows overlap than one task can sort."""
        return any(_is_too_long(cluster) for cluster in _clusters(self.groups))


def row_groups(
    paths: Sequence[str],
    columns: Columns,
    keys: Sequence[Mapping[str, Any]] = (),
    measured: Measured | None = None,
) -> RowGroups:
    """Return the row groups of some files by footers; raises `NoEnds` without statistics.

    `keys` are those of the folders of each file: columns that are constant in it. `measured` has
    the ends of columns that footers lack. Raises `NoProof` for other files whose order is not
    proved.
    """
    groups: list[RowGroup] = []
    schema, unit = None, 1
    for path, own in zip(paths, keys or [{}] * len(paths), strict=True):
        file = parquet_file(path)
        names = [name for name in columns.read if name in file.schema_arrow.names or name in own]
        if missing := sorted(set(columns.read) - set(names)):
            raise NoProof(f"{path} has no column '{missing[0]}'")
        kinds = [(n, own[n].type if n in own else _kind(file, path, n)) for n in names]
        if schema is not None and kinds != schema:
            raise NoProof("the files have different columns")
        schema, unit = kinds, unit_of(dict(kinds).get(columns.time or "")) or 1
        groups += _row_groups(file, path, columns, own, unit, measured or {})
    return RowGroups(tuple(groups), unit, tuple(schema or ()))


def layout(footers: RowGroups, columns: Columns) -> Layout:
    """Return the order of row groups as a layout; raises `NoProof` if they overlap too much."""
    clusters = _clusters(footers.groups)
    if long := next(filter(_is_too_long, clusters), None):
        raise NoProof(f"{len(long):,} row groups overlap, with too many rows for one task")
    runs = in_order(map(_run, clusters), positions=columns.has_position)
    if runs is None:
        raise NoProof("by the footers the time or the position goes back; the rows must be checked")
    return Layout(tuple(clusters), runs, footers.unit, footers.before)


def are_ordered(paths: Sequence[str], keys: Sequence[str], *, has_position: bool) -> bool:
    """Return whether footers prove that the rows of some files are ordered by `keys`."""
    columns = Columns(tuple(keys), has_position, None, (), None)
    if not keys or not paths:
        return False
    try:
        layout(row_groups(paths, columns), columns)
    except (NoProof, BadData, OSError):
        return False
    return True


def have_integers(path: str, names: Sequence[str]) -> bool:
    """Return whether a file has columns of signed integers with these names.

    False if unreadable.
    """
    import pyarrow as pa

    kinds = _kinds(path)
    return all(n in kinds and pa.types.is_signed_integer(kinds[n]) for n in names)


def has_column(path: str, name: str) -> bool:
    """Return whether a file has a column; False if it cannot be read."""
    return name in _kinds(path)


def _kinds(path: str) -> dict[str, Any]:
    """Return the column types of a file, or no types if it cannot be read."""
    try:
        return {field.name: field.type for field in parquet_file(path).schema_arrow}
    except BadData:
        return {}


def _kind(file: Any, path: str, name: str) -> Any:
    """Return the type of a column if Spark and pyarrow read equal values from it."""
    import pyarrow as pa

    kind = file.schema_arrow.field(name).type
    tests = (
        pa.types.is_signed_integer,
        pa.types.is_floating,
        pa.types.is_boolean,
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_timestamp,
        pa.types.is_date32,
        pa.types.is_decimal128,
    )
    if _is_of_old_calendar(file, name, kind):
        raise NoProof(f"{path} has moments in the calendar of an old Spark")
    if is_int96(file, name):
        return pa.timestamp("us", "UTC")  # as Spark reads them
    if not any(holds(kind) for holds in tests) or kind == pa.float16():
        raise NoProof(f"column '{name}' is {kind}")
    return kind


_SPARK = re.compile(rb"(\d+)\.(\d+)")


def _is_of_old_calendar(file: Any, name: str, kind: Any) -> bool:
    """Return whether Spark reads a column's moments in the Julian calendar."""
    said, int96 = file.metadata.metadata or {}, is_int96(file, name)
    if b"org.apache.spark.legacyDateTime" in said or b"org.apache.spark.legacyINT96" in said:
        return True
    written = _SPARK.match(said.get(b"org.apache.spark.version", b""))
    if written is None or unit_of(kind) is None:
        return False
    return (int(written[1]), int(written[2])) < ((3, 1) if int96 else (3, 0))


def is_int96(file: Any, name: str) -> bool:
    """Return whether a column stores moments in 96 bits, as Spark does by default."""
    schema = file.metadata.schema
    kinds = (schema.column(n) for n in range(len(schema)) if schema.column(n).path == name)
    return any(kind.physical_type == "INT96" for kind in kinds)


def unit_of(kind: Any) -> int | None:
    """Return the nanoseconds of one step of a type of moments; None for other types."""
    import pyarrow as pa

    if kind is not None and pa.types.is_date32(kind):
        return 86_400 * 10**9
    if kind is None or not pa.types.is_timestamp(kind):
        return None
    return {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}[kind.unit]


def _row_groups(
    file: Any, path: str, columns: Columns, keys: Mapping[str, Any], unit: int, measured: Measured
) -> Iterator[RowGroup]:
    """Yield the row groups of a file; raises `NoProof` if its statistics do not suffice."""
    metadata = file.metadata
    index = {metadata.schema.column(n).path: n for n in range(metadata.num_columns)}
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if not group.num_rows:
            continue
        known = measured.get((path, number), {})

        def ends(name: str, chunk: Any = group, known: Any = known) -> tuple[int, int]:
            column = f"'{name}' of {path}"
            if name in keys:
                return _ends_of_key(keys[name], column)
            if name in known:
                least, greatest = known[name]
                if least is None or greatest is None:
                    raise NoProof(f"{column} has NULL, which a row shows best")
                return least, greatest
            unit = getattr(file.schema_arrow.field(name).type, "unit", None)
            return _ends(chunk.column(index[name]), unit, column)

        both = [ends(name) for name in columns.keys]
        first, last = (tuple(pair[n] for pair in both) for n in (0, 1))
        time = (0, 0) if columns.time is None else ends(columns.time)
        if unit > 1 and max(map(abs, time)) * unit >= 2**63:
            raise NoProof(f"'{columns.time}' has a moment out of range; the rows must be checked")
        yield RowGroup(path, number, group.num_rows, first, last, *time, keys)


def _ends_of_key(value: Any, column: str) -> tuple[int, int]:
    """Return the least and greatest value of a column that is a folder key."""
    import pyarrow as pa

    kind = value.type
    if not (pa.types.is_signed_integer(kind) or unit_of(kind)) or not value.is_valid:
        raise NoProof(f"{column} in the names of folders is neither an integer nor a moment")
    if pa.types.is_date32(kind):
        value = value.cast(pa.int32())
    whole = value.cast(pa.int64()).as_py()
    return whole, whole


_UNITS = {"milliseconds": "ms", "microseconds": "us", "nanoseconds": "ns"}


def _ends(chunk: Any, unit: str | None, column: str) -> tuple[int, int]:
    """Return the least and greatest value of a column in a row group, as Parquet integers."""
    stats = chunk.statistics
    if chunk.physical_type == "INT96":
        raise NoEnds(f"{column} is INT96, for which footers have no statistics")
    if chunk.physical_type not in ("INT32", "INT64"):
        raise NoProof(
            f"{column} is neither an integer nor a moment, so its statistics do not order it"
        )
    if stats is None or not stats.has_min_max or not stats.has_null_count:
        raise NoEnds(f"{column} has no statistics")
    if stats.null_count:
        raise NoProof(f"{column} has NULL, which a row shows best")
    kind = json.loads(stats.logical_type.to_json())
    if kind["Type"] == "Decimal":
        raise NoProof(f"{column} is a decimal, which files store as scaled integers")
    if kind["Type"] == "Timestamp" and _UNITS[kind["timeUnit"]] != unit:
        raise NoProof(f"{column} is kept in {kind['timeUnit']} and read in {unit}")
    return stats.min_raw, stats.max_raw


def _clusters(groups: Sequence[RowGroup]) -> list[tuple[RowGroup, ...]]:
    """Return clusters of row groups that may overlap, in the order of the stream."""
    clusters: list[list[RowGroup]] = []
    end: tuple[int, ...] = ()
    for group in sorted(groups, key=lambda group: (group.first, group.last)):
        # equal ends overlap too: they may be two events in one place, which a sort detects
        if clusters and not end < group.first:
            clusters[-1].append(group)
            end = tuple(map(max, end, group.last))
        else:
            clusters.append([group])
            end = group.last
    return list(map(tuple, clusters))


def _is_too_long(cluster: Sequence[RowGroup]) -> bool:
    return len(cluster) > 1 and sum(group.rows for group in cluster) > LONGEST


def _run(cluster: Sequence[RowGroup]) -> SortedRun:
    """Return a cluster as a run of the stream, with the ends that its footers state."""
    rows = sum(group.rows for group in cluster)
    return SortedRun(
        first=tuple(map(min, zip(*(group.first for group in cluster), strict=True))),
        last=tuple(map(max, zip(*(group.last for group in cluster), strict=True))),
        rows=rows,
        rows_in_from=rows,
        first_time=min(group.first_time for group in cluster),
        last_time=max(group.last_time for group in cluster),
    )


def local_path(place: str) -> Path | None:
    """Return a path on this machine as an absolute path; None for another file system."""
    address = urlsplit(place)
    if address.scheme == "file":
        return Path(unquote(address.path))
    return None if address.scheme else Path(place).absolute()  # tasks have other working folders


def inside(folder: str, name: str) -> str:
    """Return the address of a file in a folder; the part of the address after ``?`` stays."""
    if (path := local_path(folder)) is not None:
        return str(path / name)
    head, mark, rest = folder.partition("?")
    return f"{head.rstrip('/')}/{quote(name)}{mark}{rest}"


def resolve(place: str) -> tuple[Any, str]:
    """Return the file system of an address, equal for all files of a folder, and the path in it.

    Raises as `pyarrow.fs.FileSystem.from_uri`.
    """
    from pyarrow.fs import LocalFileSystem

    if (local := local_path(place)) is not None:
        return LocalFileSystem(), str(local)
    head, mark, rest = place.partition("?")
    folder, _, name = head.rstrip("/").rpartition("/")
    if folder.endswith("/"):  # ``scheme:/`` is followed by a bucket or a host
        files, path = _from_address(place)
        return files, path.rstrip("/")
    files, path = _from_address(folder + mark + rest)
    return files, f"{path.rstrip('/')}/{unquote(name)}"


@lru_cache(maxsize=64)
def _from_address(address: str) -> tuple[Any, str]:
    from pyarrow.fs import FileSystem

    files, path = FileSystem.from_uri(address)
    return files, str(path)


def parquet_file(place: str, **options: Any) -> Any:
    """Return the Parquet file at an address, as `pyarrow.parquet.ParquetFile`.

    Raises `BadData` for a file that is missing, empty, or not Parquet.
    """
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

    files, path = resolve(place)
    try:
        # Spark's unit; pyarrow's default unit cannot represent the year 9999
        return ParquetFile(path, filesystem=files, coerce_int96_timestamp_unit="us", **options)
    except FileNotFoundError:
        raise gone(place) from None
    except (pa.ArrowException, OSError) as error:
        if files.get_file_info(path).size == 0:
            raise empty(place) from None
        raise unreadable(place, "Parquet", error) from None


def gone(place: str) -> BadData:
    """Return the error for a file that no longer exists."""
    message, hint = "there is no such file", "do not move or delete the files during the query"
    return BadData("CER0743", message, place=DataPlace(place), hint=hint)


def check_columns(paths: Sequence[str], names: Sequence[str]) -> None:
    """Warn about columns that some files lack; raise `BadData` for a column with two types.

    Spark would read NULL for missing columns, and columns of two types by the types of one file.
    """
    first: dict[str, tuple[str, str]] = {}
    lacking: dict[str, list[str]] = {}
    for path in paths:
        schema = parquet_file(path).schema_arrow
        for name in names:
            if name not in schema.names:
                lacking.setdefault(name, []).append(path)
                continue
            kind = _plain_type(schema.field(name).type)
            before, place = first.setdefault(name, (kind, path))
            if kind != before:
                raise types_differ(kind, before, DataPlace(path, None, name), place)
    for name in first.keys() & lacking.keys():
        where = lacking[name]
        which = f"{where[0]} lacks it" if len(where) == 1 else f"{where[0]} and others lack it"
        what = f"'{name}' is in {len(paths) - len(where)} of {len(paths)} files"
        message = f"CER0952: {what}, and NULL in the other rows: {which}"
        warn(CerlabWarning(message), stacklevel=stacklevel_of_caller())


def warn_of_lost_columns(paths: Sequence[str], names: Sequence[str]) -> None:
    """Warn about columns of files that the DataFrame lacks: Spark may check only one file."""
    for name in names:
        if (count := sum(has_column(path, name) for path in paths)) > 0:
            what = f"'{name}' is in {count} of {len(paths)} files, and the DataFrame lacks it"
            message = f"CER0952: {what}: read them with the option mergeSchema"
            warn(CerlabWarning(message), stacklevel=stacklevel_of_caller())


def _plain_type(kind: Any) -> str:
    """Return the type of a column in words, equal for all widths that Spark reads alike."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_signed_integer(kind):
        return "integer"
    if pa.types.is_floating(kind):
        return "float"
    if any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string)):
        return "text"
    return "moment" if pa.types.is_timestamp(kind) else str(kind)


def why_not_opened(place: str) -> str | None:
    """Return why pyarrow cannot open an address, even a missing one; None if it can.

    Raises `UsageError` for an address with a password.
    """
    import pyarrow as pa

    if local_path(place) is None and urlsplit(place).password is not None:
        raise UsageError(
            "CER0899",
            "the address contains a password, which plans, logs and messages would show",
            hint="omit the password: pyarrow reads credentials from each process's environment",
        )
    try:
        files, path = resolve(place)
        files.get_file_info(path)
    except (pa.ArrowException, OSError, ValueError, ImportError) as error:
        return str(error)
    return None


def files_in(place: str) -> list[NamedFile]:
    """Return the files for a name or an address, as `cerlab.io.names.files_of` does.

    Raises `BadData` if there are no files.
    """
    if (local := local_path(place)) is not None:
        if not local.exists() and not has_magic(str(local)):
            raise _nothing_at(place)
        return files_of(local)
    from pyarrow.fs import FileSelector, FileType

    files, path = resolve(place)
    match files.get_file_info(path).type:
        case FileType.File:
            return [NamedFile(place, {})]
        case FileType.NotFound:
            raise _nothing_at(place)
    entries = files.get_file_info(FileSelector(path, recursive=True))
    paths = (PurePosixPath(each.path) for each in entries if each.type == FileType.File)
    inner = sorted((each.relative_to(path) for each in paths), key=lambda each: each.parts)
    names = [str(each) for each in inner if not any(map(is_hidden, each.parts))]
    if not names:
        hint = "check the name; names that begin with _ or . are left out"
        raise BadData("CER0743", "the folder contains no files", place=DataPlace(place), hint=hint)
    return [NamedFile(inside(place, name), keys_in(name, place)) for name in names]


def _nothing_at(place: str) -> BadData:
    message, hint = "there is no such file", "check the path"
    return BadData("CER0743", message, place=DataPlace(place), hint=hint)
