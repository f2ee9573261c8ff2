"""Files that are whole or not there: written beside their place, and renamed at the end."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from io import TextIOWrapper
from os import PathLike
from shutil import copyfileobj
from tempfile import TemporaryFile
from typing import BinaryIO, TextIO, TypeAlias, cast
from uuid import uuid4

from cerlab.errors import ESCAPE, UsageError

AnyPath: TypeAlias = str | PathLike[str]

_LINKS = 40
"""Links that the system follows from one name."""

_UNNAMED = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF)
"""Errors of writing, which do not name the file."""
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")


@contextmanager
def whole_file(path: AnyPath, *, at_once: bool = False) -> Iterator[BinaryIO]:
    """Yield a binary file that gets the name `path` after success, and vanishes after an error.

    Until then what has the name stays as it is. A link stays one: what it points to is replaced.
    Pipes and devices are written to as they are, and so is a descriptor (``/dev/stdout``). If
    `at_once`, they get the content after success: a file with a footer, which pyarrow writes after
    errors too, would read as whole. Raises `OSError` with `path` where it cannot be written.
    """
    if "\0" in os.fspath(path):
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL), os.fspath(path))
    _check_folder(path)
    file_path = os.path.realpath(path)
    try:
        now = os.stat(path) if os.path.exists(path) else None
        number = _descriptor(os.path.abspath(path))
        if number is not None or (now is not None and not stat.S_ISREG(now.st_mode)):
            sys.stdout.flush()
            with (
                open(path if number is None else os.dup(number), "wb") as file,
                _buffered(file) if at_once else nullcontext(file) as written,
            ):
                yield written
        else:
            folder, name = os.path.split(file_path)
            # beside its place: only inside one file system is renaming a single step
            file_path = os.path.join(folder, f".{name[:40]}.{uuid4().hex}")
            yield from _temporary_file(file_path, os.path.join(folder, name), now)
    except OSError as error:
        if error.filename == file_path or error.errno in _UNNAMED:
            error.filename = os.fspath(path)
        raise


def _check_folder(path: AnyPath) -> None:
    """Raise `OSError` where the system finds no folder for a file.

    ``e.csv/../e.csv`` and ``none/../e.csv`` are no files, though `realpath` finds one.
    """
    target = os.fspath(path)
    for _ in range(_LINKS):
        try:
            os.stat(os.path.join(os.path.dirname(target) or os.curdir, ""))
        except OSError as error:
            error.filename = os.fspath(path)
            raise
        if not os.path.islink(target):
            return
        target = os.path.join(os.path.dirname(target), os.readlink(target))


def _temporary_file(temporary: str, target: str, now: os.stat_result | None) -> Iterator[BinaryIO]:
    """A file under a `temporary` name that becomes the `target`, which is `now` another or none."""
    if now is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)
    try:  # a signal may come at any moment
        with open(temporary, "xb") as file:
            yield file
            file.close()
            # before it gets the name: after a power cut there is the old file or the new one
            _to_disk(temporary)
            if now is not None:
                os.chmod(temporary, stat.S_IMODE(now.st_mode))
            os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


@contextmanager
def _buffered(file: BinaryIO) -> Iterator[BinaryIO]:
    """Yield a buffer, which goes into a file after success."""
    with TemporaryFile() as buffer:
        yield cast("BinaryIO", buffer)
        buffer.seek(0)
        copyfileobj(buffer, file)


def _to_disk(path: str) -> None:
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def _descriptor(path: str) -> int | None:
    """The descriptor of this process that a path is, perhaps by links; None if it is another."""
    if (match := _DESCRIPTOR.fullmatch(path)) is not None:
        return int(match[1])
    if not os.path.islink(path) or not os.path.exists(path):
        return None
    return _descriptor(os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path))))


@contextmanager
def whole_text(path: AnyPath | None) -> Iterator[TextIO]:
    """Yield a `whole_file` of text in UTF-8; None is standard output."""
    if path is None:
        yield sys.stdout
        return
    with (
        whole_file(path) as raw,
        TextIOWrapper(raw, encoding="utf-8", errors=ESCAPE) as file,
    ):
        yield file


def refuse_same(
    outputs: Mapping[str, AnyPath | None], inputs: Mapping[str, AnyPath | None]
) -> None:
    """Raise `UsageError` where a file to write is one to read, or is to be written twice.

    Whatever the paths are called: links and hard links are followed. ``-`` is standard input or
    output; None is no file. Keys are what users call them.
    """
    owners = {_identity(path, 0): name for name, path in inputs.items() if path is not None}
    for name, path in outputs.items():
        identity = None if path is None else _identity(path, 1)
        if identity is None:
            continue
        if (other := owners.get(identity)) is not None:
            raise UsageError(
                "CER0825",
                f"{name} is the same file as {other}",
                hint="name another file to write to",
            )
        owners[identity] = name


def _identity(path: AnyPath, dash: int) -> object:
    """Equal for paths to one file; None for pipes, devices and what no file can be."""
    try:
        status = os.fstat(dash) if path == "-" else os.stat(path)
    except OSError:
        return None if path == "-" else os.path.realpath(path)
    except ValueError:  # a NUL byte: whoever opens it says so
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
