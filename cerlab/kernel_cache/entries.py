"""Cache entries on disk: their names, and the checks before their code is loaded.

An entry is an object file, named by a digest of everything that its code depends on: code and
constants of the kernel and of every kernel it reaches, types of the arguments, versions, and the
processor. A change of any of these names another entry, so none is ever out of date. One digest of
all sources would be 40 lines less, but a package that is replaced while a program runs would then
keep the old code under the name of the new one, and each edit of a kernel would compile all of them
again. Machine code runs with the rights of the user. So it is loaded only from a file that belongs
to the user, to which nobody else may write, and that contains its own digest and name. Entries are
in the user's cache directory (``~/.cache/cerlab`` on Linux), or under ``NUMBA_CACHE_DIR``.
"""

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
from types import ModuleType
from typing import Any

import numpy as np

MAX_BYTES = 64 << 20
"""The limit on the size of all entries; those of one version of the kernels are about 1 MB."""


def entry_name(kernel: Any, kinds: object) -> str:
    """Return the file name of a kernel's entry for arguments of the given types."""
    # version of the calling convention: code of another version would misread its arguments
    digest = sha256(b"packed 3")
    for part in (_platform(), _identity(kinds), *_parts_of(kernel)):
        digest.update(repr(part).encode() + b"\0")
    return f"{kernel.name}-{digest.hexdigest()[:40]}"


@cache
def _platform() -> tuple[object, ...]:
    """Return the processor, the versions and Numba's settings, without importing Numba."""
    import llvmlite
    from llvmlite import binding as llvm

    numba = Path(getattr(find_spec("numba"), "origin", None) or "")
    files = [numba.parent / "_version.py", Path(".numba_config.yaml")]
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
    """Yield the code, options and globals of a kernel and of all kernels that it calls."""
    pending = [kernel]
    # the list grows during the loop: each kernel adds the kernels that it calls
    for each in pending:
        function, code = each.py_func, each.py_func.__code__
        if function.__closure__:
            raise TypeError(f"{function.__qualname__}: a kernel has to be a function of a module")
        yield each.name, sorted(each.options.items()), function.__defaults__
        yield code.co_code, code.co_names, code.co_varnames, code.co_argcount
        yield _identity(code.co_consts)
        scopes = [function.__globals__]
        for scope in scopes:
            for name in (name for name in code.co_names if name in scope):
                value = scope[name]
                if hasattr(value, "py_func"):
                    pending += [value] if value not in pending else []
                    value = value.name
                elif isinstance(value, ModuleType) and value.__name__.split(".")[0] == "cerlab":
                    scopes.append(vars(value))
                yield name, _identity(value)


def _identity(value: object) -> object:
    """Return the value of a constant of a kernel, or the name of a type or function."""
    match value:
        case bool() | int() | float() | str() | None:
            return value
        case np.generic():
            return str(value.dtype), value.item()
        case np.dtype():
            return str(value)
        case tuple():
            return tuple(map(_identity, value))
        case ModuleType():
            return value.__name__
        case type() if hasattr(value, "_fields"):  # named tuples, including those of cerlab
            return value.__module__, value.__qualname__, value._fields
    home, name = getattr(value, "__module__", ""), getattr(value, "__name__", None)
    if name is None or home.split(".")[0] == "cerlab":
        raise TypeError(f"a kernel depends on {value!r}, whose changes the cache cannot see")
    return home, name  # Python, NumPy or Numba: their versions are part of the entry's name


def directory() -> Path:
    """Return the folder of the cache entries."""
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
    """Return whether the cache of this machine has any entry."""
    return next(directory().glob("cerlab.engine.*"), None) is not None


def read(name: str) -> bytes | None:
    """Return the content of an entry; None if missing, damaged, or writable by others."""
    entry = directory() / name
    # follow no link and wait for no pipe; check the file that is open
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
    with suppress(OSError):  # record the time of use; the disk may be read-only
        os.utime(entry)
    return payload


def write(name: str, payload: bytes) -> None:
    """Store an entry atomically; warn if the folder is unsafe or cannot be written."""
    folder = directory()
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        if not _is_safe(folder):
            return
        # in the same folder, where renaming is atomic
        handle, part = mkstemp(dir=folder, prefix=".")
        try:
            with open(handle, "wb") as file:
                file.write(_digest(name, payload) + payload)
            Path(part).replace(folder / name)
        except BaseException:  # such as a full disk or an interrupt
            Path(part).unlink(missing_ok=True)
            raise
    except OSError as error:
        _warn(f"compiled kernels cannot be kept ({error}); NUMBA_CACHE_DIR names another place")
        return
    with suppress(OSError):  # another process removes the same entries
        _remove_oldest(folder)


def _digest(name: str, payload: bytes) -> bytes:
    # includes the name, so an entry copied to another name is refused
    return sha256(name.encode() + b"\0" + payload).digest()


def _is_safe(folder: Path) -> bool:
    """Return whether only this user can write to a folder, and the user or root owns its parent."""
    above = folder.parent.stat()
    if hasattr(os, "getuid") and above.st_uid not in (0, os.getuid()):
        return not _is_foreign(folder.parent, above)
    return not _is_foreign(folder, folder.stat())


def _is_foreign(path: Path, status: os.stat_result) -> bool:
    """Return whether other users may write to a path; warn if they may."""
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
    # the least recently used entries: `read` updates an entry's time
    entries = sorted((each.stat().st_mtime_ns, each) for each in folder.iterdir())
    excess = sum(each.stat().st_size for _, each in entries) - MAX_BYTES
    for _, entry in entries:
        if excess > 0:
            excess -= entry.stat().st_size
            entry.unlink(missing_ok=True)


@cache
def _warn(text: str) -> None:
    """Warn once per process."""
    warnings.warn(text, RuntimeWarning, stacklevel=2)
