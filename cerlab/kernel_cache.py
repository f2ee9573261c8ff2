"""Compiled kernels on disk, each under a digest of all that its machine code is made from.

Numba's own cache asks whether the file of a function has changed; a kernel that another one calls
or inlines may be in another file, so an old one of the caller would stay. The digest here is of the
code and constants of the kernel and of every kernel it reaches, how each is compiled, the fields of
the named tuples among its arguments, the versions of Python, Numba, llvmlite and NumPy, and the
processor. What changes any of these has another entry, so no entry is ever out of date.

Entries are in the user's cache directory (``~/.cache/cerlab`` on Linux), or under
``NUMBA_CACHE_DIR``, never beside the source: it may be read-only. Above `MOST_BYTES` in all, those
used longest ago are removed.
"""

from __future__ import annotations

import os
import pickle
import platform
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from tempfile import NamedTemporaryFile
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, TypeVar

import llvmlite
import numba
import numpy as np
from numba.core import compiler, config, types
from numba.core.caching import _Cache
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps
from numba.core.sigutils import normalize_signature
from numba.misc import appdirs

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

MOST_BYTES = 256 << 20
"""Of all entries; those of one version of the kernels are about 10 MB."""

VERSIONS = (
    sys.version,
    platform.platform(),
    numba.__version__,
    llvmlite.__version__,
    np.__version__,
)


def compiled(function: Kernel, **options: Any) -> Kernel:
    """A function under Numba: compiled at the first call with arguments of a type, kept on disk.

    `options` are those of ``numba.njit``. Under ``NUMBA_DISABLE_JIT=1`` the function itself.
    """
    kernel: Kernel = numba.njit(**options)(function)
    if isinstance(kernel, Dispatcher):
        kernel._cache = KernelCache(kernel)
    return kernel


def directory() -> Path:
    """Where the entries are."""
    return (
        Path(config.CACHE_DIR or appdirs.AppDirs("cerlab", appauthor=False).user_cache_dir)
        / "kernels"
    )


class KernelCache(_Cache):
    """The entries of one kernel, one for each signature; Numba asks it before it compiles."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The directory of all kernels."""
        return str(directory())

    def enable(self) -> None:
        """Read and write entries."""
        self._enabled = True

    def disable(self) -> None:
        """Neither read nor write entries."""
        self._enabled = False

    def flush(self) -> None:
        """Remove the entries of this kernel, whatever their digest."""
        for entry in directory().glob(f"{_name(self._kernel)}-*"):
            entry.unlink(missing_ok=True)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for a signature, or None where it has to be compiled."""
        if not self._enabled:
            return None
        entry = self._entry(sig, target_context.codegen())
        try:
            payload = pickle.loads(entry.read_bytes())
        except (OSError, EOFError, pickle.UnpicklingError):  # none, or one that was cut off
            return None
        with suppress(OSError):  # a cache that may only be read
            os.utime(entry)  # the time of its last use
        _initialise(target_context)
        return compiler.CompileResult._rebuild(target_context, *payload)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled; warns where the directory cannot be written to."""
        if not self._enabled or data.lifted or data.library.has_dynamic_globals:
            return
        entry = self._entry(sig, data.codegen)
        try:
            entry.parent.mkdir(parents=True, exist_ok=True)
            with NamedTemporaryFile(dir=entry.parent, prefix=".", delete=False) as file:
                file.write(dumps(data._reduce()))
            Path(file.name).replace(entry)
            _remove_oldest(entry.parent)
        except OSError as error:
            warnings.warn(
                f"compiled kernels cannot be kept ({error}); NUMBA_CACHE_DIR names another place",
                RuntimeWarning,
                stacklevel=2,
            )

    def _entry(self, sig: Any, codegen: Any) -> Path:
        digest = sha256()
        arguments, result = normalize_signature(sig)
        of_types = [part for each in (*arguments, result) for part in _of_type(each)]
        for part in (
            VERSIONS,
            codegen.magic_tuple(),
            _flags(),
            *of_types,
            *_made_from(self._kernel),
        ):
            digest.update(repr(part).encode() + b"\0")
        return directory() / f"{_name(self._kernel)}-{digest.hexdigest()[:40]}.pickle"


