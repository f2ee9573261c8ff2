"""Entries on disk: the digest that names one, and the checks before its code is loaded."""

from __future__ import annotations

import os
import platform
import sys
import warnings
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from stat import S_ISREG, S_IWGRP, S_IWOTH
from tempfile import mkstemp
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

FORM = "packed 2"
"""The calling convention of the code in entries: code of another mistakes its arguments."""

MAX_BYTES = 64 << 20
"""The size of all entries; those of one version of the kernels are about 1 MB."""


def entry_name(kernel: Any, types: object) -> str:
    """Return the name of the entry of a kernel for arguments of some types."""
    digest = sha256()
    for part in (FORM, _platform(), types, *_parts_of(kernel)):
        digest.update(repr(part).encode() + b"\0")
    return f"{kernel.name}-{digest.hexdigest()[:40]}"


def fields_of(record: type) -> object:
    """Return the identity of a class: its name and, of named tuples, its fields."""
    return record.__module__, record.__qualname__, getattr(record, "_fields", ())


@cache
def _platform() -> tuple[object, ...]:
    """Return versions, processor, and the settings of Numba, without importing it."""
    import llvmlite
    from llvmlite import binding as llvm

    numba = find_spec("numba")
    files = [
        Path((numba and numba.origin) or "").parent / "_version.py",
        Path(".numba_config.yaml"),
    ]
    settings = {name: text for name, text in os.environ.items() if name.startswith("NUMBA_")}
    settings.pop("NUMBA_CACHE_DIR", None)
    return (
        *(sys.version, sys.platform, platform.machine(), llvmlite.__version__, np.__version__),
        *(llvm.get_default_triple(), llvm.get_host_cpu_name()),
        llvm.get_host_cpu_features().flatten(),
        *(file.read_bytes() if file.is_file() else None for file in files),
        sorted(settings.items()),
    )


def _parts_of(kernel: Any) -> Iterator[object]:
    """Yield code, options and globals of a kernel and of all kernels that it reaches."""
    pending = [kernel]
    # The list grows while it is read: a kernel that is reached reaches others.
    for each in pending:
        function = each.py_func
        if function.__closure__:
            raise TypeError(f"{function.__qualname__}: a kernel has to be a function of a module")
        yield each.name, sorted(each.options.items()), function.__defaults__
        codes = [function.__code__]
        for code in codes:
            yield code.co_code, code.co_names, code.co_varnames, code.co_argcount
            yield tuple(value for value in code.co_consts if not isinstance(value, CodeType))
            codes += (value for value in code.co_consts if isinstance(value, CodeType))
        names = sorted({name for code in codes for name in code.co_names})
        scopes = [function.__globals__]
        for scope in scopes:
            for name in (name for name in names if name in scope):
                value = scope[name]
                if hasattr(value, "py_func"):
                    yield name, value.name
                    pending += [value] if value not in pending else []
                    continue
                yield name, _of_global(value)
                if isinstance(value, ModuleType) and value.__name__.split(".")[0] == "cerlab":
                    scopes.append(vars(value))


def _of_global(value: object) -> object:
    """Return the value of a constant; else the name of what comes with Python, NumPy or Numba."""
    match value:
        case bool() | int() | float() | str() | None:
            return value
        case np.generic():
            return str(value.dtype), value.item()
        case tuple():
            return tuple(map(_of_global, value))
        case type() if hasattr(value, "_fields"):
            return fields_of(value)
        case ModuleType():
            return value.__name__
        case type() | BuiltinFunctionType() | FunctionType() | np.ufunc():
            if getattr(value, "__module__", "").split(".")[0] != "cerlab":
                return getattr(value, "__module__", ""), value.__name__
    raise TypeError(f"a kernel depends on {value!r}, whose changes a cache could not see")


def directory() -> Path:
    """Return the folder of the entries."""
    if place := os.environ.get("NUMBA_CACHE_DIR"):
        return Path(place) / "machine-code"
    match sys.platform:
        case "win32":
            user = Path(os.environ.get("LOCALAPPDATA") or Path.home()) / "cerlab" / "Cache"
        case "darwin":
            user = Path.home() / "Library" / "Caches" / "cerlab"
        case _:
            user = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "cerlab"
    return user / "machine-code"


def some_are_kept() -> bool:
    """Return whether any kernel has been compiled on this machine."""
    return next(directory().glob("cerlab.engine.*"), None) is not None


def read(name: str) -> bytes | None:
    """Return the content of an entry; None for a missing, damaged or foreign one."""
    entry = directory() / name
    # no link, no wait for a pipe; what is checked and what is read are one open file
    flags = [getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")]
    try:
        if not _is_safe(entry.parent):
            return None
        with open(os.open(entry, os.O_RDONLY | sum(flags)), "rb") as file:
            status = os.fstat(file.fileno())
            if not S_ISREG(status.st_mode) or _is_foreign(entry, status):
                return None
            content = file.read()
    except OSError:
        return None
    payload = content[32:]
    if _digest(name, payload) != content[:32]:
        return None  # damaged, cut off, or the content of another entry
    with suppress(OSError):  # the time of its last use; the disk may be read-only
        os.utime(entry)
    return payload


def write(name: str, payload: bytes) -> None:
    """Keep an entry, whole or not at all; warn where that is unsafe or fails."""
    folder = directory()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        if not _is_safe(folder):
            return
        # In the same folder, where renaming is one step: no reader sees half an entry.
        handle, part = mkstemp(dir=folder, prefix=".")
        try:
            with open(handle, "wb") as file:
                file.write(_digest(name, payload) + payload)
            Path(part).replace(folder / name)
        except BaseException:  # a full disk, an interrupt
            Path(part).unlink(missing_ok=True)
            raise
    except OSError as error:
        _warn(f"compiled kernels cannot be kept ({error}); NUMBA_CACHE_DIR names another place")
        return
    with suppress(OSError):  # another process removes the same entries
        _remove_oldest(folder)


def _digest(name: str, payload: bytes) -> bytes:
    # With the name, so that one entry under the name of another is refused.
    return sha256(name.encode() + b"\0" + payload).digest()


def _is_safe(folder: Path) -> bool:
    """Return whether a folder is the user's alone, in one of the user or of the system."""
    above = folder.parent.stat()
    if hasattr(os, "getuid") and above.st_uid not in (0, os.getuid()):
        return not _is_foreign(folder.parent, above)
    return not _is_foreign(folder, folder.stat())


def _is_foreign(path: Path, status: os.stat_result) -> bool:
    """Return whether another user may have written there, with a warning."""
    if not hasattr(os, "getuid"):  # Windows: the profile of a user is closed to others
        return False
    another, writable = status.st_uid != os.getuid(), status.st_mode & (S_IWGRP | S_IWOTH)
    why = "it belongs to another user" if another else "other users may write to it"
    if another or writable:
        _warn(
            f"compiled kernels in {path} are not used: {why}; NUMBA_CACHE_DIR names another place"
        )
    return bool(another or writable)


def _remove_oldest(folder: Path) -> None:
    # The oldest by last use, as `read` touches an entry.
    entries = sorted((each.stat().st_mtime_ns, each) for each in folder.iterdir())
    excess = sum(each.stat().st_size for _, each in entries) - MAX_BYTES
    for _, entry in entries:
        if excess > 0:
            excess -= entry.stat().st_size
            entry.unlink(missing_ok=True)


@cache
def _warn(text: str) -> None:
    """Warn, once per process."""
    warnings.warn(text, RuntimeWarning, stacklevel=2)
