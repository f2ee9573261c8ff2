"""Atomic files: written under a temporary name next to their target, and renamed at the end."""

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
"""Most symbolic links that the system follows for one name."""

_UNNAMED = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EBADF)
"""Errors of writing whose text does not name the file."""
_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")


@contextmanager
def whole_file(path: AnyPath, *, at_once: bool = False) -> Iterator[BinaryIO]:
    """Yield a binary file that gets its name `path` only after success; an error removes it.

    Until then an existing file stays unchanged. A link stays a link: its target is replaced. Pipes,
    devices and descriptors (``/dev/stdout``) are written directly. With `at_once`, they get the
    content only after success: a file with a footer, which pyarrow writes after errors too, would
    look complete. Raises `OSError` with `path` if it cannot be written.
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
            # in the same folder: renaming is atomic only inside one file system
            file_path = os.path.join(folder, f".{name[:40]}.{uuid4().hex}")
            yield from _temporary_file(file_path, os.path.join(folder, name), now)
    except OSError as error:
        if error.filename == file_path or error.errno in _UNNAMED:
            error.filename = os.fspath(path)
        raise


def _check_folder(path: AnyPath) -> None:
    """Raise `OSError` if the folder of a file does not exist.

    ``e.csv/../e.csv`` and ``none/../e.csv`` do not exist, although `realpath` accepts them.
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
    """Yield a file under a `temporary` name that replaces the `target`.

    `now` is its state, or None.
    """
    if now is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target)
    try:  # a signal may arrive at any moment in this block
        with open(temporary, "xb") as file:
            yield file
            file.close()
            # synced before renaming: after a power cut either the old file or the new one exists
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
    """Yield a buffer that is written to the file only after success."""
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
    """Return the descriptor of this process that a path denotes, also by links, or None."""
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
    """Raise `UsageError` if a file to write is also read, or written twice.

    Links and hard links are followed. ``-`` is standard input or output; None is no file. Keys are
    the names that users give the files.
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
    """Return a key that all paths to one file share; None for pipes, devices and invalid paths."""
    try:
        status = os.fstat(dash) if path == "-" else os.stat(path)
    except OSError:
        return None if path == "-" else os.path.realpath(path)
    except ValueError:  # the path contains a NUL byte: opening the file reports it
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None