@cache
def _initialise(target_context: Any) -> None:
    """Let the context know Numba's own functions: slow, and once is enough.

    What is registered later is for kernels compiled later; Numba does this before each of those.
    """
    target_context.refresh()


def _name(kernel: Any) -> str:
    return f"{kernel.py_func.__module__}.{kernel.py_func.__qualname__}"


def _flags() -> tuple[Any, ...]:
    """What the environment says on how Numba compiles."""
    names = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "BOUNDSCHECK", "DEBUGINFO_DEFAULT")
    return tuple(getattr(config, name, None) for name in names)


def _of_type(argument: Any) -> Iterator[object]:
    """A Numba type by its name, and the fields of named tuples, which the name leaves out."""
    yield repr(argument)
    if isinstance(argument, types.BaseNamedTuple):
        yield _of_global(argument.instance_class)
    if isinstance(argument, types.BaseTuple):
        for each in argument.types:
            yield from _of_type(each)


def _made_from(kernel: Any) -> Iterator[object]:
    """Code, options and globals of a kernel and of all kernels that it reaches."""
    pending, reached = [kernel], {kernel}
    while pending:
        each = pending.pop()
        function = each.py_func
        if function.__closure__:
            raise TypeError(f"{function.__qualname__}: a kernel has to be a function of a module")
        yield _name(each), sorted(each.targetoptions.items()), function.__defaults__
        yield from _of_code(function.__code__)
        for name, value in _globals_of(function):
            if isinstance(value, Dispatcher):
                yield name, _name(value)
                if value not in reached:
                    reached.add(value)
                    pending.append(value)
            else:
                yield name, _of_global(value)


def _of_code(code: CodeType) -> Iterator[object]:
    yield code.co_code, code.co_names, code.co_varnames, code.co_argcount
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _of_code(constant)
        else:
            yield constant


def _globals_of(function: Any) -> Iterator[tuple[str, object]]:
    """What the names in a function stand for, also those in a module of ours."""
    scopes = [("", function.__globals__)]
    names = sorted(_names_in(function.__code__))
    for prefix, scope in scopes:
        for name in names:
            if name in scope:
                value = scope[name]
                yield prefix + name, value
                if isinstance(value, ModuleType) and value.__name__.split(".")[0] == "cerlab":
                    scopes.append((f"{prefix}{name}.", vars(value)))


def _names_in(code: CodeType) -> set[str]:
    inner = (_names_in(each) for each in code.co_consts if isinstance(each, CodeType))
    return set(code.co_names).union(*inner)


def _of_global(value: object) -> object:
    """The value of a constant; else the name of what comes with Python, NumPy or Numba."""
    match value:
        case bool() | int() | float() | str() | None:
            return value
        case np.generic():
            return str(value.dtype), value.item()
        case tuple():
            return tuple(map(_of_global, value))
        case type() if hasattr(value, "_fields"):
            return value.__module__, value.__qualname__, value._fields
        case ModuleType():
            return value.__name__
        case type() | BuiltinFunctionType() | FunctionType() | np.ufunc():
            if getattr(value, "__module__", "").split(".")[0] != "cerlab":
                return getattr(value, "__module__", ""), value.__name__
    raise TypeError(f"a kernel depends on {value!r}, whose changes a cache could not see")


def _remove_oldest(place: Path) -> None:
    """Keep the entries used last, `MOST_BYTES` of them."""
    entries = [(each.stat(), each) for each in place.glob("*.pickle")]
    total = sum(status.st_size for status, _ in entries)
    for status, entry in sorted(entries, key=lambda pair: pair[0].st_mtime_ns):
        if total <= MOST_BYTES:
            return
        total -= status.st_size
        entry.unlink(missing_ok=True)
