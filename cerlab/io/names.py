"""The files that names denote: folders, patterns, and folders named ``key=value``."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Iterator
from os import PathLike
from os.path import exists, isdir
from pathlib import PurePath
from typing import NamedTuple, TypeAlias

from cerlab.errors import BadData, DataPlace, UsageError

AnyPath: TypeAlias = str | PathLike[str]
Named: TypeAlias = AnyPath | Iterable[AnyPath]
"""A file, a folder, a glob (``day-*.csv``), ``-`` for standard input, or several of them."""

NULL_KEY = "__HIVE_DEFAULT_PARTITION__"
"""The value of a partition key for NULL."""


class NamedFile(NamedTuple):
    """A file and the keys of the folders ``key=value`` that contain it (text, or None for NULL)."""

    path: AnyPath
    keys: dict[str, str | None]


def names_files(value: object) -> bool:
    """Return whether a value is the name of a file, or a list of names.

    A list of other texts is not a list of names: it may contain event types by mistake.
    """
    if not isinstance(value, list | tuple) or not value:
        return isinstance(value, str | PathLike)
    one = value[0]
    return isinstance(one, PathLike) or (
        isinstance(one, str) and (one == "-" or exists(one) or any(c in one for c in "./*?["))
    )


def files_of(sources: Named) -> list[NamedFile]:
    """Return the named files in order; files of a folder or a pattern are sorted by name.

    Folders are read recursively, except names that begin with ``_`` or ``.``. Raises `BadData` for
    a pattern or a folder without files.

    >>> [file.path for file in files_of(["b.csv", "a.csv"])]
    ['b.csv', 'a.csv']
    """
    if not isinstance(sources, str | PathLike):
        if not isinstance(sources, list | tuple | set | Iterator):
            hint = "for events in memory, use Stream.from_events or Stream.from_arrow"
            raise UsageError("CER0812", f"no file names: {type(sources).__name__}", hint=hint)
        return [file for source in sources for file in files_of(source)]
    text = os.fspath(sources)
    if isdir(text):
        root, found, problem = text, [*_visible(text)], "the folder contains no files"
    elif glob.has_magic(text) and not exists(text):
        root, found, problem = *_matching(text), "no file matches this pattern"
    else:
        return [NamedFile(sources, {})]
    if not found:
        hint = "check the name; names that begin with _ or . are skipped"
        raise BadData("CER0743", problem, place=DataPlace(text), hint=hint)
    return [NamedFile(path, keys_in(os.path.relpath(path, root or "."), path)) for path in found]


def is_hidden(name: str) -> bool:
    """Return whether folders skip a file or folder of this name."""
    return name.startswith(("_", "."))


def _visible(folder: str) -> Iterator[str]:
    for entry in sorted(os.scandir(folder), key=lambda entry: entry.name):
        if not is_hidden(entry.name):
            yield from _visible(entry.path) if entry.is_dir() else [entry.path]


def _matching(pattern: str) -> tuple[str, list[str]]:
    """Return the folder of the first wildcard, and the files of a pattern sorted by name."""
    parts = PurePath(pattern).parts
    first = next(n for n, part in enumerate(parts) if glob.has_magic(part))
    root = os.path.join(*parts[:first]) if first else ""
    hidden = any(map(is_hidden, parts[first:]))
    found: dict[str, None] = {}
    for path in sorted(glob.glob(pattern, recursive=True), key=lambda path: PurePath(path).parts):
        inside = PurePath(os.path.relpath(path, root or ".")).parts
        if hidden or not any(part.startswith("_") for part in inside):
            found.update(dict.fromkeys(_visible(path) if isdir(path) else [path]))
    return root, [*found]


def keys_in(path: str, file: str) -> dict[str, str | None]:
    """Return the keys in the folder names of a path below the named folder."""
    keys: dict[str, str | None] = {}
    for part in PurePath(path).parts[:-1]:
        name, equals, value = part.partition("=")
        if not equals or not name:
            continue
        from urllib.parse import unquote

        if (name := unquote(name)) in keys:
            hint = "rename one of the two folders"
            raise BadData("CER0732", f"'{name}' occurs twice", place=DataPlace(file), hint=hint)
        keys[name] = None if value in ("", NULL_KEY) else unquote(value)
    return keys
