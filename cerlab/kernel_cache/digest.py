"""The digest of all that the machine code of a kernel depends on."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np


class Source:
    """A function of a module that is to be compiled, and the options of ``numba.njit``."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        self.py_func = function
        self.options = options
        self.name = f"{function.__module__}.{function.__qualname__}"
        self.loads = 0
        """How often machine code was taken from disk."""


def digest_of(kernel: Source, types: object) -> str:
    """The digest of a kernel and the types of its arguments."""
    digest = sha256()
    for part in (_platform(), types, *_parts_of(kernel)):
        digest.update(repr(part).encode() + b"\0")
    return digest.hexdigest()[:40]


def fields_of(record: type) -> object:
    """A class of named tuples by its name and fields."""
    return record.__module__, record.__qualname__, record._fields


@cache
def _platform() -> tuple[object, ...]:
    """The versions, the machine, and what the environment says on how Numba compiles.

    Numba itself is not imported: its version is read from its file.
    """
    import llvmlite
    from llvmlite import binding as llvm

    numba = find_spec("numba")
    version = Path(numba.origin or "").parent / "_version.py" if numba else None
    settings = Path(".numba_config.yaml")
    return (
        sys.version,
        sys.platform,
        platform.machine(),
        version and version.read_bytes(),
        llvmlite.__version__,
        np.__version__,
        llvm.get_default_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
        settings.read_bytes() if settings.is_file() else None,
        sorted(
            pair
            for pair in os.environ.items()
            if pair[0].startswith("NUMBA_") and pair[0] != "NUMBA_CACHE_DIR"
        ),
    )


def _parts_of(kernel: Source) -> Iterator[object]:
    """Code, options and globals of a kernel and of all kernels that it reaches."""
    pending, reachable = [kernel], {kernel}
    while pending:
        each = pending.pop()
        function = each.py_func
        if function.__closure__:
            raise TypeError(f"{function.__qualname__}: a kernel has to be a function of a module")
        yield each.name, sorted(each.options.items()), function.__defaults__
        yield from _of_code(function.__code__)
        for name, value in _globals_of(function):
            if isinstance(value, Source):
                yield name, value.name
                if value not in reachable:
                    reachable.add(value)
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
            return fields_of(value)
        case ModuleType():
            return value.__name__
        case type() | BuiltinFunctionType() | FunctionType() | np.ufunc():
            if getattr(value, "__module__", "").split(".")[0] != "cerlab":
                return getattr(value, "__module__", ""), value.__name__
    raise TypeError(f"a kernel depends on {value!r}, whose changes a cache could not see")
