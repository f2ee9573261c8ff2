"""Places of files: paths on this machine, and addresses on other file systems as pyarrow has them.

A place is a text, so that it can be sent to tasks. Each of them resolves it for itself, with the
credentials of its environment; so none are in an address, which plans and messages show.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from cerlab.errors import BadData, DataPlace, UsageError


def local_path(place: str) -> Path | None:
    """A place on this machine as an absolute path; None for one on another file system."""
    address = urlsplit(place)
    if address.scheme == "file":
        return Path(unquote(address.path))
    return None if address.scheme else Path(place).absolute()  # tasks have folders of their own


def inside(folder: str, name: str) -> str:
    """The place of a file by that of its folder; what an address says after ``?`` stays."""
    if (path := local_path(folder)) is not None:
        return str(path / name)
    head, mark, rest = folder.partition("?")
    return f"{head.rstrip('/')}/{quote(name)}{mark}{rest}"


def resolve(place: str) -> tuple[Any, str]:
    """The file system of a place, one for all files of a folder, and the path there.

    Raises as `pyarrow.fs.FileSystem.from_uri`.
    """
    from pyarrow.fs import LocalFileSystem

    if (local := local_path(place)) is not None:
        return LocalFileSystem(), str(local)
    head, mark, rest = place.partition("?")
    folder, _, name = head.rstrip("/").rpartition("/")
    if folder.endswith("/"):  # after ``scheme:/``, a bucket or a host
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
    """The Parquet file at a place, as `pyarrow.parquet.ParquetFile`."""
    from pyarrow.parquet import ParquetFile

    files, path = resolve(place)
    return ParquetFile(path, filesystem=files, **options)


def why_not_opened(place: str) -> str | None:
    """Why pyarrow does not open a place, whether or not something is there; None if it does.

    Raises `UsageError` for an address with a password.
    """
    import pyarrow as pa

    if local_path(place) is None and urlsplit(place).password is not None:
        raise UsageError(
            "CER0899",
            "an address with a password, which plans, logs and messages would show",
            hint="leave it out: pyarrow takes credentials from the environment of each process",
        )
    try:
        files, path = resolve(place)
        files.get_file_info(path)
    except (pa.ArrowException, OSError, ValueError, ImportError) as error:
        return str(error)
    return None


def files_in(place: str) -> tuple[str, ...]:
    """The file at a place, or all files in a folder, but for those with names in ``_`` or ``.``.

    Raises `BadData` where there is nothing, `UsageError` where folders are in a folder.
    """
    from pyarrow.fs import FileSelector, FileType

    files, path = resolve(place)
    match files.get_file_info(path).type:
        case FileType.File:
            return (place,)
        case FileType.NotFound:
            what, hint = "there is no such file", "check the path"
            raise BadData("CER0743", what, place=DataPlace(place), hint=hint)
    entries = files.get_file_info(FileSelector(path))
    visible = [each for each in entries if each.base_name[0] not in "._"]
    if folders := sorted(each.base_name for each in visible if each.type == FileType.Directory):
        what = f"in the folder of the events is another folder, '{folders[0]}'"
        raise UsageError("CER0899", what, hint="name the folder that the files are in")
    return tuple(inside(place, name) for name in sorted(each.base_name for each in visible))
